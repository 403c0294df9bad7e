//! What a GPU model is, in the compact form that travels in the state file.
//! Not here: confidence and sources (`catalog`, which this is made from), the state of a card (`machine`).
//! Values come from the catalogue; `None` stands for what the catalogue marks `unknown`.
use crate::{
    board::Board,
    ids::ProfileId,
    units::{Celsius, MHz, MiB, MilliWatts, Slices},
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One GPU model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The catalogue's name, `A100-SXM4-40GB`.
    pub model: String,
    /// The product name that NVML reports, `NVIDIA A100-SXM4-40GB`.
    pub name: String,
    /// `nvmlDeviceGetBrand`.
    pub brand: Brand,
    /// `nvmlDeviceGetArchitecture`.
    pub architecture: Architecture,
    /// The chip id that goes into UUIDs; `None` if the catalogue does not know it (0 is used then).
    pub chip_id: Option<u16>,
    /// `nvmlDeviceGetCudaComputeCapability`.
    pub compute_capability: ComputeCapability,
    /// Device id << 16 | vendor id, `nvmlPciInfo_t.pciDeviceId`.
    pub pci_device_id: u32,
    /// Subsystem id << 16 | vendor id, `nvmlPciInfo_t.pciSubSystemId`.
    pub pci_subsystem_id: Option<u32>,
    /// `nvmlDeviceGetBoardPartNumber`.
    pub board_part_number: Option<String>,
    /// `nvmlDeviceGetGpuPartNumber`-like part number of the chip.
    pub gpu_part_number: Option<String>,
    /// `nvmlDeviceGetVbiosVersion`.
    pub vbios: Option<String>,
    /// infoROM versions.
    pub inforom: Option<Inforom>,
    /// Frame buffer as `nvmlDeviceGetMemoryInfo` reports it (`total`).
    pub memory_total: MiB,
    /// What `nvmlDeviceGetMemoryInfo_v2` calls `reserved` (part of `used` in version 1).
    pub memory_reserved: Option<MiB>,
    /// `nvmlDeviceGetBAR1MemoryInfo`.
    pub bar1_total: Option<MiB>,
    /// Streaming multiprocessors of the whole card.
    pub multiprocessors: Option<u32>,
    /// `nvmlDeviceGetMaxClockInfo`.
    pub max_clocks: Option<Clocks>,
    /// `nvmlDeviceGetDefaultApplicationsClock` (graphics, memory).
    pub default_app_clocks: Option<(MHz, MHz)>,
    /// Power limits.
    pub power: Option<PowerLimits>,
    /// Temperature thresholds.
    pub thermal: Option<Thermal>,
    /// ECC is there and on by default.
    pub ecc: Option<bool>,
    /// Banks of the row remapper's histogram when no bank is used up.
    pub remap_max_banks: Option<u32>,
    /// NVLink; `None` if the card has none.
    pub nvlink: Option<NvLink>,
    /// PCI Express.
    pub pcie: Option<Pcie>,
    /// What else the board has.
    pub board: Board,
    /// Partitioning; `None` if the model has no MIG.
    pub mig: Option<MigSpec>,
    /// Values that nobody has shown and that stand in for the real ones.
    pub stand_ins: Vec<StandIn>,
}

impl Spec {
    /// Whether layouts, and certificates that rest on them, can be claimed of this model: every value that they follow
    /// from is known.
    pub fn certifiable(&self) -> bool {
        !self.stand_ins.iter().any(|it| it.weighs())
    }

    /// The profile of a stand-in by name, where it belongs to one.
    fn profile_name(&self, id: ProfileId) -> &str {
        let profile = self.mig.as_ref().and_then(|mig| mig.by_id(id));
        profile.map_or("a profile", |profile| &profile.name)
    }

    /// What a stand-in stands for, in words: `memory of 3g.93gb`.
    pub fn describe(&self, it: StandIn) -> String {
        match it {
            StandIn::Name => "name".to_owned(),
            StandIn::MemoryTotal => "memory of the card".to_owned(),
            StandIn::Multiprocessors => "multiprocessors of the card".to_owned(),
            StandIn::Slices => "slices of the card".to_owned(),
            StandIn::Other => "clocks, power and the like".to_owned(),
            StandIn::Shape(gi) => {
                format!("multiprocessors and engines of {}", self.profile_name(gi))
            }
            StandIn::Memory(gi) => format!("memory of {}", self.profile_name(gi)),
            StandIn::Placements(gi) => format!("placements of {}", self.profile_name(gi)),
            StandIn::DefaultOrder(gi) => {
                format!("default placement of {}", self.profile_name(gi))
            }
            StandIn::Compute(gi) => {
                format!("compute instances within {}", self.profile_name(gi))
            }
        }
    }
}

