//! The card of a model file: name, memory, clocks, power and the like.
//! Not here: its partitioning (`mig`), how the file is written (`file`).
//! In: the section `identity`. Out: a [`Spec`] without its partitioning, or the first problem.
use super::{
    super::{
        error::CatalogError,
        file::{self, Fact, File},
    },
    Checker,
    convert::{
        addressing, architecture, brand, capability, clocks, draw, idle, inforom, nvlink, pcie,
        supported_clocks, thermal, watts,
    },
};
use crate::{
    board::Board,
    spec::{PowerLimits, Spec, StandIn},
    units::{Celsius, MHz, MiB},
};

/// NVIDIA's PCI vendor id, the low half of a device id.
const VENDOR: u32 = 0x10DE;

impl Checker<'_> {
    pub(super) fn identity(&self, model: &str, parsed: &File) -> Result<Spec, CatalogError> {
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
        self.mark(&id.name, StandIn::Name);
        self.mark(&id.memory_total_mib, StandIn::MemoryTotal);
        self.mark(&id.multiprocessors, StandIn::Multiprocessors);
        self.mark(&id.max_clocks_mhz, StandIn::Other);
        self.mark(&id.power_limit_w, StandIn::Other);
        self.mark(&id.temperature_c, StandIn::Other);
        // Not in the compact form, but their provenance counts as much.
        if let Some(driver) = &id.min_driver_for_mig {
            self.fact(driver)?;
        }
        if let Some(seen) = &id.driver_versions_seen {
            self.fact(seen)?;
        }
        let spec = Spec {
            model: model.to_owned(),
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
            nvlink: self.fact(&id.nvlink)?.map(nvlink),
            pcie: self.fact(&id.pcie)?.map(pcie),
            board: self.board(&parsed.board)?,
            mig: None,
            stand_ins: Vec::new(),
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
        Ok(spec)
    }

    fn board(&self, board: &file::Board) -> Result<Board, CatalogError> {
        Ok(Board {
            supported_clocks: self.may(&board.supported_clocks_mhz)?.map(supported_clocks),
            memory_bus_width: self.may(&board.memory_bus_width_bits)?.copied(),
            cuda_cores: self.may(&board.cuda_cores)?.copied(),
            temperature_limit: self
                .may(&board.temperature_limit_c)?
                .map(|limit| Celsius(*limit)),
            memory_sensor: self.may(&board.memory_sensor)?.copied(),
            average_power: self.may(&board.average_power)?.copied(),
            fabric: self.may(&board.fabric)?.copied(),
            c2c: self.may(&board.c2c)?.copied(),
            addressing_mode: self.may(&board.addressing_mode)?.copied().map(addressing),
            fans: self.may(&board.fans)?.copied(),
            page_retirement: self.may(&board.page_retirement)?.copied(),
            module_power: match &board.module_power_limit_w {
                Some(limits) => self.power(limits)?,
                None => None,
            },
            idle_draw: self.may(&board.idle_draw_w)?.map(draw).unwrap_or_default(),
            idle: self.may(&board.idle)?.map(idle),
        })
    }

    /// A value that a file may leave out.
    fn may<'f, T>(&self, fact: &'f Option<Fact<T>>) -> Result<Option<&'f T>, CatalogError> {
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
        Ok(Some(PowerLimits {
            default: watts(p.default),
            min: watts(p.min),
            max: watts(p.max),
        }))
    }
}
