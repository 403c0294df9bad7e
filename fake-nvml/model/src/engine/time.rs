//! The clock is set, stopped and stepped; call faults are armed and disarmed; the log is switched.
//! Not here: what the clock means (`clock`), what the rules mean (`fault`).
use crate::{
    clock::Clock,
    fault::{FaultPlan, Rule},
    machine::Machine,
    power,
    units::Now,
};

/// What is to become of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockChange {
    /// Stop where it is.
    Stop,
    /// Run on from where it is.
    Run,
    /// Show this moment, running or stopped as before.
    Set(Now),
    /// Go these microseconds further (or back), running or stopped as before.
    Step(i64),
    /// Run with the system's clock again, and show its time.
    Real,
}

impl Machine {
    /// What time it is here when the system's clock shows `real`: never before what was last written down, should that clock have
    /// been set back.
    pub fn now(&self, real: Now) -> Now {
        self.clock.now(real).max(self.written)
    }

    /// The machine as it is to be written down when the system's clock shows `real`.
    #[must_use]
    pub fn stamped(mut self, real: Now) -> Machine {
        self.written = self.now(real);
        self
    }

    /// The machine with its clock changed, when the system's clock shows `real`.
    ///
    /// What was to happen up to the new time happens. Set back, a clock takes no energy away: the count goes on from the new time, and
    /// so do the loads that run. Set forward, all goes on as if the time had passed.
    #[must_use]
    pub fn with_clock(&self, real: Now, change: ClockChange) -> Machine {
        let old = self.now(real);
        let mut machine = self.at(old).into_owned();
        machine.clock = match change {
            ClockChange::Stop => Clock::Stopped { at: old },
            ClockChange::Run => Clock::set(real, old, false),
            ClockChange::Set(at) => Clock::set(real, at, self.clock.is_stopped()),
            ClockChange::Step(by) => self.clock.step(by),
            ClockChange::Real => Clock::default(),
        };
        let new = machine.clock.now(real);
        machine.written = new;
        if new < old {
            let back = old.since(new);
            let specs = machine.specs.clone();
            for gpu in &mut machine.gpus {
                if let Some(spec) = usize::try_from(gpu.model).ok().and_then(|i| specs.get(i)) {
                    power::settle(spec, gpu, old, new);
                    gpu.settle_moved(spec, old, new);
                }
                gpu.settle_held(old, new);
                for load in gpu.loads.iter_mut().filter(|load| load.runs(old)) {
                    load.since = Now(load.since.0.saturating_sub(back));
                }
            }
        }
        machine.happen(new);
        machine
    }

    /// The machine with these rules armed instead of those before.
    #[must_use]
    pub fn armed(&self, seed: u64, rules: Vec<Rule>, now: Now) -> Machine {
        let mut machine = self.at(now).into_owned();
        machine.faults = FaultPlan {
            id: self.faults.id + 1,
            seed,
            armed: now,
            rules,
        };
        machine
    }

    /// This machine in the place of another: its plan is a later one than any of that, unless it is the same.
    #[must_use]
    pub fn following(mut self, before: &Machine) -> Machine {
        if self.faults != before.faults {
            self.faults.id = self.faults.id.max(before.faults.id + 1);
        }
        self
    }

    /// The machine with a rule more behind those that are armed; its window counts from now.
    #[must_use]
    pub fn also_armed(&self, mut rule: Rule, now: Now) -> Machine {
        if self.faults.is_empty() {
            return self.armed(self.faults.seed, vec![rule], now);
        }
        let mut machine = self.at(now).into_owned();
        let passed = now.since(machine.faults.armed);
        rule.window.from = rule.window.from.saturating_add(passed);
        rule.window.until = rule.window.until.map(|until| until.saturating_add(passed));
        machine.faults.rules.push(rule);
        machine
    }

    /// The machine with no rules armed: hanging calls go on.
    #[must_use]
    pub fn disarmed(&self, now: Now) -> Machine {
        self.armed(0, Vec::new(), now)
    }

    /// The machine with its log switched.
    #[must_use]
    pub fn with_log(&self, on: bool) -> Machine {
        Machine {
            log: on,
            ..self.clone()
        }
    }

    /// Whether calls must be looked at one by one: faults are armed, or calls are logged.
    pub fn watches_calls(&self) -> bool {
        self.log || !self.faults.is_empty()
    }
}
