//! The container images of a node, assembled by us: busybox, the same with a C library for GPU tests, and the sandbox.
//! Not an image builder and not a registry: three small root file systems with files of uid 0 only, written as one archive.
//! Data comes from the busybox component and the C library of this machine, and goes as an OCI layout to `ctr images import`.
//!
//! The archive's bytes follow from its inputs alone (fixed times, fixed order), so it is kept under the digest of the inputs
//! and the second start writes nothing.
mod closure;
mod containerd;
mod error;
mod layout;
mod recipe;
mod tree;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use closure::SharedObject;
pub(crate) use containerd::{ContainerdPaths, containerd_config, registry_config};
pub use error::Error;
use sha2::{Digest as _, Sha256};

/// Static busybox with all its applets: what most test pods run.
pub const BUSYBOX: &str = "sliceproof.local/busybox:1";
/// Busybox with this machine's C library: what `nvidia-smi` and other NVML clients, mounted by CDI, can run in.
pub const GPU_TEST: &str = "sliceproof.local/gpu-test:1";
/// The sandbox: process 1 of each pod, which waits and reaps.
pub const PAUSE: &str = "sliceproof.local/pause:1";

/// What images are made of.
#[derive(Debug, Clone)]
pub struct Parts<'a> {
    /// A static busybox, with its path outside any namespace.
    pub busybox: &'a Path,
    /// Programs and libraries that must run inside [`GPU_TEST`], by file name; the image gets what they need, not themselves.
    pub clients: &'a [(&'a str, &'a [u8])],
    /// Further programs to put into [`GPU_TEST`] at `/usr/bin/<name>`; what they need comes along.
    pub programs: &'a [(&'a str, &'a [u8])],
}

/// An archive ready for `ctr -n k8s.io images import --local`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// Where it lies.
    pub path: PathBuf,
    /// SHA-256 of all that went in, in hex.
    pub key: String,
    /// The names of the images in it.
    pub names: [&'static str; 3],
}

/// Writes the archive of all images into `cache`, or finds it there.
///
/// # Errors
/// When a part cannot be read, the C library is not found, or the cache cannot be written.
pub fn assemble(parts: &Parts<'_>, cache: &Path) -> Result<Archive, Error> {
    let busybox = fs::read(parts.busybox).map_err(Error::reading("busybox", parts.busybox))?;
    let needed = closure::closure_of_all(parts.clients.iter().chain(parts.programs))?;
    let key = key(&busybox, &needed, parts);
    let names = [BUSYBOX, GPU_TEST, PAUSE];
    let path = cache.join(format!("images-{key}.tar"));
    if path.is_file() {
        return Ok(Archive { path, key, names });
    }
    let applets = recipe::applets(parts.busybox)?;
    let images = recipe::images(&busybox, &applets, &needed, parts.programs);
    let bytes = layout::archive(&images)?;
    store(cache, &path, &bytes)?;
    Ok(Archive { path, key, names })
}

/// The digest of everything that decides the archive's bytes.
fn key(busybox: &[u8], needed: &[SharedObject], parts: &Parts<'_>) -> String {
    let mut hash = Sha256::new();
    let mut add = |name: &str, bytes: &[u8]| {
        for part in [name.as_bytes(), bytes] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    };
    add("recipe", recipe::VERSION.as_bytes());
    add("busybox", busybox);
    for object in needed {
        add(&object.path, &object.bytes);
    }
    for (name, bytes) in parts.programs {
        add(name, bytes);
    }
    tree::hex(&hash.finalize())
}

/// Whole or not at all, also when two runs write it at once.
fn store(cache: &Path, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    fs::create_dir_all(cache).map_err(Error::writing("image cache", cache))?;
    let mut fresh =
        tempfile::NamedTempFile::new_in(cache).map_err(Error::writing("image cache", cache))?;
    fresh
        .write_all(bytes)
        .map_err(Error::writing("image archive", path))?;
    fresh
        .persist(path)
        .map_err(|failed| Error::writing("image archive", path)(failed.error))?;
    Ok(())
}

#[cfg(test)]
mod tests;
