//! Faults of single calls: which call of which function on which device by which process is to go wrong, and how.
//! Not here: faults of a card (`op::Injection`, which may carry a time: `schedule`), and whoever makes the call fail (`nvml-abi`).
//! In: a plan and a call with its number. Out: what is to become of the call. Pure: same plan, same numbers, same answers.
#[cfg(feature = "catalog")]
pub(crate) mod file;
mod glob;
mod plan;

pub use glob::Glob;
pub use plan::{Action, Call, FaultPlan, ProcessIs, Rule, Then, When, Window};
