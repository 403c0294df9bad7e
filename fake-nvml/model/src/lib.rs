//! The fake GPU as a pure state machine: catalogue, MIG engine, health.
#![forbid(unsafe_code)]
