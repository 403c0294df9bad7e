//! Values that vary by themselves: pure functions of state and time, so that reading never writes.
//! Not here: the loads they follow from (`load`), power and energy (`power`).
//! Plausible, not measured: an idle card is cool and slow, a busy one warm and fast, with a small deterministic ripple.
use crate::{
    board::Draw,
    ids::{CiId, GiId},
    load::{Load, SCALED_PERCENT, scaled, shares},
    machine::Gpu,
    power::{self, ripple},
    spec::{Clocks, Spec, Thermal},
    throttle::Throttle,
    units::{Celsius, MHz, MiB, MilliJoules, MilliWatts, Now, Percent},
};

/// What a card shows at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Telemetry {
    /// Share of the time in which kernels run.
    pub gpu: Percent,
    /// Share of the time in which memory is read or written.
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
    /// Why clocks are not higher.
    pub reasons: Throttle,
}

impl Telemetry {
    /// What `gpu` shows at `now`.
    pub fn of(spec: &Spec, gpu: &Gpu, now: Now) -> Self {
        let level: u64 = shares(spec, gpu, now)
            .iter()
            .map(|share| scaled(share.level(now), share.of_card))
            .sum();
        let busy = round(level);
        let ripple = i32::try_from(ripple(gpu.pdi, now)).unwrap_or(0);
        let reasons = match gpu.health.throttle {
            held if held.is_none() && busy.0 == 0 => Throttle::IDLE,
            held => held,
        };
        let cool = Celsius(30 + i32::try_from(busy.0).unwrap_or(100) * 35 / 100 + ripple);
        let temperature = match spec.thermal {
            // A card that is throttled by temperature is as hot as that takes, where the catalogue has it in degrees.
            Some(Thermal::Absolute { slowdown, .. }) if reasons.any(HOT) => slowdown.max(cool),
            _ => cool,
        };
        let idle = matches!(spec.max_clocks, Some(c) if c.memory == idle_clocks(c).memory);
        Self {
            gpu: busy,
            memory: busy.of_memory(),
            temperature,
            memory_temperature: Celsius(temperature.0 + 6),
            power: power::power(spec, gpu, level, now),
            energy: power::energy(spec, gpu, now),
            clocks: spec.max_clocks.map(|max| match busy.0 {
                0 => idle_clocks(max),
                _ if reasons.any(Throttle::SLOWDOWN) => slow_clocks(max),
                _ => max,
            }),
            pstate: if busy.0 > 0 || idle { 0 } else { 8 },
            memory_used: gpu.memory_used(now),
            reasons,
        }
    }
}

/// What comes from temperature.
const HOT: Throttle = Throttle::HW_THERMAL.with(Throttle::SW_THERMAL);

fn slow_clocks(max: Clocks) -> Clocks {
    let idle = idle_clocks(max);
    Clocks {
        graphics: MHz((max.graphics.0 / 2).max(idle.graphics.0)),
        sm: MHz((max.sm.0 / 2).max(idle.sm.0)),
        ..max
    }
}

/// What one load uses of its card at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use<'a> {
    /// The load.
    pub load: &'a Load,
    /// Of the whole card.
    pub of_card: Percent,
    /// Of what it is on: the card, the GPU instance or the compute instance.
    pub of_scope: Percent,
}

impl Telemetry {
    /// What memory and module of the card draw while it shows this.
    pub fn beside(&self, spec: &Spec, gpu: &Gpu) -> Draw {
        power::beside(spec, gpu, self.power, self.memory)
    }
}

impl Gpu {
    /// The loads that run at `now` and what each uses.
    pub fn uses(&self, spec: &Spec, now: Now) -> Vec<Use<'_>> {
        let each = shares(spec, self, now).into_iter().map(|share| {
            let level = share.level(now);
            let own = match (share.load.gi, share.load.ci) {
                (_, Some(_)) => share.of_ci,
                (Some(_), None) => share.of_gi,
                (None, None) => share.of_card,
            };
            Use {
                load: share.load,
                of_card: round(scaled(level, share.of_card)),
                of_scope: round(scaled(level, own)),
            }
        });
        each.collect()
    }

    /// How busy the card is (`gi` is `None`), a GPU instance, or a compute instance of it: as a share of that.
    pub fn busy(&self, spec: &Spec, gi: Option<GiId>, ci: Option<CiId>, now: Now) -> Percent {
        let shares = shares(spec, self, now);
        let within = shares
            .iter()
            .filter(|it| gi.is_none() || (it.load.gi == gi && (ci.is_none() || it.load.ci == ci)));
        let sum = within.map(|it| {
            let factor = match (gi, ci) {
                (None, _) => it.of_card,
                (Some(_), None) => it.of_gi,
                (Some(_), Some(_)) => it.of_ci,
            };
            scaled(it.level(now), factor)
        });
        round(sum.sum())
    }
}

impl Percent {
    /// The share of the time in which memory is read or written while kernels run in this one: two thirds, plausible and not measured.
    #[must_use]
    pub const fn of_memory(self) -> Self {
        Self(self.0 * 2 / 3)
    }
}

fn round(scaled: u64) -> Percent {
    let percent = (scaled + SCALED_PERCENT / 2) / SCALED_PERCENT;
    Percent(u32::try_from(percent.min(100)).unwrap_or(100))
}

fn idle_clocks(max: Clocks) -> Clocks {
    Clocks {
        graphics: MHz(210),
        sm: MHz(210),
        memory: max.memory,
        video: MHz(max.video.0.min(795)),
    }
}
