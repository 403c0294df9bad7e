//! A fault plan as it is written: YAML with a schema, and the lint that says what is wrong with it, where, and how to mend it.
//! Not here: what a rule does (`plan`), how a finding looks on a terminal (`fakegpu`).
//! In: the text, and the machine that it is for if there is one. Out: rules and faults of cards, or all problems.
mod lint;
mod written;

use crate::{
    fault::Rule, ids::GpuIndex, machine::Machine, op::Injection, refusal::Refusal, span::Micros,
    units::Now,
};

/// A plan that was read and found good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFile {
    /// What chance is made from.
    pub seed: u64,
    /// Faults of calls.
    pub rules: Vec<Rule>,
    /// Faults of cards.
    pub cards: Vec<CardFault>,
}

/// A fault of a card in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardFault {
    /// On which GPU.
    pub gpu: GpuIndex,
    /// When, since it is armed.
    pub at: Micros,
    /// For how long; `None` is for good.
    pub lasts: Option<Micros>,
    /// What.
    pub what: Injection,
    /// Without what follows from it.
    pub alone: bool,
}

/// One thing that is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Stable name of the rule that is broken.
    pub rule: &'static str,
    /// First byte of the place.
    pub offset: usize,
    /// Bytes of the place.
    pub length: usize,
    /// Line of the place, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

impl PlanFile {
    /// Reads a plan and checks it; with a machine also that it has all that the plan names. A UUID needs a machine.
    ///
    /// # Errors
    /// All problems, in the order of the text.
    pub fn read(yaml: &str, machine: Option<&Machine>) -> Result<Self, Vec<Problem>> {
        lint::read(yaml, machine)
    }

    /// The schema of such files (JSON Schema 2020-12).
    pub fn schema() -> schemars::Schema {
        schemars::schema_for!(written::File)
    }
}

impl Machine {
    /// The machine with a plan armed instead of the one before. Faults of cards that were still to come are forgotten.
    ///
    /// # Errors
    /// A [`Refusal`]: a card has not what the plan names.
    pub fn with_plan(&self, plan: &PlanFile, now: Now) -> Result<Machine, Refusal> {
        let mut machine = self.armed(plan.seed, plan.rules.clone(), now);
        machine.scheduled.clear();
        for fault in &plan.cards {
            machine = machine.with_card_fault(fault, now)?;
        }
        Ok(machine)
    }

    /// The machine with a fault of a card, which comes and goes as it says, counted from `now`.
    ///
    /// # Errors
    /// A [`Refusal`]: the card has not what it is about.
    pub fn with_card_fault(&self, fault: &CardFault, now: Now) -> Result<Machine, Refusal> {
        let gpu = self.gpu(fault.gpu)?;
        let all = match fault.alone {
            true => vec![fault.what],
            false => fault.what.with_consequences(self.spec(gpu), &gpu.health),
        };
        let at = Now(now.0.saturating_add(fault.at.0));
        let lasts = fault.lasts.map(|lasts| lasts.0);
        self.with_fault(fault.gpu, &all, at, lasts, now)
    }
}

#[cfg(test)]
mod tests;
