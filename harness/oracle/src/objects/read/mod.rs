//! From `resource.k8s.io/v1` and `v1` objects to the oracle's values. A mistake says in which object and field it is.

mod claim;
mod pod;
mod slice;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::resource::v1 as api;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;

use super::class::{Class, Opaque};
use super::node::{Node, NodeRequirement, NodeSelector, NodeTerm, Operator};
use super::rule::{Effect, Rule, RuleSelector, Taint, Toleration, TolerationOperator};
use super::{Claim, Selector, Slice};
use crate::cel::Dialect;
use crate::extended::is_extended;
use crate::names::Name;
use crate::quantity::{NotAQuantity, Quantity};

/// An object that cannot be read: which, where in it, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{object}: {field}: {why}")]
pub struct Mistake {
    /// Kind and name.
    pub object: String,
    /// The field, as `spec.devices[3].capacity[memory].value`.
    pub field: String,
    /// What is wrong and what is right.
    pub why: String,
}

/// A field's place and what is wrong with it; the object's name is added at the rim.
pub(super) type Wrong = (String, String);

fn at<T>(object: impl FnOnce() -> String, result: Result<T, Wrong>) -> Result<T, Mistake> {
    result.map_err(|(field, why)| Mistake {
        object: object(),
        field,
        why,
    })
}

fn name(text: &str) -> Name {
    Name::from(text)
}

fn names(texts: &Option<Vec<String>>) -> Vec<Name> {
    texts.iter().flatten().map(|text| name(text)).collect()
}

impl TryFrom<&ApiQuantity> for Quantity {
    type Error = NotAQuantity;

    /// JSON texts may have white space around a quantity, expressions may not.
    fn try_from(value: &ApiQuantity) -> Result<Self, NotAQuantity> {
        value.0.trim().parse()
    }
}

fn quantity(field: impl FnOnce() -> String, value: &ApiQuantity) -> Result<Quantity, Wrong> {
    Quantity::try_from(value).map_err(|error| (field(), error.to_string()))
}

fn quantities(
    field: &str,
    map: Option<&BTreeMap<String, ApiQuantity>>,
) -> Result<BTreeMap<Name, Quantity>, Wrong> {
    map.into_iter()
        .flatten()
        .map(|(key, value)| Ok((name(key), quantity(|| format!("{field}[{key}]"), value)?)))
        .collect()
}

fn effect(field: impl FnOnce() -> String, text: &str) -> Result<Effect, Wrong> {
    match text {
        "None" => Ok(Effect::None),
        "NoSchedule" => Ok(Effect::NoSchedule),
        "NoExecute" => Ok(Effect::NoExecute),
        other => Err((
            field(),
            format!("{other:?} is no effect; write None, NoSchedule or NoExecute"),
        )),
    }
}

fn taint(field: &str, taint: &api::DeviceTaint, rule: Option<&Name>) -> Result<Taint, Wrong> {
    Ok(Taint {
        key: name(&taint.key),
        value: name(taint.value.as_deref().unwrap_or_default()),
        effect: effect(|| format!("{field}.effect"), &taint.effect)?,
        rule: rule.cloned(),
    })
}

fn toleration(field: &str, from: &api::DeviceToleration) -> Result<Toleration, Wrong> {
    let operator = match from.operator.as_deref() {
        None | Some("" | "Equal") => TolerationOperator::Equal,
        Some("Exists") => TolerationOperator::Exists,
        Some(other) => {
            return Err((
                format!("{field}.operator"),
                format!("{other:?} is neither Equal nor Exists"),
            ));
        }
    };
    let effect = match from.effect.as_deref() {
        None | Some("") => None,
        Some(text) => Some(effect(|| format!("{field}.effect"), text)?),
    };
    Ok(Toleration {
        key: name(from.key.as_deref().unwrap_or_default()),
        operator,
        value: name(from.value.as_deref().unwrap_or_default()),
        effect,
        seconds: from.toleration_seconds,
    })
}

fn requirement(
    field: &str,
    from: &core::NodeSelectorRequirement,
) -> Result<NodeRequirement, Wrong> {
    let operator = match from.operator.as_str() {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        "Gt" => Operator::Gt,
        "Lt" => Operator::Lt,
        other => {
            return Err((
                format!("{field}.operator"),
                format!("{other:?} is no operator of node selectors"),
            ));
        }
    };
    Ok(NodeRequirement {
        key: name(&from.key),
        operator,
        values: names(&from.values),
    })
}

fn requirements(
    field: &str,
    from: Option<&Vec<core::NodeSelectorRequirement>>,
) -> Result<Vec<NodeRequirement>, Wrong> {
    from.into_iter()
        .flatten()
        .enumerate()
        .map(|(i, r)| requirement(&format!("{field}[{i}]"), r))
        .collect()
}

