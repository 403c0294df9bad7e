//! The cluster as facts build it up, second by second.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::card::{Card, Holding, HoldingKey, Shapes};
use super::fault::Fault;
use super::layout::Layouts;
use super::pool::{Pool, PoolKey, State};
use super::shape::Published;
use crate::book::Weights;
use crate::entry::Entry;
use crate::fact::{Fact, Rule, Uid, What};
use crate::observe::SKEW;
use crate::text::Text;
use crate::time::{Seconds, Span};

/// For how many seconds an object that is gone is remembered, so that nothing older brings it back.
const REMEMBERED: i64 = 3600;

/// Driver, pool and card.
pub(super) type CardKey = (Text, Text, Text);

/// Everything that is known at a moment.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) weights: Weights,
    pub(super) period: Span,
    pub(super) now: Option<Seconds>,
    pub(super) pools: BTreeMap<PoolKey, Pool>,
    pub(super) pool_of: HashMap<Uid, PoolKey>,
    pub(super) cards: BTreeMap<CardKey, Card>,
    pub(super) rules: BTreeMap<Uid, Rule>,
    pub(super) claims: HashMap<Uid, BTreeMap<HoldingKey, Option<CardKey>>>,
    /// Holdings of devices that nobody has published yet.
    pub(super) unplaced: BTreeMap<HoldingKey, Holding>,
    /// Of each object: the last version, and since when.
    pub(super) last: HashMap<Uid, (u64, Seconds)>,
    pub(super) gone: VecDeque<(Seconds, Uid)>,
    pub(super) gaps: Vec<Span>,
    pub(super) dirty: BTreeSet<CardKey>,
    pub(super) shapes: Shapes,
    pub(super) layouts: Layouts,
    pub(super) entries: VecDeque<Entry>,
}

impl Account {
    pub(super) fn new(weights: Weights, period: Span) -> Self {
        Self {
            weights,
            period,
            now: None,
            pools: BTreeMap::new(),
            pool_of: HashMap::new(),
            cards: BTreeMap::new(),
            rules: BTreeMap::new(),
            claims: HashMap::new(),
            unplaced: BTreeMap::new(),
            last: HashMap::new(),
            gone: VecDeque::new(),
            gaps: Vec::new(),
            dirty: BTreeSet::new(),
            shapes: Shapes::default(),
            layouts: Layouts::default(),
            entries: VecDeque::new(),
        }
    }

    pub(super) const fn period(&self) -> Span {
        self.period
    }

    pub(super) fn take(&mut self, fact: Fact) -> Result<(), Fault> {
        match self.now {
            Some(now) if fact.at < now => {
                return Err(Fault::Facts {
                    why: format!(
                        "a fact of {} comes after one of {now}: facts must be in the order of time",
                        fact.at
                    ),
                });
            }
            Some(now) if fact.at > now => self.settle(now)?,
            _ => {}
        }
        self.now = Some(fact.at);
        if self.is_stale(&fact)? {
            return Ok(());
        }
        let (at, estimated, uid) = (fact.at, fact.estimated, fact.uid);
        match fact.what {
            What::ClaimHolds(claim) => self.claim(&uid, Some(&claim), at, estimated),
            What::ClaimWaits(_) => self.claim(&uid, None, at, estimated),
            What::ClaimGone => {
                self.claim(&uid, None, at, estimated)?;
                self.forget(uid, at);
                Ok(())
            }
            What::SlicePublished(slice) => {
                let key = (slice.driver.clone(), slice.pool.clone());
                if let Some(before) = self.pool_of.insert(uid.clone(), key.clone())
                    && before != key
                {
                    self.withdraw(&uid, &before)?;
                }
                self.pools.entry(key.clone()).or_default().put(uid, slice);
                self.pool(&key)
            }
            What::SliceWithdrawn => {
                let key = self.pool_of.remove(&uid);
                key.map_or(Ok(()), |key| self.withdraw(&uid, &key))?;
                self.forget(uid, at);
                Ok(())
            }
            What::Tainted(rule) => {
                self.rules.insert(uid, rule);
                self.taint_all();
                Ok(())
            }
            What::TaintLifted => {
                self.rules.remove(&uid);
                self.forget(uid, at);
                self.taint_all();
                Ok(())
            }
            What::NodeGone { node } => self.node_gone(&node),
            What::Gap { until, .. } => {
                self.gaps
                    .extend(Span::new(at, until).ok().filter(|gap| !gap.is_empty()));
                Ok(())
            }
            What::Unreadable { mistake } if at >= self.period.from() => {
                Err(Fault::Unreadable { at, mistake })
            }
            What::Unreadable { .. }
            | What::PodIs(_)
            | What::PodGone
            | What::Skew { .. }
            | What::Sealed { .. }
            | What::Corrects { .. } => Ok(()),
        }
    }

    /// Whether something newer is known of the object already.
    fn is_stale(&mut self, fact: &Fact) -> Result<bool, Fault> {
        let of_state = matches!(
            fact.what,
            What::ClaimHolds(_)
                | What::ClaimWaits(_)
                | What::ClaimGone
                | What::SlicePublished(_)
                | What::SliceWithdrawn
                | What::Tainted(_)
                | What::TaintLifted
        );
        if !of_state {
            return Ok(false);
        }
        match self.last.get(&fact.uid) {
            Some((later, before)) if *later > fact.version => {
                if fact.at.get() - before.get() > SKEW {
                    return Err(Fault::Backwards {
                        uid: fact.uid.clone(),
                        earlier: fact.version,
                        at: fact.at,
                        later: *later,
                        before: *before,
                    });
                }
                Ok(true)
            }
            _ => {
                self.last.insert(fact.uid.clone(), (fact.version, fact.at));
                Ok(false)
            }
        }
    }

