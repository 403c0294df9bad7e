//! Which claims are asked for: one by its name, or those of a pod in the order in which the scheduler takes them.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::resource::v1::ResourceClaim;
use oracle::objects::{ClaimKey, Listed};

use crate::Error;

/// Claims that are asked for together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// In order.
    pub(crate) claims: Vec<ClaimKey>,
    /// The pod, where a pod was asked for.
    pub(crate) pod: Option<String>,
    /// What a reader should know of it.
    pub(crate) notes: Vec<String>,
    /// The node of the pod that uses the claim, if it is bound.
    pub(crate) node: Option<String>,
    /// The pod, where a claim for its extended resources may still have to be made.
    pub(crate) extended: Option<oracle::objects::Pod>,
}

/// Finds `CLAIM` or `pod/NAME`.
pub(crate) fn find(
    wanted: &str,
    namespace: &str,
    server: &str,
    listed: &Listed,
    pods: &[Pod],
) -> Result<Asked, Error> {
    let pod = ["pod/", "pods/", "po/"]
        .iter()
        .find_map(|prefix| wanted.strip_prefix(prefix));
    if let Some(pod) = pod {
        return of_pod(pod, namespace, server, listed, pods);
    }
    let name = ["resourceclaim/", "resourceclaims/"]
        .iter()
        .find_map(|prefix| wanted.strip_prefix(prefix))
        .unwrap_or(wanted);
    let here: Vec<&str> = names(listed, namespace);
    if !here.contains(&name) {
        return Err(Error::NoSuch {
            what: format!("ResourceClaim {name}"),
            namespace: namespace.to_owned(),
            server: server.to_owned(),
            mend: match pods
                .iter()
                .any(|pod| pod.metadata.name.as_deref() == Some(name))
            {
                true => format!("it is a pod: write pod/{name}"),
                false => mend(&here, listed, name),
            },
        });
    }
    let users: Vec<&Pod> = pods
        .iter()
        .filter(|pod| {
            claims_of(pod)
                .iter()
                .any(|claim| claim.as_deref() == Ok(name))
        })
        .collect();
    let mut notes = Vec::new();
    for pod in &users {
        let claims = claims_of(pod).len();
        if claims > 1 {
            let pod = pod.metadata.name.as_deref().unwrap_or_default();
            notes.push(format!(
                "pod {pod} has {claims} claims, which the scheduler allocates together; `explain pod/{pod}` asks so"
            ));
        }
    }
    Ok(Asked {
        claims: vec![key(namespace, name)],
        pod: None,
        notes,
        node: users.iter().find_map(|pod| node_of(pod)),
        extended: None,
    })
}

fn of_pod(
    name: &str,
    namespace: &str,
    server: &str,
    listed: &Listed,
    pods: &[Pod],
) -> Result<Asked, Error> {
    let Some(pod) = pods
        .iter()
        .find(|pod| pod.metadata.name.as_deref() == Some(name))
    else {
        return Err(Error::NoSuch {
            what: format!("Pod {name}"),
            namespace: namespace.to_owned(),
            server: server.to_owned(),
            mend: "`kubectl get pods -A` shows them; -n names another namespace".to_owned(),
        });
    };
    let lacks = |why: String| Error::NoClaims {
        pod: name.to_owned(),
        namespace: namespace.to_owned(),
        why,
    };
    let mut claims = Vec::new();
    let here = names(listed, namespace);
    for claim in claims_of(pod) {
        let claim = claim.map_err(|entry| {
            lacks(format!(
                "has no claim yet for its entry {entry}: it is made from a ResourceClaimTemplate; `kubectl describe pod {name}` says why it is not"
            ))
        })?;
        if !here.contains(&claim.as_str()) {
            return Err(lacks(format!(
                "names ResourceClaim {claim}, which is not there; create it, or ask again in a moment"
            )));
        }
        claims.push(key(namespace, &claim));
    }
    let extended = extended(pod)?;
    if claims.is_empty() && extended.is_none() {
        return Err(lacks(
            "has no claims; name one that has spec.resourceClaims or asks for an extended resource of a DeviceClass"
                .to_owned(),
        ));
    }
    Ok(Asked {
        claims,
        pod: Some(name.to_owned()),
        notes: Vec::new(),
        node: node_of(pod),
        extended,
    })
}

/// The pod, if it waits for a node and asks for extended resources for which no claim is made yet.
fn extended(pod: &Pod) -> Result<Option<oracle::objects::Pod>, Error> {
    let status = pod.status.as_ref();
    let made = status.and_then(|status| status.extended_resource_claim_status.as_ref());
    if made.is_some() || node_of(pod).is_some() {
        return Ok(None);
    }
    let pod = oracle::objects::Pod::read(pod).map_err(Error::Unreadable)?;
    let asks = pod.resources().next().is_some();
    Ok(asks.then_some(pod))
}

/// The claims of a pod in the order in which the scheduler takes them, that of extended resources last; the name of the
/// entry where none is made yet.
fn claims_of(pod: &Pod) -> Vec<Result<String, String>> {
    let status = pod.status.as_ref();
    let made = |entry: &str| {
        let statuses = status.and_then(|status| status.resource_claim_statuses.as_ref());
        let of_entry = statuses
            .into_iter()
            .flatten()
            .find(|status| status.name == entry);
        of_entry.map(|status| status.resource_claim_name.clone())
    };
    let entries = pod
        .spec
        .iter()
        .flat_map(|spec| spec.resource_claims.iter().flatten());
    let mut claims = Vec::new();
    for entry in entries {
        match (entry.resource_claim_name.clone(), made(&entry.name)) {
            (Some(name), _) | (None, Some(Some(name))) => claims.push(Ok(name)),
            // Made, and found not to be needed.
            (None, Some(None)) => {}
            (None, None) => claims.push(Err(entry.name.clone())),
        }
    }
    let extended = status.and_then(|status| status.extended_resource_claim_status.as_ref());
    claims.extend(extended.map(|status| Ok(status.resource_claim_name.clone())));
    claims
}

fn node_of(pod: &Pod) -> Option<String> {
    let node = pod.spec.as_ref()?.node_name.clone()?;
    (!node.is_empty()).then_some(node)
}

fn key(namespace: &str, name: &str) -> ClaimKey {
    ClaimKey {
        namespace: namespace.into(),
        name: name.into(),
    }
}

fn name_of(claim: &ResourceClaim) -> &str {
    claim.metadata.name.as_deref().unwrap_or_default()
}

fn names<'l>(listed: &'l Listed, namespace: &str) -> Vec<&'l str> {
    let here = |claim: &&ResourceClaim| claim.metadata.namespace.as_deref() == Some(namespace);
    listed.claims.iter().filter(here).map(name_of).collect()
}

/// Where else it is, or what is here.
fn mend(here: &[&str], listed: &Listed, name: &str) -> String {
    let elsewhere = listed.claims.iter().find(|claim| name_of(claim) == name);
    if let Some(namespace) = elsewhere.and_then(|claim| claim.metadata.namespace.as_ref()) {
        return format!("there is one in namespace {namespace}: add -n {namespace}");
    }
    match here {
        [] => "there is no claim at all in it: -n names another namespace".to_owned(),
        here if here.len() <= 8 => format!("there are {}", here.join(", ")),
        here => format!(
            "there are {} and {} more (`kubectl get resourceclaims` shows them)",
            here[..8].join(", "),
            here.len() - 8
        ),
    }
}
