//! The root file system that a cluster's or a node's processes see: a tmpfs with the host's programs and
//! libraries bound in read-only, its own /etc, /run, /tmp, /var, /dev, /proc, and the run folder at its own path.
//! Not the fake GPU's files (gpu-host lays those over it). Built by an init in its private mount namespace.
use std::{
    fs,
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    mount::{MntFlags, MsFlags, mount, umount2},
    unistd::pivot_root,
};
use serde::{Deserialize, Serialize};

use super::{
    UNEXPECTED,
    mounts::{
        Step, bind, bind_new, cannot_protect, io_refused, mounts_below, place, read_only, refused,
        write,
    },
};

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
        nix::unistd::chdir("/").map_err(|e| refused("chdir /", e, UNEXPECTED))?;
        umount2("/.old", MntFlags::MNT_DETACH)
            .map_err(|e| refused("letting go of the old root", e, UNEXPECTED))?;
        fs::remove_dir("/.old").map_err(io_refused("remove", Path::new("/.old")))?;
        nix::unistd::sethostname(&self.hostname)
            .map_err(|e| refused("setting the host name", e, UNEXPECTED))?;
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
