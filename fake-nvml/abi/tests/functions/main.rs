//! Function by function, over several models: a real value, and the errors of each.
#![allow(unsafe_code, reason = "the binding's functions are C functions")]

#[path = "../support/mod.rs"]
mod support;

mod accounting;
mod board;
mod clocks;
mod fields;
mod gpm;
mod nvlink;
mod processes;
mod retirement;
mod samples;
mod system;
mod topology;
mod traffic;
mod vgpu;

/// Return codes, as the tests compare them.
const OK: u32 = 0;
const INVALID: u32 = 2;
const NOT_SUPPORTED: u32 = 3;
const NOT_FOUND: u32 = 6;
const TOO_SMALL: u32 = 7;
const TIMEOUT: u32 = 10;
const VERSION: u32 = 25;

/// The version that a struct announces.
const fn tag<T>(number: u32) -> u32 {
    size_of::<T>() as u32 | number << 24
}

/// Two A100 in MIG mode or not, an H100, an L4.
const CARDS: &str = "2xA100-SXM4-40GB,1xH100-SXM5-80GB,1xL4";
