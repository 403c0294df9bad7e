//! Both sides asked, and what counts as the same. Pool order is specified since 1.36 but for `stable`; elsewhere any will do.

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::resource::v1 as api;
use oracle::objects::{Claim, Listed, Pod};
use oracle::{Answer, How, Quirks, Setup, World};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::form;
use crate::generate::Case;
use crate::said::Said;

const HOW: How = How {
    steps: 300_000,
    explain: false,
};

/// Every answer that the oracle holds right; an error if the case cannot be read.
pub(crate) fn oracle(case: &Case) -> Result<Vec<Said>, String> {
    oracle_with(case, Quirks::none())
}

/// Every answer with quirks of the real allocator.
pub(crate) fn oracle_with(case: &Case, quirks: Quirks) -> Result<Vec<Said>, String> {
    let wanted: Vec<api::ResourceClaim> = objects(&case.objects["wanted"])?;
    let named = case.objects["node"]["metadata"]["name"].is_string();
    let asks = wanted.iter().all(|claim| {
        claim
            .spec
            .as_ref()
            .is_some_and(|spec| spec.devices.as_ref().is_some_and(asks))
    });
    let pod: Option<core::Pod> = match &case.objects["pod"] {
        Value::Null => None,
        pod => serde_json::from_value(pod.clone()).map_err(|error| error.to_string())?,
    };
    if !named || (wanted.is_empty() && pod.is_none()) || !asks {
        return Err("the case asks for nothing".to_owned());
    }
    let listed = Listed {
        slices: objects(&case.objects["slices"])?,
        classes: objects(&case.objects["classes"])?,
        claims: objects(&case.objects["claims"])?,
        nodes: objects(&json!([case.objects["node"]]))?,
        rules: vec![],
    };
    let (setup, mistakes) = Setup::read(&listed, &case.gates);
    if let Some(mistake) = mistakes.first() {
        return Err(mistake.to_string());
    }
    let dialect = World::dialect(&case.gates);
    let wanted: Vec<Claim> = wanted
        .iter()
        .map(|claim| Claim::read(claim, dialect))
        .collect::<Result<_, _>>()
        .map_err(|mistake| mistake.to_string())?;
    let mut wanted: Vec<&Claim> = wanted.iter().collect();
    let world = World::new(setup, case.gates.clone(), Some(case.variant)).with_quirks(quirks);
    let node = world.nodes().first().ok_or("the case has no node")?;
    let extended = match pod.as_ref().map(Pod::read).transpose() {
        Err(mistake) => return Err(mistake.to_string()),
        Ok(pod) => pod.map_or(Ok(None), |pod| world.extended(&pod, node)),
    };
    let extended = match extended {
        Err(refused) => return Ok(vec![Said::No(refused.to_string())]),
        Ok(extended) => extended,
    };
    wanted.extend(extended.iter().map(|extended| &extended.claim));
    let verdicts = oracle::allocate_in_any_order(&world, &wanted, node, HOW);
    Ok(verdicts
        .iter()
        .map(|verdict| match (said(&verdict.answer), &extended) {
            (Said::Allocated(Value::Array(mut allocations)), Some(extended)) => {
                allocations.push(form::of_oracle_extended(extended));
                Said::Allocated(json!(allocations))
            }
            (said, _) => said,
        })
        .collect())
}

fn asks(devices: &api::DeviceClaim) -> bool {
    devices
        .requests
        .as_ref()
        .is_some_and(|requests| !requests.is_empty())
}

fn objects<T: DeserializeOwned>(list: &Value) -> Result<Vec<T>, String> {
    match list {
        Value::Null => Ok(vec![]),
        list => serde_json::from_value(list.clone()).map_err(|error| error.to_string()),
    }
}

fn said(answer: &Answer) -> Said {
    match answer {
        Answer::Allocated(allocations) => Said::Allocated(json!(
            allocations.iter().map(form::of_oracle).collect::<Vec<_>>()
        )),
        Answer::Refused(refused) => Said::No(refused.to_string()),
        Answer::Failed(failure) => Said::Error(failure.to_string()),
        Answer::GaveUp { .. } => Said::TooLong,
    }
}

/// Whether one of the answers is the allocator's.
pub(crate) fn any_agrees(right: &[Said], real: &Said) -> bool {
    right.iter().any(|right| agree(right, real))
}

/// Texts are not compared, nor is what either side gave up on.
fn agree(right: &Said, real: &Said) -> bool {
    match (right, real) {
        (Said::Allocated(right), Said::Allocated(real)) => right == real,
        (Said::No(_), Said::No(_)) | (Said::Error(_), Said::Error(_)) => true,
        (Said::TooLong, _) | (_, Said::TooLong) => true,
        _ => false,
    }
}
