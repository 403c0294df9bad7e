//! The clock of a machine: the system's, set off by an amount, or stopped and stepped by a test.
//! Not here: who reads the system's clock (the caller passes the reading in), what happens when time passes (`schedule`).
//! Everything timed follows this one clock: loads, energy, faults with a window, events that are still to come.
use crate::units::Now;
use serde::{Deserialize, Serialize};

/// What time it is on a machine, as a function of the system's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Clock {
    /// Runs with the system's clock, this many microseconds ahead of it (behind, if negative).
    Running {
        /// Microseconds ahead.
        ahead: i64,
    },
    /// Stands still.
    Stopped {
        /// At this moment.
        at: Now,
    },
}

impl Default for Clock {
    fn default() -> Self {
        Self::Running { ahead: 0 }
    }
}

impl Clock {
    /// The machine's time when the system's clock shows `real`.
    pub const fn now(&self, real: Now) -> Now {
        match *self {
            Self::Running { ahead } => Now(real.0.saturating_add_signed(ahead)),
            Self::Stopped { at } => at,
        }
    }

    /// Whether it stands still.
    pub const fn is_stopped(&self) -> bool {
        matches!(self, Self::Stopped { .. })
    }

    /// The clock that shows `at` now: running on from there, or standing there.
    #[must_use]
    pub const fn set(real: Now, at: Now, stopped: bool) -> Self {
        if stopped {
            Self::Stopped { at }
        } else {
            Self::Running {
                ahead: (at.0 as i64).wrapping_sub(real.0 as i64),
            }
        }
    }

    /// The same clock, these microseconds further (or back).
    #[must_use]
    pub const fn step(self, by: i64) -> Self {
        match self {
            Self::Running { ahead } => Self::Running {
                ahead: ahead.saturating_add(by),
            },
            Self::Stopped { at } => Self::Stopped {
                at: Now(at.0.saturating_add_signed(by)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REAL: Now = Now::from_secs(1_700_000_000);

    #[test]
    fn a_stopped_clock_moves_by_steps_only() {
        let clock = Clock::set(REAL, Now::from_secs(5), true);
        assert_eq!(clock.now(REAL), Now::from_secs(5));
        assert_eq!(clock.now(Now(REAL.0 + 77)), Now::from_secs(5));
        assert_eq!(clock.step(-2_000_000).now(REAL), Now::from_secs(3));
        assert_eq!(
            clock.step(-9_000_000).now(REAL),
            Now(0),
            "no time before the epoch"
        );
    }

    proptest! {
        #[test]
        fn a_running_clock_keeps_its_distance(at in 0u64..1 << 52, later in 0u64..1 << 40, by in -(1i64 << 40)..1 << 40) {
            let clock = Clock::set(REAL, Now(at), false);
            prop_assert_eq!(clock.now(REAL), Now(at));
            prop_assert_eq!(clock.now(Now(REAL.0 + later)), Now(at + later));
            prop_assert_eq!(clock.step(by).now(REAL), Now(at.saturating_add_signed(by)));
        }
    }
}
