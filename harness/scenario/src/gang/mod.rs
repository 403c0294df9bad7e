//! Gangs: pods that shall start together or not at all, by the Workload API of the cluster or by another scheduler.
//! Not here: the steps (`steps::gang`) nor who schedules.
//! Data comes from API objects as they are, and goes out as objects to send and as gangs with what they hold.

mod form;
pub(crate) mod scheduler;
mod sight;

pub(crate) use form::{Form, Group};
pub(crate) use scheduler::Install;
pub(crate) use sight::{Sight, Stuck};

/// A gang that the scenario made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) name: String,
    /// How many of its pods were made so far.
    pub(crate) pods: usize,
    /// PriorityClass of all of them.
    pub(crate) priority: Option<String>,
}
