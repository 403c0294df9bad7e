//! ResourceSlices one by one: names, limits, and how devices and counters lie in them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use oracle::{Gate, Gates, Version, limits};
use regex::Regex;

use crate::claim::driver_name;
use crate::limits::at_most;
use crate::names::{attribute_problem, is_label, is_subdomain, label, listed};
use crate::object::Object;
use crate::problem::Report;
use crate::taint;
use crate::tree::{Node, Value};

static VERSION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    // As the API server reads versions: three numbers, no leading zeros.
    Regex::new(r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$")
        .ok()
});

pub(crate) fn check(object: &Object<'_>, gates: &Gates, report: &mut Report<'_>) {
    let Some(spec) = object.spec() else { return };
    let file = object.file;
    if let Some(driver) = spec.get("driver") {
        driver_name(file, driver, report);
    }
    if let Some(pool) = spec.get("pool") {
        self::pool(file, pool, report);
    }
    reach(
        file,
        spec,
        &[
            "nodeName",
            "nodeSelector",
            "allNodes",
            "perDeviceNodeSelection",
        ],
        "a slice",
        report,
    );
    let both = spec.get("devices").is_some() && spec.get("sharedCounters").is_some();
    if both && gates.version() >= Version::V1_35 {
        report
            .say(file, "devices-beside-counters", spec.at("sharedCounters"), "since 1.35 a slice has either `devices` or `sharedCounters`, this one has both")
            .help("put `sharedCounters` into a slice of its own in the same pool, with the same generation, and count it in `resourceSliceCount`");
    }
    let devices = spec.list("devices");
    // In v1beta1 what is said of a device stands in `basic`.
    let bodies: Vec<(&Node, &Node)> = devices
        .iter()
        .map(|device| (device, device.get("basic").unwrap_or(device)))
        .collect();
    let advanced = bodies
        .iter()
        .any(|(_, it)| !it.list("taints").is_empty() || !it.list("consumesCounters").is_empty());
    let (most, why) = if advanced && gates.version() >= Version::V1_35 {
        let most = limits::ADVANCED_DEVICES_PER_SLICE;
        (
            most,
            format!(
                "devices with taints or counters: {most} in a slice; put the rest into a further slice of the pool"
            ),
        )
    } else {
        let why = "put the rest into a further slice of the pool".to_owned();
        (limits::DEVICES_PER_SLICE, why)
    };
    at_most(report, file, spec, "devices", most, &why);
    at_most(
        report,
        file,
        spec,
        "sharedCounters",
        limits::COUNTER_SETS_PER_SLICE,
        "put the rest into a further slice of the pool",
    );
    let mut names = BTreeSet::new();
    let per_device = spec.is_true("perDeviceNodeSelection");
    for (device, body) in &bodies {
        if let Some(node) = device.get("name") {
            label(file, node, "a device", report);
            if !names.insert(node.as_text().unwrap_or_default().to_owned()) {
                report
                    .say(
                        file,
                        "duplicate-name",
                        node.place,
                        "two devices of the slice have this name",
                    )
                    .help("give each its own name");
            }
        }
        self::device(file, device, body, per_device, gates, report);
    }
    let mut sets = BTreeSet::new();
    for set in spec.list("sharedCounters") {
        if let Some(node) = set.get("name") {
            label(file, node, "a counter set", report);
            if !sets.insert(node.as_text().unwrap_or_default()) {
                report
                    .say(
                        file,
                        "duplicate-name",
                        node.place,
                        "two counter sets of the pool have this name",
                    )
                    .help("give each its own name");
            }
        }
        counters(file, set, report);
    }
}

fn pool(file: usize, pool: &Node, report: &mut Report<'_>) {
    if let Some(node) = pool.get("name")
        && let Some(name) = node.as_text()
        && !(name.len() <= limits::POOL_BYTES
            && name
                .split('/')
                .all(|part| is_subdomain(part, limits::POOL_BYTES)))
    {
        report
            .say(
                file,
                "name",
                node.place,
                format!("{name:?} cannot be the name of a pool"),
            )
            .help("the node's name is the usual one: lower-case words joined by dots");
    }
    if pool
        .int("resourceSliceCount")
        .is_some_and(|count| count < 1)
    {
        report
            .say(
                file,
                "slice-count",
                pool.at("resourceSliceCount"),
                "a pool has at least one slice",
            )
            .help("count every slice of the pool, those with counters too");
    }
    if pool.int("generation").is_some_and(|it| it < 0) {
        report
            .say(
                file,
                "generation",
                pool.at("generation"),
                "a generation is 0 or more",
            )
            .help("begin with 1");
    }
}

