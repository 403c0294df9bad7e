//! `fakegpu clock`: the time of a machine, which all that is timed follows.
//! Waiting calls wait in real time whatever this clock does.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use gpu_model::{ClockChange, Micros, Now};

use crate::error::Error;
use crate::state;

/// Arguments of `clock`.
#[derive(Debug, Args)]
pub(crate) struct Clock {
    /// A folder made by `create`, or a state file; without it, the machine that this process runs in.
    #[arg(long, global = true, value_name = "DIR|STATE")]
    state: Option<PathBuf>,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// What time it is.
    Show,
    /// Stop the clock where it is.
    Stop,
    /// Let the clock run on from where it is.
    Run,
    /// Set the clock, running or stopped as it is.
    Set {
        /// The time, as 2026-01-31T12:00:00Z.
        time: jiff::Timestamp,
    },
    /// Move the clock on by so much.
    Step {
        /// How far: 10s, 50ms, 2h.
        by: Micros,
        /// Backwards.
        #[arg(long)]
        back: bool,
    },
    /// Show the system's time again, and run with it.
    Real,
}

impl Clock {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let store = state::open(self.state.as_deref())?;
        let change = match self.what {
            What::Show => None,
            What::Stop => Some(ClockChange::Stop),
            What::Run => Some(ClockChange::Run),
            What::Real => Some(ClockChange::Real),
            What::Set { time } => {
                let micros = u64::try_from(time.as_microsecond()).map_err(|_| Error::Option {
                    option: "TIME",
                    problem: format!("{time} lies before 1970: choose a later one"),
                })?;
                Some(ClockChange::Set(Now(micros)))
            }
            What::Step { by, back } => {
                let by = i64::try_from(by.0).unwrap_or(i64::MAX);
                Some(ClockChange::Step(if back { -by } else { by }))
            }
        };
        if let Some(change) = change {
            let real = store.real();
            store.update(|machine, _| {
                Ok::<_, gpu_model::Refusal>((machine.with_clock(real, change), ()))
            })?;
        }
        let machine = &store.current()?.machine;
        let word = if machine.clock.is_stopped() {
            "stopped"
        } else if machine.clock == gpu_model::Clock::default() {
            "the system's"
        } else {
            "running"
        };
        println!("{} ({word})", time(machine.now(store.real())));
        Ok(())
    }
}

/// A moment for people and for `clock set`.
pub(crate) fn time(at: Now) -> String {
    i64::try_from(at.0)
        .ok()
        .and_then(|micros| jiff::Timestamp::from_microsecond(micros).ok())
        .map_or_else(|| format!("{} us", at.0), |time| format!("{time:.6}"))
}
