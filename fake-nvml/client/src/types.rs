//! Values of NVML without its layouts.
//! Not how they are fetched (`library`, `gpu`, `mig`).
//! Units stand at each field; strings are whole, without NVML's fixed lengths.

/// Memory of a device in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// All of it.
    pub total: u64,
    /// Free bytes.
    pub free: u64,
    /// Used bytes.
    pub used: u64,
    /// Bytes that the driver keeps, where the library says so.
    pub reserved: Option<u64>,
}

/// Utilisation in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utilization {
    /// Of the multiprocessors.
    pub gpu: u32,
    /// Of the memory interface.
    pub memory: u32,
}

/// Where a device sits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PciInfo {
    /// As `00000000:07:00.0`.
    pub bus_id: String,
    /// PCI domain.
    pub domain: u32,
    /// PCI bus.
    pub bus: u32,
    /// PCI device.
    pub device: u32,
    /// Device id in the upper, vendor id in the lower half.
    pub device_id: u32,
    /// Subsystem ids in the same way.
    pub subsystem_id: u32,
}

/// Which clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Graphics.
    Graphics = 0,
    /// Multiprocessors.
    Sm = 1,
    /// Memory.
    Memory = 2,
    /// Video.
    Video = 3,
}

/// Who may make contexts on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComputeMode {
    /// Everybody.
    Default = 0,
    /// One thread (old).
    ExclusiveThread = 1,
    /// Nobody.
    Prohibited = 2,
    /// One process.
    ExclusiveProcess = 3,
}

impl ComputeMode {
    /// As nvidia-smi prints it.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Default => "Default",
            Self::ExclusiveThread => "Exclusive_Thread",
            Self::Prohibited => "Prohibited",
            Self::ExclusiveProcess => "Exclusive_Process",
        }
    }
}

/// A profile of a GPU instance as this GPU offers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuInstanceProfile {
    /// Enumerator of nvml.h by which it was asked for.
    pub enumerator: u32,
    /// The id that other calls take, as 19 for `1g.5gb` on A100.
    pub id: u32,
    /// As `MIG 1g.5gb`.
    pub name: String,
    /// Peer-to-peer is possible.
    pub p2p: bool,
    /// Compute slices.
    pub slices: u32,
    /// How many fit on an empty GPU.
    pub instances: u32,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Copy engines.
    pub copy_engines: u32,
    /// Decoders.
    pub decoders: u32,
    /// Encoders.
    pub encoders: u32,
    /// JPEG engines.
    pub jpeg: u32,
    /// Optical flow engines.
    pub ofa: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
}

/// A profile of a compute instance inside one GPU instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComputeInstanceProfile {
    /// Enumerator of nvml.h by which it was asked for.
    pub enumerator: u32,
    /// The id that other calls take.
    pub id: u32,
    /// As `MIG 1c.3g.20gb`.
    pub name: String,
    /// Compute slices.
    pub slices: u32,
    /// How many fit in the empty GPU instance.
    pub instances: u32,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Shared copy engines.
    pub copy_engines: u32,
    /// Shared decoders.
    pub decoders: u32,
    /// Shared encoders.
    pub encoders: u32,
    /// Shared JPEG engines.
    pub jpeg: u32,
    /// Shared optical flow engines.
    pub ofa: u32,
}

/// Start and size in slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Placement {
    /// First slice.
    pub start: u32,
    /// How many.
    pub size: u32,
}

/// A living GPU instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuInstanceInfo {
    /// Its id on the GPU.
    pub id: u32,
    /// The id of its profile.
    pub profile: u32,
    /// Where it lies in memory slices.
    pub placement: Placement,
}

/// A living compute instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComputeInstanceInfo {
    /// Its id in the GPU instance.
    pub id: u32,
    /// The id of its profile.
    pub profile: u32,
    /// Where it lies in compute slices.
    pub placement: Placement,
}

/// What a MIG device has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Shared copy engines.
    pub copy_engines: u32,
    /// Shared decoders.
    pub decoders: u32,
    /// Shared encoders.
    pub encoders: u32,
    /// Shared JPEG engines.
    pub jpeg: u32,
    /// Shared optical flow engines.
    pub ofa: u32,
    /// Compute slices of its GPU instance.
    pub gpu_instance_slices: u32,
    /// Compute slices of its compute instance.
    pub compute_instance_slices: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
}

/// A process with a context on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its process id.
    pub pid: u32,
    /// Bytes it holds, where the library knows.
    pub memory: Option<u64>,
    /// The GPU instance, where there is one.
    pub gpu_instance: Option<u32>,
    /// The compute instance, where there is one.
    pub compute_instance: Option<u32>,
}
