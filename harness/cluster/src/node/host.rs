//! The node's fake host: its tree laid out from outside and put in place by the node's init.
//! Everything about GPUs is gpu-model's, gpu-store's and gpu-host's; this is the join.
//! In: a machine. Out: files below the node's `host` folder, which its namespaces show as its hardware.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use gpu_host::{Enter, HostTree};
use gpu_model::Machine;
use gpu_store::Store;

use crate::error::{Error, Result};

/// Lays the tree and its state file, or sets those that are there to this machine.
pub(crate) fn lay(dir: &Path, machine: &Machine) -> Result<HostTree> {
    let fault = |message: String| Error::Gpu {
        doing: format!("lay out the fake host in {}", dir.display()),
        message,
    };
    if let Ok(tree) = HostTree::open(dir) {
        // The state is set first; the files follow it.
        Store::put(tree.state_path(), machine).map_err(|e| fault(e.to_string()))?;
    }
    HostTree::lay(dir, machine).map_err(|e| fault(e.to_string()))
}

/// The state file of a tree that was laid.
pub(crate) fn store(dir: &Path) -> Result<Store> {
    let fault = |message: String| Error::Gpu {
        doing: format!("open the state file below {}", dir.display()),
        message,
    };
    let tree = HostTree::open(dir).map_err(|e| fault(e.to_string()))?;
    let store = Store::open(tree.state_path()).map_err(|e| fault(e.to_string()))?;
    Ok(store.with_proc_dir(tree.proc_driver()))
}

/// Called by a node's init, in the node's mount namespace.
pub(crate) fn enter(dir: &Path) -> std::result::Result<(), String> {
    let tree = HostTree::open(dir).map_err(|e| e.to_string())?;
    tree.enter(&Enter { loader: false })
        .map_err(|e| e.to_string())?;
    follow(dir);
    Ok(())
}

/// Folders whose state is followed by this process.
static FOLLOWED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// How long a missed wake-up may keep files behind.
const LATEST: Duration = Duration::from_secs(1);

/// Keeps the files of partitions in line with the state from now on, whoever changes it: a pod that cuts a card by itself sees
/// the state, but not the node's files.
fn follow(dir: &Path) {
    let mut followed = FOLLOWED.lock().unwrap_or_else(PoisonError::into_inner);
    if !followed.insert(dir.to_owned()) {
        return;
    }
    let dir = dir.to_owned();
    thread::spawn(move || {
        // Without a state there is nothing to follow; the node's own programs say so loudly.
        let Ok(store) = store(&dir) else { return };
        let mut seen = None;
        loop {
            let generation = store.generation();
            if seen != Some(generation) && store.mirror().is_ok() {
                seen = Some(generation);
            }
            store.wait_change(generation, LATEST);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{NodeShape, Offer};
    use gpu_model::{GpuIndex, Op, Outcome};

    /// Whoever sees the state alone, as a pod does, leaves the node's files behind; they follow.
    #[test]
    fn files_of_partitions_follow_a_writer_that_does_not_see_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().join("host");
        let shape = NodeShape {
            name: "node-1".into(),
            gpus: "1xA100-SXM4-40GB".parse().expect("cards"),
            mig: true,
            cut: Vec::new(),
            offer: Offer::default(),
            driver_gates: std::collections::BTreeMap::new(),
        };
        let machine = shape.machine("test").expect("a machine");
        let tree = lay(&dir, &machine).expect("a tree");
        follow(&dir);
        let pod = Store::open(tree.state_path())
            .expect("the state")
            .with_proc_dir(folder.path().join("nowhere"));
        let (gpu, profile) = (
            GpuIndex(0),
            machine.specs[0].mig.as_ref().expect("MIG").profiles[0].id,
        );
        let made = pod
            .apply(Op::CreateGpuInstance {
                gpu,
                profile,
                placement: None,
            })
            .expect("an instance");
        let Outcome::GpuInstance { id, .. } = made else {
            panic!("{made:?}")
        };
        let access = tree
            .proc_driver()
            .join(format!("capabilities/gpu0/mig/gi{id}/access"));
        wait(|| access.exists());
        pod.apply(Op::DestroyGpuInstance { gpu, gi: id })
            .expect("gone");
        wait(|| !access.exists());
    }

    fn wait(holds: impl Fn() -> bool) {
        for _ in 0..600 {
            if holds() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("it never came to be");
    }
}
