//! The search: claims, requests, alternatives and devices in order, with full backtracking; the first full choice wins.
//! No packing and no score. It runs on one node, over values of its own, and leaves the world as it is.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::asks::{AskFacts, Prepared};
use crate::attempt::{Attempt, Before};
use crate::capacity::{self, Lack};
use crate::constraints::{self, Breach};
use crate::forgetful::Memory;
use crate::gates::Gate;
use crate::limits::RESULTS_PER_CLAIM;
use crate::menu::Menu;
use crate::names::Name;
use crate::objects::{Attribute, Constraint, Held, Mode, Must, Node};
use crate::quantity::Quantity;
use crate::quirks::Quirk;
use crate::selectors::{Answers, Said};
use crate::taints;
use crate::verdict::{Failure, Look, Refusal};
use crate::world::World;

/// Why a search ends without an answer.
pub(crate) enum Stop {
    Failed(Failure),
    Limit,
}

/// A device that is picked.
#[derive(Clone, Debug)]
pub(crate) struct Pick {
    pub(crate) claim: usize,
    pub(crate) ask: usize,
    pub(crate) device: usize,
    pub(crate) share: Option<BTreeMap<Name, Quantity>>,
    /// Whether it is the one that charges the counters.
    charges: bool,
    groups_before: Before,
}

pub(crate) struct Search<'w, 's> {
    world: &'w World,
    menu: &'s Menu<'w>,
    prepared: &'s Prepared<'w>,
    answers: &'s mut Answers,
    pub(crate) picks: Vec<Pick>,
    attempt: Attempt<'w>,
    memories: HashMap<(usize, usize), Memory>,
    /// By a quirk: devices that a claim was refused and that count as taken all the same.
    lost: HashSet<(usize, usize)>,
    steps: u64,
    limit: u64,
    looks: Option<Looks>,
}

#[derive(Default)]
struct Looks {
    places: HashMap<(usize, usize), usize>,
    list: Vec<(usize, usize, Option<Refusal>)>,
}

impl<'w, 's> Search<'w, 's> {
    pub(crate) fn new(
        world: &'w World,
        menu: &'s Menu<'w>,
        prepared: &'s Prepared<'w>,
        answers: &'s mut Answers,
        limit: u64,
        explain: bool,
    ) -> Self {
        Search {
            world,
            menu,
            prepared,
            answers,
            picks: Vec::new(),
            attempt: Attempt::new(&world.draws),
            memories: HashMap::new(),
            lost: HashSet::new(),
            steps: 0,
            limit,
            looks: explain.then(Looks::default),
        }
    }

