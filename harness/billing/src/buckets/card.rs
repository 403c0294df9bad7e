//! One card over time: who holds which of its devices, and what is left of it. It writes an entry for each stretch that ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::fault::Fault;
use super::layout::{Best, Layouts};
use super::shape::{Published, Shape, profile};
use crate::book::Weights;
use crate::entry::{Bucket, Holder};
use crate::fact::{Device, Held, Uid, Why};
use crate::ratio::Ratio;
use crate::text::Text;
use crate::time::Seconds;

/// What tells a claim's devices apart: claim, request, device, share.
pub(super) type HoldingKey = (Uid, Text, Text, Option<Text>);

/// A device that a claim has, since when.
#[derive(Clone, Debug)]
pub(super) struct Holding {
    pub(super) holder: Holder,
    pub(super) held: Held,
    pub(super) since: Seconds,
    pub(super) estimated: Option<Why>,
}

/// A part of a card that nobody has.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Free {
    bucket: Bucket,
    share: Ratio,
    since: Seconds,
}

/// A stretch that has ended.
#[derive(Clone, Debug)]
pub(super) struct Stretch {
    pub(super) bucket: Bucket,
    pub(super) share: Ratio,
    pub(super) since: Seconds,
    pub(super) device: Option<(String, Option<String>)>,
    pub(super) estimated: Vec<Why>,
    pub(super) overlay: bool,
}

/// A card.
#[derive(Debug)]
pub(super) struct Card {
    pub(super) published: Published,
    /// Devices that are held and no longer published.
    ghosts: Vec<Device>,
    shape: Arc<Shape>,
    shape_id: usize,
    shares: Vec<Ratio>,
    /// By device: the taints that keep it from being used.
    tainted: Vec<BTreeSet<Text>>,
    /// Why nothing is taken from the pool, if so.
    closed: Option<String>,
    /// It is in no complete pool any more: it ends when nobody holds anything of it.
    pub(super) leaving: bool,
    holdings: BTreeMap<HoldingKey, Holding>,
    free: Vec<Free>,
}

/// Shapes by their number, each once.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    known: std::collections::HashMap<Arc<Shape>, usize>,
}

impl Shapes {
    fn one(&mut self, shape: Shape) -> (Arc<Shape>, usize) {
        let next = self.known.len();
        if let Some((known, id)) = self.known.get_key_value(&shape) {
            return (Arc::clone(known), *id);
        }
        let shape = Arc::new(shape);
        self.known.insert(Arc::clone(&shape), next);
        (shape, next)
    }
}

impl Card {
    pub(super) fn new(
        published: Published,
        weights: &Weights,
        shapes: &mut Shapes,
    ) -> Result<Self, Fault> {
        let (shape, shares) = published.shape(&[], weights)?;
        let (shape, shape_id) = shapes.one(shape);
        Ok(Self {
            tainted: vec![BTreeSet::new(); published.devices.len()],
            published,
            ghosts: Vec::new(),
            shape,
            shape_id,
            shares,
            closed: None,
            leaving: false,
            holdings: BTreeMap::new(),
            free: Vec::new(),
        })
    }

    /// It is published anew, perhaps otherwise; what is held of it stays. Holdings that weigh something else now are ended, as
    /// they were, and begin anew.
    pub(super) fn publish(
        &mut self,
        published: Published,
        weights: &Weights,
        shapes: &mut Shapes,
        at: Seconds,
    ) -> Result<Vec<Stretch>, Fault> {
        self.leaving = false;
        let held = |device: &&Device| self.holdings.keys().any(|key| key.2 == device.name);
        let still = |device: &Device| published.devices.iter().any(|it| it.name == device.name);
        let before = self.published.devices.iter().chain(&self.ghosts);
        let ghosts: Vec<Device> = before
            .filter(held)
            .filter(|device| !still(device))
            .cloned()
            .collect();
        let (shape, shares) = published.shape(&ghosts, weights)?;
        let (shape, id) = shapes.one(shape);
        let mut were = Vec::new();
        for (key, holding) in &self.holdings {
            were.push((key.clone(), self.stretch(holding, None)?));
        }
        self.tainted = vec![BTreeSet::new(); shape.devices.len()];
        (self.shape, self.shape_id, self.shares) = (shape, id, shares);
        self.published = published;
        self.ghosts = ghosts;
        let mut ended = Vec::new();
        for (key, was) in were {
            let Some(holding) = self.holdings.get(&key) else {
                continue;
            };
            if self.share(holding)? == was.share {
                continue;
            }
            ended.push(was);
            if let Some(holding) = self.holdings.get_mut(&key) {
                holding.since = at;
                holding.estimated = None;
            }
        }
        Ok(ended)
    }

