//! Whether the values of a model file fit together; makes the compact form of them.
//! Not here: how the file is written (`file`).
//! In: a parsed file and the known sources. Out: a [`Spec`], or the first problem with its line and what to mend.
use super::{
    error::CatalogError,
    file::{self, Confidence, Fact, File},
};
use crate::{
    board::{Board, SupportedClocks},
    geometry,
    ids::ProfileId,
    naming,
    spec::{
        Architecture, Brand, CiProfile, CiProfileIndex, Clocks, ComputeCapability, Engines,
        GiProfile, GiProfileIndex, Inforom, MigSpec, MigToggle, NvLink, Pcie, PowerLimits, Spec,
        Thermal,
    },
    units::{Celsius, MHz, MiB, MilliWatts, Slices},
};
use serde_saphyr::Location;
use std::collections::BTreeMap;

pub(super) struct Checker<'a> {
    file: &'a str,
    sources: &'a BTreeMap<String, String>,
}

/// The format of model files that this program reads.
const FORMAT: u32 = 1;
/// NVIDIA's PCI vendor id, the low half of a device id.
const VENDOR: u32 = 0x10DE;

impl<'a> Checker<'a> {
    pub(super) fn new(file: &'a str, sources: &'a BTreeMap<String, String>) -> Self {
        Self { file, sources }
    }

    pub(super) fn spec(&self, parsed: &File) -> Result<Spec, CatalogError> {
        let format = parsed.format.value;
        self.must(format == FORMAT, parsed.format.referenced, || {
            (
                format!("format {format} is not known"),
                format!("write `format: {FORMAT}`"),
            )
        })?;
        let model = &parsed.model.value;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        self.must(!model.is_empty() && model.chars().all(plain), parsed.model.referenced, || {
            (format!("`{model}` is no model name"), "use letters, digits, `-`, `_` and `.` only, so that 2xNAME and NAME*2 can be told apart".to_owned())
        })?;
        let id = &parsed.identity;
        let memory_total = MiB(*self.needed("memory_total_mib", &id.memory_total_mib)?);
        let memory_reserved = self.fact(&id.memory_reserved_mib)?.map(|mib| MiB(*mib));
        self.must(
            memory_reserved.is_none_or(|r| r < memory_total),
            id.memory_reserved_mib.referenced,
            || {
                (
                    "more memory is reserved than there is".to_owned(),
                    "compare with memory_total_mib".to_owned(),
                )
            },
        )?;
        let cc = self.needed("compute_capability", &id.compute_capability)?;
        let compute_capability = capability(cc).ok_or_else(|| {
            self.error(
                id.compute_capability.referenced,
                format!("`{cc}` is no compute capability"),
                "write it as \"8.0\", in quotes".to_owned(),
            )
        })?;
        let supported = *self.needed("mig_supported", &id.mig_supported)?;
        let multiprocessors = self.fact(&id.multiprocessors)?.copied();
        // Not in the compact form, but their provenance counts as much.
        if let Some(driver) = &id.min_driver_for_mig {
            self.fact(driver)?;
        }
        if let Some(seen) = &id.driver_versions_seen {
            self.fact(seen)?;
        }
        let mut spec = Spec {
            model: model.clone(),
            name: self.needed("name", &id.name)?.clone(),
            brand: brand(*self.needed("brand", &id.brand)?),
            architecture: architecture(*self.needed("architecture", &id.architecture)?),
            chip_id: self.fact(&id.chip_id)?.copied(),
            compute_capability,
            pci_device_id: *self.needed("pci_device_id", &id.pci_device_id)?,
            pci_subsystem_id: self.fact(&id.pci_subsystem_id)?.copied(),
            board_part_number: self.fact(&id.board_part_number)?.cloned(),
            gpu_part_number: self.fact(&id.gpu_part_number)?.cloned(),
            vbios: self.fact(&id.vbios)?.cloned(),
            inforom: self.fact(&id.inforom)?.map(inforom),
            memory_total,
            memory_reserved,
            bar1_total: self.fact(&id.bar1_total_mib)?.map(|mib| MiB(*mib)),
            multiprocessors,
            max_clocks: self.fact(&id.max_clocks_mhz)?.map(clocks),
            default_app_clocks: self
                .fact(&id.default_app_clocks_mhz)?
                .map(|c| (MHz(c.graphics), MHz(c.memory))),
            power: self.power(&id.power_limit_w)?,
            thermal: self.fact(&id.temperature_c)?.map(thermal),
            ecc: self.fact(&id.ecc)?.copied(),
            remap_max_banks: self.fact(&id.remap_max_banks)?.copied(),
            nvlink: self.fact(&id.nvlink)?.map(|n| NvLink {
                version: n.version,
                links: n.links,
                link_speed_mbps: n.link_speed_mbps,
            }),
            pcie: self.fact(&id.pcie)?.map(|p| Pcie {
                generation: p.generation,
                width: p.width,
            }),
            board: self.board(&parsed.board)?,
            mig: None,
        };
        self.must(
            spec.pci_device_id & 0xffff == VENDOR,
            id.pci_device_id.referenced,
            || {
                (
                    format!("{:#010x} is not an NVIDIA device id", spec.pci_device_id),
                    "write device id and vendor id in one, as 0x20B010DE".to_owned(),
                )
            },
        )?;
        self.must(
            supported == parsed.mig.is_some(),
            id.mig_supported.referenced,
            || match supported {
                true => (
                    "mig_supported is true, but there is no section `mig`".to_owned(),
                    "add it, or set mig_supported to false".to_owned(),
                ),
                false => (
                    "mig_supported is false, but there is a section `mig`".to_owned(),
                    "remove it, or set mig_supported to true".to_owned(),
                ),
            },
        )?;
        if let Some(mig) = &parsed.mig {
            spec.mig = Some(self.mig(mig, &spec)?);
        }
        Ok(spec)
    }

