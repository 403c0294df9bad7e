//! ECC, row remapping, and fields by number.
//! Not events (`events`).
//! From what was injected into the state; a card without injections is sound.

use gpu_model::{EccCounts, Health};

use crate::handle::Device;
use crate::macros::api;
use crate::out::{Out, OutArray};
use crate::status::{Result, Status, code_of};
use crate::types::{EccErrorCounts, FieldValue, RowRemapperHistogram};
use crate::view::{GpuView, Target, View};

/// The counters of volatile (0) or aggregate (1) errors.
fn counts(health: &Health, counter: u32) -> Result<EccCounts> {
    match counter {
        0 => Ok(health.ecc_volatile),
        1 => Ok(health.ecc_aggregate),
        _ => Err(Status::InvalidArgument),
    }
}

/// Corrected (0) or uncorrected (1) errors.
fn count(health: &Health, error: u32, counter: u32) -> Result<u64> {
    let counts = counts(health, counter)?;
    match error {
        0 => Ok(counts.corrected),
        1 => Ok(counts.uncorrected),
        _ => Err(Status::InvalidArgument),
    }
}

/// A card that counts ECC errors now.
fn counting(view: &View, device: Device) -> Result<&Health> {
    let state = view.state(view.whole(device)?);
    if state.ecc_current {
        Ok(&state.health)
    } else {
        Err(Status::NotSupported)
    }
}

/// A card whose row remapper can be asked: NOT_SUPPORTED without one and, as drivers have it, while MIG instances are there.
fn remapper(view: &View, device: Device) -> Result<&GpuView> {
    let gpu = view.whole(device)?;
    if view.spec(gpu).remap_max_banks.is_none() || !view.state(gpu).instances.is_empty() {
        return Err(Status::NotSupported);
    }
    Ok(gpu)
}

/// `nvmlValueType_t`.
mod value_type {
    pub(super) const UNSIGNED_INT: u32 = 1;
    pub(super) const UNSIGNED_LONG_LONG: u32 = 3;
}

/// The value of a field (`NVML_FI_DEV_*`) and its type; NOT_SUPPORTED for a field that we do not know.
fn field(view: &View, device: Device, id: u32) -> Result<(u32, u64)> {
    use value_type::{UNSIGNED_INT, UNSIGNED_LONG_LONG};
    let gpu = view.whole(device)?;
    let (state, spec) = (view.state(gpu), view.spec(gpu));
    let ecc = |error, counter| {
        Ok((
            UNSIGNED_LONG_LONG,
            count(counting(view, device)?, error, counter)?,
        ))
    };
    let remaps = || remapper(view, device).map(|gpu| view.state(gpu).health.remaps);
    let limits = || spec.power.ok_or(Status::NotSupported);
    let int = |value: u32| Ok((UNSIGNED_INT, value.into()));
    match id {
        // ECC_CURRENT, ECC_PENDING
        1 | 2 if spec.ecc.is_none() => Err(Status::NotSupported),
        1 => int(state.ecc_current.into()),
        2 => int(state.ecc_pending.into()),
        // ECC_SBE_VOL_TOTAL, ECC_DBE_VOL_TOTAL, ECC_SBE_AGG_TOTAL, ECC_DBE_AGG_TOTAL
        3 => ecc(0, 0),
        4 => ecc(1, 0),
        5 => ecc(0, 1),
        6 => ecc(1, 1),
        // MEMORY_TEMP
        82 => int(view.telemetry(gpu).memory_temperature.0.unsigned_abs()),
        // TOTAL_ENERGY_CONSUMPTION, ENERGY
        83 | 191 if spec.power.is_none() => Err(Status::NotSupported),
        83 | 191 => Ok((UNSIGNED_LONG_LONG, view.telemetry(gpu).energy.0)),
        // NVLINK_LINK_COUNT
        91 => int(spec.nvlink.as_ref().map_or(0, |nvlink| nvlink.links)),
        // REMAPPED_COR, REMAPPED_UNC, REMAPPED_PENDING, REMAPPED_FAILURE
        142 => int(remaps()?.corrected),
        143 => int(remaps()?.uncorrected),
        144 => int(remaps()?.pending.into()),
        145 => int(remaps()?.failed.into()),
        // POWER_AVERAGE, POWER_INSTANT
        185 | 186 => int(view.telemetry(gpu).power.ok_or(Status::NotSupported)?.0),
        // POWER_MIN_LIMIT, POWER_MAX_LIMIT, POWER_DEFAULT_LIMIT
        187 => int(limits()?.min.0),
        188 => int(limits()?.max.0),
        189 => int(limits()?.default.0),
        // POWER_CURRENT_LIMIT, POWER_REQUESTED_LIMIT
        190 | 192 => int(state.power_limit.unwrap_or(limits()?.default).0),
        // GET_GPU_RECOVERY_ACTION
        230 => int(state.health.recovery.raw()),
        _ => Err(Status::NotSupported),
    }
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
        out.put(count(health, error, counter)?)
    }

    /// ECC errors by place: the state tells no places, so all count as the memory's (deprecated in the header).
    view fn nvmlDeviceGetDetailedEccErrors(device: Device, error: u32, counter: u32, out: Out<EccErrorCounts>) |view| {
        let health = counting(view, device)?;
        let device_memory = count(health, error, counter)?;
        out.put(EccErrorCounts { l1_cache: 0, l2_cache: 0, device_memory, register_file: 0 })
    }

    /// ECC errors of one place; the state tells no places, so all count as the memory's (2).
    view fn nvmlDeviceGetMemoryErrorCounter(device: Device, error: u32, counter: u32, location: u32, out: Out<u64>) |view| {
        const DEVICE_MEMORY: u32 = 2;
        const LOCATIONS: u32 = 8;
        let health = counting(view, device)?;
        let all = count(health, error, counter)?;
        if location >= LOCATIONS {
            return Err(Status::InvalidArgument);
        }
        out.put(if location == DEVICE_MEMORY { all } else { 0 })
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

    /// Values by number; each has a return code of its own, and one that succeeds makes the call succeed.
    view fn nvmlDeviceGetFieldValues(device: Device, count: i32, values: OutArray<FieldValue>) |view| {
        if let Target::Mig(..) = view.device(device)? {
            return Err(Status::NotSupported);
        }
        let number = usize::try_from(count).map_err(|_| Status::InvalidArgument)?;
        if number == 0 || values.is_null() {
            return Err(Status::InvalidArgument);
        }
        let mut last = Err(Status::NotSupported);
        for index in 0..number {
            let place = values.at(index)?;
            let asked = place.get()?;
            let answer = field(view, device, asked.field_id);
            let (value_type, value) = answer.unwrap_or((asked.value_type, 0));
            let nvml_return = code_of(answer.map(drop));
            let timestamp = i64::try_from(view.now().0).unwrap_or(i64::MAX);
            place.put(FieldValue { timestamp, latency_usec: 0, value_type, nvml_return, value, ..asked })?;
            last = if last.is_ok() { last } else { answer.map(drop) };
        }
        last
    }
}
