//! The node's fake host: its tree laid out from outside and put in place by the node's init.
//! Everything about GPUs is gpu-model's, gpu-store's and gpu-host's; this is the join.
//! In: a machine. Out: files below the node's `host` folder, which its namespaces show as its hardware.
use std::path::Path;

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
        .map(drop)
        .map_err(|e| e.to_string())
}
