//! Facts in, entries out: every weight share x second of a card is in exactly one of sold, idle, stranded and out of service.
//! Not here: money, and how facts are kept. Pure, and in one pass: memory grows with the cluster, not with its history.
//! Facts must be in the order of time, as the ledger reads them; `in_order` puts others so.

mod account;
mod card;
mod catalogue;
mod claims;
mod fault;
mod layout;
mod pool;
mod shape;
mod written;

use std::collections::BTreeMap;

pub use fault::Fault;

use account::Account;

use crate::book::Weights;
use crate::entry::Entry;
use crate::fact::{Fact, Uid, Why};
use crate::time::Span;

/// Entries of a period, as they end.
#[derive(Debug)]
pub struct Buckets<I> {
    facts: I,
    account: Account,
    done: bool,
}

/// What a period's facts come to by these weights. After a fault nothing follows.
pub fn buckets<E: std::fmt::Display, I: Iterator<Item = Result<Fact, E>>>(
    facts: I,
    weights: &Weights,
    period: Span,
) -> Buckets<I> {
    Buckets {
        facts,
        account: Account::new(weights.clone(), period),
        done: false,
    }
}

impl<E: std::fmt::Display, I: Iterator<Item = Result<Fact, E>>> Buckets<I> {
    fn step(&mut self) -> Result<(), Fault> {
        match self.facts.next() {
            Some(Ok(fact)) if fact.at < self.account.period().until() => self.account.take(fact),
            Some(Err(error)) => Err(Fault::Facts {
                why: error.to_string(),
            }),
            Some(Ok(_)) | None => {
                self.done = true;
                self.account.finish()
            }
        }
    }
}

impl<E: std::fmt::Display, I: Iterator<Item = Result<Fact, E>>> Iterator for Buckets<I> {
    type Item = Result<Entry, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.account.entries.pop_front() {
                return Some(Ok(entry));
            }
            if self.done {
                return None;
            }
            if let Err(fault) = self.step() {
                self.done = true;
                return Some(Err(fault));
            }
        }
    }
}

/// Facts as a ledger would read them: once each, in the order of time, without estimates that something exact has overtaken.
#[must_use]
pub fn in_order(facts: impl IntoIterator<Item = Fact>) -> Vec<Fact> {
    let mut once: BTreeMap<(Uid, &'static str, u64), Fact> = BTreeMap::new();
    for fact in facts {
        let key = (fact.uid.clone(), fact.what.transition(), fact.version);
        once.entry(key).or_insert(fact);
    }
    let overtaken = |(uid, transition, version): &(Uid, &'static str, u64)| {
        let first = (uid.clone(), *transition, 0);
        once.range(first..(uid.clone(), *transition, *version))
            .next()
            .is_some()
    };
    let counts = once
        .iter()
        .filter(|(key, fact)| fact.estimated != Some(Why::Vanished) || !overtaken(key));
    let mut facts: Vec<Fact> = counts.map(|(_, fact)| fact.clone()).collect();
    facts.sort_by(|a, b| a.order().cmp(&b.order()));
    facts
}
