//! Pods, as far as they ask for extended resources.

use std::collections::BTreeMap;

use super::claim::ClaimKey;
use crate::names::Name;

/// A pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Its identity.
    pub key: ClaimKey,
    /// Its containers: those of initialization first, as the scheduler counts them.
    pub containers: Vec<Container>,
}

/// A container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its name.
    pub name: Name,
    /// When it runs.
    pub runs: Runs,
    /// What it requests: of extended resources how many; of others, which only count as being there, nothing.
    pub requests: BTreeMap<Name, u64>,
}

/// When a container runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// Before the others, and ends.
    Before,
    /// Starts before the others, and stays.
    Beside,
    /// With the others.
    Along,
}
