//! Typed run events and the sinks that turn them into evidence.
#![forbid(unsafe_code)]
