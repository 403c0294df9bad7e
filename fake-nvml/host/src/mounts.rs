//! The few mounts that a host tree needs, each in a form that may be applied again.
//! Knows nothing of GPUs. Acts on the calling process's mount namespace.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};

use crate::error::{At, Error};
use crate::namespace::mount_hint;
use crate::plan::Number;

/// Binds `source` (with everything mounted below it) over `target`.
pub(crate) fn bind(source: &Path, target: &Path) -> Result<(), Error> {
    do_mount(
        Some(source),
        target,
        None,
        MsFlags::MS_BIND | MsFlags::MS_REC,
        None,
    )
}

pub(crate) fn tmpfs(target: &Path) -> Result<(), Error> {
    do_mount(
        Some(Path::new("fakegpu")),
        target,
        Some("tmpfs"),
        MsFlags::MS_NOSUID | MsFlags::MS_NODEV,
        Some("mode=0755"),
    )
}

/// Lays the folder `upper` over `target`: names of `upper` win, all others show through. Reading only.
pub(crate) fn overlay(upper: &Path, target: &Path) -> Result<(), Error> {
    let escape = |p: &Path| {
        p.to_string_lossy()
            .replace('\\', "\\\\")
            .replace(':', "\\:")
            .replace(',', "\\,")
    };
    let options = format!("lowerdir={}:{}", escape(upper), escape(target));
    do_mount(
        Some(Path::new("fakegpu")),
        target,
        Some("overlay"),
        MsFlags::empty(),
        Some(&options),
    )
}

fn do_mount(
    source: Option<&Path>,
    target: &Path,
    kind: Option<&str>,
    flags: MsFlags,
    options: Option<&str>,
) -> Result<(), Error> {
    mount(source, target, kind, flags, options).map_err(|errno| Error::Mount {
        what: kind.map_or_else(
            || source.map(|s| s.display().to_string()).unwrap_or_default(),
            str::to_owned,
        ),
        target: target.to_owned(),
        source: io::Error::from(errno),
        hint: mount_hint(errno),
    })
}

pub(crate) fn detach(target: &Path) -> Result<(), Error> {
    umount2(target, MntFlags::MNT_DETACH).at("unmount", target)
}

/// Whether both paths are the same file or folder, so that a bind is already in place.
pub(crate) fn same(a: &Path, b: &Path) -> bool {
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) => a.dev() == b.dev() && a.ino() == b.ino(),
        _ => false,
    }
}

/// Shows `source` at `target`, together with everything that `target` showed before, except the names in `own`, which are `source`'s.
///
/// Each further entry of `target` gets a placeholder in `source` with the original bound on it. A second call sees that
/// `source` is in place and does nothing.
pub(crate) fn merge(source: &Path, target: &Path, own: &BTreeSet<OsString>) -> Result<(), Error> {
    if same(source, target) {
        return Ok(());
    }
    let shown = read_names(target)?;
    for (name, _) in read_names(source)? {
        if !own.contains(&name) && !shown.iter().any(|(n, _)| *n == name) {
            remove_placeholder(&source.join(&name));
        }
    }
    for (name, kind) in shown {
        if own.contains(&name) {
            continue;
        }
        let (theirs, ours) = (target.join(&name), source.join(&name));
        if kind.is_symlink() {
            let to = fs::read_link(&theirs).at("read the link", &theirs)?;
            if fs::read_link(&ours).ok().as_ref() != Some(&to) {
                remove_placeholder(&ours);
                symlink(&to, &ours).at("make the link", &ours)?;
            }
            continue;
        }
        if kind.is_dir() {
            fs::create_dir_all(&ours).at("make the folder", &ours)?;
        } else {
            touch(&ours)?;
        }
        match bind(&theirs, &ours) {
            // It went away between listing and binding.
            Err(Error::Mount { source: e, .. })
                if e.raw_os_error() == Some(Errno::ENOENT as i32) => {}
            other => other?,
        }
    }
    bind(source, target)
}

pub(crate) fn read_names(dir: &Path) -> Result<Vec<(OsString, fs::FileType)>, Error> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).at("list", dir)? {
        let entry = entry.at("list", dir)?;
        if let Ok(kind) = entry.file_type() {
            names.push((entry.file_name(), kind));
        }
    }
    Ok(names)
}

/// An empty file or folder or a link that an earlier merge left: nothing else is ever removed.
fn remove_placeholder(path: &Path) {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return;
    };
    // Placeholders are empty; a failure leaves a harmless empty name behind.
    let _ = if meta.is_dir() {
        fs::remove_dir(path)
    } else if meta.is_symlink() || meta.len() == 0 {
        fs::remove_file(path)
    } else {
        Ok(())
    };
}

/// Makes an empty file where nothing is yet.
pub(crate) fn touch(path: &Path) -> Result<(), Error> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    open_new(path).map(drop).at("make the file", path)
}

fn open_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o666)
        .open(path)
}

/// Makes `path` a character device: of this number where the kernel lets us make one, else by binding `/dev/null` on it, for
/// which no right to mknod is needed.
pub(crate) fn device(path: &Path, number: Option<Number>) -> Result<(), Error> {
    let wanted = number.map(|n| makedev(n.major.into(), n.minor.into()));
    let there = fs::symlink_metadata(path)
        .ok()
        .filter(|m| m.file_type().is_char_device());
    match (&there, wanted) {
        (Some(there), Some(wanted)) if there.rdev() == wanted => return Ok(()),
        (Some(_), None) => return Ok(()),
        _ => {}
    }
    if wanted.is_some_and(|wanted| make(path, wanted)) || there.is_some() {
        return Ok(());
    }
    bind(Path::new("/dev/null"), path)
}

/// Puts a device in the place of a file; what is bound there stays.
fn make(path: &Path, number: u64) -> bool {
    let new = path.with_extension("new");
    let everybody = Mode::from_bits_truncate(0o666);
    let made = mknod(&new, SFlag::S_IFCHR, everybody, number).is_ok()
        && fs::set_permissions(&new, fs::Permissions::from_mode(0o666)).is_ok()
        && fs::rename(&new, path).is_ok();
    if !made {
        let _ = fs::remove_file(&new);
    }
    made
}
