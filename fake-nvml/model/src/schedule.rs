//! What is still to come: faults of a card that carry a time.
//! Not here: what a fault does (`op::Injection`, `engine`).
//! Nobody has to be awake when the time comes: the machine *as of now* is a pure function of the state and the clock, so all
//! processes see the same at the same moment, and whoever writes next writes it down.
use crate::{ids::GpuIndex, machine::Machine, op::Injection, units::Now};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A fault with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduled {
    /// When it happens.
    pub at: Now,
    /// On which GPU.
    pub gpu: GpuIndex,
    /// What.
    pub what: Injection,
}

impl Machine {
    /// When the machine next changes by itself; until then [`Machine::at`] gives it as it is.
    pub fn next_due(&self) -> Option<Now> {
        self.scheduled.first().map(|next| next.at)
    }

    /// The machine as of `now`: with everything done that was to happen by then.
    pub fn at(&self, now: Now) -> Cow<'_, Machine> {
        if self.next_due().is_none_or(|due| due > now) {
            return Cow::Borrowed(self);
        }
        let mut machine = self.clone();
        machine.happen(now);
        Cow::Owned(machine)
    }

    /// Puts a fault among those to come; of several at the same moment the first one put comes first.
    pub(crate) fn schedule(&mut self, fault: Scheduled) {
        let place = self.scheduled.partition_point(|it| it.at <= fault.at);
        self.scheduled.insert(place, fault);
    }

    pub(crate) fn happen(&mut self, now: Now) {
        while self.next_due().is_some_and(|due| due <= now) {
            let Scheduled { at, gpu, what } = self.scheduled.remove(0);
            // It was checked when it was put there; a GPU or an instance that has gone since takes its faults along.
            let before = self.clone();
            if self.inject(gpu, what, at).is_err() {
                *self = before;
            }
        }
    }
}
