//! The condition of a GPU.
//! Not here: the values that vary by themselves (`telemetry`, computed from these and the time), work (`load`).
//! Changed by injection only.
use crate::throttle::Throttle;
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
    /// It is not there yet: an init that happens now does not find it.
    pub absent: bool,
    /// It must be reset before it can be used again: changes answer RESET_REQUIRED.
    pub reset_required: bool,
    /// Why its clocks are held down.
    pub throttle: Throttle,
    /// NVLinks that are down, by bit.
    pub links_down: u32,
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

impl Health {
    /// Whether an NVLink is up.
    pub const fn link_up(&self, link: u32) -> bool {
        link < u32::BITS && self.links_down & (1 << link) == 0
    }
}
