//! Structs of performance metrics (GPM).

use core::ffi::c_char;

use super::structs;
use crate::handle::GpmSample;
use crate::status::Return;

structs! {
    /// `nvmlGpmSupport_t`.
    struct GpmSupport = nvmlGpmSupport_t {
        version: u32,
        is_supported_device = isSupportedDevice: u32,
    }

    /// The names of a metric in `nvmlGpmMetric_t`.
    struct GpmMetricInfo {
        short_name: *mut c_char,
        long_name: *mut c_char,
        unit: *mut c_char,
    }

    /// `nvmlGpmMetric_t`.
    struct GpmMetric = nvmlGpmMetric_t {
        metric_id = metricId: u32,
        nvml_return = nvmlReturn: Return,
        value: f64,
        metric_info = metricInfo: GpmMetricInfo,
    }

    /// `nvmlGpmMetricsGet_t` without its metrics: how many there is room for differs from header to header, how many are asked for is
    /// in `num_metrics`.
    struct GpmMetricsHead {
        version: u32,
        num_metrics: u32,
        sample1: GpmSample,
        sample2: GpmSample,
    }
}
