//! What is asked of one device before it is picked, in the allocator's order, and what quirks leave behind of a refused one.

use std::collections::BTreeMap;

use super::{Pick, Search, Stop};
use crate::asks::AskFacts;
use crate::capacity::{self, Lack};
use crate::gates::Gate;
use crate::limits::RESULTS_PER_CLAIM;
use crate::names::Name;
use crate::objects::{Mode, Node};
use crate::quantity::Quantity;
use crate::quirks::Quirk;
use crate::selectors::Said;
use crate::taints;
use crate::verdict::{Failure, Refusal};
use crate::world::World;

impl Search<'_, '_> {
    /// The checks in their order; a share's amounts, or why not.
    #[allow(clippy::type_complexity)]
    pub(super) fn check(
        &mut self,
        ask: usize,
        device: usize,
    ) -> Result<Result<Option<BTreeMap<Name, Quantity>>, Refusal>, Stop> {
        let facts = &self.prepared.asks[ask];
        if let Some(refusal) = self.in_use(facts, device) {
            return Ok(Err(refusal));
        }
        if let Some(refusal) = waits(self.world, device) {
            return Ok(Err(refusal));
        }
        let said = self
            .answers
            .ask(self.world, facts, ask, device)
            .map_err(Stop::Failed)?;
        if let Said::No(refusal) = said {
            return Ok(Err(refusal));
        }
        let picked = self
            .picks
            .iter()
            .filter(|pick| pick.claim == facts.claim)
            .count() as u64;
        if picked >= RESULTS_PER_CLAIM {
            return Ok(Err(Refusal::DeadEnd));
        }
        if !self
            .world
            .reaches(self.menu.node, &self.world.devices[device])
        {
            return Ok(Err(Refusal::Elsewhere));
        }
        if let Some(refusal) = skips(self.world, self.menu.node, device) {
            return Ok(Err(refusal));
        }
        let alone =
            facts.ask.mode == Mode::All && self.world.quirks.has(Quirk::CapacityOfAnotherDevice);
        let share = self.share(facts, device, !alone);
        if facts.ask.mode != Mode::All
            && let Err(lack) = &share
        {
            return Ok(Err(Refusal::Capacity(lack.clone())));
        }
        if self.panics(facts, device) {
            return Err(self.panic_at(facts, device));
        }
        if let Some(refusal) = self.draws(device).or_else(|| self.counters(device)) {
            return Ok(Err(refusal));
        }
        let known = self.world.device(&self.world.devices[device]);
        if self.world.gates.has(Gate::DeviceTaints)
            && let Some(taint) = taints::untolerated(&known.taints, &facts.ask.tolerations)
        {
            self.stay_charged(device);
            return Ok(Err(Refusal::Tainted(taint.clone())));
        }
        if let Some(refusal) = self.constraints(ask, device)? {
            self.stay_charged(device);
            return Ok(Err(refusal));
        }
        let share = match self.capacity_of_another(facts, device)? {
            Some(lack) => Err(lack),
            None => share,
        };
        if share.is_err() {
            self.stay_taken(ask, device);
        }
        Ok(share.map_err(Refusal::Capacity))
    }

    /// By a quirk a device of the slice that has nothing to do with it must have the capacity too.
    fn capacity_of_another(
        &self,
        facts: &AskFacts<'_>,
        device: usize,
    ) -> Result<Option<Lack>, Stop> {
        let on = self.world.gates.has(Gate::ConsumableCapacity);
        if !on || !self.world.quirks.has(Quirk::CapacityOfAnotherDevice) {
            return Ok(None);
        }
        let of_request = |pick: &&Pick| {
            pick.claim == facts.claim && self.prepared.asks[pick.ask].request == facts.request
        };
        let got = self.picks.iter().filter(of_request).count();
        let entry = &self.world.devices[device];
        if got >= self.world.slices[entry.slice].devices.len() {
            return Err(self.panic_at(facts, device));
        }
        Ok(self.share(facts, device - entry.index + got, true).err())
    }

    fn panic_at(&self, facts: &AskFacts<'_>, device: usize) -> Stop {
        Stop::Failed(Failure::Panics {
            claim: self.prepared.claims[facts.claim].key.clone(),
            request: facts.full_name.clone(),
            device: self.world.devices[device].id.clone(),
        })
    }

    /// By a quirk a refused device keeps its counters.
    fn stay_charged(&mut self, device: usize) {
        if self.world.quirks.has(Quirk::RefusedDevicesStayCharged) && !self.charged(device) {
            self.attempt.charge(device);
        }
    }

    /// By a quirk a device refused for its capacity keeps more than its counters.
    fn stay_taken(&mut self, ask: usize, device: usize) {
        if !self.world.quirks.has(Quirk::RefusedDevicesStayCharged) {
            self.forget(ask, usize::MAX);
            return;
        }
        self.stay_charged(device);
        if !self.world.multiple(&self.world.devices[device]) {
            self.lost.insert((self.prepared.asks[ask].claim, device));
        }
    }

