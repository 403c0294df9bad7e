//! Unsharing: the first process of a new set of namespaces, and its id map.
//! Not the mounts inside. Takes the calling process with it, so it must run before any thread exists.
//! Comes from the roles `__cluster-ns` and `__node-ns`; the errors name the setting that forbids it.
use std::{fs, path::Path};

use nix::{
    errno::Errno,
    sched::{CloneFlags, unshare},
    unistd::{getegid, geteuid},
};

use super::Refused;

/// A new user namespace in which the caller is root and no other id exists, with all that a cluster needs beside it.
pub(crate) fn cluster() -> Result<(), Refused> {
    let (uid, gid) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(explain_user)?;
    // Without a right in the parent namespace a group map is only accepted once setgroups is off.
    write_map("setgroups", "deny")?;
    write_map("uid_map", &format!("0 {uid} 1"))?;
    write_map("gid_map", &format!("0 {gid} 1"))?;
    for (flag, kind) in [
        (CloneFlags::CLONE_NEWNS, "mount"),
        (CloneFlags::CLONE_NEWUTS, "uts"),
        (CloneFlags::CLONE_NEWIPC, "ipc"),
        (CloneFlags::CLONE_NEWNET, "network"),
        (CloneFlags::CLONE_NEWPID, "pid"),
    ] {
        unshare(flag).map_err(|e| explain(kind, e))?;
    }
    Ok(())
}

/// A node's namespaces inside the cluster's. The network namespace comes last and separately (see `net::node`).
pub(crate) fn node() -> Result<(), Refused> {
    for (flag, kind) in [
        (CloneFlags::CLONE_NEWNS, "mount"),
        (CloneFlags::CLONE_NEWUTS, "uts"),
        (CloneFlags::CLONE_NEWIPC, "ipc"),
        (CloneFlags::CLONE_NEWPID, "pid"),
    ] {
        unshare(flag).map_err(|e| explain(kind, e))?;
    }
    Ok(())
}

fn write_map(file: &str, text: &str) -> Result<(), Refused> {
    let path = Path::new("/proc/self").join(file);
    fs::write(&path, text).map_err(|e| {
        let (setting, remedy) = restriction();
        Refused::new(
            format!(
                "writing `{text}` to {} in a new user namespace failed: {e}{setting}",
                path.display()
            ),
            remedy,
        )
    })
}

fn explain_user(e: Errno) -> Refused {
    let (setting, remedy) = restriction();
    Refused::new(
        format!(
            "a new user namespace is forbidden: unshare(CLONE_NEWUSER): {}{setting}",
            e.desc()
        ),
        remedy,
    )
}

pub(crate) fn explain(kind: &str, e: Errno) -> Refused {
    let option = match kind {
        "network" => "CONFIG_NET_NS",
        "pid" => "CONFIG_PID_NS",
        "uts" => "CONFIG_UTS_NS",
        "ipc" => "CONFIG_IPC_NS",
        _ => "CONFIG_NAMESPACES",
    };
    let remedy = match e {
        Errno::EINVAL => {
            format!("this kernel has no {kind} namespaces: use one built with {option}=y")
        }
        Errno::ENOSPC | Errno::EUSERS => {
            format!(
                "raise the limit: `sysctl user.max_{}_namespaces`",
                match kind {
                    "mount" => "mnt",
                    "network" => "net",
                    k => k,
                }
            )
        }
        _ => restriction().1,
    };
    Refused::new(
        format!("a new {kind} namespace is forbidden: {}", e.desc()),
        remedy,
    )
}

/// The setting of this machine that forbids user namespaces, as far as it can be read.
fn restriction() -> (String, String) {
    let read = |name: &str| {
        fs::read_to_string(Path::new("/proc/sys").join(name))
            .ok()
            .map(|t| t.trim().to_owned())
    };
    if read("user/max_user_namespaces").as_deref() == Some("0") {
        return (
            "; user.max_user_namespaces is 0".into(),
            "`sysctl -w user.max_user_namespaces=10000`, or run in a place that allows user namespaces".into(),
        );
    }
    if read("kernel/unprivileged_userns_clone").as_deref() == Some("0") {
        return (
            "; kernel.unprivileged_userns_clone is 0".into(),
            "`sysctl -w kernel.unprivileged_userns_clone=1`, or run as root".into(),
        );
    }
    if read("kernel/apparmor_restrict_unprivileged_userns").as_deref() == Some("1") {
        return (
            "; kernel.apparmor_restrict_unprivileged_userns is 1".into(),
            "`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`, or an AppArmor profile for this program with `userns,`, or run as root".into(),
        );
    }
    (
        String::new(),
        "allow user namespaces here: in a container the runtime's seccomp or AppArmor profile forbids them (for Docker `--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined`)".into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_network_namespaces_is_named() {
        let refused = explain("network", Errno::EINVAL);
        assert!(refused.remedy.contains("CONFIG_NET_NS"), "{refused}");
    }

    #[test]
    fn a_limit_names_its_sysctl() {
        assert!(
            explain("network", Errno::ENOSPC)
                .remedy
                .contains("user.max_net_namespaces")
        );
        assert!(
            explain("mount", Errno::ENOSPC)
                .remedy
                .contains("user.max_mnt_namespaces")
        );
    }
}