/// Exactly one of the ways to say which nodes reach the devices.
fn reach(file: usize, node: &Node, ways: &[&str], what: &str, report: &mut Report<'_>) {
    let set: Vec<&str> = ways
        .iter()
        .copied()
        .filter(|way| {
            !matches!(
                node.get(way).map(|it| &it.value),
                None | Some(Value::Bool(false))
            )
        })
        .collect();
    for way in ways {
        if matches!(node.get(way).map(|it| &it.value), Some(Value::Bool(false))) {
            report
                .say(
                    file,
                    "node-choice",
                    node.at(way),
                    format!("`{way}` is true or not there at all"),
                )
                .help("leave it out");
        }
    }
    match set.as_slice() {
        [_] => {}
        [] => report
            .say(
                file,
                "node-choice",
                node.place,
                format!("{what} must say which nodes reach its devices"),
            )
            .help(format!("write one of {}", listed(ways.iter().copied()))),
        [_, second, ..] => report
            .say(
                file,
                "node-choice",
                node.at(second),
                format!(
                    "{what} says in one way which nodes reach its devices, this one has {}",
                    listed(set.iter().copied())
                ),
            )
            .help("keep one of them"),
    }
    let terms = node.path(&["nodeSelector", "nodeSelectorTerms"]);
    if let Some(second) = terms.and_then(|terms| terms.items().get(1)) {
        report
            .say(
                file,
                "node-choice",
                second.place,
                "the node selector of a slice has exactly one term",
            )
            .help("write a slice for each term");
    }
}

fn device(
    file: usize,
    device: &Node,
    body: &Node,
    per_device: bool,
    gates: &Gates,
    report: &mut Report<'_>,
) {
    let ways = ["nodeName", "nodeSelector", "allNodes"];
    if per_device {
        reach(
            file,
            body,
            &ways,
            "with `perDeviceNodeSelection` each device",
            report,
        );
    } else if let Some(way) = ways
        .iter()
        .find(|way| body.get(way).is_some())
        .filter(|_| gates.has(Gate::PartitionableDevices))
    {
        report
            .say(
                file,
                "node-choice",
                body.at(way),
                format!(
                    "a device has `{way}` only where the slice has `perDeviceNodeSelection: true`"
                ),
            )
            .help("say it in the slice instead, or set `perDeviceNodeSelection`");
    }
    for (key, value) in body.map("attributes") {
        name(file, key, "an attribute", report);
        attribute(file, key, value, report);
    }
    for (key, _) in body.map("capacity") {
        name(file, key, "a capacity", report);
        if body
            .map("attributes")
            .iter()
            .any(|(other, _)| other.name == key.name)
        {
            report
                .say(
                    file,
                    "twice-named",
                    key.place,
                    format!(
                        "{:?} is an attribute and a capacity of the device",
                        key.name
                    ),
                )
                .help("selectors ask for one or the other; publish it once");
        }
    }
    let both = body.map("attributes").len() + body.map("capacity").len();
    if both > limits::ATTRIBUTES_AND_CAPACITIES {
        report
            .say(
                file,
                "limit",
                device.place,
                format!(
                    "the device has {both} attributes and capacities, at most {} are taken",
                    limits::ATTRIBUTES_AND_CAPACITIES
                ),
            )
            .help("publish what selectors need");
    }
    at_most(
        report,
        file,
        body,
        "taints",
        limits::TAINTS_PER_DEVICE,
        "one taint says that the device is not to be used",
    );
    for it in body.list("taints") {
        taint::taint(file, it, report);
    }
    if gates.version() >= Version::V1_35 {
        at_most(
            report,
            file,
            body,
            "consumesCounters",
            limits::COUNTER_SETS_PER_DEVICE,
            "a device draws on two sets at most; join sets",
        );
    }
    let mut sets = BTreeSet::new();
    for it in body.list("consumesCounters") {
        if let Some(node) = it.get("counterSet")
            && !sets.insert(node.as_text().unwrap_or_default())
        {
            report
                .say(
                    file,
                    "duplicate-name",
                    node.place,
                    "the device draws on this set twice",
                )
                .help("write all its counters into one entry");
        }
        counters(file, it, report);
        at_most(
            report,
            file,
            it,
            "compatibilityGroups",
            limits::COMPATIBILITY_GROUPS,
            "two groups are enough for neighbours that overlap",
        );
    }
    for key in ["bindingConditions", "bindingFailureConditions"] {
        at_most(
            report,
            file,
            body,
            key,
            limits::BINDING_CONDITIONS,
            "join conditions",
        );
    }
    let (wanted, failed) = (
        body.list("bindingConditions"),
        body.list("bindingFailureConditions"),
    );
    if wanted.is_empty() != failed.is_empty() {
        let (have, lacks) = if failed.is_empty() {
            ("bindingConditions", "bindingFailureConditions")
        } else {
            ("bindingFailureConditions", "bindingConditions")
        };
        report
            .say(
                file,
                "binding-conditions",
                body.at(have),
                format!("`{have}` needs `{lacks}` beside it"),
            )
            .help("name at least one condition of each kind");
    }
}

