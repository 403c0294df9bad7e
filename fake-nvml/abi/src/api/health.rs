//! ECC and row remapping.
//! Not events (`events`), nor the same by number (`fields`).
//! From what was injected into the state; a card without injections is sound.

use gpu_model::{EccCounts, Health};

use crate::handle::Device;
use crate::macros::api;
use crate::out::Out;
use crate::status::{Result, Status};
use crate::types::{EccErrorCounts, RowRemapperHistogram};
use crate::view::{GpuView, View};

/// `NVML_MEMORY_LOCATION_DEVICE_MEMORY`.
pub(super) const DEVICE_MEMORY: u32 = 2;
/// `NVML_MEMORY_LOCATION_SRAM`, the last of them.
const SRAM: u32 = 7;

/// The counters of volatile (0) or aggregate (1) errors.
fn counts(health: &Health, counter: u32) -> Result<EccCounts> {
    match counter {
        0 => Ok(health.ecc_volatile),
        1 => Ok(health.ecc_aggregate),
        _ => Err(Status::InvalidArgument),
    }
}

/// Corrected (0) or uncorrected (1) errors of one place or, without one, of all.
pub(super) fn count(health: &Health, error: u32, counter: u32, place: Option<u32>) -> Result<u64> {
    let counts = counts(health, counter)?;
    let (all, memory, sram) = match error {
        0 => (
            counts.all_corrected(),
            counts.corrected,
            counts.sram.corrected,
        ),
        1 => (
            counts.all_uncorrected(),
            counts.uncorrected,
            counts.sram.uncorrected(),
        ),
        _ => return Err(Status::InvalidArgument),
    };
    match place {
        None => Ok(all),
        Some(DEVICE_MEMORY) => Ok(memory),
        Some(SRAM) => Ok(sram),
        // Caches, registers, textures: cards before Volta counted by these, ours say SRAM.
        Some(0..SRAM) => Ok(0),
        Some(_) => Err(Status::InvalidArgument),
    }
}

/// A card that counts ECC errors now.
pub(super) fn counting(view: &View, device: Device) -> Result<&Health> {
    let state = view.state(view.whole(device)?);
    if state.ecc_current {
        Ok(&state.health)
    } else {
        Err(Status::NotSupported)
    }
}

/// A card whose row remapper can be asked: NOT_SUPPORTED without one and, as drivers have it, while MIG instances are there.
pub(super) fn remapper(view: &View, device: Device) -> Result<&GpuView> {
    let gpu = view.whole(device)?;
    if view.spec(gpu).remap_max_banks.is_none() || !view.state(gpu).instances.is_empty() {
        return Err(Status::NotSupported);
    }
    Ok(gpu)
}

api! {
    table HEALTH;

    /// ECC mode now and after the next reset; NOT_SUPPORTED without ECC.
    view fn nvmlDeviceGetEccMode(device: Device, current: Out<u32>, pending: Out<u32>) |view| {
        let gpu = view.whole(device)?;
        current.check()?;
        pending.check()?;
        view.spec(gpu).ecc.ok_or(Status::NotSupported)?;
        let state = view.state(gpu);
        current.put(state.ecc_current.into())?;
        pending.put(state.ecc_pending.into())
    }

    /// ECC mode as shipped.
    view fn nvmlDeviceGetDefaultEccMode(device: Device, mode: Out<u32>) |view| {
        let gpu = view.whole(device)?;
        mode.put(view.spec(gpu).ecc.ok_or(Status::NotSupported)?.into())
    }

    /// All corrected or uncorrected ECC errors, since the last reset or ever.
    view fn nvmlDeviceGetTotalEccErrors(device: Device, error: u32, counter: u32, out: Out<u64>) |view| {
        let health = counting(view, device)?;
        out.put(count(health, error, counter, None)?)
    }

    /// ECC errors by place (deprecated in the header: it has no place for SRAM as such, and caches and registers are not told apart).
    view fn nvmlDeviceGetDetailedEccErrors(device: Device, error: u32, counter: u32, out: Out<EccErrorCounts>) |view| {
        let health = counting(view, device)?;
        let device_memory = count(health, error, counter, Some(DEVICE_MEMORY))?;
        out.put(EccErrorCounts { l1_cache: 0, l2_cache: 0, device_memory, register_file: 0 })
    }

    /// ECC errors of one place.
    view fn nvmlDeviceGetMemoryErrorCounter(device: Device, error: u32, counter: u32, location: u32, out: Out<u64>) |view| {
        let health = counting(view, device)?;
        out.put(count(health, error, counter, Some(location))?)
    }

    /// Remapped rows; NOT_SUPPORTED while MIG instances are there.
    view fn nvmlDeviceGetRemappedRows(device: Device, corrected: Out<u32>, uncorrected: Out<u32>, pending: Out<u32>, failed: Out<u32>) |view| {
        let remaps = view.state(remapper(view, device)?).health.remaps;
        for out in [&corrected, &uncorrected, &pending, &failed] {
            out.check()?;
        }
        corrected.put(remaps.corrected)?;
        uncorrected.put(remaps.uncorrected)?;
        pending.put(remaps.pending.into())?;
        failed.put(remaps.failed.into())
    }

    /// Banks by how many of their spare rows are left.
    view fn nvmlDeviceGetRowRemapperHistogram(device: Device, out: Out<RowRemapperHistogram>) |view| {
        let gpu = remapper(view, device)?;
        let banks = view.spec(gpu).remap_max_banks.unwrap_or(0);
        let remaps = view.state(gpu).health.remaps;
        // Each remapped row is taken to lie in a bank of its own.
        let high = (remaps.corrected + remaps.uncorrected).min(banks);
        out.put(RowRemapperHistogram { max: banks - high, high, partial: 0, low: 0, none: 0 })
    }
}