    pub(super) fn devices(&self) -> impl Iterator<Item = &Device> {
        self.published.devices.iter().chain(&self.ghosts)
    }

    pub(super) fn has(&self, device: &str) -> bool {
        self.devices().any(|it| &*it.name == device)
    }

    pub(super) fn set_taints(&mut self, taints: impl Fn(&Device) -> BTreeSet<Text>) {
        self.tainted = self.devices().map(taints).collect();
    }

    pub(super) fn close(&mut self, why: Option<String>) {
        self.closed = why;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.holdings.is_empty()
    }

    pub(super) fn hold(&mut self, key: HoldingKey, holding: Holding) {
        self.holdings.insert(key, holding);
    }

    /// Ends a holding.
    pub(super) fn release(
        &mut self,
        key: &HoldingKey,
        estimated: Option<Why>,
    ) -> Result<Option<Stretch>, Fault> {
        let Some(holding) = self.holdings.remove(key) else {
            return Ok(None);
        };
        self.stretch(&holding, estimated).map(Some)
    }

    fn stretch(&self, holding: &Holding, ended: Option<Why>) -> Result<Stretch, Fault> {
        let device = self
            .devices()
            .find(|device| device.name == holding.held.device);
        let profile = device.and_then(profile).map(ToOwned::to_owned);
        let mut estimated: Vec<Why> = holding.estimated.into_iter().chain(ended).collect();
        estimated.dedup();
        Ok(Stretch {
            bucket: Bucket::Sold(Box::new(holding.holder.clone())),
            share: self.share(holding)?,
            since: holding.since,
            device: Some((holding.held.device.to_string(), profile)),
            estimated,
            overlay: holding.held.admin,
        })
    }

    fn place(&self, device: &str) -> Option<usize> {
        self.devices().position(|it| &*it.name == device)
    }

    /// What a holding has of the card.
    fn share(&self, holding: &Holding) -> Result<Ratio, Fault> {
        if holding.held.admin {
            return Ok(Ratio::ZERO);
        }
        let place = self.place(&holding.held.device);
        let whole = place.map_or(Ratio::ONE, |at| self.shares[at]);
        Ok(whole.times(self.part(holding)?)?)
    }

    /// What a holding has of its device: all of it, or of a shared one the part of the capacity of which it takes the most.
    fn part(&self, holding: &Holding) -> Result<Ratio, Fault> {
        if holding.held.share.is_none() {
            return Ok(Ratio::ONE);
        }
        let mut most = Ratio::ZERO;
        let device = self
            .devices()
            .find(|device| device.name == holding.held.device);
        for (capacity, amount) in &holding.held.consumed {
            let total = device
                .and_then(|it| it.capacity.get(capacity))
                .copied()
                .unwrap_or(0);
            if total <= 0 || *amount < 0 || *amount > total {
                return Err(Fault::Share {
                    claim: Uid::from(holding.holder.claim_uid.as_str()),
                    device: holding.held.device.to_string(),
                    capacity: capacity.to_string(),
                    amount: *amount,
                    total,
                });
            }
            most = most.max(Ratio::new((*amount).into(), total.into())?);
        }
        // A share that takes no capacity has its device for itself as far as anybody can say.
        Ok(if holding.held.consumed.is_empty() {
            Ratio::ONE
        } else {
            most
        })
    }

    /// Ends everything.
    pub(super) fn end_all(&mut self) -> Result<Vec<Stretch>, Fault> {
        let mut ended = Vec::new();
        for holding in self.holdings.values() {
            ended.push(self.stretch(holding, None)?);
        }
        self.holdings.clear();
        ended.extend(self.end());
        Ok(ended)
    }

    pub(super) fn holder(&self, key: &HoldingKey) -> Option<&Holder> {
        self.holdings.get(key).map(|holding| &holding.holder)
    }

    /// Ends what nobody has of it, and with that the card, if nobody has anything.
    pub(super) fn end(&mut self) -> Vec<Stretch> {
        self.free.drain(..).map(Free::ended).collect()
    }

    /// Looks at the card as it stands at the end of a second, and ends what has changed of its free parts.
    pub(super) fn settle(
        &mut self,
        at: Seconds,
        weights: &Weights,
        layouts: &mut Layouts,
    ) -> Result<Vec<Stretch>, Fault> {
        let free = self.parts(at, weights, layouts)?;
        let mut ended = Vec::new();
        let mut now = Vec::new();
        for mut part in free {
            let same = self
                .free
                .iter()
                .position(|it| (&it.bucket, it.share) == (&part.bucket, part.share));
            if let Some(same) = same {
                part.since = self.free.remove(same).since;
            }
            now.push(part);
        }
        ended.extend(self.free.drain(..).map(Free::ended));
        self.free = now;
        Ok(ended)
    }

