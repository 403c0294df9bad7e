//! What the host below already shows, so that ours is added to it and collides with nothing.
//! Reads `/proc` and `/sys`; knows nothing of machines.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What a plan needs to know of the host below.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// Text of `/proc/devices`.
    pub devices: String,
    /// Text of `/proc/modules`; `None` where the kernel has no such file.
    pub modules: Option<String>,
    /// PCI root complexes in `/sys/devices`, as `pci0000:00`.
    pub pci_roots: BTreeSet<String>,
    /// The processors that are on, as `0-31`.
    pub cpus: String,
    /// NVIDIA's own driver is loaded: its device numbers are those of real cards then.
    pub real_driver: bool,
}

impl HostFacts {
    /// Looks at the running host.
    #[must_use]
    pub fn read() -> Self {
        let roots = fs::read_dir("/sys/devices").into_iter().flatten().flatten();
        let cpus = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
        Self {
            cpus: cpus.trim().to_owned(),
            // Its folder of parameters, which ours has not.
            real_driver: Path::new("/sys/module/nvidia/parameters").exists(),
            devices: fs::read_to_string("/proc/devices").unwrap_or_default(),
            modules: fs::read_to_string("/proc/modules").ok(),
            pci_roots: roots
                .filter_map(|e| e.file_name().into_string().ok())
                .filter(|name| name.starts_with("pci"))
                .collect(),
        }
    }
}
