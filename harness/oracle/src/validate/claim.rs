//! What a claim, or a template of claims, asks for.

use k8s_openapi::api::resource::v1 as api;

use super::{Findings, class, device, names};
use crate::cel::{Dialect, Expression};
use crate::gates::Gates;
use crate::limits::{FIRST_AVAILABLE, REQUESTS_PER_CLAIM, SELECTORS};
use crate::world::World;

pub(super) fn check(findings: &mut Findings, devices: &api::DeviceClaim, gates: &Gates) {
    let dialect = World::dialect_of_new(gates);
    let requests = devices.requests.as_deref().unwrap_or_default();
    let constraints = devices.constraints.as_deref().unwrap_or_default();
    let config = devices.config.as_deref().unwrap_or_default();
    let place = "spec.devices.requests";
    if findings.fits(place, requests.len(), REQUESTS_PER_CLAIM) {
        for (at, asked) in requests.iter().enumerate() {
            request(
                findings,
                &format!("{place}[{at}]"),
                asked,
                constraints,
                dialect,
            );
        }
        let names: Vec<&String> = requests.iter().map(|request| &request.name).collect();
        findings.once(place, &names);
    }
    let place = "spec.devices.constraints";
    if findings.fits(place, constraints.len(), REQUESTS_PER_CLAIM) {
        for (at, wanted) in constraints.iter().enumerate() {
            constraint(findings, &format!("{place}[{at}]"), wanted, requests);
        }
    }
    let place = "spec.devices.config";
    if findings.fits(place, config.len(), REQUESTS_PER_CLAIM) {
        for (at, given) in config.iter().enumerate() {
            named(
                findings,
                &format!("{place}[{at}].requests"),
                given.requests.as_deref(),
                requests,
            );
            class::opaque(
                findings,
                &format!("{place}[{at}].opaque"),
                given.opaque.as_ref(),
            );
        }
    }
}

fn request(
    findings: &mut Findings,
    field: &str,
    request: &api::DeviceRequest,
    constraints: &[api::DeviceConstraint],
    dialect: Dialect,
) {
    names::label(findings, &format!("{field}.name"), &request.name);
    let subs = request.first_available.as_deref().unwrap_or_default();
    match (&request.exactly, subs.is_empty()) {
        (None, true) => findings.add(
            field,
            "exactly one of `exactly` and `firstAvailable` is wanted, and none is there",
        ),
        (Some(_), false) => findings.add(
            field,
            "exactly one of `exactly` and `firstAvailable` is wanted, and both are there",
        ),
        (Some(exactly), true) => {
            let parts = Parts {
                class: &exactly.device_class_name,
                selectors: exactly.selectors.as_deref(),
                mode: exactly.allocation_mode.as_deref(),
                count: exactly.count,
                tolerations: exactly.tolerations.as_deref(),
                derived: exactly.derived_attributes.as_deref(),
            };
            ask(
                findings,
                &format!("{field}.exactly"),
                &parts,
                &request.name,
                constraints,
                dialect,
            );
        }
        (None, false) => {
            let field = format!("{field}.firstAvailable");
            if !findings.fits(&field, subs.len(), FIRST_AVAILABLE) {
                return;
            }
            for (at, sub) in subs.iter().enumerate() {
                let field = format!("{field}[{at}]");
                names::label(findings, &format!("{field}.name"), &sub.name);
                let parts = Parts {
                    class: &sub.device_class_name,
                    selectors: sub.selectors.as_deref(),
                    mode: sub.allocation_mode.as_deref(),
                    count: sub.count,
                    tolerations: sub.tolerations.as_deref(),
                    derived: sub.derived_attributes.as_deref(),
                };
                let name = format!("{}/{}", request.name, sub.name);
                ask(findings, &field, &parts, &name, constraints, dialect);
            }
            let names: Vec<&String> = subs.iter().map(|sub| &sub.name).collect();
            findings.once(&field, &names);
        }
    }
}

/// What `exactly` and `firstAvailable[]` have in common.
struct Parts<'a> {
    class: &'a str,
    selectors: Option<&'a [api::DeviceSelector]>,
    mode: Option<&'a str>,
    count: Option<i64>,
    tolerations: Option<&'a [api::DeviceToleration]>,
    derived: Option<&'a [api::DeviceDerivedAttribute]>,
}