/// A value that nobody has shown: what stands there keeps programs going and tests deterministic, and is no fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum StandIn {
    /// The product name.
    Name,
    /// The card's memory.
    MemoryTotal,
    /// The card's streaming multiprocessors.
    Multiprocessors,
    /// Memory slices, compute slices or the number of MIG devices.
    Slices,
    /// Another value of the card, such as clocks and power limits.
    Other,
    /// Multiprocessors, engines or counts of a GPU instance profile.
    Shape(ProfileId),
    /// Memory of a GPU instance profile.
    Memory(ProfileId),
    /// Placements of a GPU instance profile.
    Placements(ProfileId),
    /// The order in which the driver tries the placements of a GPU instance profile.
    DefaultOrder(ProfileId),
    /// Something of the compute instance profiles within a GPU instance profile.
    Compute(ProfileId),
}

impl StandIn {
    /// Whether layouts of GPU instances rest on it. The order in which a driver tries places and the parts of a GPU
    /// instance do not count: a layout names its places, and partitions are handed out whole.
    pub const fn weighs(self) -> bool {
        !matches!(self, Self::Other | Self::DefaultOrder(_) | Self::Compute(_))
    }
}

/// `nvmlBrandType_t`; the number is that of nvml.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u32)]
pub enum Brand {
    /// Unknown.
    Unknown = 0,
    /// Quadro.
    Quadro = 1,
    /// Tesla.
    Tesla = 2,
    /// GeForce.
    GeForce = 5,
    /// Titan.
    Titan = 6,
    /// Quadro RTX.
    QuadroRtx = 12,
    /// NVIDIA RTX.
    NvidiaRtx = 13,
    /// NVIDIA, the brand of the data-centre cards since R470.
    Nvidia = 14,
    /// GeForce RTX.
    GeForceRtx = 15,
    /// Titan RTX.
    TitanRtx = 16,
}

/// `nvmlDeviceArchitecture_t`; the number is that of nvml.h. Later ones compare greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u32)]
pub enum Architecture {
    /// Kepler.
    Kepler = 2,
    /// Maxwell.
    Maxwell = 3,
    /// Pascal.
    Pascal = 4,
    /// Volta.
    Volta = 5,
    /// Turing.
    Turing = 6,
    /// Ampere.
    Ampere = 7,
    /// Ada Lovelace.
    Ada = 8,
    /// Hopper.
    Hopper = 9,
    /// Blackwell.
    Blackwell = 10,
    /// Rubin.
    Rubin = 13,
}

impl Brand {
    /// The number in nvml.h.
    pub const fn raw(self) -> u32 {
        self as u32
    }
}

impl Architecture {
    /// The number in nvml.h.
    pub const fn raw(self) -> u32 {
        self as u32
    }

    /// The word that nvidia-smi prints, `Ampere`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kepler => "Kepler",
            Self::Maxwell => "Maxwell",
            Self::Pascal => "Pascal",
            Self::Volta => "Volta",
            Self::Turing => "Turing",
            Self::Ampere => "Ampere",
            Self::Ada => "Ada Lovelace",
            Self::Hopper => "Hopper",
            Self::Blackwell => "Blackwell",
            Self::Rubin => "Rubin",
        }
    }
}

/// CUDA compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ComputeCapability {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// infoROM versions; a member is `None` where nvidia-smi prints N/A.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inforom {
    /// Image version.
    pub image: String,
    /// OEM object.
    pub oem: Option<String>,
    /// ECC object.
    pub ecc: Option<String>,
    /// Power object.
    pub power: Option<String>,
}

/// Clocks by domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// Graphics.
    pub graphics: MHz,
    /// Streaming multiprocessors.
    pub sm: MHz,
    /// Memory.
    pub memory: MHz,
    /// Video.
    pub video: MHz,
}

/// Power limits of the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerLimits {
    /// The limit after boot.
    pub default: MilliWatts,
    /// The lowest that can be set.
    pub min: MilliWatts,
    /// The highest that can be set.
    pub max: MilliWatts,
}

/// Temperature thresholds: absolute up to Ampere, as a distance to a limit (T.Limit) since Ada and Hopper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Thermal {
    /// Degrees.
    Absolute {
        /// Shutdown.
        shutdown: Celsius,
        /// Slowdown.
        slowdown: Celsius,
        /// Highest operating temperature of the GPU.
        gpu_max: Celsius,
        /// Highest operating temperature of the memory.
        mem_max: Option<Celsius>,
    },
    /// Degrees left to the limit; negative is beyond it.
    Margin {
        /// Shutdown.
        shutdown: Celsius,
        /// Slowdown.
        slowdown: Celsius,
        /// Highest operating temperature of the GPU.
        gpu_max: Celsius,
        /// Highest operating temperature of the memory.
        mem_max: Option<Celsius>,
    },
}

