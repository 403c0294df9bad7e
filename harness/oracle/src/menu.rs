//! What a node can be given: pools in order, devices in order.

use crate::gates::Gates;
use crate::names::Name;
use crate::objects::Node;
use crate::pool::Flaw;
use crate::version::Version;
use crate::world::World;

/// A node's menu.
#[derive(Debug)]
pub(crate) struct Menu<'w> {
    pub(crate) node: &'w Node,
    /// Devices in the order in which they are looked at.
    pub(crate) devices: Vec<usize>,
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

impl<'w> Menu<'w> {
    /// The menu with pools in that order; it is the pools' own unless an order is one of many.
    pub(crate) fn new(world: &'w World, node: &'w Node, order: &[usize]) -> Self {
        let mut devices = Vec::new();
        let mut flawed = Vec::new();
        let mut later = Vec::new();
        let by_pool = world.by_pool();
        for at in order {
            let pool = &world.pools[*at];
            if !pool
                .slices
                .iter()
                .any(|slice| world.slice_reaches(node, *slice))
            {
                continue;
            }
            if let Some(flaw) = &pool.flaw {
                flawed.push(PoolNote {
                    driver: pool.driver.clone(),
                    pool: pool.name.clone(),
                    flaw: flaw.clone(),
                });
            }
            if !serves(pool.flaw.as_ref(), &world.gates) {
                continue;
            }
            let mine: Vec<usize> = by_pool[*at]
                .clone()
                .filter(|device| world.reaches(node, &world.devices[*device]))
                .collect();
            let binding = mine.iter().any(|device| {
                !world
                    .device(&world.devices[*device])
                    .binding_conditions
                    .is_empty()
            });
            if binding {
                later.extend(mine)
            } else {
                devices.extend(mine)
            }
        }
        devices.extend(later);
        Menu {
            node,
            devices,
            flawed,
        }
    }
}

impl World {
    /// The range of each pool's devices.
    fn by_pool(&self) -> Vec<std::ops::Range<usize>> {
        let mut ranges = vec![0..0; self.pools.len()];
        for (at, entry) in self.devices.iter().enumerate() {
            let range = &mut ranges[entry.pool];
            if range.start == range.end {
                *range = at..at + 1;
            } else {
                range.end = at + 1;
            }
        }
        ranges
    }
}
