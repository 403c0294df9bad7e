//! What a ResourceQuota charges for devices: claims, and pods that ask for extended resources which DeviceClasses stand for.
//! Not the other things that quotas count (cpu, pods, services), and not who is told: only sums and refusals.
//! Objects of the API go in, read once; charges, verdicts on a request and the `used` that a status must have come out.
//!
//! The rules are those of the published page on resource quotas ("Quota for DRA resource claims"), of KEP-5004 and of the
//! API's documentation. The order of the admission's checks, its words and every one of the [`Deviation`]s were set after
//! reading the API server's source and watching it answer.

mod admission;
mod amount;
mod charge;
mod classes;
mod deviation;
mod hard;
mod key;
mod objects;
mod used;

pub use admission::{Denied, admit, growth};
pub use amount::{Amount, Form};
pub use charge::{Charge, of_claim, of_claim_at_its_creation, of_pod};
pub use classes::Classes;
pub use deviation::{Deviation, Rules};
pub use hard::{Unfit, unfit};
pub use key::{Key, claims, devices, implicit, requests};
pub use objects::{Claim, Limits, Owner, Pod, Scope, Unread};
pub use used::{Held, used};

#[cfg(test)]
mod tests;
