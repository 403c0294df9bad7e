//! Shows a host tree in the current mount namespace.
//! Not how it is written (`tree`) and not how a namespace is made (`namespace`): the caller has one of its own.
//! Level-triggered: a second call after `HostTree::lay` brings what is mounted in line.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gpu_model::caps;

use crate::error::Error;
use crate::mounts::{bind, device, merge, overlay, read_names, same};
use crate::plan::{DEVICES, LIBRARIES, PROGRAMS};
use crate::tree::{HostTree, PlacedKind};

/// What to show besides devices, `/proc` and `/sys`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Enter {
    /// Put the library on the loader's path and nvidia-smi among the programs, for programs that look there and not in a driver root.
    pub loader: bool,
}

/// How programs find the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loader {
    /// In the loader's own folder: nothing to set.
    Found,
    /// The kernel lays no folder over another here: programs need these variables.
    Variables {
        /// To be put in front of `LD_LIBRARY_PATH`.
        libraries: PathBuf,
        /// To be put in front of `PATH`.
        programs: PathBuf,
    },
}

impl HostTree {
    /// Puts the tree in place in the current mount namespace, which must be private to the caller.
    ///
    /// # Errors
    /// [`Error::Mount`] and [`Error::File`] with what and where.
    pub fn enter(&self, how: &Enter) -> Result<Loader, Error> {
        for (ours, theirs) in [
            ("dev", "/dev"),
            ("proc/driver", "/proc/driver"),
            ("sys/bus/pci/devices", "/sys/bus/pci/devices"),
            ("sys/devices", "/sys/devices"),
            ("sys/module", "/sys/module"),
        ] {
            // A kernel without PCI shows no PCI devices of ours either.
            if Path::new(theirs).is_dir() {
                merge(
                    &self.dir().join(ours),
                    Path::new(theirs),
                    &self.names_in(Path::new(ours)),
                )?;
            }
        }
        for file in ["proc/devices", "proc/modules"] {
            let (ours, theirs) = (self.dir().join(file), Path::new("/").join(file));
            if ours.exists() && theirs.exists() && !same(&ours, &theirs) {
                bind(&ours, &theirs)?;
            }
        }
        for node in self.entries().iter().filter(|e| e.kind == PlacedKind::Node) {
            device(&self.seen(&node.path), node.number)?;
        }
        for dev in DEVICES {
            let folder = Path::new(dev).join(caps::FOLDER);
            for (name, kind) in read_names(&self.dir().join(&folder))? {
                // Where the store could make no node it left a file.
                if kind.is_file() && name.to_str().and_then(caps::named).is_some() {
                    device(&self.seen(&folder.join(name)), None)?;
                }
            }
        }
        if how.loader {
            self.enter_loader()
        } else {
            Ok(Loader::Found)
        }
    }

    fn enter_loader(&self) -> Result<Loader, Error> {
        let libraries = library_folder();
        let programs = Path::new("/usr/bin");
        let state = self.state_path();
        let shown_state = libraries.join(state.file_name().unwrap_or_default());
        if !same(&state, &shown_state) {
            let laid = overlay(&self.dir().join(LIBRARIES), &libraries)
                // The overlay is for reading; state is written through the file itself.
                .and_then(|()| bind(&state, &shown_state))
                .and_then(|()| overlay(&self.dir().join(PROGRAMS), programs));
            if laid.is_err() {
                return Ok(Loader::Variables {
                    libraries: self.libraries(),
                    programs: self.programs(),
                });
            }
        }
        Ok(Loader::Found)
    }

    /// Where to mount over something of the tree: `/dev` was bound from `dev`, what is mounted there later does not show through.
    fn seen(&self, path: &Path) -> PathBuf {
        if path.starts_with("dev") {
            Path::new("/").join(path)
        } else {
            self.dir().join(path)
        }
    }

    fn names_in(&self, folder: &Path) -> BTreeSet<OsString> {
        self.entries()
            .iter()
            .filter_map(|e| e.path.strip_prefix(folder).ok()?.components().next())
            .map(|c| c.as_os_str().to_owned())
            .collect()
    }
}

/// The folder in which the loader looks: the one that has an NVML library, else the first that is there.
fn library_folder() -> PathBuf {
    let folders = [
        Path::new("/").join(LIBRARIES.trim_start_matches("driver-root/")),
        PathBuf::from("/usr/lib64"),
        PathBuf::from("/lib64"),
        PathBuf::from("/usr/lib"),
    ];
    let with = |name: &str| folders.iter().find(|f| f.join(name).exists()).cloned();
    with("libnvidia-ml.so.1")
        .or_else(|| with("libc.so.6"))
        .unwrap_or_else(|| PathBuf::from("/usr/lib"))
}
