//! The mapped state file that all processes and containers of a node share.
//! Not here: what a state means or which change is allowed (`gpu-model`); the pages of a daemon: there is none.
//! In: machines and operations from the NVML library, nvidia-smi, fakegpu, the harness. Out: snapshots, and the
//! capability files that mirror the instances.
#![allow(unsafe_code)] // one of the two crates that may: each block carries its proof

mod error;
mod file;
mod futex;
mod hold;
mod layout;
mod lock;
mod mirror;
mod store;

pub use error::{Error, UpdateError};
pub use hold::Hold;
pub use layout::FORMAT;
pub use mirror::{MARKER, Mirrored, write_marker};
pub use store::{Snapshot, Store};

/// Environment variable that names the state file.
pub const STATE_ENV: &str = "FAKEGPU_STATE";
/// Environment variable that names the folder shown as `/proc/driver/nvidia`.
pub const PROC_ENV: &str = "FAKEGPU_PROC";
/// Where that folder is unless told otherwise.
pub const PROC_DIR: &str = "/proc/driver/nvidia";

/// The name of the state file beside the NVML library: NVIDIA's container tooling carries every `*.so.<driver version>`
/// of that folder along.
pub fn file_name(driver_version: &str) -> String {
    format!("libfakegpu-state.so.{driver_version}")
}
