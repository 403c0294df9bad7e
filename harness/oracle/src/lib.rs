//! The oracle: what Kubernetes' structured allocation of devices should give a claim, and why.
//! Not the scheduler, and no line of its code. The rules are those of the KEPs and of the API's documentation, but not all of
//! them: what these leave open (how an allocator treats what a gate that is off would have allowed, what its variants
//! support, in which order checks come) and every one of the [`Quirks`] was set after reading the allocator's source and
//! watching it answer. There the oracle agrees because it was made to; elsewhere agreement is evidence.
//! Data comes from `resource.k8s.io/v1` objects, read once; a verdict goes out. Nothing is read, written or timed here.
#![forbid(unsafe_code)]

mod allocate;
mod asks;
mod attempt;
mod capacity;
mod cel;
mod constraints;
mod counters;
mod extended;
mod forgetful;
mod gates;
mod groups;
pub mod kueue;
pub mod limits;
mod lines;
mod menu;
mod metrics;
mod misallocation;
mod names;
pub mod objects;
mod places;
mod pool;
mod quantity;
mod quirks;
pub mod quota;
mod removal;
mod result;
mod search;
mod selectors;
mod stock;
mod taints;
pub mod validate;
mod variant;
mod verdict;
mod version;
mod weight;
mod world;

pub use allocate::{
    How, allocate, allocate_in_any_order, allocate_on, allocate_pod, allocate_together,
};
pub use capacity::Lack;
pub use cel::{BadExpression, Dialect, Expression, Facts};
pub use constraints::Breach;
pub use counters::Shortage;
pub use extended::{Extended, Mapping};
pub use gates::{Gate, Gates, Stage};
pub use lines::line_and_column;
pub use menu::PoolNote;
pub use misallocation::{Misallocation, Place, misallocation};
pub use names::{DeviceId, Name};
pub use pool::Flaw;
pub use quantity::{NotAQuantity, Quantity};
pub use quirks::{Quirk, Quirks};
pub use removal::{Removal, removal};
pub use stock::{CounterLeft, State, Stocked};
pub use taints::tolerates;
pub use variant::Variant;
pub use verdict::{
    Allocation, Answer, ConfigSource, Failure, Given, GivenConfig, Look, Refusal, Refused, Verdict,
};
pub use version::{UnknownVersion, Version};
pub use weight::{Weight, compute_slices, counted};
pub use world::{Setup, World};
