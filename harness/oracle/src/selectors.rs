//! Selectors asked of devices, each once: what was said is kept for the rest of the search and for other nodes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::asks::AskFacts;
use crate::cel::{Expression, Facts};
use crate::objects::{Attribute, Derived, Selector};
use crate::quirks::Quirk;
use crate::verdict::{Failure, Refusal};
use crate::world::World;

/// What all selectors of an ask said to a device.
pub(crate) enum Said {
    Yes,
    No(Refusal),
}

/// Remembers answers by ask and device.
#[derive(Default)]
pub(crate) struct Answers {
    yes: HashMap<(usize, usize), bool>,
    derived: HashMap<(*const Derived, usize), Attribute>,
    runs: Runs,
}

/// Answers of expressions that were run, each with a device of which it was asked; the one that was right last comes first.
#[derive(Default)]
pub(crate) struct Runs(HashMap<*const Expression, Vec<(Arc<Facts>, bool)>>);

/// Of an expression so many answers are kept.
const KEPT: usize = 32;

impl Runs {
    /// What the expression says of the device, run only if no device that is alike has been asked.
    pub(crate) fn holds(
        &mut self,
        expression: &Arc<Expression>,
        facts: &Arc<Facts>,
    ) -> Result<bool, String> {
        let known = self.0.entry(Arc::as_ptr(expression)).or_default();
        let alike = |(other, _): &(Arc<Facts>, bool)| expression.answers_alike(other, facts);
        if let Some(at) = known.iter().position(alike) {
            known.swap(0, at);
            return Ok(known[0].1);
        }
        let holds = expression.holds(facts)?;
        if known.len() == KEPT {
            known.pop();
        }
        known.insert(0, (Arc::clone(facts), holds));
        Ok(holds)
    }
}

impl Answers {
    pub(crate) fn ask(
        &mut self,
        world: &World,
        facts: &AskFacts<'_>,
        ask: usize,
        device: usize,
    ) -> Result<Said, Failure> {
        match self.kept(ask, device) {
            Some(true) => return Ok(Said::Yes),
            Some(false) if world.quirks.has(Quirk::AlternativesShareAnswers) => {
                return Ok(Said::No(Refusal::DeadEnd));
            }
            _ => {}
        }
        let said = first_no(world, &mut self.runs, facts, device)?;
        self.yes.insert((ask, device), matches!(said, Said::Yes));
        Ok(said)
    }

    /// What is kept of an ask and a device.
    fn kept(&self, ask: usize, device: usize) -> Option<bool> {
        self.yes.get(&(ask, device)).copied()
    }

    /// Evaluates a derived attribute, once per device.
    pub(crate) fn derive(
        &mut self,
        world: &World,
        facts: &AskFacts<'_>,
        derived: &Derived,
        device: usize,
    ) -> Result<Attribute, Failure> {
        let key = (std::ptr::from_ref(derived), device);
        if let Some(known) = self.derived.get(&key) {
            return Ok(known.clone());
        }
        let id = &world.devices[device].id;
        let owner = || {
            format!(
                "derived attribute {} of request {}",
                derived.name, facts.full_name
            )
        };
        let failed = |device, error| Failure::Expression {
            owner: owner(),
            device,
            error,
        };
        let expression = derived
            .expression
            .as_ref()
            .map_err(|error| failed(None, error.to_string()))?;
        let attribute = expression
            .attribute(&world.device(&world.devices[device]).facts)
            .map_err(|error| failed(Some(id.clone()), error))?;
        self.derived.insert(key, attribute.clone());
        Ok(attribute)
    }
}

fn first_no(
    world: &World,
    runs: &mut Runs,
    facts: &AskFacts<'_>,
    device: usize,
) -> Result<Said, Failure> {
    let of_class = facts
        .class
        .selectors
        .iter()
        .map(|selector| (true, selector));
    let of_request = facts.ask.selectors.iter().map(|selector| (false, selector));
    for (class, selector) in of_class.chain(of_request) {
        let owner = || match class {
            true => format!("DeviceClass {}", facts.class.name),
            false => format!("request {}", facts.full_name),
        };
        if !holds(world, runs, owner, selector, device)? {
            return Ok(Said::No(Refusal::Selector {
                owner: owner(),
                expression: selector.text.clone(),
            }));
        }
    }
    Ok(Said::Yes)
}

fn holds(
    world: &World,
    runs: &mut Runs,
    owner: impl Fn() -> String,
    selector: &Selector,
    device: usize,
) -> Result<bool, Failure> {
    let entry = &world.devices[device];
    let failed = |device, error| Failure::Expression {
        owner: format!("selector of {}", owner()),
        device,
        error,
    };
    let expression = selector
        .expression
        .as_ref()
        .map_err(|error| failed(None, error.to_string()))?;
    runs.holds(expression, &world.device(entry).facts)
        .map_err(|error| {
            failed(
                Some(entry.id.clone()),
                format!("{:?}: {error}", selector.text),
            )
        })
}
