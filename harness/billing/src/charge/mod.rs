//! Entries and a price book become charges: who had what share of which card for how long, at which price, exactly.
//! Not here: rounding (`settle`), how an invoice looks (`invoice`). One pass over the entries in any order; memory grows with
//! the lines and not with the entries, so by tenant it stays flat however often partitions change hands.

mod digest;
mod line;
mod settle;
mod unit;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::book::{Misallocated, PriceBook, Unreserved};
use crate::entry::{Bucket, Card, Consumer, Entry, EntryError, Holder};
use crate::ratio::{Arithmetic, Ratio, Sum};
use crate::split::SplitError;
use crate::time::{MonthBasis, Seconds, Span};

pub use line::{Amount, Correction, Exchange, Line, LineKind, Paid};
pub use settle::Charges;

use digest::Digests;
use unit::Units;

/// How fine the lines of an invoice are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lines {
    /// One for each claim and device.
    #[default]
    Claim,
    /// One for each tenant, card and profile: memory does not grow with the number of claims.
    Tenant,
}

/// What cannot be charged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChargeError {
    /// A false entry.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// A number that does not fit.
    #[error(transparent)]
    Arithmetic(#[from] Arithmetic),
    /// A split over nothing.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// The book has no price.
    #[error(
        "{card}: the price book {book:?} has no {kind} price of a {model}{profile} at {at}; add one under `rates`"
    )]
    NoPrice {
        /// The card.
        card: String,
        /// The book's name.
        book: String,
        /// Cost, on demand or spot.
        kind: &'static str,
        /// The card's model.
        model: String,
        /// `, profile …` or nothing.
        profile: String,
        /// When.
        at: Seconds,
    },
    /// The book has no exchange rate so early.
    #[error(
        "the price book {book:?} has no exchange rate of {from} at {at}; add one under `fx` with a day before it"
    )]
    NoExchange {
        /// The book's name.
        book: String,
        /// The currency of a price.
        from: &'static str,
        /// When.
        at: Seconds,
    },
    /// More of a card is held than there is.
    #[error(
        "{card}, {span}: {share} share-seconds of {seconds} seconds are accounted for, more than the card has: an entry is twice in the ledger, or the weights of its layout add up to more than 1"
    )]
    OverCapacity {
        /// The card.
        card: String,
        /// When.
        span: Span,
        /// What is accounted for.
        share: Ratio,
        /// What there is.
        seconds: i64,
    },
    /// Steps, minimums and caps are those of a claim.
    #[error(
        "a price of a {model} has a step, a minimum or a cap, which are those of a claim: ask for lines by claim"
    )]
    ByClaim {
        /// The card's model.
        model: String,
    },
}

/// What a line is for. Lines are in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Key {
    slot: Slot,
    card: u32,
    /// Which stretch between two changes of the book.
    segment: u32,
    /// The month, where months have their own length.
    month: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Slot {
    Sold(Box<Sold>),
    Idle,
    Stranded,
    OutOfService(String),
    Overlay(Box<Sold>),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Sold {
    tenant: String,
    /// UID; empty by tenant.
    claim: String,
    request: String,
    device: Option<String>,
    profile: Option<String>,
    spot: bool,
    reserved: bool,
    needed: Option<crate::entry::Needed>,
}

/// What has been counted of a line.
#[derive(Clone, Debug)]
struct Tally {
    /// Share times seconds.
    held: Sum,
    /// The same of what would have been needed.
    needed: Sum,
    seconds: i64,
    from: Seconds,
    until: Seconds,
    /// By claim: the claim.
    holder: Option<Holder>,
    consumers: BTreeMap<Consumer, Sum>,
    estimated: BTreeSet<String>,
    units: Units,
}

/// What has been counted of a card between two changes of the book.
#[derive(Clone, Debug)]
struct Presence {
    held: Sum,
    from: Seconds,
    until: Seconds,
}

/// Takes entries in any order.
#[derive(Debug)]
pub struct Charging<'b> {
    book: &'b PriceBook,
    period: Span,
    by: Lines,
    changes: Vec<Seconds>,
    cards: Vec<Card>,
    known: HashMap<Card, u32>,
    lines: HashMap<Key, Tally>,
    presence: BTreeMap<(u32, u32, i64), Presence>,
    digests: Digests,
}

/// The charges of a period.
///
/// # Errors
/// A false entry, a price that the book lacks, a number that does not fit: nothing is charged then.
pub fn price(
    entries: impl IntoIterator<Item = Entry>,
    book: &PriceBook,
    period: Span,
    by: Lines,
) -> Result<Charges, ChargeError> {
    let mut charging = Charging::new(book, period, by);
    for entry in entries {
        charging.add(&entry)?;
    }
    charging.done()
}

impl<'b> Charging<'b> {
    /// Nothing yet.
    #[must_use]
    pub fn new(book: &'b PriceBook, period: Span, by: Lines) -> Self {
        Self {
            book,
            period,
            by,
            changes: book.changes(),
            cards: Vec::new(),
            known: HashMap::new(),
            lines: HashMap::new(),
            presence: BTreeMap::new(),
            digests: Digests::default(),
        }
    }

