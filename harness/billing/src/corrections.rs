//! What a closed period's account would be, had it known what came later: the entries to take back and those to put in their
//! place. The closed account itself never changes.
//! Not here: their money, and the period in which they are charged (a later one).

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::book::Weights;
use crate::buckets::{Fault, buckets};
use crate::entry::{Card, Entry};
use crate::ledger::{Ledger, LedgerError};
use crate::time::Span;

/// A change to a closed account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Correction {
    /// It was accounted, and is not so.
    TakeBack(Entry),
    /// It is so, and was not accounted.
    Add(Entry),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CorrectionError {
    /// Nothing was closed.
    #[error(
        "{period} is not closed, so there is nothing to correct: its account is what the ledger says now"
    )]
    Open {
        /// The period.
        period: Span,
    },
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The facts.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// The corrections of a closed period by everything that the ledger knows now; none where nothing came later. Entries are in
/// the order of cards. In four passes, with no more in memory than the cards that differ.
///
/// # Errors
/// The period is not closed, the ledger cannot be read, or facts do not add up.
pub fn corrections(
    ledger: &mut Ledger,
    weights: &Weights,
    period: Span,
) -> Result<Vec<Correction>, CorrectionError> {
    let sealed = ledger.sealed(period)?;
    let sealed = sealed.ok_or(CorrectionError::Open { period })?;
    let now = ledger.head()?.number;
    let before = digests(ledger, sealed, weights, period)?;
    let after = digests(ledger, now, weights, period)?;
    let cards: BTreeSet<&Card> = before.keys().chain(after.keys()).collect();
    let differ = |card: &&Card| before.get(*card) != after.get(*card);
    let cards: BTreeSet<Card> = cards.into_iter().filter(differ).cloned().collect();
    if cards.is_empty() {
        return Ok(Vec::new());
    }
    let mut old = of_cards(ledger, sealed, weights, period, &cards)?;
    let mut corrections = Vec::new();
    for entry in of_cards(ledger, now, weights, period, &cards)? {
        match old.iter().position(|it| *it == entry) {
            Some(same) => {
                old.swap_remove(same);
            }
            None => corrections.push(Correction::Add(entry)),
        }
    }
    corrections.extend(old.into_iter().map(Correction::TakeBack));
    corrections.sort_by_key(key);
    Ok(corrections)
}

fn key(correction: &Correction) -> (Card, Span, bool, Option<String>) {
    let (entry, add) = match correction {
        Correction::TakeBack(entry) => (entry, false),
        Correction::Add(entry) => (entry, true),
    };
    (entry.card.clone(), entry.span, add, entry.device.clone())
}

/// Of each card: the sum of its entries' digests, which does not depend on their order.
fn digests(
    ledger: &mut Ledger,
    upto: u64,
    weights: &Weights,
    period: Span,
) -> Result<BTreeMap<Card, u64>, CorrectionError> {
    let mut digests = BTreeMap::new();
    for entry in buckets(ledger.read_upto(upto)?.facts(), weights, period) {
        let entry = entry?;
        let mut hasher = DefaultHasher::new();
        (
            &entry.bucket,
            entry.share,
            entry.span,
            &entry.device,
            &entry.estimated,
            entry.overlay,
        )
            .hash(&mut hasher);
        let sum: &mut u64 = digests.entry(entry.card).or_default();
        *sum = sum.wrapping_add(hasher.finish());
    }
    Ok(digests)
}

fn of_cards(
    ledger: &mut Ledger,
    upto: u64,
    weights: &Weights,
    period: Span,
    cards: &BTreeSet<Card>,
) -> Result<Vec<Entry>, CorrectionError> {
    let mut entries = Vec::new();
    for entry in buckets(ledger.read_upto(upto)?.facts(), weights, period) {
        let entry = entry?;
        if cards.contains(&entry.card) {
            entries.push(entry);
        }
    }
    Ok(entries)
}
