//! Processes on a GPU and what they use of it.
//! Not the card as a whole (`memory`, `monitors`), nor sums after their end (`accounting`).
//! From the loads in the state that run now and belong to a process; one process stands once in a list for each place it works on.

use gpu_model::{CiId, GiId, ProcessKind};

use crate::handle::Device;
use crate::macros::api;
use crate::out::{Out, OutArray, list};
use crate::status::{Result, Status};
use crate::types::{
    ProcessDetail, ProcessDetailList, ProcessInfo, ProcessInfoV1, ProcessUtilizationInfo,
    ProcessUtilizationSample, ProcessesUtilization,
};
use crate::view::{GpuView, Target, View};

/// An id that a process on a whole GPU does not have.
const NO_INSTANCE: u32 = u32::MAX;

/// A process at one place.
struct Found {
    pid: u32,
    gi: Option<GiId>,
    ci: Option<CiId>,
    /// In bytes.
    memory: u64,
}

impl Found {
    fn info(&self) -> ProcessInfo {
        ProcessInfo {
            pid: self.pid,
            used_gpu_memory: self.memory,
            gpu_instance_id: self.gi.map_or(NO_INSTANCE, |gi| gi.0),
            compute_instance_id: self.ci.map_or(NO_INSTANCE, |ci| ci.0),
        }
    }

    fn old_info(&self) -> ProcessInfoV1 {
        ProcessInfoV1 {
            pid: self.pid,
            used_gpu_memory: self.memory,
        }
    }

    fn detail(&self) -> ProcessDetail {
        let ProcessInfo {
            pid,
            used_gpu_memory,
            gpu_instance_id,
            compute_instance_id,
        } = self.info();
        ProcessDetail {
            pid,
            used_gpu_memory,
            gpu_instance_id,
            compute_instance_id,
            used_gpu_cc_protected_memory: 0,
        }
    }
}

/// The processes of a kind on a GPU with all its instances, or on a MIG device.
fn found(view: &View, device: Device, kind: ProcessKind) -> Result<Vec<Found>> {
    let (gpu, mig) = match view.device(device)? {
        Target::Gpu(gpu) => (gpu, None),
        Target::Mig(gpu, mig) => (gpu, Some((GiId(mig.gi()), CiId(mig.ci())))),
    };
    let mut all: Vec<Found> = Vec::new();
    for load in view.state(gpu).running(view.now()) {
        let Some(process) = load.process.as_ref().filter(|process| process.kind == kind) else {
            continue;
        };
        if mig.is_some_and(|(gi, ci)| load.gi != Some(gi) || load.ci.is_some_and(|of| of != ci)) {
            continue;
        }
        let (pid, memory) = (process.pid.0, load.memory.bytes());
        match all
            .iter_mut()
            .find(|it| (it.pid, it.gi, it.ci) == (pid, load.gi, load.ci))
        {
            Some(known) => known.memory += memory,
            None => all.push(Found {
                pid,
                gi: load.gi,
                ci: load.ci,
                memory,
            }),
        }
    }
    Ok(all)
}

/// Lists the processes of a kind, each as the function's struct has it.
fn running<T: Copy>(
    view: &View,
    device: Device,
    kind: ProcessKind,
    count: &Out<u32>,
    infos: &OutArray<T>,
    info: fn(&Found) -> T,
) -> Result {
    let all = found(view, device, kind)?;
    list(count, infos, all.len() as u32, all.iter().map(info))
}

/// A process' use of the whole card, in percent.
struct Used {
    pid: u32,
    compute: u32,
    memory: u32,
}

/// The use of all processes; NOT_SUPPORTED in MIG mode.
fn uses(view: &View, gpu: &GpuView) -> Result<Vec<Used>> {
    view.not_in_mig_mode(gpu)?;
    let mut all: Vec<Used> = Vec::new();
    for used in view.state(gpu).uses(view.spec(gpu), view.now()) {
        let Some(process) = &used.load.process else {
            continue;
        };
        let (pid, compute) = (process.pid.0, used.of_card.0);
        let memory = used.of_card.of_memory().0;
        match all.iter_mut().find(|it| it.pid == pid) {
            Some(known) => {
                known.compute = (known.compute + compute).min(100);
                known.memory = (known.memory + memory).min(100);
            }
            None => all.push(Used {
                pid,
                compute,
                memory,
            }),
        }
    }
    Ok(all)
}

