//! The capability files under `/proc/driver/nvidia` that follow the instances, and with them their nodes.
//! Not here: the rest of that folder (`gpu-host` lays it); the nodes themselves (`nodes`).
//! Level-triggered: each writer brings the whole tree in line with the state, whatever an earlier one left undone.
use crate::nodes;
use gpu_model::{Machine, Minor, caps};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

/// The file that says that such a folder belongs to a machine of ours; it holds the machine's id.
pub const MARKER: &str = ".fakegpu";

/// Marks a folder as the `/proc/driver/nvidia` of this machine.
///
/// # Errors
/// The file can not be written.
pub fn write_marker(folder: &Path, machine: &Machine) -> io::Result<()> {
    fs::write(folder.join(MARKER), format!("{}\n", machine.id))
}

/// The mode of an instance's node: everybody may read it.
pub(crate) const READABLE: u32 = 0o444;

/// What mirroring did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mirrored {
    /// The folder is not there, or not of this machine: nothing was touched.
    NotOurs,
    /// The tree is in line; so many files and nodes were written and removed for it.
    InLine {
        /// Files and nodes written.
        written: usize,
        /// Files and nodes removed.
        removed: usize,
    },
}

/// Brings `<folder>/capabilities/gpu*/mig/gi*` in line with the machine, and the nodes that go with that folder and this state file.
pub(crate) fn mirror(folder: &Path, state: &Path, machine: &Machine) -> io::Result<Mirrored> {
    match fs::read_to_string(folder.join(MARKER)) {
        Ok(id) if id.trim() == machine.id.to_string() => {}
        Ok(_) => return Ok(Mirrored::NotOurs),
        Err(e)
            if matches!(
                e.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Mirrored::NotOurs);
        }
        Err(e) => return Err(e),
    }
    // Neither keeps the other back.
    let (files, nodes) = (
        files(folder, machine),
        nodes::mirror(folder, state, machine),
    );
    let ((written, removed), (made, gone)) = (files?, nodes?);
    Ok(Mirrored::InLine {
        written: written + made,
        removed: removed + gone,
    })
}

/// So many capability files were written and removed.
fn files(folder: &Path, machine: &Machine) -> io::Result<(usize, usize)> {
    let (mut written, mut removed) = (0, 0);
    for (gpu, wanted) in wanted(machine) {
        let mig = folder.join("capabilities").join(gpu).join("mig");
        for (path, minor) in &wanted {
            let path = mig.join(path);
            // A path says which minor belongs into it, and files come in whole: being there is being right.
            if fs::symlink_metadata(&path).is_ok() {
                continue;
            }
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let temporary = path.with_file_name(".access.new");
            fs::write(&temporary, caps::text(*minor, READABLE))?;
            fs::rename(&temporary, &path)?;
            written += 1;
        }
        removed += sweep(&mig, &wanted)?;
    }
    Ok((written, removed))
}

/// The access files that each GPU should have, by path below its `mig` folder.
fn wanted(machine: &Machine) -> Vec<(String, BTreeMap<PathBuf, Minor>)> {
    machine
        .gpus
        .iter()
        .filter(|gpu| machine.mig_spec(gpu).is_ok())
        .map(|gpu| {
            let mut files = BTreeMap::new();
            for gi in &gpu.instances {
                let folder = PathBuf::from(format!("gi{}", gi.id));
                for ci in &gi.compute {
                    let path = folder.join(format!("ci{}/access", ci.id));
                    files.insert(path, caps::ci(gpu.minor, gi.id, ci.id));
                }
                files.insert(folder.join("access"), caps::gi(gpu.minor, gi.id));
            }
            (format!("gpu{}", gpu.minor), files)
        })
        .collect()
}

/// Removes instance folders that should not be there.
fn sweep(mig: &Path, wanted: &BTreeMap<PathBuf, Minor>) -> io::Result<usize> {
    let mut removed = 0;
    for gi in folders(mig, "gi")? {
        let name = PathBuf::from(&gi);
        let path = mig.join(&gi);
        if !wanted.contains_key(&name.join("access")) {
            fs::remove_dir_all(&path)?;
            removed += 1;
            continue;
        }
        for ci in folders(&path, "ci")? {
            if !wanted.contains_key(&name.join(&ci).join("access")) {
                fs::remove_dir_all(path.join(&ci))?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}

fn folders(parent: &Path, prefix: &str) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(parent) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let mut names = Vec::new();
    for entry in entries {
        if let Ok(name) = entry?.file_name().into_string()
            && name
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.parse::<u32>().is_ok())
        {
            names.push(name);
        }
    }
    Ok(names)
}
