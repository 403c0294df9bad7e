//! The condition of a GPU and the load on it.
//! Not here: the values that vary by themselves (`telemetry`, computed from these and the time).
//! Changed by injection only.
use crate::units::{MiB, MilliJoules, Now, Percent};
use serde::{Deserialize, Serialize};

/// ECC error counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EccCounts {
    /// Corrected (single bit).
    pub corrected: u64,
    /// Uncorrected (double bit).
    pub uncorrected: u64,
}

/// Row remapping (`nvmlDeviceGetRemappedRows`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowRemaps {
    /// Rows remapped for corrected errors.
    pub corrected: u32,
    /// Rows remapped for uncorrected errors.
    pub uncorrected: u32,
    /// A remapping waits for a reset.
    pub pending: bool,
    /// A remapping has failed.
    pub failed: bool,
}

/// `nvmlDeviceGpuRecoveryAction_t`; the number is that of nvml.h.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u32)]
pub enum RecoveryAction {
    /// Nothing to do.
    #[default]
    None = 0,
    /// Reset the GPU.
    GpuReset = 1,
    /// Reboot the node.
    NodeReboot = 2,
    /// Drain peer-to-peer traffic.
    DrainP2p = 3,
    /// Drain and reset.
    DrainAndReset = 4,
}

impl RecoveryAction {
    /// The number in nvml.h.
    pub const fn raw(self) -> u32 {
        self as u32
    }
}

/// The condition of a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// It fell off the bus: every call answers GPU_IS_LOST.
    pub lost: bool,
    /// ECC errors since the last reset.
    pub ecc_volatile: EccCounts,
    /// ECC errors since ever.
    pub ecc_aggregate: EccCounts,
    /// Row remapping.
    pub remaps: RowRemaps,
    /// What the driver asks for.
    pub recovery: RecoveryAction,
    /// The last Xid.
    pub last_xid: Option<u32>,
}

/// The work that a GPU, or one of its instances, is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Share of the time in which kernels run, 0-100.
    pub compute: Percent,
    /// Memory that processes have allocated, without what the driver reserves.
    pub memory: MiB,
    /// Since when.
    pub since: Now,
    /// Energy used up to `since`.
    pub energy: MilliJoules,
}