    fn forget(&mut self, uid: Uid, at: Seconds) {
        self.gone.push_back((at, uid));
        while let Some((since, uid)) = self.gone.front()
            && at.get() - since.get() > REMEMBERED
        {
            self.last.remove(uid);
            self.gone.pop_front();
        }
    }

    fn withdraw(&mut self, uid: &Uid, key: &PoolKey) -> Result<(), Fault> {
        if let Some(pool) = self.pools.get_mut(key) {
            pool.withdraw(uid);
        }
        self.pool(key)
    }

    /// Looks at a pool whose slices have changed.
    fn pool(&mut self, key: &PoolKey) -> Result<(), Fault> {
        let Some(pool) = self.pools.get_mut(key) else {
            return Ok(());
        };
        let flaw = match pool.state() {
            State::Complete(cards) => {
                let changed = cards != pool.complete;
                if changed {
                    pool.take(cards.clone());
                }
                if changed || !self.has_cards(key, &cards) {
                    self.publish(key, cards)?;
                }
                None
            }
            State::Flawed(why) => Some(why),
        };
        let of_pool: Vec<CardKey> = self.cards_of(key).collect();
        for card in of_pool {
            if let Some(known) = self.cards.get_mut(&card) {
                known.close(flaw.clone());
            }
            self.dirty.insert(card);
        }
        self.place()
    }

    fn cards_of(&self, key: &PoolKey) -> impl Iterator<Item = CardKey> + use<'_> {
        let first = (key.0.clone(), key.1.clone(), Text::from(""));
        let key = key.clone();
        let own = move |card: &&CardKey| (&card.0, &card.1) == (&key.0, &key.1);
        self.cards
            .range(first..)
            .map(|(card, _)| card)
            .take_while(own)
            .cloned()
    }

    fn has_cards(&self, key: &PoolKey, cards: &[Published]) -> bool {
        let known = |card: &Published| {
            let card = (key.0.clone(), key.1.clone(), card.card.name.as_str().into());
            self.cards.get(&card).is_some_and(|card| !card.leaving)
        };
        cards.iter().all(known)
    }

    fn publish(&mut self, key: &PoolKey, cards: Vec<Published>) -> Result<(), Fault> {
        let now = self.now.unwrap_or(self.period.from());
        let mut leaving: BTreeSet<CardKey> = self.cards_of(key).collect();
        for published in cards {
            let card: CardKey = (
                key.0.clone(),
                key.1.clone(),
                published.card.name.as_str().into(),
            );
            leaving.remove(&card);
            let mut ended = Vec::new();
            match self.cards.get_mut(&card) {
                Some(known) => {
                    ended = known.publish(published, &self.weights, &mut self.shapes, now)?;
                }
                None => {
                    let new = Card::new(published, &self.weights, &mut self.shapes)?;
                    self.cards.insert(card.clone(), new);
                }
            }
            self.write(&card, ended, now);
            if let Some(known) = self.cards.get_mut(&card) {
                taint(&self.rules, &card, known);
            }
        }
        self.leave(leaving);
        Ok(())
    }

    /// These are no longer there, but for what somebody still has of them.
    fn leave(&mut self, cards: impl IntoIterator<Item = CardKey>) {
        for card in cards {
            if let Some(known) = self.cards.get_mut(&card) {
                known.leaving = true;
            }
            self.dirty.insert(card);
        }
    }

    fn node_gone(&mut self, node: &str) -> Result<(), Fault> {
        let of_node = |pool: &&Pool| pool.node.as_deref() == Some(node);
        let keys: Vec<PoolKey> = self
            .pools
            .iter()
            .filter(|(_, pool)| of_node(pool))
            .map(|(key, _)| key.clone())
            .collect();
        for key in keys {
            let cards: Vec<CardKey> = self.cards_of(&key).collect();
            self.leave(cards);
        }
        Ok(())
    }

    fn taint_all(&mut self) {
        for (key, card) in &mut self.cards {
            taint(&self.rules, key, card);
            self.dirty.insert(key.clone());
        }
    }

    /// Ends a second: looks at every card that something happened to.
    fn settle(&mut self, at: Seconds) -> Result<(), Fault> {
        for key in std::mem::take(&mut self.dirty) {
            let Some(card) = self.cards.get_mut(&key) else {
                continue;
            };
            if card.leaving && card.is_empty() {
                let ended = card.end();
                self.write(&key, ended, at);
                self.cards.remove(&key);
                continue;
            }
            let ended = card.settle(at, &self.weights, &mut self.layouts)?;
            self.write(&key, ended, at);
        }
        Ok(())
    }

    /// Everything ends with the period.
    pub(super) fn finish(&mut self) -> Result<(), Fault> {
        if let Some(now) = self.now {
            self.settle(now)?;
        }
        let until = self.period.until();
        for (key, holding) in &self.unplaced {
            self.unpublished(key, holding, until)?;
        }
        let keys: Vec<CardKey> = self.cards.keys().cloned().collect();
        for key in keys {
            let ended = self.cards.get_mut(&key).map(Card::end_all).transpose()?;
            self.write(&key, ended.into_iter().flatten(), until);
        }
        Ok(())
    }
}

fn taint(rules: &BTreeMap<Uid, Rule>, key: &CardKey, card: &mut Card) {
    let of = |part: &Option<Text>, value: &Text| part.as_ref().is_none_or(|part| part == value);
    card.set_taints(|device| {
        let rules = rules.values().filter(|rule| {
            of(&rule.driver, &key.0) && of(&rule.pool, &key.1) && of(&rule.device, &device.name)
        });
        let taints = rules.filter_map(|rule| rule.taint.clone());
        taints.chain(device.taints.iter().cloned()).collect()
    });
}
