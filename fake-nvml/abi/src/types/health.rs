//! Structs of errors and of fields by number.

use super::structs;
use crate::status::Return;

structs! {
    /// `nvmlEccErrorCounts_t`.
    struct EccErrorCounts = nvmlEccErrorCounts_t {
        l1_cache = l1Cache: u64,
        l2_cache = l2Cache: u64,
        device_memory = deviceMemory: u64,
        register_file = registerFile: u64,
    }

    /// `nvmlRowRemapperHistogramValues_t`.
    struct RowRemapperHistogram = nvmlRowRemapperHistogramValues_t {
        max: u32,
        high: u32,
        partial: u32,
        low: u32,
        none: u32,
    }

    /// `nvmlFieldValue_t`; the union is taken as its widest member.
    struct FieldValue = nvmlFieldValue_t {
        field_id = fieldId: u32,
        scope_id = scopeId: u32,
        timestamp: i64,
        latency_usec = latencyUsec: i64,
        value_type = valueType: u32,
        nvml_return = nvmlReturn: Return,
        value: u64,
    }

    /// `nvmlEccSramErrorStatus_v1_t`.
    version 1 struct SramEcc = nvmlEccSramErrorStatus_v1_t {
        version: u32,
        aggregate_unc_parity = aggregateUncParity: u64,
        aggregate_unc_sec_ded = aggregateUncSecDed: u64,
        aggregate_cor = aggregateCor: u64,
        volatile_unc_parity = volatileUncParity: u64,
        volatile_unc_sec_ded = volatileUncSecDed: u64,
        volatile_cor = volatileCor: u64,
        aggregate_unc_bucket_l2 = aggregateUncBucketL2: u64,
        aggregate_unc_bucket_sm = aggregateUncBucketSm: u64,
        aggregate_unc_bucket_pcie = aggregateUncBucketPcie: u64,
        aggregate_unc_bucket_mcu = aggregateUncBucketMcu: u64,
        aggregate_unc_bucket_other = aggregateUncBucketOther: u64,
        b_threshold_exceeded = bThresholdExceeded: u32,
    }

    /// `nvmlEccSramUniqueUncorrectedErrorCounts_v1_t`.
    version 1 struct SramUnique = nvmlEccSramUniqueUncorrectedErrorCounts_v1_t {
        version: u32,
        entry_count = entryCount: u32,
        entries: *mut u8,
    }

    /// `nvmlRepairStatus_v1_t`.
    version 1 struct RepairStatus = nvmlRepairStatus_v1_t {
        version: u32,
        b_channel_repair_pending = bChannelRepairPending: u32,
        b_tpc_repair_pending = bTpcRepairPending: u32,
    }

    /// `nvmlRemappedRowsInfo_v2_t`: has no version field.
    struct RemappedRows {
        corr_active_remaps: u32,
        corr_inactive_remaps: u32,
        unc_active_remaps: u32,
        unc_inactive_remaps: u32,
        b_pending: u32,
        b_failure_occurred: u32,
    }
}
