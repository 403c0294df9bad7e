//! A private world for this process and its children.
//! Knows nothing of GPUs: user and mount namespaces, and which setting to name when they are forbidden.
//! Reads `/proc/sys`; changes only the calling process, which must have one thread.

use std::fs;
use std::io;
use std::path::Path;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid, getegid, geteuid};

use crate::error::{At, Error};

/// How the process came to its own mounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Private {
    /// It had the right to; ids are unchanged.
    Mounts,
    /// Inside a new user namespace, where the caller's own id is seen as 0.
    UserAndMounts {
        /// The id outside.
        uid: u32,
        /// The group id outside.
        gid: u32,
    },
}

/// Gives the calling process a mount namespace of its own, in a new user namespace where it lacks the right otherwise.
///
/// Nothing that is mounted afterwards is seen outside, and all of it goes with the last process inside.
///
/// # Errors
/// [`Error::Namespace`] names the setting that forbids it.
pub fn unshare_private() -> Result<Private, Error> {
    let private = match unshare(CloneFlags::CLONE_NEWNS) {
        Ok(()) => Private::Mounts,
        Err(Errno::EPERM) => unshare_user()?,
        Err(e) => return Err(forbidden("mount", e)),
    };
    mount(
        None::<&str>,
        "/",
        None::<&str>,
        MsFlags::MS_REC | MsFlags::MS_PRIVATE,
        None::<&str>,
    )
    .map_err(|e| forbidden("mount", e))?;
    Ok(private)
}

/// Leaves the id 0 that [`unshare_private`] gave and shows the caller's own ids again.
///
/// # Errors
/// [`Error::Namespace`] when no further user namespace may be made.
pub fn show_own_ids(private: Private) -> Result<(), Error> {
    let Private::UserAndMounts { uid, gid } = private else {
        return Ok(());
    };
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|e| forbidden("user", e))?;
    map_ids(uid, 0, gid, 0)
}

fn unshare_user() -> Result<Private, Error> {
    let (uid, gid): (Uid, Gid) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)
        .map_err(|e| forbidden("user", e))?;
    map_ids(0, uid.as_raw(), 0, gid.as_raw())?;
    Ok(Private::UserAndMounts {
        uid: uid.as_raw(),
        gid: gid.as_raw(),
    })
}

fn map_ids(uid_inside: u32, uid: u32, gid_inside: u32, gid: u32) -> Result<(), Error> {
    let write = |path: &str, text: String| fs::write(path, text).at("write", Path::new(path));
    write("/proc/self/setgroups", "deny".into())?;
    write("/proc/self/uid_map", format!("{uid_inside} {uid} 1"))?;
    write("/proc/self/gid_map", format!("{gid_inside} {gid} 1"))
}

fn forbidden(kind: &'static str, errno: Errno) -> Error {
    Error::Namespace {
        kind,
        source: io::Error::from(errno),
        remedy: remedy(&Settings::read()),
    }
}

/// The switches by which kernels and distributions forbid user namespaces.
#[derive(Debug, Default, PartialEq, Eq)]
struct Settings {
    unprivileged_clone: Option<u64>,
    max_user_namespaces: Option<u64>,
    apparmor_restricts: Option<u64>,
}

impl Settings {
    fn read() -> Self {
        let number = |path: &str| {
            fs::read_to_string(path)
                .ok()
                .and_then(|t| t.trim().parse().ok())
        };
        Self {
            unprivileged_clone: number("/proc/sys/kernel/unprivileged_userns_clone"),
            max_user_namespaces: number("/proc/sys/user/max_user_namespaces"),
            apparmor_restricts: number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        }
    }
}

/// The sentence for a failed mount inside a user namespace that was granted: AppArmor grants it empty-handed.
pub(crate) fn mount_hint(errno: Errno) -> Option<String> {
    let refused = matches!(errno, Errno::EPERM | Errno::EACCES);
    (refused && !geteuid_is_host_root()).then(|| remedy(&Settings::read()))
}

fn geteuid_is_host_root() -> bool {
    fs::read_to_string("/proc/self/uid_map")
        .is_ok_and(|m| m.split_whitespace().eq(["0", "0", "4294967295"]))
        && geteuid().is_root()
}

fn remedy(settings: &Settings) -> String {
    let mut found = Vec::new();
    if settings.unprivileged_clone == Some(0) {
        found.push("kernel.unprivileged_userns_clone is 0: `sudo sysctl kernel.unprivileged_userns_clone=1`");
    }
    if settings.max_user_namespaces == Some(0) {
        found.push("user.max_user_namespaces is 0: `sudo sysctl user.max_user_namespaces=10000`");
    }
    if settings.apparmor_restricts == Some(1) {
        found.push(
            "kernel.apparmor_restrict_unprivileged_userns is 1: `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
        );
    }
    if found.is_empty() {
        found.push(
            "Look at kernel.unprivileged_userns_clone, user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns, \
             or, inside a container, at its seccomp profile (`--security-opt seccomp=unconfined` or `--privileged`)",
        );
    }
    format!("{}. Running as root works too", found.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_that_forbids_is_named() {
        let text = remedy(&Settings {
            max_user_namespaces: Some(0),
            ..Settings::default()
        });
        assert!(text.contains("user.max_user_namespaces is 0"), "{text}");
        assert!(!text.contains("apparmor"), "{text}");
        let text = remedy(&Settings {
            apparmor_restricts: Some(1),
            ..Settings::default()
        });
        assert!(
            text.contains("apparmor_restrict_unprivileged_userns=0"),
            "{text}"
        );
        let text = remedy(&Settings {
            unprivileged_clone: Some(1),
            ..Settings::default()
        });
        assert!(text.contains("seccomp"), "{text}");
    }
}
