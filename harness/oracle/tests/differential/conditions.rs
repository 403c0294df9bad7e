//! Two bugs are not worth a quirk, for their effect depends on what was tried before: they are known by their condition.
//! A condition alone excuses nothing: without it the difference must be gone, or be one that a quirk explains.

use std::collections::BTreeMap;

use oracle::{Gate, Version};
use serde_json::{Value, json};

use crate::generate::Case;

/// A bug that is known by its condition.
struct Condition {
    name: &'static str,
    holds: fn(&Case) -> bool,
    /// Changes the objects so that it holds no more, and all else stays.
    end: fn(&mut Value),
}

const CONDITIONS: [Condition; 2] = [
    Condition {
        name: "counters-of-pools-with-one-name-mix",
        holds: counters_mix,
        end: name_pools_by_driver,
    },
    Condition {
        name: "shared-partitions-are-charged-wrongly",
        holds: shared_partitions,
        end: draw_nothing_by_shares,
    },
];

/// The bugs whose condition holds for the case. How often one does where nothing differs says how much it might hide.
pub(crate) fn held(case: &Case) -> Vec<&'static str> {
    let held = CONDITIONS
        .iter()
        .filter(|condition| (condition.holds)(case));
    held.map(|condition| condition.name).collect()
}

/// The case without the conditions that hold for it.
pub(crate) fn without(case: &Case) -> Case {
    let mut without = case.clone();
    for condition in CONDITIONS.iter().filter(|it| (it.holds)(case)) {
        (condition.end)(&mut without.objects);
    }
    without
}

fn list<'v>(value: &'v mut Value, path: &str) -> impl Iterator<Item = &'v mut Value> {
    let list = value.pointer_mut(path).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

/// Devices that can be shared and consume counters, both alpha before 1.36: counters of a share are charged or not by
/// whether the share takes any capacity, and not given back in the search.
fn shared_partitions(case: &Case) -> bool {
    let slices = case.objects["slices"].as_array().into_iter().flatten();
    let mut devices =
        slices.flat_map(|slice| slice["spec"]["devices"].as_array().into_iter().flatten());
    let both =
        case.gates.has(Gate::PartitionableDevices) && case.gates.has(Gate::ConsumableCapacity);
    case.gates.version() < Version::V1_36 && both && devices.any(is_shared_partition)
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

fn name_pools_by_driver(objects: &mut Value) {
    let rename = |of: &mut Value, pool: &str| {
        let driver = of["driver"].as_str().map(ToOwned::to_owned);
        if let (Some(driver), Some(pool)) = (driver, of.pointer_mut(pool)) {
            *pool = json!(format!("{}.{driver}", pool.as_str().unwrap_or_default()));
        }
    };
    for spec in list(objects, "/slices").filter_map(|slice| slice.get_mut("spec")) {
        rename(spec, "/pool/name");
    }
    for claim in list(objects, "/claims") {
        for result in list(claim, "/status/allocation/devices/results") {
            rename(result, "/pool");
        }
    }
}

fn is_shared_partition(device: &Value) -> bool {
    device["allowMultipleAllocations"] == true && device["consumesCounters"].is_array()
}

fn draw_nothing_by_shares(objects: &mut Value) {
    for slice in list(objects, "/slices") {
        for device in list(slice, "/spec/devices").filter(|it| is_shared_partition(it)) {
            if let Value::Object(device) = device {
                device.remove("consumesCounters");
            }
        }
    }
}
