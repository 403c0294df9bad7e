//! What is taken out of use for good: pages, rows, channels; and errors by the part of the chip.
//! Not counters and modes of ECC (`health`).
//! From the catalogue and the state. Pages are retired up to Turing, rows are remapped since Ampere.

use gpu_model::{Architecture, Op, SramSource};

use super::health::{counting, remapper};
use crate::absent::absent;
use crate::handle::Device;
use crate::macros::api;
use crate::out::{Out, OutArray};
use crate::status::{Result, Status};
use crate::types::{RemappedRows, RepairStatus, SramEcc, SramUnique};
use crate::view::View;

/// Causes of retirement: single bit errors, a double bit error.
const CAUSES: u32 = 2;

pub(super) fn retires(view: &View, device: Device) -> Result {
    let spec = view.spec(view.whole(device)?);
    if spec
        .board
        .page_retirement
        .unwrap_or(spec.architecture < Architecture::Ampere)
    {
        Ok(())
    } else {
        Err(Status::NotSupported)
    }
}

/// How many pages were retired for a cause: none.
fn no_pages(view: &View, device: Device, cause: u32, count: &Out<u32>) -> Result {
    view.whole(device)?;
    count.check()?;
    if cause >= CAUSES {
        return Err(Status::InvalidArgument);
    }
    retires(view, device)?;
    count.put(0)
}

/// Cards that tell errors of SRAM by part: since Ampere.
fn tells_parts(view: &View, device: Device) -> Result {
    if view.spec(view.whole(device)?).architecture >= Architecture::Ampere {
        Ok(())
    } else {
        Err(Status::NotSupported)
    }
}

api! {
    table RETIREMENT;

    /// Pages that were retired: none. NOT_SUPPORTED since Ampere.
    view fn nvmlDeviceGetRetiredPages(device: Device, cause: u32, count: Out<u32>, _addresses: OutArray<u64>) |view| { no_pages(view, device, cause, &count) }

    /// `nvmlDeviceGetRetiredPages` with times.
    view fn nvmlDeviceGetRetiredPages_v2(device: Device, cause: u32, count: Out<u32>, _addresses: OutArray<u64>, _times: OutArray<u64>) |view| { no_pages(view, device, cause, &count) }

    /// No page waits to be retired. NOT_SUPPORTED since Ampere.
    view fn nvmlDeviceGetRetiredPagesPendingStatus(device: Device, pending: Out<u32>) |view| {
        view.whole(device)?;
        pending.check()?;
        retires(view, device)?;
        pending.put(0)
    }

    /// Remapped rows; all are in use.
    view fn nvmlDeviceGetRemappedRows_v2(device: Device, out: Out<RemappedRows>) |view| {
        view.whole(device)?;
        out.check()?;
        let remaps = view.state(remapper(view, device)?).health.remaps;
        out.put(RemappedRows {
            corr_active_remaps: remaps.corrected,
            corr_inactive_remaps: 0,
            unc_active_remaps: remaps.uncorrected,
            unc_inactive_remaps: 0,
            b_pending: remaps.pending.into(),
            b_failure_occurred: remaps.failed.into(),
        })
    }

    /// No repair waits for a reset.
    view fn nvmlDeviceGetRepairStatus(device: Device, out: Out<RepairStatus>) |view| {
        view.whole(device)?;
        out.check_version()?;
        tells_parts(view, device)?;
        out.put(RepairStatus { b_channel_repair_pending: 0, b_tpc_repair_pending: 0, ..out.get()? })
    }

    /// Errors of SRAM by kind and, those that could not be corrected, by part; how many are too many is not known, so it is never exceeded.
    view fn nvmlDeviceGetSramEccErrorStatus(device: Device, out: Out<SramEcc>) |view| {
        view.whole(device)?;
        out.check_version()?;
        tells_parts(view, device)?;
        let health = counting(view, device)?;
        let (volatile, aggregate) = (health.ecc_volatile.sram, health.ecc_aggregate.sram);
        out.put(SramEcc {
            version: out.get()?.version,
            aggregate_unc_parity: aggregate.parity,
            aggregate_unc_sec_ded: aggregate.sec_ded,
            aggregate_cor: aggregate.corrected,
            volatile_unc_parity: volatile.parity,
            volatile_unc_sec_ded: volatile.sec_ded,
            volatile_cor: volatile.corrected,
            aggregate_unc_bucket_l2: aggregate.of(SramSource::L2),
            aggregate_unc_bucket_sm: aggregate.of(SramSource::Sm),
            aggregate_unc_bucket_pcie: aggregate.of(SramSource::Pcie),
            aggregate_unc_bucket_mcu: aggregate.of(SramSource::Microcontroller),
            aggregate_unc_bucket_other: aggregate.of(SramSource::Other),
            b_threshold_exceeded: 0,
        })
    }

    /// Errors of SRAM by address: none, for errors of ours have no address.
    view fn nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts(device: Device, out: Out<SramUnique>) |view| {
        view.whole(device)?;
        out.check_version()?;
        tells_parts(view, device)?;
        counting(view, device)?;
        out.put(SramUnique { entry_count: 0, ..out.get()? })
    }

    /// Sets the counters of ECC errors since the last reset (0) or ever (1) to zero.
    session fn nvmlDeviceClearEccErrorCounts(device: Device, counter: u32) |session| {
        super::policy::set(session, device, |gpu| match counter {
            0 => Ok(Op::ClearEcc { gpu, aggregate: false }),
            1 => Ok(Op::ClearEcc { gpu, aggregate: true }),
            _ => Err(Status::InvalidArgument),
        })
    }
}

absent! {
    table RETIREMENT_ABSENT;

    /// The capture of a card that could have it shows N/A.
    device fn nvmlDeviceGetUnrepairableMemoryFlag_v1(status: Out<u32>);
    /// Banks are remapped on no card of the catalogue that is known.
    device fn nvmlDeviceGetBankRemapperStatus_v1(status: Out<u32>);
}
