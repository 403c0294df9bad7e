//! A model file of the catalogue from what a GPU said about itself.
//! Not a catalogue entry yet: what NVML does not tell stays `unknown`, and a person adds its sources.
mod mig;

use crate::recording::{OriginKind, Recording};
use nvml_client::field;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// The name and the text of a model file for a recorded GPU.
///
/// # Errors
/// What the recording lacks without which no model can be shown.
pub fn model_file(recording: &Recording, gpu: u32) -> Result<(String, String), String> {
    let card = Card {
        recording,
        on: format!("gpu/{gpu}"),
    };
    let lacks = |what: &str| {
        format!("gpu/{gpu}: the recording has no {what}, without which there is no model file")
    };
    let name = card
        .text("nvmlDeviceGetName")
        .ok_or_else(|| lacks("nvmlDeviceGetName"))?;
    let architecture = card
        .number("nvmlDeviceGetArchitecture", "arch")
        .and_then(architecture)
        .ok_or_else(|| lacks("nvmlDeviceGetArchitecture that is known"))?;
    let capability =
        ["major", "minor"].map(|part| card.number("nvmlDeviceGetCudaComputeCapability", part));
    let [Some(major), Some(minor)] = capability else {
        return Err(lacks("nvmlDeviceGetCudaComputeCapability"));
    };
    let total = card
        .number("nvmlDeviceGetMemoryInfo_v2", "total")
        .or_else(|| card.number("nvmlDeviceGetMemoryInfo", "total"))
        .map(|bytes| bytes >> 20)
        .ok_or_else(|| lacks("nvmlDeviceGetMemoryInfo"))?;
    let pci = |field| card.number("nvmlDeviceGetPciInfo_v3", field);
    let device = pci("pciDeviceId").ok_or_else(|| lacks("nvmlDeviceGetPciInfo_v3"))?;
    let model: String = name
        .trim_start_matches("NVIDIA ")
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') {
                c
            } else {
                '-'
            }
        })
        .collect();
    let driver = recording.origin.driver_version.clone().unwrap_or_default();
    let how = match recording.origin.kind {
        OriginKind::Machine => "asked of the card by",
        OriginKind::Capture => "taken from a published capture by",
    };
    let mig = mig::profiles(&card);
    let mut out = format!(
        "# {model}: made by `fakegpu record` from one card. Look at each value, add what is unknown, then `fakegpu model check` it.\n\
         format: 1\nmodel: {model}\nsources:\n  R1: {}\n\nidentity:\n",
        quote(&format!(
            "{how} {}, driver {driver}, {}",
            recording.origin.tool, recording.origin.taken
        ))
    );
    let fact = |out: &mut String, key: &str, value: Option<String>| {
        let _ = match value {
            Some(value) => writeln!(
                out,
                "  {key}: {{value: {value}, confidence: observed, source: [R1]}}"
            ),
            None => writeln!(
                out,
                "  {key}: {{value: null, confidence: unknown, source: []}}"
            ),
        };
    };
    let brand = card.number("nvmlDeviceGetBrand", "type_").and_then(brand);
    fact(&mut out, "name", Some(quote(&name)));
    fact(
        &mut out,
        "brand",
        Some(brand.unwrap_or("unknown").to_owned()),
    );
    fact(&mut out, "architecture", Some(architecture.to_owned()));
    fact(&mut out, "chip_id", None);
    fact(
        &mut out,
        "compute_capability",
        Some(quote(&format!("{major}.{minor}"))),
    );
    fact(&mut out, "pci_device_id", Some(format!("0x{device:08X}")));
    fact(
        &mut out,
        "pci_subsystem_id",
        pci("pciSubSystemId").map(|id| format!("0x{id:08X}")),
    );
    let text = |function| card.text(function).map(|text| quote(&text));
    fact(
        &mut out,
        "board_part_number",
        text("nvmlDeviceGetBoardPartNumber"),
    );
    fact(&mut out, "gpu_part_number", None);
    fact(&mut out, "vbios", text("nvmlDeviceGetVbiosVersion"));
    fact(&mut out, "inforom", inforom(&card));
    fact(&mut out, "memory_total_mib", Some(total.to_string()));
    let reserved = card
        .number("nvmlDeviceGetMemoryInfo_v2", "reserved")
        .map(|bytes| (bytes >> 20).to_string());
    fact(&mut out, "memory_reserved_mib", reserved);
    let bar1 = card
        .number("nvmlDeviceGetBAR1MemoryInfo", "bar1Total")
        .map(|bytes| (bytes >> 20).to_string());
    fact(&mut out, "bar1_total_mib", bar1);
    match multiprocessors(&card, major, minor) {
        Some(count) => {
            let _ = writeln!(
                out,
                "  multiprocessors: {{value: {count}, confidence: derived, source: [R1], note: cores by cores of one multiprocessor}}"
            );
        }
        None => fact(&mut out, "multiprocessors", None),
    }
    let clock = |function, index| {
        card.with(
            function,
            index,
            if function == "nvmlDeviceGetMaxClockInfo" {
                "clock"
            } else {
                "clockMHz"
            },
        )
    };
    let max = [0, 1, 2, 3].map(|index| clock("nvmlDeviceGetMaxClockInfo", index));
    fact(
        &mut out,
        "max_clocks_mhz",
        match max {
            [Some(graphics), Some(sm), Some(memory), Some(video)] => Some(format!(
                "{{graphics: {graphics}, sm: {sm}, memory: {memory}, video: {video}}}"
            )),
            _ => None,
        },
    );
    let app = [0, 2].map(|index| clock("nvmlDeviceGetDefaultApplicationsClock", index));
    fact(
        &mut out,
        "default_app_clocks_mhz",
        match app {
            [Some(graphics), Some(memory)] => {
                Some(format!("{{graphics: {graphics}, memory: {memory}}}"))
            }
            _ => None,
        },
    );
    let watts = |function, field| card.number(function, field).map(|mw| mw / 1000);
    let limits = (
        watts("nvmlDeviceGetPowerManagementDefaultLimit", "defaultLimit"),
        watts("nvmlDeviceGetPowerManagementLimitConstraints", "minLimit"),
        watts("nvmlDeviceGetPowerManagementLimitConstraints", "maxLimit"),
    );
    fact(
        &mut out,
        "power_limit_w",
        match limits {
            (Some(default), Some(min), Some(max)) => {
                Some(format!("{{default: {default}, min: {min}, max: {max}}}"))
            }
            _ => None,
        },
    );
    fact(&mut out, "temperature_c", thermal(&card));
    let ecc = card
        .call("nvmlDeviceGetEccMode")
        .map(|call| (call.code == Some(0)).to_string());
    fact(&mut out, "ecc", ecc);
    let banks = card
        .value("nvmlDeviceGetRowRemapperHistogram")
        .map(|histogram| {
            ["max", "high", "partial", "low", "none"]
                .iter()
                .filter_map(|field| histogram.get(*field)?.as_u64())
                .sum::<u64>()
                .to_string()
        });
    fact(&mut out, "remap_max_banks", banks);
    fact(&mut out, "nvlink", nvlink(&card));
    let pcie = (
        card.number("nvmlDeviceGetMaxPcieLinkGeneration", "maxLinkGen"),
        card.number("nvmlDeviceGetMaxPcieLinkWidth", "maxLinkWidth"),
    );
    fact(
        &mut out,
        "pcie",
        match pcie {
            (Some(generation), Some(width)) => {
                Some(format!("{{generation: {generation}, width: {width}}}"))
            }
            _ => None,
        },
    );
    fact(
        &mut out,
        "mig_supported",
        Some((!mig.is_empty()).to_string()),
    );
    fact(
        &mut out,
        "driver_versions_seen",
        (!driver.is_empty()).then(|| format!("[{}]", quote(&driver))),
    );
    if !mig.is_empty() {
        mig::section(&mut out, &card, &mig, total, architecture);
    }
    Ok((model, out))
}

