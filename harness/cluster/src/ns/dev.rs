//! A node's own /dev: a tmpfs with the few real devices that programs need bound in, and the disk under it.
//! Not the GPUs (gpu-host adds those). In a user namespace mknod is forbidden, so each device is a bind.
use std::{fs, os::unix::fs::FileTypeExt, path::Path};

use nix::mount::{MsFlags, mount};

use super::{
    Refused,
    mounts::{bind_new, cannot_protect, io_refused, no_device},
};

const CHARACTER: &[&str] = &[
    "null", "zero", "full", "random", "urandom", "tty", "kmsg", "fuse",
];

pub(crate) fn build(dev: &Path) -> Result<(), Refused> {
    // 0755: with the default of 1777, opening /dev/null with O_CREAT is refused (fs.protected_regular).
    tmp(dev, "tmpfs", MsFlags::MS_NOSUID, "mode=0755")?;
    for name in CHARACTER {
        let host = Path::new("/dev").join(name);
        if host.exists() {
            bind_new(&host, &dev.join(name))?;
        }
    }
    block_devices(Path::new("/dev"), dev, 0)?;
    for name in ["pts", "shm", "mqueue"] {
        let dir = dev.join(name);
        fs::create_dir_all(&dir).map_err(io_refused("make", &dir))?;
    }
    // No gid=5: only one id is mapped.
    tmp(
        &dev.join("pts"),
        "devpts",
        MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC,
        "newinstance,ptmxmode=0666,mode=0620",
    )?;
    tmp(
        &dev.join("shm"),
        "tmpfs",
        MsFlags::MS_NOSUID | MsFlags::MS_NODEV,
        "mode=1777",
    )?;
    // Some kernels are built without POSIX message queues; nothing here needs them.
    let _ = tmp(
        &dev.join("mqueue"),
        "mqueue",
        MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC,
        "",
    );
    for (name, target) in [
        ("ptmx", "pts/ptmx"),
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        let link = dev.join(name);
        std::os::unix::fs::symlink(target, &link).map_err(io_refused("link", &link))?;
    }
    Ok(())
}

/// The kubelet looks up the device of its file system by name and stays NotReady without it. To look is enough: the real root,
/// who owns the disks in here too, and his privileged pods cannot open them.
fn block_devices(host: &Path, here: &Path, depth: usize) -> Result<(), Refused> {
    let Ok(entries) = fs::read_dir(host) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let text = name.to_string_lossy();
        if text.starts_with("loop") || text.starts_with("ram") || text.starts_with("nbd") {
            continue;
        }
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_block_device() {
            let device = here.join(&name);
            bind_new(&entry.path(), &device)?;
            no_device(&device).map_err(cannot_protect(&device))?;
        } else if kind.is_symlink() && depth == 1 {
            // /dev/mapper/NAME -> ../dm-0
            if let Ok(target) = fs::read_link(entry.path()) {
                let _ = fs::create_dir_all(here);
                let _ = std::os::unix::fs::symlink(target, here.join(&name));
            }
        } else if kind.is_dir() && depth == 0 && text == "mapper" {
            block_devices(&entry.path(), &here.join(&name), depth + 1)?;
        }
    }
    Ok(())
}

fn tmp(at: &Path, kind: &str, flags: MsFlags, data: &str) -> Result<(), Refused> {
    let data = if data.is_empty() { None } else { Some(data) };
    mount(Some(kind), at, Some(kind), flags, data).map_err(|e| {
        Refused::new(
            format!("mounting {kind} at {} failed: {}", at.display(), e.desc()),
            "allow mounts in user namespaces, or run as root",
        )
    })
}
