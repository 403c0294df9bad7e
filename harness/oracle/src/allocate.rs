//! The questions: what do these claims get on this node, on every node, and in every order that pools may come in.

use std::collections::HashMap;

use crate::asks::Prepared;
use crate::capacity;
use crate::gates::Gate;
use crate::menu::Menu;
use crate::names::Name;
use crate::objects::{Ask, Claim, Mode, Node, Pod};
use crate::quirks::Quirk;
use crate::result;
use crate::search::{Search, Stop, waits};
use crate::selectors::{Answers, Said};
use crate::verdict::{Answer, Failure, Refused, Verdict};
use crate::world::World;

/// How a question is asked.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// Devices tried before the search is given up.
    pub steps: u64,
    /// Keep what was looked at.
    pub explain: bool,
}

impl Default for How {
    fn default() -> Self {
        How {
            steps: 10_000_000,
            explain: true,
        }
    }
}

/// What one claim gets on every node, node by node.
pub fn allocate(world: &World, claim: &Claim) -> Vec<Verdict> {
    allocate_together(world, &[claim], How::default())
}

/// What the claims of one pod get on every node, node by node.
pub fn allocate_together(world: &World, claims: &[&Claim], how: How) -> Vec<Verdict> {
    let mut answers = Answers::default();
    world
        .nodes
        .iter()
        .map(|node| on_node(world, claims, node, how, &world.order(node), &mut answers))
        .collect()
}

/// What the claims of a pod get on every node, together with the one that is made for its extended resources, the last of them.
pub fn allocate_pod(world: &World, claims: &[&Claim], pod: &Pod, how: How) -> Vec<Verdict> {
    let made: Vec<_> = world
        .nodes
        .iter()
        .map(|node| world.extended(pod, node))
        .collect();
    // Answers are kept by request: only nodes for which the same requests are made can share them.
    let mut kept: HashMap<Vec<&Name>, Answers> = HashMap::new();
    let mut verdicts = Vec::new();
    for (node, made) in world.nodes.iter().zip(&made) {
        let made = match made {
            Ok(made) => made.as_ref().map(|made| &made.claim),
            Err(refused) => {
                verdicts.push(Verdict::without_a_look(node, refused.clone()));
                continue;
            }
        };
        let requests = made.iter().flat_map(|claim| &claim.requests);
        let answers = kept
            .entry(requests.map(|request| &request.name).collect())
            .or_default();
        let together: Vec<&Claim> = claims.iter().copied().chain(made).collect();
        let order = world.order(node);
        verdicts.push(on_node(world, &together, node, how, &order, answers));
    }
    verdicts
}

/// What the claims of one pod get on one node.
pub fn allocate_on(world: &World, claims: &[&Claim], node: &Node, how: How) -> Verdict {
    let order = world.order(node);
    on_node(world, claims, node, how, &order, &mut Answers::default())
}

/// Every answer that is right where the order of pools is not specified. One where it is.
pub fn allocate_in_any_order(
    world: &World,
    claims: &[&Claim],
    node: &Node,
    how: How,
) -> Vec<Verdict> {
    if world.variant.sorts_pools(world.gates.version()) {
        return vec![allocate_on(world, claims, node, how)];
    }
    let mut answers = Answers::default();
    let mut verdicts: Vec<Verdict> = Vec::new();
    for order in permutations(&world.order(node)) {
        if world.quirks.has(Quirk::AlternativesShareAnswers) {
            // Then an answer depends on what was asked before.
            answers = Answers::default();
        }
        let verdict = on_node(world, claims, node, how, &order, &mut answers);
        if !verdicts.iter().any(|known| known.answer == verdict.answer) {
            verdicts.push(verdict);
        }
    }
    verdicts
}

fn permutations(order: &[usize]) -> Vec<Vec<usize>> {
    let Some((first, rest)) = order.split_first() else {
        return vec![vec![]];
    };
    let shorter = permutations(rest);
    let inserted = |order: Vec<usize>| {
        (0..=order.len()).map(move |at| {
            let mut longer = order.clone();
            longer.insert(at, *first);
            longer
        })
    };
    shorter.into_iter().flat_map(inserted).collect()
}

