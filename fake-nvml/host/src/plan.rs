//! What a host tree consists of, as data: nothing is written here.
//! Not the effects (`tree` writes, `enter` mounts) and not the texts (`texts`).
//! In: a machine and what is known of the host below. Out: a list of entries with paths relative to the tree.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use gpu_model::{Gpu, Machine, Minor, caps};

use crate::error::Error;
use crate::facts::HostFacts;
use crate::majors::{FRONTEND, Majors};
use crate::{cuda, family, payload, pci, texts};

/// One thing in a host tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Relative to the tree.
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
}

/// What an [`Entry`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A folder.
    Folder,
    /// A file that is rewritten in place, so that a bind of it shows the new text.
    Text(Vec<u8>),
    /// A program or library: replaced as a whole, so that a running process keeps the one it has.
    Program(Cow<'static, [u8]>),
    /// A symbolic link.
    Link(PathBuf),
    /// A character device once the tree is entered. Where the kernel lets nobody make one (in a user namespace), or its number is a
    /// real card's, `/dev/null` is bound there: a character device for everyone who looks.
    Node(Option<Number>),
}

/// The numbers of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Number {
    /// Its driver.
    pub major: u32,
    /// Itself.
    pub minor: u32,
}

/// Where libraries lie under the driver root on this architecture.
pub const LIBRARIES: &str = if cfg!(target_arch = "aarch64") {
    "driver-root/usr/lib/aarch64-linux-gnu"
} else {
    "driver-root/usr/lib/x86_64-linux-gnu"
};

/// Where programs lie under the driver root.
pub const PROGRAMS: &str = "driver-root/usr/bin";

/// The tree's folders of device nodes: the host's own, and the driver root's.
pub(crate) const DEVICES: [&str; 2] = ["dev", "driver-root/dev"];

/// Everything that a host with this machine shows.
///
/// # Errors
/// [`Error::Library`], if the library that is carried can not be made that of the machine's driver.
pub fn plan(machine: &Machine, facts: &HostFacts) -> Result<Vec<Entry>, Error> {
    let mut plan = Plan::default();
    let library = library(payload::NVML, &machine.driver_version)?;
    plan.driver_root(machine, library);
    let majors = Majors::free(&facts.devices);
    let numbers = (!facts.real_driver).then_some(majors);
    for root in DEVICES {
        plan.devices(Path::new(root), machine, numbers);
    }
    plan.proc(machine, facts, majors);
    plan.pci(machine, facts);
    plan.modules(machine);
    Ok(plan.entries)
}

/// The library as the driver of this version has it.
fn library<'l>(carried: &'l [u8], version: &str) -> Result<Cow<'l, [u8]>, Error> {
    family::cut(carried, version).map_err(|source| Error::Library {
        version: version.to_owned(),
        source,
    })
}

#[derive(Default)]
struct Plan {
    entries: Vec<Entry>,
}

impl Plan {
    fn add(&mut self, path: impl Into<PathBuf>, kind: Kind) {
        self.entries.push(Entry {
            path: path.into(),
            kind,
        });
    }

    fn folder(&mut self, path: impl Into<PathBuf>) {
        self.add(path, Kind::Folder);
    }

    fn text(&mut self, path: impl Into<PathBuf>, text: impl Into<Vec<u8>>) {
        self.add(path, Kind::Text(text.into()));
    }

    fn driver_root(&mut self, machine: &Machine, library: Cow<'static, [u8]>) {
        let version = &machine.driver_version;
        let real = format!("libnvidia-ml.so.{version}");
        self.folder(LIBRARIES);
        self.add(format!("{LIBRARIES}/{real}"), Kind::Program(library));
        self.add(
            format!("{LIBRARIES}/libnvidia-ml.so.1"),
            Kind::Link(real.into()),
        );
        self.add(
            format!("{LIBRARIES}/libnvidia-ml.so"),
            Kind::Link("libnvidia-ml.so.1".into()),
        );
        let cuda = format!("libcuda.so.{version}");
        self.add(
            format!("{LIBRARIES}/{cuda}"),
            Kind::Program(cuda::library().into()),
        );
        self.add(format!("{LIBRARIES}/libcuda.so.1"), Kind::Link(cuda.into()));
        self.add(
            format!("{LIBRARIES}/libcuda.so"),
            Kind::Link("libcuda.so.1".into()),
        );
        self.folder(PROGRAMS);
        self.add(
            format!("{PROGRAMS}/nvidia-smi"),
            Kind::Program(payload::NVIDIA_SMI.into()),
        );
    }

    fn devices(&mut self, dev: &Path, machine: &Machine, majors: Option<Majors>) {
        let number = |major: fn(Majors) -> u32, minor: u32| {
            Kind::Node(majors.map(|majors| Number {
                major: major(majors),
                minor,
            }))
        };
        self.folder(dev);
        for gpu in &machine.gpus {
            self.add(
                dev.join(format!("nvidia{}", gpu.minor)),
                number(|_| FRONTEND, gpu.minor.0),
            );
        }
        self.add(dev.join("nvidiactl"), number(|_| FRONTEND, 255));
        self.add(dev.join("nvidia-uvm"), number(|m| m.uvm, 0));
        self.add(dev.join("nvidia-uvm-tools"), number(|m| m.uvm, 1));
        self.add(dev.join("nvidia-modeset"), number(|_| FRONTEND, 254));
        self.folder(dev.join(caps::FOLDER));
        for minor in [caps::CONFIG, caps::MONITOR] {
            self.add(dev.join(caps::node(minor)), number(|m| m.caps, minor.0));
        }
        // The store's writers keep the nodes of instances in line where they find this mark.
        let mark = gpu_store::nodes_mark(machine, majors.map(|majors| majors.caps));
        self.text(dev.join(caps::FOLDER).join(gpu_store::MARKER), mark);
    }

