//! What monitors read: utilisation, temperature, power, clocks, PCI Express, links.
//! Not memory (`memory`), errors (`health`) or processes (`processes`).
//! Functions of state and time (`gpu_model::Telemetry`); what the catalogue does not know is NOT_SUPPORTED, never invented.

use gpu_model::{Clocks, Thermal};

use super::samples;
use crate::handle::Device;
use crate::macros::api;
use crate::out::Out;
use crate::status::{Result, Status};
use crate::types::{Temperature, Utilization};
use crate::view::View;

/// One domain of a set of clocks (`nvmlClockType_t`), in MHz.
fn clock(clocks: &Clocks, domain: u32) -> Result<u32> {
    match domain {
        0 => Ok(clocks.graphics.0),
        1 => Ok(clocks.sm.0),
        2 => Ok(clocks.memory.0),
        3 => Ok(clocks.video.0),
        _ => Err(Status::InvalidArgument),
    }
}

fn current_clock(view: &View, device: Device, domain: u32) -> Result<u32> {
    let gpu = view.whole(device)?;
    let shown = view.telemetry(gpu);
    let clocks = shown.clocks.ok_or(Status::NotSupported)?;
    clock(
        &view
            .state(gpu)
            .chosen
            .hold(clocks, view.spec(gpu), shown.gpu.0 > 0),
        domain,
    )
}

fn max_clock(view: &View, device: Device, domain: u32) -> Result<u32> {
    clock(
        &view
            .spec(view.whole(device)?)
            .max_clocks
            .ok_or(Status::NotSupported)?,
        domain,
    )
}

/// The clocks of applications that were chosen, else the default ones.
fn chosen_app_clock(view: &View, device: Device, domain: u32) -> Result<u32> {
    match view.state(view.whole(device)?).chosen.app_clocks {
        Some(chosen) => match domain {
            0 | 1 => Ok(chosen.graphics.0),
            2 => Ok(chosen.memory.0),
            3 => Err(Status::NotSupported),
            _ => Err(Status::InvalidArgument),
        },
        None => app_clock(view, device, domain),
    }
}

/// Default application clocks are known for graphics (the multiprocessors run at the same) and memory.
fn app_clock(view: &View, device: Device, domain: u32) -> Result<u32> {
    let (graphics, memory) = view
        .spec(view.whole(device)?)
        .default_app_clocks
        .ok_or(Status::NotSupported)?;
    match domain {
        0 | 1 => Ok(graphics.0),
        2 => Ok(memory.0),
        3 => Err(Status::NotSupported),
        _ => Err(Status::InvalidArgument),
    }
}

/// Degrees; only sensor 0, the GPU's own, exists.
fn temperature(view: &View, device: Device, sensor: u32) -> Result<i32> {
    let gpu = view.whole(device)?;
    if sensor != 0 {
        return Err(Status::InvalidArgument);
    }
    Ok(view.telemetry(gpu).temperature.0)
}

/// How busy an engine that nothing uses is, and how long it was watched in microseconds; not of a GPU in MIG mode, as nvml.h notes
/// and a capture of one shows.
fn idle_engine(view: &View, device: Device, utilization: &Out<u32>, period: &Out<u32>) -> Result {
    let gpu = view.whole(device)?;
    utilization.check()?;
    period.check()?;
    view.not_in_mig_mode(gpu)?;
    period.put(samples::PERIOD as u32)?;
    utilization.put(0)
}

fn power_limit(view: &View, device: Device) -> Result<u32> {
    let gpu = view.whole(device)?;
    let limits = view.spec(gpu).power.ok_or(Status::NotSupported)?;
    Ok(view.state(gpu).power_limit.unwrap_or(limits.default).0)
}

fn event_reasons(view: &View, device: Device) -> Result<u64> {
    Ok(view.telemetry(view.whole(device)?).reasons.0)
}

/// All bits of `nvmlClocksEventReason*` up to display clocks.
const ALL_REASONS: u64 = 0x1ff;

/// Megabits per second of one lane of a PCI Express generation.
fn lane_speed(generation: u32) -> Option<u32> {
    [2_500, 5_000, 8_000, 16_000, 32_000, 64_000]
        .get(generation.checked_sub(1)? as usize)
        .copied()
}

fn pcie(view: &View, device: Device) -> Result<gpu_model::Pcie> {
    view.spec(view.whole(device)?)
        .pcie
        .ok_or(Status::NotSupported)
}

