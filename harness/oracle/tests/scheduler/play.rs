//! Plays cases on a control plane, many at a time, and tells what came of each.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use http::Method;
use serde_json::{Value, json};

use crate::cast::{self, Cast};
use crate::extended;
use crate::form;
use crate::plane::Plane;
use crate::said::Said;
use crate::store::{self, No};

/// How long one round of pods may take; generous, since machines are slow and shared.
const LIMIT: Duration = Duration::from_secs(120);
/// Requests at one time.
const AT_ONCE: usize = 8;

/// What the cluster said to a case.
#[derive(Clone, Debug)]
pub(crate) enum Played {
    /// An object is not taken. With its kind, itself, and why.
    Invalid(Vec<(&'static str, Value, No)>),
    /// Everything is taken.
    Rounds(Box<Stored>, Vec<Round>),
}

/// A case's objects as the API server stores them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stored {
    pub(crate) nodes: Vec<Value>,
    pub(crate) classes: Vec<Value>,
    pub(crate) slices: Vec<Value>,
    pub(crate) held: Vec<Value>,
    /// Claims by name, not allocated.
    pub(crate) claims: BTreeMap<String, Value>,
}

/// What came of one pod.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    pub(crate) said: Said,
    /// The node, once it is known.
    pub(crate) node: Option<String>,
    /// The pod's claims afterwards.
    pub(crate) claims: Vec<Value>,
    /// It has its devices and is not bound, for they have conditions that nobody fulfils.
    pub(crate) waits: bool,
}