/// NVLink of a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvLink {
    /// Version (3 on A100, 4 on H100).
    pub version: u32,
    /// Number of links.
    pub links: u32,
    /// Speed of one link in one direction, megabytes per second.
    pub link_speed_mbps: Option<u32>,
}

/// PCI Express of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pcie {
    /// Highest generation.
    pub generation: u32,
    /// Highest width.
    pub width: u32,
}

/// How a change of MIG mode takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MigToggle {
    /// The change waits as *pending* until the GPU is reset (Ampere).
    NeedsReset,
    /// The change takes effect at once (Hopper and newer).
    Immediate,
}

/// The partitioning of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigSpec {
    /// Memory slices, the unit of placements of GPU instances.
    pub memory_slices: Slices,
    /// Compute slices, the unit of placements of compute instances.
    pub compute_slices: Slices,
    /// `nvmlDeviceGetMaxMigDeviceCount` while MIG mode is on.
    pub max_devices: u32,
    /// How mode changes take effect.
    pub toggle: MigToggle,
    /// GPU instance profiles in the order of `nvidia-smi mig -lgip` (smallest first).
    pub profiles: Vec<GiProfile>,
}

/// A place: `size` slices from `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Placement {
    /// First slice.
    pub start: u32,
    /// Number of slices.
    pub size: u32,
}

impl fmt::Display for Placement {
    /// `start:size`, as nvidia-smi prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.start, self.size)
    }
}

/// Engines of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Engines {
    /// Copy engines.
    pub copy: u32,
    /// Decoders (NVDEC).
    pub decoder: u32,
    /// Encoders (NVENC).
    pub encoder: u32,
    /// JPEG decoders.
    pub jpeg: u32,
    /// Optical flow accelerators.
    pub ofa: u32,
}

