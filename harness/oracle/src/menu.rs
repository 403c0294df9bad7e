//! What a node can be given: pools in order, devices in order.

use crate::gates::{Gate, Gates};
use crate::names::Name;
use crate::objects::Node;
use crate::pool::{self, Flaw};
use crate::quirks::Quirk;
use crate::version::Version;
use crate::world::World;

/// A node's menu.
#[derive(Debug)]
pub(crate) struct Menu<'w> {
    pub(crate) node: &'w Node,
    /// Devices in the order in which they are looked at.
    pub(crate) devices: Vec<usize>,
    /// By a quirk: before which device the search comes to an invalid pool.
    pub(crate) barriers: Vec<(usize, PoolNote)>,
    /// Pools with something for this node from which nothing is taken.
    pub(crate) flawed: Vec<PoolNote>,
}

/// A pool that is passed over, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolNote {
    /// The driver.
    pub driver: Name,
    /// The pool.
    pub pool: Name,
    /// Why.
    pub flaw: Flaw,
}

/// Before 1.35 an incomplete pool serves all but `All`.
pub(crate) fn serves(flaw: Option<&Flaw>, gates: &Gates) -> bool {
    match flaw {
        None => true,
        Some(Flaw::Incomplete { .. }) => gates.version() < Version::V1_35,
        Some(Flaw::Invalid { .. }) => false,
    }
}

/// Two devices of one name among the slices that reach the node. On different nodes they count as one device.
fn twins_on(world: &World, node: &Node, at: usize) -> Option<Flaw> {
    let pool = &world.pools[at];
    if !pool.twins {
        return None;
    }
    let here = pool
        .slices
        .iter()
        .filter(|slice| world.slice_reaches(node, **slice))
        .map(|slice| &world.slices[*slice]);
    pool::twins(here).map(|name| Flaw::Invalid {
        why: format!("two devices are named {name}"),
    })
}

/// The quirk by which an old generation serves.
fn serves_all_the_same(world: &World, node: &Node, at: usize, here: usize) -> bool {
    let pool = &world.pools[at];
    let whole = pool
        .slices
        .first()
        .is_some_and(|slice| i64::try_from(here) == Ok(world.slices[*slice].slice_count));
    let newer = |other: &&pool::Pool| {
        other.driver == pool.driver && other.name == pool.name && other.generation > pool.generation
    };
    let mut newer = world
        .pools
        .iter()
        .filter(newer)
        .flat_map(|pool| &pool.slices);
    world
        .quirks
        .has(Quirk::OldGenerationServesWhereTheNewIsElsewhere)
        && whole
        && !newer.any(|slice| concerns(world, node, *slice))
}

/// Whether a pool comes after those without binding conditions: it has some on the node.
fn binds(world: &World, node: &Node, at: usize) -> bool {
    let here = world.pools[at]
        .slices
        .iter()
        .filter(|slice| world.slice_reaches(node, **slice));
    let mut neighbours = here.flat_map(|slice| &world.slices[*slice].devices);
    world.knows(Gate::DeviceBindingConditions)
        && neighbours.any(|device| !device.binding_conditions.is_empty())
}

/// Before 1.36 slices with binding conditions come last in their pool, not only pools with them.
fn slice_waits(world: &World, slice: usize) -> bool {
    world.slices[slice]
        .devices
        .iter()
        .any(|device| !device.binding_conditions.is_empty())
}

/// By a quirk a device of another node is looked at, for its neighbour in the slice is this node's.
fn asked_elsewhere(world: &World, node: &Node, device: usize) -> bool {
    let quirk = world.quirks.has(Quirk::SelectorsAreAskedOfDevicesElsewhere);
    quirk && world.slice_reaches(node, world.devices[device].slice)
}

/// By a quirk a pool is what reaches the node, and must be whole by that.
fn flaw_of_part(world: &World, at: usize, here: usize) -> Option<Flaw> {
    let wanted = world.pools[at]
        .slices
        .first()
        .map_or(0, |slice| world.slices[*slice].slice_count);
    let whole = i64::try_from(here) == Ok(wanted);
    let quirk = world.quirks.has(Quirk::PoolsAreWholePerNode);
    (quirk && !whole).then_some(Flaw::Incomplete {
        found: here,
        wanted,
    })
}

/// Whether a slice is one of the node's: it reaches the node, or by a quirk it holds counters.
fn concerns(world: &World, node: &Node, slice: usize) -> bool {
    let counters = !world.slices[slice].counter_sets.is_empty();
    world.slice_reaches(node, slice)
        || (counters && world.quirks.has(Quirk::CounterSlicesConcernEveryNode))
}

impl<'w> Menu<'w> {
    /// The menu with pools in that order; it is the pools' own unless an order is one of many.
    pub(crate) fn new(world: &'w World, node: &'w Node, order: &[usize]) -> Self {
        let mut devices = Vec::new();
        let mut flawed = Vec::new();
        let mut barriers = Vec::new();
        let mut later = Vec::new();
        let mut later_barriers = Vec::new();
        for at in order {
            let pool = &world.pools[*at];
            let here = pool
                .slices
                .iter()
                .filter(|slice| concerns(world, node, **slice))
                .count();
            if here == 0 || (pool.obsolete && !serves_all_the_same(world, node, *at, here)) {
                continue;
            }
            let twins = || twins_on(world, node, *at);
            let early = (world.gates.version() < Version::V1_35)
                .then(twins)
                .flatten();
            let flaw = early
                .or_else(|| flaw_of_part(world, *at, here))
                .or_else(|| pool.flaw.clone())
                .or_else(twins);
            let serves = serves(flaw.as_ref(), &world.gates);
            let binding = binds(world, node, *at);
            if let Some(flaw) = flaw {
                let note = PoolNote {
                    driver: pool.driver.clone(),
                    pool: pool.name.clone(),
                    flaw,
                };
                if matches!(note.flaw, Flaw::Invalid { .. })
                    && world.quirks.has(Quirk::AnInvalidPoolEndsTheAttempt)
                {
                    match binding {
                        true => later_barriers.push((later.len(), note.clone())),
                        false => barriers.push((devices.len(), note.clone())),
                    }
                }
                flawed.push(note);
            }
            if !serves {
                continue;
            }
            let mut mine: Vec<usize> = world
                .devices_of(*at)
                .filter(|device| {
                    world.reaches(node, &world.devices[*device])
                        || asked_elsewhere(world, node, *device)
                })
                .collect();
            if world.gates.version() < Version::V1_36 && world.knows(Gate::DeviceBindingConditions)
            {
                mine.sort_by_key(|device| slice_waits(world, world.devices[*device].slice));
            }
            if binding {
                later.extend(mine)
            } else {
                devices.extend(mine)
            }
        }
        let shifted = later_barriers.into_iter();
        barriers.extend(shifted.map(|(at, note)| (devices.len() + at, note)));
        devices.extend(later);
        Menu {
            node,
            devices,
            barriers,
            flawed,
        }
    }
}
