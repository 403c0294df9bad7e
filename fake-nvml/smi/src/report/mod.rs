//! `-q`, `-q -d`, `-q -x`: everything about each GPU, once as a tree, shown as text or as XML.
//! Not the values' words (`value`).
//! Elements, lines and their order are those of public captures of drivers 570, 580 and 595 (smi/tests/data/README.md).

mod accounts;
mod clocks;
mod condition;
mod fabric;
mod identity;
mod mig;
mod render;
mod samples;
mod sensors;
mod tree;

use std::io::Write as _;

use nvml_client::{Device, Nvml};

use crate::failure::{Failure, Output};
use crate::{clock, select};
use tree::Node;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Report {
    pub(crate) xml: bool,
    /// `-d`; none is everything.
    pub(crate) only: Vec<Topic>,
}

/// A filter of `-d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    Memory,
    Utilization,
    Ecc,
    Temperature,
    Power,
    Clock,
    Compute,
    Pids,
    Performance,
    SupportedClocks,
    PageRetirement,
    Accounting,
    EncoderStats,
    FbcStats,
    RowRemapper,
    SupportedTargetTemp,
    Voltage,
    GspFirmware,
    PowerSmoothing,
    PowerProfiles,
}

impl Topic {
    const NAMES: [(&'static str, Self); 20] = [
        ("MEMORY", Self::Memory),
        ("UTILIZATION", Self::Utilization),
        ("ECC", Self::Ecc),
        ("TEMPERATURE", Self::Temperature),
        ("POWER", Self::Power),
        ("CLOCK", Self::Clock),
        ("COMPUTE", Self::Compute),
        ("PIDS", Self::Pids),
        ("PERFORMANCE", Self::Performance),
        ("SUPPORTED_CLOCKS", Self::SupportedClocks),
        ("PAGE_RETIREMENT", Self::PageRetirement),
        ("ACCOUNTING", Self::Accounting),
        ("ENCODER_STATS", Self::EncoderStats),
        ("FBC_STATS", Self::FbcStats),
        ("ROW_REMAPPER", Self::RowRemapper),
        ("SUPPORTED_GPU_TARGET_TEMP", Self::SupportedTargetTemp),
        ("VOLTAGE", Self::Voltage),
        ("GSP_FIRMWARE_VERSION", Self::GspFirmware),
        ("POWER_SMOOTHING", Self::PowerSmoothing),
        ("POWER_PROFILES", Self::PowerProfiles),
    ];

    pub(crate) fn parse(word: &str) -> Result<Self, Failure> {
        let upper = word.trim().to_ascii_uppercase();
        Self::NAMES
            .iter()
            .find(|(name, _)| *name == upper)
            .map(|(_, topic)| *topic)
            .ok_or_else(|| {
                let names: Vec<&str> = Self::NAMES.iter().map(|(name, _)| *name).collect();
                Failure::usage(format!(
                    "\"{word}\" is not a valid display type. Valid types are: {}.",
                    names.join(", ")
                ))
            })
    }
}

/// What changes from one driver to the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    version: (u32, u32),
}

impl Dialect {
    /// Of a driver version; 580 for one that is no number.
    pub(crate) fn of(driver: &str) -> Self {
        let mut parts = driver.split('.').map(|part| part.parse().ok());
        let mut next = || parts.next().flatten();
        let major = next().unwrap_or(580);
        Self {
            version: (major, next().unwrap_or(0)),
        }
    }

    pub(crate) fn since(self, major: u32) -> bool {
        self.since_minor(major, 0)
    }

    pub(crate) fn since_minor(self, major: u32, minor: u32) -> bool {
        self.version >= (major, minor)
    }
}

pub(crate) fn print(
    nvml: &Nvml,
    selection: Option<&str>,
    report: &Report,
    out: &mut Output,
) -> Result<(), Failure> {
    let gpus = select::gpus(nvml, selection)?;
    let driver = nvml.driver_version()?;
    let dialect = Dialect::of(&driver);
    let (major, minor) = nvml.cuda_version()?;
    let cuda = format!("{major}.{minor}");
    let all = nvml.count()?;
    let stamp = clock::now(nvml)
        .strftime("%a %b %e %H:%M:%S %Y")
        .to_string();
    if report.xml {
        let version = if dialect.since(580) { 13 } else { 12 };
        let _ = write!(
            out,
            "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v{version}.dtd\">\n<nvidia_smi_log>\n\
             \t<timestamp>{stamp}</timestamp>\n\t<driver_version>{driver}</driver_version>\n\t<cuda_version>{cuda}</cuda_version>\n\
             \t<attached_gpus>{all}</attached_gpus>\n"
        );
        for gpu in &gpus {
            let _ = writeln!(out, "\t<gpu id=\"{}\">", gpu.pci()?.bus_id);
            render::xml(&sections(nvml, gpu, dialect, report), 2, out);
            let _ = writeln!(out, "\t</gpu>\n");
        }
        let _ = writeln!(out, "</nvidia_smi_log>");
        return Ok(());
    }
    // Captures of 580.65.06 to 580.105.08 have the narrow one, those from 580.126.09 on the wide one.
    let column = if dialect.since_minor(580, 126) {
        55
    } else {
        42
    };
    let _ = write!(
        out,
        "\n==============NVSMI LOG==============\n\n{:<column$}: {stamp}\n{:<column$}: {driver}\n{:<column$}: {cuda}\n\n{:<column$}: {all}\n",
        "Timestamp", "Driver Version", "CUDA Version", "Attached GPUs"
    );
    for gpu in &gpus {
        let _ = writeln!(out, "GPU {}", gpu.pci()?.bus_id);
        render::text(&sections(nvml, gpu, dialect, report), 1, column, out);
        let _ = writeln!(out);
    }
    Ok(())
}

/// The sections of a GPU, those asked for.
fn sections(nvml: &Nvml, gpu: &Device<'_>, dialect: Dialect, report: &Report) -> Vec<Node> {
    let mut all = Vec::new();
    identity::sections(gpu, dialect, &mut all);
    sensors::before_memory(gpu, dialect, &mut all);
    condition::sections(gpu, dialect, &mut all);
    sensors::after_errors(gpu, dialect, &mut all);
    mig::processes(nvml, gpu, &mut all);
    if report.only.is_empty() {
        return all
            .into_iter()
            .filter(|(topic, _)| report.xml || *topic != Some(Topic::SupportedClocks))
            .map(|(_, node)| node)
            .collect();
    }
    let mut shown = Vec::new();
    for (topic, node) in all {
        if !topic.is_some_and(|topic| report.only.contains(&topic)) {
            continue;
        }
        let behind = match node.text() {
            _ if report.xml => Vec::new(),
            "Accounting Mode Buffer Size" => vec![accounts::text(gpu)],
            _ => samples::behind(&node, gpu, dialect),
        };
        shown.push(node);
        shown.extend(behind);
    }
    shown
}

/// A node with the filter that shows it.
type Section = (Option<Topic>, Node);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_known_by_name_in_any_case() {
        assert_eq!(Topic::parse("memory").expect("known"), Topic::Memory);
        let failure = Topic::parse("COLOR").expect_err("no such filter");
        assert_eq!(failure.code, 2);
        assert!(failure.text.contains("ROW_REMAPPER"), "{}", failure.text);
    }
}
