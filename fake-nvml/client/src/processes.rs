//! Processes on a device, and what they do.
//! Not their accounts after their end.
//! The kinds are nvml.h's three lists; a process may stand in several.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings as sys;

use crate::error::Result;
use crate::gpu::Device;
use crate::library::{Nvml, call, list, text};
use crate::types::{Process, ProcessKind, ProcessUse};

/// A first buffer that most lists fit in.
const ROOM: c_uint = 64;

impl Device<'_> {
    /// Processes with a context of this kind.
    ///
    /// # Errors
    /// What the library answers.
    pub fn processes(&self, kind: ProcessKind) -> Result<Vec<Process>> {
        let raw = list(ROOM, |count, infos| {
            // SAFETY: the handle came from this library; `count` says how many structs of the `_v3` layout the buffer holds.
            unsafe {
                match kind {
                    ProcessKind::Compute => call!(
                        self.nvml,
                        nvmlDeviceGetComputeRunningProcesses_v3(self.raw, count, infos)
                    ),
                    ProcessKind::Graphics => call!(
                        self.nvml,
                        nvmlDeviceGetGraphicsRunningProcesses_v3(self.raw, count, infos)
                    ),
                    ProcessKind::Mps => call!(
                        self.nvml,
                        nvmlDeviceGetMPSComputeRunningProcesses_v3(self.raw, count, infos)
                    ),
                }
            }
        })?;
        Ok(raw.into_iter().map(process).collect())
    }

    /// What each process did lately.
    ///
    /// # Errors
    /// What the library answers: NOT_FOUND when there is nothing to tell.
    pub fn process_utilization(&self) -> Result<Vec<ProcessUse>> {
        const EVER: u64 = 0;
        let raw = list(
            ROOM,
            |count, samples: *mut sys::nvmlProcessUtilizationSample_t| {
                // SAFETY: the handle came from this library; `count` says how many structs the buffer holds.
                unsafe {
                    call!(
                        self.nvml,
                        nvmlDeviceGetProcessUtilization(self.raw, samples, count, EVER)
                    )
                }
            },
        )?;
        Ok(raw
            .into_iter()
            .map(|sample| ProcessUse {
                pid: sample.pid,
                sm: sample.smUtil,
                memory: sample.memUtil,
                encoder: sample.encUtil,
                decoder: sample.decUtil,
            })
            .collect())
    }
}

impl Nvml {
    /// The command of a process.
    ///
    /// # Errors
    /// What the library answers: NOT_FOUND for a process that is none of a GPU's.
    pub fn process_name(&self, pid: u32) -> Result<String> {
        // SAFETY: `text` passes a buffer and its true length.
        text(|buffer, length| unsafe { call!(self, nvmlSystemGetProcessName(pid, buffer, length)) })
    }
}

fn process(p: sys::nvmlProcessInfo_t) -> Process {
    let id = |v: c_uint| (v != c_uint::MAX).then_some(v);
    Process {
        pid: p.pid,
        memory: (p.usedGpuMemory != u64::MAX).then_some(p.usedGpuMemory),
        gpu_instance: id(p.gpuInstanceId),
        compute_instance: id(p.computeInstanceId),
    }
}
