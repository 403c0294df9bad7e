//! What can be done to a machine, and what comes of it.
//! Not here: how (`engine`), why not (`refusal`).
//! Made by the NVML library, nvidia-smi, fakegpu and the harness.
use crate::{
    chosen::Choice,
    code::Code,
    health::{EccSite, RecoveryAction, RowRemaps},
    ids::{Birth, CiId, GiId, GpuIndex, MigUuid, ProfileId},
    machine::{ComputeMode, MigMode, Quirks, Timeslice},
    spec::Placement,
    throttle::Throttle,
    units::{MiB, MilliWatts, Now, Percent},
};
use serde::{Deserialize, Serialize};

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `nvmlDeviceSetMigMode`.
    SetMigMode {
        /// On which GPU.
        gpu: GpuIndex,
        /// To which mode.
        mode: MigMode,
    },
    /// `nvidia-smi -r`: drops all instances, applies pending modes, clears volatile errors.
    Reset {
        /// Which GPU.
        gpu: GpuIndex,
    },
    /// `nvmlDeviceCreateGpuInstance` and `…WithPlacement`.
    CreateGpuInstance {
        /// On which GPU.
        gpu: GpuIndex,
        /// Of which profile.
        profile: ProfileId,
        /// Where; `None` leaves the choice to the driver.
        placement: Option<Placement>,
    },
    /// `nvmlGpuInstanceDestroy`.
    DestroyGpuInstance {
        /// On which GPU.
        gpu: GpuIndex,
        /// Which.
        gi: GiId,
    },
    /// `nvmlGpuInstanceCreateComputeInstance` and `…WithPlacement`.
    CreateComputeInstance {
        /// On which GPU.
        gpu: GpuIndex,
        /// In which GPU instance.
        gi: GiId,
        /// Of which profile.
        profile: ProfileId,
        /// Where; `None` leaves the choice to the driver.
        placement: Option<Placement>,
    },
    /// `nvmlComputeInstanceDestroy`.
    DestroyComputeInstance {
        /// On which GPU.
        gpu: GpuIndex,
        /// In which GPU instance.
        gi: GiId,
        /// Which.
        ci: CiId,
    },
    /// `nvmlDeviceSetPersistenceMode`.
    SetPersistence {
        /// On which GPU.
        gpu: GpuIndex,
        /// On or off.
        on: bool,
    },
    /// `nvmlDeviceSetComputeMode`.
    SetComputeMode {
        /// On which GPU.
        gpu: GpuIndex,
        /// To which.
        mode: ComputeMode,
    },
    /// `nvidia-smi compute-policy --set-timeslice`.
    SetTimeslice {
        /// On which GPU.
        gpu: GpuIndex,
        /// To which.
        timeslice: Timeslice,
    },
    /// `nvmlDeviceSetPowerManagementLimit`; `None` is back to the default.
    SetPowerLimit {
        /// On which GPU.
        gpu: GpuIndex,
        /// To what.
        limit: Option<MilliWatts>,
    },
    /// `nvmlDeviceSetEccMode`: pending until the next reset.
    SetEcc {
        /// On which GPU.
        gpu: GpuIndex,
        /// On or off.
        on: bool,
    },
    /// Clocks, accounting, draining.
    Choose {
        /// On which GPU.
        gpu: GpuIndex,
        /// What.
        choice: Choice,
    },
    /// `nvmlDeviceClearEccErrorCounts`.
    ClearEcc {
        /// On which GPU.
        gpu: GpuIndex,
        /// Those since ever, else those since the last reset.
        aggregate: bool,
    },
    /// Not an NVML call: puts a fault or a load in place.
    Inject {
        /// On which GPU.
        gpu: GpuIndex,
        /// What.
        what: Injection,
    },
    /// Not an NVML call: the same at a later time (now, if that has come).
    Schedule {
        /// On which GPU.
        gpu: GpuIndex,
        /// When.
        at: Now,
        /// What.
        what: Injection,
    },
}

/// What can be put in place from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Injection {
    /// An Xid, on an instance or (both `None`) on the whole GPU.
    Xid {
        /// Its number.
        xid: u32,
        /// On which GPU instance.
        gi: Option<GiId>,
        /// On which compute instance.
        ci: Option<CiId>,
    },
    /// ECC errors.
    Ecc {
        /// Corrected ones.
        corrected: u64,
        /// Uncorrected ones.
        uncorrected: u64,
        /// On which GPU instance.
        gi: Option<GiId>,
        /// In which memory.
        site: EccSite,
    },
    /// Row remapping, as a new state.
    Remaps(RowRemaps),
    /// The recovery action, as a new state.
    Recovery(RecoveryAction),
    /// Falls off the bus (`true`) or is back (`false`).
    Lost(bool),
    /// Is not there (`true`: an init does not find it) or is there (`false`).
    Absent(bool),
    /// Must be reset before it can be used again, as a new state; a reset ends it.
    ResetRequired(bool),
    /// Why clocks are held down, as a new state.
    Throttle(Throttle),
    /// An NVLink comes up or goes down.
    NvLink {
        /// Which, from 0.
        link: u32,
        /// Up or down.
        up: bool,
    },
    /// Load without a process on the whole card or on one GPU instance, as a new state.
    Load {
        /// On which GPU instance; `None` is the card outside of its instances.
        gi: Option<GiId>,
        /// Share of the time in which kernels run, 0-100.
        compute: Percent,
        /// Memory allocated.
        memory: MiB,
    },
    /// Quirks, as a new state.
    Quirks(Quirks),
}

/// What came of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done.
    Done,
    /// MIG mode was set, or is pending.
    MigMode {
        /// `activationStatus`: `Success`, `InUse` or `ResetRequired`. The call itself returns SUCCESS.
        activation: Code,
    },
    /// A GPU instance was created.
    GpuInstance {
        /// Its id.
        id: GiId,
        /// Where.
        placement: Placement,
        /// Its serial number.
        birth: Birth,
    },
    /// A compute instance was created.
    ComputeInstance {
        /// Its id.
        id: CiId,
        /// Where.
        placement: Placement,
        /// The MIG device's UUID.
        uuid: MigUuid,
        /// Its serial number.
        birth: Birth,
    },
    /// An event was put in the ring.
    Event {
        /// Its sequence number (of the last one, if there were several).
        seq: u64,
    },
}
