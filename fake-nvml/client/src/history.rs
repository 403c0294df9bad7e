//! What the driver has kept: samples of the last while, and accounts of processes.
//! Not the values of now (`gpu`) and the processes of now (`processes`).
//! Times are microseconds since 1970; units of samples are those of nvml.h.

use std::ffi::{c_uint, c_ulonglong};
use std::mem;

use nvml_wrapper_sys::bindings as sys;

use crate::error::Result;
use crate::fields;
use crate::gpu::Device;
use crate::library::{call, list};
use crate::types::{Account, Sample, Sampled};

impl Device<'_> {
    /// The samples that the driver has kept, oldest first.
    ///
    /// # Errors
    /// What the library answers: NOT_FOUND when it has kept none.
    pub fn samples(&self, of: Sampled) -> Result<Vec<Sample>> {
        const EVER: c_ulonglong = 0;
        let mut kind: sys::nvmlValueType_t = 0;
        let raw = list(0, |count, samples: *mut sys::nvmlSample_t| {
            // SAFETY: the handle came from this library; `count` says how many structs the buffer has, which is none for NULL; the
            // type is a live integer.
            unsafe {
                call!(
                    self.nvml,
                    nvmlDeviceGetSamples(self.raw, of as c_uint, EVER, &mut kind, count, samples)
                )
            }
        })?;
        raw.into_iter()
            .map(|sample| {
                // SAFETY: the call has written the union and said of which type its value is.
                let value =
                    unsafe { fields::whole("nvmlDeviceGetSamples", kind, &sample.sampleValue) }?;
                Ok(Sample {
                    at: sample.timeStamp,
                    value,
                })
            })
            .collect()
    }

    fn accounted(&self) -> Result<Vec<u32>> {
        list(0, |count, pids| {
            // SAFETY: the handle came from this library; `count` says how many entries the buffer has, which is none for NULL.
            unsafe {
                call!(
                    self.nvml,
                    nvmlDeviceGetAccountingPids(self.raw, count, pids)
                )
            }
        })
    }

    /// The processes that are accounted with what they have used: none while accounting is off.
    #[must_use]
    pub fn accounts(&self) -> Vec<(u32, Account)> {
        let account = |pid| Some((pid, self.account(pid).ok()?));
        let pids = self.accounted().unwrap_or_default();
        pids.into_iter().filter_map(account).collect()
    }

    fn account(&self, pid: u32) -> Result<Account> {
        const UNKNOWN: c_ulonglong = c_ulonglong::MAX;
        const UNKNOWN_SHARE: c_uint = c_uint::MAX;
        // SAFETY: plain integers, for which all zeroes is a value.
        let mut stats: sys::nvmlAccountingStats_t = unsafe { mem::zeroed() };
        // SAFETY: the handle came from this library; the out pointer is a live struct.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetAccountingStats(self.raw, pid, &mut stats)
            )
        }?;
        let share = |percent: c_uint| (percent != UNKNOWN_SHARE).then_some(percent);
        Ok(Account {
            gpu: share(stats.gpuUtilization),
            memory: share(stats.memoryUtilization),
            max_memory: (stats.maxMemoryUsage != UNKNOWN).then_some(stats.maxMemoryUsage),
            milliseconds: stats.time,
            running: stats.isRunning != 0,
        })
    }
}
