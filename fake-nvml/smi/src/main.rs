//! nvidia-smi for the fake GPU.
#![forbid(unsafe_code)]

fn main() {}