    /// Fulfils every claim; `all` holds, per ask for all devices, which those are.
    pub(crate) fn run(&mut self, all: &HashMap<usize, Vec<usize>>) -> Result<bool, Stop> {
        self.request(0, 0, all)
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// What was looked at, in order.
    pub(crate) fn looks(&mut self) -> Vec<Look> {
        let picked: Vec<(usize, usize)> = self
            .picks
            .iter()
            .map(|pick| (pick.ask, pick.device))
            .collect();
        let looks = self.looks.take().unwrap_or_default().list;
        looks
            .into_iter()
            .map(|(ask, device, refusal)| {
                let facts = &self.prepared.asks[ask];
                let refusal = if picked.contains(&(ask, device)) {
                    None
                } else {
                    refusal.or(Some(Refusal::DeadEnd))
                };
                Look {
                    claim: self.prepared.claims[facts.claim].key.clone(),
                    request: facts.full_name.clone(),
                    device: self.world.devices[device].id.clone(),
                    refusal,
                }
            })
            .collect()
    }

    fn request(
        &mut self,
        claim: usize,
        request: usize,
        all: &HashMap<usize, Vec<usize>>,
    ) -> Result<bool, Stop> {
        let Some(asks) = self.prepared.requests.get(claim) else {
            return Ok(true);
        };
        let Some(asks) = asks.get(request) else {
            return self.request(claim + 1, 0, all);
        };
        for ask in asks.clone() {
            if self.prepared.requests[claim].len() > request
                && self.fill(claim, request, ask, 0, 0, all)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn fill(
        &mut self,
        claim: usize,
        request: usize,
        ask: usize,
        got: usize,
        from: usize,
        all: &HashMap<usize, Vec<usize>>,
    ) -> Result<bool, Stop> {
        let facts = &self.prepared.asks[ask];
        if let Mode::All = facts.ask.mode {
            let wanted = all.get(&ask).map(Vec::as_slice).unwrap_or_default();
            if wanted.is_empty() {
                return Ok(false);
            }
            let Some(device) = wanted.get(got) else {
                return self.request(claim, request + 1, all);
            };
            let next = if self
                .world
                .quirks
                .has(Quirk::AllInALaterAlternativeGoesOnAsTheFirst)
            {
                self.prepared.requests[claim][request].start
            } else {
                ask
            };
            return Ok(self.pick(ask, *device)?
                && self.onward(|search| search.fill(claim, request, next, got + 1, 0, all))?);
        }
        if matches!(facts.ask.mode, Mode::Exact(count) if got as u64 >= count) {
            return self.request(claim, request + 1, all);
        }
        let menu = self.menu;
        let from = if self.world.quirks.has(Quirk::RequestsTryEveryOrder) {
            0
        } else {
            from
        };
        for (at, device) in menu.devices.iter().enumerate().skip(from) {
            self.barrier(at)?;
            if self.pick(ask, *device)?
                && self.onward(|search| search.fill(claim, request, ask, got + 1, at + 1, all))?
            {
                return Ok(true);
            }
        }
        self.barrier(menu.devices.len())?;
        Ok(false)
    }

    /// By a quirk an invalid pool at that place ends the search.
    fn barrier(&self, at: usize) -> Result<(), Stop> {
        match self.menu.barriers.iter().find(|(place, _)| *place == at) {
            Some((_, note)) => Err(Stop::Failed(Failure::InvalidPool(note.clone()))),
            None => Ok(()),
        }
    }

    /// Goes on with the last pick, and gives it back when that leads nowhere.
    fn onward(&mut self, next: impl FnOnce(&mut Self) -> Result<bool, Stop>) -> Result<bool, Stop> {
        if next(self)? {
            return Ok(true);
        }
        self.give_back();
        Ok(false)
    }

    /// Picks the device if nothing speaks against it.
    fn pick(&mut self, ask: usize, device: usize) -> Result<bool, Stop> {
        self.steps += 1;
        if self.steps > self.limit {
            return Err(Stop::Limit);
        }
        match self.check(ask, device)? {
            Ok(share) => {
                self.take(ask, device, share);
                self.look(ask, device, None);
                Ok(true)
            }
            Err(refusal) => {
                self.ends_the_attempt(ask, device, &refusal)?;
                self.look(ask, device, Some(refusal));
                Ok(false)
            }
        }
    }

    fn ends_the_attempt(&self, ask: usize, device: usize, refusal: &Refusal) -> Result<(), Stop> {
        let facts = &self.prepared.asks[ask];
        let quirk = self
            .world
            .quirks
            .has(Quirk::AllThatBreaksAConstraintEndsTheAttempt);
        if !quirk || facts.ask.mode != Mode::All || !matches!(refusal, Refusal::Constraint { .. }) {
            return Ok(());
        }
        Err(Stop::Failed(Failure::AllBreaksConstraint {
            claim: self.prepared.claims[facts.claim].key.clone(),
            request: facts.full_name.clone(),
            device: self.world.devices[device].id.clone(),
        }))
    }

    fn look(&mut self, ask: usize, device: usize, refusal: Option<Refusal>) {
        if let Some(looks) = &mut self.looks {
            let next = looks.list.len();
            let at = *looks.places.entry((ask, device)).or_insert(next);
            if at == next {
                looks.list.push((ask, device, refusal));
            }
        }
    }

    /// The checks in their order; a share's amounts, or why not.
    #[allow(clippy::type_complexity)]
    fn check(
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
    fn charged(&self, device: usize) -> bool {
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

    fn constraints(&mut self, ask: usize, device: usize) -> Result<Option<Refusal>, Stop> {
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
    fn forget(&mut self, ask: usize, before: usize) {
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

    fn take(&mut self, ask: usize, device: usize, share: Option<BTreeMap<Name, Quantity>>) {
        let facts = &self.prepared.asks[ask];
        let charges = !self.charged(device);
        let mut groups_before = Vec::new();
        if charges {
            self.attempt.charge(device);
            groups_before = self.attempt.join(device);
        }
        if !facts.ask.admin && share.is_none() {
            self.attempt.set_whole(device, true);
        }
        self.picks.push(Pick {
            claim: facts.claim,
            ask,
            device,
            share,
            charges,
            groups_before,
        });
    }

    /// Takes what a claim holds, without a question.
    pub(crate) fn put(&mut self, ask: usize, device: usize, held: &Held) {
        let share = held.share.as_ref().map(|_| held.consumed.clone());
        self.take(ask, device, share);
    }

    /// Whether nothing speaks against the device.
    pub(crate) fn fits(&mut self, ask: usize, device: usize) -> Result<bool, Failure> {
        match self.check(ask, device) {
            Ok(checked) => Ok(checked.is_ok()),
            Err(Stop::Failed(failure)) => Err(failure),
            Err(Stop::Limit) => Ok(false),
        }
    }

    fn give_back(&mut self) {
        let Some(pick) = self.picks.pop() else { return };
        self.forget(pick.ask, usize::MAX);
        self.lost.remove(&(pick.claim, pick.device));
        if pick.charges {
            let keeps =
                pick.share.is_some() && self.world.quirks.has(Quirk::RefusedDevicesStayCharged);
            if !keeps {
                self.attempt.discharge(pick.device);
            }
            self.attempt.leave(pick.groups_before);
        }
        if !self.prepared.asks[pick.ask].ask.admin && pick.share.is_none() {
            self.attempt.set_whole(pick.device, false);
        }
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
