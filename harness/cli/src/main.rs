//! sliceproof: prove that GPU sharing works.
#![forbid(unsafe_code)]

fn main() {}
