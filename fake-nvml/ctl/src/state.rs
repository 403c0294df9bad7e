//! Where a machine is: in a folder made by `create`, in a state file, or around this process.

use std::path::{Path, PathBuf};

use gpu_host::HostTree;
use gpu_store::Store;

use crate::error::Error;

/// Opens the machine at `place` (a folder or a state file); without one, the one this process runs in.
pub(crate) fn open(place: Option<&Path>) -> Result<Store, Error> {
    let place = match place {
        Some(place) => place.to_owned(),
        None => around().ok_or(Error::NoState)?,
    };
    if !place.is_dir() {
        return Ok(Store::open(&place)?);
    }
    let tree = HostTree::open(&place)?;
    // Where the folder's own /proc is what its processes see, writers keep the capability files there in line.
    Ok(Store::open(tree.state_path())?.with_proc_dir(tree.proc_driver()))
}

fn around() -> Option<PathBuf> {
    gpu_store::named().or_else(|| Some(PathBuf::from(gpu_host::SHOWN)).filter(|p| p.is_dir()))
}
