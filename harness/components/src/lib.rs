//! Finds, builds and caches the real programs.
#![forbid(unsafe_code)]
