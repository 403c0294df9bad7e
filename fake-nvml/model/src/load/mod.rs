//! The work on a card: processes, their memory, their use of the card and its links over time.
//! Not here: what a card shows of it (`telemetry`), the list of loads that a card has (`Gpu::loads`).
//! Loads are put in place from outside (`fakegpu load`, pods' annotations, `Injection::Load`).
mod curve;
mod shape;
mod share;
mod traffic;

pub use curve::CurveError;
pub use shape::{Point, Shape, ShapeError};
pub(crate) use share::{BUSY_MICRO, SCALED_PERCENT, busy_area, scaled, shares};
pub(crate) use traffic::Counted;
pub use traffic::{Flow, Moved, Traffic};

use crate::{
    clients::Scope,
    ids::{CiId, GiId, GpuIndex, Pid},
    units::{MiB, Now},
};
use serde::{Deserialize, Serialize};

/// Tells one load of a machine from another; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LoadId(pub u64);

impl std::fmt::Display for LoadId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A load that is to be put on a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLoad {
    /// On the whole card, on a GPU instance, or on a compute instance.
    pub scope: Scope,
    /// Whose it is; `None` is use without a process that could be listed.
    pub process: Option<Process>,
    /// Memory that it holds as long as it lasts.
    pub memory: MiB,
    /// Use over time since it begins, as a share of its scope.
    pub shape: Shape,
    /// What it moves over the card's links at its busiest.
    pub traffic: Traffic,
    /// When it begins; `None` is now.
    pub since: Option<Now>,
    /// When it is over; `None` is when it is removed.
    pub until: Option<Now>,
}

/// A load on a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Which.
    pub id: LoadId,
    /// On which GPU instance; `None` is the whole card.
    pub gi: Option<GiId>,
    /// On which compute instance of that; `None` is the whole GPU instance.
    pub ci: Option<CiId>,
    /// Whose it is.
    pub process: Option<Process>,
    /// Memory that it holds.
    pub memory: MiB,
    /// Use over time since it began.
    pub shape: Shape,
    /// What it moves over the card's links at its busiest.
    pub traffic: Traffic,
    /// When it began, or will.
    pub since: Now,
    /// When it is over.
    pub until: Option<Now>,
}

/// A process on a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its id, as NVML shows it.
    pub pid: Pid,
    /// Its name: `nvmlSystemGetProcessName`.
    pub name: String,
    /// In which of NVML's lists it stands.
    pub kind: ProcessKind,
    /// It is a real process that holds its place in the state file (`gpu_store::Store::hold`): when it ends, however it ends, its
    /// load is over.
    pub real: bool,
}

/// The lists of processes that NVML has.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum ProcessKind {
    /// With a compute context: `nvmlDeviceGetComputeRunningProcesses`.
    #[default]
    Compute,
    /// With a graphics context: `nvmlDeviceGetGraphicsRunningProcesses`.
    Graphics,
    /// Computing by way of MPS: `nvmlDeviceGetMPSComputeRunningProcesses`.
    Mps,
}

impl Load {
    /// Whether it is there at `now`.
    pub fn runs(&self, now: Now) -> bool {
        self.since <= now && !self.over(now)
    }

    /// Whether it is over at `now`.
    pub fn over(&self, now: Now) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// What it is on.
    pub const fn scope(&self, gpu: GpuIndex) -> Scope {
        Scope {
            gpu,
            gi: self.gi,
            ci: self.ci,
        }
    }
}