    fn mig(&self, mig: &file::Mig, card: &Spec) -> Result<MigSpec, CatalogError> {
        let mut out = MigSpec {
            memory_slices: Slices(*self.needed("memory_slices", &mig.memory_slices)?),
            compute_slices: Slices(*self.needed("compute_slices", &mig.compute_slices)?),
            max_devices: *self.needed("max_devices", &mig.max_devices)?,
            toggle: match self.needed("toggle", &mig.toggle)? {
                file::Toggle::NeedsReset => MigToggle::NeedsReset,
                file::Toggle::Immediate => MigToggle::Immediate,
            },
            profiles: Vec::new(),
        };
        for profile in &mig.gpu_instance_profiles {
            let made = self.profile(profile, &out, card)?;
            out.profiles.push(made);
        }
        self.must(
            !out.profiles.is_empty(),
            mig.memory_slices.referenced,
            || {
                (
                    "there is no GPU instance profile".to_owned(),
                    "list them under gpu_instance_profiles".to_owned(),
                )
            },
        )?;
        Ok(out)
    }

    fn profile(
        &self,
        p: &file::Profile,
        mig: &MigSpec,
        card: &Spec,
    ) -> Result<GiProfile, CatalogError> {
        let name = &p.name.value;
        let at = p.name.referenced;
        let constant = self.needed("constant", &p.constant)?;
        let index = GiProfileIndex::ALL
            .iter()
            .copied()
            .find(|i| i.constant() == constant);
        let index = index.ok_or_else(|| {
            self.error(
                p.constant.referenced,
                format!("nvml.h has no GPU instance profile {constant}"),
                "write the name without its prefix, as 1_SLICE_REV1".to_owned(),
            )
        })?;
        let shape = self.needed("shape", &p.shape)?;
        let places = self.needed("placements", &p.placements)?;
        let order = self.needed("default_order", &p.default_order)?;
        let memory = MiB(*self.needed("memory_mib", &p.memory_mib)?);
        let known = mig
            .profiles
            .iter()
            .find(|k| k.name == *name || k.index == index || k.id.0 == shape.id);
        self.must(known.is_none(), at, || {
            (
                format!(
                    "{name} has the name, the constant or the id of {}",
                    known.map_or("", |k| &k.name)
                ),
                "each profile has its own".to_owned(),
            )
        })?;
        self.must(memory <= card.memory_total, p.memory_mib.referenced, || {
            (
                format!("{name} has more memory than the card"),
                "compare with memory_total_mib".to_owned(),
            )
        })?;
        let rule = naming::profile(shape.slices, shape.slices, memory, card.memory_total, index);
        self.must(rule == *name, at, || {
            (
                format!("by the naming rule of go-nvlib this profile is `{rule}`, not `{name}`"),
                "mend name, slices, memory_mib or memory_total_mib".to_owned(),
            )
        })?;
        self.must(
            shape.slices <= mig.compute_slices.0 && shape.slices > 0,
            p.shape.referenced,
            || {
                (
                    format!(
                        "{name} has {} compute slices, the card {}",
                        shape.slices, mig.compute_slices
                    ),
                    "mend slices".to_owned(),
                )
            },
        )?;
        self.must(
            card.multiprocessors
                .is_none_or(|all| shape.multiprocessors <= all),
            p.shape.referenced,
            || {
                (
                    format!("{name} has more multiprocessors than the card"),
                    "compare with multiprocessors under identity".to_owned(),
                )
            },
        )?;
        let at = p.placements.referenced;
        self.must(places.size > 0 && !places.starts.is_empty(), at, || {
            (
                format!("{name} has no placement"),
                "write a size and at least one start".to_owned(),
            )
        })?;
        self.must(places.starts.is_sorted_by(|a, b| a < b), at, || {
            (
                "the starts do not ascend".to_owned(),
                "sort them, each once".to_owned(),
            )
        })?;
        let mut order_sorted = order.clone();
        order_sorted.sort_unstable();
        self.must(
            order_sorted == places.starts,
            p.default_order.referenced,
            || {
                (
                    "default_order is not an order of the starts".to_owned(),
                    format!("write each of {:?} once", places.starts),
                )
            },
        )?;
        let mut profile = GiProfile {
            name: name.clone(),
            index,
            id: ProfileId(shape.id),
            slices: Slices(shape.slices),
            instances: shape.instances,
            multiprocessors: shape.multiprocessors,
            engines: Engines {
                copy: shape.copy,
                decoder: shape.decoder,
                encoder: shape.encoder,
                jpeg: shape.jpeg,
                ofa: shape.ofa,
            },
            memory,
            p2p: shape.p2p,
            size: Slices(places.size),
            starts: places.starts.clone(),
            default_order: order.clone(),
            compute: Vec::new(),
        };
        for place in profile.placements() {
            let id = geometry::gi_id(place, mig.memory_slices, false);
            self.must(
                place.end() <= mig.memory_slices.0 && id.is_some(),
                at,
                || {
                    (
                        format!(
                            "{place} is no half, quarter or eighth of {} memory slices",
                            mig.memory_slices
                        ),
                        "mend size or starts: ids follow from such parts only".to_owned(),
                    )
                },
            )?;
        }
        let fit = geometry::packing(profile.placements(), std::iter::empty());
        self.must(
            (1..=fit).contains(&profile.instances),
            p.shape.referenced,
            || {
                (
                    format!(
                        "{name} allows {} instances, its placements {fit}",
                        profile.instances
                    ),
                    "mend instances or placements".to_owned(),
                )
            },
        )?;
        for compute in &p.compute_instance_profiles {
            let made = self.compute(compute, &profile, card)?;
            profile.compute.push(made);
        }
        let full = profile.full_compute();
        self.must(
            full.is_some_and(|c| c.starts == [0] && c.instances == 1),
            p.name.referenced,
            || {
                (
                    format!("{name} has no compute instance profile that fills it"),
                    format!("add one of {} slices at start 0", profile.slices),
                )
            },
        )?;
        Ok(profile)
    }

