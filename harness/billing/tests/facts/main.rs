//! What becomes of facts: in the ledger, and in buckets.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod api;
mod buckets;
mod crash;
mod fixture;
mod ledger;
mod meter;
mod observe;
mod postgres;
mod properties;
mod reconcile;
mod server;
