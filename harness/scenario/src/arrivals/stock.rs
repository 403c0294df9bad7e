//! What is left on cards that are cut: how much of a card a device is, and how much of what is free is of no use.
//! Pure: published pools in, numbers out.

use std::collections::{BTreeMap, BTreeSet};

use crate::allocation::{Counters, DeviceView, PublishedPool, overdrawn, take};

/// By which counters a card's memory slices are told.
const SLICE: &str = "memory-slice-";

#[derive(Debug, Default)]
pub(crate) struct Stock {
    pools: Vec<PublishedPool>,
    /// The part of its card that each device was, also after it is withdrawn.
    weights: BTreeMap<(String, String), f64>,
}

impl Stock {
    /// What is published from now on.
    pub(crate) fn publish(&mut self, pools: Vec<PublishedPool>) {
        for pool in &pools {
            for device in &pool.devices {
                let key = (pool.pool.clone(), device.name.clone());
                self.weights.insert(key, weight(pool, device));
            }
        }
        self.pools = pools;
    }

    /// The part of its card that a device is; a device that was never published is a whole one.
    pub(crate) fn weight(&self, device: &(String, String)) -> f64 {
        self.weights.get(device).copied().unwrap_or(1.0)
    }

    /// External fragmentation, as it is known of memory: on each card the free memory slices beyond the largest partition that
    /// still fits, as a part of all free ones. 0 where nothing is free.
    pub(crate) fn stranded(&self, held: &BTreeSet<&(String, String)>) -> f64 {
        let (mut free, mut lost) = (0, 0);
        for pool in &self.pools {
            let mut used = Counters::new();
            for device in &pool.devices {
                if held.contains(&(pool.pool.clone(), device.name.clone())) {
                    take(&mut used, device);
                }
            }
            let mut sets: BTreeMap<&str, u128> = BTreeMap::new();
            for ((set, counter), there) in &pool.counters {
                if counter.starts_with(SLICE) {
                    let used = used.get(&(set.clone(), counter.clone()));
                    *sets.entry(set).or_default() +=
                        there.saturating_sub(used.copied().unwrap_or(0));
                }
            }
            for (set, left) in sets {
                let fits = |device: &&DeviceView| {
                    let mut with = used.clone();
                    take(&mut with, device);
                    overdrawn(&with, &pool.counters).is_empty()
                };
                let of_set = pool.devices.iter().filter(|it| slices(it, set) > 0);
                let largest = of_set.filter(fits).map(|it| slices(it, set)).max();
                free += left;
                lost += left.saturating_sub(largest.unwrap_or(0));
            }
        }
        match free {
            0 => 0.0,
            free => real(lost) / real(free),
        }
    }
}

/// Memory slices of a counter set that a device takes.
fn slices(device: &DeviceView, set: &str) -> u128 {
    let taken = device.consumes.iter();
    let taken = taken.filter(|((of, counter), _)| of == set && counter.starts_with(SLICE));
    taken.map(|(_, amount)| amount).sum()
}

fn weight(pool: &PublishedPool, device: &DeviceView) -> f64 {
    let counted = |counters: &Counters, set: &str| -> u128 {
        let all = counters.iter();
        let mine = all.filter(|((of, counter), _)| of == set && counter.starts_with(SLICE));
        mine.map(|(_, amount)| amount).sum()
    };
    let set = device.consumes.keys().find(|(_, it)| it.starts_with(SLICE));
    let Some((set, _)) = set else {
        return 1.0;
    };
    match counted(&pool.counters, set) {
        0 => 1.0,
        all => real(slices(device, set)) / real(all),
    }
}

/// A card has few slices.
#[allow(clippy::cast_precision_loss, reason = "a count of slices")]
fn real(count: u128) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, from: usize, size: usize) -> DeviceView {
        let slice = |at| (("card".to_owned(), format!("{SLICE}{at}")), 1);
        DeviceView {
            name: name.to_owned(),
            attributes: BTreeMap::new(),
            consumes: (from..from + size).map(slice).collect(),
        }
    }

    /// Eight slices; partitions of one slice anywhere and of four at 0 and 4, and the whole.
    fn card() -> Stock {
        let mut devices: Vec<DeviceView> = (0..8)
            .map(|at| device(&format!("one-{at}"), at, 1))
            .collect();
        devices.extend([
            device("half-0", 0, 4),
            device("half-4", 4, 4),
            device("all", 0, 8),
        ]);
        let whole = device("all", 0, 8);
        let mut stock = Stock::default();
        stock.publish(vec![PublishedPool {
            driver: "d".to_owned(),
            pool: "n".to_owned(),
            devices,
            counters: whole.consumes,
        }]);
        stock
    }

    #[test]
    fn what_is_free_and_cannot_be_had_together_is_stranded() {
        let stock = card();
        let part = |names: &[&str]| {
            let held: Vec<(String, String)> = names
                .iter()
                .map(|it| ("n".to_owned(), (*it).to_owned()))
                .collect();
            stock.stranded(&held.iter().collect())
        };
        let is = |part: f64, wanted: f64| assert!((part - wanted).abs() < 1e-9, "{part}");
        is(part(&[]), 0.0);
        // Seven are free, and four of them can be had at once.
        is(part(&["one-0"]), 3.0 / 7.0);
        // Six are free, three in each half: one at a time.
        is(part(&["one-0", "one-4"]), 5.0 / 6.0);
        is(part(&["half-0"]), 0.0);
        is(part(&["all"]), 0.0);
    }

    #[test]
    fn a_partition_is_its_part_of_the_card() {
        let stock = card();
        let of = |name: &str| stock.weight(&("n".to_owned(), name.to_owned()));
        assert!((of("one-3") - 0.125).abs() < 1e-9);
        assert!((of("half-4") - 0.5).abs() < 1e-9);
        assert!((of("all") - 1.0).abs() < 1e-9);
        assert!((of("another card") - 1.0).abs() < 1e-9);
    }
}
