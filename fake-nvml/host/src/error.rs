//! What can go wrong while a host tree is written or put in place.

use std::io;
use std::path::{Path, PathBuf};

use crate::family::Uncut;

/// Why a host tree could not be laid out or entered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file operation failed.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// On which path.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A mount failed.
    #[error("cannot mount {what} on {}: {source}{}", target.display(), advice(.hint))]
    Mount {
        /// What was to be mounted.
        what: String,
        /// Where.
        target: PathBuf,
        /// What the kernel said.
        source: io::Error,
        /// The setting that forbids it, where one is known.
        hint: Option<String>,
    },
    /// The kernel or an administrator forbids the namespaces.
    #[error("cannot make a private {kind} namespace: {source}. {remedy}")]
    Namespace {
        /// Which namespaces were asked for.
        kind: &'static str,
        /// What the kernel said.
        source: io::Error,
        /// The setting to change.
        remedy: String,
    },
    /// The folder holds no host tree.
    #[error("{} is not a host tree of ours: {why}. Lay one with `fakegpu create --node 1xA100-SXM4-40GB {}`", dir.display(), dir.display())]
    NotATree {
        /// The folder.
        dir: PathBuf,
        /// What is missing or wrong.
        why: String,
    },
    /// The library that is carried has names that the machine's driver did not have yet, and they can not be taken out.
    #[error(
        "cannot make the carried libnvidia-ml.so that of driver {version}: {source}. A library handed in by GPU_HOST_PAYLOAD must be \
         linked as fake-nvml/abi/build.rs links it"
    )]
    Library {
        /// The machine's driver.
        version: String,
        /// Why not.
        source: Uncut,
    },
    /// The state file could not be made or read.
    #[error(transparent)]
    Store(#[from] gpu_store::Error),
}

fn advice(hint: &Option<String>) -> String {
    hint.as_ref().map(|h| format!(". {h}")).unwrap_or_default()
}

/// Shortens `map_err` for file operations.
pub(crate) trait At<T> {
    fn at(self, what: &'static str, path: &Path) -> Result<T, Error>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, what: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::File {
            what,
            path: path.to_owned(),
            source,
        })
    }
}

impl<T> At<T> for nix::Result<T> {
    fn at(self, what: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(io::Error::from).at(what, path)
    }
}
