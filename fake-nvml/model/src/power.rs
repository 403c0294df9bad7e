//! Power and the energy that it adds up to.
//! Not here: the loads that power follows from (`load`), other things a card shows (`telemetry`).
//! Plausible, not measured: a seventh of the limit when idle, nine tenths when fully busy, straight between, and a small ripple.
use crate::{
    board::Draw,
    load::{BUSY_MICRO, SCALED_PERCENT, busy_area},
    machine::Gpu,
    spec::Spec,
    units::{MilliJoules, MilliWatts, Now, Percent},
};
use serde::{Deserialize, Serialize};

/// Energy used up to a moment: in nanojoules, so that nothing is lost when loads come and go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Energy {
    nanojoules: u128,
    since: Now,
}

impl Energy {
    /// None used, counted from now on.
    pub const fn from(since: Now) -> Self {
        Self {
            nanojoules: 0,
            since,
        }
    }
}

/// Power at `now` of a card that is so busy, in [`SCALED_PERCENT`]s; `None` if the catalogue has no power limits for the model.
pub(crate) fn power(spec: &Spec, gpu: &Gpu, busy: u64, now: Now) -> Option<MilliWatts> {
    let range = Range::of(spec, gpu)?;
    let steady = range.idle + range.span * busy / (100 * SCALED_PERCENT);
    let shown = i64::try_from(steady).ok()? + range.ripple * ripple(gpu.pdi, now);
    Some(MilliWatts(u32::try_from(shown).unwrap_or(0)))
}

/// Power of the memory and of the module of a card that draws `gpu` and whose memory is so busy; `None` where no capture shows it.
/// Plausible, not measured: twice as much in the memory when it is fully busy, and a module whose other parts stay idle.
pub(crate) fn beside(spec: &Spec, card: &Gpu, gpu: Option<MilliWatts>, memory: Percent) -> Draw {
    let idle = spec.board.idle_draw;
    let above = |draw: MilliWatts| {
        let own = u32::try_from(Range::of(spec, card)?.idle).ok()?;
        Some(MilliWatts((draw.0 + gpu?.0).saturating_sub(own)))
    };
    Draw {
        memory: idle
            .memory
            .map(|draw| MilliWatts(draw.0 + draw.0 * memory.0 / 100)),
        module: idle.module.and_then(above),
    }
}

/// Energy up to `now`: what was counted when something last changed, plus the area under the power since. If the clock lies before
/// that moment it is what was counted then: it never falls.
pub(crate) fn energy(spec: &Spec, gpu: &Gpu, now: Now) -> MilliJoules {
    MilliJoules(u64::try_from(nanojoules(spec, gpu, now) / 1_000_000).unwrap_or(u64::MAX))
}

/// Counts the energy up to `now` and goes on counting from `from` (the same moment, unless the clock is being set).
pub(crate) fn settle(spec: &Spec, gpu: &mut Gpu, now: Now, from: Now) {
    gpu.energy = Energy {
        nanojoules: nanojoules(spec, gpu, now),
        since: from,
    };
}

fn nanojoules(spec: &Spec, gpu: &Gpu, now: Now) -> u128 {
    let Energy { nanojoules, since } = gpu.energy;
    let Some(range) = Range::of(spec, gpu) else {
        return nanojoules;
    };
    if now <= since {
        return nanojoules;
    }
    let time = u128::from(now.since(since));
    let phases = gpu.phases(since, now).into_iter();
    let busy: u128 = phases
        .map(|(from, to)| busy_area(spec, gpu, from, to))
        .sum();
    // Milliwatts times microseconds are nanojoules.
    let steady = u128::from(range.idle) * time + u128::from(range.span) * busy / BUSY_MICRO;
    let ripple = i128::from(range.ripple) * (rippled(gpu.pdi, now) - rippled(gpu.pdi, since));
    nanojoules + steady.saturating_add_signed(ripple)
}

/// Milliwatts.
struct Range {
    idle: u64,
    span: u64,
    /// Of one step of the ripple.
    ripple: i64,
}

impl Range {
    fn of(spec: &Spec, gpu: &Gpu) -> Option<Self> {
        let limit = u64::from(gpu.power_limit.unwrap_or(spec.power?.default).0);
        let idle = limit / 7;
        Some(Self {
            idle,
            span: limit * 9 / 10 - idle,
            // Two steps down from idle must stay above nothing.
            ripple: i64::try_from(idle / 2).ok()?.min(500),
        })
    }
}

/// Seconds after which the ripple begins anew.
const ROUND: u64 = 64;
const SECOND: u64 = 1_000_000;

/// -2 to 2, another value each second, different from card to card, the same again after [`ROUND`] seconds.
pub(crate) fn ripple(pdi: u64, now: Now) -> i64 {
    step(pdi, now.0 / SECOND % ROUND)
}

fn step(pdi: u64, second: u64) -> i64 {
    let mixed = second.wrapping_add(pdi).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61;
    i64::try_from(mixed % 5).unwrap_or(0) - 2
}

/// The area under the ripple from the epoch to `now`, in steps times microseconds.
fn rippled(pdi: u64, now: Now) -> i128 {
    let (seconds, rest) = (now.0 / SECOND, now.0 % SECOND);
    let first = |n: u64| {
        (0..n)
            .map(|second| i128::from(step(pdi, second)))
            .sum::<i128>()
    };
    let whole = i128::from(seconds / ROUND) * first(ROUND) + first(seconds % ROUND);
    whole * i128::from(SECOND) + i128::from(rest) * i128::from(step(pdi, seconds % ROUND))
}
