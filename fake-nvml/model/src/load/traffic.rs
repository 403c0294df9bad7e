//! What loads move over PCI Express and NVLink, and the exact counters that follow from it.
//!
//! A load says how much it moves when it is at its busiest; its curve says when that is (one that is never busy moves it all the
//! time). Where loads together could ask for more than the card's links carry, each gets its part, as with its share of the card: so
//! while the same loads run over the same links every rate is a constant times a curve, and counters are areas.
use super::{Load, Shape};
use crate::{
    ids::GiId,
    machine::Gpu,
    rate::Rate,
    spec::{Pcie, Spec},
    units::Now,
};
use serde::{Deserialize, Serialize};

/// Both directions of a link, as the card sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow<T = Rate> {
    /// From the card.
    pub sent: T,
    /// To the card.
    pub received: T,
}

/// What a load moves at its busiest, or what a card moves at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Over PCI Express.
    pub pcie: Flow,
    /// Over NVLink: over all its links together.
    pub nvlink: Flow,
}

/// Bytes that a card has moved since the machine was made; they never fall.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Over PCI Express.
    pub pcie: Flow<u64>,
    /// Over each NVLink, by its number.
    pub links: Vec<Flow<u64>>,
}

/// What was moved up to a moment, in [`BYTE`]s, so that nothing is lost when loads come and go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counted {
    pcie: Flow<u128>,
    links: Vec<Flow<u128>>,
    since: Now,
}

/// One byte, in what a rate makes of twice the area under a curve.
const BYTE: u128 = 2 * Shape::FULL as u128 * 1_000_000;

impl<T> Flow<T> {
    fn each<U>(self, mut of: impl FnMut(T) -> U) -> Flow<U> {
        Flow {
            sent: of(self.sent),
            received: of(self.received),
        }
    }

    fn with<U, V>(self, other: Flow<U>, mut of: impl FnMut(T, U) -> V) -> Flow<V> {
        Flow {
            sent: of(self.sent, other.sent),
            received: of(self.received, other.received),
        }
    }
}

impl Flow {
    /// Whether nothing moves.
    pub const fn is_none(self) -> bool {
        self.sent.0 == 0 && self.received.0 == 0
    }
}

impl Traffic {
    /// Whether nothing moves.
    pub const fn is_none(self) -> bool {
        self.pcie.is_none() && self.nvlink.is_none()
    }

    /// What `gpu` moves at `now`, or (`gi`) what a GPU instance of it does.
    pub fn of(spec: &Spec, gpu: &Gpu, gi: Option<GiId>, now: Now) -> Self {
        let mut sum = Self::default();
        let within = |(load, _): &(&Load, Self)| gi.is_none() || load.gi == gi;
        for (load, most) in parts(spec, gpu, now).filter(within) {
            let (level, full) = match load.shape.peak() {
                0 => (1, 1),
                peak => {
                    let level = load.shape.level_fine(now.since(load.since));
                    (u128::from(level), u128::from(peak) * 1_000)
                }
            };
            let add = |sum: Rate, most: Rate| {
                let rate = u64::try_from(u128::from(most.0) * level / full).unwrap_or(u64::MAX);
                Rate(sum.0.saturating_add(rate))
            };
            sum.pcie = sum.pcie.with(most.pcie, add);
            sum.nvlink = sum.nvlink.with(most.nvlink, add);
        }
        sum
    }
}

impl Gpu {
    /// Bytes that the card has moved up to `now`. If the clock lies before what was counted last, it is what was counted then.
    pub fn moved(&self, spec: &Spec, now: Now) -> Moved {
        let bytes = |counted: u128| u64::try_from(counted / BYTE).unwrap_or(u64::MAX);
        let counted = counted(spec, self, now);
        let links = spec.nvlink.as_ref().map_or(0, |nvlink| nvlink.links);
        let of = |link: usize| counted.links.get(link).copied().unwrap_or_default();
        Moved {
            pcie: counted.pcie.each(bytes),
            links: (0..links as usize)
                .map(|link| of(link).each(bytes))
                .collect(),
        }
    }

    /// Counts what was moved up to `now` and goes on counting from `from` (the same moment, unless the clock is being set).
    pub(crate) fn settle_moved(&mut self, spec: &Spec, now: Now, from: Now) {
        self.moved = Counted {
            since: from,
            ..counted(spec, self, now)
        };
    }
}

