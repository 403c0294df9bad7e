//! Which devices this process may see.
//! Not who may change them (`session`). The real driver shows what the container's device rules let through; here a device is
//! visible if `lstat` finds a character device at its path. It need not open: in a user namespace device nodes are binds of /dev/null.
//! Looked at when NVML is initialised and when devices are enumerated, never by a getter.

use gpu_model::{CiId, GiId, Minor, caps};
use std::os::unix::fs::FileTypeExt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    All,
    Nodes,
}

impl Sight {
    pub(crate) fn of_process() -> Self {
        if std::env::var_os(gpu_store::VISIBLE_ENV).is_some_and(|value| value == "all") {
            Self::All
        } else {
            Self::Nodes
        }
    }

    pub(crate) fn gpu(self, minor: Minor) -> bool {
        self == Self::All || is_device(&format!("/dev/nvidia{minor}"))
    }

    /// How this process sees MIG devices right now.
    pub(crate) fn mig(self) -> MigSight {
        MigSight {
            all: self == Self::All || cap(caps::CONFIG) || cap(caps::MONITOR),
        }
    }
}

/// A look at the MIG capability nodes; to be taken anew for each enumeration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MigSight {
    all: bool,
}

impl MigSight {
    /// With the nodes for configuring or monitoring MIG everything is seen (the node itself); else what both of its nodes are there for.
    pub(crate) fn device(self, gpu: Minor, gi: GiId, ci: CiId) -> bool {
        self.all || cap(caps::gi(gpu, gi)) && cap(caps::ci(gpu, gi, ci))
    }
}

fn cap(minor: Minor) -> bool {
    is_device(&format!("/dev/{}", caps::node(minor)))
}

fn is_device(path: &str) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|node| node.file_type().is_char_device())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_character_devices_count() {
        assert!(is_device("/dev/null"));
        for other in ["/dev", "/dev/fd", "/no/such/path", "/proc/self/exe"] {
            assert!(!is_device(other), "{other}");
        }
    }
}
