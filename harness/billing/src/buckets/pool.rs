//! The pools of a cluster: which slices there are, and the last edition that was complete.

use std::collections::{BTreeMap, HashMap};

use super::shape::Published;
use crate::fact::{Slice, Uid};
use crate::text::Text;

/// A driver and its pool.
pub(super) type PoolKey = (Text, Text);

/// A pool.
#[derive(Debug, Default)]
pub(super) struct Pool {
    slices: BTreeMap<Uid, Slice>,
    /// The cards of the last complete edition.
    pub(super) complete: Vec<Published>,
    /// Which card has a device.
    pub(super) index: HashMap<Text, Text>,
    pub(super) node: Option<Text>,
}

/// What is to be made of a pool whose slices have changed.
#[derive(Debug)]
pub(super) enum State {
    /// Its newest edition is complete, and is this.
    Complete(Vec<Published>),
    /// It is not, so that nothing is taken from it, and the last complete edition says what there is.
    Flawed(String),
}

impl Pool {
    pub(super) fn put(&mut self, uid: Uid, slice: Slice) {
        if slice.node.is_some() {
            self.node.clone_from(&slice.node);
        }
        self.slices.insert(uid, slice);
    }

    pub(super) fn withdraw(&mut self, uid: &Uid) {
        self.slices.remove(uid);
    }

    pub(super) fn state(&self) -> State {
        let Some(newest) = self.slices.values().map(|slice| slice.generation).max() else {
            return State::Flawed("pool withdrawn".to_owned());
        };
        let of_newest = self
            .slices
            .values()
            .filter(|slice| slice.generation == newest);
        let mut slices: Vec<&Slice> = of_newest.collect();
        let wanted = slices.first().map_or(0, |slice| slice.of);
        let found = slices.len();
        if i64::try_from(found) != Ok(wanted) {
            return State::Flawed(format!(
                "pool incomplete: {found} of {wanted} slices of generation {newest}"
            ));
        }
        // Slices of counters may come before or after those of the devices.
        slices.sort_by_key(|slice| slice.sets.is_empty());
        State::Complete(Published::of_pool(&slices))
    }

    pub(super) fn take(&mut self, cards: Vec<Published>) {
        let devices = cards.iter().flat_map(|card| {
            let name = Text::from(card.card.name.as_str());
            let of = move |device: &crate::fact::Device| (device.name.clone(), name.clone());
            card.devices.iter().map(of)
        });
        self.index = devices.collect();
        self.complete = cards;
    }
}
