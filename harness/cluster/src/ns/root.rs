//! The root file system that a cluster's or a node's processes see: a tmpfs with the host's programs and
//! libraries bound in read-only, its own /etc, /run, /tmp, /var, /dev, /proc, and the run folder at its own path.
//! Not the fake GPU's files (gpu-host lays those over it). Built by an init in its private mount namespace.
use std::{
    fs, io,
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    mount::{MntFlags, MsFlags, mount, umount2},
    unistd::pivot_root,
};
use serde::{Deserialize, Serialize};

use super::Refused;

/// What of the host stays visible, read-only. Homes, /etc, /var and /tmp do not.
const HOST_TREES: &[&str] = &[
    "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix", "gnu",
];

/// Files of the host's /etc without which dynamic programs or time zones do not work.
const HOST_ETC: &[&str] = &[
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "os-release",
    "localtime",
    "ssl",
];

/// What the new root holds beside the host's programs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Root {
    /// An empty folder to build the root on.
    pub at: PathBuf,
    /// Bound at the same path as outside, writable.
    pub keep: Vec<PathBuf>,
    /// Single files (programs) bound at the same path as outside, read-only.
    pub programs: Vec<PathBuf>,
    /// Folder outside that becomes /var.
    pub var: PathBuf,
    /// Text files to write, by absolute path inside.
    pub files: Vec<(PathBuf, String)>,
    /// Host name, also in /etc/hosts.
    pub hostname: String,
    /// 32 hexadecimal digits.
    pub machine_id: String,
}

/// A machine id that belongs to these names.
pub(crate) fn machine_id(cluster: &str, node: &str) -> String {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(format!("{cluster}/{node}"));
    digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

type Step<T = ()> = Result<T, Refused>;

impl Root {
    /// Builds the root, moves into it and lets go of the old one.
    pub(crate) fn enter(&self) -> Step {
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).map_err(|e| {
            refused(
                "making all mounts private",
                e,
                "run where mounts are allowed in a user namespace",
            )
        })?;
        mount(
            Some("tmpfs"),
            &self.at,
            Some("tmpfs"),
            MsFlags::empty(),
            Some("mode=0755"),
        )
        .map_err(|e| {
            refused(
                "mounting a tmpfs",
                e,
                "an AppArmor or seccomp profile forbids mounts here: lift it, or run as root",
            )
        })?;
        for tree in HOST_TREES {
            self.host_tree(tree)?;
        }
        self.make_dirs(&[
            "proc", "sys", "dev", "run", "tmp", "etc", "root", "opt", "home", "mnt", "var", ".old",
        ])?;
        self.own_proc()?;
        self.own_sys()?;
        super::dev::build(&self.at.join("dev"))?;
        for (dir, data) in [("run", "mode=0755"), ("tmp", "mode=1777")] {
            mount(
                Some("tmpfs"),
                &self.at.join(dir),
                Some("tmpfs"),
                MsFlags::MS_NOSUID | MsFlags::MS_NODEV,
                Some(data),
            )
            .map_err(|e| {
                refused(
                    "mounting a tmpfs",
                    e,
                    "allow tmpfs mounts in user namespaces",
                )
            })?;
        }
        bind(&self.var, &self.at.join("var"))?;
        self.etc()?;
        for dir in &self.keep {
            self.same_path(dir, true)?;
        }
        for program in &self.programs {
            self.same_path(program, false)?;
        }
        for (path, text) in &self.files {
            let path = self.inside(path);
            write(&path, text)?;
        }
        pivot_root(&self.at, &self.at.join(".old")).map_err(|e| {
            refused(
                "pivot_root",
                e,
                "the machine's root is an initramfs: start from a mounted root file system",
            )
        })?;
        nix::unistd::chdir("/").map_err(|e| refused("chdir /", e, ""))?;
        umount2("/.old", MntFlags::MNT_DETACH)
            .map_err(|e| refused("letting go of the old root", e, ""))?;
        fs::remove_dir("/.old").map_err(io_refused("remove", Path::new("/.old")))?;
        nix::unistd::sethostname(&self.hostname)
            .map_err(|e| refused("setting the host name", e, ""))?;
        Ok(())
    }

    fn inside(&self, absolute: &Path) -> PathBuf {
        self.at.join(absolute.strip_prefix("/").unwrap_or(absolute))
    }

    fn make_dirs(&self, names: &[&str]) -> Step {
        for name in names {
            let dir = self.at.join(name);
            fs::create_dir_all(&dir).map_err(io_refused("make", &dir))?;
        }
        Ok(())
    }

    fn host_tree(&self, name: &str) -> Step {
        let host = Path::new("/").join(name);
        let here = self.at.join(name);
        let Ok(meta) = fs::symlink_metadata(&host) else {
            return Ok(());
        };
        if meta.is_symlink() {
            let target = fs::read_link(&host).map_err(io_refused("read", &host))?;
            return std::os::unix::fs::symlink(target, &here).map_err(io_refused("link", &here));
        }
        fs::create_dir(&here).map_err(io_refused("make", &here))?;
        bind(&host, &here)?;
        // Best effort: as an ordinary user nothing there is writable anyway.
        let _ = read_only(&here);
        Ok(())
    }

    fn own_proc(&self) -> Step {
        let proc = self.at.join("proc");
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount(Some("proc"), &proc, Some("proc"), flags, None::<&str>).map_err(|e| {
            refused(
                "mounting /proc",
                e,
                "parts of /proc are masked, as container runtimes do: unmask them (Docker: `--security-opt systempaths=unconfined`; Kubernetes: `procMount: Unmasked`)",
            )
        })?;
        // The kernel lets the real root write global sysctls from a user namespace too, and the kubelet would. Only /proc/sys/net is ours.
        let (sys, net) = (proc.join("sys"), proc.join("sys/net"));
        bind(&sys, &sys)?;
        bind(&net, &net)?;
        read_only(&sys).map_err(cannot_protect(&sys))
    }

    /// The host's /sys, and below it every cgroup mount, read-only: nobody here can make a cgroup, root or not.
    fn own_sys(&self) -> Step {
        let sys = self.at.join("sys");
        bind(Path::new("/sys"), &sys)?;
        for below in mounts_below(&sys)? {
            match read_only(&below) {
                // What an ordinary user cannot even reach (debugfs, tracefs) he cannot change either.
                Ok(()) | Err(Errno::EACCES) => {}
                Err(e) => return Err(cannot_protect(&below)(e)),
            }
        }
        Ok(())
    }

    fn etc(&self) -> Step {
        let etc = self.at.join("etc");
        for name in HOST_ETC {
            let host = Path::new("/etc").join(name);
            if host.exists() {
                bind_new(&host, &etc.join(name))?;
            }
        }
        let host = &self.hostname;
        for (name, text) in [
            (
                "passwd",
                "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
                    .to_owned(),
            ),
            (
                "group",
                "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n".to_owned(),
            ),
            ("hosts", format!("127.0.0.1 localhost\n127.0.1.1 {host}\n")),
            ("hostname", format!("{host}\n")),
            ("machine-id", format!("{}\n", self.machine_id)),
            (
                "nsswitch.conf",
                "passwd: files\ngroup: files\nhosts: files\n".to_owned(),
            ),
            // No resolver: nothing in here may ask one.
            ("resolv.conf", "# this cluster has no uplink\n".to_owned()),
        ] {
            write(&etc.join(name), &text)?;
        }
        Ok(())
    }

    /// Binds a path of the old root at the same path of the new one, unless it is visible there already.
    fn same_path(&self, path: &Path, writable: bool) -> Step {
        let here = self.inside(path);
        if !writable && here.exists() {
            return Ok(());
        }
        place(path, &here)?;
        // Not recursive: the root itself may be under construction below the run folder.
        let none = None::<&str>;
        mount(Some(path), &here, none, MsFlags::MS_BIND, none).map_err(|e| {
            refused(
                &format!("binding {}", path.display()),
                e,
                "allow bind mounts in user namespaces",
            )
        })?;
        if writable {
            Ok(())
        } else {
            read_only(&here).map_err(cannot_protect(&here))
        }
    }
}

