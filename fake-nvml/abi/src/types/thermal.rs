//! Structs of temperatures, coolers and fans.

use super::structs;

structs! {
    /// `nvmlMarginTemperature_v1_t`.
    version 1 struct MarginTemperature = nvmlMarginTemperature_v1_t {
        version: u32,
        margin_temperature = marginTemperature: i32,
    }

    /// `nvmlGpuThermalSettings_t`.
    struct ThermalSettings = nvmlGpuThermalSettings_t {
        count: u32,
        sensor: [ThermalSensor; 3],
    }

    /// One sensor of `nvmlGpuThermalSettings_t`.
    struct ThermalSensor {
        controller: i32,
        default_min_temp: i32,
        default_max_temp: i32,
        current_temp: i32,
        target: i32,
    }

}
