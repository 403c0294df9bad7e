//! Runs real, unmodified programs that use NVML on fake nodes, for the tests of this crate.
//! Not a part of any product: nothing else depends on it. What a program shows is a snapshot that a person has looked at.
//! Programs come from `components`, each through its own package manager; nodes from `gpu-host`; texts go to `tests/`.
//!
//! A program that cannot be had fails its test with the remedy: nothing passes that did not run.
#![forbid(unsafe_code)]

pub mod node;
pub mod redact;
pub mod run;
pub mod screen;