/// One GPU of a recording.
struct Card<'r> {
    recording: &'r Recording,
    on: String,
}

impl<'r> Card<'r> {
    fn value(&self, function: &str) -> Option<&'r Map<String, Value>> {
        self.recording.answer(function, &self.on)
    }

    fn call(&self, function: &str) -> Option<&'r crate::recording::Call> {
        self.recording
            .calls
            .iter()
            .find(|call| call.function == function && call.on == self.on)
    }

    fn text(&self, function: &str) -> Option<String> {
        self.value(function)?
            .get("text")?
            .as_str()
            .map(str::to_owned)
    }

    fn number(&self, function: &str, field: &str) -> Option<u64> {
        self.value(function)?.get(field)?.as_u64()
    }

    /// A field of the call whose only argument is this number.
    fn with(&self, function: &str, argument: u64, field: &str) -> Option<u64> {
        self.of(function, argument)?.get(field)?.as_u64()
    }

    /// The answer to the call whose only argument is this number.
    fn of(&self, function: &str, argument: u64) -> Option<&'r Map<String, Value>> {
        let mut answers = self.recording.answers(function, &self.on);
        let call = answers.find(|call| call.args.values().eq([&argument]))?;
        Some(&call.value)
    }
}

fn quote(text: &str) -> String {
    json!(text).to_string()
}

