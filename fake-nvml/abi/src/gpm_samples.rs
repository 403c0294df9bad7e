//! Samples of performance metrics: what a GPU or GPU instance showed at a moment.
//! Not the metrics, which compare two samples (`api::gpm`).
//! Lives in the process that allocated it; ends with `nvmlGpmSampleFree` or with the process.

use gpu_model::{GpuUuid, Now, Rate, Traffic};

use crate::handle::{GpmSample, Named};
use crate::lock::{AcrossFork, ForkLock};
use crate::slots::Slots;
use crate::status::{Result, Status};

/// What was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// On which GPU.
    pub(crate) gpu: GpuUuid,
    /// On which GPU instance; `None` is the whole GPU.
    pub(crate) gi: Option<u32>,
    /// When.
    pub(crate) at: Now,
    /// Share of the time in which kernels ran.
    pub(crate) compute: u32,
    /// Share of the time in which memory was used.
    pub(crate) memory: u32,
    /// What moved.
    pub(crate) traffic: Traffic,
    /// The NVLinks that were up, a bit for each: what goes over NVLink is spread evenly over them.
    pub(crate) links: u32,
}

impl Seen {
    /// What goes over one link, in bytes a second, when so much goes over all together.
    pub(crate) fn over(&self, link: u32, all: Rate) -> f64 {
        match self.links.count_ones() {
            up if self.links & (1 << link) != 0 => all.0 as f64 / f64::from(up),
            _ => 0.0,
        }
    }
}

/// What was seen by each sample; nothing in one that was only allocated.
static SAMPLES: ForkLock<Slots<Option<Seen>>> = ForkLock::new(Slots::new());

/// The lock of this file, for the atfork handlers.
pub(crate) fn across_fork() -> &'static dyn AcrossFork {
    &SAMPLES
}

/// Slot and stamp of a handle.
fn place(handle: GpmSample) -> Result<(u16, u32)> {
    match handle.named() {
        Some(Named::GpmSample { slot, stamp }) => Ok((slot, stamp)),
        _ => Err(Status::InvalidArgument),
    }
}

pub(crate) fn allocate() -> Result<GpmSample> {
    let (slot, stamp) = SAMPLES.lock().put(None)?;
    Ok(GpmSample::new(slot, stamp))
}

pub(crate) fn free(handle: GpmSample) -> Result {
    let (slot, stamp) = place(handle)?;
    SAMPLES.lock().free(slot, stamp)
}

/// INVALID_ARGUMENT unless the handle is that of a sample.
pub(crate) fn check(handle: GpmSample) -> Result {
    let (slot, stamp) = place(handle)?;
    SAMPLES.lock().get(slot, stamp).map(drop)
}

/// Writes what was seen.
pub(crate) fn fill(handle: GpmSample, seen: Seen) -> Result {
    let (slot, stamp) = place(handle)?;
    *SAMPLES.lock().get(slot, stamp)? = Some(seen);
    Ok(())
}

/// What was seen; INVALID_ARGUMENT for a sample that nothing was written to.
pub(crate) fn read(handle: GpmSample) -> Result<Seen> {
    let (slot, stamp) = place(handle)?;
    let seen = *SAMPLES.lock().get(slot, stamp)?;
    seen.ok_or(Status::InvalidArgument)
}
