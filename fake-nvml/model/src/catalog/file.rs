//! A model file as it is written.
//! Not here: whether its values fit together (`check`), their list for people (`rows`).
//! In: YAML text. Out: typed values that know their line.
use super::error::CatalogError;
use serde::Deserialize;
use serde_saphyr::Spanned;
use std::{collections::BTreeMap, fmt};

/// How sure a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Not found; the value is missing or a placeholder.
    Unknown,
    /// Computed, or carried over from a sibling.
    Derived,
    /// Seen in the output of a real machine.
    Observed,
    /// Quoted from NVIDIA's documentation or code.
    Doc,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "unknown",
            Self::Derived => "derived",
            Self::Observed => "observed",
            Self::Doc => "doc",
        })
    }
}

/// One value with its provenance.
pub(super) type Fact<T> = Spanned<RawFact<T>>;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFact<T> {
    pub(super) value: Option<T>,
    pub(super) confidence: Confidence,
    pub(super) source: Vec<String>,
    #[serde(default)]
    #[allow(dead_code)] // read by `rows`, from the same text
    note: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) format: Spanned<u32>,
    pub(super) model: Spanned<String>,
    #[serde(default)]
    pub(super) sources: BTreeMap<String, String>,
    pub(super) identity: Identity,
    #[serde(default)]
    pub(super) board: Board,
    #[serde(default)]
    pub(super) mig: Option<Mig>,
    #[serde(default)]
    pub(super) notes: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Identity {
    pub(super) name: Fact<String>,
    pub(super) brand: Fact<Brand>,
    pub(super) architecture: Fact<Architecture>,
    pub(super) chip_id: Fact<u16>,
    pub(super) compute_capability: Fact<String>,
    pub(super) pci_device_id: Fact<u32>,
    pub(super) pci_subsystem_id: Fact<u32>,
    pub(super) board_part_number: Fact<String>,
    pub(super) gpu_part_number: Fact<String>,
    pub(super) vbios: Fact<String>,
    pub(super) inforom: Fact<Inforom>,
    pub(super) memory_total_mib: Fact<u64>,
    pub(super) memory_reserved_mib: Fact<u64>,
    pub(super) bar1_total_mib: Fact<u64>,
    pub(super) multiprocessors: Fact<u32>,
    pub(super) max_clocks_mhz: Fact<Clocks>,
    pub(super) default_app_clocks_mhz: Fact<AppClocks>,
    pub(super) power_limit_w: Fact<Power>,
    pub(super) temperature_c: Fact<Temperature>,
    pub(super) ecc: Fact<bool>,
    pub(super) remap_max_banks: Fact<u32>,
    pub(super) nvlink: Fact<NvLink>,
    pub(super) pcie: Fact<Pcie>,
    pub(super) mig_supported: Fact<bool>,
    #[serde(default)]
    pub(super) min_driver_for_mig: Option<Fact<String>>,
    #[serde(default)]
    pub(super) driver_versions_seen: Option<Fact<Vec<String>>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Board {
    pub(super) supported_clocks_mhz: Option<Fact<SupportedClocks>>,
    pub(super) memory_bus_width_bits: Option<Fact<u32>>,
    pub(super) cuda_cores: Option<Fact<u32>>,
    pub(super) temperature_limit_c: Option<Fact<i32>>,
    pub(super) memory_sensor: Option<Fact<bool>>,
    pub(super) average_power: Option<Fact<bool>>,
    pub(super) fabric: Option<Fact<bool>>,
    pub(super) c2c: Option<Fact<bool>>,
    pub(super) addressing_mode: Option<Fact<AddressingMode>>,
    pub(super) fans: Option<Fact<u32>>,
    pub(super) page_retirement: Option<Fact<bool>>,
    pub(super) module_power_limit_w: Option<Fact<Power>>,
    pub(super) idle_draw_w: Option<Fact<Draw>>,
    pub(super) idle: Option<Fact<Idle>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Draw {
    #[serde(default)]
    pub(super) memory: Option<u32>,
    #[serde(default)]
    pub(super) module: Option<u32>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SupportedClocks {
    pub(super) lowest: u32,
    pub(super) step: u32,
    #[serde(default)]
    pub(super) low: Option<AppClocks>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Brand {
    Unknown,
    Quadro,
    Tesla,
    Geforce,
    Titan,
    QuadroRtx,
    NvidiaRtx,
    Nvidia,
    GeforceRtx,
    TitanRtx,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Architecture {
    Kepler,
    Maxwell,
    Pascal,
    Volta,
    Turing,
    Ampere,
    Ada,
    Hopper,
    Blackwell,
    Rubin,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Inforom {
    pub(super) image: String,
    pub(super) oem: Option<String>,
    pub(super) ecc: Option<String>,
    pub(super) power: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Clocks {
    pub(super) graphics: u32,
    pub(super) sm: u32,
    pub(super) memory: u32,
    pub(super) video: u32,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AppClocks {
    pub(super) graphics: u32,
    pub(super) memory: u32,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Power {
    pub(super) default: u32,
    pub(super) min: u32,
    pub(super) max: u32,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum AddressingMode {
    None,
    Hmm,
    Ats,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Idle {
    #[serde(default)]
    pub(super) power_w: Option<u32>,
    pub(super) graphics: u32,
    pub(super) sm: u32,
    pub(super) memory: u32,
    pub(super) video: u32,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Temperature {
    pub(super) kind: TemperatureKind,
    pub(super) shutdown: i32,
    pub(super) slowdown: i32,
    pub(super) gpu_max: i32,
    #[serde(default)]
    pub(super) mem_max: Option<i32>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TemperatureKind {
    Absolute,
    Margin,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NvLink {
    pub(super) version: u32,
    pub(super) links: u32,
    #[serde(default)]
    pub(super) link_speed_mbps: Option<u32>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pcie {
    pub(super) generation: u32,
    pub(super) width: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mig {
    pub(super) memory_slices: Fact<u32>,
    pub(super) compute_slices: Fact<u32>,
    pub(super) max_devices: Fact<u32>,
    pub(super) toggle: Fact<Toggle>,
    pub(super) gpu_instance_profiles: Vec<Profile>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Toggle {
    NeedsReset,
    Immediate,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Profile {
    pub(super) name: Spanned<String>,
    pub(super) constant: Fact<String>,
    pub(super) shape: Fact<Shape>,
    pub(super) memory_mib: Fact<u64>,
    pub(super) placements: Fact<Placements>,
    pub(super) default_order: Fact<Vec<u32>>,
    pub(super) compute_instance_profiles: Vec<Compute>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shape {
    pub(super) id: u32,
    pub(super) slices: u32,
    pub(super) instances: u32,
    pub(super) multiprocessors: u32,
    pub(super) copy: u32,
    pub(super) decoder: u32,
    pub(super) encoder: u32,
    pub(super) jpeg: u32,
    pub(super) ofa: u32,
    pub(super) p2p: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Placements {
    pub(super) size: u32,
    pub(super) starts: Vec<u32>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Compute {
    pub(super) name: Spanned<String>,
    pub(super) constant: Spanned<String>,
    pub(super) shape: Fact<ComputeShape>,
    pub(super) multiprocessors: Fact<u32>,
    pub(super) starts: Fact<Vec<u32>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ComputeShape {
    pub(super) id: u32,
    pub(super) slices: u32,
    pub(super) instances: u32,
}

pub(super) fn read(file: &str, yaml: &str) -> Result<File, CatalogError> {
    serde_saphyr::from_str(yaml).map_err(|error| CatalogError::yaml(file, &error))
}

pub(super) fn sources(file: &str, yaml: &str) -> Result<BTreeMap<String, String>, CatalogError> {
    serde_saphyr::from_str(yaml).map_err(|error| CatalogError::yaml(file, &error))
}
