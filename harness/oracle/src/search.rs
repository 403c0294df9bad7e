//! The search: claims, requests, alternatives and devices in order, with full backtracking; the first full choice wins.
//! No packing and no score. It runs on one node, over values of its own, and leaves the world as it is.

use std::collections::{BTreeMap, HashMap};

use crate::asks::{AskFacts, Prepared};
use crate::capacity;
use crate::constraints;
use crate::gates::Gate;
use crate::groups::OnSet;
use crate::limits::RESULTS_PER_CLAIM;
use crate::menu::Menu;
use crate::names::Name;
use crate::objects::{Attribute, Mode};
use crate::quantity::Quantity;
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
    groups_before: Vec<(usize, OnSet)>,
}

pub(crate) struct Search<'w, 's> {
    world: &'w World,
    menu: &'s Menu<'w>,
    prepared: &'s Prepared<'w>,
    answers: &'s mut Answers,
    pub(crate) picks: Vec<Pick>,
    used: Vec<i128>,
    groups: Vec<OnSet>,
    /// Devices picked whole.
    taken: Vec<bool>,
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
            used: world.draws.used.clone(),
            groups: world.draws.groups.clone(),
            taken: vec![false; world.devices.len()],
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
            return Ok(self.pick(ask, *device)?
                && self.onward(|search| search.fill(claim, request, ask, got + 1, 0, all))?);
        }
        if matches!(facts.ask.mode, Mode::Exact(count) if got as u64 >= count) {
            return self.request(claim, request + 1, all);
        }
        let menu = self.menu;
        for (at, device) in menu.devices.iter().enumerate().skip(from) {
            if self.pick(ask, *device)?
                && self.onward(|search| search.fill(claim, request, ask, got + 1, at + 1, all))?
            {
                return Ok(true);
            }
        }
        Ok(false)
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
                self.look(ask, device, Some(refusal));
                Ok(false)
            }
        }
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
        let share = match self.share(facts, device) {
            Ok(share) => share,
            Err(lack) => return Ok(Err(Refusal::Capacity(lack))),
        };
        if let Some(refusal) = self.counters(device) {
            return Ok(Err(refusal));
        }
        let known = self.world.device(&self.world.devices[device]);
        if self.world.gates.has(Gate::DeviceTaints)
            && let Some(taint) = taints::untolerated(&known.taints, &facts.ask.tolerations)
        {
            return Ok(Err(Refusal::Tainted(taint.clone())));
        }
        match self.constraints(ask, device)? {
            Some(refusal) => Ok(Err(refusal)),
            None => Ok(Ok(share)),
        }
    }

    fn in_use(&self, facts: &AskFacts<'_>, device: usize) -> Option<Refusal> {
        if facts.ask.admin {
            return None;
        }
        if let Some(holder) = &self.world.usage[device].holder {
            return Some(Refusal::InUse { by: holder.clone() });
        }
        self.taken[device].then_some(Refusal::AlreadyPicked)
    }

    fn share(
        &self,
        facts: &AskFacts<'_>,
        device: usize,
    ) -> Result<Option<BTreeMap<Name, Quantity>>, capacity::Lack> {
        if !self.world.gates.has(Gate::ConsumableCapacity) {
            return Ok(None);
        }
        let entry = &self.world.devices[device];
        let has = &self.world.device(entry).facts.capacity;
        if !self.world.multiple(entry) {
            return capacity::whole(has, &facts.ask.capacity).map(|()| None);
        }
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
        capacity::shared(has, &facts.ask.capacity, here).map(Some)
    }

    /// Whether the counters of the device are charged already, by another share.
    fn charged(&self, device: usize) -> bool {
        self.world.multiple(&self.world.devices[device])
            && (self.world.usage[device].shares > 0
                || self.picks.iter().any(|pick| pick.device == device))
    }

    fn counters(&self, device: usize) -> Option<Refusal> {
        if self.charged(device) {
            return None;
        }
        if let Some(shortage) = self.world.draws.shortage(device, &self.used) {
            return Some(Refusal::Counter(shortage));
        }
        let refused = self
            .world
            .draws
            .groups_of(device)
            .iter()
            .find(|(set, groups)| !self.groups[*set].admits(groups));
        refused.map(|(_, groups)| Refusal::Group {
            groups: groups.clone(),
        })
    }

    fn constraints(&mut self, ask: usize, device: usize) -> Result<Option<Refusal>, Stop> {
        let prepared = self.prepared;
        let facts = &prepared.asks[ask];
        let claim = prepared.claims[facts.claim];
        let lists = self.world.gates.has(Gate::ListTypeAttributes);
        for (index, constraint) in claim.constraints.iter().enumerate() {
            if !constraint.concerns(&facts.request, &facts.full_name) {
                continue;
            }
            let name = constraint.attribute();
            let mine = self.attribute(ask, device, name)?;
            let mut before = Vec::new();
            for pick in self.picks.clone() {
                let other = &prepared.asks[pick.ask];
                if pick.claim == facts.claim
                    && constraint.concerns(&other.request, &other.full_name)
                {
                    before.extend(self.attribute(pick.ask, pick.device, name)?);
                }
            }
            let before: Vec<&Attribute> = before.iter().collect();
            if let Err(breach) = constraints::joins(&constraint.must, mine.as_ref(), &before, lists)
            {
                return Ok(Some(Refusal::Constraint {
                    index,
                    attribute: name.clone(),
                    breach,
                }));
            }
        }
        Ok(None)
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
            for (counter, amount) in self.world.draws.of(device) {
                self.used[*counter] += amount;
            }
            for (set, groups) in self.world.draws.groups_of(device) {
                let with = self.groups[*set].with(groups);
                groups_before.push((*set, std::mem::replace(&mut self.groups[*set], with)));
            }
        }
        if !facts.ask.admin && share.is_none() {
            self.taken[device] = true;
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

    fn give_back(&mut self) {
        let Some(pick) = self.picks.pop() else { return };
        if pick.charges {
            for (counter, amount) in self.world.draws.of(pick.device) {
                self.used[*counter] -= amount;
            }
            for (set, before) in pick.groups_before.into_iter().rev() {
                self.groups[set] = before;
            }
        }
        if !self.prepared.asks[pick.ask].ask.admin && pick.share.is_none() {
            self.taken[pick.device] = false;
        }
    }
}
