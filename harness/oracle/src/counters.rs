//! Shared counters (KEP-4815): what each device draws, and what is left.
//! Since 1.35 a counter set belongs to its pool, before to the slice that it stands in.

use std::collections::{BTreeMap, HashMap};

use crate::gates::{Gate, Gates};
use crate::groups::OnSet;
use crate::names::Name;
use crate::objects::Slice;
use crate::pool::Pool;
use crate::quantity::Quantity;
use crate::quirks::{Quirk, Quirks};
use crate::version::Version;
use crate::world::{Entry, Usage};

/// Every counter of every pool, and what devices draw on them.
#[derive(Debug, Default)]
pub(crate) struct Draws {
    /// Per counter: its set and name.
    pub(crate) counters: Vec<Counter>,
    /// Per counter: what is in use.
    pub(crate) used: Vec<i128>,
    /// Per device: counter and amount.
    of_device: Vec<Vec<(usize, i128)>>,
    /// Per device that consumes counters: where it does.
    scope_of_device: Vec<Option<(usize, usize)>>,
    /// Per counter set: the groups of the devices in use on it.
    pub(crate) groups: Vec<OnSet>,
    /// Per device: counter set and the groups it declares.
    groups_of_device: Vec<Vec<(usize, Vec<Name>)>>,
}

/// One counter.
#[derive(Debug)]
pub(crate) struct Counter {
    pub(crate) set: Name,
    pub(crate) name: Name,
    pub(crate) total: i128,
    /// The pool, and before 1.35 the slice, that it belongs to.
    scope: (usize, usize),
}

impl Counter {
    /// The pool that it belongs to.
    pub(crate) fn pool(&self) -> usize {
        self.scope.0
    }
}

/// A counter that does not have what a device needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The counter set.
    pub set: Name,
    /// The counter.
    pub counter: Name,
    /// What the device needs.
    pub needs: Quantity,
    /// What is left; negative if more is in use than there is.
    pub left: Quantity,
}

impl Draws {
    pub(crate) fn new(gates: &Gates, pools: &[Pool], slices: &[Slice], devices: &[Entry]) -> Self {
        let mut draws = Draws {
            of_device: vec![vec![]; devices.len()],
            scope_of_device: vec![None; devices.len()],
            groups_of_device: vec![vec![]; devices.len()],
            ..Draws::default()
        };
        if !gates.has(Gate::PartitionableDevices) {
            return draws;
        }
        let own_slice = gates.version() < Version::V1_35;
        let scope = |pool: usize, slice: usize| {
            if own_slice {
                (pool, slice)
            } else {
                (pool, usize::MAX)
            }
        };
        let mut sets: HashMap<(usize, usize), BTreeMap<Name, usize>> = HashMap::new();
        // Per counter set: its counters.
        let mut places: Vec<BTreeMap<Name, usize>> = Vec::new();
        for (at, pool) in pools.iter().enumerate() {
            for index in &pool.slices {
                for set in &slices[*index].counter_sets {
                    let (pool, slice) = scope(at, *index);
                    let of_scope = sets.entry((pool, slice)).or_default();
                    let id = *of_scope.entry(set.name.clone()).or_insert_with(|| {
                        places.push(BTreeMap::new());
                        places.len() - 1
                    });
                    for (name, total) in &set.counters {
                        places[id].insert(name.clone(), draws.counters.len());
                        draws.counters.push(Counter {
                            set: set.name.clone(),
                            name: name.clone(),
                            total: total.nanos(),
                            scope: (pool, slice),
                        });
                    }
                }
            }
        }
        let with_groups = gates.has(Gate::DeviceCompatibilityGroups);
        for (at, entry) in devices.iter().enumerate() {
            for consumption in &slices[entry.slice].devices[entry.index].consumes {
                let (pool, slice) = scope(entry.pool, entry.slice);
                draws.scope_of_device[at] = Some((pool, slice));
                let of_scope = sets.get(&(pool, slice));
                let Some(set) = of_scope.and_then(|sets| sets.get(&consumption.counter_set)) else {
                    continue;
                };
                // Both are in ascending order.
                let mut places = places[*set].iter().peekable();
                let known = consumption.counters.iter().filter_map(|(name, amount)| {
                    while places.next_if(|(other, _)| *other < name).is_some() {}
                    let (_, counter) = places.next_if(|(other, _)| *other == name)?;
                    Some((*counter, amount.nanos()))
                });
                draws.of_device[at].extend(known);
                if with_groups {
                    draws.groups_of_device[at].push((*set, consumption.groups.clone()));
                }
            }
        }
        draws.used = vec![0; draws.counters.len()];
        draws.groups = vec![OnSet::Free; places.len()];
        draws
    }

    /// Charges devices that are in use, once each, however many shares are out. By quirks shares charge nothing,
    /// and groups that do not go with those before do not count.
    pub(crate) fn charge_held(&mut self, usage: &[Usage], quirks: &Quirks) {
        let shares = !quirks.has(Quirk::SharesInUseChargeNoCounters);
        let mixed = quirks.has(Quirk::MixedGroupsAreIgnored);
        self.used.fill(0);
        self.groups.fill(OnSet::Free);
        let in_use = |usage: &Usage| usage.holder.is_some() || (shares && usage.shares > 0);
        for (device, _) in usage.iter().enumerate().filter(|(_, usage)| in_use(usage)) {
            for (counter, amount) in &self.of_device[device] {
                self.used[*counter] += amount;
            }
            for (set, groups) in &self.groups_of_device[device] {
                if !mixed || self.groups[*set].admits(groups) {
                    self.groups[*set] = self.groups[*set].with(groups);
                }
            }
        }
    }

    pub(crate) fn of(&self, device: usize) -> &[(usize, i128)] {
        &self.of_device[device]
    }

    pub(crate) fn groups_of(&self, device: usize) -> &[(usize, Vec<Name>)] {
        &self.groups_of_device[device]
    }

    /// The first counter that lacks what the device needs, when `used` says how much of each is in use.
    /// By a quirk a counter of the same pool that is overcommitted counts too.
    pub(crate) fn shortage(
        &self,
        device: usize,
        used: impl Fn(usize) -> i128,
        whole_pool: bool,
    ) -> Option<Shortage> {
        let lacks = |counter: usize, amount: i128| {
            let known = &self.counters[counter];
            let left = known.total - used(counter);
            (left < amount).then(|| Shortage {
                set: known.set.clone(),
                counter: known.name.clone(),
                needs: Quantity::from_nanos(amount),
                left: Quantity::from_nanos(left),
            })
        };
        let own = self.of_device[device]
            .iter()
            .find_map(|(counter, amount)| lacks(*counter, *amount));
        own.or_else(|| {
            let scope = self.scope_of_device[device].filter(|_| whole_pool)?;
            let others = self
                .counters
                .iter()
                .enumerate()
                .filter(|(_, counter)| counter.scope == scope);
            others
                .map(|(at, _)| at)
                .find_map(|counter| lacks(counter, 0))
        })
    }
}
