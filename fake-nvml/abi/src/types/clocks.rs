//! Structs of clocks, performance states and power.

use super::structs;

structs! {
    /// `nvmlGpuDynamicPstatesInfo_t`.
    struct DynamicPstates = nvmlGpuDynamicPstatesInfo_t {
        flags: u32,
        utilization: [DynamicPstate; 8],
    }

    /// One utilisation domain of `nvmlGpuDynamicPstatesInfo_t`.
    struct DynamicPstate {
        b_is_present: u32,
        percentage: u32,
        inc_threshold: u32,
        dec_threshold: u32,
    }

    /// `nvmlPowerValue_v2_t`.
    version 2 struct PowerValue = nvmlPowerValue_v2_t {
        version: u32,
        power_scope = powerScope: u8,
        power_value_mw = powerValueMw: u32,
    }

    /// `nvmlViolationTime_t`.
    struct ViolationTime = nvmlViolationTime_t {
        reference_time = referenceTime: u64,
        violation_time = violationTime: u64,
    }
}
