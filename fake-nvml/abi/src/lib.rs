//! libnvidia-ml.so.1: every function of nvml.h over the shared state of a fake machine.
//! Not a driver, nor a place for rules: what a GPU does is `gpu_model`'s, where its state lies `gpu_store`'s, how it looks to the system `gpu_host`'s.
//! In: C calls of unmodified programs, and the state file. Out: nvml.h's answers in the caller's memory, and changes of the state.
#![allow(unsafe_code)] // one of the three crates that must (with nvml-client): each block carries its proof

pub mod absent;
pub mod api;
mod boundary;
mod clock;
#[cfg(test)]
mod coverage;
mod event_set;
mod gpm_samples;
pub mod handle;
mod hooks;
mod locate;
mod lock;
mod macros;
pub mod out;
mod session;
mod slots;
pub mod status;
pub mod types;
mod unwind;
mod view;
mod visible;
