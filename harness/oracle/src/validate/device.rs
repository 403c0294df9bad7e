//! One device of a slice.

use k8s_openapi::api::resource::v1 as api;

use super::{Findings, capacity, names, nodes};
use crate::gates::{Gate, Gates};
use crate::limits::{
    ATTRIBUTE_BYTES, ATTRIBUTE_VALUES, ATTRIBUTES_AND_CAPACITIES, BINDING_CONDITIONS,
    COMPATIBILITY_GROUPS, COUNTER_SETS_PER_DEVICE, COUNTERS_PER_SET, TAINTS_PER_DEVICE,
};

pub(super) fn check(
    findings: &mut Findings,
    field: &str,
    device: &api::Device,
    per_device: bool,
    gates: &Gates,
) {
    names::label(findings, &format!("{field}.name"), &device.name);
    attributes(findings, field, device);
    let shared = device.allow_multiple_allocations == Some(true);
    for (name, of) in device.capacity.iter().flatten() {
        names::qualified(findings, &format!("{field}.capacity"), name);
        capacity::check(
            findings,
            &format!("{field}.capacity[{name}]"),
            of,
            shared,
            gates.has(Gate::FractionalCapacityRange),
        );
    }
    let taints = device.taints.as_deref().unwrap_or_default();
    if findings.fits(&format!("{field}.taints"), taints.len(), TAINTS_PER_DEVICE) {
        for (at, one) in taints.iter().enumerate() {
            taint(findings, &format!("{field}.taints[{at}]"), one);
        }
    }
    consumption(
        findings,
        &format!("{field}.consumesCounters"),
        device,
        gates,
    );
    reach(findings, field, device, per_device);
    conditions(findings, field, device);
}

fn attributes(findings: &mut Findings, field: &str, device: &api::Device) {
    let attributes = || device.attributes.iter().flatten();
    let both = attributes().count()
        + device
            .capacity
            .as_ref()
            .map_or(0, std::collections::BTreeMap::len);
    findings.unless(
        both <= ATTRIBUTES_AND_CAPACITIES,
        field,
        format!(
            "it has {both} attributes and capacities; the limit is {ATTRIBUTES_AND_CAPACITIES}"
        ),
    );
    let values: usize = attributes().map(|(_, attribute)| values(attribute)).sum();
    findings.unless(
        values <= ATTRIBUTE_VALUES,
        field,
        format!("its attributes have {values} values; the limit is {ATTRIBUTE_VALUES}"),
    );
    for (name, of) in attributes() {
        names::qualified(findings, &format!("{field}.attributes"), name);
        attribute(findings, &format!("{field}.attributes[{name}]"), of);
    }
}

fn lengths(attribute: &api::DeviceAttribute) -> [(&'static str, Option<usize>); 4] {
    [
        ("bools", attribute.bools.as_ref().map(Vec::len)),
        ("ints", attribute.ints.as_ref().map(Vec::len)),
        ("strings", attribute.strings.as_ref().map(Vec::len)),
        ("versions", attribute.versions.as_ref().map(Vec::len)),
    ]
}

fn values(attribute: &api::DeviceAttribute) -> usize {
    let listed: usize = lengths(attribute)
        .into_iter()
        .filter_map(|(_, length)| length)
        .sum();
    listed.max(1)
}

fn attribute(findings: &mut Findings, field: &str, attribute: &api::DeviceAttribute) {
    let mut text = |part: String, text: &str, version: bool| {
        findings.unless(
            text.len() <= ATTRIBUTE_BYTES,
            &part,
            format!(
                "it has {} bytes; the limit is {ATTRIBUTE_BYTES}",
                text.len()
            ),
        );
        if version {
            findings.unless(
                is_version(text),
                &part,
                format!("{text:?} is no semantic version, as 1.2.3"),
            );
        }
    };
    for (part, value, version) in [
        ("string", &attribute.string, false),
        ("version", &attribute.version, true),
    ] {
        if let Some(value) = value {
            text(format!("{field}.{part}"), value, version);
        }
    }
    for (part, list, version) in [
        ("strings", &attribute.strings, false),
        ("versions", &attribute.versions, true),
    ] {
        for (at, value) in list.iter().flatten().enumerate() {
            text(format!("{field}.{part}[{at}]"), value, version);
        }
    }
    for (part, length) in lengths(attribute) {
        findings.unless(
            length != Some(0),
            &format!("{field}.{part}"),
            "a list needs a value",
        );
    }
    let scalars = [
        attribute.bool.is_some(),
        attribute.int.is_some(),
        attribute.string.is_some(),
        attribute.version.is_some(),
    ];
    let lists = lengths(attribute)
        .into_iter()
        .filter(|(_, length)| length.is_some())
        .count();
    let set = scalars.into_iter().filter(|set| *set).count() + lists;
    findings.unless(
        set == 1,
        field,
        format!("an attribute has exactly one value, not {set}"),
    );
}

/// Whether a text has the form of a semantic version; its numbers may be as large as they like.
fn is_version(text: &str) -> bool {
    let number = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && (text == "0" || !text.starts_with('0'))
    };
    let word = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let (text, build) = match text.split_once('+') {
        Some((text, build)) => (text, Some(build)),
        None => (text, None),
    };
    let (core, pre) = match text.split_once('-') {
        Some((core, pre)) => (core, Some(pre)),
        None => (text, None),
    };
    let numeric = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    core.split('.').count() == 3
        && core.split('.').all(number)
        && pre.is_none_or(|pre| {
            pre.split('.')
                .all(|part| word(part) && (!numeric(part) || number(part)))
        })
        && build.is_none_or(|build| build.split('.').all(word))
}