fn name(file: usize, key: &crate::tree::Key, what: &str, report: &mut Report<'_>) {
    if let Some(problem) = attribute_problem(&key.name, false) {
        report
            .say(
                file,
                "attribute-name",
                key.place,
                format!("this cannot be the name of {what}: {problem}"),
            )
            .help("write it like memorySlices or example.com/memorySlices");
    }
}

fn attribute(file: usize, key: &crate::tree::Key, value: &Node, report: &mut Report<'_>) {
    let kinds = [
        "string", "int", "bool", "version", "strings", "ints", "bools", "versions",
    ];
    let set: Vec<&str> = kinds
        .into_iter()
        .filter(|kind| value.get(kind).is_some())
        .collect();
    match set.as_slice() {
        [] if value.entries().is_empty() => {
            report
                .say(
                    file,
                    "one-of",
                    key.place,
                    format!("the attribute {:?} has no value", key.name),
                )
                .help("write `{string: …}`, `{int: …}`, `{bool: …}` or `{version: …}`");
        }
        [_, second, ..] => report
            .say(
                file,
                "one-of",
                value.at(second),
                format!(
                    "the attribute {:?} has {} at once",
                    key.name,
                    listed(set.iter().copied())
                ),
            )
            .help("an attribute has one value; publish two attributes"),
        _ => {}
    }
    if let Some(node) = value.get("version")
        && let Some(text) = node.as_text()
        && VERSION.as_ref().is_some_and(|regex| !regex.is_match(text))
    {
        let numbers = text
            .trim_start_matches('v')
            .split('.')
            .map(|part| part.trim_start_matches('0'))
            .map(|part| if part.is_empty() { "0" } else { part });
        let numbers: Vec<&str> = numbers.chain(["0", "0"]).take(3).collect();
        report
            .say(
                file,
                "version",
                node.place,
                format!("{text:?} is not a semantic version"),
            )
            .help(format!(
                "write three numbers without leading zeros, as {}",
                numbers.join(".")
            ));
    }
    for kind in ["string", "version"] {
        if let Some(node) = value.get(kind)
            && let Some(text) = node.as_text()
            && text.len() > limits::ATTRIBUTE_BYTES
        {
            report
                .say(
                    file,
                    "limit",
                    node.place,
                    format!(
                        "the text has {} bytes, at most {} are taken",
                        text.len(),
                        limits::ATTRIBUTE_BYTES
                    ),
                )
                .help("publish a shorter one");
        }
    }
}

/// Counters of a set, or of what a device draws on it.
fn counters(file: usize, of: &Node, report: &mut Report<'_>) {
    at_most(
        report,
        file,
        of,
        "counters",
        limits::COUNTERS_PER_SET,
        "join counters that always go together",
    );
    if of.get("counters").is_some_and(|it| it.entries().is_empty()) {
        report
            .say(
                file,
                "no-counters",
                of.at("counters"),
                "there are no counters in it",
            )
            .help("write at least one, as `memory: {value: 40Gi}`");
    }
    for (key, _) in of.map("counters") {
        if !is_label(&key.name) {
            report
                .say(file, "name", key.place, format!("{:?} cannot be the name of a counter", key.name))
                .help("counters are named with lower-case letters, digits and `-`, unlike capacities: memory-slice-0");
        }
    }
}