    /// Takes what lies in the period of an entry.
    ///
    /// # Errors
    /// A false entry, a missing price, a number that does not fit.
    pub fn add(&mut self, entry: &Entry) -> Result<(), ChargeError> {
        entry.check()?;
        let Some(span) = entry.span.within(self.period) else {
            return Ok(());
        };
        self.digests.add(entry);
        let card = self.card(&entry.card);
        let slot = self.slot(entry);
        let months = match self.book.month {
            MonthBasis::Calendar => self.book.month.cuts(span),
            _ => Vec::new(),
        };
        let crossed = |at: &Seconds| *at > span.from() && *at < span.until();
        if months.is_empty() && !self.changes.iter().any(crossed) {
            return self.part(entry, slot, card, span);
        }
        let mut cuts: Vec<Seconds> = self
            .changes
            .iter()
            .copied()
            .filter(crossed)
            .chain(months)
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        for part in span.cut_at(&cuts) {
            self.part(entry, slot.clone(), card, part)?;
        }
        Ok(())
    }

    fn card(&mut self, card: &Card) -> u32 {
        if let Some(known) = self.known.get(card) {
            return *known;
        }
        let next = u32::try_from(self.cards.len()).unwrap_or(u32::MAX);
        self.cards.push(card.clone());
        self.known.insert(card.clone(), next);
        next
    }

    fn slot(&self, entry: &Entry) -> Slot {
        let holder = match &entry.bucket {
            Bucket::Sold(holder) => holder,
            Bucket::Idle => return Slot::Idle,
            Bucket::Stranded => return Slot::Stranded,
            Bucket::OutOfService { reason } => return Slot::OutOfService(reason.clone()),
        };
        let by_claim = self.by == Lines::Claim;
        let sold = Box::new(Sold {
            tenant: holder.namespace.clone(),
            claim: if by_claim {
                holder.claim_uid.clone()
            } else {
                String::new()
            },
            request: if by_claim {
                holder.request.clone()
            } else {
                String::new()
            },
            device: entry.device.clone().filter(|_| by_claim),
            profile: entry.profile.clone(),
            spot: holder.spot,
            reserved: !holder.consumers.is_empty(),
            needed: entry.needed.clone(),
        });
        match entry.overlay {
            true => Slot::Overlay(sold),
            false => Slot::Sold(sold),
        }
    }

    fn part(
        &mut self,
        entry: &Entry,
        slot: Slot,
        card: u32,
        span: Span,
    ) -> Result<(), ChargeError> {
        let at = span.from();
        let segment = self.changes.partition_point(|change| *change <= at);
        let segment = u32::try_from(segment).unwrap_or(u32::MAX);
        let month = match self.book.month {
            MonthBasis::Calendar => at.month().from().get(),
            _ => 0,
        };
        let seconds = span.seconds();
        if !entry.overlay {
            let presence = self
                .presence
                .entry((card, segment, month))
                .or_insert_with(|| Presence {
                    held: Sum::default(),
                    from: at,
                    until: span.until(),
                });
            presence.held.add(entry.share, seconds)?;
            presence.from = presence.from.min(at);
            presence.until = presence.until.max(span.until());
        }
        let key = Key {
            slot,
            card,
            segment,
            month,
        };
        let tally = match self.lines.get_mut(&key) {
            Some(tally) => tally,
            None => {
                let units = Units::of(self.book, &key.slot, &entry.card, at, self.by)?;
                let tally = Tally::new(span, units, entry, self.by);
                self.lines.entry(key).or_insert(tally)
            }
        };
        tally.held.add(entry.share, seconds)?;
        if let Some(needed) = &entry.needed {
            tally.needed.add(needed.share, seconds)?;
        }
        tally.seconds += seconds;
        tally.from = tally.from.min(span.from());
        tally.until = tally.until.max(span.until());
        if let Some(why) = &entry.estimated {
            tally.estimated.insert(why.clone());
        }
        if self.by == Lines::Claim
            && let Bucket::Sold(holder) = &entry.bucket
        {
            // A claim is charged once: of each second its consumers have equal parts.
            let count = i128::try_from(holder.consumers.len()).unwrap_or(i128::MAX);
            for consumer in &holder.consumers {
                let part = Ratio::new(1, count)?;
                match tally.consumers.get_mut(consumer) {
                    Some(sum) => sum.add(part, seconds)?,
                    None => {
                        let mut sum = Sum::default();
                        sum.add(part, seconds)?;
                        tally.consumers.insert(consumer.clone(), sum);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a claim without a pod, or with more than it needs, pays for what it holds.
    fn pays_for_needed(&self) -> bool {
        self.book.misallocation == Misallocated::Needed
    }

    fn is_free(&self, sold: &Sold) -> bool {
        !sold.reserved && self.book.unreserved == Unreserved::Excluded
    }
}

impl Tally {
    fn new(span: Span, units: Units, entry: &Entry, by: Lines) -> Self {
        Self {
            held: Sum::default(),
            needed: Sum::default(),
            seconds: 0,
            from: span.from(),
            until: span.until(),
            holder: entry
                .bucket
                .holder()
                .filter(|_| by == Lines::Claim)
                .cloned(),
            consumers: BTreeMap::new(),
            estimated: BTreeSet::new(),
            units,
        }
    }
}

#[cfg(test)]
mod tests;
