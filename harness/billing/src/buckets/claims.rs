//! Claims of an account: which devices they hold, on cards that are known or not yet.

use std::collections::BTreeMap;

use super::account::{Account, CardKey};
use super::card::{Holding, HoldingKey};
use super::fault::Fault;
use super::written::holder;
use crate::entry::Holder;
use crate::fact::{Claim, Held, Uid, Why};
use crate::time::{Seconds, Span};

impl Account {
    pub(super) fn claim(
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

    pub(super) fn holder_of(&self, key: &HoldingKey, card: Option<&CardKey>) -> Option<&Holder> {
        match card {
            Some(card) => self.cards.get(card)?.holder(key),
            None => self.unplaced.get(key).map(|holding| &holding.holder),
        }
    }

    /// Puts a holding on the card that it had before, for that may no longer be published, or on the one that has the device now.
    pub(super) fn hold(
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

    pub(super) fn release(
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
    pub(super) fn unpublished(
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

    /// Puts holdings on cards that have come.
    pub(super) fn place(&mut self) -> Result<(), Fault> {
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
}
