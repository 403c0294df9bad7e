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

/// Which list of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessKind {
    /// With a compute context.
    Compute,
    /// With a graphics context.
    Graphics,
    /// Clients of the multi-process service.
    Mps,
}

/// What a process did lately, in percent of the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessUse {
    /// Its process id.
    pub pid: u32,
    /// Multiprocessors.
    pub sm: u32,
    /// Memory interface.
    pub memory: u32,
    /// Encoders.
    pub encoder: u32,
    /// Decoders.
    pub decoder: u32,
}

/// A class on the PCI bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PciClass {
    /// 3 for a display controller.
    pub base: u32,
    /// 2 for a 3D controller.
    pub sub: u32,
}

/// Something in the infoROM that has a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inforom {
    /// Data of the maker.
    Oem = 0,
    /// ECC.
    Ecc = 1,
    /// Power management.
    Power = 2,
}

/// Where memory errors are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// First-level cache.
    L1 = 0,
    /// Second-level cache.
    L2 = 1,
    /// DRAM, also called device memory.
    Dram = 2,
    /// Registers.
    Registers = 3,
    /// Texture memory.
    Texture = 4,
    /// Convergence barrier unit.
    Cbu = 6,
    /// All SRAM.
    Sram = 7,
}

/// At which temperature something happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threshold {
    /// The GPU turns off.
    Shutdown = 0,
    /// The GPU slows down.
    Slowdown = 1,
    /// The memory is at its limit.
    MemoryMax = 2,
    /// The GPU is at its limit.
    GpuMax = 3,
}

/// Sessions of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sessions {
    /// How many.
    pub count: u32,
    /// Frames per second, on average.
    pub fps: u32,
    /// Microseconds, on average.
    pub latency: u32,
}

/// Errors of the SRAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SramErrors {
    /// Corrected since the last reset.
    pub volatile_corrected: u64,
    /// Parity errors since the last reset.
    pub volatile_parity: u64,
    /// Uncorrected SEC-DED errors since the last reset.
    pub volatile_secded: u64,
    /// Corrected, ever.
    pub aggregate_corrected: u64,
    /// Parity errors, ever.
    pub aggregate_parity: u64,
    /// Uncorrected SEC-DED errors, ever.
    pub aggregate_secded: u64,
    /// Of those never corrected, in the second-level cache.
    pub l2: u64,
    /// In multiprocessors.
    pub sm: u64,
    /// In microcontrollers.
    pub microcontroller: u64,
    /// In the PCIe unit.
    pub pcie: u64,
    /// Elsewhere.
    pub other: u64,
    /// More than the maker allows.
    pub threshold_exceeded: bool,
}

/// Rows of memory that were replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remaps {
    /// After correctable errors.
    pub corrected: u32,
    /// After uncorrectable errors.
    pub uncorrected: u32,
    /// More wait for a reset.
    pub pending: bool,
    /// One could not be replaced.
    pub failed: bool,
}

/// Banks by how many of their spare rows are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Histogram {
    /// All.
    pub max: u32,
    /// Most.
    pub high: u32,
    /// Some.
    pub partial: u32,
    /// Few.
    pub low: u32,
    /// None.
    pub none: u32,
}

/// Membership of an NVLink fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fabric {
    /// 0 not supported, 1 not started, 2 in progress, 3 completed.
    pub state: u8,
    /// Why registration failed, if it did.
    pub status: Option<crate::Code>,
    /// The clique.
    pub clique: u32,
    /// The cluster's UUID.
    pub cluster: [u8; 16],
    /// Bits of health, two or more for each property.
    pub health: u32,
    /// 0 not supported, 1 healthy, 2 unhealthy, 3 limited capacity.
    pub summary: u8,
}

/// A place in a rack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Platform {
    /// The chassis.
    pub chassis_serial: String,
    /// Slot in the chassis.
    pub slot: u8,
    /// Tray in the slot.
    pub tray: u8,
    /// Host in the tray.
    pub host: u8,
    /// 0 for a direct connection, else by a switch.
    pub peer: u8,
    /// Module in the host.
    pub module: u8,
    /// Identity in the fabric.
    pub fabric_guid: u64,
}

/// What a link can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkCapability {
    /// Peer-to-peer.
    PeerToPeer = 0,
    /// Access to system memory.
    SystemMemory = 1,
    /// Atomics between peers.
    PeerAtomics = 2,
    /// Atomics in system memory.
    SystemAtomics = 3,
    /// SLI.
    Sli = 4,
    /// The link itself.
    Valid = 5,
}

/// The other end of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkEnd {
    /// As `00000000:07:00.0`.
    pub bus_id: String,
    /// A switch, not a GPU.
    pub switch: bool,
}

/// What the driver keeps samples of; numbers are nvml.h's `nvmlSamplingType_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampled {
    /// Power in milliwatts.
    Power = 0,
    /// Percent of time that the GPU was busy.
    Gpu = 1,
    /// Percent of time that its memory was read or written.
    Memory = 2,
    /// Percent of time that encoders were busy.
    Encoder = 3,
    /// The same for decoders.
    Decoder = 4,
    /// Clock of the multiprocessors in MHz.
    SmClock = 5,
    /// Clock of the memory in MHz.
    MemoryClock = 6,
    /// Percent of time that JPEG decoders were busy.
    Jpeg = 8,
    /// Percent of time that optical flow was worked out.
    Ofa = 9,
}

/// A value of a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Microseconds since 1970.
    pub at: u64,
    /// In the unit of what is sampled.
    pub value: i64,
}

/// What a process has used; `None` is a value that the driver does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Percent of its time that the GPU was busy for it.
    pub gpu: Option<u32>,
    /// Percent of its time that memory was read or written for it.
    pub memory: Option<u32>,
    /// Bytes that it had at most.
    pub max_memory: Option<u64>,
    /// How long it had a context, once it has ended.
    pub milliseconds: u64,
    /// It has not ended.
    pub running: bool,
}
