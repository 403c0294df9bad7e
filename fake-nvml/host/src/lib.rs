//! The files around a GPU: driver root, `/dev`, `/proc`, `/sys`, and the mount namespace that shows them.
//! Not the GPU itself (`gpu-model`), its state (`gpu-store`) or its library (`nvml-abi`, carried here as bytes).
//! In: a machine. Out: a folder ([`HostTree::lay`]) and, inside a private namespace, a host that has it ([`HostTree::enter`]).
#![forbid(unsafe_code)]

mod cuda;
mod enter;
mod error;
mod facts;
pub mod family;
mod majors;
mod mounts;
pub mod namespace;
pub mod payload;
mod pci;
mod plan;
mod scratch;
mod texts;
mod tree;

pub use enter::{Enter, Loader};
pub use error::Error;
pub use facts::HostFacts;
pub use plan::{Entry, Kind, LIBRARIES, Number, PROGRAMS, plan};
pub use scratch::{SHOWN, Scratch};
pub use tree::HostTree;
