//! A safe client of any `libnvidia-ml.so.1`, NVIDIA's own included; MIG calls are complete, which no kept crate offers.
//! Not a reader of our state: it knows only nvml.h, through the bindings of `nvml-wrapper-sys` (and `gpu-model`'s names of its codes).
//! Data comes from the library the loader finds (or the driver root named) and goes out as plain values.
#![allow(unsafe_code)] // it calls C: besides abi and store the third crate that must, each block with its proof

mod details;
mod error;
mod fields;
mod gpu;
mod history;
mod library;
mod links;
mod mig;
mod processes;
pub mod raw;
mod settings;
mod types;

pub use error::{Code, Error, Result};
pub use fields::field;
pub use gpu::Device;
pub use library::Nvml;
pub use links::LINKS;
pub use mig::{ComputeInstance, GpuInstance};
pub use types::*;