    fn proc(&mut self, machine: &Machine, facts: &HostFacts, majors: Majors) {
        let nvidia = Path::new("proc/driver/nvidia");
        self.folder(nvidia);
        // The store's writers keep the capability files below in line where they find this mark.
        self.text(nvidia.join(gpu_store::MARKER), format!("{}\n", machine.id));
        self.text(nvidia.join("version"), texts::version(machine));
        self.text(nvidia.join("params"), texts::PARAMS);
        self.text(nvidia.join("registry"), texts::REGISTRY);
        for empty in ["patches", "warnings"] {
            self.folder(nvidia.join(empty));
            self.text(nvidia.join(empty).join("README"), texts::README);
        }
        self.folder(nvidia.join("capabilities/mig"));
        self.text(
            nvidia.join("capabilities/mig/config"),
            caps::text(caps::CONFIG, 0o400),
        );
        self.text(
            nvidia.join("capabilities/mig/monitor"),
            caps::text(caps::MONITOR, 0o444),
        );
        // Its number is the first behind those of 32 GPUs, which is as many as the driver's own table has.
        if machine
            .gpus
            .iter()
            .all(|gpu| gpu.minor.0 < texts::TABLE_GPUS)
        {
            self.text(
                nvidia.join("capabilities/fabric-imex-mgmt"),
                caps::text(Minor(texts::FABRIC_IMEX), 0o400),
            );
        }
        for gpu in &machine.gpus {
            self.folder(nvidia.join(format!("capabilities/gpu{}/mig", gpu.minor)));
            let own = nvidia.join("gpus").join(format!("{:#}", gpu.pci));
            self.folder(&own);
            self.text(own.join("information"), texts::information(machine, gpu));
            self.text(own.join("power"), texts::POWER);
            self.text(own.join("registry"), texts::REGISTRY);
        }
        self.folder("proc/driver/nvidia-caps");
        self.text(
            "proc/driver/nvidia-caps/mig-minors",
            texts::mig_minors(machine),
        );
        self.text("proc/devices", majors.devices(&facts.devices));
        if let Some(modules) = &facts.modules {
            self.text("proc/modules", texts::modules(modules));
        }
    }

    fn pci(&mut self, machine: &Machine, facts: &HostFacts) {
        self.folder("sys/bus/pci/devices");
        self.folder("sys/devices");
        let mut taken = facts.pci_roots.clone();
        for gpu in &machine.gpus {
            let address = format!("{:#}", gpu.pci);
            let root = free_root(gpu, &taken);
            taken.insert(root.clone());
            let device = Path::new("sys/devices").join(&root).join(&address);
            self.folder(Path::new("sys/devices").join(&root));
            self.folder(&device);
            for (name, text) in pci::files(machine, gpu, &facts.cpus) {
                self.text(device.join(name), text);
            }
            // Readers take the root complex from this text and files through the link.
            self.add(
                Path::new("sys/bus/pci/devices").join(&address),
                Kind::Link(Path::new("../../../devices").join(&root).join(&address)),
            );
            // The link's last part names the driver, and readers want it to lead somewhere.
            self.folder(Path::new("sys/devices").join(&root).join("nvidia"));
            self.add(device.join("driver"), Kind::Link("../nvidia".into()));
            let group = pci::iommu_group(gpu).to_string();
            let groups = Path::new("sys/devices").join(&root).join("iommu_groups");
            self.folder(groups.join(&group));
            self.add(
                device.join("iommu_group"),
                Kind::Link(Path::new("../iommu_groups").join(&group)),
            );
        }
    }

    fn modules(&mut self, machine: &Machine) {
        for (name, users) in texts::MODULES {
            let folder = Path::new("sys/module").join(name);
            self.folder(&folder);
            self.text(
                folder.join("version"),
                format!("{}\n", machine.driver_version),
            );
            self.text(folder.join("refcnt"), format!("{users}\n"));
            self.text(folder.join("initstate"), "live\n");
            self.text(folder.join("taint"), "OE\n");
        }
    }
}

/// A root complex that the host below does not have: its own bus number, or the next free one under it.
fn free_root(gpu: &Gpu, taken: &std::collections::BTreeSet<String>) -> String {
    let name = |bus: u32| format!("pci{:04x}:{bus:02x}", gpu.pci.domain);
    let own = u32::from(gpu.pci.bus);
    (0..=own)
        .rev()
        .chain(own + 1..256)
        .map(name)
        .find(|n| !taken.contains(n))
        .unwrap_or_else(|| name(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_can_not_be_cut_is_laid_only_where_nothing_is_to_be_cut() {
        let older = library(b"no ELF file at all", "535.161.08").map_err(|e| e.to_string());
        let said = older.expect_err("names of later drivers would stay");
        assert!(
            said.contains("driver 535.161.08") && said.contains("no ELF file"),
            "{said}"
        );
        let newest = library(b"no ELF file at all", "616.1");
        assert_eq!(newest.expect("whole"), &b"no ELF file at all"[..]);
    }
}