    fn compute(
        &self,
        c: &file::Compute,
        gi: &GiProfile,
        card: &Spec,
    ) -> Result<CiProfile, CatalogError> {
        let (name, at) = (&c.name.value, c.name.referenced);
        let constant = &c.constant.value;
        let index = CiProfileIndex::ALL
            .iter()
            .copied()
            .find(|i| i.constant() == constant);
        let index = index.ok_or_else(|| {
            self.error(
                c.constant.referenced,
                format!("nvml.h has no compute instance profile {constant}"),
                "write the name without its prefix, as 1_SLICE".to_owned(),
            )
        })?;
        let shape = self.needed("shape", &c.shape)?;
        let starts = self.needed("starts", &c.starts)?;
        let multiprocessors = *self.needed("multiprocessors", &c.multiprocessors)?;
        let known = gi
            .compute
            .iter()
            .any(|k| k.index == index || k.id.0 == shape.id);
        self.must(!known, at, || {
            (
                format!("{name} has the constant or the id of another one"),
                "each compute instance profile has its own".to_owned(),
            )
        })?;
        // The suffix of the GPU instance profile is not part of it: tools print `1g.5gb` inside `1g.5gb+me`.
        let rule = naming::profile(
            shape.slices,
            gi.slices.0,
            gi.memory,
            card.memory_total,
            GiProfileIndex::S1,
        );
        self.must(rule == *name, at, || {
            (
                format!("by the naming rule of go-nvlib this profile is `{rule}`, not `{name}`"),
                "mend name or slices".to_owned(),
            )
        })?;
        self.must(
            multiprocessors <= gi.multiprocessors,
            c.multiprocessors.referenced,
            || {
                (
                    format!("{name} has more multiprocessors than {}", gi.name),
                    "mend multiprocessors".to_owned(),
                )
            },
        )?;
        let profile = CiProfile {
            name: name.clone(),
            index,
            id: ProfileId(shape.id),
            slices: Slices(shape.slices),
            instances: shape.instances,
            multiprocessors,
            starts: starts.clone(),
        };
        self.must(
            profile
                .placements()
                .all(|place| place.size > 0 && place.end() <= gi.slices.0),
            c.starts.referenced,
            || {
                (
                    format!(
                        "{name} does not lie within the {} slices of {}",
                        gi.slices, gi.name
                    ),
                    "mend starts or slices".to_owned(),
                )
            },
        )?;
        let fit = geometry::packing(profile.placements(), std::iter::empty());
        self.must(
            (1..=fit).contains(&profile.instances),
            c.shape.referenced,
            || {
                (
                    format!(
                        "{name} allows {} instances, its placements {fit}",
                        profile.instances
                    ),
                    "mend instances or starts".to_owned(),
                )
            },
        )?;
        Ok(profile)
    }

