//! The OCI runtime wrapper and the container hook: they fit containerd's bundles to a user namespace with one mapped id.
//! Not a runtime: the real runc makes every container; what is none of `create`, `run`, `start`, `exec`, `kill` and `delete` goes
//! to it unread.
//! Data comes from the bundle's `config.json` and the JSON file beside the wrapper's symlink, and goes to runc by `exec`.
//!
//! containerd starts the wrapper through its `BinaryName` option. [`install`] lays the symlink and its settings; the
//! program behind the symlink calls [`wrapper_main`] when its own name ends in [`WRAPPER`], and [`hook_main`] when its first
//! argument is [`HOOK`]. Both run several times per pod, so they are called before anything slow.
//!
//! # What one mapped id means for pods
//! Every process of a pod is user 0 of the namespace, whatever `runAsUser` says, and limits of CPU and memory bound nothing.
//! The kubelet itself cannot hand files to other ids: a pod with `fsGroup`, or with `runAsUser` and a mounted service account
//! token, waits in `ContainerCreating` with "lchown … invalid argument"; set `automountServiceAccountToken: false` there.
//! `hostUsers: false` is refused by containerd.
mod adapt;
mod command;
mod error;
mod hook;
mod kill;
mod load;
mod surroundings;
mod wrapper;

pub use error::Error;
pub use hook::hook_main;
pub use load::ANNOTATION as LOAD_ANNOTATION;
pub use wrapper::{install, wrapper_main};

/// The name under which containerd calls the wrapper, and the name of its symlink.
pub const WRAPPER: &str = "sliceproof-oci";

/// First argument of the container hook.
pub const HOOK: &str = "__container-hook";
