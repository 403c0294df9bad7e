//! Processes on a GPU.
//! Not what they do to it (`memory`, `monitors`).
//! No process computes on a fake GPU, so each list is empty, with the counts that a client needs to see that it is.

use crate::handle::Device;
use crate::macros::api;
use crate::out::{Out, OutArray};
use crate::status::{Result, Status};
use crate::types::{ProcessDetailList, ProcessInfo, ProcessInfoV1, ProcessUtilizationSample};
use crate::view::View;

/// The last mode of `nvmlProcessMode_t`.
const LAST_MODE: u32 = 3;

fn none(view: &View, device: Device, count: &Out<u32>) -> Result {
    view.device(device)?;
    count.put(0)
}

api! {
    table PROCESSES;

    /// Processes with a compute context, 16 bytes each.
    view fn nvmlDeviceGetComputeRunningProcesses(device: Device, count: Out<u32>, _infos: OutArray<ProcessInfoV1>) |view| { none(view, device, &count) }

    /// Processes with a compute context, 24 bytes each.
    view fn nvmlDeviceGetComputeRunningProcesses_v2(device: Device, count: Out<u32>, _infos: OutArray<ProcessInfo>) |view| { none(view, device, &count) }

    /// Processes with a compute context, 24 bytes each.
    view fn nvmlDeviceGetComputeRunningProcesses_v3(device: Device, count: Out<u32>, _infos: OutArray<ProcessInfo>) |view| { none(view, device, &count) }

    /// Processes with a graphics context, 16 bytes each.
    view fn nvmlDeviceGetGraphicsRunningProcesses(device: Device, count: Out<u32>, _infos: OutArray<ProcessInfoV1>) |view| { none(view, device, &count) }

    /// Processes with a graphics context, 24 bytes each.
    view fn nvmlDeviceGetGraphicsRunningProcesses_v2(device: Device, count: Out<u32>, _infos: OutArray<ProcessInfo>) |view| { none(view, device, &count) }

    /// Processes with a graphics context, 24 bytes each.
    view fn nvmlDeviceGetGraphicsRunningProcesses_v3(device: Device, count: Out<u32>, _infos: OutArray<ProcessInfo>) |view| { none(view, device, &count) }

    /// Processes that compute by way of MPS, 16 bytes each.
    view fn nvmlDeviceGetMPSComputeRunningProcesses(device: Device, count: Out<u32>, _infos: OutArray<ProcessInfoV1>) |view| { none(view, device, &count) }

    /// Processes that compute by way of MPS, 24 bytes each.
    view fn nvmlDeviceGetMPSComputeRunningProcesses_v2(device: Device, count: Out<u32>, _infos: OutArray<ProcessInfo>) |view| { none(view, device, &count) }

    /// Processes that compute by way of MPS, 24 bytes each.
    view fn nvmlDeviceGetMPSComputeRunningProcesses_v3(device: Device, count: Out<u32>, _infos: OutArray<ProcessInfo>) |view| { none(view, device, &count) }

    /// Processes by mode, with protected memory.
    view fn nvmlDeviceGetRunningProcessDetailList(device: Device, list: Out<ProcessDetailList>) |view| {
        view.device(device)?;
        list.check_version()?;
        let asked = list.get()?;
        if asked.mode > LAST_MODE {
            return Err(Status::InvalidArgument);
        }
        list.put(ProcessDetailList { num_proc_array_entries: 0, ..asked })
    }

    /// Utilisation by process: NOT_FOUND, as the real library says when there is no sample. NOT_SUPPORTED in MIG mode.
    view fn nvmlDeviceGetProcessUtilization(device: Device, _samples: OutArray<ProcessUtilizationSample>, count: Out<u32>, _since: u64) |view| {
        let gpu = view.whole(device)?;
        count.check()?;
        if view.machine().mig_on(view.state(gpu)).is_ok() {
            return Err(Status::NotSupported);
        }
        count.put(0)?;
        Err(Status::NotFound)
    }
}