fn consumption(findings: &mut Findings, field: &str, device: &api::Device, gates: &Gates) {
    let consumes = device.consumes_counters.as_deref().unwrap_or_default();
    if !findings.fits(field, consumes.len(), COUNTER_SETS_PER_DEVICE) {
        return;
    }
    for (at, entry) in consumes.iter().enumerate() {
        let field = format!("{field}[{at}]");
        names::label(findings, &format!("{field}.counterSet"), &entry.counter_set);
        let counters = format!("{field}.counters");
        findings.unless(
            !entry.counters.is_empty(),
            &counters,
            "an entry needs a counter",
        );
        if findings.fits(&counters, entry.counters.len(), COUNTERS_PER_SET) {
            entry
                .counters
                .keys()
                .for_each(|name| names::label(findings, &counters, name));
        }
        // With the gate off the API server drops the field.
        let known = gates.has(Gate::DeviceCompatibilityGroups);
        let groups = entry.compatibility_groups.as_deref().filter(|_| known);
        let groups = groups.unwrap_or_default();
        let field = format!("{field}.compatibilityGroups");
        if findings.fits(&field, groups.len(), COMPATIBILITY_GROUPS) {
            for (at, group) in groups.iter().enumerate() {
                names::label(findings, &format!("{field}[{at}]"), group);
            }
            findings.once(&field, groups);
        }
    }
    let sets: Vec<&String> = consumes.iter().map(|entry| &entry.counter_set).collect();
    findings.once(field, &sets);
}

fn reach(findings: &mut Findings, field: &str, device: &api::Device, per_device: bool) {
    let any =
        device.node_name.is_some() || device.node_selector.is_some() || device.all_nodes.is_some();
    if !per_device {
        findings.unless(
            !any,
            field,
            "nodeName, nodeSelector and allNodes of a device need perDeviceNodeSelection in the slice",
        );
        return;
    }
    let mut ways = 0;
    if let Some(name) = &device.node_name {
        ways += 1;
        names::subdomain(findings, &format!("{field}.nodeName"), name);
    }
    if let Some(selector) = &device.node_selector {
        ways += 1;
        nodes::selector(findings, &format!("{field}.nodeSelector"), selector, false);
    }
    findings.unless(
        device.all_nodes != Some(false),
        &format!("{field}.allNodes"),
        "it is true or left out",
    );
    ways += usize::from(device.all_nodes == Some(true));
    findings.unless(
        ways == 1,
        field,
        "exactly one of nodeName, nodeSelector and allNodes is wanted, for the slice has perDeviceNodeSelection",
    );
}

fn conditions(findings: &mut Findings, field: &str, device: &api::Device) {
    let binding = device.binding_conditions.as_deref().unwrap_or_default();
    let failure = device
        .binding_failure_conditions
        .as_deref()
        .unwrap_or_default();
    let name = |part: &str| format!("{field}.{part}");
    for (part, list) in [
        ("bindingConditions", binding),
        ("bindingFailureConditions", failure),
    ] {
        if findings.fits(&name(part), list.len(), BINDING_CONDITIONS) {
            for (at, condition) in list.iter().enumerate() {
                names::key(findings, &format!("{}[{at}]", name(part)), condition);
            }
            findings.once(&name(part), list);
        }
    }
    for (at, condition) in failure.iter().enumerate() {
        findings.unless(
            !binding.contains(condition),
            &format!("{}[{at}]", name("bindingFailureConditions")),
            "it is a binding condition too",
        );
    }
    findings.unless(
        failure.is_empty() || !binding.is_empty(),
        &name("bindingConditions"),
        "bindingFailureConditions need bindingConditions",
    );
    findings.unless(
        binding.is_empty() || !failure.is_empty(),
        &name("bindingFailureConditions"),
        "bindingConditions need bindingFailureConditions",
    );
}

/// A taint of a device or rule.
pub(super) fn taint(findings: &mut Findings, field: &str, taint: &api::DeviceTaint) {
    names::key(findings, &format!("{field}.key"), &taint.key);
    names::value(
        findings,
        &format!("{field}.value"),
        taint.value.as_deref().unwrap_or_default(),
    );
    effect(findings, &format!("{field}.effect"), &taint.effect);
}

/// An effect of a taint.
pub(super) fn effect(findings: &mut Findings, field: &str, effect: &str) {
    findings.unless(
        ["None", "NoSchedule", "NoExecute"].contains(&effect),
        field,
        format!("{effect:?} is no effect; write None, NoSchedule or NoExecute"),
    );
}
