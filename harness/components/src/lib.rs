//! Where the real programs (kube-apiserver, kubelet, containerd, the DRA driver …) come from: found, built or unpacked, then cached.
//! It starts none of them and knows nothing of clusters; no other crate knows where a program comes from.
//! Data comes from `ci/components.lock` and the files beside it (all embedded) and goes to the cache folder of the user.
//!
//! ```no_run
//! use components::{Catalog, progress};
//!
//! # fn main() -> Result<(), components::Error> {
//! let catalog = Catalog::embedded()?;
//! let installed = catalog.ensure(&["etcd", "kubelet"], &*progress::auto())?;
//! println!("{}", installed.path("kubelet")?.display());
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod cache;
mod catalog;
pub mod cli;
mod deb;
mod digest;
mod elf;
mod embedded;
mod error;
mod go;
mod host;
mod installed;
mod lock;
mod modfile;
mod overrides;
pub mod progress;
mod python;
mod space;
mod subprocess;

pub use catalog::{Catalog, Listed, State};
pub use error::{BuildFailure, Error, Kind, Result};
pub use host::Host;
pub use installed::{Installed, InstalledComponent};
pub use lock::{Component, DebSource, GoBuild, GoSource, Lock, PathSource, PythonSource, Source};
pub use overrides::Overrides;
