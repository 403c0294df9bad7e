//! Pools: the slices of one driver and pool name, of the newest generation, whole and without contradictions.
//! Rules: facts of KEP-4381 (generation, resourceSliceCount) and KEP-4815 (counter sets of a pool).

use std::collections::{BTreeMap, BTreeSet};

use crate::gates::{Gate, Gates};
use crate::names::Name;
use crate::objects::{Slice, Span};
use crate::variant::Variant;
use crate::version::Version;

/// A generation of a pool as the world has it; slices by their index.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub(crate) driver: Name,
    pub(crate) name: Name,
    pub(crate) generation: i64,
    /// The slices of this generation, in the order in which their devices are looked at.
    pub(crate) slices: Vec<usize>,
    pub(crate) flaw: Option<Flaw>,
    /// Two devices have one name, perhaps on different nodes.
    pub(crate) twins: bool,
    /// There is a newer generation, so that nothing is taken from this one.
    pub(crate) obsolete: bool,
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
pub(crate) fn gather(slices: &[Slice], gates: &Gates, variant: Variant) -> Vec<Pool> {
    let sorted = variant.sorts_pools(gates.version());
    let mut pools: Vec<Pool> = Vec::new();
    let mut by_name: BTreeMap<(Name, Name, i64), usize> = BTreeMap::new();
    for (index, slice) in slices
        .iter()
        .enumerate()
        .filter(|(_, slice)| !hides_its_pool(slice, gates))
    {
        let key = (slice.driver.clone(), slice.pool.clone(), slice.generation);
        let at = *by_name.entry(key).or_insert_with(|| {
            pools.push(Pool {
                driver: slice.driver.clone(),
                name: slice.pool.clone(),
                generation: slice.generation,
                slices: Vec::new(),
                flaw: None,
                twins: false,
                obsolete: false,
            });
            pools.len() - 1
        });
        pools[at].slices.push(index);
    }
    let mut newest: BTreeMap<(Name, Name), i64> = BTreeMap::new();
    for pool in &pools {
        let known = newest
            .entry((pool.driver.clone(), pool.name.clone()))
            .or_insert(pool.generation);
        *known = pool.generation.max(*known);
    }
    for pool in &mut pools {
        pool.obsolete = newest
            .get(&(pool.driver.clone(), pool.name.clone()))
            .is_some_and(|newest| *newest > pool.generation);
        if sorted {
            pool.slices
                .sort_by(|a, b| slices[*a].name.cmp(&slices[*b].name));
        }
        pool.flaw = flaw(pool, slices, gates);
        pool.twins = twins(pool.slices.iter().map(|index| &slices[*index])).is_some();
        // In 1.34 counters stand beside devices, and do not keep these from being used.
        let unheard = gates.version() == Version::V1_34;
        let partitions = gates.has(Gate::PartitionableDevices);
        let used = |slice: &Slice| {
            partitions || !needs_partitions(slice) || (unheard && slice.span != Span::PerDevice)
        };
        pool.slices.retain(|index| used(&slices[*index]));
    }
    if sorted {
        pools.sort_by(|a, b| (&a.driver, &a.name).cmp(&(&b.driver, &b.name)));
    }
    pools
}

/// With groups off a slice that has some does not count: its pool is incomplete, for better nothing than something wrong.
fn hides_its_pool(slice: &Slice, gates: &Gates) -> bool {
    let mut consumptions = slice.devices.iter().flat_map(|device| &device.consumes);
    !gates.has(Gate::DeviceCompatibilityGroups)
        && consumptions.any(|consumption| !consumption.groups.is_empty())
}

/// With partitions off such a slice counts, and nothing is taken from it.
fn needs_partitions(slice: &Slice) -> bool {
    !slice.counter_sets.is_empty() || slice.span == Span::PerDevice
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

/// The first of ascending names that is not among others, which are ascending too.
fn first_not_in<'n>(
    names: impl Iterator<Item = &'n Name>,
    mut others: impl Iterator<Item = &'n Name>,
) -> Option<&'n Name> {
    names.into_iter().find(|name| {
        let next = others.find(|other| *other >= *name);
        next != Some(*name)
    })
}

/// A device name that stands twice in these slices.
pub(crate) fn twins<'s>(slices: impl Iterator<Item = &'s Slice>) -> Option<&'s Name> {
    let mut names = BTreeSet::new();
    slices
        .flat_map(|slice| &slice.devices)
        .map(|device| &device.name)
        .find(|name| !names.insert(*name))
}

/// The first thing in which the slices of a pool contradict each other or name what is not there.
/// Device names are another matter: they must differ among the slices that reach a node.
fn contradiction(pool: &Pool, slices: &[Slice], gates: &Gates) -> Option<String> {
    if gates.version() < Version::V1_35 || !gates.has(Gate::PartitionableDevices) {
        return None;
    }
    let members = || pool.slices.iter().map(|index| &slices[*index]);
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
            let unknown = first_not_in(consumption.counters.keys(), set.counters.keys());
            if let Some(counter) = unknown {
                return Some(format!(
                    "device {} consumes counter {counter}, which counter set {} has not",
                    device.name, set.name
                ));
            }
        }
    }
    None
}
