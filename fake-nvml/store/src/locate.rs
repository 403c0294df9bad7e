//! Where the state file lies.
//! Not here: what is in it; nothing is opened.
//! From the environment variable `FAKEGPU_STATE`; else from the place of the NVML library: NVIDIA's container tooling mounts each
//! `*.so.<driver version>` of the library's folder, so the state travels beside the library under such a name.
use crate::STATE_ENV;
use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

const STATE_STEM: &str = "libfakegpu-state.so.";
const LIBRARY_STEM: &str = "libnvidia-ml.so.";

/// The name of the state file beside the NVML library of this version.
pub fn file_name(driver_version: &str) -> String {
    format!("{STATE_STEM}{driver_version}")
}

/// The state file that the environment names; it need not exist.
pub fn named() -> Option<PathBuf> {
    std::env::var_os(STATE_ENV)
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
}

/// The state file in the folder of the NVML library `library` (its real path): of the library's own version if its name tells
/// one, else the first there is.
pub fn beside(library: &Path) -> Option<PathBuf> {
    let folder = library.parent()?;
    let version = library
        .file_name()?
        .to_str()
        .and_then(|name| name.strip_prefix(LIBRARY_STEM));
    if let Some(version) = version {
        let state = folder.join(file_name(version));
        if state.exists() {
            return Some(state);
        }
    }
    let is_state = |name: &OsStr| name.as_bytes().starts_with(STATE_STEM.as_bytes());
    let mut states: Vec<_> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .filter(|name| is_state(name))
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
