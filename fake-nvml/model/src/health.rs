//! The condition of a GPU.
//! Not here: the values that vary by themselves (`telemetry`, computed from these and the time), work (`load`).
//! Changed by injection only.
use crate::throttle::Throttle;
use serde::{Deserialize, Serialize};

/// ECC error counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EccCounts {
    /// Corrected ones of the memory (single bit).
    pub corrected: u64,
    /// Uncorrected ones of the memory (double bit).
    pub uncorrected: u64,
    /// Those inside the chip.
    pub sram: SramCounts,
}

impl EccCounts {
    /// Corrected ones, wherever.
    pub const fn all_corrected(&self) -> u64 {
        self.corrected.saturating_add(self.sram.corrected)
    }

    /// Uncorrected ones, wherever.
    pub const fn all_uncorrected(&self) -> u64 {
        self.uncorrected.saturating_add(self.sram.uncorrected())
    }

    pub(crate) const fn add(&mut self, corrected: u64, uncorrected: u64, site: EccSite) {
        let (corrected_here, uncorrected_here) = match site {
            EccSite::Memory => (&mut self.corrected, &mut self.uncorrected),
            EccSite::Sram { source, check } => {
                let of_source = &mut self.sram.sources[source as usize];
                *of_source = of_source.saturating_add(uncorrected);
                let found = match check {
                    SramCheck::Parity => &mut self.sram.parity,
                    SramCheck::SecDed => &mut self.sram.sec_ded,
                };
                (&mut self.sram.corrected, found)
            }
        };
        *corrected_here = corrected_here.saturating_add(corrected);
        *uncorrected_here = uncorrected_here.saturating_add(uncorrected);
    }
}

/// Counters of errors in the chip's own memories (`nvmlEccSramErrorStatus_v1_t`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SramCounts {
    /// Corrected.
    pub corrected: u64,
    /// Uncorrected, found by parity.
    pub parity: u64,
    /// Uncorrected, found by the code that corrects one bit and detects two.
    pub sec_ded: u64,
    /// Uncorrected ones by [`SramSource`].
    sources: [u64; SramSource::COUNT],
}

impl SramCounts {
    /// Uncorrected ones, however found.
    pub const fn uncorrected(&self) -> u64 {
        self.parity.saturating_add(self.sec_ded)
    }

    /// Uncorrected ones of a part of the chip.
    pub const fn of(&self, source: SramSource) -> u64 {
        self.sources[source as usize]
    }
}

/// Where ECC errors were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EccSite {
    /// In the card's memory.
    #[default]
    Memory,
    /// In a memory of the chip itself.
    Sram {
        /// Which part of the chip.
        source: SramSource,
        /// What found those that could not be corrected.
        check: SramCheck,
    },
}

/// Parts of the chip, as `nvmlEccSramErrorStatus_v1_t` counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SramSource {
    /// The L2 cache.
    L2,
    /// The multiprocessors.
    Sm,
    /// The PCIe interface.
    Pcie,
    /// Microcontrollers.
    Microcontroller,
    /// Anything else.
    Other,
}

impl SramSource {
    const COUNT: usize = Self::Other as usize + 1;
}

/// What finds an error that cannot be corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SramCheck {
    /// A parity bit.
    Parity,
    /// A code that corrects one bit and detects two.
    SecDed,
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
