//! Constraints over the devices of a claim: held against all that are picked, or by a quirk against a memory of them.

use super::{Search, Stop};
use crate::constraints::{self, Breach};
use crate::gates::Gate;
use crate::names::Name;
use crate::objects::{Attribute, Constraint, Must};
use crate::quirks::Quirk;
use crate::verdict::Refusal;

impl Search<'_, '_> {
    pub(super) fn constraints(
        &mut self,
        ask: usize,
        device: usize,
    ) -> Result<Option<Refusal>, Stop> {
        let prepared = self.prepared;
        let facts = &prepared.asks[ask];
        let claim = prepared.claims[facts.claim];
        for (index, constraint) in claim.constraints.iter().enumerate() {
            if !constraint.concerns(&facts.request, &facts.full_name) {
                continue;
            }
            let joins = match self.forgets(constraint) {
                true => {
                    let mine = self.attribute(ask, device, constraint.attribute())?;
                    let places = self.world.quirks.has(Quirk::DistinctComparesPlaces);
                    let memory = self.memories.entry((facts.claim, index)).or_default();
                    memory.add(
                        &constraint.must,
                        &facts.request,
                        (device, mine.as_ref()),
                        places,
                    )
                }
                false => self.joins(ask, device, constraint)?,
            };
            if let Err(breach) = joins {
                self.forget(ask, index);
                return Ok(Some(Refusal::Constraint {
                    index,
                    attribute: constraint.attribute().clone(),
                    breach,
                }));
            }
        }
        Ok(None)
    }

    /// Whether the device may join those of the claim that the constraint speaks of.
    fn joins(
        &mut self,
        ask: usize,
        device: usize,
        constraint: &Constraint,
    ) -> Result<Result<(), Breach>, Stop> {
        let prepared = self.prepared;
        let claim = prepared.asks[ask].claim;
        let mine = self.attribute(ask, device, constraint.attribute())?;
        let mut before = Vec::new();
        for at in 0..self.picks.len() {
            let (of_claim, other, picked) = (
                self.picks[at].claim,
                self.picks[at].ask,
                self.picks[at].device,
            );
            let facts = &prepared.asks[other];
            if of_claim == claim && constraint.concerns(&facts.request, &facts.full_name) {
                before.extend(self.attribute(other, picked, constraint.attribute())?);
            }
        }
        let before: Vec<&Attribute> = before.iter().collect();
        let lists = self.world.gates.has(Gate::ListTypeAttributes);
        Ok(constraints::joins(
            &constraint.must,
            mine.as_ref(),
            &before,
            lists,
        ))
    }

    /// Whether the constraint works by a memory of its own, by a quirk.
    fn forgets(&self, constraint: &Constraint) -> bool {
        match constraint.must {
            Must::Differ(_) => {
                self.world.quirks.has(Quirk::DistinctForgetsDevices)
                    || self.world.quirks.has(Quirk::DistinctComparesPlaces)
            }
            Must::Match(_) => {
                self.world.quirks.has(Quirk::CapacityOfAnotherDevice)
                    || (self.world.quirks.has(Quirk::MatchedListsStaySmall)
                        && self.world.gates.has(Gate::ListTypeAttributes))
            }
        }
    }

    /// Takes a device of the ask out of the memories of the first constraints.
    pub(super) fn forget(&mut self, ask: usize, before: usize) {
        let facts = &self.prepared.asks[ask];
        for (index, constraint) in self.prepared.claims[facts.claim]
            .constraints
            .iter()
            .enumerate()
            .take(before)
        {
            if constraint.concerns(&facts.request, &facts.full_name)
                && self.forgets(constraint)
                && let Some(memory) = self.memories.get_mut(&(facts.claim, index))
            {
                memory.give_back(&facts.request);
            }
        }
    }

    /// A device's attribute as constraints see it: the claim's derived one hides the published one.
    fn attribute(
        &mut self,
        ask: usize,
        device: usize,
        name: &Name,
    ) -> Result<Option<Attribute>, Stop> {
        let facts = &self.prepared.asks[ask];
        if self.world.gates.has(Gate::DerivedAttributes)
            && let Some(derived) = facts
                .ask
                .derived
                .iter()
                .find(|derived| derived.name == *name)
        {
            return self
                .answers
                .derive(self.world, facts, derived, device)
                .map(Some)
                .map_err(Stop::Failed);
        }
        Ok(self
            .world
            .device(&self.world.devices[device])
            .facts
            .attribute(name)
            .cloned())
    }
}
