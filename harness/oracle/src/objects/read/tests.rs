//! Mistakes name the object and the field.

#![allow(clippy::unwrap_used)]

use super::*;

fn slice(spec: &str) -> Result<Slice, Mistake> {
    let text = format!(
        "{{metadata: {{name: s}}, spec: {{driver: d, pool: {{name: p, generation: 1, resourceSliceCount: 1}}, {spec}}}}}"
    );
    let slice: api::ResourceSlice = serde_yaml_ng::from_str(&text).unwrap();
    Slice::read(&slice)
}

#[test]
fn the_place_of_a_quantity_that_is_none() {
    let mistake =
        slice("nodeName: n, devices: [{name: a}, {name: b, capacity: {memory: {value: 5GB}}}]")
            .unwrap_err();
    assert_eq!(mistake.object, "ResourceSlice s");
    assert_eq!(mistake.field, "spec.devices[1].capacity[memory].value");
    assert!(mistake.to_string().contains("5GB"), "{mistake}");
}

#[test]
fn exactly_one_way_to_say_which_nodes() {
    assert!(
        slice("devices: []")
            .unwrap_err()
            .to_string()
            .contains("perDeviceNodeSelection")
    );
    assert!(slice("nodeName: n, allNodes: true").is_err());
    assert!(slice("nodeName: n, perDeviceNodeSelection: true").is_err());
    assert!(slice("perDeviceNodeSelection: true, devices: [{name: a, nodeName: n}]").is_ok());
}

#[test]
fn an_attribute_has_exactly_one_value() {
    assert!(slice("nodeName: n, devices: [{name: a, attributes: {x: {}}}]").is_err());
    let two = slice("nodeName: n, devices: [{name: a, attributes: {x: {int: 1, string: a}}}]")
        .unwrap_err();
    assert_eq!(two.field, "spec.devices[0].attributes[x]");
}

fn claim(requests: &str) -> Result<Claim, Mistake> {
    let text = format!(
        "{{metadata: {{name: c, namespace: ns}}, spec: {{devices: {{requests: [{requests}]}}}}}}"
    );
    Claim::read(
        &serde_yaml_ng::from_str::<api::ResourceClaim>(&text).unwrap(),
        Dialect::default(),
    )
}

#[test]
fn requests_ask_for_one_device_unless_they_say_otherwise() {
    let read = claim("{name: a, exactly: {deviceClassName: c}}, {name: b, exactly: {deviceClassName: c, allocationMode: All}}").unwrap();
    let modes: Vec<_> = read
        .requests
        .iter()
        .flat_map(|request| request.asks())
        .map(|ask| ask.mode)
        .collect();
    assert_eq!(
        modes,
        [crate::objects::Mode::Exact(1), crate::objects::Mode::All]
    );
    assert!(
        claim("{name: a, exactly: {deviceClassName: c, allocationMode: Most}}")
            .unwrap_err()
            .field
            .ends_with("allocationMode")
    );
    assert!(
        claim("{name: a}")
            .unwrap_err()
            .to_string()
            .contains("ResourceClaim ns/c")
    );
}
