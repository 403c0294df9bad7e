//! Claims that wait, and claims that hold devices for nobody.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::resource::v1::ResourceClaim;

use oracle::counted;

use crate::finding::{Check, Examined, Found, few};
use crate::pods;
use crate::seen::Seen;

pub(crate) fn examine(seen: &Seen) -> Examined {
    let mut found = Found::default();
    let claims = &seen.listed.claims;
    let classes: BTreeSet<&str> = seen
        .listed
        .classes
        .iter()
        .filter_map(|class| class.metadata.name.as_deref())
        .collect();
    let users = users(&seen.pods);
    let (mut allocated, mut waiting) = (0, 0);
    for claim in claims {
        let about = format!("ResourceClaim {}", name(claim));
        let missing: Vec<&str> = wanted(claim)
            .filter(|class| !classes.contains(class))
            .collect();
        let waiter = users
            .get(&(namespace(claim), bare(claim)))
            .and_then(|pods| pods.iter().find(|pod| pods::waits(pod)));
        let reserved: Vec<&str> = claim
            .status
            .iter()
            .flat_map(|status| &status.reserved_for)
            .flatten()
            .map(|user| user.name.as_str())
            .collect();
        let held = held(claim);
        if let Some(devices) = held {
            if reserved.is_empty() && devices > 0 {
                found.warning(
                    &about,
                    format!("it holds {} and no pod uses it", counted(devices, "device")),
                    format!(
                        "kubectl -n {} delete resourceclaim {}, unless a pod for it is about to come",
                        namespace(claim),
                        bare(claim)
                    ),
                );
            }
        } else if !missing.is_empty() {
            found.problem(
                &about,
                format!(
                    "it wants {}, and there is no such class",
                    few(missing.iter().map(|class| format!("DeviceClass {class}")))
                ),
                "apply the class, or mend deviceClassName in the claim or its template",
            );
        } else if let Some(pod) = waiter {
            found.warning(
                &about,
                format!(
                    "pod {} waits for it: {}",
                    pods::name(pod),
                    pods::scheduler_says(pod).unwrap_or("the scheduler has not said why")
                ),
                format!(
                    "sliceproof explain {} -n {} says why each device was not taken",
                    bare(claim),
                    namespace(claim)
                ),
            );
        }
        allocated += usize::from(held.is_some());
        waiting += usize::from(held.is_none() && waiter.is_some());
        if claim.metadata.deletion_timestamp.is_some() && !reserved.is_empty() {
            found.warning(
                &about,
                format!(
                    "it is being deleted and still reserved for {}",
                    few(reserved)
                ),
                "end those pods; the claim goes when nobody uses it",
            );
        }
    }
    // A claim of a template that was never made has no object to speak of.
    for pod in seen.pods.iter().flatten().filter(|pod| pods::waits(pod)) {
        let unmade = unmade(pod);
        if !unmade.is_empty() {
            found.problem(
                format!("pod {}", pods::name(pod)),
                format!("its {} not made yet", match unmade.as_slice() {
                    [one] => format!("claim {one} is"),
                    many => format!("claims {} are", few(many.iter().copied())),
                }),
                format!(
                    "kubectl describe pod {}: FailedResourceClaimCreation names the reason, most often a quota or a template that is not there",
                    pods::named(pod)
                ),
            );
        }
    }
    let free = claims.len() - allocated - waiting;
    Examined::new(
        Check::Claims,
        format!(
            "{}: {allocated} allocated, {waiting} waited for by a pod, {free} that nothing asks for yet",
            counted(claims.len(), "claim")
        ),
        found.0,
    )
}

fn namespace(claim: &ResourceClaim) -> &str {
    claim.metadata.namespace.as_deref().unwrap_or_default()
}

fn bare(claim: &ResourceClaim) -> &str {
    claim.metadata.name.as_deref().unwrap_or_default()
}

fn name(claim: &ResourceClaim) -> String {
    format!("{}/{}", namespace(claim), bare(claim))
}

/// The classes of its requests.
fn wanted(claim: &ResourceClaim) -> impl Iterator<Item = &str> {
    let devices = claim.spec.iter().flat_map(|spec| &spec.devices);
    let requests = devices.flat_map(|devices| &devices.requests).flatten();
    requests.flat_map(|request| {
        let exactly = request
            .exactly
            .iter()
            .map(|ask| ask.device_class_name.as_str());
        let choices = request.first_available.iter().flatten();
        exactly.chain(choices.map(|ask| ask.device_class_name.as_str()))
    })
}

/// How many devices it holds; none if it is not allocated.
fn held(claim: &ResourceClaim) -> Option<usize> {
    let allocation = claim.status.as_ref()?.allocation.as_ref()?;
    let results = allocation
        .devices
        .as_ref()
        .and_then(|devices| devices.results.as_ref());
    Some(results.map_or(0, Vec::len))
}

/// The living pods of each claim, by namespace and name.
fn users(pods: &Result<Vec<Pod>, String>) -> BTreeMap<(&str, &str), Vec<&Pod>> {
    let mut users: BTreeMap<(&str, &str), Vec<&Pod>> = BTreeMap::new();
    for pod in pods.iter().flatten().filter(|pod| pods::lives(pod)) {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let named = pod
            .spec
            .iter()
            .flat_map(|spec| &spec.resource_claims)
            .flatten()
            .filter_map(|claim| claim.resource_claim_name.as_deref());
        let made = pod
            .status
            .iter()
            .flat_map(|status| &status.resource_claim_statuses)
            .flatten()
            .filter_map(|claim| claim.resource_claim_name.as_deref());
        for claim in named.chain(made) {
            users.entry((namespace, claim)).or_default().push(pod);
        }
    }
    users
}

/// Claims of templates that the pod has and that no controller has made.
fn unmade(pod: &Pod) -> Vec<&str> {
    let made: BTreeSet<&str> = pod
        .status
        .iter()
        .flat_map(|status| &status.resource_claim_statuses)
        .flatten()
        .map(|claim| claim.name.as_str())
        .collect();
    pod.spec
        .iter()
        .flat_map(|spec| &spec.resource_claims)
        .flatten()
        .filter(|claim| claim.resource_claim_template_name.is_some())
        .map(|claim| claim.name.as_str())
        .filter(|claim| !made.contains(claim))
        .collect()
}
