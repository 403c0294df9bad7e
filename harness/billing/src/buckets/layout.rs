//! The best layout that still fits: the heaviest set of free devices that the counters of a card allow at once.
//! Not here: what a device weighs (`shape`). The search is exact; each state of a kind of card is searched once.

use std::collections::HashMap;

use super::shape::Shape;

/// Answers by kind of card and what is in use of it.
#[derive(Debug, Default)]
pub(super) struct Layouts {
    known: HashMap<Asked, Best>,
}

/// What decides a layout.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Asked {
    shape: usize,
    held: Vec<bool>,
    tainted: Vec<bool>,
}

/// What a card can still give, in the units of its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Best {
    /// With the devices that can be had.
    pub(super) idle: i128,
    /// With those that are tainted too.
    pub(super) healthy: i128,
}

impl Layouts {
    /// `held` and `tainted` by device; `remaining` is what held devices leave of each counter, `free` of the card's weight.
    pub(super) fn best(
        &mut self,
        id: usize,
        shape: &Shape,
        held: &[bool],
        tainted: &[bool],
        remaining: &[i64],
        free: i128,
    ) -> Best {
        let asked = Asked {
            shape: id,
            held: held.to_vec(),
            tainted: tainted.to_vec(),
        };
        *self.known.entry(asked).or_insert_with(|| {
            let free_devices = |taints: bool| {
                let can = |at: &usize| {
                    !held[*at] && shape.devices[*at].published && (taints || !tainted[*at])
                };
                (0..shape.devices.len()).filter(can).collect()
            };
            let best = |devices| Search::new(shape, devices).best(0, remaining, free);
            let idle = best(free_devices(false));
            let healthy = if tainted.contains(&true) {
                best(free_devices(true)).max(idle)
            } else {
                idle
            };
            Best { idle, healthy }
        })
    }
}

struct Search<'s> {
    shape: &'s Shape,
    /// Devices that may be taken, the heaviest first.
    devices: Vec<usize>,
    /// By the first device that is not yet decided, what is left of the counters and of the weight.
    known: HashMap<(usize, Vec<i64>, i128), i128>,
}

impl<'s> Search<'s> {
    fn new(shape: &'s Shape, mut devices: Vec<usize>) -> Self {
        devices.sort_by_key(|at| std::cmp::Reverse(shape.devices[*at].weight));
        Self {
            shape,
            devices,
            known: HashMap::new(),
        }
    }

    fn best(&mut self, from: usize, remaining: &[i64], free: i128) -> i128 {
        let Some(at) = self.devices.get(from) else {
            return 0;
        };
        let key = (from, remaining.to_vec(), free);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let device = &self.shape.devices[*at];
        let fits = device.weight <= free
            && device
                .draws
                .iter()
                .all(|(counter, amount)| *amount <= remaining[*counter]);
        let mut best = 0;
        if fits {
            let mut left = remaining.to_vec();
            for (counter, amount) in &device.draws {
                left[*counter] -= amount;
            }
            best = device.weight + self.best(from + 1, &left, free - device.weight);
        }
        // Nothing is better than all of it.
        if best < free {
            best = best.max(self.best(from + 1, remaining, free));
        }
        self.known.insert(key, best);
        best
    }
}
