//! The cluster as facts build it up, second by second.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::card::{Card, Holding, HoldingKey, Shapes, Stretch};
use super::fault::Fault;
use super::layout::Layouts;
use super::pool::{Pool, PoolKey, State};
use super::shape::Published;
use crate::book::Weights;
use crate::entry::{Consumer, Entry, Holder};
use crate::fact::{Claim, Fact, Held, Rule, Uid, What, Why};
use crate::observe::SKEW;
use crate::text::Text;
use crate::time::{Seconds, Span};

/// For how many seconds an object that is gone is remembered, so that nothing older brings it back.
const REMEMBERED: i64 = 3600;

/// Driver, pool and card.
type CardKey = (Text, Text, Text);

/// Everything that is known at a moment.
#[derive(Debug)]
pub(super) struct Account {
    weights: Weights,
    period: Span,
    now: Option<Seconds>,
    pools: BTreeMap<PoolKey, Pool>,
    pool_of: HashMap<Uid, PoolKey>,
    cards: BTreeMap<CardKey, Card>,
    rules: BTreeMap<Uid, Rule>,
    claims: HashMap<Uid, BTreeMap<HoldingKey, Option<CardKey>>>,
    /// Holdings of devices that nobody has published yet.
    unplaced: BTreeMap<HoldingKey, Holding>,
    /// Of each object: the last version, and since when.
    last: HashMap<Uid, (u64, Seconds)>,
    gone: VecDeque<(Seconds, Uid)>,
    gaps: Vec<Span>,
    dirty: BTreeSet<CardKey>,
    shapes: Shapes,
    layouts: Layouts,
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

    fn claim(
        &mut self,
        uid: &Uid,
        claim: Option<&Claim>,
        at: Seconds,
        estimated: Option<Why>,
    ) -> Result<(), Fault> {
        let mut before = self.claims.remove(uid).unwrap_or_default();
        let mut after = BTreeMap::new();
        for held in claim.iter().flat_map(|claim| &claim.devices) {
            let Some(claim) = claim else { break };
            let key = (
                uid.clone(),
                held.request.clone(),
                held.device.clone(),
                held.share.clone(),
            );
            let holder = holder(uid, claim, held);
            // The same holder goes on; one whose pods have changed begins anew, so that each stretch knows its users.
            let same = before.remove(&key);
            let card = match same {
                Some(card)
                    if self
                        .holder_of(&key, card.as_ref())
                        .is_some_and(|it| *it == holder) =>
                {
                    card
                }
                other => {
                    if let Some(card) = &other {
                        self.release(&key, card.as_ref(), at, None)?;
                    }
                    let holding = Holding {
                        holder,
                        held: held.clone(),
                        since: at,
                        estimated,
                    };
                    self.hold(key.clone(), holding, other.flatten())
                }
            };
            after.insert(key, card);
        }
        for (key, card) in before {
            self.release(&key, card.as_ref(), at, estimated)?;
        }
        if !after.is_empty() {
            self.claims.insert(uid.clone(), after);
        }
        Ok(())
    }

    fn holder_of(&self, key: &HoldingKey, card: Option<&CardKey>) -> Option<&Holder> {
        match card {
            Some(card) => self.cards.get(card)?.holder(key),
            None => self.unplaced.get(key).map(|holding| &holding.holder),
        }
    }

    /// Puts a holding on the card that it had before, for that may no longer be published, or on the one that has the device now.
    fn hold(
        &mut self,
        key: HoldingKey,
        holding: Holding,
        before: Option<CardKey>,
    ) -> Option<CardKey> {
        let held = &holding.held;
        let pool = (held.driver.clone(), held.pool.clone());
        let card = self
            .pools
            .get(&pool)
            .and_then(|pool| pool.index.get(&held.device));
        let card = card.map(|card| (pool.0, pool.1, card.clone()));
        let has = |card: &CardKey| {
            self.cards
                .get(card)
                .is_some_and(|card| card.has(&held.device))
        };
        let card = before.filter(has).or(card);
        match card.as_ref().and_then(|card| self.cards.get_mut(card)) {
            Some(known) => {
                known.hold(key, holding);
                self.dirty.extend(card.clone());
                card
            }
            None => {
                self.unplaced.insert(key, holding);
                None
            }
        }
    }

    fn release(
        &mut self,
        key: &HoldingKey,
        card: Option<&CardKey>,
        at: Seconds,
        estimated: Option<Why>,
    ) -> Result<(), Fault> {
        if let Some(holding) = self.unplaced.remove(key) {
            return self.unpublished(key, &holding, at);
        }
        let Some(card) = card else { return Ok(()) };
        let Some(known) = self.cards.get_mut(card) else {
            return Ok(());
        };
        let ended = known.release(key, estimated)?;
        self.dirty.insert(card.clone());
        self.write(card, ended, at);
        Ok(())
    }

