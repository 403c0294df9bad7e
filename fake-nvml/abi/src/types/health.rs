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
}
