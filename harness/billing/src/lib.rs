//! The bill: who held which part of a card for how long, what it cost, and where money leaks.
//! Not here: what is allocated (Kubernetes decides), what would have fitted (`oracle`), what a card can be cut into (`gpu-model`).
//! In: objects of the API as they change, and a price book. Out: a ledger of facts, entries, charges, invoices and exports.
#![forbid(unsafe_code)]

pub mod book;
pub mod buckets;
pub mod charge;
pub mod corrections;
pub mod entry;
pub mod fact;
pub mod figures;
pub mod focus;
pub mod invoice;
pub mod ledger;
pub mod meter;
pub mod metrics;
pub mod observe;
pub mod ratio;
pub mod reconcile;
pub mod split;
#[cfg(test)]
mod testing;
pub mod text;
pub mod time;

pub use book::{Currency, Part, Per, Price, PriceBook, UnknownWeight, Weights};
pub use buckets::Fault;
pub use charge::{ChargeError, Charges, Charging, Lines, price};
pub use entry::{Bucket, Card, Consumer, Entry, EntryError, Holder, Needed};
pub use fact::{Fact, Uid};
pub use invoice::Invoice;
pub use ledger::{Ledger, LedgerError, Place};
pub use ratio::{Arithmetic, Ratio, Rounding, Sum};
pub use time::{MonthBasis, Seconds, Span, TimeError, Unit};