    fn in_use(&self, facts: &AskFacts<'_>, device: usize) -> Option<Refusal> {
        if let Some(holder) = &self.world.usage[device].holder
            && !facts.ask.admin
        {
            return Some(Refusal::InUse { by: holder.clone() });
        }
        let beside = self.world.quirks.has(Quirk::WholeBesideShares)
            || self.world.multiple(&self.world.devices[device]);
        if self.world.usage[device].shares > 0 && !beside && !facts.ask.admin {
            return Some(Refusal::SharesInUse);
        }
        // Never twice in one claim; between claims of the pod, administrators are in nobody's way.
        let here = |pick: &Pick| {
            pick.device == device && pick.share.is_none() && pick.claim == facts.claim
        };
        let by_admin = |pick: &Pick| pick.device == device && pick.share.is_none();
        let blocked = self
            .world
            .quirks
            .has(Quirk::AdministratorsBlockLaterClaimsOfThePod)
            && self.picks.iter().any(by_admin);
        let lost = |(claim, lost): &(usize, usize)| {
            *lost == device && (!facts.ask.admin || *claim == facts.claim)
        };
        let taken = (!facts.ask.admin && (self.attempt.is_whole(device) || blocked))
            || self.picks.iter().any(here)
            || self.lost.iter().any(lost);
        taken.then_some(Refusal::AlreadyPicked)
    }

    fn panics(&self, facts: &AskFacts<'_>, device: usize) -> bool {
        let draws = !self
            .world
            .device(&self.world.devices[device])
            .consumes
            .is_empty();
        self.world.quirks.has(Quirk::AllOverPartitionsPanics)
            && draws
            && facts.ask.mode == Mode::All
            && self.world.gates.has(Gate::PartitionableDevices)
    }

    /// A partition is left alone while partitions are off.
    fn draws(&self, device: usize) -> Option<Refusal> {
        let known = self.world.device(&self.world.devices[device]);
        let gate = Gate::PartitionableDevices;
        let draws = !known.consumes.is_empty() && !self.world.gates.has(gate);
        draws.then(|| Refusal::Gate {
            what: format!("it consumes counters, but {gate} is off"),
        })
    }

    /// What a share takes; `beside` says whether what others have of the device counts.
    fn share(
        &self,
        facts: &AskFacts<'_>,
        device: usize,
        beside: bool,
    ) -> Result<Option<BTreeMap<Name, Quantity>>, Lack> {
        if !self.world.gates.has(Gate::ConsumableCapacity) {
            return Ok(None);
        }
        let entry = &self.world.devices[device];
        let has = &self.world.device(entry).facts.capacity;
        let out = &self.world.usage[device].consumed;
        let here = |name: &str| {
            let shares = self
                .picks
                .iter()
                .filter(|pick| pick.device == device)
                .filter_map(|pick| pick.share.as_ref());
            shares
                .filter_map(|share| share.get(name))
                .fold(out.get(name), |sum, amount| sum.plus(*amount))
        };
        let taken = |name: &str| if beside { here(name) } else { Quantity::ZERO };
        let share = capacity::shared(has, &facts.ask.capacity, taken)?;
        Ok(self.world.multiple(entry).then_some(share))
    }

    /// Whether the counters of the device are charged already, by another share.
    pub(super) fn charged(&self, device: usize) -> bool {
        self.world.multiple(&self.world.devices[device])
            && !self.world.quirks.has(Quirk::EveryShareChargesCounters)
            && (self.world.usage[device].shares > 0
                || self.picks.iter().any(|pick| pick.device == device))
    }

    fn counters(&self, device: usize) -> Option<Refusal> {
        if self.charged(device) {
            return None;
        }
        let whole_pool = self.world.quirks.has(Quirk::OvercommitBlocksThePool);
        if let Some(shortage) = self.attempt.shortage(device, whole_pool) {
            return Some(Refusal::Counter(shortage));
        }
        self.attempt.outsider(device).map(|groups| Refusal::Group {
            groups: groups.to_vec(),
        })
    }
}

/// A device with conditions is left alone while they are off.
pub(crate) fn waits(world: &World, device: usize) -> Option<Refusal> {
    let waits = !world
        .device(&world.devices[device])
        .binding_conditions
        .is_empty()
        && !world.gates.binding();
    let gate = Gate::DeviceBindingConditions;
    waits.then(|| Refusal::Gate {
        what: format!("it has binding conditions, but {gate} is off"),
    })
}

/// A device that skips calls to its node is left alone where the node does not declare that it knows of this (KEP-5945).
fn skips(world: &World, node: &Node, device: usize) -> Option<Refusal> {
    let gate = Gate::OptionalNodeOperations;
    if world.slices[world.devices[device].slice]
        .skip_node_operations
        .is_empty()
        || !world.knows(gate)
    {
        return None;
    }
    if !world.gates.has(gate) {
        return Some(Refusal::Gate {
            what: format!("it skips operations of the node, but {gate} is off"),
        });
    }
    let declared = node
        .declared_features
        .iter()
        .any(|feature| &**feature == gate.name());
    (!declared).then(|| Refusal::Gate {
        what: format!(
            "it skips operations of the node, and node {} does not declare {gate}",
            node.name
        ),
    })
}