api! {
    table MONITORS;

    /// Share of the last second in which kernels ran and memory was used; NOT_SUPPORTED in MIG mode and for MIG devices.
    view fn nvmlDeviceGetUtilizationRates(device: Device, out: Out<Utilization>) |view| {
        let gpu = view.whole(device)?;
        out.check()?;
        view.not_in_mig_mode(gpu)?;
        let shown = view.telemetry(gpu);
        out.put(Utilization { gpu: shown.gpu.0, memory: shown.memory.0 })
    }

    /// Encoders: idle.
    view fn nvmlDeviceGetEncoderUtilization(device: Device, utilization: Out<u32>, period: Out<u32>) |view| { idle_engine(view, device, &utilization, &period) }

    /// Decoders: idle.
    view fn nvmlDeviceGetDecoderUtilization(device: Device, utilization: Out<u32>, period: Out<u32>) |view| { idle_engine(view, device, &utilization, &period) }

    /// JPEG decoders: idle.
    view fn nvmlDeviceGetJpgUtilization(device: Device, utilization: Out<u32>, period: Out<u32>) |view| { idle_engine(view, device, &utilization, &period) }

    /// Optical flow accelerators: idle.
    view fn nvmlDeviceGetOfaUtilization(device: Device, utilization: Out<u32>, period: Out<u32>) |view| { idle_engine(view, device, &utilization, &period) }

    /// Degrees Celsius of the GPU (sensor 0).
    view fn nvmlDeviceGetTemperature(device: Device, sensor: u32, out: Out<u32>) |view| {
        out.put(temperature(view, device, sensor)?.unsigned_abs())
    }

    /// `nvmlDeviceGetTemperature` with a versioned struct.
    view fn nvmlDeviceGetTemperatureV(device: Device, out: Out<Temperature>) |view| {
        view.whole(device)?;
        out.check_version()?;
        let asked = out.get()?;
        out.put(Temperature { temperature: temperature(view, device, asked.sensor)?, ..asked })
    }

    /// A threshold in degrees: 0 shutdown, 1 slowdown, 2 memory, 3 GPU. NOT_SUPPORTED where the card speaks of distances (T.Limit).
    view fn nvmlDeviceGetTemperatureThreshold(device: Device, threshold: u32, out: Out<u32>) |view| {
        let gpu = view.whole(device)?;
        let Some(Thermal::Absolute { shutdown, slowdown, gpu_max, mem_max }) = view.spec(gpu).thermal else {
            return Err(Status::NotSupported);
        };
        let degrees = match threshold {
            0 => shutdown,
            1 => slowdown,
            2 => mem_max.ok_or(Status::NotSupported)?,
            3 => gpu_max,
            4..=7 => return Err(Status::NotSupported),
            _ => return Err(Status::InvalidArgument),
        };
        out.put(degrees.0.unsigned_abs())
    }

    /// Fans: none on a passively cooled card.
    view fn nvmlDeviceGetNumFans(device: Device, count: Out<u32>) |view| {
        count.put(view.spec(view.whole(device)?).board.fans.unwrap_or(0))
    }

    /// Milliwatts drawn.
    view fn nvmlDeviceGetPowerUsage(device: Device, power: Out<u32>) |view| {
        power.put(view.telemetry(view.whole(device)?).power.ok_or(Status::NotSupported)?.0)
    }

    /// Millijoules used; never falls.
    view fn nvmlDeviceGetTotalEnergyConsumption(device: Device, energy: Out<u64>) |view| {
        let gpu = view.whole(device)?;
        view.spec(gpu).power.ok_or(Status::NotSupported)?;
        energy.put(view.telemetry(gpu).energy.0)
    }

    /// The power limit that was set, in milliwatts.
    view fn nvmlDeviceGetPowerManagementLimit(device: Device, limit: Out<u32>) |view| { limit.put(power_limit(view, device)?) }

    /// The power limit in force: here always the one that was set.
    view fn nvmlDeviceGetEnforcedPowerLimit(device: Device, limit: Out<u32>) |view| { limit.put(power_limit(view, device)?) }

    /// The power limit after boot.
    view fn nvmlDeviceGetPowerManagementDefaultLimit(device: Device, limit: Out<u32>) |view| {
        limit.put(view.spec(view.whole(device)?).power.ok_or(Status::NotSupported)?.default.0)
    }

    /// The lowest and highest power limit that can be set.
    view fn nvmlDeviceGetPowerManagementLimitConstraints(device: Device, min: Out<u32>, max: Out<u32>) |view| {
        let limits = view.spec(view.whole(device)?).power.ok_or(Status::NotSupported)?;
        max.check()?;
        min.put(limits.min.0)?;
        max.put(limits.max.0)
    }

    /// On, where there are power limits at all.
    view fn nvmlDeviceGetPowerManagementMode(device: Device, mode: Out<u32>) |view| {
        let gpu = view.whole(device)?;
        view.spec(gpu).power.ok_or(Status::NotSupported)?;
        mode.put(1)
    }

    /// The performance state, 0 (busy) to 15.
    view fn nvmlDeviceGetPerformanceState(device: Device, state: Out<u32>) |view| { state.put(view.telemetry(view.whole(device)?).pstate) }

    /// As `nvmlDeviceGetPerformanceState`.
    view fn nvmlDeviceGetPowerState(device: Device, state: Out<u32>) |view| { state.put(view.telemetry(view.whole(device)?).pstate) }

    /// The clock of a domain now, in MHz.
    view fn nvmlDeviceGetClockInfo(device: Device, domain: u32, clock: Out<u32>) |view| { clock.put(current_clock(view, device, domain)?) }

    /// The highest clock of a domain, in MHz.
    view fn nvmlDeviceGetMaxClockInfo(device: Device, domain: u32, clock: Out<u32>) |view| { clock.put(max_clock(view, device, domain)?) }

    /// A clock of a domain: 0 now, 1 target and 2 default of applications, 3 highest boost.
    view fn nvmlDeviceGetClock(device: Device, domain: u32, which: u32, clock: Out<u32>) |view| {
        let value = match which {
            0 => current_clock(view, device, domain)?,
            1 => chosen_app_clock(view, device, domain)?,
            2 => app_clock(view, device, domain)?,
            3 => max_clock(view, device, domain)?,
            _ => return Err(Status::InvalidArgument),
        };
        clock.put(value)
    }

    /// The clock that applications run at: what was chosen, else the default.
    view fn nvmlDeviceGetApplicationsClock(device: Device, domain: u32, clock: Out<u32>) |view| { clock.put(chosen_app_clock(view, device, domain)?) }

    /// The default clock of applications.
    view fn nvmlDeviceGetDefaultApplicationsClock(device: Device, domain: u32, clock: Out<u32>) |view| { clock.put(app_clock(view, device, domain)?) }

    /// The highest clock that a user may choose.
    view fn nvmlDeviceGetMaxCustomerBoostClock(device: Device, domain: u32, clock: Out<u32>) |view| { clock.put(max_clock(view, device, domain)?) }

    /// Why clocks are not higher: bit 0 if the card is idle.
    view fn nvmlDeviceGetCurrentClocksEventReasons(device: Device, reasons: Out<u64>) |view| { reasons.put(event_reasons(view, device)?) }

    /// The older name of `nvmlDeviceGetCurrentClocksEventReasons`.
    view fn nvmlDeviceGetCurrentClocksThrottleReasons(device: Device, reasons: Out<u64>) |view| { reasons.put(event_reasons(view, device)?) }

    /// All reasons that can be reported.
    view fn nvmlDeviceGetSupportedClocksEventReasons(device: Device, reasons: Out<u64>) |view| {
        view.whole(device)?;
        reasons.put(ALL_REASONS)
    }

    /// The older name of `nvmlDeviceGetSupportedClocksEventReasons`.
    view fn nvmlDeviceGetSupportedClocksThrottleReasons(device: Device, reasons: Out<u64>) |view| {
        view.whole(device)?;
        reasons.put(ALL_REASONS)
    }

    /// The PCI Express generation in use: the card's highest.
    view fn nvmlDeviceGetCurrPcieLinkGeneration(device: Device, generation: Out<u32>) |view| { generation.put(pcie(view, device)?.generation) }

    /// The highest PCI Express generation of card and system together.
    view fn nvmlDeviceGetMaxPcieLinkGeneration(device: Device, generation: Out<u32>) |view| { generation.put(pcie(view, device)?.generation) }

    /// The highest PCI Express generation of the card.
    view fn nvmlDeviceGetGpuMaxPcieLinkGeneration(device: Device, generation: Out<u32>) |view| { generation.put(pcie(view, device)?.generation) }

    /// The number of lanes in use: all.
    view fn nvmlDeviceGetCurrPcieLinkWidth(device: Device, width: Out<u32>) |view| { width.put(pcie(view, device)?.width) }

    /// The number of lanes.
    view fn nvmlDeviceGetMaxPcieLinkWidth(device: Device, width: Out<u32>) |view| { width.put(pcie(view, device)?.width) }

    /// The speed of a lane in Mbit/s.
    view fn nvmlDeviceGetPcieSpeed(device: Device, speed: Out<u32>) |view| {
        speed.put(lane_speed(pcie(view, device)?.generation).ok_or(Status::NotSupported)?)
    }

    /// KB/s sent (0) or received (1) over PCI Express, by the loads that say so.
    view fn nvmlDeviceGetPcieThroughput(device: Device, counter: u32, out: Out<u32>) |view| {
        pcie(view, device)?;
        out.check()?;
        let flow = view.traffic(view.whole(device)?, None).pcie;
        let rate = match counter {
            0 => flow.sent,
            1 => flow.received,
            _ => return Err(Status::InvalidArgument),
        };
        out.put(u32::try_from(rate.0 / 1_000).unwrap_or(u32::MAX))
    }

    /// No packet was ever replayed.
    view fn nvmlDeviceGetPcieReplayCounter(device: Device, count: Out<u32>) |view| {
        pcie(view, device)?;
        count.put(0)
    }
}
