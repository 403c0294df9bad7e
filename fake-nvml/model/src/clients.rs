//! Who has a GPU or an instance open right now.
//! Not here: how that is found out (locks on the state file, in `gpu-store`).
//! Comes in beside each operation; an open client makes destroy and reset answer IN_USE.
use crate::ids::{CiId, GiId, GpuIndex, Pid};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a client has open: a whole GPU, a GPU instance of it, or a compute instance of that.
///
/// A hold on the whole GPU makes a reset and a change of MIG mode answer IN_USE, one on a GPU instance (a monitor)
/// the instance's destruction, one on a compute instance (work running on a MIG device) both destructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Scope {
    /// The GPU.
    pub gpu: GpuIndex,
    /// The GPU instance, if not the whole GPU.
    pub gi: Option<GiId>,
    /// The compute instance, if not the whole GPU instance.
    pub ci: Option<CiId>,
}

impl Scope {
    /// The whole GPU.
    pub const fn gpu(gpu: GpuIndex) -> Self {
        Self {
            gpu,
            gi: None,
            ci: None,
        }
    }

    /// One GPU instance.
    pub const fn gi(gpu: GpuIndex, gi: GiId) -> Self {
        Self {
            gpu,
            gi: Some(gi),
            ci: None,
        }
    }

    /// One compute instance.
    pub const fn ci(gpu: GpuIndex, gi: GiId, ci: CiId) -> Self {
        Self {
            gpu,
            gi: Some(gi),
            ci: Some(ci),
        }
    }

    /// Whether `other` is this or a part of it.
    pub fn covers(&self, other: &Scope) -> bool {
        self.gpu == other.gpu
            && (self.gi.is_none() || self.gi == other.gi)
            && (self.ci.is_none() || self.ci == other.ci)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GPU {}", self.gpu)?;
        if let Some(gi) = self.gi {
            write!(f, " GPU instance {gi}")?;
        }
        if let Some(ci) = self.ci {
            write!(f, " compute instance {ci}")?;
        }
        Ok(())
    }
}

/// One open client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Client {
    /// What it has open.
    pub scope: Scope,
    /// Its process id as its own PID namespace counts.
    pub pid: Pid,
}

/// All open clients of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clients(Vec<Client>);

impl Clients {
    /// Nobody.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// These.
    pub fn new(mut clients: Vec<Client>) -> Self {
        clients.sort_unstable();
        clients.dedup();
        Self(clients)
    }

    /// All of them, ordered by scope.
    pub fn all(&self) -> &[Client] {
        &self.0
    }

    /// Those that have this, or a part of it, open.
    pub fn within(&self, scope: Scope) -> impl Iterator<Item = &Client> {
        self.0
            .iter()
            .filter(move |client| scope.covers(&client.scope))
    }
}
