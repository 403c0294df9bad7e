//! Clocks to choose from, and choosing them; performance states; why clocks are lower than they could be.
//! Not the clocks of now (`monitors`).
//! Lists come from the catalogue; choices change the shared state, for root.

use gpu_model::{AppClocks, Choice, ClockRange, MHz, Op, SupportedClocks, Throttle};

use crate::absent::{self, Announced, absent};
use crate::handle::Device;
use crate::macros::api;
use crate::out::{Out, OutArray, list};
use crate::session::Session;
use crate::status::{Result, Status};
use crate::types::{DynamicPstate, DynamicPstates, PowerValue, ViolationTime};
use crate::view::{GpuView, View};

/// `NVML_PSTATE_UNKNOWN`.
const NO_PSTATE: u32 = 32;
/// The state of an idle card whose memory has a clock that slows it down.
const IDLE_PSTATE: u32 = 8;
/// `NVML_POWER_SCOPE_GPU`, the first of three.
const SCOPE_GPU: u8 = 0;
const SCOPES: u8 = 3;

/// What clocks a GPU has to choose from, and its highest graphics and memory clocks.
fn offer(view: &View, device: Device) -> Result<(&GpuView, SupportedClocks, (MHz, MHz))> {
    let gpu = view.whole(device)?;
    let spec = view.spec(gpu);
    let clocks = spec.board.supported_clocks.ok_or(Status::NotSupported)?;
    let max = spec.max_clocks.ok_or(Status::NotSupported)?;
    Ok((gpu, clocks, (max.graphics, max.memory)))
}

pub(super) fn choose(session: &Session, device: Device, choice: Choice) -> Result {
    super::policy::set(session, device, |gpu| Ok(Op::Choose { gpu, choice }))
}

const fn range(min: u32, max: u32) -> ClockRange {
    ClockRange {
        min: MHz(min),
        max: MHz(max),
    }
}

/// What counts under a policy (`nvmlPerfPolicyType_t`), as the header's list of fields that replace them has it.
pub(super) fn limiters(policy: u32) -> Option<Throttle> {
    match policy {
        0 => Some(Throttle::POWER_CAP),
        1 => Some(Throttle::SW_THERMAL),
        // Sync boost, board limit, low utilisation, reliability: nothing of the kind can be put in place.
        2..=5 => Some(Throttle::default()),
        // Below application clocks: all that holds clocks down.
        10 => Some(Throttle::SLOWDOWN.with(Throttle::POWER_CAP)),
        // Below base clocks, which half the highest clock is.
        11 => Some(Throttle::SLOWDOWN),
        _ => None,
    }
}

/// How long clocks were held down for any of these reasons, in nanoseconds.
pub(super) fn held_down(view: &View, gpu: &GpuView, reasons: Throttle) -> u64 {
    view.state(gpu).held_down(reasons, view.now()).0 * 1000
}

/// The memory clock of the idle state. A lower clock beside which graphics run as fast as ever (H100) is no state of its own.
fn idle_memory(offer: &SupportedClocks, highest: (MHz, MHz)) -> Option<MHz> {
    let slow = offer.low.filter(|(_, graphics)| *graphics < highest.0);
    slow.map(|(memory, _)| memory)
}

