//! Gherkin scenarios: parse, lint, plan, run.
#![forbid(unsafe_code)]