fn ask(
    findings: &mut Findings,
    field: &str,
    parts: &Parts<'_>,
    full_name: &str,
    constraints: &[api::DeviceConstraint],
    dialect: Dialect,
) {
    names::subdomain(findings, &format!("{field}.deviceClassName"), parts.class);
    class::selectors(
        findings,
        &format!("{field}.selectors"),
        parts.selectors,
        dialect,
    );
    // A count of 0 is one that is not written; it becomes 1.
    let count = parts.count.unwrap_or(0);
    match parts.mode {
        None | Some("" | "ExactCount") => {
            findings.unless(
                count >= 0,
                &format!("{field}.count"),
                format!("it is {count}; it must be above 0"),
            );
        }
        Some("All") => findings.unless(count == 0, &format!("{field}.count"), "All has no count"),
        Some(other) => findings.add(
            format!("{field}.allocationMode"),
            format!("{other:?} is neither ExactCount nor All"),
        ),
    }
    for (at, one) in parts.tolerations.into_iter().flatten().enumerate() {
        toleration(findings, &format!("{field}.tolerations[{at}]"), one);
    }
    let derived = parts.derived.unwrap_or_default();
    let field = format!("{field}.derivedAttributes");
    if !findings.fits(&field, derived.len(), SELECTORS) {
        return;
    }
    for (at, attribute) in derived.iter().enumerate() {
        let name = format!("{field}[{at}].name");
        names::fully_qualified(findings, &name, &attribute.name);
        findings.unless(
            constraints
                .iter()
                .any(|constraint| uses(constraint, &attribute.name, full_name)),
            &name,
            "no constraint of this request uses it",
        );
        if let Err(bad) = Expression::compile(&attribute.expression, dialect) {
            findings.add(format!("{field}[{at}].expression"), bad.to_string());
        }
    }
    let names: Vec<&String> = derived.iter().map(|attribute| &attribute.name).collect();
    findings.once(&field, &names);
}

fn uses(constraint: &api::DeviceConstraint, attribute: &str, full_name: &str) -> bool {
    let mut wanted = [&constraint.match_attribute, &constraint.distinct_attribute]
        .into_iter()
        .flatten();
    let requests = constraint.requests.as_deref().unwrap_or_default();
    let parent = full_name.split('/').next().unwrap_or_default();
    wanted.any(|name| name == attribute)
        && (requests.is_empty()
            || requests
                .iter()
                .any(|name| name == full_name || name == parent))
}

fn toleration(findings: &mut Findings, field: &str, toleration: &api::DeviceToleration) {
    let value = toleration.value.as_deref().unwrap_or_default();
    if let Some(key) = toleration.key.as_deref().filter(|key| !key.is_empty()) {
        names::key(findings, &format!("{field}.key"), key);
    }
    match toleration.operator.as_deref() {
        Some("Exists") => findings.unless(
            value.is_empty(),
            &format!("{field}.value"),
            "Exists has no value",
        ),
        None | Some("" | "Equal") => names::value(findings, &format!("{field}.value"), value),
        Some(other) => findings.add(
            format!("{field}.operator"),
            format!("{other:?} is neither Equal nor Exists"),
        ),
    }
    if let Some(effect) = toleration
        .effect
        .as_deref()
        .filter(|effect| !effect.is_empty())
    {
        device::effect(findings, &format!("{field}.effect"), effect);
    }
}

fn constraint(
    findings: &mut Findings,
    field: &str,
    constraint: &api::DeviceConstraint,
    requests: &[api::DeviceRequest],
) {
    named(
        findings,
        &format!("{field}.requests"),
        constraint.requests.as_deref(),
        requests,
    );
    match (&constraint.match_attribute, &constraint.distinct_attribute) {
        // Where both are there the API server looks at the first only.
        (Some(attribute), _) => {
            names::fully_qualified(findings, &format!("{field}.matchAttribute"), attribute)
        }
        (None, Some(attribute)) => {
            names::fully_qualified(findings, &format!("{field}.distinctAttribute"), attribute)
        }
        (None, None) => findings.add(
            field,
            "exactly one of matchAttribute and distinctAttribute is wanted",
        ),
    }
}

/// Names of requests, as `gpu` or `gpu/mig`, that a constraint or configuration is about.
fn named(
    findings: &mut Findings,
    field: &str,
    names: Option<&[String]>,
    requests: &[api::DeviceRequest],
) {
    let names = names.unwrap_or_default();
    if !findings.fits(field, names.len(), REQUESTS_PER_CLAIM) {
        return;
    }
    for (at, name) in names.iter().enumerate() {
        let known = requests.iter().any(|request| {
            let subs = request.first_available.iter().flatten();
            let mut full = subs.map(|sub| format!("{}/{}", request.name, sub.name));
            request.name == *name || full.any(|full| full == *name)
        });
        findings.unless(
            known,
            &format!("{field}[{at}]"),
            format!(
                "{name:?} is no request of the claim, nor a request and a subrequest with a slash"
            ),
        );
    }
    findings.once(field, names);
}