api! {
    table CLOCKS;

    /// Memory clocks to choose from, highest first.
    view fn nvmlDeviceGetSupportedMemoryClocks(device: Device, count: Out<u32>, clocks: OutArray<u32>) |view| {
        let (_, offer, (_, memory)) = offer(view, device)?;
        let all = || offer.memory(memory).map(|clock| clock.0);
        list(&count, &clocks, all().count() as u32, all())
    }

    /// Graphics clocks to choose from beside a memory clock, highest first; NOT_FOUND if there is no such memory clock.
    view fn nvmlDeviceGetSupportedGraphicsClocks(device: Device, memory: u32, count: Out<u32>, clocks: OutArray<u32>) |view| {
        let (_, offer, highest) = offer(view, device)?;
        count.check()?;
        let top = offer.top(MHz(memory), highest).ok_or(Status::NotFound)?;
        list(&count, &clocks, offer.count(top), offer.graphics(top).map(|clock| clock.0))
    }

    /// Sets the clocks that applications run at; INVALID_ARGUMENT unless they are among those to choose from.
    session fn nvmlDeviceSetApplicationsClocks(device: Device, memory: u32, graphics: u32) |session| {
        choose(session, device, Choice::AppClocks(Some(AppClocks { memory: MHz(memory), graphics: MHz(graphics) })))
    }

    /// Applications run at the default clocks again.
    session fn nvmlDeviceResetApplicationsClocks(device: Device) |session| { choose(session, device, Choice::AppClocks(None)) }

    /// Holds the graphics clock in a range.
    session fn nvmlDeviceSetGpuLockedClocks(device: Device, min: u32, max: u32) |session| {
        choose(session, device, Choice::GpuClocks(Some(range(min, max))))
    }

    /// Lets the graphics clock go.
    session fn nvmlDeviceResetGpuLockedClocks(device: Device) |session| { choose(session, device, Choice::GpuClocks(None)) }

    /// Holds the memory clock in a range.
    session fn nvmlDeviceSetMemoryLockedClocks(device: Device, min: u32, max: u32) |session| {
        choose(session, device, Choice::MemoryClocks(Some(range(min, max))))
    }

    /// Lets the memory clock go.
    session fn nvmlDeviceResetMemoryLockedClocks(device: Device) |session| { choose(session, device, Choice::MemoryClocks(None)) }

    /// The lowest and highest clock of a domain in a performance state; known for graphics, multiprocessors and memory.
    view fn nvmlDeviceGetMinMaxClockOfPState(device: Device, domain: u32, pstate: u32, min: Out<u32>, max: Out<u32>) |view| {
        let (_, offer, highest) = offer(view, device)?;
        min.check()?;
        max.check()?;
        if domain > 3 || pstate > NO_PSTATE {
            return Err(Status::InvalidArgument);
        }
        let memory = match pstate {
            0 => highest.1,
            IDLE_PSTATE => idle_memory(&offer, highest).ok_or(Status::NotSupported)?,
            _ => return Err(Status::NotSupported),
        };
        let (low, high) = match domain {
            0 | 1 => (offer.lowest, offer.top(memory, highest).ok_or(Status::NotSupported)?),
            2 => (memory, memory),
            _ => return Err(Status::NotSupported),
        };
        min.put(low.0)?;
        max.put(high.0)
    }

    /// The performance states of the card, in an array of `size` bytes that is filled up with 32 (unknown).
    view fn nvmlDeviceGetSupportedPerformanceStates(device: Device, out: OutArray<u32>, size: u32) |view| {
        let (_, offer, highest) = offer(view, device)?;
        if out.is_null() {
            return Err(Status::InvalidArgument);
        }
        let states: &[u32] = match idle_memory(&offer, highest) {
            Some(_) => &[0, IDLE_PSTATE],
            None => &[0],
        };
        let room = size as usize / size_of::<u32>();
        if room < states.len() {
            return Err(Status::InsufficientSize);
        }
        out.fill(room, states.iter().copied().chain(core::iter::repeat(NO_PSTATE)))
    }

    /// How busy the domains of performance states are: GPU, memory, video, bus. NOT_SUPPORTED in MIG mode.
    view fn nvmlDeviceGetDynamicPstatesInfo(device: Device, out: Out<DynamicPstates>) |view| {
        let gpu = view.whole(device)?;
        out.check()?;
        view.not_in_mig_mode(gpu)?;
        let shown = view.telemetry(gpu);
        let none = DynamicPstate { b_is_present: 0, percentage: 0, inc_threshold: 0, dec_threshold: 0 };
        let mut utilization = [none; 8];
        let busy = [shown.gpu.0, shown.memory.0, 0, 0];
        for (domain, percentage) in utilization.iter_mut().zip(busy) {
            *domain = DynamicPstate { b_is_present: 1, percentage, ..none };
        }
        out.put(DynamicPstates { flags: 0, utilization })
    }

    /// No clock runs wrong.
    view fn nvmlDeviceGetClkMonStatus(device: Device, out: Out<[u32; 2]>) |view| {
        view.whole(device)?;
        // The global state and the number of faults; the faults themselves follow where there are any.
        out.put([0, 0])
    }

    /// How long clocks were held down for a reason, in nanoseconds, up to the reference time in microseconds.
    view fn nvmlDeviceGetViolationStatus(device: Device, policy: u32, out: Out<ViolationTime>) |view| {
        let gpu = view.whole(device)?;
        out.check()?;
        let violation_time = held_down(view, gpu, limiters(policy).ok_or(Status::InvalidArgument)?);
        out.put(ViolationTime { reference_time: view.now().0, violation_time })
    }

    /// Sets the power limit of the GPU (scope 0); limits of modules and memory are NOT_SUPPORTED.
    session fn nvmlDeviceSetPowerManagementLimit_v2(device: Device, value: Out<PowerValue>) |session| {
        crate::view::latest()?.whole(device)?;
        value.check_version()?;
        let asked = value.get()?;
        match asked.power_scope {
            SCOPE_GPU => super::policy::set(session, device, |gpu| {
                Ok(Op::SetPowerLimit { gpu, limit: Some(gpu_model::MilliWatts(asked.power_value_mw)) })
            }),
            1..SCOPES => Err(Status::NotSupported),
            _ => Err(Status::InvalidArgument),
        }
    }
}

