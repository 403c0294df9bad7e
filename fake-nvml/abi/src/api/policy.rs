//! Modes that an administrator sets: persistence, compute, power limit, ECC; and display modes, which never change.
//! Not MIG mode (`mig`).
//! Setters change the shared state for everybody, at once; they are for root, and NO_PERMISSION where the state is read-only.

use gpu_model::{ComputeMode, MilliWatts, Op};

use crate::handle::Device;
use crate::macros::api;
use crate::out::Out;
use crate::session::Session;
use crate::status::{Result, Status};
use crate::view;

/// An `nvmlEnableState_t`.
pub(super) fn enabled(mode: u32) -> Result<bool> {
    match mode {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Status::InvalidArgument),
    }
}

pub(super) fn set(
    session: &Session,
    device: Device,
    op: impl FnOnce(gpu_model::GpuIndex) -> Result<Op>,
) -> Result {
    let view = view::latest()?;
    let gpu = view.state(view.whole(device)?).index;
    session.apply(op(gpu)?).map(drop)
}

api! {
    table POLICY;

    /// Persistence mode.
    view fn nvmlDeviceGetPersistenceMode(device: Device, mode: Out<u32>) |view| {
        mode.put(view.state(view.whole(device)?).persistence.into())
    }

    /// Sets persistence mode.
    session fn nvmlDeviceSetPersistenceMode(device: Device, mode: u32) |session| {
        set(session, device, |gpu| Ok(Op::SetPersistence { gpu, on: enabled(mode)? }))
    }

    /// Compute mode: 0 default, 2 prohibited, 3 exclusive process.
    view fn nvmlDeviceGetComputeMode(device: Device, mode: Out<u32>) |view| {
        mode.put(view.state(view.whole(device)?).compute_mode.raw())
    }

    /// Sets compute mode; 1 (exclusive thread) is no longer offered.
    session fn nvmlDeviceSetComputeMode(device: Device, mode: u32) |session| {
        set(session, device, |gpu| {
            let mode = match mode {
                0 => ComputeMode::Default,
                1 => return Err(Status::NotSupported),
                2 => ComputeMode::Prohibited,
                3 => ComputeMode::ExclusiveProcess,
                _ => return Err(Status::InvalidArgument),
            };
            Ok(Op::SetComputeMode { gpu, mode })
        })
    }

    /// Sets the power limit in milliwatts.
    session fn nvmlDeviceSetPowerManagementLimit(device: Device, limit: u32) |session| {
        set(session, device, |gpu| Ok(Op::SetPowerLimit { gpu, limit: Some(MilliWatts(limit)) }))
    }

    /// Sets ECC mode; it waits for the next reset.
    session fn nvmlDeviceSetEccMode(device: Device, mode: u32) |session| {
        set(session, device, |gpu| Ok(Op::SetEcc { gpu, on: enabled(mode)? }))
    }

    /// No display can be attached.
    view fn nvmlDeviceGetDisplayMode(device: Device, mode: Out<u32>) |view| {
        view.whole(device)?;
        mode.put(0)
    }

    /// No display is in use.
    view fn nvmlDeviceGetDisplayActive(device: Device, mode: Out<u32>) |view| {
        view.whole(device)?;
        mode.put(0)
    }
}