    fn parts(
        &self,
        at: Seconds,
        weights: &Weights,
        layouts: &mut Layouts,
    ) -> Result<Vec<Free>, Fault> {
        let unit = self.shape.unit;
        let count = self.shape.devices.len();
        // Of each device: how much is given away.
        let mut given = vec![Ratio::ZERO; count];
        for holding in self.holdings.values().filter(|holding| !holding.held.admin) {
            let Some(place) = self.place(&holding.held.device) else {
                continue;
            };
            given[place] = given[place].plus(self.part(holding)?)?;
            if given[place] > Ratio::ONE {
                return Err(self.twice(at, holding.held.device.to_string(), |device| {
                    device == &*holding.held.device
                }));
            }
        }
        let held: Vec<bool> = given.iter().map(|given| !given.is_zero()).collect();
        let mut remaining = self.shape.totals.clone();
        let mut taken = 0_i128;
        // Of a device that is shared, what nobody has.
        let mut rest = Ratio::ZERO;
        for (place, device) in self
            .shape
            .devices
            .iter()
            .enumerate()
            .filter(|(place, _)| held[*place])
        {
            taken += device.weight;
            rest = rest.plus(Ratio::ONE.minus(given[place])?.times(self.shares[place])?)?;
            for (counter, amount) in &device.draws {
                remaining[*counter] -= amount;
                if remaining[*counter] < 0 {
                    let draws = |name: &str| {
                        self.place(name).is_some_and(|it| {
                            self.shape.devices[it]
                                .draws
                                .iter()
                                .any(|(other, _)| other == counter)
                        })
                    };
                    return Err(self.twice(at, self.published.counter(*counter).to_owned(), draws));
                }
            }
        }
        if taken > unit {
            return Err(Fault::Oversold {
                card: Box::new(self.published.card.clone()),
                at,
                sold: Ratio::new(taken, unit)?,
                weights: weights.word(),
                holders: self.holders(|_| true),
            });
        }
        let tainted: Vec<bool> = self
            .tainted
            .iter()
            .map(|taints| !taints.is_empty())
            .collect();
        let free = unit - taken;
        let best = layouts.best(
            self.shape_id,
            &self.shape,
            &held,
            &tainted,
            &remaining,
            free,
        );
        self.split(at, best, free, rest)
    }

    /// Puts what is free into idle, stranded and out of service.
    fn split(&self, at: Seconds, best: Best, free: i128, rest: Ratio) -> Result<Vec<Free>, Fault> {
        let of = |units: i128| Ratio::new(units, self.shape.unit);
        let stranded = of(free - best.healthy)?;
        let (mut idle, mut broken) = (of(best.idle)?, of(best.healthy - best.idle)?);
        let closed = self
            .closed
            .clone()
            .or_else(|| self.leaving.then(|| "no longer published".to_owned()));
        // What is left of a shared device goes with the rest of the card.
        idle = idle.plus(rest)?;
        let reason = match closed {
            Some(reason) => {
                broken = broken.plus(idle)?;
                idle = Ratio::ZERO;
                reason
            }
            None => {
                let taints: BTreeSet<&Text> = self.tainted.iter().flatten().collect();
                let taints: Vec<&str> = taints.into_iter().map(|taint| &**taint).collect();
                taints.join(", ")
            }
        };
        let parts = [
            (Bucket::Idle, idle),
            (Bucket::Stranded, stranded),
            (Bucket::OutOfService { reason }, broken),
        ];
        let parts = parts.into_iter().filter(|(_, share)| !share.is_zero());
        Ok(parts
            .map(|(bucket, share)| Free {
                bucket,
                share,
                since: at,
            })
            .collect())
    }

    fn holders(&self, of: impl Fn(&str) -> bool) -> Vec<String> {
        let holdings = self.holdings.values();
        holdings
            .filter(|holding| !holding.held.admin && of(&holding.held.device))
            .map(|it| {
                format!(
                    "{}/{} ({}, {})",
                    it.holder.namespace, it.holder.name, it.holder.claim_uid, it.held.device
                )
            })
            .collect()
    }

    fn twice(&self, at: Seconds, what: String, of: impl Fn(&str) -> bool) -> Fault {
        Fault::Twice {
            card: Box::new(self.published.card.clone()),
            at,
            what,
            holders: self.holders(of),
        }
    }
}

impl Free {
    fn ended(self) -> Stretch {
        Stretch {
            bucket: self.bucket,
            share: self.share,
            since: self.since,
            device: None,
            estimated: Vec::new(),
            overlay: false,
        }
    }
}
