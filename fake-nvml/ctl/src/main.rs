//! fakegpu: create, show, change and run programs over fake GPUs.
#![forbid(unsafe_code)]

fn main() {}
