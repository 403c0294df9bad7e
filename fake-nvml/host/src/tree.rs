//! A host tree on disk: written, written again after a change, opened.
//! Not what it consists of (`plan`) and not how it is shown (`enter`).
//! In: a machine. Out: a folder, and its manifest, so that a later call knows what to take away.

use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use gpu_model::{Machine, caps};
use gpu_store::Store;
use serde::{Deserialize, Serialize};

use crate::error::{At, Error};
use crate::facts::HostFacts;
use crate::mounts;
use crate::plan::{self, DEVICES, Entry, Kind, LIBRARIES, Number, PROGRAMS};

const MANIFEST: &str = "manifest.json";
const FORMAT: u32 = 1;

/// A folder that holds one node's fake host.
#[derive(Debug, Clone)]
pub struct HostTree {
    dir: PathBuf,
    manifest: Manifest,
}

/// What a tree holds, in the order it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    driver_version: String,
    entries: Vec<Placed>,
}

/// An [`Entry`] without its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Placed {
    pub(crate) path: PathBuf,
    pub(crate) kind: PlacedKind,
    /// Of a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) number: Option<Number>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PlacedKind {
    Folder,
    File,
    Link,
    Node,
}

impl HostTree {
    /// Writes the tree of `machine` into `dir`, or brings one that is there in line with it.
    ///
    /// The state file is made from `machine` if it is not there yet and is left alone otherwise: whoever changes a node's shape
    /// changes the state first.
    ///
    /// # Errors
    /// [`Error::File`] with the path, [`Error::Library`] for the library, [`Error::Store`] for the state file.
    pub fn lay(dir: &Path, machine: &Machine) -> Result<Self, Error> {
        fs::create_dir_all(dir).at("make the folder", dir)?;
        let dir = fs::canonicalize(dir).at("find", dir)?;
        let before = Manifest::read(&dir).ok();
        let mut facts = HostFacts::read();
        for own in before.iter().flat_map(|b| &b.entries) {
            // Where the tree is in place already, what looks like the host's is ours.
            if let Some(name) = own
                .path
                .strip_prefix("sys/devices")
                .ok()
                .and_then(Path::to_str)
            {
                facts.pci_roots.remove(name);
            }
        }
        let plan = plan::plan(machine, &facts)?;
        let manifest = Manifest::of(machine, &plan);
        for gone in before.iter().flat_map(|b| b.entries.iter().rev()) {
            if !manifest
                .entries
                .iter()
                .any(|e| e.path == gone.path && e.kind == gone.kind)
            {
                remove(&dir, gone)?;
            }
        }
        for entry in &plan {
            write(&dir.join(&entry.path), &entry.kind)?;
        }
        manifest.write(&dir)?;
        let tree = Self { dir, manifest };
        let state = tree.state_path();
        if !state.exists() {
            if let Some(old) = before.filter(|b| b.driver_version != machine.driver_version) {
                // A new driver is a new state file; the old one belongs to a library that is gone.
                let _ = fs::remove_file(
                    state.with_file_name(gpu_store::file_name(&old.driver_version)),
                );
            }
            Store::create(&state, machine)?;
        }
        Store::open(&state)?
            .with_proc_dir(tree.proc_driver())
            .mirror()?;
        Ok(tree)
    }

    /// Opens a tree that was laid before.
    ///
    /// # Errors
    /// [`Error::NotATree`] when `dir` holds none.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let dir = match fs::canonicalize(dir) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::NotATree {
                    dir: dir.to_owned(),
                    why: "there is no such folder".to_owned(),
                });
            }
            other => other.at("find", dir)?,
        };
        let manifest = Manifest::read(&dir)?;
        Ok(Self { dir, manifest })
    }

    /// The tree's folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What `--nvidia-driver-root` gets.
    #[must_use]
    pub fn driver_root(&self) -> PathBuf {
        self.dir.join("driver-root")
    }

    /// The state file that all processes of the node share.
    #[must_use]
    pub fn state_path(&self) -> PathBuf {
        self.libraries()
            .join(gpu_store::file_name(&self.manifest.driver_version))
    }

    /// The folder of the libraries.
    #[must_use]
    pub fn libraries(&self) -> PathBuf {
        self.dir.join(LIBRARIES)
    }

    /// The folder of the programs.
    #[must_use]
    pub fn programs(&self) -> PathBuf {
        self.dir.join(PROGRAMS)
    }

    /// `libnvidia-ml.so.<driver version>`.
    #[must_use]
    pub fn library(&self) -> PathBuf {
        self.libraries()
            .join(format!("libnvidia-ml.so.{}", self.manifest.driver_version))
    }

    /// What a container sees as `/proc/driver/nvidia`.
    #[must_use]
    pub fn proc_driver(&self) -> PathBuf {
        self.dir.join("proc/driver/nvidia")
    }

    /// The folders in which files and nodes follow the instances.
    #[must_use]
    pub fn following(&self) -> [PathBuf; 3] {
        let [ours, drivers] = DEVICES.map(|dev| self.dir.join(dev).join(caps::FOLDER));
        [self.proc_driver(), ours, drivers]
    }

    pub(crate) fn entries(&self) -> &[Placed] {
        &self.manifest.entries
    }
}

