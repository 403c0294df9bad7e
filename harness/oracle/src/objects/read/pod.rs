//! Pods, as far as they ask for extended resources.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1 as core;

use super::{ApiQuantity, Mistake, Quantity, Wrong, at, name};
use crate::extended::is_extended;
use crate::names::Name;
use crate::objects::{ClaimKey, Container, Pod, Runs};

impl Pod {
    /// Reads a Pod.
    ///
    /// # Errors
    /// An amount of an extended resource is no whole number.
    pub fn read(from: &core::Pod) -> Result<Self, Mistake> {
        let part = |text: &Option<String>| name(text.as_deref().unwrap_or_default());
        let key = ClaimKey {
            namespace: part(&from.metadata.namespace),
            name: part(&from.metadata.name),
        };
        let spec = from.spec.as_ref();
        let first = spec.and_then(|spec| spec.init_containers.as_deref());
        let others = spec.map(|spec| spec.containers.as_slice());
        let first = first.unwrap_or_default().iter().enumerate();
        let others = others.unwrap_or_default().iter().enumerate();
        let containers = first
            .map(|(i, it)| container(&format!("spec.initContainers[{i}]"), it, true))
            .chain(others.map(|(i, it)| container(&format!("spec.containers[{i}]"), it, false)))
            .collect();
        let containers = at(|| format!("Pod {key}"), containers)?;
        Ok(Pod { key, containers })
    }
}

fn container(field: &str, from: &core::Container, first: bool) -> Result<Container, Wrong> {
    let stays = from.restart_policy.as_deref() == Some("Always");
    // What is only limited is requested as well: the API server writes it so.
    let mut asked: BTreeMap<&String, &ApiQuantity> = BTreeMap::new();
    if let Some(resources) = &from.resources {
        asked.extend(resources.limits.iter().flatten());
        asked.extend(resources.requests.iter().flatten());
    }
    let amount = |(resource, amount): (&String, &ApiQuantity)| {
        let wrong = || {
            let why = format!("{:?} is no whole number of {resource}", amount.0);
            (format!("{field}.resources.requests[{resource}]"), why)
        };
        let amount = match is_extended(resource) {
            true => whole(amount).ok_or_else(wrong)?,
            false => 0,
        };
        Ok((name(resource), amount))
    };
    Ok(Container {
        name: name(&from.name),
        runs: match (first, stays) {
            (true, false) => Runs::Before,
            (true, true) => Runs::Beside,
            (false, _) => Runs::Along,
        },
        requests: asked
            .into_iter()
            .map(amount)
            .collect::<Result<BTreeMap<Name, u64>, Wrong>>()?,
    })
}

/// A number of things.
pub(super) fn whole(amount: &ApiQuantity) -> Option<u64> {
    let amount = Quantity::try_from(amount).ok()?.as_whole()?;
    u64::try_from(amount).ok()
}