absent! {
    table CLOCKS_ABSENT;

    /// Clocks boost by themselves since Pascal; there is no switch.
    device fn nvmlDeviceGetAutoBoostedClocksEnabled(enabled: Out<u32>, default: Out<u32>);
    /// As `nvmlDeviceGetAutoBoostedClocksEnabled`.
    device fn nvmlDeviceSetAutoBoostedClocksEnabled(enabled: u32);
    /// As `nvmlDeviceGetAutoBoostedClocksEnabled`.
    device fn nvmlDeviceSetDefaultAutoBoostedClocksEnabled(enabled: u32, flags: u32);
    /// Offsets of clocks are a matter of desktops.
    device fn nvmlDeviceGetGpcClkVfOffset(offset: Out<i32>);
    /// As `nvmlDeviceGetGpcClkVfOffset`.
    device fn nvmlDeviceSetGpcClkVfOffset(offset: i32);
    /// As `nvmlDeviceGetGpcClkVfOffset`.
    device fn nvmlDeviceGetGpcClkMinMaxVfOffset(min: Out<i32>, max: Out<i32>);
    /// As `nvmlDeviceGetGpcClkVfOffset`.
    device fn nvmlDeviceGetMemClkVfOffset(offset: Out<i32>);
    /// As `nvmlDeviceGetGpcClkVfOffset`.
    device fn nvmlDeviceSetMemClkVfOffset(offset: i32);
    /// As `nvmlDeviceGetGpcClkVfOffset`.
    device fn nvmlDeviceGetMemClkMinMaxVfOffset(min: Out<i32>, max: Out<i32>);
    /// As `nvmlDeviceGetGpcClkVfOffset`.
    device fn nvmlDeviceGetClockOffsets(info: Announced<absent::ClockOffset>);
    /// As `nvmlDeviceGetGpcClkVfOffset`.
    device fn nvmlDeviceSetClockOffsets(info: Announced<absent::ClockOffset>);
    /// A text whose form nobody has shown for these cards.
    device fn nvmlDeviceGetPerformanceModes(modes: Announced<absent::PerfModes>);
    /// As `nvmlDeviceGetPerformanceModes`.
    device fn nvmlDeviceGetCurrentClockFreqs(frequencies: Announced<absent::CurrentClockFreqs>);
    /// Not known of any card.
    device fn nvmlDeviceGetAdaptiveClockInfoStatus(status: Out<u32>);
}
