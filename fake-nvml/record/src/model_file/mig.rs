//! The MIG section of a model file: profiles and where they fit.

use std::fmt::Write;

use gpu_model::{CiProfileIndex, GiProfileIndex, MiB, naming};
use serde_json::{Map, Value};

use super::Card;

/// A GPU instance profile as it was recorded.
pub(super) struct Profile<'r> {
    index: GiProfileIndex,
    info: &'r Map<String, Value>,
    starts: Vec<u64>,
    size: u64,
}

impl Profile<'_> {
    fn number(&self, field: &str) -> u64 {
        self.info
            .get(field)
            .and_then(Value::as_u64)
            .unwrap_or_default()
    }
}

pub(super) fn profiles<'r>(card: &Card<'r>) -> Vec<Profile<'r>> {
    let mut found: Vec<Profile<'r>> = Vec::new();
    let functions = [
        "nvmlDeviceGetGpuInstanceProfileInfoV",
        "nvmlDeviceGetGpuInstanceProfileInfo",
    ];
    for function in functions {
        for call in card.recording.answers(function, &card.on) {
            let index = call
                .args
                .get("profile")
                .and_then(|i| u32::try_from(*i).ok())
                .and_then(GiProfileIndex::from_raw);
            let Some(index) = index.filter(|index| found.iter().all(|p| p.index != *index)) else {
                continue;
            };
            let id = call
                .value
                .get("id")
                .and_then(Value::as_u64)
                .unwrap_or(u64::MAX);
            let places = [
                "nvmlDeviceGetGpuInstancePossiblePlacements_v2",
                "nvmlDeviceGetGpuInstancePossiblePlacements",
            ]
            .iter()
            .find_map(|function| card.of(function, id)?.get("placements")?.as_array());
            let places = places.map(Vec::as_slice).unwrap_or_default();
            let mut starts: Vec<u64> = places
                .iter()
                .filter_map(|p| p.get("start")?.as_u64())
                .collect();
            starts.sort_unstable();
            starts.dedup();
            let size = places
                .first()
                .and_then(|p| p.get("size")?.as_u64())
                .unwrap_or_default();
            if !starts.is_empty() {
                found.push(Profile {
                    index,
                    info: &call.value,
                    starts,
                    size,
                });
            }
        }
    }
    found
}