/// Plays a batch. `at` is its number.
pub(crate) async fn play(plane: &Plane, at: usize, batch: &[Cast]) -> Result<Vec<Played>, String> {
    let written: Vec<Result<Written, String>> = futures::stream::iter(batch)
        .map(|cast| write(plane, cast))
        .buffered(AT_ONCE)
        .collect()
        .await;
    let mut played = Vec::new();
    for written in written {
        played.push(match written? {
            Written { refused, stored } if refused.is_empty() => {
                Played::Rounds(Box::new(stored), vec![])
            }
            Written { refused, .. } => Played::Invalid(refused),
        });
    }
    everything_is_seen(plane, at).await?;
    let most = batch.iter().map(|cast| cast.pods.len()).max().unwrap_or(0);
    for round in 0..most {
        let mut waiting = Vec::new();
        for (index, cast) in batch.iter().enumerate() {
            if round < cast.pods.len() && matches!(played[index], Played::Rounds(..)) {
                store::must_create(plane.client(), "Pod", &cast.pod(round)).await?;
                waiting.push(index);
            }
        }
        let deadline = Instant::now() + LIMIT;
        while !waiting.is_empty() {
            let mut still = Vec::new();
            for index in waiting {
                let (found, seen) = look(plane, &batch[index], round).await?;
                match found {
                    Some(found) => {
                        if !matches!(found.said, Said::Allocated(_)) {
                            remove_pod(plane, &batch[index].tag, round).await?;
                        }
                        if let Played::Rounds(_, rounds) = &mut played[index] {
                            rounds.push(found);
                        }
                    }
                    None if Instant::now() > deadline => {
                        plane.check().await?;
                        return Err(format!(
                            "seed {}: pod p{round} was not settled within {} s; last seen: {seen}",
                            batch[index].seed,
                            LIMIT.as_secs()
                        ));
                    }
                    None => still.push(index),
                }
            }
            waiting = still;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    clean(plane, batch).await?;
    Ok(played)
}

struct Written {
    stored: Stored,
    refused: Vec<(&'static str, Value, No)>,
}

async fn write(plane: &Plane, cast: &Cast) -> Result<Written, String> {
    let client = plane.client();
    let namespace = json!({"metadata": {"name": cast.tag, "labels": {"resource.kubernetes.io/admin-access": "true"}}});
    store::must_create(client, "Namespace", &namespace).await?;
    let account = json!({"metadata": {"name": "default", "namespace": cast.tag}});
    store::must_create(client, "ServiceAccount", &account).await?;
    let mut written = Written {
        stored: Stored::default(),
        refused: vec![],
    };
    for node in &cast.nodes {
        let node = store::must_create(client, "Node", &cast::registered(node)).await?;
        written.stored.nodes.push(node);
    }
    for class in &cast.classes {
        written
            .one(plane, "DeviceClass", class, |stored| &mut stored.classes)
            .await?;
    }
    for slice in &cast.slices {
        written
            .one(plane, "ResourceSlice", slice, |stored| &mut stored.slices)
            .await?;
    }
    for claim in &cast.held {
        written.held(plane, claim).await?;
    }
    for claim in cast.pods.iter().flatten() {
        match store::create(client, "ResourceClaim", claim).await? {
            Ok(stored) => {
                let name = name_of(&stored);
                written.stored.claims.insert(name, stored);
            }
            Err(no) => written.refused.push(("ResourceClaim", claim.clone(), no)),
        }
    }
    Ok(written)
}

impl Written {
    async fn one(
        &mut self,
        plane: &Plane,
        kind: &'static str,
        object: &Value,
        list: impl Fn(&mut Stored) -> &mut Vec<Value>,
    ) -> Result<(), String> {
        match store::create(plane.client(), kind, object).await? {
            Ok(stored) => list(&mut self.stored).push(stored),
            Err(no) => self.refused.push((kind, object.clone(), no)),
        }
        Ok(())
    }

    /// A claim is created, and then it is said what it holds, as the scheduler does it.
    async fn held(&mut self, plane: &Plane, claim: &Value) -> Result<(), String> {
        let client = plane.client();
        let mut stored = store::must_create(client, "ResourceClaim", claim).await?;
        stored["status"] = claim["status"].clone();
        let namespace = claim["metadata"]["namespace"].as_str().unwrap_or_default();
        let collection = store::collection("ResourceClaim", namespace);
        let path = format!("{collection}/{}/status", name_of(&stored));
        match store::ask(client, Method::PUT, &path, Some(&stored)).await? {
            Ok(stored) => self.stored.held.push(stored),
            Err(no) => self.refused.push(("ResourceClaim", claim.clone(), no)),
        }
        Ok(())
    }
}

fn name_of(object: &Value) -> String {
    object["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Waits until the scheduler has seen all that was written so far: what is written last is one thing of every kind, and a pod
/// that can only be placed with all of them.
async fn everything_is_seen(plane: &Plane, at: usize) -> Result<(), String> {
    let client = plane.client();
    let name = format!("seen-{at}");
    let meta = json!({"name": name});
    let inside = json!({"name": name, "namespace": name});
    store::must_create(client, "Namespace", &json!({"metadata": meta})).await?;
    let account = json!({"metadata": {"name": "default", "namespace": name}});
    store::must_create(client, "ServiceAccount", &account).await?;
    store::must_create(
        client,
        "Node",
        &cast::registered(&json!({"metadata": meta})),
    )
    .await?;
    let mine = format!("device.driver == \"{name}\"");
    let class = json!({"metadata": meta, "spec": {"selectors": [{"cel": {"expression": mine}}]}});
    store::must_create(client, "DeviceClass", &class).await?;
    let slice = json!({"metadata": meta, "spec": {
        "driver": name, "nodeName": name, "devices": [{"name": "d"}],
        "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
    }});
    store::must_create(client, "ResourceSlice", &slice).await?;
    let request = json!({"name": "r", "exactly": {"deviceClassName": name}});
    let claim = json!({"metadata": inside, "spec": {"devices": {"requests": [request]}}});
    store::must_create(client, "ResourceClaim", &claim).await?;
    let uses = json!({"name": name, "resourceClaimName": name});
    let pod = cast::pod(&name, &name, std::slice::from_ref(&name), vec![uses]);
    store::must_create(client, "Pod", &pod).await?;
    let path = format!("{}/{name}", store::collection("Pod", &name));
    let deadline = Instant::now() + LIMIT;
    loop {
        let pod = store::ask(client, Method::GET, &path, None)
            .await?
            .map_err(|no| no.to_string())?;
        if pod["spec"]["nodeName"].is_string() {
            break;
        }
        if Instant::now() > deadline {
            plane.check().await?;
            return Err(format!(
                "the pod {name} that shows what the scheduler has seen: {}",
                pod["status"]
            ));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for (kind, namespace) in [
        ("Pod", name.as_str()),
        ("ResourceSlice", ""),
        ("DeviceClass", ""),
        ("Node", ""),
    ] {
        remove(plane, kind, namespace, &name).await?;
    }
    Ok(())
}

/// What came of a pod, if anything did; else what it looks like.
async fn look(plane: &Plane, cast: &Cast, round: usize) -> Result<(Option<Round>, String), String> {
    let client = plane.client();
    let get = async |kind: &str, name: &str| {
        let path = format!("{}/{name}", store::collection(kind, &cast.tag));
        store::ask(client, Method::GET, &path, None)
            .await?
            .map_err(|no| format!("{path}: {no}"))
    };
    let pod = get("Pod", &format!("p{round}")).await?;
    let mut claims = Vec::new();
    for claim in &cast.pods[round] {
        claims.push(get("ResourceClaim", &name_of(claim)).await?);
    }
    let status = &pod["status"]["extendedResourceClaimStatus"];
    if let Some(name) = status["resourceClaimName"].as_str() {
        claims.push(get("ResourceClaim", name).await?);
    }
    let node = pod["spec"]["nodeName"].as_str().map(ToOwned::to_owned);
    let results = |claim: &Value| {
        let results = claim["status"]["allocation"]["devices"]["results"].as_array();
        results.cloned().unwrap_or_default()
    };
    let mut given = claims.iter().flat_map(results);
    // A pod whose devices have conditions stays unbound until somebody says that they hold.
    let waits = given.any(|result| result["bindingConditions"].is_array());
    let allocated = claims
        .iter()
        .all(|claim| claim["status"]["allocation"].is_object());
    let said = if allocated && (node.is_some() || waits) {
        let mut allocations: Vec<Value> = claims
            .iter()
            .map(|claim| form::of_api(&claim["status"]["allocation"]))
            .collect();
        if let (Some(claim), true) = (claims.last(), status.is_object()) {
            allocations.push(extended::made(claim, &status["requestMappings"]));
        }
        Some(Said::Allocated(json!(allocations)))
    } else {
        refusal(&pod)
    };
    let seen = format!("{} {claims:?}", pod["status"]);
    let waits = waits && node.is_none();
    Ok((
        said.map(|said| Round {
            said,
            node,
            claims,
            waits,
        }),
        seen,
    ))
}

/// The scheduler's word, where it is about the claims. What it says when a write met another write is not.
fn refusal(pod: &Value) -> Option<Said> {
    let conditions = pod["status"]["conditions"].as_array()?;
    let condition = conditions
        .iter()
        .find(|condition| condition["type"] == "PodScheduled")?;
    let text = condition["message"].as_str().unwrap_or_default().to_owned();
    if condition["status"] != "False" || text.contains("the object has been modified") {
        return None;
    }
    match condition["reason"].as_str() {
        Some("Unschedulable") => Some(Said::No(text)),
        Some("SchedulerError") if text.contains("deadline exceeded") => Some(Said::TooLong),
        Some("SchedulerError") => Some(Said::Error(text)),
        _ => None,
    }
}

async fn remove(plane: &Plane, kind: &str, namespace: &str, name: &str) -> Result<(), String> {
    let path = format!(
        "{}/{name}?gracePeriodSeconds=0",
        store::collection(kind, namespace)
    );
    match store::ask(plane.client(), Method::DELETE, &path, None).await? {
        Ok(_) => Ok(()),
        Err(no) if no.code == 404 => Ok(()),
        Err(no) => Err(format!("delete {path}: {no}")),
    }
}

/// A pod that waits in the queue would be tried again; it must be gone before the next one comes.
async fn remove_pod(plane: &Plane, namespace: &str, round: usize) -> Result<(), String> {
    remove(plane, "Pod", namespace, &format!("p{round}")).await
}

/// Takes away what the scheduler would look at or try again. Claims and namespaces stay; nobody would end them.
async fn clean(plane: &Plane, batch: &[Cast]) -> Result<(), String> {
    let all: Vec<Result<(), String>> = futures::stream::iter(batch)
        .map(|cast| async move {
            for round in 0..cast.pods.len() {
                remove_pod(plane, &cast.tag, round).await?;
            }
            for (kind, objects) in [
                ("ResourceSlice", &cast.slices),
                ("DeviceClass", &cast.classes),
                ("Node", &cast.nodes),
            ] {
                for object in objects {
                    remove(plane, kind, "", &name_of(object)).await?;
                }
            }
            Ok(())
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    all.into_iter().collect()
}