impl Manifest {
    fn of(machine: &Machine, plan: &[Entry]) -> Self {
        let kind = |kind: &Kind| match kind {
            Kind::Folder => PlacedKind::Folder,
            Kind::Text(_) | Kind::Program(_) => PlacedKind::File,
            Kind::Link(_) => PlacedKind::Link,
            Kind::Node(_) => PlacedKind::Node,
        };
        Self {
            format: FORMAT,
            driver_version: machine.driver_version.clone(),
            entries: plan
                .iter()
                .map(|e| Placed {
                    path: e.path.clone(),
                    kind: kind(&e.kind),
                    number: match e.kind {
                        Kind::Node(number) => number,
                        _ => None,
                    },
                })
                .collect(),
        }
    }

    fn read(dir: &Path) -> Result<Self, Error> {
        let not = |why: String| Error::NotATree {
            dir: dir.to_owned(),
            why,
        };
        let text = fs::read(dir.join(MANIFEST)).map_err(|e| not(format!("{MANIFEST}: {e}")))?;
        let manifest: Self =
            serde_json::from_slice(&text).map_err(|e| not(format!("{MANIFEST}: {e}")))?;
        if manifest.format != FORMAT {
            return Err(not(format!(
                "{MANIFEST} has format {}, this program reads {FORMAT}",
                manifest.format
            )));
        }
        Ok(manifest)
    }

    fn write(&self, dir: &Path) -> Result<(), Error> {
        let path = dir.join(MANIFEST);
        let text = serde_json::to_vec_pretty(self)
            .map_err(std::io::Error::other)
            .at("write", &path)?;
        replace(&path, &text, 0o644)
    }
}

fn write(path: &Path, kind: &Kind) -> Result<(), Error> {
    match kind {
        Kind::Folder => fs::create_dir_all(path).at("make the folder", path),
        Kind::Text(text) => {
            if fs::read(path).is_ok_and(|old| old == *text) {
                return Ok(());
            }
            fs::write(path, text).at("write", path)
        }
        Kind::Program(bytes) => {
            if fs::read(path).is_ok_and(|old| old == **bytes) {
                return Ok(());
            }
            replace(path, bytes, 0o755)
        }
        Kind::Link(target) => {
            if fs::read_link(path).is_ok_and(|old| old == *target) {
                return Ok(());
            }
            if fs::symlink_metadata(path).is_ok() {
                fs::remove_file(path).at("remove", path)?;
            }
            symlink(target, path).at("make the link", path)
        }
        Kind::Node(_) => mounts::touch(path),
    }
}

/// Puts a whole file in place at once.
fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Error> {
    use std::io::Write as _;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = path.with_file_name(name);
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(&new)
        .at("make", &new)?;
    file.write_all(bytes).at("write", &new)?;
    file.set_permissions(fs::Permissions::from_mode(mode))
        .at("set the mode of", &new)?;
    fs::rename(&new, path).at("put in place", path)
}

fn remove(dir: &Path, what: &Placed) -> Result<(), Error> {
    let path = &dir.join(&what.path);
    let gone = |result: std::io::Result<()>| match result {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other.at("remove", path),
    };
    match what.kind {
        // Capability files of instances lie in folders of the plan.
        PlacedKind::Folder => gone(fs::remove_dir_all(path)),
        PlacedKind::File | PlacedKind::Link => gone(fs::remove_file(path)),
        PlacedKind::Node => {
            // In another namespace the kernel takes a bind away with its file; in this one it would refuse.
            let _ = mounts::detach(path);
            if what.path.starts_with("dev") && mounts::same(&dir.join("dev"), Path::new("/dev")) {
                let _ = mounts::detach(&Path::new("/").join(&what.path));
            }
            gone(fs::remove_file(path))
        }
    }
}
