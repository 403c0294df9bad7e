//! Binding, protecting and listing mounts: the small steps that roots, /dev and the container hook are built of.
//! Not what is mounted where (`root`, `dev`, `oci::hook`). Paths come from those, the kernel's refusal goes back to them.
use std::{
    fs, io,
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    mount::{MsFlags, mount},
    sys::statvfs::{FsFlags, statvfs},
};

use super::Refused;

pub(crate) type Step<T = ()> = Result<T, Refused>;

pub(crate) fn refused(what: &str, e: Errno, remedy: &str) -> Refused {
    Refused::new(format!("{what} failed: {}", e.desc()), remedy)
}

pub(crate) fn io_refused(doing: &str, path: &Path) -> impl FnOnce(io::Error) -> Refused + use<> {
    let what = format!("cannot {doing} {}", path.display());
    move |e| {
        Refused::new(
            format!("{what}: {e}"),
            "look at the file system that holds it",
        )
    }
}

pub(crate) fn write(path: &Path, text: &str) -> Step {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(io_refused("make", parent))?;
    }
    fs::write(path, text).map_err(io_refused("write", path))
}

/// Binds a folder or file, with all that is mounted below it.
pub(crate) fn bind_tree(from: &Path, to: &Path) -> nix::Result<()> {
    let none = None::<&str>;
    let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(Some(from), to, none, flags, none)
}

/// [`bind_tree`] with the remedy.
pub(crate) fn bind(from: &Path, to: &Path) -> Step {
    bind_tree(from, to).map_err(|e| {
        refused(
            &format!("binding {} to {}", from.display(), to.display()),
            e,
            "allow bind mounts in user namespaces",
        )
    })
}

/// Binds onto a path that may not exist yet.
pub(crate) fn bind_new(from: &Path, to: &Path) -> Step {
    place(from, to)?;
    bind(from, to)
}

/// Makes an empty folder or file for `from` to be bound on.
pub(crate) fn place(from: &Path, to: &Path) -> Step {
    let is_dir = fs::metadata(from)
        .map_err(io_refused("look at", from))?
        .is_dir();
    if is_dir {
        fs::create_dir_all(to).map_err(io_refused("make", to))?;
    } else {
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(io_refused("make", parent))?;
        }
        if !to.exists() {
            fs::File::create(to).map_err(io_refused("make", to))?;
        }
    }
    Ok(())
}

/// Makes one mount read-only.
pub(crate) fn read_only(at: &Path) -> nix::Result<()> {
    restrict(at, MsFlags::MS_RDONLY)
}

/// Makes one device unopenable; it can still be looked at.
pub(crate) fn no_device(at: &Path) -> nix::Result<()> {
    restrict(at, MsFlags::MS_NODEV)
}

/// Adds a flag to one mount. In a user namespace the flags it has are locked, so they are repeated.
fn restrict(at: &Path, flag: MsFlags) -> nix::Result<()> {
    let has_flags = statvfs(at)?.flags();
    let mut flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | flag;
    for (has, keep) in [
        (FsFlags::ST_RDONLY, MsFlags::MS_RDONLY),
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ] {
        if has_flags.contains(has) {
            flags |= keep;
        }
    }
    let none = None::<&str>;
    mount(none, at, none, flags, none)
}

pub(crate) fn cannot_protect(at: &Path) -> impl FnOnce(Errno) -> Refused + use<> {
    let what = format!("protecting {}", at.display());
    move |e| refused(&what, e, "allow remounts in user namespaces")
}

/// Every mount point at or below a path, outermost first.
pub(crate) fn mounts_below(path: &Path) -> Step<Vec<PathBuf>> {
    let table = fs::read_to_string("/proc/self/mountinfo")
        .map_err(io_refused("read", Path::new("/proc/self/mountinfo")))?;
    let mut points: Vec<PathBuf> = table
        .lines()
        .filter_map(|line| line.split(' ').nth(4))
        .map(unescape)
        .filter(|p| p.starts_with(path))
        .collect();
    points.dedup();
    Ok(points)
}

/// mountinfo writes space, tab, newline and backslash as three octal digits.
fn unescape(field: &str) -> PathBuf {
    let mut out = String::new();
    let mut rest = field;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let code = rest
            .get(at + 1..at + 4)
            .and_then(|d| u8::from_str_radix(d, 8).ok());
        match code {
            Some(code) => {
                out.push(code as char);
                rest = &rest[at + 4..];
            }
            None => {
                out.push('\\');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    PathBuf::from(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mountinfo_escapes_are_undone() {
        assert_eq!(unescape("/a\\040b\\134c"), PathBuf::from("/a b\\c"));
        assert_eq!(unescape("/plain"), PathBuf::from("/plain"));
    }
}