fn architecture(raw: u64) -> Option<&'static str> {
    // NVML_DEVICE_ARCH_* of nvml.h.
    Some(match raw {
        2 => "kepler",
        3 => "maxwell",
        4 => "pascal",
        5 => "volta",
        6 => "turing",
        7 => "ampere",
        8 => "ada",
        9 => "hopper",
        10 => "blackwell",
        13 => "rubin",
        _ => return None,
    })
}

fn brand(raw: u64) -> Option<&'static str> {
    // NVML_BRAND_* of nvml.h, as far as model files know them.
    Some(match raw {
        1 => "quadro",
        2 => "tesla",
        5 => "geforce",
        6 => "titan",
        12 => "quadro-rtx",
        13 => "nvidia-rtx",
        14 => "nvidia",
        15 => "geforce-rtx",
        16 => "titan-rtx",
        _ => return None,
    })
}

fn inforom(card: &Card<'_>) -> Option<String> {
    let image = quote(&card.text("nvmlDeviceGetInforomImageVersion")?);
    let object = |index: u64| {
        let object = card.of("nvmlDeviceGetInforomVersion", index);
        let text = object.and_then(|value| value.get("text")?.as_str().map(quote));
        text.unwrap_or_else(|| "null".to_owned())
    };
    Some(format!(
        "{{image: {image}, oem: {}, ecc: {}, power: {}}}",
        object(0),
        object(1),
        object(2)
    ))
}

/// Cores divided by those of one multiprocessor of this compute capability.
fn multiprocessors(card: &Card<'_>, major: u64, minor: u64) -> Option<u64> {
    let cores = card.number("nvmlDeviceGetNumGpuCores", "numCores")?;
    let of_one = match (major, minor) {
        (7, _) | (8, 0) => 64,
        (8.., _) => 128,
        _ => return None,
    };
    cores.is_multiple_of(of_one).then_some(cores / of_one)
}

fn thermal(card: &Card<'_>) -> Option<String> {
    // Margins, on cards that count downwards to a limit: signed numbers of 32 bits.
    let margin = |id: u32| {
        let id = u64::from(id);
        card.with("nvmlDeviceGetFieldValues", id, "nvmlReturn")
            .filter(|code| *code == 0)?;
        card.with("nvmlDeviceGetFieldValues", id, "value")
            .map(|raw| i64::from(raw as u32 as i32))
    };
    if let (Some(shutdown), Some(slowdown), Some(gpu_max)) = (
        margin(field::SHUTDOWN_TLIMIT),
        margin(field::SLOWDOWN_TLIMIT),
        margin(field::GPU_MAX_TLIMIT),
    ) {
        let mem = margin(field::MEM_MAX_TLIMIT).map_or("null".to_owned(), |m| m.to_string());
        return Some(format!(
            "{{kind: margin, shutdown: {shutdown}, slowdown: {slowdown}, gpu_max: {gpu_max}, mem_max: {mem}}}"
        ));
    }
    let threshold = |kind| card.with("nvmlDeviceGetTemperatureThreshold", kind, "temp");
    let (shutdown, slowdown, gpu_max) = (threshold(0)?, threshold(1)?, threshold(3)?);
    let mem = threshold(2).map_or("null".to_owned(), |m| m.to_string());
    Some(format!(
        "{{kind: absolute, shutdown: {shutdown}, slowdown: {slowdown}, gpu_max: {gpu_max}, mem_max: {mem}}}"
    ))
}

fn nvlink(card: &Card<'_>) -> Option<String> {
    let links = card
        .recording
        .answers("nvmlDeviceGetNvLinkState", &card.on)
        .count();
    let version = card
        .recording
        .answers("nvmlDeviceGetNvLinkVersion", &card.on)
        .next()?;
    let version = version.value.get("version")?.as_u64()?;
    (links > 0).then(|| format!("{{version: {version}, links: {links}}}"))
}
