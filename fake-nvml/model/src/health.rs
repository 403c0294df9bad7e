//! The condition of a GPU.
//! Not here: the values that vary by themselves (`telemetry`, computed from these and the time), work (`load`).
//! Changed by injection only.
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

/// Why clocks are lower than they could be: bits of `nvmlClocksEventReason*`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Throttle(pub u64);

impl Throttle {
    /// Nothing to do.
    pub const IDLE: Self = Self(0x1);
    /// The power limit.
    pub const POWER_CAP: Self = Self(0x4);
    /// Hardware: halved or worse, by temperature or power.
    pub const HW_SLOWDOWN: Self = Self(0x8);
    /// The driver, by temperature.
    pub const SW_THERMAL: Self = Self(0x20);
    /// Hardware, by temperature.
    pub const HW_THERMAL: Self = Self(0x40);
    /// Hardware, by the power supply's brake signal.
    pub const POWER_BRAKE: Self = Self(0x80);

    /// Both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether any of these.
    pub const fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    /// Whether none.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}
