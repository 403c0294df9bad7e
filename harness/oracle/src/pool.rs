//! Pools: the slices of one driver and pool name, of the newest generation, whole and without contradictions.
//! Rules: facts of KEP-4381 (generation, resourceSliceCount) and KEP-4815 (counter sets of a pool).

use std::collections::{BTreeMap, BTreeSet};

use crate::gates::{Gate, Gates};
use crate::names::Name;
use crate::objects::{Slice, Span};
use crate::version::Version;

/// A pool as the world has it; slices by their index.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub(crate) driver: Name,
    pub(crate) name: Name,
    pub(crate) generation: i64,
    /// The slices of the newest generation, in the order in which their devices are looked at.
    pub(crate) slices: Vec<usize>,
    pub(crate) flaw: Option<Flaw>,
}

/// Why nothing is taken from a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Not all slices of the newest generation are there.
    Incomplete {
        /// Slices found.
        found: usize,
        /// Slices that the pool says it has.
        wanted: i64,
    },
    /// The slices contradict each other.
    Invalid {
        /// How.
        why: String,
    },
}

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Flaw::Incomplete { found, wanted } => {
                write!(
                    f,
                    "incomplete: {found} of {wanted} slices of the newest generation are published"
                )
            }
            Flaw::Invalid { why } => write!(f, "invalid: {why}"),
        }
    }
}

/// Sorts slices into pools, in the order of the first slice of each.
pub(crate) fn gather(slices: &[Slice], gates: &Gates, sorted: bool) -> Vec<Pool> {
    let mut pools: Vec<Pool> = Vec::new();
    let mut by_name: BTreeMap<(Name, Name), usize> = BTreeMap::new();
    for (index, slice) in slices.iter().enumerate() {
        if !gates.has(Gate::PartitionableDevices)
            && (!slice.counter_sets.is_empty() || slice.span == Span::PerDevice)
        {
            continue;
        }
        let key = (slice.driver.clone(), slice.pool.clone());
        let at = *by_name.entry(key).or_insert_with(|| {
            pools.push(Pool {
                driver: slice.driver.clone(),
                name: slice.pool.clone(),
                generation: slice.generation,
                slices: Vec::new(),
                flaw: None,
            });
            pools.len() - 1
        });
        let pool = &mut pools[at];
        if slice.generation > pool.generation {
            pool.generation = slice.generation;
            pool.slices.clear();
        }
        if slice.generation == pool.generation {
            pool.slices.push(index);
        }
    }
    for pool in &mut pools {
        if sorted {
            pool.slices
                .sort_by(|a, b| slices[*a].name.cmp(&slices[*b].name));
        }
        pool.flaw = flaw(pool, slices, gates);
    }
    if sorted {
        pools.sort_by(|a, b| (&a.driver, &a.name).cmp(&(&b.driver, &b.name)));
    }
    pools
}

fn flaw(pool: &Pool, slices: &[Slice], gates: &Gates) -> Option<Flaw> {
    let wanted = pool
        .slices
        .first()
        .map_or(0, |first| slices[*first].slice_count);
    if i64::try_from(pool.slices.len()) != Ok(wanted) {
        return Some(Flaw::Incomplete {
            found: pool.slices.len(),
            wanted,
        });
    }
    contradiction(pool, slices, gates).map(|why| Flaw::Invalid { why })
}

/// The first thing in which the slices of a pool contradict each other or name what is not there.
fn contradiction(pool: &Pool, slices: &[Slice], gates: &Gates) -> Option<String> {
    let members = || pool.slices.iter().map(|index| &slices[*index]);
    let mut devices = BTreeSet::new();
    for device in members().flat_map(|slice| &slice.devices) {
        if !devices.insert(&device.name) {
            return Some(format!("two devices are named {}", device.name));
        }
    }
    if gates.version() < Version::V1_35 || !gates.has(Gate::PartitionableDevices) {
        return None;
    }
    let mut sets = BTreeMap::new();
    for set in members().flat_map(|slice| &slice.counter_sets) {
        if sets.insert(&set.name, set).is_some() {
            return Some(format!("two counter sets are named {}", set.name));
        }
    }
    for device in members().flat_map(|slice| &slice.devices) {
        for consumption in &device.consumes {
            let Some(set) = sets.get(&consumption.counter_set) else {
                return Some(format!(
                    "device {} consumes counter set {}, which the pool has not",
                    device.name, consumption.counter_set
                ));
            };
            if let Some(counter) = consumption
                .counters
                .keys()
                .find(|counter| !set.counters.contains_key(*counter))
            {
                return Some(format!(
                    "device {} consumes counter {counter}, which counter set {} has not",
                    device.name, set.name
                ));
            }
        }
    }
    None
}
