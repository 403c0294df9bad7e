//! What NVIDIA's tool does past NVML and NVML has no call for: the time slice, the reset and the part number of a GPU.
//! Finds the state file as the library does: `FAKEGPU_STATE`, else beside the library that this process has loaded.
//! Over NVIDIA's own library there is no such file, and the answer is NOT_SUPPORTED.

use std::fs;
use std::path::{Path, PathBuf};

use gpu_model::{Gpu, GpuIndex, GpuUuid, Machine, Op, Timeslice};
use gpu_store::Store;
use nvml_client::{Code, Device};

/// Why it was not done.
#[derive(Debug)]
pub(crate) struct Error {
    pub(crate) code: Code,
    pub(crate) why: String,
}

impl Error {
    fn new(code: Code, why: impl ToString) -> Self {
        Self {
            code,
            why: why.to_string(),
        }
    }
}

impl From<nvml_client::Error> for Error {
    fn from(error: nvml_client::Error) -> Self {
        Self::new(error.code().unwrap_or(Code::NOT_SUPPORTED), error.text())
    }
}

pub(crate) fn timeslice(gpu: &Device<'_>) -> Result<Timeslice, Error> {
    look(gpu, |_, gpu| gpu.timeslice)
}

/// Of the GPU itself, not of its board; NOT_SUPPORTED where the catalogue does not know it.
pub(crate) fn part_number(gpu: &Device<'_>) -> Result<String, Error> {
    look(gpu, |machine, gpu| {
        machine.spec(gpu).gpu_part_number.clone()
    })?
    .ok_or_else(|| Error::new(Code::NOT_SUPPORTED, "the model has none"))
}

fn look<T>(gpu: &Device<'_>, pick: impl FnOnce(&Machine, &Gpu) -> T) -> Result<T, Error> {
    let (store, index) = find(gpu)?;
    let snapshot = store.read().map_err(store_error)?;
    let machine = &snapshot.machine;
    let gpu = machine
        .gpu(index)
        .map_err(|e| Error::new(Code(e.code().raw()), e))?;
    Ok(pick(machine, gpu))
}

pub(crate) fn set_timeslice(gpu: &Device<'_>, timeslice: Timeslice) -> Result<(), Error> {
    apply(gpu, |gpu| Op::SetTimeslice { gpu, timeslice })
}

pub(crate) fn reset(gpu: &Device<'_>) -> Result<(), Error> {
    apply(gpu, |gpu| Op::Reset { gpu })
}

fn apply(gpu: &Device<'_>, op: impl FnOnce(GpuIndex) -> Op) -> Result<(), Error> {
    let (store, index) = find(gpu)?;
    if !is_root() {
        return Err(Error::new(Code::NO_PERMISSION, "only root may do this"));
    }
    store
        .apply(op(index))
        .map(drop)
        .map_err(|e| Error::new(Code(e.code().raw()), e))
}

fn store_error(error: gpu_store::Error) -> Error {
    Error::new(Code(error.code().raw()), error)
}

/// The state file and the GPU's place in it; containers see fewer GPUs than the node has, so the UUID decides.
fn find(gpu: &Device<'_>) -> Result<(Store, GpuIndex), Error> {
    let path = state_file()
        .ok_or_else(|| Error::new(Code::NOT_SUPPORTED, "this NVML library has no call for it"))?;
    let store = Store::open(path).map_err(store_error)?;
    let uuid: GpuUuid = gpu
        .uuid()?
        .parse()
        .map_err(|e| Error::new(Code::INVALID_ARGUMENT, e))?;
    let snapshot = store.read().map_err(store_error)?;
    let index = snapshot
        .machine
        .gpu_by_uuid(&uuid)
        .map(|g| g.index)
        .ok_or_else(|| Error::new(Code::NOT_FOUND, uuid))?;
    Ok((store, index))
}

fn state_file() -> Option<PathBuf> {
    gpu_store::named().or_else(|| gpu_store::beside(&library()?))
}

/// The real path of the library that this process has loaded.
fn library() -> Option<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let path = Path::new(line.get(line.find('/')?..)?);
        path.file_name()?
            .to_str()?
            .starts_with("libnvidia-ml.so")
            .then(|| path.to_owned())
    })
}

fn is_root() -> bool {
    // The effective user id is the second of the four.
    fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|s| {
            s.lines().find_map(|l| {
                l.strip_prefix("Uid:")?
                    .split_whitespace()
                    .nth(1)
                    .map(|id| id == "0")
            })
        })
        .unwrap_or(false)
}
