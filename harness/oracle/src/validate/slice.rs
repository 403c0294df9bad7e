//! ResourceSlices: the pool, the nodes, how much is in one, and what does not go together.

use k8s_openapi::api::resource::v1 as api;

use super::{Findings, device, names, nodes};
use crate::gates::{Gate, Gates};
use crate::limits::{
    ADVANCED_DEVICES_PER_SLICE, COUNTER_SETS_PER_SLICE, COUNTERS_PER_SET, DEVICES_PER_SLICE,
};
use crate::version::Version;

pub(super) fn check(findings: &mut Findings, spec: &api::ResourceSliceSpec, gates: &Gates) {
    names::driver(findings, "spec.driver", &spec.driver);
    names::pool(findings, "spec.pool.name", &spec.pool.name);
    let count = spec.pool.resource_slice_count;
    findings.unless(
        count > 0,
        "spec.pool.resourceSliceCount",
        format!("it is {count}; it must be above 0"),
    );
    let generation = spec.pool.generation;
    findings.unless(
        generation >= 0,
        "spec.pool.generation",
        format!("it is {generation}; it must not be below 0"),
    );
    span(findings, spec);
    let devices = spec.devices.as_deref().unwrap_or_default();
    let sets = spec.shared_counters.as_deref().unwrap_or_default();
    // In 1.34 both stood in one slice.
    let apart = gates.version() >= Version::V1_35;
    if apart && spec.devices.is_some() && spec.shared_counters.is_some() {
        findings.add(
            "spec",
            "devices and sharedCounters stand in slices of their own, of one pool",
        );
    }
    let most = if devices.iter().any(advanced) {
        ADVANCED_DEVICES_PER_SLICE
    } else {
        DEVICES_PER_SLICE
    };
    if findings.fits("spec.devices", devices.len(), most) {
        let per_device = spec.per_device_node_selection == Some(true);
        for (at, device) in devices.iter().enumerate() {
            device::check(
                findings,
                &format!("spec.devices[{at}]"),
                device,
                per_device,
                gates,
            );
        }
        let names: Vec<&String> = devices.iter().map(|device| &device.name).collect();
        findings.once("spec.devices", &names);
    }
    if !apart || findings.fits("spec.sharedCounters", sets.len(), COUNTER_SETS_PER_SLICE) {
        for (at, set) in sets.iter().enumerate() {
            let field = format!("spec.sharedCounters[{at}]");
            names::label(findings, &format!("{field}.name"), &set.name);
            let field = format!("{field}.counters");
            findings.unless(!set.counters.is_empty(), &field, "a set needs a counter");
            if findings.fits(&field, set.counters.len(), COUNTERS_PER_SET) {
                set.counters
                    .keys()
                    .for_each(|name| names::label(findings, &field, name));
            }
        }
        let names: Vec<&String> = sets.iter().map(|set| &set.name).collect();
        findings.once("spec.sharedCounters", &names);
    }
    // With the gate off the API server drops the field.
    if gates.has(Gate::OptionalNodeOperations) {
        skips(findings, spec);
    }
}

/// What counts as more than a plain device.
fn advanced(device: &api::Device) -> bool {
    let list = |attribute: &api::DeviceAttribute| {
        attribute.bools.is_some()
            || attribute.ints.is_some()
            || attribute.strings.is_some()
            || attribute.versions.is_some()
    };
    device
        .taints
        .as_ref()
        .is_some_and(|taints| !taints.is_empty())
        || device
            .consumes_counters
            .as_ref()
            .is_some_and(|consumes| !consumes.is_empty())
        || device
            .attributes
            .iter()
            .flatten()
            .any(|(_, attribute)| list(attribute))
}

fn span(findings: &mut Findings, spec: &api::ResourceSliceSpec) {
    let mut ways = 0;
    if let Some(name) = &spec.node_name {
        ways += 1;
        names::subdomain(findings, "spec.nodeName", name);
    }
    if let Some(selector) = &spec.node_selector {
        ways += 1;
        nodes::selector(findings, "spec.nodeSelector", selector, true);
    }
    for (field, flag) in [
        ("spec.allNodes", spec.all_nodes),
        (
            "spec.perDeviceNodeSelection",
            spec.per_device_node_selection,
        ),
    ] {
        findings.unless(flag != Some(false), field, "it is true or left out");
        ways += usize::from(flag == Some(true));
    }
    findings.unless(
        ways == 1,
        "spec",
        "exactly one of nodeName, nodeSelector, allNodes and perDeviceNodeSelection is wanted",
    );
}

fn skips(findings: &mut Findings, spec: &api::ResourceSliceSpec) {
    let skips: Vec<&str> = spec
        .skip_node_operations
        .iter()
        .flatten()
        .map(String::as_str)
        .collect();
    findings.unless(
        !skips.contains(&"NodePrepareResources")
            || skips.contains(&"NodeUnprepareResources")
            || skips.contains(&"*"),
        "spec.skipNodeOperations",
        "NodePrepareResources is skipped only with NodeUnprepareResources",
    );
}
