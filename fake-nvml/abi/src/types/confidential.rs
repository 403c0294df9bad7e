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

    /// `nvmlSystemConfComputeSettings_v2_t`, which came with the function that takes it.
    version 2 struct ConfComputeSettingsV2 {
        version: u32,
        environment: u32,
        cc_feature: u32,
        dev_tools_mode: u32,
        multi_gpu_mode: u32,
        tdisp_state: u32,
    }
}

#[test]
fn settings_have_the_size_of_the_header() {
    assert_eq!(
        Some(size_of::<ConfComputeSettingsV2>()),
        super::bindings::size("nvmlSystemConfComputeSettings_v2_t")
    );
}
