//! Differences that are explained: the oracle with a quirk of `oracle::Quirk` says exactly what the allocator says.
//! Two bugs are not worth a quirk, for their effect depends on what was tried before: they are known by their condition.

use std::collections::BTreeMap;

use oracle::{Gate, Quirk, Quirks, Version};

use crate::compare;
use crate::generate::Case;
use crate::said::Said;

/// The quirks that explain the difference: one, or else all that are known together.
pub(crate) fn explained(case: &Case, real: &Said) -> Option<&'static str> {
    let agrees = |quirks: Quirks| {
        compare::oracle_with(case, quirks).is_ok_and(|right| compare::any_agrees(&right, real))
    };
    let mut quirks = Quirk::ALL
        .iter()
        .filter(|quirk| quirk.is_of(case.gates.version(), case.variant));
    if let Some(quirk) = quirks.find(|quirk| agrees(Quirks::from_iter([**quirk]))) {
        return Some(quirk.name());
    }
    if agrees(Quirks::of(case.gates.version(), case.variant)) {
        return Some("several together");
    }
    conditions(case).first().copied()
}

/// The bugs whose condition holds for the case. How often one does where nothing differs says how much it might hide.
pub(crate) fn conditions(case: &Case) -> Vec<&'static str> {
    let mut held = Vec::new();
    if counters_mix(case) {
        held.push("counters-of-pools-with-one-name-mix");
    }
    if shared_partitions(case) {
        held.push("shared-partitions-are-charged-wrongly");
    }
    held
}

/// Devices that can be shared and consume counters, both alpha before 1.36: counters of a share are charged or not by
/// whether the share takes any capacity, and not given back in the search.
fn shared_partitions(case: &Case) -> bool {
    let slices = case.objects["slices"].as_array().into_iter().flatten();
    let mut devices =
        slices.flat_map(|slice| slice["spec"]["devices"].as_array().into_iter().flatten());
    let both =
        case.gates.has(Gate::PartitionableDevices) && case.gates.has(Gate::ConsumableCapacity);
    let shared = |device: &serde_json::Value| {
        device["allowMultipleAllocations"] == true && device["consumesCounters"].is_array()
    };
    case.gates.version() < Version::V1_36 && both && devices.any(shared)
}

/// Counters are kept by the pool's name without its driver, so that two drivers whose pools have one name share them
/// (kubernetes/kubernetes#140435, mended after 1.36.3).
fn counters_mix(case: &Case) -> bool {
    let mut drivers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for slice in case.objects["slices"].as_array().into_iter().flatten() {
        let spec = &slice["spec"];
        let draws = spec["devices"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|device| device["consumesCounters"].is_array());
        if spec["sharedCounters"].is_array() || draws {
            let of_name = drivers
                .entry(spec["pool"]["name"].as_str().unwrap_or_default())
                .or_default();
            of_name.push(spec["driver"].as_str().unwrap_or_default());
        }
    }
    let two = |drivers: &Vec<&str>| drivers.iter().any(|driver| *driver != drivers[0]);
    case.gates.version() < Version::V1_37
        && case.gates.has(Gate::PartitionableDevices)
        && drivers.values().any(two)
}