fn refused(what: &str, e: Errno, remedy: &str) -> Refused {
    Refused::new(format!("{what} failed: {}", e.desc()), remedy)
}

fn io_refused(doing: &str, path: &Path) -> impl FnOnce(io::Error) -> Refused + use<> {
    let what = format!("cannot {doing} {}", path.display());
    move |e| {
        Refused::new(
            format!("{what}: {e}"),
            "look at the file system that holds it",
        )
    }
}

fn write(path: &Path, text: &str) -> Step {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(io_refused("make", parent))?;
    }
    fs::write(path, text).map_err(io_refused("write", path))
}

/// Binds a folder or file, with all that is mounted below it.
pub(crate) fn bind(from: &Path, to: &Path) -> Step {
    let none = None::<&str>;
    mount(
        Some(from),
        to,
        none,
        MsFlags::MS_BIND | MsFlags::MS_REC,
        none,
    )
    .map_err(|e| {
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
fn place(from: &Path, to: &Path) -> Step {
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

/// Makes one mount read-only. In a user namespace the flags it has are locked, so they are repeated.
fn read_only(at: &Path) -> nix::Result<()> {
    let stat = nix::sys::statvfs::statvfs(at)?;
    let mut flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
    use nix::sys::statvfs::FsFlags;
    for (has, keep) in [
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ] {
        if stat.flags().contains(has) {
            flags |= keep;
        }
    }
    let none = None::<&str>;
    mount(none, at, none, flags, none)
}

fn cannot_protect(at: &Path) -> impl FnOnce(Errno) -> Refused + use<> {
    let what = format!("making {} read-only", at.display());
    move |e| refused(&what, e, "allow remounts in user namespaces")
}

/// Every mount point at or below a path, outermost first.
fn mounts_below(path: &Path) -> Step<Vec<PathBuf>> {
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
