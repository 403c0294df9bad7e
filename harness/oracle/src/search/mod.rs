//! The search: claims, requests, alternatives and devices in order, with full backtracking; the first full choice wins.
//! No packing and no score. It runs on one node, over values of its own, and leaves the world as it is.
//! Whether a device may be picked is a matter of `checks` and `constraints`.

mod checks;
mod constraints;

use std::collections::{BTreeMap, HashMap, HashSet};

pub(crate) use checks::waits;

use crate::asks::Prepared;
use crate::attempt::{Attempt, Before};
use crate::forgetful::Memory;
use crate::menu::Menu;
use crate::names::Name;
use crate::objects::{Held, Mode};
use crate::quantity::Quantity;
use crate::quirks::Quirk;
use crate::selectors::Answers;
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
