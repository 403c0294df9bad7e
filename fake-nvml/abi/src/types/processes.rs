//! Structs of processes.

use super::structs;

structs! {
    /// `nvmlProcessInfo_v1_t`.
    struct ProcessInfoV1 = nvmlProcessInfo_v1_t {
        pid: u32,
        used_gpu_memory = usedGpuMemory: u64,
    }

    /// `nvmlProcessInfo_v2_t` and, since it is the same, `nvmlProcessInfo_t` of the `_v3` functions.
    struct ProcessInfo = nvmlProcessInfo_v2_t {
        pid: u32,
        used_gpu_memory = usedGpuMemory: u64,
        gpu_instance_id = gpuInstanceId: u32,
        compute_instance_id = computeInstanceId: u32,
    }

    /// `nvmlProcessDetailList_v1_t`.
    version 1 struct ProcessDetailList = nvmlProcessDetailList_v1_t {
        version: u32,
        mode: u32,
        num_proc_array_entries = numProcArrayEntries: u32,
        proc_array = procArray: *mut ProcessDetail,
    }

    /// `nvmlProcessDetail_v1_t`.
    struct ProcessDetail = nvmlProcessDetail_v1_t {
        pid: u32,
        used_gpu_memory = usedGpuMemory: u64,
        gpu_instance_id = gpuInstanceId: u32,
        compute_instance_id = computeInstanceId: u32,
        used_gpu_cc_protected_memory = usedGpuCcProtectedMemory: u64,
    }

    /// `nvmlProcessUtilizationSample_t`.
    struct ProcessUtilizationSample = nvmlProcessUtilizationSample_t {
        pid: u32,
        time_stamp = timeStamp: u64,
        sm_util = smUtil: u32,
        mem_util = memUtil: u32,
        enc_util = encUtil: u32,
        dec_util = decUtil: u32,
    }

    /// `nvmlProcessesUtilizationInfo_v1_t`.
    version 1 struct ProcessesUtilization = nvmlProcessesUtilizationInfo_v1_t {
        version: u32,
        process_samples_count = processSamplesCount: u32,
        last_seen_time_stamp = lastSeenTimeStamp: u64,
        proc_util_array = procUtilArray: *mut ProcessUtilizationInfo,
    }

    /// `nvmlProcessUtilizationInfo_v1_t`.
    struct ProcessUtilizationInfo = nvmlProcessUtilizationInfo_v1_t {
        time_stamp = timeStamp: u64,
        pid: u32,
        sm_util = smUtil: u32,
        mem_util = memUtil: u32,
        enc_util = encUtil: u32,
        dec_util = decUtil: u32,
        jpg_util = jpgUtil: u32,
        ofa_util = ofaUtil: u32,
    }

    /// `nvmlSample_t`.
    struct Sample = nvmlSample_t {
        time_stamp = timeStamp: u64,
        sample_value = sampleValue: u64,
    }
}
