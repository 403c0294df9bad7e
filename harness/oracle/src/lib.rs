//! The oracle: what Kubernetes' structured allocation of devices should give a claim, and why.
//! Not the scheduler, and none of its code: it is written from the KEPs and the API's documentation, to be held against it.
//! Data comes from `resource.k8s.io/v1` objects, read once; a verdict goes out. Nothing is read, written or timed here.
#![forbid(unsafe_code)]

mod allocate;
mod asks;
mod capacity;
mod cel;
mod constraints;
mod counters;
mod forgetful;
mod gates;
mod groups;
pub mod limits;
mod menu;
mod names;
pub mod objects;
mod pool;
mod quantity;
mod quirks;
mod result;
mod search;
mod selectors;
mod taints;
mod variant;
mod verdict;
mod version;
mod world;

pub use allocate::{How, allocate, allocate_in_any_order, allocate_on, allocate_together};
pub use capacity::Lack;
pub use cel::{BadExpression, Dialect, Expression, Facts};
pub use constraints::Breach;
pub use counters::Shortage;
pub use gates::{Gate, Gates, Stage};
pub use menu::PoolNote;
pub use names::{DeviceId, Name};
pub use pool::Flaw;
pub use quantity::{NotAQuantity, Quantity};
pub use quirks::{Quirk, Quirks};
pub use taints::tolerates;
pub use variant::Variant;
pub use verdict::{
    Allocation, Answer, ConfigSource, Failure, Given, GivenConfig, Look, Refusal, Refused, Verdict,
};
pub use version::{UnknownVersion, Version};
pub use world::{Setup, World};