    fn board(&self, board: &file::Board) -> Result<Board, CatalogError> {
        Ok(Board {
            supported_clocks: self
                .maybe(&board.supported_clocks_mhz)?
                .map(|c| SupportedClocks {
                    lowest: MHz(c.lowest),
                    step: MHz(c.step),
                    low: c.low.map(|low| (MHz(low.memory), MHz(low.graphics))),
                }),
            memory_bus_width: self.maybe(&board.memory_bus_width_bits)?.copied(),
            cuda_cores: self.maybe(&board.cuda_cores)?.copied(),
            temperature_limit: self
                .maybe(&board.temperature_limit_c)?
                .map(|limit| Celsius(*limit)),
            memory_sensor: self.maybe(&board.memory_sensor)?.copied(),
            average_power: self.maybe(&board.average_power)?.copied(),
            fabric: self.maybe(&board.fabric)?.copied(),
            c2c: self.maybe(&board.c2c)?.copied(),
        })
    }

    /// A fact that a file may leave out.
    fn maybe<'f, T>(&self, fact: &'f Option<Fact<T>>) -> Result<Option<&'f T>, CatalogError> {
        fact.as_ref().map_or(Ok(None), |fact| self.fact(fact))
    }

    fn power(&self, fact: &Fact<file::Power>) -> Result<Option<PowerLimits>, CatalogError> {
        let Some(p) = self.fact(fact)? else {
            return Ok(None);
        };
        self.must(
            p.min <= p.default && p.default <= p.max,
            fact.referenced,
            || {
                (
                    "the power limits do not ascend".to_owned(),
                    "min, default and max in watts, each at least the one before".to_owned(),
                )
            },
        )?;
        let watts = |w: u32| MilliWatts(w.saturating_mul(1000));
        Ok(Some(PowerLimits {
            default: watts(p.default),
            min: watts(p.min),
            max: watts(p.max),
        }))
    }

    /// The value, after a look at its provenance.
    fn fact<'f, T>(&self, fact: &'f Fact<T>) -> Result<Option<&'f T>, CatalogError> {
        let raw = &fact.value;
        self.must(
            raw.confidence == Confidence::Unknown || !raw.source.is_empty(),
            fact.referenced,
            || {
                (
                    format!("a value that is `{}` names no source", raw.confidence),
                    "name one, or say `confidence: unknown`".to_owned(),
                )
            },
        )?;
        if let Some(id) = raw.source.iter().find(|id| !self.sources.contains_key(*id)) {
            return Err(self.error(
                fact.referenced,
                format!("there is no source {id}"),
                "describe it under `sources:` in this file".to_owned(),
            ));
        }
        Ok(raw.value.as_ref())
    }

    fn needed<'f, T>(&self, what: &str, fact: &'f Fact<T>) -> Result<&'f T, CatalogError> {
        self.fact(fact)?.ok_or_else(|| {
            self.error(
                fact.referenced,
                format!("{what} is null"),
                "a card can not be shown without it: give a placeholder with `confidence: unknown`"
                    .to_owned(),
            )
        })
    }

    fn must(
        &self,
        holds: bool,
        at: Location,
        say: impl FnOnce() -> (String, String),
    ) -> Result<(), CatalogError> {
        if holds {
            return Ok(());
        }
        let (problem, remedy) = say();
        Err(self.error(at, problem, remedy))
    }

    fn error(&self, at: Location, problem: String, remedy: String) -> CatalogError {
        CatalogError {
            file: self.file.to_owned(),
            line: at.line(),
            column: at.column(),
            problem,
            remedy,
        }
    }
}

