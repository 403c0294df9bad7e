//! Reads ResourceSlices.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::resource::v1 as api;

use super::{Wrong, name, names, node_selector, quantity, taint};
use crate::cel::Facts;
use crate::names::Name;
use crate::objects::attribute::{Attribute, Scalar};
use crate::objects::slice::{
    Capacity, Consumption, CounterSet, Device, Policy, Range, Reach, Slice, Span,
};
use crate::quantity::Quantity;

pub(super) fn read(from: &api::ResourceSlice) -> Result<Slice, Wrong> {
    let spec = &from.spec;
    let devices = spec.devices.iter().flatten().enumerate();
    let sets = spec.shared_counters.iter().flatten().enumerate();
    let reach = reach(
        "spec",
        spec.node_name.as_deref(),
        spec.node_selector.as_ref(),
        spec.all_nodes,
    )?;
    let span = match (spec.per_device_node_selection.unwrap_or(false), reach) {
        (true, None) => Span::PerDevice,
        (false, Some(reach)) => Span::Slice(reach),
        _ => {
            let why = "exactly one of nodeName, nodeSelector, allNodes and perDeviceNodeSelection must be set";
            return Err(("spec".to_owned(), why.to_owned()));
        }
    };
    Ok(Slice {
        name: name(from.metadata.name.as_deref().unwrap_or_default()),
        driver: name(&spec.driver),
        pool: name(&spec.pool.name),
        generation: spec.pool.generation,
        slice_count: spec.pool.resource_slice_count,
        span,
        devices: devices
            .map(|(i, d)| under(|| format!("spec.devices[{i}]"), device(d, &spec.driver)))
            .collect::<Result<_, Wrong>>()?,
        counter_sets: sets
            .map(|(i, set)| under(|| format!("spec.sharedCounters[{i}]"), counter_set(set)))
            .collect::<Result<_, Wrong>>()?,
        skip_node_operations: names(&spec.skip_node_operations),
    })
}

/// Puts the place of a whole before that of its part, which is named only where something is wrong.
fn under<T>(place: impl FnOnce() -> String, part: Result<T, Wrong>) -> Result<T, Wrong> {
    part.map_err(|(field, why)| (place() + &field, why))
}

fn reach(
    field: &str,
    node: Option<&str>,
    selector: Option<&k8s_openapi::api::core::v1::NodeSelector>,
    all: Option<bool>,
) -> Result<Option<Reach>, Wrong> {
    let mut found = Vec::new();
    found.extend(
        node.filter(|node| !node.is_empty())
            .map(|node| Reach::Node(name(node))),
    );
    if let Some(selector) = selector {
        found.push(Reach::Selected(node_selector(
            &format!("{field}.nodeSelector"),
            selector,
        )?));
    }
    found.extend(all.filter(|all| *all).map(|_| Reach::All));
    if found.len() > 1 {
        return Err((
            field.to_owned(),
            "only one of nodeName, nodeSelector and allNodes can be set".to_owned(),
        ));
    }
    Ok(found.pop())
}

fn counters(from: &BTreeMap<String, api::Counter>) -> Result<BTreeMap<Name, Quantity>, Wrong> {
    from.iter()
        .map(|(key, counter)| {
            Ok((
                name(key),
                quantity(|| format!(".counters[{key}].value"), &counter.value)?,
            ))
        })
        .collect()
}

fn counter_set(from: &api::CounterSet) -> Result<CounterSet, Wrong> {
    Ok(CounterSet {
        name: name(&from.name),
        counters: counters(&from.counters)?,
    })
}

fn consumption(from: &api::DeviceCounterConsumption) -> Result<Consumption, Wrong> {
    Ok(Consumption {
        counter_set: name(&from.counter_set),
        counters: counters(&from.counters)?,
        groups: names(&from.compatibility_groups),
    })
}

