//! The nodes that the programs run on: which cards, and how they are cut.
//! Not a cluster's node: a folder, entered by one program at a time.
//! In: a text each for cards and cuts. Out: a host tree on disk, gone when dropped.

use std::path::{Path, PathBuf};

use gpu_host::HostTree;
use gpu_model::{
    Catalog, GpuIndex, Machine, MiB, MigMode, NewLoad, NodeSpec, Now, Op, Options, Pid, Process,
    ProcessKind, Scope,
};

/// What goes wrong on the way to a node.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The cards or the cut are not what the catalogue has.
    #[error("node {node}: {problem}")]
    Shape {
        /// The node's name.
        node: String,
        /// What is wrong.
        problem: String,
    },
    /// The tree cannot be written.
    #[error("node {node}: {source}")]
    Host {
        /// The node's name.
        node: String,
        /// Why.
        source: gpu_host::Error,
    },
    /// No folder for it.
    #[error("a temporary folder for node {node}: {source}")]
    Folder {
        /// The node's name.
        node: String,
        /// Why.
        source: std::io::Error,
    },
}

/// A node by its name, its cards and how they are cut.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Its name; UUIDs are made from it.
    pub name: &'static str,
    /// Cards, as `NodeSpec` reads them.
    pub cards: &'static str,
    /// GPU, and the profiles of its GPU instances in order. An empty list is MIG mode without instances, a profile that ends
    /// in `-` a GPU instance without a compute instance.
    pub cuts: &'static [(u32, &'static [&'static str])],
}

/// One whole A100.
pub const A100: Shape = Shape {
    name: "a100",
    cards: "1xA100-SXM4-40GB",
    cuts: &[],
};

/// Eight A100: whole, cut in each way, in MIG mode and empty, and with an instance that nothing can run in.
pub const CUT: Shape = Shape {
    name: "cut",
    cards: "8xA100-SXM4-40GB",
    cuts: &[
        (
            1,
            &[
                "1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb",
            ],
        ),
        (2, &["3g.20gb", "2g.10gb", "1g.5gb"]),
        (3, &["7g.40gb"]),
        (4, &[]),
        (5, &["3g.20gb-", "3g.20gb"]),
        (6, &["1g.5gb+me", "1g.10gb", "2g.10gb"]),
    ],
};

/// One H100, cut in two kinds.
pub const H100: Shape = Shape {
    name: "h100",
    cards: "1xH100-SXM5-80GB",
    cuts: &[(0, &["3g.40gb", "1g.10gb"])],
};

/// A card without MIG.
pub const L4: Shape = Shape {
    name: "l4",
    cards: "1xL4",
    cuts: &[],
};

/// Cards of several kinds in one node.
pub const MIXED: Shape = Shape {
    name: "mixed",
    cards: "1xA100-SXM4-80GB,1xH100-SXM5-80GB,2xL4",
    cuts: &[(0, &["2g.20gb", "1g.10gb"])],
};

/// All of them.
pub const ALL: [Shape; 5] = [A100, CUT, H100, L4, MIXED];

/// A node on disk.
pub struct Node {
    /// Its name, for snapshots.
    pub name: &'static str,
    folder: tempfile::TempDir,
}

impl Node {
    /// Lays a node.
    ///
    /// # Errors
    /// Cards or cuts that do not exist; a folder that cannot be written.
    pub fn lay(shape: &Shape) -> Result<Self, Error> {
        Self::of(shape.name, &machine(shape)?)
    }

