//! The words of a model file in the words of the compact form.
//! Not here: whether the values fit together (`check`).
//! In: parsed values. Out: the types of `spec`.
use super::super::file;
use crate::{
    board::{AddressingMode, Draw, Idle, SupportedClocks},
    spec::{Architecture, Brand, Clocks, ComputeCapability, Inforom, NvLink, Pcie, Thermal},
    units::{Celsius, MHz, MilliWatts},
};

pub(super) fn capability(text: &str) -> Option<ComputeCapability> {
    let (major, minor) = text.split_once('.')?;
    Some(ComputeCapability {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
    })
}

pub(super) fn inforom(i: &file::Inforom) -> Inforom {
    Inforom {
        image: i.image.clone(),
        oem: i.oem.clone(),
        ecc: i.ecc.clone(),
        power: i.power.clone(),
    }
}

pub(super) fn clocks(c: &file::Clocks) -> Clocks {
    Clocks {
        graphics: MHz(c.graphics),
        sm: MHz(c.sm),
        memory: MHz(c.memory),
        video: MHz(c.video),
    }
}

pub(super) fn thermal(t: &file::Temperature) -> Thermal {
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

pub(super) fn brand(b: file::Brand) -> Brand {
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

pub(super) fn architecture(a: file::Architecture) -> Architecture {
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

pub(super) fn watts(watts: u32) -> MilliWatts {
    MilliWatts(watts.saturating_mul(1000))
}

pub(super) fn draw(d: &file::Draw) -> Draw {
    Draw {
        memory: d.memory.map(watts),
        module: d.module.map(watts),
    }
}

pub(super) fn idle(i: &file::Idle) -> Idle {
    Idle {
        power: i.power_w.map(watts),
        clocks: Clocks {
            graphics: MHz(i.graphics),
            sm: MHz(i.sm),
            memory: MHz(i.memory),
            video: MHz(i.video),
        },
    }
}

pub(super) fn nvlink(n: &file::NvLink) -> NvLink {
    NvLink {
        version: n.version,
        links: n.links,
        link_speed_mbps: n.link_speed_mbps,
    }
}

pub(super) fn pcie(p: &file::Pcie) -> Pcie {
    Pcie {
        generation: p.generation,
        width: p.width,
    }
}

pub(super) fn addressing(a: file::AddressingMode) -> AddressingMode {
    match a {
        file::AddressingMode::None => AddressingMode::None,
        file::AddressingMode::Hmm => AddressingMode::Hmm,
        file::AddressingMode::Ats => AddressingMode::Ats,
    }
}

pub(super) fn supported_clocks(c: &file::SupportedClocks) -> SupportedClocks {
    SupportedClocks {
        lowest: MHz(c.lowest),
        step: MHz(c.step),
        low: c.low.map(|low| (MHz(low.memory), MHz(low.graphics))),
    }
}
