//! Values by number (`NVML_FI_*`).
//! Not the things themselves: most fields say again what a function of another file says.
//! From the state and the catalogue; a field that no card of the catalogue is known to have is NOT_SUPPORTED.

use gpu_model::driver::Release;
use gpu_model::{MigToggle, MilliWatts, PowerLimits, Spec, Thermal, Throttle};

use super::health::{DEVICE_MEMORY, count, counting, remapper};
use super::retirement::retires;
use super::{clocks, nvlink};
use crate::handle::Device;
use crate::macros::api;
use crate::out::OutArray;
use crate::session;
use crate::status::{Result, Status, code_of};
use crate::types::FieldValue;
use crate::view::{GpuView, Target, View};

/// A value with its type in the header (`nvmlValueType_t`).
#[derive(Clone, Copy)]
enum Value {
    Int(u32),
    Long(u64),
    Signed(i32),
}

impl Value {
    /// The type's number and the value as the union of the header holds it.
    fn raw(self) -> (u32, u64) {
        match self {
            Self::Int(value) => (1, value.into()),
            Self::Long(value) => (3, value),
            Self::Signed(value) => (5, u32::from_ne_bytes(value.to_ne_bytes()).into()),
        }
    }
}

/// The scope of a field that speaks of all links.
const ALL_LINKS: u32 = u32::MAX;
/// Lanes and links that fields by link name.
const OLD_LINKS: u32 = 6;

/// The header of this CUDA release gave CLOCKS_EVENT_REASON_* new numbers, and their old ones to power smoothing.
const RENUMBERED: Release = Release(13_000);

/// Nothing has happened that this counter counts.
const NONE: Result<Value> = Ok(Value::Long(0));

/// A counter of a link's errors, of which there are none; NOT_SUPPORTED if the card has no such link.
fn of_link(view: &View, gpu: &GpuView, link: u32) -> Result<Value> {
    match &view.spec(gpu).nvlink {
        Some(nvlink) if link == ALL_LINKS || link < nvlink.links => NONE,
        _ => Err(Status::NotSupported),
    }
}

/// KiB that went over a link, or over all: data sent (0) and received (1), then the same with what packets take.
/// That is plausible, not measured: one unit of 16 bytes in front of 16 with data.
fn gone_over(view: &View, gpu: &GpuView, counter: u32, link: u32) -> Result<Value> {
    of_link(view, gpu, link)?;
    let links = view.moved(gpu).links;
    let number = |at: usize| u32::try_from(at).is_ok_and(|at| link == ALL_LINKS || at == link);
    let counted = links.iter().enumerate().filter(|(at, _)| number(*at));
    let data: u64 = counted
        .map(|(_, flow)| {
            if counter.is_multiple_of(2) {
                flow.sent
            } else {
                flow.received
            }
        })
        .sum();
    let bytes = if counter < 2 { data } else { data + data / 16 };
    Ok(Value::Long(bytes >> 10))
}

/// The speed of a link in MB/s, 0 if it is down.
fn speed(view: &View, gpu: &GpuView, link: u32) -> Result<Value> {
    let nvlink = view.spec(gpu).nvlink.as_ref().ok_or(Status::NotSupported)?;
    let speed = nvlink.link_speed_mbps.ok_or(Status::NotSupported)?;
    if link >= nvlink.links {
        return Err(Status::NotSupported);
    }
    Ok(Value::Int(if nvlink::is_up(view, gpu, link) {
        speed
    } else {
        0
    }))
}

/// A threshold as a distance (T.Limit).
fn margin(view: &View, gpu: &GpuView, id: u32) -> Result<Value> {
    let Some(Thermal::Margin {
        shutdown,
        slowdown,
        gpu_max,
        mem_max,
    }) = view.spec(gpu).thermal
    else {
        return Err(Status::NotSupported);
    };
    let degrees = match id {
        193 => shutdown,
        194 => slowdown,
        195 => mem_max.ok_or(Status::NotSupported)?,
        _ => gpu_max,
    };
    Ok(Value::Signed(degrees.0))
}

/// The power drawn in a scope (`nvmlPowerScopeType_t`): by the GPU, its module, its memory, of which only the mean is shown.
fn drawn(view: &View, gpu: &GpuView, id: u32, scope: u32) -> Option<MilliWatts> {
    let shown = view.telemetry(gpu);
    let beside = || shown.beside(view.spec(gpu), view.state(gpu));
    match (scope, id) {
        (0, _) => shown.power,
        (1, _) => beside().module,
        (2, 185) => beside().memory,
        _ => None,
    }
}

/// The power limits of a scope (`nvmlPowerScopeType_t`): of the GPU, or of the module that it shares with a CPU. Memory has none.
fn limits(spec: &Spec, scope: u32) -> Result<PowerLimits> {
    let known = match scope {
        0 => spec.power,
        1 => spec.board.module_power,
        _ => None,
    };
    known.ok_or(Status::NotSupported)
}

