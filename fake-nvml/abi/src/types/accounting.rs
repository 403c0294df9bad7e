//! Structs of accounting.

use super::structs;

structs! {
    /// `nvmlAccountingStats_t`.
    struct AccountingStats = nvmlAccountingStats_t {
        gpu_utilization = gpuUtilization: u32,
        memory_utilization = memoryUtilization: u32,
        max_memory_usage = maxMemoryUsage: u64,
        time: u64,
        start_time = startTime: u64,
        is_running = isRunning: u32,
        reserved: [u32; 5],
    }

    /// `nvmlAccountingStats_v2_t`: has no version field.
    struct AccountingStatsV2 {
        pid: u32,
        is_running: u32,
        gpu_utilization: u32,
        memory_utilization: u32,
        max_memory_usage: u64,
        sample_count: u32,
        sum_gpu_util: u64,
        sum_fb_util: u64,
        time: u64,
        start_time: u64,
    }
}