fn counted(spec: &Spec, gpu: &Gpu, now: Now) -> Counted {
    let mut counted = gpu.moved.clone();
    let up: Vec<usize> = links_up(spec, gpu).collect();
    for (from, to) in gpu.phases(counted.since, now) {
        for (load, most) in parts(spec, gpu, from) {
            let area = worked(&load.shape, from.since(load.since), to.since(load.since));
            let add =
                |sum: u128, most: Rate| sum.saturating_add(area.saturating_mul(most.0.into()));
            counted.pcie = counted.pcie.with(most.pcie, add);
            if most.nvlink.is_none() {
                continue;
            }
            let add = |sum: u128, most: Rate| {
                sum.saturating_add(area.saturating_mul(most.0.into()) / up.len() as u128)
            };
            for &link in &up {
                if counted.links.len() <= link {
                    counted.links.resize(link + 1, Flow::default());
                }
                if let Some(counter) = counted.links.get_mut(link) {
                    *counter = counter.with(most.nvlink, add);
                }
            }
        }
    }
    counted
}

/// Twice the area under a curve, as if its peak were [`Shape::FULL`].
fn worked(shape: &Shape, from: u64, to: u64) -> u128 {
    match shape.peak() {
        0 => 2 * u128::from(Shape::FULL) * u128::from(to.saturating_sub(from)),
        peak => {
            let area = shape.area_twice(to).saturating_sub(shape.area_twice(from));
            area * u128::from(Shape::FULL) / u128::from(peak)
        }
    }
}

/// The loads that run at `now`, and what each moves at its busiest once they share the links.
fn parts<'a>(spec: &Spec, gpu: &'a Gpu, now: Now) -> impl Iterator<Item = (&'a Load, Traffic)> {
    let running: Vec<&Load> = gpu
        .running(now)
        .filter(|it| !it.traffic.is_none())
        .collect();
    let asked = |of: fn(&Traffic) -> Flow| {
        running.iter().fold(Flow::<u128>::default(), |sum, load| {
            sum.with(of(&load.traffic), |sum, rate| sum + u128::from(rate.0))
        })
    };
    let (pcie, nvlink) = (asked(|it| it.pcie), asked(|it| it.nvlink));
    let (by_pcie, by_nvlink) = (
        spec.pcie.and_then(Pcie::carries),
        carried_by_links(spec, gpu),
    );
    running.into_iter().map(move |load| {
        let of = |flow: Flow, asked: Flow<u128>, carried| {
            flow.with(asked, |rate, asked| part(rate, asked, carried))
        };
        let traffic = Traffic {
            pcie: of(load.traffic.pcie, pcie, by_pcie),
            nvlink: of(load.traffic.nvlink, nvlink, by_nvlink),
        };
        (load, traffic)
    })
}

/// A load's part of a link that carries so much when all together ask for so much, in bytes a second.
fn part(rate: Rate, asked: u128, carried: Option<Rate>) -> Rate {
    match carried.map(|carried| u128::from(carried.0)) {
        Some(carried) if asked > carried => {
            Rate(u64::try_from(u128::from(rate.0) * carried / asked).unwrap_or(u64::MAX))
        }
        _ => rate,
    }
}

fn links_up<'a>(spec: &Spec, gpu: &'a Gpu) -> impl Iterator<Item = usize> + 'a {
    let links = spec.nvlink.as_ref().map_or(0, |nvlink| nvlink.links);
    (0..links)
        .filter(|&link| gpu.health.link_up(link))
        .map(|link| link as usize)
}

/// What the links that are up carry together in one direction; `None` if their speed is not known.
fn carried_by_links(spec: &Spec, gpu: &Gpu) -> Option<Rate> {
    let up = u64::try_from(links_up(spec, gpu).count()).ok()?;
    if up == 0 {
        return Some(Rate(0));
    }
    let speed = spec.nvlink.as_ref()?.link_speed_mbps?;
    Some(Rate(u64::from(speed) * 1_000_000 * up))
}

impl Pcie {
    /// What the widest and fastest link of the card carries in one direction, without what packets take; `None` for a generation
    /// that is not known.
    pub fn carries(self) -> Option<Rate> {
        // Millions of transfers a second by generation, each one bit per lane, and how many of so many bits are data.
        let (transfers, data, of) = match self.generation {
            1 => (2_500, 8, 10),
            2 => (5_000, 8, 10),
            3 => (8_000, 128, 130),
            4 => (16_000, 128, 130),
            5 => (32_000, 128, 130),
            6 => (64_000, 242, 256),
            _ => return None,
        };
        Some(Rate(
            transfers * 1_000_000 / 8 * data / of * u64::from(self.width),
        ))
    }
}
