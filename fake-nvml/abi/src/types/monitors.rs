//! Structs of utilisation, temperature, power and clocks.

use super::structs;

structs! {
    /// `nvmlUtilization_t`, in percent.
    struct Utilization = nvmlUtilization_t {
        gpu: u32,
        memory: u32,
    }

    /// `nvmlTemperature_v1_t`.
    version 1 struct Temperature = nvmlTemperature_v1_t {
        version: u32,
        sensor = sensorType: u32,
        temperature: i32,
    }
}
