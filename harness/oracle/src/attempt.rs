//! What an attempt has taken so far, over what is in use in the world, which stays as it is: counters, groups and devices.
//! Not which devices those are and why; that is the search. It holds only what differs, so that an attempt on one node of a
//! thousand costs what that node has.

use std::collections::{HashMap, HashSet};

use crate::counters::{Draws, Shortage};
use crate::groups::OnSet;
use crate::names::Name;

pub(crate) struct Attempt<'w> {
    draws: &'w Draws,
    /// Per counter: what is in use beyond the world's.
    used: HashMap<usize, i128>,
    /// Per counter set: the groups in use, where they differ from the world's.
    groups: HashMap<usize, OnSet>,
    /// Devices picked whole.
    whole: HashSet<usize>,
}

/// The groups of counter sets as they were before a device joined.
pub(crate) type Before = Vec<(usize, OnSet)>;

impl<'w> Attempt<'w> {
    pub(crate) fn new(draws: &'w Draws) -> Self {
        Attempt {
            draws,
            used: HashMap::new(),
            groups: HashMap::new(),
            whole: HashSet::new(),
        }
    }

    /// Charges the counters of a device.
    pub(crate) fn charge(&mut self, device: usize) {
        for (counter, amount) in self.draws.of(device) {
            *self.used.entry(*counter).or_default() += amount;
        }
    }

    /// Gives the counters of a device back.
    pub(crate) fn discharge(&mut self, device: usize) {
        for (counter, amount) in self.draws.of(device) {
            *self.used.entry(*counter).or_default() -= amount;
        }
    }

    /// The first counter that lacks what the device needs.
    pub(crate) fn shortage(&self, device: usize, whole_pool: bool) -> Option<Shortage> {
        let used = |counter: usize| {
            self.draws.used[counter] + self.used.get(&counter).copied().unwrap_or(0)
        };
        self.draws.shortage(device, used, whole_pool)
    }

    /// The groups of the device, if they do not go with those in use on one of its counter sets.
    pub(crate) fn outsider(&self, device: usize) -> Option<&'w [Name]> {
        let draws = self.draws;
        let of_device = draws.groups_of(device).iter();
        let mut refused = of_device.filter(|(set, groups)| !self.on(*set).admits(groups));
        refused.next().map(|(_, groups)| groups.as_slice())
    }

    /// Adds the device's groups to its counter sets.
    pub(crate) fn join(&mut self, device: usize) -> Before {
        let draws = self.draws;
        let mut before = Vec::new();
        for (set, groups) in draws.groups_of(device) {
            let was = self.on(*set).clone();
            self.groups.insert(*set, was.with(groups));
            before.push((*set, was));
        }
        before
    }

    /// Takes the device's groups from its counter sets.
    pub(crate) fn leave(&mut self, before: Before) {
        for (set, was) in before.into_iter().rev() {
            self.groups.insert(set, was);
        }
    }

    fn on(&self, set: usize) -> &OnSet {
        self.groups.get(&set).unwrap_or(&self.draws.groups[set])
    }

    /// Marks a device as picked whole, or as not.
    pub(crate) fn set_whole(&mut self, device: usize, whole: bool) {
        if whole {
            self.whole.insert(device);
        } else {
            self.whole.remove(&device);
        }
    }

    /// Whether the device is picked whole.
    pub(crate) fn is_whole(&self, device: usize) -> bool {
        self.whole.contains(&device)
    }
}