fn node_selector(field: &str, from: &core::NodeSelector) -> Result<NodeSelector, Wrong> {
    let terms = from
        .node_selector_terms
        .iter()
        .enumerate()
        .map(|(i, term)| {
            let field = format!("{field}.nodeSelectorTerms[{i}]");
            Ok(NodeTerm {
                expressions: requirements(
                    &format!("{field}.matchExpressions"),
                    term.match_expressions.as_ref(),
                )?,
                fields: requirements(&format!("{field}.matchFields"), term.match_fields.as_ref())?,
            })
        });
    Ok(NodeSelector {
        terms: terms.collect::<Result<_, Wrong>>()?,
    })
}

fn selectors(
    field: &str,
    from: Option<&Vec<api::DeviceSelector>>,
    dialect: Dialect,
) -> Result<Vec<Selector>, Wrong> {
    from.into_iter()
        .flatten()
        .enumerate()
        .map(|(i, selector)| match &selector.cel {
            Some(cel) => Ok(Selector::new(&cel.expression, dialect)),
            None => Err((format!("{field}[{i}]"), "a selector needs `cel`".to_owned())),
        })
        .collect()
}

fn opaque(field: &str, from: Option<&api::OpaqueDeviceConfiguration>) -> Result<Opaque, Wrong> {
    let from = from.ok_or_else(|| (field.to_owned(), "configuration needs `opaque`".to_owned()))?;
    Ok(Opaque {
        driver: name(&from.driver),
        parameters: from.parameters.0.to_string(),
    })
}

impl Slice {
    /// Reads a ResourceSlice.
    pub fn read(from: &api::ResourceSlice) -> Result<Self, Mistake> {
        at(
            || {
                format!(
                    "ResourceSlice {}",
                    from.metadata.name.as_deref().unwrap_or("without name")
                )
            },
            slice::read(from),
        )
    }
}

impl Claim {
    /// Reads a ResourceClaim; what its selectors may use depends on the cluster's gates.
    pub fn read(from: &api::ResourceClaim, dialect: Dialect) -> Result<Self, Mistake> {
        let object = || {
            let metadata = &from.metadata;
            let part = |text: &Option<String>| text.clone().unwrap_or_default();
            format!(
                "ResourceClaim {}/{}",
                part(&metadata.namespace),
                part(&metadata.name)
            )
        };
        at(object, claim::read(from, dialect))
    }
}

impl Class {
    /// Reads a DeviceClass.
    pub fn read(from: &api::DeviceClass, dialect: Dialect) -> Result<Self, Mistake> {
        let class_name = from.metadata.name.as_deref().unwrap_or_default();
        let read = || {
            let none = api::DeviceClassSpec::default();
            let spec = from.spec.as_ref().unwrap_or(&none);
            let config = spec.config.iter().flatten().enumerate();
            Ok(Class {
                name: name(class_name),
                selectors: selectors("spec.selectors", spec.selectors.as_ref(), dialect)?,
                config: config
                    .map(|(i, c)| opaque(&format!("spec.config[{i}]"), c.opaque.as_ref()))
                    .collect::<Result<_, Wrong>>()?,
                extended_resource: spec.extended_resource_name.as_deref().map(name),
                created: from
                    .metadata
                    .creation_timestamp
                    .as_ref()
                    .map_or(0, |time| time.0.as_second()),
            })
        };
        at(|| format!("DeviceClass {class_name}"), read())
    }
}

impl Rule {
    /// Reads a DeviceTaintRule.
    pub fn read(from: &api::DeviceTaintRule) -> Result<Self, Mistake> {
        let rule_name = name(from.metadata.name.as_deref().unwrap_or_default());
        let taint = at(
            || format!("DeviceTaintRule {rule_name}"),
            taint("spec.taint", &from.spec.taint, Some(&rule_name)),
        )?;
        let selector = from
            .spec
            .device_selector
            .as_ref()
            .map(|selector| RuleSelector {
                driver: selector.driver.as_deref().map(name),
                pool: selector.pool.as_deref().map(name),
                device: selector.device.as_deref().map(name),
            });
        Ok(Rule {
            name: rule_name,
            selector,
            taint,
        })
    }
}

impl Node {
    /// Reads a Node; nothing in it can be wrong.
    pub fn read(from: &core::Node) -> Self {
        let labels = from
            .metadata
            .labels
            .iter()
            .flatten()
            .map(|(key, value)| (name(key), name(value)))
            .collect();
        Node {
            name: name(from.metadata.name.as_deref().unwrap_or_default()),
            labels,
            declared_features: names(
                &from
                    .status
                    .as_ref()
                    .and_then(|status| status.declared_features.clone()),
            ),
            resources: from
                .status
                .iter()
                .flat_map(|status| status.allocatable.iter().flatten())
                .filter(|(resource, _)| is_extended(resource))
                .map(|(resource, amount)| (name(resource), pod::whole(amount).unwrap_or(0)))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests;
