//! MIG mode, MIG devices and what belongs to them.
//! Not instances (`gpu_instance`, `compute_instance`).
//! A MIG device is a compute instance; those that this process sees are numbered in ascending order of their ids.

use gpu_model::{MigMode, Op, Outcome};

use crate::handle::Device;
use crate::macros::api;
use crate::out::Out;
use crate::status::{Return, Status};
use crate::types::{DeviceAttributes, DeviceAttributesV1};
use crate::view::{self, Target, View};

fn attributes(view: &View, device: Device) -> crate::status::Result<DeviceAttributes> {
    let Target::Mig(gpu, mig) = view.device(device)? else {
        return Err(Status::NotSupported);
    };
    let mig = view.mig_device(gpu, mig)?;
    let engines = mig.engines();
    Ok(DeviceAttributes {
        multiprocessor_count: mig.multiprocessors(),
        shared_copy_engine_count: engines.copy,
        shared_decoder_count: engines.decoder,
        shared_encoder_count: engines.encoder,
        shared_jpeg_count: engines.jpeg,
        shared_ofa_count: engines.ofa,
        gpu_instance_slice_count: mig.gi_profile.slices.0,
        compute_instance_slice_count: mig.ci_profile.slices.0,
        memory_size_mb: mig.memory().0,
    })
}

api! {
    table MIG;

    /// Current and pending MIG mode; NOT_SUPPORTED on a model without MIG.
    view fn nvmlDeviceGetMigMode(device: Device, current: Out<u32>, pending: Out<u32>) |view| {
        let gpu = view.gpu(device)?;
        current.check()?;
        pending.check()?;
        if view.spec(gpu).mig.is_none() {
            return Err(Status::NotSupported);
        }
        let state = view.state(gpu);
        current.put(state.mig_current.raw())?;
        pending.put(state.mig_pending.raw())
    }

    /// Sets MIG mode. SUCCESS says that the mode was taken note of, the activation status whether it is in force: IN_USE while
    /// instances or clients are there, RESET_REQUIRED on cards that need a reset and cannot do it by themselves.
    session fn nvmlDeviceSetMigMode(device: Device, mode: u32, activation: Out<Return>) |session| {
        let view = view::latest()?;
        let gpu = view.state(view.gpu(device)?).index;
        activation.check()?;
        let mode = match mode {
            0 => MigMode::Disabled,
            1 => MigMode::Enabled,
            _ => return Err(Status::InvalidArgument),
        };
        match session.apply(Op::SetMigMode { gpu, mode })? {
            Outcome::MigMode { activation: status } => activation.put(status.raw()),
            _ => Err(Status::Unknown),
        }
    }

    /// 1 for a MIG device, 0 for a GPU.
    view fn nvmlDeviceIsMigDeviceHandle(device: Device, is_mig: Out<u32>) |view| {
        is_mig.put(matches!(view.device(device)?, Target::Mig(..)).into())
    }

    /// How many MIG devices the GPU can have; 0 if it has no MIG or MIG mode is off.
    view fn nvmlDeviceGetMaxMigDeviceCount(device: Device, count: Out<u32>) |view| {
        let gpu = view.gpu(device)?;
        count.put(view.machine().max_mig_devices(view.state(gpu)))
    }

    /// The MIG device at an index; NOT_FOUND where there is none, INVALID_ARGUMENT beyond the highest count.
    view fn nvmlDeviceGetMigDeviceHandleByIndex(device: Device, index: u32, mig: Out<Device>) |view| {
        let gpu = view.gpu(device)?;
        mig.check()?;
        let spec = view.spec(gpu).mig.as_ref().ok_or(Status::NotSupported)?;
        if index >= spec.max_devices {
            return Err(Status::InvalidArgument);
        }
        let found = view.visible_migs(gpu).nth(index as usize).ok_or(Status::NotFound)?;
        mig.put(gpu.mig_handle(found))
    }

    /// The GPU of a MIG device.
    view fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig: Device, device: Out<Device>) |view| {
        device.put(view.mig(mig)?.0.handle())
    }

    /// The id of the GPU instance that the MIG device lies in; NOT_SUPPORTED for a whole GPU.
    view fn nvmlDeviceGetGpuInstanceId(device: Device, id: Out<u32>) |view| {
        match view.device(device)? {
            Target::Mig(_, mig) => id.put(mig.gi()),
            Target::Gpu(_) => Err(Status::NotSupported),
        }
    }

    /// The id of the compute instance that the MIG device is; NOT_SUPPORTED for a whole GPU.
    view fn nvmlDeviceGetComputeInstanceId(device: Device, id: Out<u32>) |view| {
        match view.device(device)? {
            Target::Mig(_, mig) => id.put(mig.ci()),
            Target::Gpu(_) => Err(Status::NotSupported),
        }
    }

    /// `nvmlDeviceGetAttributes_v2` in the layout of NVML 11.0: no slices, no memory.
    view fn nvmlDeviceGetAttributes(device: Device, out: Out<DeviceAttributesV1>) |view| {
        let of = attributes(view, device)?;
        out.put(DeviceAttributesV1 {
            multiprocessor_count: of.multiprocessor_count,
            shared_copy_engine_count: of.shared_copy_engine_count,
            shared_decoder_count: of.shared_decoder_count,
            shared_encoder_count: of.shared_encoder_count,
            shared_jpeg_count: of.shared_jpeg_count,
            shared_ofa_count: of.shared_ofa_count,
        })
    }

    /// What a MIG device consists of; NOT_SUPPORTED for a whole GPU.
    view fn nvmlDeviceGetAttributes_v2(device: Device, out: Out<DeviceAttributes>) |view| { out.put(attributes(view, device)?) }
}
