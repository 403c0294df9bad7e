//! Samples of performance metrics: what a GPU or GPU instance showed at a moment.
//! Not the metrics, which compare two samples (`api::gpm`).
//! Lives in the process that allocated it; ends with `nvmlGpmSampleFree` or with the process.

use gpu_model::{GpuUuid, Now};

use crate::handle::{GpmSample, Named, STAMP_MASK};
use crate::lock::{AcrossFork, ForkLock};
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
}

#[derive(Default)]
struct Samples {
    /// Stamp and content; `None` is free.
    slots: Vec<Option<(u32, Option<Seen>)>>,
    allocated: u32,
}

static SAMPLES: ForkLock<Samples> = ForkLock::new(Samples {
    slots: Vec::new(),
    allocated: 0,
});

/// The lock of this file, for the atfork handlers.
pub(crate) fn across_fork() -> &'static dyn AcrossFork {
    &SAMPLES
}

pub(crate) fn allocate() -> Result<GpmSample> {
    let mut samples = SAMPLES.lock();
    let free = samples.slots.iter().position(Option::is_none);
    let slot = free.unwrap_or(samples.slots.len());
    let number = u16::try_from(slot).map_err(|_| Status::Memory)?;
    samples.allocated = (samples.allocated + 1) & STAMP_MASK;
    let stamp = samples.allocated;
    match samples.slots.get_mut(slot) {
        Some(free) => *free = Some((stamp, None)),
        None => samples.slots.push(Some((stamp, None))),
    }
    Ok(GpmSample::new(number, stamp))
}

pub(crate) fn free(handle: GpmSample) -> Result {
    let mut samples = SAMPLES.lock();
    *samples.place(handle)? = None;
    Ok(())
}

/// INVALID_ARGUMENT unless the handle is that of a sample.
pub(crate) fn check(handle: GpmSample) -> Result {
    SAMPLES.lock().place(handle).map(drop)
}

/// Writes what was seen.
pub(crate) fn fill(handle: GpmSample, seen: Seen) -> Result {
    if let Some((_, content)) = SAMPLES.lock().place(handle)? {
        *content = Some(seen);
    }
    Ok(())
}

/// What was seen; INVALID_ARGUMENT for a sample that nothing was written to.
pub(crate) fn read(handle: GpmSample) -> Result<Seen> {
    let mut samples = SAMPLES.lock();
    let content = *samples.place(handle)?;
    content
        .and_then(|(_, seen)| seen)
        .ok_or(Status::InvalidArgument)
}

impl Samples {
    fn place(&mut self, handle: GpmSample) -> Result<&mut Option<(u32, Option<Seen>)>> {
        let Some(Named::GpmSample { slot, stamp }) = handle.named() else {
            return Err(Status::InvalidArgument);
        };
        let place = self.slots.get_mut(usize::from(slot));
        place
            .filter(|place| place.is_some_and(|(known, _)| known == stamp))
            .ok_or(Status::InvalidArgument)
    }
}
