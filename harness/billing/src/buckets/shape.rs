//! The kind of a card: its devices, what they weigh and draw. Cards of one kind share one shape.

use crate::text::Text;
use std::collections::BTreeMap;

use super::catalogue;
use super::fault::Fault;
use crate::book::{Part, Weights};
use crate::entry::Card;
use crate::fact::{Device, Slice};
use crate::ratio::Ratio;

/// A kind of card.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    /// The whole card in units that make every weight a whole number.
    pub(super) unit: i128,
    /// What it offers, and what it no longer offers while somebody still has it.
    pub(super) devices: Vec<Offer>,
    /// Its counters.
    pub(super) totals: Vec<i64>,
}

/// A device of a card.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Offer {
    /// In units of the shape.
    pub(super) weight: i128,
    /// Counter and amount.
    pub(super) draws: Vec<(usize, i64)>,
    /// It is in the newest complete pool.
    pub(super) published: bool,
}

/// A card as a pool publishes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Published {
    pub(super) card: Card,
    /// The counter set of its devices. What they draw on others, as one that takes two cards would, is not seen.
    set: Option<Text>,
    pub(super) devices: Vec<Device>,
    pub(super) totals: BTreeMap<Text, i64>,
}

impl Published {
    /// The cards of the slices of one pool. Devices that draw on one counter set are one card; without counters those that say
    /// one UUID, as their own or their parent's.
    pub(super) fn of_pool(slices: &[&Slice]) -> Vec<Published> {
        let mut cards: BTreeMap<String, Vec<&Device>> = BTreeMap::new();
        for device in slices.iter().flat_map(|slice| &slice.devices) {
            let uuid = device.says.get("parentUUID").or(device.says.get("uuid"));
            let key = match (device.draws.keys().next(), uuid) {
                (Some(set), _) => format!("set {set}"),
                (None, Some(uuid)) => format!("uuid {uuid}"),
                (None, None) => format!("device {}", device.name),
            };
            cards.entry(key).or_default().push(device);
        }
        let sets = || slices.iter().flat_map(|slice| &slice.sets);
        let pool = slices.first().map_or("", |slice| &*slice.pool);
        let published = cards.into_values().map(|devices| {
            let set = devices.iter().find_map(|device| device.draws.keys().next());
            let totals = set.and_then(|set| sets().find(|(name, _)| *name == set));
            Published {
                card: card(pool, &devices, set),
                set: set.cloned(),
                totals: totals.map(|(_, totals)| totals.clone()).unwrap_or_default(),
                devices: devices.into_iter().cloned().collect(),
            }
        });
        published.collect()
    }

    /// Its shape by these weights.
    pub(super) fn shape(
        &self,
        ghosts: &[Device],
        weights: &Weights,
    ) -> Result<(Shape, Vec<Ratio>), Fault> {
        let all = || self.devices.iter().chain(ghosts);
        let whole = Whole::of(self);
        let mut shares = Vec::new();
        for device in all() {
            let share = weights.share(profile(device), &whole.part(device)?);
            shares.push(share.map_err(|source| Fault::Weight {
                card: Box::new(self.card.clone()),
                source,
            })?);
        }
        let mut unit = Ratio::ONE;
        for share in &shares {
            // The unit grows to the least common multiple of the denominators.
            let reduced = unit.times(*share)?.denominator();
            unit = unit.times(Ratio::new(reduced, 1)?)?;
        }
        let counters: Vec<&Text> = self.totals.keys().collect();
        let offers = all().zip(&shares).enumerate().map(|(at, (device, share))| {
            let draws = device
                .draws
                .iter()
                .filter(|(set, _)| self.set.as_ref() == Some(set))
                .flat_map(|(_, counters)| counters)
                .filter(|(_, amount)| **amount > 0);
            let place = |name: &Text| counters.iter().position(|it| *it == name);
            Ok(Offer {
                weight: share.times(unit)?.numerator(),
                draws: draws
                    .filter_map(|(name, amount)| Some((place(name)?, *amount)))
                    .collect(),
                published: at < self.devices.len(),
            })
        });
        let shape = Shape {
            unit: unit.numerator(),
            devices: offers.collect::<Result<_, Fault>>()?,
            totals: self.totals.values().copied().collect(),
        };
        Ok((shape, shares))
    }

    /// The names of its counters, in the order of the shape's.
    pub(super) fn counter(&self, at: usize) -> &str {
        self.totals.keys().nth(at).map_or("a counter", |name| name)
    }
}

/// The profile of a partition; a whole card has none.
pub(super) fn profile(device: &Device) -> Option<&str> {
    device.says.get("profile").map(|profile| &**profile)
}

fn card(pool: &str, devices: &[&Device], set: Option<&Text>) -> Card {
    let whole = devices.iter().find(|device| profile(device).is_none());
    let first = devices.first().map_or("", |device| &*device.name);
    let name = match (whole, set) {
        (Some(whole), _) => &*whole.name,
        (None, Some(set)) => set.strip_suffix("-counter-set").unwrap_or(set),
        (None, None) => first.split_once("-mig-").map_or(first, |(card, _)| card),
    };
    let says = |device: &&&Device, what: &str| device.says.get(what).map(ToString::to_string);
    let own = whole.as_ref().and_then(|device| says(device, "uuid"));
    let parent = || {
        devices
            .iter()
            .find_map(|device| says(&device, "parentUUID"))
    };
    Card {
        pool: pool.to_owned(),
        name: name.to_owned(),
        uuid: own.or_else(parent),
        model: devices
            .iter()
            .find_map(|device| says(&device, "productName"))
            .unwrap_or_else(|| "unknown".to_owned()),
    }
}

/// All of a card in each measure.
struct Whole {
    compute: Option<i64>,
    memory: Option<i64>,
}

impl Whole {
    fn of(published: &Published) -> Self {
        let devices = &published.devices;
        let heaviest = || devices.iter().filter_map(|it| compute(profile(it)?)).max();
        // Where devices draw all there is of a card, some partition of it is as large as the card.
        let cut_freely = !published.totals.is_empty();
        let catalogue = catalogue::of(&published.card.model);
        let known = catalogue.as_ref().map(|whole| whole.compute_slices);
        let compute = known.or_else(|| cut_freely.then(heaviest).flatten());
        let counter = published.totals.get("memory").copied();
        let whole = devices.iter().find(|device| profile(device).is_none());
        let own = || whole.and_then(|device| device.capacity.get("memory").copied());
        let memory = counter
            .or_else(|| catalogue.map(|whole| whole.memory))
            .or_else(own);
        Self { compute, memory }
    }

    fn part(&self, device: &Device) -> Result<Part, Fault> {
        let of = |part: Option<i64>, whole: Option<i64>| {
            let both = part.zip(whole).filter(|(_, whole)| *whole > 0);
            both.map(|(part, whole)| Ratio::new(part.into(), whole.into()))
                .transpose()
        };
        let memory = device
            .draws
            .values()
            .find_map(|counters| counters.get("memory"));
        let memory = memory.or_else(|| device.capacity.get("memory"));
        Ok(Part {
            compute: of(profile(device).and_then(compute), self.compute)?,
            memory: of(memory.copied(), self.memory)?,
        })
    }
}

fn compute(profile: &str) -> Option<i64> {
    oracle::compute_slices(profile).map(i64::from)
}
