//! Values that vary by themselves: pure functions of state and time, so that reading never writes.
//! Not here: the load they follow from (`health::Load`, injected).
//! Plausible, not measured: an idle card is cool and slow, a busy one warm and fast, with a small deterministic ripple.
use crate::{
    machine::Gpu,
    spec::{Clocks, Spec},
    units::{Celsius, MHz, MiB, MilliJoules, MilliWatts, Now, Percent},
};

/// What a card shows at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Telemetry {
    /// Share of the last second in which kernels ran.
    pub gpu: Percent,
    /// Share of the last second in which memory was read or written.
    pub memory: Percent,
    /// Temperature of the GPU.
    pub temperature: Celsius,
    /// Temperature of the memory.
    pub memory_temperature: Celsius,
    /// Power draw; `None` if the catalogue has no power limits for the model.
    pub power: Option<MilliWatts>,
    /// Energy since the machine was made; never falls.
    pub energy: MilliJoules,
    /// Clocks; `None` if the catalogue has none for the model.
    pub clocks: Option<Clocks>,
    /// Performance state, 0 busy or persistent, 8 idle.
    pub pstate: u32,
    /// Memory in use by processes, all instances together, without what the driver reserves.
    pub memory_used: MiB,
}

impl Telemetry {
    /// What `gpu` shows at `now`.
    pub fn of(spec: &Spec, gpu: &Gpu, now: Now) -> Self {
        let busy = busy(spec, gpu);
        let ripple = ripple(gpu.pdi, now);
        let show = if busy == 0 {
            0
        } else {
            (busy + ripple).clamp(1, 100)
        };
        let temperature = Celsius(30 + show * 35 / 100 + ripple);
        Self {
            gpu: percent(show),
            memory: percent(show * 2 / 3),
            temperature,
            memory_temperature: Celsius(temperature.0 + 6),
            power: spec.power.map(|_| {
                MilliWatts(steady_power(spec, gpu, busy).saturating_add_signed(ripple * 500))
            }),
            energy: energy(spec, gpu, now),
            clocks: spec
                .max_clocks
                .map(|max| if busy > 0 { max } else { idle_clocks(max) }),
            pstate: if busy > 0
                || matches!(spec.max_clocks, Some(c) if c.memory == idle_clocks(c).memory)
            {
                0
            } else {
                8
            },
            memory_used: gpu.memory_used(),
        }
    }
}

/// Busy share of the whole card, 0-100: its own load plus each instance's by its share of compute slices.
fn busy(spec: &Spec, gpu: &Gpu) -> i32 {
    let parts: u32 = spec.mig.as_ref().map_or(0, |mig| {
        gpu.instances
            .iter()
            .filter_map(|gi| Some(gi.load.compute.0 * mig.by_id(gi.profile)?.slices.0))
            .sum::<u32>()
            / mig.compute_slices.0.max(1)
    });
    i32::try_from((gpu.load.compute.0 + parts).min(100)).unwrap_or(100)
}

/// Power without ripple, in milliwatts: a seventh of the limit when idle, nine tenths when fully busy.
fn steady_power(spec: &Spec, gpu: &Gpu, busy: i32) -> u32 {
    let Some(limits) = spec.power else { return 0 };
    let limit = u64::from(gpu.power_limit.unwrap_or(limits.default).0);
    let idle = limit / 7;
    let busy = u64::from(busy.unsigned_abs());
    u32::try_from(idle + (limit * 9 / 10 - idle) * busy / 100).unwrap_or(u32::MAX)
}

/// Energy up to `now`: what was counted when the load last changed, plus steady power since.
pub(crate) fn energy(spec: &Spec, gpu: &Gpu, now: Now) -> MilliJoules {
    let since = u128::from(now.since(gpu.load.since));
    let used = u128::from(steady_power(spec, gpu, busy(spec, gpu))) * since / 1_000_000;
    MilliJoules(
        gpu.load
            .energy
            .0
            .saturating_add(u64::try_from(used).unwrap_or(u64::MAX)),
    )
}

fn idle_clocks(max: Clocks) -> Clocks {
    Clocks {
        graphics: MHz(210),
        sm: MHz(210),
        memory: max.memory,
        video: MHz(max.video.0.min(795)),
    }
}

fn percent(value: i32) -> Percent {
    Percent(u32::try_from(value.clamp(0, 100)).unwrap_or(0))
}

/// -2 to 2, another value each second, different from card to card.
fn ripple(pdi: u64, now: Now) -> i32 {
    let mixed = (now.0 / 1_000_000)
        .wrapping_add(pdi)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        >> 61;
    i32::try_from(mixed % 5).unwrap_or(0) - 2
}
