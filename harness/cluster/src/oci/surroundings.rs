//! What the wrapper has to know of the node before it can adapt a bundle: looked at once, then passed on as a value.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::sys::resource::{Resource, getrlimit};

/// Character or block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DeviceKind {
    /// `c` (or `u`) in an OCI spec.
    Character,
    /// `b` in an OCI spec.
    Block,
}

/// A device's kind, major and minor number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DeviceNumber {
    /// Character or block.
    pub kind: DeviceKind,
    /// Major number.
    pub major: u64,
    /// Minor number.
    pub minor: u64,
}

/// The part of the node's state that decides how a bundle is adapted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Surroundings {
    /// Names (`CAP_CHOWN` …) in this process's bounding set: no process below can have another.
    pub capabilities: BTreeSet<String>,
    /// Hard limits by OCI name (`RLIMIT_NOFILE` …); raising one needs a right that a user namespace does not give.
    pub hard_limits: BTreeMap<String, u64>,
    /// Devices that the node has, by path.
    pub devices: BTreeMap<PathBuf, DeviceNumber>,
    /// The hook to run in each container, with the program that serves it.
    pub hook: Option<PathBuf>,
}

impl Surroundings {
    /// Looks at this process and at the given device paths of its node.
    pub(super) fn observe(
        device_paths: impl IntoIterator<Item = PathBuf>,
        hook: Option<PathBuf>,
    ) -> Surroundings {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        Surroundings {
            // Unreadable means unknown: then nothing is taken away and runc says what it lacks.
            capabilities: bounding_set(&status).unwrap_or_else(|| named(u64::MAX)),
            hard_limits: LIMITS
                .iter()
                .filter_map(|(name, resource)| {
                    Some(((*name).to_owned(), getrlimit(*resource).ok()?.1))
                })
                .collect(),
            devices: device_paths
                .into_iter()
                .filter_map(|path| device_at(&path).map(|number| (path, number)))
                .collect(),
            hook,
        }
    }
}

fn device_at(path: &Path) -> Option<DeviceNumber> {
    let meta = fs::symlink_metadata(path).ok()?;
    let kind = if meta.file_type().is_char_device() {
        DeviceKind::Character
    } else if meta.file_type().is_block_device() {
        DeviceKind::Block
    } else {
        return None;
    };
    Some(DeviceNumber {
        kind,
        major: nix::sys::stat::major(meta.rdev()),
        minor: nix::sys::stat::minor(meta.rdev()),
    })
}

/// The `CapBnd` line of `/proc/<pid>/status` as names.
fn bounding_set(status: &str) -> Option<BTreeSet<String>> {
    let hex = status
        .lines()
        .find_map(|line| line.strip_prefix("CapBnd:"))?
        .trim();
    u64::from_str_radix(hex, 16).ok().map(named)
}

fn named(mask: u64) -> BTreeSet<String> {
    let held = CAPABILITIES
        .iter()
        .enumerate()
        .filter(|(bit, _)| mask & (1 << bit) != 0);
    held.map(|(_, name)| format!("CAP_{name}")).collect()
}

/// In the order of their numbers, `linux/capability.h`.
const CAPABILITIES: &[&str] = &[
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
];

const LIMITS: &[(&str, Resource)] = &[
    ("RLIMIT_AS", Resource::RLIMIT_AS),
    ("RLIMIT_CORE", Resource::RLIMIT_CORE),
    ("RLIMIT_CPU", Resource::RLIMIT_CPU),
    ("RLIMIT_DATA", Resource::RLIMIT_DATA),
    ("RLIMIT_FSIZE", Resource::RLIMIT_FSIZE),
    ("RLIMIT_LOCKS", Resource::RLIMIT_LOCKS),
    ("RLIMIT_MEMLOCK", Resource::RLIMIT_MEMLOCK),
    ("RLIMIT_MSGQUEUE", Resource::RLIMIT_MSGQUEUE),
    ("RLIMIT_NICE", Resource::RLIMIT_NICE),
    ("RLIMIT_NOFILE", Resource::RLIMIT_NOFILE),
    ("RLIMIT_NPROC", Resource::RLIMIT_NPROC),
    ("RLIMIT_RSS", Resource::RLIMIT_RSS),
    ("RLIMIT_RTPRIO", Resource::RLIMIT_RTPRIO),
    ("RLIMIT_RTTIME", Resource::RLIMIT_RTTIME),
    ("RLIMIT_SIGPENDING", Resource::RLIMIT_SIGPENDING),
    ("RLIMIT_STACK", Resource::RLIMIT_STACK),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounding_set_is_read_by_bit() {
        // This mask is of a machine where root lacks CAP_SYS_RESOURCE (bit 24).
        let set = bounding_set("Name:\tx\nCapBnd:\t000001fffeffffff\n").expect("a mask");
        assert_eq!(set.len(), 40);
        assert!(!set.contains("CAP_SYS_RESOURCE"));
        assert!(
            set.contains("CAP_SYS_NICE")
                && set.contains("CAP_SYS_TIME")
                && set.contains("CAP_CHECKPOINT_RESTORE")
        );
        assert_eq!(
            bounding_set("CapBnd:\t0000000000000001").expect("a mask"),
            BTreeSet::from(["CAP_CHOWN".to_owned()])
        );
        assert_eq!(bounding_set("CapEff:\t1"), None);
    }

    #[test]
    fn devices_are_known_by_their_number_and_plain_files_are_none() {
        let seen = Surroundings::observe(
            ["/dev/null", "/proc/self/status", "/no/such"].map(PathBuf::from),
            None,
        );
        let null = DeviceNumber {
            kind: DeviceKind::Character,
            major: 1,
            minor: 3,
        };
        assert_eq!(seen.devices, BTreeMap::from([("/dev/null".into(), null)]));
        assert!(seen.hard_limits["RLIMIT_NOFILE"] > 0);
    }
}
