//! Temperatures beside the GPU's own, coolers and fans.
//! Not the temperature itself (`monitors`).
//! All cards of the catalogue but one are cooled by their server, so they have no fan and no cooler to ask about; of that one (RTX 6000
//! Ada) nobody has shown how its fan behaves.

use crate::absent::{self, Announced, absent};
use crate::handle::Device;
use crate::macros::api;
use crate::out::Out;
use crate::status::Status;
use crate::types::{MarginTemperature, ThermalSensor, ThermalSettings};

/// `NVML_THERMAL_TARGET_ALL` as an index: all sensors.
const ALL_SENSORS: u32 = 15;
/// `NVML_THERMAL_CONTROLLER_GPU_INTERNAL` and `NVML_THERMAL_TARGET_GPU`.
const GPU_INTERNAL: i32 = 1;

api! {
    table THERMAL;

    /// Degrees left to the limit (T.Limit); NOT_SUPPORTED on cards whose thresholds are absolute.
    view fn nvmlDeviceGetMarginTemperature(device: Device, out: Out<MarginTemperature>) |view| {
        let gpu = view.whole(device)?;
        out.check_version()?;
        let limit = view.spec(gpu).board.temperature_limit.ok_or(Status::NotSupported)?;
        let margin_temperature = limit.0 - view.telemetry(gpu).temperature.0;
        out.put(MarginTemperature { margin_temperature, ..out.get()? })
    }

    /// The sensors: one, the GPU's own. Its range is not known and reads 0.
    view fn nvmlDeviceGetThermalSettings(device: Device, sensor: u32, out: Out<ThermalSettings>) |view| {
        let gpu = view.whole(device)?;
        out.check()?;
        if sensor != 0 && sensor != ALL_SENSORS {
            return Err(Status::InvalidArgument);
        }
        let none = ThermalSensor { controller: 0, default_min_temp: 0, default_max_temp: 0, current_temp: 0, target: 0 };
        let current_temp = view.telemetry(gpu).temperature.0;
        let own = ThermalSensor { controller: GPU_INTERNAL, current_temp, target: GPU_INTERNAL, ..none };
        out.put(ThermalSettings { count: 1, sensor: [own, none, none] })
    }
}

absent! {
    table THERMAL_ABSENT;

    /// No fan, or none of which more is known.
    device fn nvmlDeviceGetFanSpeed(speed: Out<u32>);
    /// No fan, or none of which more is known.
    device fn nvmlDeviceGetFanSpeed_v2(fan: u32, speed: Out<u32>);
    /// No fan, or none of which more is known.
    device fn nvmlDeviceGetFanSpeedRPM(speed: Announced<absent::FanSpeedInfo>);
    /// No fan, or none of which more is known.
    device fn nvmlDeviceGetTargetFanSpeed(fan: u32, speed: Out<u32>);
    /// No fan, or none of which more is known.
    device fn nvmlDeviceGetMinMaxFanSpeed(min: Out<u32>, max: Out<u32>);
    /// No fan, or none of which more is known.
    device fn nvmlDeviceGetFanControlPolicy_v2(fan: u32, policy: Out<u32>);
    /// No fan, or none of which more is known.
    device fn nvmlDeviceSetFanControlPolicy(fan: u32, policy: u32);
    /// No fan, or none of which more is known.
    device fn nvmlDeviceSetFanSpeed_v2(fan: u32, speed: u32);
    /// No fan, or none of which more is known.
    device fn nvmlDeviceSetDefaultFanSpeed_v2(fan: u32);
    /// No cooler.
    device fn nvmlDeviceGetCoolerInfo(info: Announced<absent::CoolerInfo>);
    /// The acoustic threshold, which only cards with a fan have.
    device fn nvmlDeviceSetTemperatureThreshold(threshold: u32, degrees: Out<i32>);
}