pub(super) fn section(
    out: &mut String,
    card: &Card<'_>,
    profiles: &[Profile<'_>],
    total: u64,
    architecture: &str,
) {
    let memory_slices = profiles
        .iter()
        .flat_map(|p| p.starts.iter().map(|s| s + p.size))
        .max()
        .unwrap_or_default();
    let compute_slices = profiles
        .iter()
        .map(|p| p.number("sliceCount"))
        .max()
        .unwrap_or_default();
    let devices = card
        .number("nvmlDeviceGetMaxMigDeviceCount", "count")
        .filter(|count| *count > 0);
    let toggle = if architecture == "ampere" {
        "needs-reset"
    } else {
        "immediate"
    };
    let _ = write!(
        out,
        "\nmig:\n  memory_slices: {{value: {memory_slices}, confidence: derived, source: [R1], note: the end of the last placement}}\n  \
         compute_slices: {{value: {compute_slices}, confidence: derived, source: [R1], note: of the largest profile}}\n  \
         max_devices: {{value: {}, confidence: {}, source: [R1]}}\n  \
         toggle: {{value: {toggle}, confidence: derived, source: [R1], note: by the architecture}}\n  gpu_instance_profiles:\n",
        devices.unwrap_or(compute_slices),
        if devices.is_some() {
            "observed"
        } else {
            "derived"
        },
    );
    for profile in profiles {
        let slices = profile.number("sliceCount");
        let memory = profile.number("memorySizeMB");
        let name = naming::profile(
            slices as u32,
            slices as u32,
            MiB(memory),
            MiB(total),
            profile.index,
        );
        let list = |numbers: &[u64]| {
            numbers
                .iter()
                .map(u64::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let starts = list(&profile.starts);
        let multiprocessors = profile.number("multiprocessorCount");
        let _ = write!(
            out,
            "    - name: {name}\n      constant: {{value: {}, confidence: observed, source: [R1]}}\n      \
             shape: {{value: {{id: {}, slices: {slices}, instances: {}, multiprocessors: {multiprocessors}, copy: {}, decoder: {}, encoder: {}, jpeg: {}, ofa: {}, p2p: {}}}, confidence: observed, source: [R1]}}\n      \
             memory_mib: {{value: {memory}, confidence: observed, source: [R1]}}\n      \
             placements: {{value: {{size: {}, starts: [{starts}]}}, confidence: observed, source: [R1]}}\n      \
             default_order: {{value: [{starts}], confidence: unknown, source: [], note: a recording creates nothing}}\n      \
             compute_instance_profiles:\n",
            profile.index.constant(),
            profile.number("id"),
            profile.number("instanceCount"),
            profile.number("copyEngineCount"),
            profile.number("decoderCount"),
            profile.number("encoderCount"),
            profile.number("jpegCount"),
            profile.number("ofaCount"),
            profile.number("isP2pSupported") != 0,
            profile.size,
        );
        compute(out, card, profile, slices, memory, total, multiprocessors);
    }
}

/// Compute instance profiles: as a GPU instance of this profile told them, else the one that fills it.
fn compute(
    out: &mut String,
    card: &Card<'_>,
    profile: &Profile<'_>,
    slices: u64,
    memory: u64,
    total: u64,
    multiprocessors: u64,
) {
    let id = profile.number("id");
    let below = format!("{}/gi/", card.on);
    let on = card.recording.calls.iter().find_map(|call| {
        let info = call.function == "nvmlGpuInstanceGetInfo"
            && call.on.starts_with(&below)
            && call.code == Some(0);
        (info && call.value.get("profileId")?.as_u64()? == id).then(|| call.on.clone())
    });
    let mut written = false;
    let mut write = |constant: &str,
                     id: u64,
                     part: u64,
                     instances: u64,
                     sms: u64,
                     starts: &[u64],
                     confidence: &str| {
        let source = if confidence == "unknown" { "" } else { "R1" };
        let name = naming::profile(
            part as u32,
            slices as u32,
            MiB(memory),
            MiB(total),
            GiProfileIndex::S1,
        );
        let starts = starts
            .iter()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join(", ");
        let _ = write!(
            out,
            "        - name: {name}\n          constant: {constant}\n          \
             shape: {{value: {{id: {id}, slices: {part}, instances: {instances}}}, confidence: {confidence}, source: [{source}]}}\n          \
             multiprocessors: {{value: {sms}, confidence: {confidence}, source: [{source}]}}\n          \
             starts: {{value: [{starts}], confidence: {confidence}, source: [{source}]}}\n"
        );
    };
    let mut seen = Vec::new();
    if let Some(on) = on {
        for function in [
            "nvmlGpuInstanceGetComputeInstanceProfileInfoV",
            "nvmlGpuInstanceGetComputeInstanceProfileInfo",
        ] {
            for call in card.recording.answers(function, &on) {
                let index = call
                    .args
                    .get("profile")
                    .and_then(|i| CiProfileIndex::from_raw(u32::try_from(*i).ok()?));
                let Some(index) = index.filter(|index| !seen.contains(index)) else {
                    continue;
                };
                let number = |field: &str| {
                    call.value
                        .get(field)
                        .and_then(Value::as_u64)
                        .unwrap_or_default()
                };
                let id = number("id");
                let starts: Vec<u64> = card
                    .recording
                    .answers("nvmlGpuInstanceGetComputeInstancePossiblePlacements", &on)
                    .find(|c| c.args.values().eq([&id]))
                    .and_then(|c| {
                        Some(
                            c.value
                                .get("placements")?
                                .as_array()?
                                .iter()
                                .filter_map(|p| p.get("start")?.as_u64())
                                .collect(),
                        )
                    })
                    .unwrap_or_default();
                if starts.is_empty() {
                    continue;
                }
                seen.push(index);
                written |= number("sliceCount") == slices;
                write(
                    index.constant(),
                    id,
                    number("sliceCount"),
                    number("instanceCount"),
                    number("multiprocessorCount"),
                    &starts,
                    "observed",
                );
            }
        }
    }
    if !written {
        let constant = format!("{slices}_SLICE");
        let index = CiProfileIndex::ALL
            .iter()
            .find(|index| index.constant() == constant);
        let raw = index.map_or(0, |index| u64::from(index.raw()));
        write(&constant, raw, slices, 1, multiprocessors, &[0], "unknown");
    }
}
