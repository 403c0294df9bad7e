//! Where the state file lies.
//! Not what is in it (`gpu_store`), and nothing is opened here.
//! From the environment variable `FAKEGPU_STATE`; else from the place of this library: NVIDIA's container tooling mounts each
//! `*.so.<driver version>` of the library's folder, so the state travels beside the library under such a name.

use core::ffi::{CStr, c_void};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const STATE_STEM: &[u8] = b"libfakegpu-state.so.";
const LIBRARY_STEM: &[u8] = b"libnvidia-ml.so.";

/// The state file of this process; it need not exist. `None` if there is no hint of any.
pub(crate) fn state_file() -> Option<PathBuf> {
    match std::env::var_os(gpu_store::STATE_ENV) {
        Some(path) if !path.is_empty() => Some(PathBuf::from(path)),
        _ => beside(&library()?),
    }
}

/// The real path of this library.
fn library() -> Option<PathBuf> {
    // SAFETY: Dl_info is plain data for which zeros are valid; dladdr fills it or returns 0, and the address is that of a function
    // of this library.
    let name = unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr(library as *const c_void, &raw mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        CStr::from_ptr(info.dli_fname)
    };
    std::fs::canonicalize(OsStr::from_bytes(name.to_bytes())).ok()
}

/// The state file in the folder of `library`: of the library's own version if its name tells one, else the first there is.
fn beside(library: &Path) -> Option<PathBuf> {
    let folder = library.parent()?;
    if let Some(version) = library.file_name()?.as_bytes().strip_prefix(LIBRARY_STEM) {
        let state = folder.join(OsStr::from_bytes(&[STATE_STEM, version].concat()));
        if state.exists() {
            return Some(state);
        }
    }
    let mut states: Vec<_> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .filter(|name| name.as_bytes().starts_with(STATE_STEM))
        .collect();
    states.sort();
    states.first().map(|name| folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_the_own_version_comes_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        assert_eq!(beside(&at("libnvidia-ml.so.580.95.05")), None);
        for name in [
            "libfakegpu-state.so.570.1",
            "libfakegpu-state.so.580.95.05",
            "libcuda.so.580.95.05",
        ] {
            std::fs::write(at(name), "").expect("a file");
        }
        assert_eq!(
            beside(&at("libnvidia-ml.so.580.95.05")),
            Some(at("libfakegpu-state.so.580.95.05"))
        );
        assert_eq!(
            beside(&at("libnvidia-ml.so.999")),
            Some(at("libfakegpu-state.so.570.1"))
        );
        assert_eq!(
            beside(&at("other.so")),
            Some(at("libfakegpu-state.so.570.1"))
        );
    }
}
