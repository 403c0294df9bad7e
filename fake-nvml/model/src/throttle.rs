//! Why clocks are held down, and how long they have been.
//! Not here: how low they are then (`telemetry`).
//! Changed by injection and by a reset; the time is counted since the machine was made, and is what NVML calls violation time.
use crate::{machine::Gpu, span::Micros, units::Now};
use serde::{Deserialize, Serialize};

/// Why clocks are lower than they could be: bits of `nvmlClocksEventReason*`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Throttle(pub u64);

impl Throttle {
    /// Nothing to do.
    pub const IDLE: Self = Self(0x1);
    /// The power limit.
    pub const POWER_CAP: Self = Self(0x4);
    /// Hardware: halved or worse, by temperature or power.
    pub const HW_SLOWDOWN: Self = Self(0x8);
    /// The driver, by temperature.
    pub const SW_THERMAL: Self = Self(0x20);
    /// Hardware, by temperature.
    pub const HW_THERMAL: Self = Self(0x40);
    /// Hardware, by the power supply's brake signal.
    pub const POWER_BRAKE: Self = Self(0x80);
    /// What holds clocks down by half; the real measure differs from card to card and is not known.
    pub const SLOWDOWN: Self = Self::HW_SLOWDOWN
        .with(Self::HW_THERMAL)
        .with(Self::SW_THERMAL)
        .with(Self::POWER_BRAKE);

    /// Both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether any of these.
    pub const fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    /// Whether none.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// How long clocks have been held down, up to `since`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Held {
    /// Microseconds by all the reasons that held at the same time: who asks for several of them must not be told one moment twice.
    spans: Vec<(Throttle, u64)>,
    since: Now,
}

impl Gpu {
    /// How long clocks have been held down for any of these reasons, up to `now`: what was counted when the reasons last changed, plus
    /// the time since if one of these holds.
    pub fn held_down(&self, reasons: Throttle, now: Now) -> Micros {
        let running = (self.health.throttle, now.since(self.held.since));
        let spans = self.held.spans.iter().copied().chain([running]);
        let these = spans.filter(|(held, _)| held.any(reasons));
        Micros(these.map(|(_, micros)| micros).sum())
    }

    /// From `now` on clocks are held down for these reasons.
    pub(crate) fn throttle(&mut self, reasons: Throttle, now: Now) {
        self.settle_held(now, now);
        self.health.throttle = reasons;
    }

    /// Counts the time held down up to `now` and goes on counting from `from` (the same moment, unless the clock is being set).
    pub(crate) fn settle_held(&mut self, now: Now, from: Now) {
        let (reasons, micros) = (self.health.throttle, now.since(self.held.since));
        self.held.since = from;
        if reasons.is_none() || micros == 0 {
            return;
        }
        let spans = &mut self.held.spans;
        match spans.iter_mut().find(|(held, _)| *held == reasons) {
            Some((_, counted)) => *counted += micros,
            None => spans.push((reasons, micros)),
        }
    }
}