    /// Lays [`MIXED`] with this process at work on it: on the larger part of the card that is cut, and on a whole card.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub fn at_work(pid: u32, name: &str) -> Result<Self, Error> {
        let wrong = |problem: String| Error::Shape {
            node: MIXED.name.to_owned(),
            problem,
        };
        let mut machine = machine(&MIXED)?;
        let cut = &machine.gpus[0];
        let device = machine.mig_devices(cut).next();
        let part = device.map(|it| Scope::ci(cut.index, it.gi.id, it.ci.id));
        let part = part.ok_or_else(|| wrong("nothing is cut".to_owned()))?;
        let now = Now::from(std::time::SystemTime::now());
        for (scope, gib, percent) in [(part, 4, 60), (Scope::gpu(GpuIndex(1)), 10, 80)] {
            let load = NewLoad {
                scope,
                process: Some(Process {
                    pid: Pid(pid),
                    name: name.to_owned(),
                    kind: ProcessKind::Compute,
                    real: false,
                }),
                memory: MiB(gib * 1024),
                shape: gpu_model::Shape::constant(percent * (gpu_model::Shape::FULL / 100)),
                traffic: gpu_model::Traffic::default(),
                since: None,
                until: None,
            };
            let next = machine.with_load(load, now);
            machine = next.map_err(|refusal| wrong(refusal.to_string()))?.0;
        }
        Self::of(MIXED.name, &machine)
    }

    fn of(name: &'static str, machine: &Machine) -> Result<Self, Error> {
        let node = name.to_owned();
        let folder = tempfile::Builder::new()
            .prefix(&format!("programs-{name}-"))
            .tempdir()
            .map_err(|source| Error::Folder {
                node: node.clone(),
                source,
            })?;
        HostTree::lay(folder.path(), machine).map_err(|source| Error::Host { node, source })?;
        Ok(Self { name, folder })
    }

    /// Lays a node of these cards as they are after a boot with this version of the driver.
    ///
    /// # Errors
    /// Cards that do not exist; a folder that cannot be written.
    pub fn boot(name: &'static str, cards: &str, mig: bool, driver: &str) -> Result<Self, Error> {
        Self::of(name, &booted(name, cards, mig, driver)?)
    }

    /// The tree's folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.folder.path()
    }

    /// The node's own nvidia-smi.
    #[must_use]
    pub fn nvidia_smi(&self) -> PathBuf {
        self.dir().join(gpu_host::PROGRAMS).join("nvidia-smi")
    }
}

/// A machine of this shape.
///
/// # Errors
/// Cards or cuts that do not exist.
pub fn machine(shape: &Shape) -> Result<Machine, Error> {
    let wrong = |problem: String| Error::Shape {
        node: shape.name.to_owned(),
        problem,
    };
    let mut machine = booted(shape.name, shape.cards, false, Machine::DRIVER_VERSION)?;
    let now = Now::from(std::time::SystemTime::now());
    for (index, profiles) in shape.cuts {
        let gpu = GpuIndex(*index);
        let mode = MigMode::Enabled;
        // An Ampere card changes its mode with the next reset.
        for op in [Op::SetMigMode { gpu, mode }, Op::Reset { gpu }] {
            let next = machine.apply(op, now);
            machine = next
                .map_err(|refusal| wrong(format!("{op:?}: {refusal}")))?
                .0;
        }
        for name in *profiles {
            let cut = match name.strip_suffix('-') {
                Some(name) => machine.cut_empty(gpu, name, now),
                None => machine.cut(gpu, name, now),
            };
            machine = cut.map_err(|error| wrong(error.to_string()))?.0;
        }
    }
    Ok(machine)
}

fn booted(name: &str, cards: &str, mig: bool, driver: &str) -> Result<Machine, Error> {
    let wrong = |problem: String| Error::Shape {
        node: name.to_owned(),
        problem,
    };
    let catalog = Catalog::builtin();
    let spec: NodeSpec = cards.parse().map_err(|e| wrong(format!("{e}")))?;
    let cards = spec.resolve(&catalog).map_err(|e| wrong(format!("{e}")))?;
    let options = Options {
        node: name.to_owned(),
        mig,
        driver_version: driver.to_owned(),
        ..Options::default()
    };
    Ok(Machine::build(&cards, &options))
}
