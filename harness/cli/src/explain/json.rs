//! An account as JSON, nothing folded. The field `format` names its version.

use oracle::objects::Held;
use oracle::{Answer, DeviceId, Look, Mapping, Misallocation, Refusal, Verdict, Weight};
use serde_json::{Value, json};

use super::account::{Account, Agreement, Given};
use crate::live::GatesFrom;

/// The format and its version.
const FORMAT: &str = "sliceproof.explain/1";

/// Everything.
pub(crate) fn value(account: &Account) -> Value {
    let gates: Vec<&str> = account
        .server
        .gates
        .iter()
        .map(|gate| gate.name())
        .collect();
    json!({
        "format": FORMAT,
        "kubernetes": account.server.version,
        "allocator": account.variant,
        "orderOfPoolsIsSpecified": account.order_is_specified,
        "gates": gates,
        "gatesFrom": match &account.server.gates_from {
            GatesFrom::Metrics => "metrics",
            GatesFrom::Defaults { .. } => "defaults",
        },
        "pod": account.asked.pod,
        "extendedResources": account.mappings.iter().map(mapping).collect::<Vec<_>>(),
        "claims": account.claims.iter().map(|claim| claim.key.to_string()).collect::<Vec<_>>(),
        "notes": account.asked.notes,
        "unreadable": account.unreadable,
        "nodes": account.verdicts.iter().map(node).collect::<Vec<_>>(),
        "given": account.given.as_ref().map(given),
    })
}

/// As in a pod's `status.extendedResourceClaimStatus.requestMappings`.
fn mapping(mapping: &Mapping) -> Value {
    json!({
        "containerName": &*mapping.container,
        "resourceName": &*mapping.resource,
        "requestName": &*mapping.request,
    })
}

fn device(id: &DeviceId) -> Value {
    json!({ "driver": &*id.driver, "pool": &*id.pool, "device": &*id.device })
}

fn node(verdict: &Verdict) -> Value {
    let (answer, why) = match &verdict.answer {
        Answer::Allocated(_) => ("allocated", None),
        Answer::Refused(refused) => ("refused", Some(refused.to_string())),
        Answer::Failed(failure) => ("failed", Some(failure.to_string())),
        Answer::GaveUp { steps } => (
            "gaveUp",
            Some(format!("the search was given up after {steps} steps")),
        ),
    };
    let gives: Vec<Value> = match &verdict.answer {
        Answer::Allocated(allocations) => allocations
            .iter()
            .flat_map(|allocation| {
                allocation.devices.iter().map(|given| {
                    json!({
                        "claim": allocation.claim.to_string(),
                        "request": &*given.request,
                        "device": device(&given.device),
                        "share": given.share,
                    })
                })
            })
            .collect(),
        _ => Vec::new(),
    };
    let pools: Vec<Value> = verdict
        .pools
        .iter()
        .map(|pool| json!({ "driver": &*pool.driver, "pool": &*pool.pool, "flaw": pool.flaw.to_string() }))
        .collect();
    json!({
        "node": &*verdict.node,
        "answer": answer,
        "why": why,
        "gives": gives,
        "steps": verdict.steps,
        "looks": verdict.looks.iter().map(look).collect::<Vec<_>>(),
        "pools": pools,
    })
}

fn look(look: &Look) -> Value {
    json!({
        "claim": look.claim.to_string(),
        "request": &*look.request,
        "device": device(&look.device),
        "taken": look.refusal.is_none(),
        "refusal": look.refusal.as_ref().map(kind),
        "why": look.refusal.as_ref().map(ToString::to_string),
    })
}

fn kind(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::InUse { .. } => "inUse",
        Refusal::SharesInUse => "sharesInUse",
        Refusal::AlreadyPicked => "alreadyPicked",
        Refusal::Selector { .. } => "selector",
        Refusal::Capacity(_) => "capacity",
        Refusal::Counter(_) => "counter",
        Refusal::Group { .. } => "group",
        Refusal::Tainted(_) => "tainted",
        Refusal::Constraint { .. } => "constraint",
        Refusal::Gate { .. } => "gate",
        Refusal::Elsewhere => "elsewhere",
        Refusal::DeadEnd => "deadEnd",
    }
}

fn given(given: &Given) -> Value {
    let devices: Vec<Value> = given
        .devices
        .iter()
        .flat_map(|(claim, held)| {
            held.iter().map(move |it: &Held| {
                json!({
                    "claim": claim.to_string(),
                    "request": &*it.request,
                    "device": device(&it.device),
                    "share": it.share.as_deref(),
                    "adminAccess": it.admin,
                })
            })
        })
        .collect();
    let (agreement, quirks): (_, &[&str]) = match &given.agreement {
        None => ("unknown", &[]),
        Some(Agreement::Same) => ("same", &[]),
        Some(Agreement::Known(quirks)) => ("knownDeviation", quirks),
        Some(Agreement::Differs) => ("differs", &[]),
    };
    json!({
        "node": given.node,
        "devices": devices,
        "oracle": agreement,
        "deviations": quirks,
        "misallocation": given.misallocation.iter().map(misallocation).collect::<Vec<_>>(),
    })
}

fn misallocation(result: &Result<Misallocation, String>) -> Value {
    match result {
        Err(why) => json!({ "unknown": why }),
        Ok(it) => json!({
            "claim": it.claim.to_string(),
            "computeSlices": it.compute(),
            "memorySlices": it.memory(),
            "places": it.places.iter().map(|place| json!({
                "request": &*place.request,
                "given": device(&place.given),
                "givenWeight": weight(place.given_weight),
                "smallest": place.smallest.as_ref().map(device),
                "smallestWeight": weight(place.smallest_weight),
            })).collect::<Vec<_>>(),
        }),
    }
}

fn weight(weight: Weight) -> Value {
    json!({ "computeSlices": weight.compute, "memorySlices": weight.memory })
}
