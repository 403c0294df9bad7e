//! The device nodes of capabilities, `/dev/nvidia-caps/nvidia-capN`, that follow the instances.
//! Not here: those that every machine has (`gpu-host` lays them, and the mark), the files of `/proc` (`mirror`).
//! Level-triggered like those. A node is a thing of the file system, so it shows in every namespace that has the folder.
use crate::mirror::{MARKER, READABLE};
use gpu_model::{Machine, Minor, caps};
use std::{
    collections::BTreeSet,
    ffi::CString,
    fs, io,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
};

/// What the mark in a folder of capability nodes says: whose they are, and their major number if the machine below has it free.
pub fn nodes_mark(machine: &Machine, major: Option<u32>) -> String {
    let major = major.map(|major| major.to_string()).unwrap_or_default();
    format!("{}\n{major}\n", machine.id)
}

/// The folders of capability nodes that go with this `/proc/driver/nvidia` and this state file: in the `/dev` beside that `/proc`, and
/// in that of the driver root among whose libraries the state lies.
fn folders(proc_dir: &Path, state: &Path) -> BTreeSet<PathBuf> {
    // proc/driver/nvidia; usr/lib/ARCHITECTURE/STATE
    [proc_dir.ancestors().nth(3), state.ancestors().nth(4)]
        .into_iter()
        .flatten()
        .map(|root| root.join("dev").join(caps::FOLDER))
        .collect()
}

/// Brings the nodes that go with this folder and this state file in line with the machine: so many were made and removed.
pub(crate) fn mirror(
    proc_dir: &Path,
    state: &Path,
    machine: &Machine,
) -> io::Result<(usize, usize)> {
    let (mut made, mut removed) = (0, 0);
    for folder in folders(proc_dir, state) {
        let (more, fewer) = follow(&folder, machine)?;
        made += more;
        removed += fewer;
    }
    Ok((made, removed))
}

/// The same for one folder, if it is marked as this machine's.
fn follow(folder: &Path, machine: &Machine) -> io::Result<(usize, usize)> {
    let (mut made, mut removed) = (0, 0);
    let Ok(mark) = fs::read_to_string(folder.join(MARKER)) else {
        return Ok((made, removed));
    };
    let mut mark = mark.lines();
    if mark.next() != Some(machine.id.to_string().as_str()) {
        return Ok((made, removed));
    }
    let major = mark.next().and_then(|major| major.parse().ok());
    let mut wanted = wanted(machine);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Some(minor) = entry.file_name().to_str().and_then(caps::named) else {
            continue;
        };
        // The first ones are every machine's.
        if minor > caps::MONITOR && !wanted.remove(&minor) {
            remove(&entry.path())?;
            removed += 1;
        }
    }
    for minor in wanted {
        make(&folder.with_file_name(caps::node(minor)), major, minor)?;
        made += 1;
    }
    Ok((made, removed))
}

fn wanted(machine: &Machine) -> BTreeSet<Minor> {
    let mut minors = BTreeSet::new();
    for gpu in &machine.gpus {
        for gi in &gpu.instances {
            minors.insert(caps::gi(gpu.minor, gi.id));
            minors.extend(
                gi.compute
                    .iter()
                    .map(|ci| caps::ci(gpu.minor, gi.id, ci.id)),
            );
        }
    }
    minors
}

/// Removes a node, with the device that may be bound over it in this namespace; the kernel does so in others.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() == io::ErrorKind::ResourceBusy => {
            let text = CString::new(path.as_os_str().as_bytes())?;
            // SAFETY: a C string that lives during the call. What it says does not matter: the file goes, or it does not.
            unsafe { libc::umount2(text.as_ptr(), libc::MNT_DETACH) };
            fs::remove_file(path)
        }
        other => other,
    }
}

/// Makes a node: with its number where this process may, else with the number 0:0, which the kernel lets everybody make (since 5.8)
/// and nobody open. Where a file system has no such thing it is a file, over which `gpu-host` binds a device.
fn make(path: &Path, major: Option<u32>, minor: Minor) -> io::Result<()> {
    let own = major.map(|major| libc::makedev(major, minor.0));
    let text = CString::new(path.as_os_str().as_bytes())?;
    let made = own.into_iter().chain([0]).any(|number| {
        // SAFETY: a C string that lives during the call; the rest are numbers.
        unsafe { libc::mknod(text.as_ptr(), libc::S_IFCHR | READABLE, number) == 0 }
    });
    if !made {
        fs::File::create_new(path)?;
    }
    // Whatever the umask of this process.
    fs::set_permissions(path, fs::Permissions::from_mode(READABLE))
}
