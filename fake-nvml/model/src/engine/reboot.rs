//! What a reboot of the node makes of its cards.
//! Not here: a reset of one card (`mode`), and what the programs of the node lose (that is the harness's).
//! Rules: MIG User Guide (MIG mode outlives a reboot on Ampere, from Hopper on it does not; instances never do), nvml.h.
use crate::{
    chosen::Chosen,
    clients::Clients,
    machine::{ComputeMode, Machine, MigMode, Timeslice},
    spec::MigToggle,
    units::Now,
};

use super::mode;

impl Machine {
    /// The machine after its node was rebooted: no process works on a card, no instance is on one, and what was chosen for the
    /// time until the next boot is gone. What boards keep stays: MIG mode where it takes a reset, ECC mode, the errors counted
    /// since ever, remapped rows. A card that fell off the bus is there again; one that is yet to come is not.
    #[must_use]
    pub fn rebooted(&self, now: Now) -> Machine {
        let mut machine = self.at(now).into_owned();
        // A card without loads that is there refuses no reset; one that is not there has nothing to lose.
        let _ = machine.end_loads(now, |_, _| true);
        for at in 0..machine.gpus.len() {
            let toggle = machine.spec(&machine.gpus[at]).mig.as_ref();
            let forgets = toggle.is_some_and(|mig| mig.toggle == MigToggle::Immediate);
            let gpu = &mut machine.gpus[at];
            if forgets {
                gpu.mig_pending = MigMode::Disabled;
            }
            gpu.health.lost = false;
            gpu.health.last_xid = None;
            gpu.chosen = Chosen::default();
            gpu.persistence = false;
            gpu.compute_mode = ComputeMode::default();
            gpu.timeslice = Timeslice::default();
            let index = gpu.index;
            let _ = mode::reset(&mut machine, index, now, &Clients::none());
            // Settled by the reset: until here it was held to the old limit.
            machine.gpus[at].power_limit = None;
        }
        machine
    }
}