api! {
    table PROCESSES;

    /// Processes with a compute context, 16 bytes each.
    view fn nvmlDeviceGetComputeRunningProcesses(device: Device, count: Out<u32>, infos: OutArray<ProcessInfoV1>) |view| { running(view, device, ProcessKind::Compute, &count, &infos, Found::old_info) }

    /// Processes with a compute context, 24 bytes each.
    view fn nvmlDeviceGetComputeRunningProcesses_v2(device: Device, count: Out<u32>, infos: OutArray<ProcessInfo>) |view| { running(view, device, ProcessKind::Compute, &count, &infos, Found::info) }

    /// Processes with a compute context, 24 bytes each.
    view fn nvmlDeviceGetComputeRunningProcesses_v3(device: Device, count: Out<u32>, infos: OutArray<ProcessInfo>) |view| { running(view, device, ProcessKind::Compute, &count, &infos, Found::info) }

    /// Processes with a graphics context, 16 bytes each.
    view fn nvmlDeviceGetGraphicsRunningProcesses(device: Device, count: Out<u32>, infos: OutArray<ProcessInfoV1>) |view| { running(view, device, ProcessKind::Graphics, &count, &infos, Found::old_info) }

    /// Processes with a graphics context, 24 bytes each.
    view fn nvmlDeviceGetGraphicsRunningProcesses_v2(device: Device, count: Out<u32>, infos: OutArray<ProcessInfo>) |view| { running(view, device, ProcessKind::Graphics, &count, &infos, Found::info) }

    /// Processes with a graphics context, 24 bytes each.
    view fn nvmlDeviceGetGraphicsRunningProcesses_v3(device: Device, count: Out<u32>, infos: OutArray<ProcessInfo>) |view| { running(view, device, ProcessKind::Graphics, &count, &infos, Found::info) }

    /// Processes that compute by way of MPS, 16 bytes each.
    view fn nvmlDeviceGetMPSComputeRunningProcesses(device: Device, count: Out<u32>, infos: OutArray<ProcessInfoV1>) |view| { running(view, device, ProcessKind::Mps, &count, &infos, Found::old_info) }

    /// Processes that compute by way of MPS, 24 bytes each.
    view fn nvmlDeviceGetMPSComputeRunningProcesses_v2(device: Device, count: Out<u32>, infos: OutArray<ProcessInfo>) |view| { running(view, device, ProcessKind::Mps, &count, &infos, Found::info) }

    /// Processes that compute by way of MPS, 24 bytes each.
    view fn nvmlDeviceGetMPSComputeRunningProcesses_v3(device: Device, count: Out<u32>, infos: OutArray<ProcessInfo>) |view| { running(view, device, ProcessKind::Mps, &count, &infos, Found::info) }

    /// Processes by mode (0 compute, 1 graphics, 2 MPS), with protected memory, of which there is none.
    view fn nvmlDeviceGetRunningProcessDetailList(device: Device, out: Out<ProcessDetailList>) |view| {
        view.device(device)?;
        out.check_version()?;
        let asked = out.get()?;
        let kind = match asked.mode {
            0 => ProcessKind::Compute,
            1 => ProcessKind::Graphics,
            2 => ProcessKind::Mps,
            _ => return Err(Status::InvalidArgument),
        };
        let all = found(view, device, kind)?;
        out.put(ProcessDetailList { num_proc_array_entries: all.len() as u32, ..asked })?;
        if (asked.num_proc_array_entries as usize) < all.len() {
            return Err(Status::InsufficientSize);
        }
        OutArray::of(asked.proc_array).fill(all.len(), all.iter().map(Found::detail))
    }

    /// Utilisation by process since a moment in microseconds; NOT_FOUND if there is none, as the real library says. NOT_SUPPORTED in
    /// MIG mode.
    view fn nvmlDeviceGetProcessUtilization(device: Device, samples: OutArray<ProcessUtilizationSample>, count: Out<u32>, since: u64) |view| {
        let gpu = view.whole(device)?;
        let room = count.get()?;
        let (all, time_stamp) = (uses(view, gpu)?, view.now().0);
        let total = if since < time_stamp { all.len() } else { 0 };
        count.put(total as u32)?;
        if total == 0 {
            return Err(Status::NotFound);
        }
        if samples.is_null() || (room as usize) < total {
            return Err(Status::InsufficientSize);
        }
        let sample = |used: &Used| ProcessUtilizationSample {
            pid: used.pid,
            time_stamp,
            sm_util: used.compute,
            mem_util: used.memory,
            enc_util: 0,
            dec_util: 0,
        };
        samples.fill(total, all.iter().map(sample))
    }

    /// `nvmlDeviceGetProcessUtilization` with a versioned struct and more engines.
    view fn nvmlDeviceGetProcessesUtilizationInfo(device: Device, info: Out<ProcessesUtilization>) |view| {
        let gpu = view.whole(device)?;
        info.check_version()?;
        let asked = info.get()?;
        let (all, time_stamp) = (uses(view, gpu)?, view.now().0);
        let total = if asked.last_seen_time_stamp < time_stamp { all.len() } else { 0 };
        info.put(ProcessesUtilization { process_samples_count: total as u32, ..asked })?;
        if total == 0 {
            return Err(Status::NotFound);
        }
        if asked.proc_util_array.is_null() || (asked.process_samples_count as usize) < total {
            return Err(Status::InsufficientSize);
        }
        let sample = |used: &Used| ProcessUtilizationInfo {
            time_stamp,
            pid: used.pid,
            sm_util: used.compute,
            mem_util: used.memory,
            enc_util: 0,
            dec_util: 0,
            jpg_util: 0,
            ofa_util: 0,
        };
        OutArray::of(asked.proc_util_array).fill(total, all.iter().map(sample))
    }
}