fn capability(text: &str) -> Option<ComputeCapability> {
    let (major, minor) = text.split_once('.')?;
    Some(ComputeCapability {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
    })
}

fn inforom(i: &file::Inforom) -> Inforom {
    Inforom {
        image: i.image.clone(),
        oem: i.oem.clone(),
        ecc: i.ecc.clone(),
        power: i.power.clone(),
    }
}

fn clocks(c: &file::Clocks) -> Clocks {
    Clocks {
        graphics: MHz(c.graphics),
        sm: MHz(c.sm),
        memory: MHz(c.memory),
        video: MHz(c.video),
    }
}

fn thermal(t: &file::Temperature) -> Thermal {
    let (shutdown, slowdown) = (Celsius(t.shutdown), Celsius(t.slowdown));
    let (gpu_max, mem_max) = (Celsius(t.gpu_max), t.mem_max.map(Celsius));
    match t.kind {
        file::TemperatureKind::Absolute => Thermal::Absolute {
            shutdown,
            slowdown,
            gpu_max,
            mem_max,
        },
        file::TemperatureKind::Margin => Thermal::Margin {
            shutdown,
            slowdown,
            gpu_max,
            mem_max,
        },
    }
}

fn brand(b: file::Brand) -> Brand {
    match b {
        file::Brand::Unknown => Brand::Unknown,
        file::Brand::Quadro => Brand::Quadro,
        file::Brand::Tesla => Brand::Tesla,
        file::Brand::Geforce => Brand::GeForce,
        file::Brand::Titan => Brand::Titan,
        file::Brand::QuadroRtx => Brand::QuadroRtx,
        file::Brand::NvidiaRtx => Brand::NvidiaRtx,
        file::Brand::Nvidia => Brand::Nvidia,
        file::Brand::GeforceRtx => Brand::GeForceRtx,
        file::Brand::TitanRtx => Brand::TitanRtx,
    }
}

fn architecture(a: file::Architecture) -> Architecture {
    match a {
        file::Architecture::Kepler => Architecture::Kepler,
        file::Architecture::Maxwell => Architecture::Maxwell,
        file::Architecture::Pascal => Architecture::Pascal,
        file::Architecture::Volta => Architecture::Volta,
        file::Architecture::Turing => Architecture::Turing,
        file::Architecture::Ampere => Architecture::Ampere,
        file::Architecture::Ada => Architecture::Ada,
        file::Architecture::Hopper => Architecture::Hopper,
        file::Architecture::Blackwell => Architecture::Blackwell,
        file::Architecture::Rubin => Architecture::Rubin,
    }
}
