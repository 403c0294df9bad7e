//! Reads ResourceClaims.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::resource::v1 as api;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;

use super::{Wrong, name, names, opaque, quantities, selectors, toleration};
use crate::cel::{Dialect, Expression};
use crate::names::{DeviceId, Name};
use crate::objects::claim::{
    Ask, Claim, ClaimKey, Constraint, Derived, Held, Mode, Must, Request, Wanted,
};

pub(super) fn read(from: &api::ResourceClaim, dialect: Dialect) -> Result<Claim, Wrong> {
    let part = |text: &Option<String>| name(text.as_deref().unwrap_or_default());
    let key = ClaimKey {
        namespace: part(&from.metadata.namespace),
        name: part(&from.metadata.name),
    };
    let allocation = from
        .status
        .as_ref()
        .and_then(|status| status.allocation.as_ref());
    let holds = allocation.map(|allocation| {
        let results = allocation
            .devices
            .iter()
            .flat_map(|devices| devices.results.iter().flatten());
        results
            .enumerate()
            .map(|(i, result)| held(i, result))
            .collect::<Result<Vec<_>, Wrong>>()
    });
    let none = api::DeviceClaim::default();
    spec(
        key,
        from.spec
            .as_ref()
            .and_then(|spec| spec.devices.as_ref())
            .unwrap_or(&none),
        dialect,
        holds.transpose()?,
    )
}

fn spec(
    key: ClaimKey,
    devices: &api::DeviceClaim,
    dialect: Dialect,
    holds: Option<Vec<Held>>,
) -> Result<Claim, Wrong> {
    let requests = devices.requests.iter().flatten().enumerate();
    let constraints = devices.constraints.iter().flatten().enumerate();
    let config = devices.config.iter().flatten().enumerate();
    Ok(Claim {
        key,
        requests: requests
            .map(|(i, r)| request(&format!("spec.devices.requests[{i}]"), r, dialect))
            .collect::<Result<_, Wrong>>()?,
        constraints: constraints
            .map(|(i, c)| constraint(&format!("spec.devices.constraints[{i}]"), c))
            .collect::<Result<_, Wrong>>()?,
        config: config
            .map(|(i, c)| {
                Ok((
                    names(&c.requests),
                    opaque(&format!("spec.devices.config[{i}]"), c.opaque.as_ref())?,
                ))
            })
            .collect::<Result<_, Wrong>>()?,
        holds,
    })
}

fn held(index: usize, from: &api::DeviceRequestAllocationResult) -> Result<Held, Wrong> {
    let field = format!("status.allocation.devices.results[{index}].consumedCapacity");
    Ok(Held {
        request: name(&from.request),
        device: DeviceId::new(&from.driver, &from.pool, &from.device),
        admin: from.admin_access.unwrap_or(false),
        share: from.share_id.as_deref().map(name),
        consumed: quantities(&field, from.consumed_capacity.as_ref())?,
    })
}

fn request(field: &str, from: &api::DeviceRequest, dialect: Dialect) -> Result<Request, Wrong> {
    let wanted = match (&from.exactly, &from.first_available) {
        (Some(exactly), None) => {
            let parts = Parts {
                class: &exactly.device_class_name,
                selectors: exactly.selectors.as_ref(),
                mode: exactly.allocation_mode.as_deref(),
                count: exactly.count,
                tolerations: exactly.tolerations.as_ref(),
                capacity: exactly
                    .capacity
                    .as_ref()
                    .and_then(|capacity| capacity.requests.as_ref()),
                derived: exactly.derived_attributes.as_ref(),
            };
            let admin = exactly.admin_access.unwrap_or(false);
            Wanted::Exactly(Box::new(ask(
                &format!("{field}.exactly"),
                &from.name,
                parts,
                admin,
                dialect,
            )?))
        }
        (None, Some(list)) => {
            let asks = list.iter().enumerate().map(|(i, sub)| {
                let parts = Parts {
                    class: &sub.device_class_name,
                    selectors: sub.selectors.as_ref(),
                    mode: sub.allocation_mode.as_deref(),
                    count: sub.count,
                    tolerations: sub.tolerations.as_ref(),
                    capacity: sub
                        .capacity
                        .as_ref()
                        .and_then(|capacity| capacity.requests.as_ref()),
                    derived: sub.derived_attributes.as_ref(),
                };
                ask(
                    &format!("{field}.firstAvailable[{i}]"),
                    &sub.name,
                    parts,
                    false,
                    dialect,
                )
            });
            Wanted::FirstAvailable(asks.collect::<Result<_, Wrong>>()?)
        }
        _ => {
            return Err((
                field.to_owned(),
                "exactly one of `exactly` and `firstAvailable` is required".to_owned(),
            ));
        }
    };
    Ok(Request {
        name: name(&from.name),
        wanted,
    })
}

/// What `exactly` and `firstAvailable[]` have in common.
struct Parts<'a> {
    class: &'a str,
    selectors: Option<&'a Vec<api::DeviceSelector>>,
    mode: Option<&'a str>,
    count: Option<i64>,
    tolerations: Option<&'a Vec<api::DeviceToleration>>,
    capacity: Option<&'a BTreeMap<String, ApiQuantity>>,
    derived: Option<&'a Vec<api::DeviceDerivedAttribute>>,
}

fn ask(
    field: &str,
    ask_name: &str,
    parts: Parts<'_>,
    admin: bool,
    dialect: Dialect,
) -> Result<Ask, Wrong> {
    let mode = match parts.mode {
        None | Some("" | "ExactCount") => {
            // The API server writes the default of one.
            let count = parts.count.filter(|count| *count != 0).unwrap_or(1);
            let count = u64::try_from(count);
            Mode::Exact(
                count
                    .map_err(|_| (format!("{field}.count"), "it must be at least 1".to_owned()))?,
            )
        }
        Some("All") => Mode::All,
        Some(other) => {
            return Err((
                format!("{field}.allocationMode"),
                format!("{other:?} is neither ExactCount nor All"),
            ));
        }
    };
    let tolerations = parts.tolerations.into_iter().flatten().enumerate();
    let derived = parts.derived.into_iter().flatten().map(|derived| Derived {
        name: Name::from(derived.name.as_str()),
        expression: Expression::compile(&derived.expression, dialect).map(Arc::new),
    });
    Ok(Ask {
        name: name(ask_name),
        class: name(parts.class),
        selectors: selectors(&format!("{field}.selectors"), parts.selectors, dialect)?,
        mode,
        admin,
        tolerations: tolerations
            .map(|(i, t)| toleration(&format!("{field}.tolerations[{i}]"), t))
            .collect::<Result<_, Wrong>>()?,
        capacity: quantities(&format!("{field}.capacity.requests"), parts.capacity)?,
        derived: derived.collect(),
    })
}

fn constraint(field: &str, from: &api::DeviceConstraint) -> Result<Constraint, Wrong> {
    let must = match (&from.match_attribute, &from.distinct_attribute) {
        // The API's document wants one of the two; its server takes both, and the first counts.
        (Some(attribute), _) => Must::Match(name(attribute)),
        (None, Some(attribute)) => Must::Differ(name(attribute)),
        (None, None) => {
            let why = "exactly one of `matchAttribute` and `distinctAttribute` is required";
            return Err((field.to_owned(), why.to_owned()));
        }
    };
    Ok(Constraint {
        requests: names(&from.requests),
        must,
    })
}