fn device(from: &api::Device, driver: &str) -> Result<Device, Wrong> {
    let attributes = from
        .attributes
        .iter()
        .flatten()
        .map(|(key, value)| {
            Ok((
                name(key),
                under(|| format!(".attributes[{key}]"), attribute(value))?,
            ))
        })
        .collect::<Result<_, Wrong>>()?;
    let capacity = from
        .capacity
        .iter()
        .flatten()
        .map(|(key, value)| {
            Ok((
                name(key),
                under(|| format!(".capacity[{key}]"), capacity(value))?,
            ))
        })
        .collect::<Result<_, Wrong>>()?;
    let consumes = from.consumes_counters.iter().flatten().enumerate();
    let taints = from.taints.iter().flatten().enumerate();
    Ok(Device {
        name: name(&from.name),
        facts: Arc::new(Facts {
            driver: name(driver),
            multiple: from.allow_multiple_allocations.unwrap_or(false),
            attributes,
            capacity,
        }),
        consumes: consumes
            .map(|(i, c)| under(|| format!(".consumesCounters[{i}]"), consumption(c)))
            .collect::<Result<_, Wrong>>()?,
        taints: taints
            .map(|(i, t)| taint(&format!(".taints[{i}]"), t, None))
            .collect::<Result<_, Wrong>>()?,
        reach: reach(
            "",
            from.node_name.as_deref(),
            from.node_selector.as_ref(),
            from.all_nodes,
        )?,
        binding_conditions: names(&from.binding_conditions),
        binding_failure_conditions: names(&from.binding_failure_conditions),
        binds_to_node: from.binds_to_node.unwrap_or(false),
    })
}

fn attribute(from: &api::DeviceAttribute) -> Result<Attribute, Wrong> {
    let text = |text: &String| Scalar::Text(name(text));
    let version = |text: &String| Scalar::Version(name(text));
    let scalars = [
        from.bool.map(Scalar::Bool),
        from.int.map(Scalar::Int),
        from.string.as_ref().map(text),
        from.version.as_ref().map(version),
    ];
    let lists = [
        from.bools.as_ref().map(|list| {
            list.iter()
                .map(|value| Scalar::Bool(*value))
                .collect::<Vec<_>>()
        }),
        from.ints
            .as_ref()
            .map(|list| list.iter().map(|value| Scalar::Int(*value)).collect()),
        from.strings
            .as_ref()
            .map(|list| list.iter().map(text).collect()),
        from.versions
            .as_ref()
            .map(|list| list.iter().map(version).collect()),
    ];
    let scalars = scalars.into_iter().flatten().map(Attribute::scalar);
    let mut found: Vec<Attribute> = scalars
        .chain(lists.into_iter().flatten().map(Attribute::list))
        .collect();
    match (found.pop(), found.is_empty()) {
        (Some(attribute), true) => Ok(attribute),
        (None, _) => Err((
            String::new(),
            "an attribute needs a value: bool, int, string or version".to_owned(),
        )),
        _ => Err((
            String::new(),
            "an attribute has exactly one value".to_owned(),
        )),
    }
}

fn capacity(from: &api::DeviceCapacity) -> Result<Capacity, Wrong> {
    let policy = from.request_policy.as_ref().map(|policy| {
        let field = ".requestPolicy";
        let part = |what: &str, value: &Option<_>| {
            value
                .as_ref()
                .map(|value| quantity(|| format!("{field}.{what}"), value))
                .transpose()
        };
        let values = policy.valid_values.iter().flatten().enumerate();
        let range = policy.valid_range.as_ref().map(|range| {
            Ok::<_, Wrong>(Range {
                min: quantity(|| format!("{field}.validRange.min"), &range.min)?,
                max: part("validRange.max", &range.max)?,
                step: part("validRange.step", &range.step)?,
            })
        });
        Ok::<_, Wrong>(Policy {
            default: part("default", &policy.default)?,
            values: values
                .map(|(i, value)| quantity(|| format!("{field}.validValues[{i}]"), value))
                .collect::<Result<_, Wrong>>()?,
            range: range.transpose()?,
        })
    });
    Ok(Capacity {
        value: quantity(|| ".value".to_owned(), &from.value)?,
        policy: policy.transpose()?,
    })
}
