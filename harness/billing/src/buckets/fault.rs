//! What cannot be put into buckets. Nothing is clamped and nothing guessed: the first of these ends the account.

use crate::book::UnknownWeight;
use crate::entry::Card;
use crate::fact::Uid;
use crate::ratio::{Arithmetic, Ratio};
use crate::time::Seconds;

/// Why an account ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// More is sold than there is.
    #[error("{card}, {at}: {sold} of the card is sold, more than there is, to {}. By {weights} weights this layout outweighs the card if nothing else is wrong: see the claims' rows in the ledger", holders.join(", "))]
    Oversold {
        /// The card.
        card: Box<Card>,
        /// When.
        at: Seconds,
        /// How much.
        sold: Ratio,
        /// The measure.
        weights: &'static str,
        /// To whom: claim and device.
        holders: Vec<String>,
    },
    /// More is drawn than there is.
    #[error("{card}, {at}: {what} is held by claims that cannot both have it: {}. See their rows in the ledger", holders.join(", "))]
    Twice {
        /// The card.
        card: Box<Card>,
        /// When.
        at: Seconds,
        /// The device or counter.
        what: String,
        /// By whom: claim and device.
        holders: Vec<String>,
    },
    /// A claim holds what nobody has published.
    #[error(
        "claim {claim} holds {device} since {at}, which no complete pool has published until {until}: its card and weight are unknown, and it is not billed as nothing"
    )]
    Unpublished {
        /// The claim.
        claim: Uid,
        /// The device.
        device: String,
        /// Since when.
        at: Seconds,
        /// Until when nothing was known.
        until: Seconds,
    },
    /// The end lies before the start.
    #[error(
        "object {uid}: what it was at resourceVersion {earlier} is said of {at}, but what it was at {later}, a later one, of {before}: clocks that differ by so much are not straightened; correct one of its rows in the ledger"
    )]
    Backwards {
        /// The object.
        uid: Uid,
        /// The earlier version.
        earlier: u64,
        /// Its time.
        at: Seconds,
        /// The later version.
        later: u64,
        /// Its time, which is before.
        before: Seconds,
    },
    /// An object of which nothing is known.
    #[error(
        "{at}: {mistake}; what it held is unknown. Correct its row in the ledger as void if it does not matter"
    )]
    Unreadable {
        /// When.
        at: Seconds,
        /// Which, and what is wrong.
        mistake: String,
    },
    /// A partition without a weight.
    #[error("{card}: {source}")]
    Weight {
        /// The card.
        card: Box<Card>,
        /// Why.
        source: UnknownWeight,
    },
    /// A share that takes a part of nothing.
    #[error(
        "claim {claim} has a share of {device} and takes {amount} of {capacity}, of which the device has {total}"
    )]
    Share {
        /// The claim.
        claim: Uid,
        /// The device.
        device: String,
        /// The capacity.
        capacity: String,
        /// What it takes.
        amount: i64,
        /// What there is.
        total: i64,
    },
    /// Numbers too large.
    #[error(transparent)]
    Arithmetic(#[from] Arithmetic),
    /// The facts could not be read.
    #[error("{why}")]
    Facts {
        /// Why not.
        why: String,
    },
}