macro_rules! profile_index {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $value:literal, $constant:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[repr(u32)]
        pub enum $name { $(#[doc = concat!("`", $constant, "`")] $variant = $value,)* }

        impl $name {
            /// All enumerators, in the order of nvml.h.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The number in nvml.h.
            pub const fn raw(self) -> u32 { self as u32 }

            /// The name in nvml.h without its common prefix, as the catalogue writes it (`1_SLICE_REV1`).
            pub const fn constant(self) -> &'static str {
                match self { $(Self::$variant => $constant,)* }
            }

            /// From the number in nvml.h; `None` if nvml.h has no such enumerator.
            pub const fn from_raw(raw: u32) -> Option<Self> {
                match raw { $($value => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

profile_index! {
    /// `NVML_GPU_INSTANCE_PROFILE_*` of nvml.h (18 enumerators).
    GiProfileIndex {
        S1 = 0, "1_SLICE";
        S2 = 1, "2_SLICE";
        S3 = 2, "3_SLICE";
        S4 = 3, "4_SLICE";
        S7 = 4, "7_SLICE";
        S8 = 5, "8_SLICE";
        S6 = 6, "6_SLICE";
        S1Rev1 = 7, "1_SLICE_REV1";
        S2Rev1 = 8, "2_SLICE_REV1";
        S1Rev2 = 9, "1_SLICE_REV2";
        S1Gfx = 10, "1_SLICE_GFX";
        S2Gfx = 11, "2_SLICE_GFX";
        S4Gfx = 12, "4_SLICE_GFX";
        S1NoMe = 13, "1_SLICE_NO_ME";
        S2NoMe = 14, "2_SLICE_NO_ME";
        S1AllMe = 15, "1_SLICE_ALL_ME";
        S2AllMe = 16, "2_SLICE_ALL_ME";
        S3Gfx = 17, "3_SLICE_GFX";
    }
}

profile_index! {
    /// `NVML_COMPUTE_INSTANCE_PROFILE_*` of nvml.h (9 enumerators).
    CiProfileIndex {
        S1 = 0, "1_SLICE";
        S2 = 1, "2_SLICE";
        S3 = 2, "3_SLICE";
        S4 = 3, "4_SLICE";
        S7 = 4, "7_SLICE";
        S8 = 5, "8_SLICE";
        S6 = 6, "6_SLICE";
        S1Rev1 = 7, "1_SLICE_REV1";
        S7Nvl = 8, "7_SLICE_NVL";
    }
}

impl GiProfileIndex {
    /// The suffix that the naming rule of go-nvlib gives to the profile: `+me`, `+gfx`, `-me`, `+me.all` or nothing.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::S1Rev1 | Self::S2Rev1 => "+me",
            Self::S1Gfx | Self::S2Gfx | Self::S3Gfx | Self::S4Gfx => "+gfx",
            Self::S1NoMe | Self::S2NoMe => "-me",
            Self::S1AllMe | Self::S2AllMe => "+me.all",
            _ => "",
        }
    }

    /// Whether the profile's capability bits hold graphics.
    pub const fn graphics(self) -> bool {
        matches!(self, Self::S1Gfx | Self::S2Gfx | Self::S3Gfx | Self::S4Gfx)
    }
}

/// A GPU instance profile of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GiProfile {
    /// The name, `1g.5gb+me`.
    pub name: String,
    /// The enumerator in nvml.h.
    pub index: GiProfileIndex,
    /// The id that the driver reports.
    pub id: ProfileId,
    /// Compute slices.
    pub slices: Slices,
    /// How many instances of it fit at most.
    pub instances: u32,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Engines.
    pub engines: Engines,
    /// Memory of an instance.
    pub memory: MiB,
    /// `isP2pSupported`.
    pub p2p: bool,
    /// Size of each placement in memory slices.
    pub size: Slices,
    /// The starts of all placements, ascending: `nvmlDeviceGetGpuInstancePossiblePlacements_v2`.
    pub starts: Vec<u32>,
    /// The same starts in the order in which the driver tries them when it is told none.
    pub default_order: Vec<u32>,
    /// Compute instance profiles, smallest first.
    pub compute: Vec<CiProfile>,
}

impl GiProfile {
    /// All placements, ascending.
    pub fn placements(&self) -> impl ExactSizeIterator<Item = Placement> + '_ {
        let size = self.size.0;
        self.starts
            .iter()
            .map(move |&start| Placement { start, size })
    }

    /// The compute instance profile that fills the whole GPU instance.
    pub fn full_compute(&self) -> Option<&CiProfile> {
        self.compute.iter().find(|p| p.slices == self.slices)
    }

    /// Looks a compute instance profile up by its reported id.
    pub fn ci_by_id(&self, id: ProfileId) -> Option<&CiProfile> {
        self.compute.iter().find(|p| p.id == id)
    }
}

/// A compute instance profile within a GPU instance profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiProfile {
    /// The name, `1c.3g.20gb`.
    pub name: String,
    /// The enumerator in nvml.h.
    pub index: CiProfileIndex,
    /// The id that the driver reports.
    pub id: ProfileId,
    /// Compute slices.
    pub slices: Slices,
    /// How many instances of it fit at most.
    pub instances: u32,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// The starts of all placements within the GPU instance, in compute slices, in the order in which they are tried.
    pub starts: Vec<u32>,
}

impl CiProfile {
    /// All placements, in the order in which they are tried.
    pub fn placements(&self) -> impl ExactSizeIterator<Item = Placement> + '_ {
        let size = self.slices.0;
        self.starts
            .iter()
            .map(move |&start| Placement { start, size })
    }
}

impl Engines {
    /// Each kind with its word, in the order of `nvidia-smi mig -lgip`.
    pub const fn each(self) -> [(&'static str, u32); 5] {
        [
            ("copy engines", self.copy),
            ("decoders", self.decoder),
            ("encoders", self.encoder),
            ("JPEG engines", self.jpeg),
            ("OFA engines", self.ofa),
        ]
    }
}

impl MigSpec {
    /// The engines of the whole card: those of the profile that takes all of it.
    pub fn engines(&self) -> Engines {
        let whole = self
            .profiles
            .iter()
            .filter(|p| p.size == self.memory_slices);
        whole.fold(Engines::default(), |sum, p| Engines {
            copy: sum.copy.max(p.engines.copy),
            decoder: sum.decoder.max(p.engines.decoder),
            encoder: sum.encoder.max(p.engines.encoder),
            jpeg: sum.jpeg.max(p.engines.jpeg),
            ofa: sum.ofa.max(p.engines.ofa),
        })
    }

    /// Looks a GPU instance profile up by its reported id.
    pub fn by_id(&self, id: ProfileId) -> Option<&GiProfile> {
        self.profiles.iter().find(|p| p.id == id)
    }

    /// Looks a GPU instance profile up by its enumerator in nvml.h.
    pub fn by_index(&self, index: GiProfileIndex) -> Option<&GiProfile> {
        self.profiles.iter().find(|p| p.index == index)
    }

    /// Looks a GPU instance profile up by its name, `1g.5gb+me`.
    pub fn by_name(&self, name: &str) -> Option<&GiProfile> {
        self.profiles.iter().find(|p| p.name == name)
    }
}
