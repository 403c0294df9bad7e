//! The `createContainer` hook: shows a container the node's fake kernel files.
//!
//! procfs and sysfs are not per container: on a real GPU node every container, with a GPU or without, reads the kernel's
//! own `/proc/driver/nvidia`, `/proc/devices`, `/proc/modules` and `/sys/module/nvidia` (NVIDIA's toolkit in CDI mode filters none of them, it only
//! covers `params`). So each container gets the node's whole view, read-only; what a *claim* gave shows in `/dev`.
//! A volume cannot do this: runc refuses mounts inside `/proc`. The hook runs after that check, in the container's mount
//! namespace, before the root is changed, and so sees the node's paths and the container's.
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::error::Error;
use crate::ns::mounts::{bind_tree, read_only};

/// What the node covers with files of its own and a container must see alike.
const COVERED: [&str; 5] = [
    "/proc/driver",
    "/proc/devices",
    "/proc/modules",
    "/sys/bus/pci/devices",
    "/sys/module",
];

/// Runs the hook: `argv` is the program, the hook's name and the container's root. Returns the exit code.
#[must_use]
pub fn hook_main(argv: &[OsString]) -> i32 {
    match run(argv) {
        Ok(()) => 0,
        Err(error) => {
            // runc puts the hook's stderr into its own error, containerd that into the pod's event.
            eprintln!("{error}");
            1
        }
    }
}

fn run(argv: &[OsString]) -> Result<(), Error> {
    let root = argv.get(2).map(Path::new).ok_or(Error::NoRoot)?;
    for covered in COVERED.map(Path::new) {
        let target = root.join(covered.strip_prefix("/").unwrap_or(covered));
        if is_covered(covered) && target.exists() {
            bind_tree(covered, &target)
                .and_then(|()| read_only(&target))
                .map_err(|source| Error::Bind {
                    from: covered.into(),
                    to: target,
                    source: source.into(),
                })?;
        }
    }
    Ok(())
}

/// True when the node has put something over the kernel's own file: it then lies on another file system.
fn is_covered(path: &Path) -> bool {
    let device = |path: &Path| -> io::Result<u64> { Ok(fs::metadata(path)?.dev()) };
    let kernel = PathBuf::from_iter(path.components().take(2));
    matches!((device(path), device(&kernel)), (Ok(own), Ok(kernel)) if own != kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_own_files_are_not_covered() {
        assert!(!is_covered(Path::new("/proc/devices")));
        assert!(!is_covered(Path::new("/proc/no-such-file")));
    }

    #[test]
    fn a_call_without_a_root_says_so() {
        assert!(matches!(
            run(&["x".into(), "__container-hook".into()]),
            Err(Error::NoRoot)
        ));
        assert_eq!(hook_main(&[]), 1);
    }
}