    /// A device that was held, and of which nothing was known.
    fn unpublished(
        &self,
        key: &HoldingKey,
        holding: &Holding,
        until: Seconds,
    ) -> Result<(), Fault> {
        let span = Span::new(holding.since, until).ok();
        let counts = span.and_then(|span| span.within(self.period)).is_some();
        if !counts || holding.held.admin {
            return Ok(());
        }
        let held = &holding.held;
        Err(Fault::Unpublished {
            claim: key.0.clone(),
            device: format!("{}/{}/{}", held.driver, held.pool, held.device),
            at: holding.since,
            until,
        })
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
        let mut leaving: BTreeSet<CardKey> = self.cards_of(key).collect();
        for published in cards {
            let card: CardKey = (
                key.0.clone(),
                key.1.clone(),
                published.card.name.as_str().into(),
            );
            leaving.remove(&card);
            match self.cards.get_mut(&card) {
                Some(known) => known.publish(published, &self.weights, &mut self.shapes)?,
                None => {
                    let new = Card::new(published, &self.weights, &mut self.shapes)?;
                    self.cards.insert(card.clone(), new);
                }
            }
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

    /// Puts holdings on cards that have come.
    fn place(&mut self) -> Result<(), Fault> {
        let now = self.now.unwrap_or(self.period.from());
        let known = |held: &Held| {
            let pool = self.pools.get(&(held.driver.clone(), held.pool.clone()));
            pool.is_some_and(|pool| pool.index.contains_key(&held.device))
        };
        let keys: Vec<HoldingKey> = self
            .unplaced
            .iter()
            .filter(|(_, it)| known(&it.held))
            .map(|(key, _)| key.clone())
            .collect();
        for key in keys {
            let Some(mut holding) = self.unplaced.remove(&key) else {
                continue;
            };
            self.unpublished(&key, &holding, now)?;
            holding.since = now;
            let card = self.hold(key.clone(), holding, None);
            if let Some(holdings) = self.claims.get_mut(&key.0) {
                holdings.insert(key, card);
            }
        }
        Ok(())
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

    /// Writes what has ended, as far as it lies in the period.
    fn write(&mut self, key: &CardKey, ended: impl IntoIterator<Item = Stretch>, until: Seconds) {
        let Some(card) = self.cards.get(key) else {
            return;
        };
        let card = &card.published.card;
        for stretch in ended {
            // Whatever begins does so no later than now, for facts are in order.
            let span = Span::new(stretch.since, until).ok();
            let Some(span) = span.and_then(|span| span.within(self.period)) else {
                continue;
            };
            for (span, gap) in at_gaps(span, &self.gaps) {
                let why = stretch.estimated.iter().map(ToString::to_string);
                let why: Vec<String> = why
                    .chain(gap.then(|| "nobody watched".to_owned()))
                    .collect();
                let (device, profile) = stretch
                    .device
                    .clone()
                    .map_or((None, None), |(device, profile)| (Some(device), profile));
                self.entries.push_back(Entry {
                    card: card.clone(),
                    bucket: stretch.bucket.clone(),
                    share: stretch.share,
                    span,
                    device,
                    profile,
                    estimated: (!why.is_empty()).then(|| why.join(", ")),
                    overlay: stretch.overlay,
                });
            }
        }
    }
}

/// A span in parts that lie in a gap or outside of all.
fn at_gaps(span: Span, gaps: &[Span]) -> Vec<(Span, bool)> {
    let mut bounds: Vec<Seconds> = gaps
        .iter()
        .flat_map(|gap| [gap.from(), gap.until()])
        .collect();
    bounds.sort_unstable();
    bounds.dedup();
    let inside = |part: Span| gaps.iter().any(|gap| gap.within(part).is_some());
    span.cut_at(&bounds)
        .map(|part| (part, inside(part)))
        .collect()
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

fn holder(uid: &Uid, claim: &Claim, held: &Held) -> Holder {
    let class = claim
        .requests
        .get(&held.request)
        .map(|asked| asked.class.to_string());
    Holder {
        claim_uid: uid.to_string(),
        namespace: claim.namespace.to_string(),
        name: claim.name.to_string(),
        device_class: class,
        request: held.request.to_string(),
        consumers: claim
            .consumers
            .iter()
            .map(|it| Consumer {
                uid: it.uid.to_string(),
                name: it.name.to_string(),
            })
            .collect(),
        spot: claim.spot,
    }
}