/// The link that a field by link speaks of: six of each in a first row of numbers, six more in a second.
const fn numbered(id: u32, first: u32, second: u32) -> u32 {
    if id >= second {
        id - second + OLD_LINKS
    } else {
        id - first
    }
}

/// The value of a field; NOT_SUPPORTED for one that we do not know.
fn field(view: &View, device: Device, id: u32, scope: u32) -> Result<Value> {
    let gpu = view.whole(device)?;
    let (state, spec) = (view.state(gpu), view.spec(gpu));
    let ecc = |error, counter, place| {
        let health = counting(view, device)?;
        Ok(Value::Long(count(health, error, counter, place)?))
    };
    let remaps = || remapper(view, device).map(|gpu| view.state(gpu).health.remaps);
    let limits = || limits(spec, scope);
    let nvlink = || spec.nvlink.as_ref().ok_or(Status::NotSupported);
    let int = |value: u32| Ok(Value::Int(value));
    let retires = || retires(view, device);
    let held_down = |reasons| Ok(Value::Long(clocks::held_down(view, gpu, reasons)));
    match id {
        // ECC_CURRENT, ECC_PENDING
        1 | 2 if spec.ecc.is_none() => Err(Status::NotSupported),
        1 => int(state.ecc_current.into()),
        2 => int(state.ecc_pending.into()),
        // ECC_{SBE,DBE}_{VOL,AGG}_TOTAL, then the same of the device's memory
        3 => ecc(0, 0, None),
        4 => ecc(1, 0, None),
        5 => ecc(0, 1, None),
        6 => ecc(1, 1, None),
        11 => ecc(0, 0, Some(DEVICE_MEMORY)),
        12 => ecc(1, 0, Some(DEVICE_MEMORY)),
        22 => ecc(0, 1, Some(DEVICE_MEMORY)),
        23 => ecc(1, 1, Some(DEVICE_MEMORY)),
        // Caches, registers, textures: our cards count these as SRAM
        7..=28 => counting(view, device).and(NONE),
        // RETIRED_{SBE,DBE,PENDING}, RETIRED_PENDING_{SBE,DBE}: up to Turing
        29..=31 | 92 | 93 => retires().and(int(0)),
        // NVLINK_{CRC_FLIT,CRC_DATA,REPLAY,RECOVERY}_ERROR_COUNT_*, ECC_DATA: by link, and in total
        38 | 45 | 52 | 59 | 160 => of_link(view, gpu, ALL_LINKS),
        32..=37 | 96..=101 => of_link(view, gpu, numbered(id, 32, 96)),
        39..=44 | 102..=107 => of_link(view, gpu, numbered(id, 39, 102)),
        46..=51 | 108..=113 => of_link(view, gpu, numbered(id, 46, 108)),
        53..=58 | 114..=119 => of_link(view, gpu, numbered(id, 53, 114)),
        148..=159 => of_link(view, gpu, id - 148),
        // PERF_POLICY_*: by policy, of which the last two have numbers of their own
        74..=79 => held_down(clocks::limiters(id - 74).unwrap_or_default()),
        80 | 81 => held_down(clocks::limiters(id - 80 + 10).unwrap_or_default()),
        // CLOCKS_EVENT_REASON_{SW_THERM_SLOWDOWN,HW_THERM_SLOWDOWN,HW_POWER_BRAKE_SLOWDOWN}, then before they were renumbered
        269 => held_down(Throttle::SW_THERMAL),
        270 => held_down(Throttle::HW_THERMAL),
        271 => held_down(Throttle::POWER_BRAKE),
        251..=253 if session::cuda() < RENUMBERED => field(view, device, id + 18, scope),
        // MEMORY_TEMP
        82 if spec.board.memory_sensor == Some(false) => Err(Status::NotSupported),
        82 => int(view.telemetry(gpu).memory_temperature.0.unsigned_abs()),
        // TOTAL_ENERGY_CONSUMPTION, ENERGY
        83 | 191 => {
            spec.power.ok_or(Status::NotSupported)?;
            Ok(Value::Long(view.telemetry(gpu).energy.0))
        }
        // NVLINK_SPEED_MBPS_*: by link, and of all
        84..=89 | 132..=137 => speed(view, gpu, numbered(id, 84, 132)),
        90 => speed(view, gpu, 0),
        // NVLINK_LINK_COUNT
        91 => int(spec.nvlink.as_ref().map_or(0, |nvlink| nvlink.links)),
        // PCIE_REPLAY_COUNTER, PCIE_REPLAY_ROLLOVER_COUNTER, PCIE_L0_TO_RECOVERY_COUNTER
        94 | 95 | 169 => spec.pcie.ok_or(Status::NotSupported).and(int(0)),
        // NVLINK_THROUGHPUT_{DATA,RAW}_{TX,RX}
        138..=141 => gone_over(view, gpu, id - 138, scope),
        // REMAPPED_{COR,UNC,PENDING,FAILURE}, REMAPPED_ROWS_{COR,UNC}_INACTIVE
        142 => int(remaps()?.corrected),
        143 => int(remaps()?.uncorrected),
        144 => int(remaps()?.pending.into()),
        145 => int(remaps()?.failed.into()),
        301 | 302 => remaps().and(int(0)),
        // NVSWITCH_CONNECTED_LINK_COUNT
        147 => int(nvlink()?.links),
        // NVLINK_ERROR_DL_{REPLAY,RECOVERY,CRC}
        161..=163 => of_link(view, gpu, scope),
        // NVLINK_GET_{SPEED,STATE,VERSION}
        164 => speed(view, gpu, scope),
        165 if scope < nvlink()?.links => int(nvlink::is_up(view, gpu, scope).into()),
        166 if scope < nvlink()?.links => int(nvlink::version(nvlink()?.version)),
        // PCIE_COUNT_*: errors, then bytes
        173..=183 => spec.pcie.ok_or(Status::NotSupported).and(NONE),
        197 | 198 => {
            spec.pcie.ok_or(Status::NotSupported)?;
            let pcie = view.moved(gpu).pcie;
            Ok(Value::Long(if id == 197 {
                pcie.sent
            } else {
                pcie.received
            }))
        }
        // IS_RESETLESS_MIG_SUPPORTED
        184 => int(spec
            .mig
            .as_ref()
            .is_some_and(|mig| mig.toggle == MigToggle::Immediate)
            .into()),
        // POWER_AVERAGE, POWER_INSTANT
        185 if spec.board.average_power == Some(false) => Err(Status::NotSupported),
        185 | 186 => int(drawn(view, gpu, id, scope).ok_or(Status::NotSupported)?.0),
        // POWER_{MIN,MAX,DEFAULT}_LIMIT
        187 => int(limits()?.min.0),
        188 => int(limits()?.max.0),
        189 => int(limits()?.default.0),
        // POWER_CURRENT_LIMIT, POWER_REQUESTED_LIMIT
        190 | 192 => {
            // That of a module can not be set.
            let set = state.power_limit.filter(|_| scope == 0);
            int(set.unwrap_or(limits()?.default).0)
        }
        // TEMPERATURE_{SHUTDOWN,SLOWDOWN,MEM_MAX,GPU_MAX}_TLIMIT
        193..=196 => margin(view, gpu, id),
        // IS_MIG_MODE_INDEPENDENT_MIG_QUERY_CAPABLE
        199 => int((spec.mig.is_some() && !state.quirks.strict_profile_queries).into()),
        // RESET_STATUS, DRAIN_AND_RESET_STATUS
        226 | 227 => Err(Status::Deprecated),
        // GET_GPU_RECOVERY_ACTION
        230 => int(state.health.recovery.raw()),
        _ => Err(Status::NotSupported),
    }
}

