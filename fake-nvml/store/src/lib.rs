//! The mapped state file that all processes and containers of a node share.
//! Not here: what a state means or which change is allowed (`gpu-model`); the pages of a daemon: there is none.
//! In: machines and operations from the NVML library, nvidia-smi, fakegpu, the harness. Out: snapshots, and the
//! capability files and nodes that mirror the instances.
#![allow(unsafe_code)] // one of the three crates that must (with nvml-client): each block carries its proof

mod counters;
mod create;
mod error;
mod file;
mod futex;
mod hold;
mod layout;
mod locate;
mod lock;
mod log;
mod mirror;
mod nodes;
mod store;

pub use error::{Error, UpdateError};
pub use hold::Hold;
pub use layout::FORMAT;
pub use locate::{beside, file_name, named};
pub use log::{Entry, Logged, Read};
pub use mirror::{MARKER, Mirrored, write_marker};
pub use nodes::nodes_mark;
pub use store::{Snapshot, Store};

/// Environment variable that names the state file.
pub const STATE_ENV: &str = "FAKEGPU_STATE";
/// Environment variable that names the folder shown as `/proc/driver/nvidia`.
pub const PROC_ENV: &str = "FAKEGPU_PROC";
/// Where that folder is unless told otherwise.
pub const PROC_DIR: &str = "/proc/driver/nvidia";
/// Environment variable of the NVML library: `all` makes it list every device, whether or not its node is there.
pub const VISIBLE_ENV: &str = "FAKEGPU_VISIBLE";