fn on_node<'w>(
    world: &'w World,
    claims: &[&'w Claim],
    node: &'w Node,
    how: How,
    order: &[usize],
    answers: &mut Answers,
) -> Verdict {
    let menu = Menu::new(world, node, order);
    let mut verdict = Verdict {
        node: node.name.clone(),
        answer: Answer::Refused(Refused::NoChoice),
        looks: vec![],
        pools: menu.flawed.clone(),
        steps: 0,
    };
    verdict.answer = match Prepared::new(world, claims) {
        Err(failure) => Answer::Failed(failure),
        Ok(prepared) => answer(world, &menu, &prepared, how, answers, &mut verdict),
    };
    verdict
}

fn answer<'w>(
    world: &'w World,
    menu: &Menu<'w>,
    prepared: &Prepared<'w>,
    how: How,
    answers: &mut Answers,
    verdict: &mut Verdict,
) -> Answer {
    let all = match all_devices(world, menu, prepared, answers) {
        Ok(Ok(all)) => all,
        Ok(Err(refused)) => return Answer::Refused(refused),
        Err(failure) => return Answer::Failed(failure),
    };
    if world.quirks.has(Quirk::AlternativesShareAnswers) {
        // They are kept only while all devices are collected.
        *answers = Answers::default();
    }
    let count = |ask: usize| all.get(&ask).map_or(0, |devices| devices.len() as u64);
    if let Some((claim, asked)) = prepared.too_many(|_| 0) {
        return Answer::Failed(Failure::TooMany { claim, asked });
    }
    if let Some((claim, asked)) = prepared.too_many(count) {
        if world.quirks.has(Quirk::AllOverTheLimitEndsTheAttempt) {
            return Answer::Failed(Failure::TooMany { claim, asked });
        }
        return Answer::Refused(Refused::TooMany { claim, asked });
    }
    let mut search = Search::new(world, menu, prepared, answers, how.steps, how.explain);
    let found = search.run(&all);
    verdict.steps = search.steps();
    let answer = match found {
        Ok(true) => Answer::Allocated(result::allocations(
            world,
            menu.node,
            prepared,
            &search.picks,
        )),
        Ok(false) => Answer::Refused(Refused::NoChoice),
        Err(Stop::Failed(failure)) => Answer::Failed(failure),
        Err(Stop::Limit) => Answer::GaveUp { steps: how.steps },
    };
    verdict.looks = search.looks();
    answer
}

/// For each request for all devices: those that its selectors admit and that have the capacity, in use or not.
#[allow(clippy::type_complexity)]
fn all_devices<'w>(
    world: &'w World,
    menu: &Menu<'w>,
    prepared: &Prepared<'w>,
    answers: &mut Answers,
) -> Result<Result<HashMap<usize, Vec<usize>>, Refused>, Failure> {
    let mut all = HashMap::new();
    for (at, facts) in prepared
        .asks
        .iter()
        .enumerate()
        .filter(|(_, facts)| facts.ask.mode == Mode::All)
    {
        if let Some(flawed) = menu.flawed.first() {
            if world.quirks.has(Quirk::AllFromFlawedPoolEndsTheAttempt) {
                return Err(Failure::AllFromFlawedPool(flawed.clone()));
            }
            return Ok(Err(Refused::AllFromFlawedPool(flawed.clone())));
        }
        let kept_as = if world.quirks.has(Quirk::AlternativesShareAnswers) {
            prepared.alternative_before(at)
        } else {
            at
        };
        let mut devices = Vec::new();
        for device in &menu.devices {
            let admitted = matches!(answers.ask(world, facts, kept_as, *device)?, Said::Yes);
            let here = world.reaches(menu.node, &world.devices[*device]);
            if admitted
                && here
                && waits(world, *device).is_none()
                && counts(world, facts.ask, *device)
            {
                devices.push(*device);
            }
        }
        all.insert(at, devices);
    }
    Ok(Ok(all))
}

/// Whether a request for all devices counts a device in, by its capacity.
fn counts(world: &World, ask: &Ask, device: usize) -> bool {
    if !world.gates.has(Gate::ConsumableCapacity) {
        return true;
    }
    let entry = &world.devices[device];
    let has = &world.device(entry).facts.capacity;
    let passed_over =
        world.quirks.has(Quirk::AllPassesOverFullShares) && world.multiple(entry) && {
            let out = &world.usage[device].consumed;
            capacity::shared(has, &ask.capacity, |name| out.get(name)).is_err()
        };
    capacity::admits(has, &ask.capacity) && !passed_over
}