/// Fields that can be set to zero: counters of errors of links and PCI Express.
const fn clears(id: u32) -> bool {
    matches!(id, 32..=59 | 94..=119 | 148..=163 | 173..=183)
}

/// Answers each value of a list; one that succeeds makes the call succeed.
fn each(
    view: &View,
    device: Device,
    count: i32,
    values: &OutArray<FieldValue>,
    answer: impl Fn(&FieldValue) -> Result<Option<Value>>,
) -> Result {
    if let Target::Mig(..) = view.device(device)? {
        return Err(Status::NotSupported);
    }
    let number = usize::try_from(count).map_err(|_| Status::InvalidArgument)?;
    if number == 0 || values.is_null() {
        return Err(Status::InvalidArgument);
    }
    let timestamp = i64::try_from(view.now().0).unwrap_or(i64::MAX);
    let mut last = Err(Status::NotSupported);
    for index in 0..number {
        let place = values.at(index)?;
        let asked = place.get()?;
        let answer = answer(&asked);
        let (value_type, value) = match answer {
            Ok(Some(value)) => value.raw(),
            _ => (asked.value_type, 0),
        };
        let nvml_return = code_of(answer.map(drop));
        place.put(FieldValue {
            timestamp,
            latency_usec: 0,
            value_type,
            nvml_return,
            value,
            ..asked
        })?;
        last = if last.is_ok() { last } else { answer.map(drop) };
    }
    last
}

api! {
    table FIELDS;

    /// Values by number; each has a return code of its own, and one that succeeds makes the call succeed.
    view fn nvmlDeviceGetFieldValues(device: Device, count: i32, values: OutArray<FieldValue>) |view| {
        each(view, device, count, &values, |asked| field(view, device, asked.field_id, asked.scope_id).map(Some))
    }

    /// Sets counters of errors to zero, which they are; other fields are NOT_SUPPORTED.
    session fn nvmlDeviceClearFieldValues(device: Device, count: i32, values: OutArray<FieldValue>) |session| {
        let view = crate::view::latest()?;
        view.whole(device)?;
        session.may_change()?;
        each(&view, device, count, &values, |asked| {
            field(&view, device, asked.field_id, asked.scope_id)?;
            if clears(asked.field_id) { Ok(None) } else { Err(Status::NotSupported) }
        })
    }
}
