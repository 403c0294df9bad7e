//! Kills what is left of a container that shares its PID namespace (hostPID, shareProcessNamespace).
//!
//! When the first process of a PID namespace dies the kernel kills the rest. A container without one of its own is killed
//! by its cgroup, which is not ours to make; runc then warns "failed to kill all processes", what the container's shell left
//! behind keeps its output open, and containerd waits two minutes for a container that never ends. But each container has a
//! root file system of its own: its processes are those whose root lies on it.
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// A process that forks while it is looked for is found the next time.
const ROUNDS: usize = 20;

/// Kills every process of the container whose state runc keeps in `folder`, if its PID namespace is not its own.
/// What cannot be read or killed is left to runc, whose answer goes to containerd.
pub(super) fn kill_all(folder: &Path) {
    let Some(rootfs) = fs::read(folder.join("state.json"))
        .ok()
        .and_then(|state| shared_root(&state))
    else {
        return;
    };
    let Ok(root) = fs::metadata(&rootfs).map(|meta| meta.dev()) else {
        return;
    };
    // An unmounted root would be the node's own file system.
    if rootfs
        .parent()
        .and_then(|bundle| fs::metadata(bundle).ok())
        .is_none_or(|bundle| bundle.dev() == root)
    {
        return;
    }
    for _ in 0..ROUNDS {
        let found = rooted_on(root);
        for pid in &found {
            // Gone already is as good.
            let _ = kill(*pid, Signal::SIGKILL);
        }
        if found.is_empty() {
            return;
        }
    }
}

/// The root file system of a container that shares its PID namespace, from runc's `state.json`.
fn shared_root(state: &[u8]) -> Option<PathBuf> {
    let state: Value = serde_json::from_slice(state).ok()?;
    let namespaces = state.pointer("/config/namespaces")?.as_array()?;
    let own = namespaces.iter().any(|namespace| {
        namespace["type"] == "NEWPID" && namespace["path"].as_str().is_none_or(str::is_empty)
    });
    (!own)
        .then(|| Some(state.pointer("/config/rootfs")?.as_str()?.into()))
        .flatten()
}

/// Living processes whose root lies on this file system. A zombie has no root any more.
fn rooted_on(device: u64) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            fs::metadata(format!("/proc/{pid}/root")).is_ok_and(|meta| meta.dev() == device)
        })
        .map(Pid::from_raw)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_container_without_its_own_pid_namespace_is_killed_process_by_process() {
        let state = |namespaces: Value| {
            json!({"config": {"rootfs": "/b/rootfs", "namespaces": namespaces}}).to_string()
        };
        let root = |namespaces| shared_root(state(namespaces).as_bytes());
        assert_eq!(
            root(json!([{"type": "NEWNS", "path": ""}])),
            Some("/b/rootfs".into())
        );
        assert_eq!(
            root(json!([{"type": "NEWPID", "path": "/proc/7/ns/pid"}])),
            Some("/b/rootfs".into())
        );
        assert_eq!(root(json!([{"type": "NEWPID", "path": ""}])), None);
        assert_eq!(root(json!([{"type": "NEWPID"}])), None);
        assert_eq!(shared_root(b"{}"), None);
    }
}
