//! The stock of a cluster: each device in the order in which it is looked at, who has it, and whether it can be had now.
//! Not for a claim: what depends on a request (selectors, constraints, tolerations) is not asked, but for classes.

use crate::counters::Shortage;
use crate::menu::{self, PoolNote};
use crate::names::{DeviceId, Name};
use crate::objects::{ClaimKey, Reach};
use crate::quantity::Quantity;
use crate::selectors::Runs;
use crate::taints;
use crate::weight::Weight;
use crate::world::World;

/// A device and how it stands.
#[derive(Clone, Debug)]
pub struct Stocked {
    /// Its place in the world.
    at: usize,
    /// Its identity.
    pub id: DeviceId,
    /// The node it belongs to; `None` if it is for several.
    pub node: Option<Name>,
    /// The profile of a partition.
    pub profile: Option<Name>,
    /// What the card is called.
    pub product: Option<Name>,
    /// Its weight.
    pub weight: Weight,
    /// The counter sets that it draws on.
    pub sets: Vec<Name>,
    /// The memory slices that it draws, by number.
    pub memory_slices: Vec<u32>,
    /// Who has it, or why it cannot be had.
    pub state: State,
    /// How many shares of it are out.
    pub shares: usize,
}

/// Whether a device can be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Yes.
    Free,
    /// A claim has it.
    Held(ClaimKey),
    /// Not by a request that does not tolerate it.
    Tainted(String),
    /// A counter lacks what it needs: neighbours have it.
    Short(Shortage),
    /// Nothing is taken from its pool.
    Pool(PoolNote),
}

/// A counter, and what is left of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterLeft {
    /// The driver.
    pub driver: Name,
    /// The pool.
    pub pool: Name,
    /// The counter set.
    pub set: Name,
    /// The counter.
    pub counter: Name,
    /// All of it.
    pub total: Quantity,
    /// What is left; negative if more is in use than there is.
    pub left: Quantity,
}

impl World {
    /// Every device of a pool's newest generation, in the order in which the allocator meets them.
    pub fn stock(&self) -> Vec<Stocked> {
        let current = |device: &usize| !self.pools[self.devices[*device].pool].obsolete;
        (0..self.devices.len())
            .filter(current)
            .map(|device| self.stocked(device))
            .collect()
    }

    fn stocked(&self, device: usize) -> Stocked {
        let entry = &self.devices[device];
        let known = self.device(entry);
        Stocked {
            at: device,
            id: entry.id.clone(),
            node: match self.reach_of(entry) {
                Some(Reach::Node(node)) => Some(node.clone()),
                _ => None,
            },
            profile: self.profile(device).cloned(),
            product: self.text(device, "productName").cloned(),
            weight: self.weight(device),
            sets: known
                .consumes
                .iter()
                .map(|consumption| consumption.counter_set.clone())
                .collect(),
            memory_slices: self.memory_slices(device),
            state: self.state(device),
            shares: self.usage[device].shares,
        }
    }

    fn state(&self, device: usize) -> State {
        let pool = &self.pools[self.devices[device].pool];
        if let Some(holder) = &self.usage[device].holder {
            return State::Held(holder.clone());
        }
        if let Some(flaw) = &pool.flaw
            && !menu::serves(Some(flaw), &self.gates)
        {
            return State::Pool(PoolNote {
                driver: pool.driver.clone(),
                pool: pool.name.clone(),
                flaw: flaw.clone(),
            });
        }
        let taint = taints::untolerated(&self.device(&self.devices[device]).taints, &[]);
        if let Some(taint) = taint.filter(|_| self.gates.has(crate::Gate::DeviceTaints)) {
            return State::Tainted(taint.to_string());
        }
        match self
            .draws
            .shortage(device, |counter| self.draws.used[counter], false)
        {
            Some(shortage) if self.usage[device].shares == 0 => State::Short(shortage),
            _ => State::Free,
        }
    }

    /// Of every counter of every pool: what is left.
    pub fn counters(&self) -> Vec<CounterLeft> {
        let left = |(at, counter): (usize, &crate::counters::Counter)| {
            let pool = &self.pools[counter.pool()];
            (!pool.obsolete).then(|| CounterLeft {
                driver: pool.driver.clone(),
                pool: pool.name.clone(),
                set: counter.set.clone(),
                counter: counter.name.clone(),
                total: Quantity::from_nanos(counter.total),
                left: Quantity::from_nanos(counter.total - self.draws.used[at]),
            })
        };
        self.draws
            .counters
            .iter()
            .enumerate()
            .filter_map(left)
            .collect()
    }

    /// The classes, by name.
    pub fn classes(&self) -> impl Iterator<Item = &crate::objects::Class> {
        self.classes.values()
    }

    /// Which devices of the stock a class admits, by their place in it; or the error of its selector.
    ///
    /// # Errors
    /// A selector cannot be compiled or fails on a device.
    pub fn admitted(
        &self,
        class: &crate::objects::Class,
        stock: &[Stocked],
    ) -> Result<Vec<usize>, String> {
        let mut runs = Runs::default();
        let mut admitted = Vec::new();
        for (at, stocked) in stock.iter().enumerate() {
            let facts = &self.device(&self.devices[stocked.at]).facts;
            let mut yes = true;
            for selector in &class.selectors {
                let expression = selector.expression.as_ref().map_err(ToString::to_string)?;
                yes = runs.holds(expression, facts).map_err(|error| {
                    format!("{:?}, asked of {}: {error}", selector.text, stocked.id)
                })?;
                if !yes {
                    break;
                }
            }
            if yes {
                admitted.push(at);
            }
        }
        Ok(admitted)
    }
}
