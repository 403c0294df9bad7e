//! Structs of confidential computing.

use super::structs;

structs! {
    /// `nvmlConfComputeSystemCaps_t`.
    struct ConfComputeCapabilities = nvmlConfComputeSystemCaps_t {
        cpu_caps = cpuCaps: u32,
        gpus_caps = gpusCaps: u32,
    }

    /// `nvmlConfComputeSystemState_t`.
    struct ConfComputeState = nvmlConfComputeSystemState_t {
        environment: u32,
        cc_feature = ccFeature: u32,
        dev_tools_mode = devToolsMode: u32,
    }

    /// `nvmlConfComputeMemSizeInfo_t`.
    struct ConfComputeMemSize = nvmlConfComputeMemSizeInfo_t {
        protected_mem_size_kib = protectedMemSizeKib: u64,
        unprotected_mem_size_kib = unprotectedMemSizeKib: u64,
    }

    /// `nvmlSystemConfComputeSettings_v1_t`.
    version 1 struct ConfComputeSettings = nvmlSystemConfComputeSettings_v1_t {
        version: u32,
        environment: u32,
        cc_feature = ccFeature: u32,
        dev_tools_mode = devToolsMode: u32,
        multi_gpu_mode = multiGpuMode: u32,
    }
}
