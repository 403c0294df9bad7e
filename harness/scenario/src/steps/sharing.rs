//! Cards that software shares: what the driver sets on them for it, and whose work is on them together.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gpu_model::{ComputeMode, Timeslice};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::api::resource::v1::{DeviceRequestAllocationResult, ResourceClaim};
use kube::Resource;
use kube::api::{Api, ListParams};
use report::Failure;

use super::card::until_none;
use crate::registry::{Args, Kind, Registry, StepResult};
use crate::wait::in_vain;
use crate::world::{World, api};

/// The label that says whose a pod, a claim or a namespace is.
const TEAM: &str = "sliceproof.dev/team";

/// How long the driver may take.
const LAG: Duration = Duration::from_secs(20);

pub(super) fn register(steps: &mut Registry) {
    let limit = Duration::from_secs(60);
    steps
        .add(Kind::Then, "the time of the node's cards is cut {text}", |world, args| Box::pin(cut(world, args)))
        .doc("NVML says that every card of the node has this time slice (Default, Short, Medium or Long, as `nvidia-smi compute-policy` has them) and the compute mode Default.")
        .example("Then the time of the node's cards is cut \"Short\"")
        .timeout(limit);
    steps
        .add(Kind::Then, "no device that software shares is in the hands of two teams", |world, args| Box::pin(apart(world, args)))
        .doc("No device is used by pods of two teams: by shares of its capacity, or by a claim that several pods use (with time-slicing or MPS, or without); partitions of one card are devices of their own and may be. The team stands in the label sliceproof.dev/team of a pod, else of its claim, else of its namespace; without one a namespace is a team. Looks at all claims of the cluster.")
        .example("Then no device that software shares is in the hands of two teams");
    steps
        .add(Kind::Then, "software shares {devices} between the teams {names}", |world, args| Box::pin(between(world, args)))
        .doc("The same look at all claims finds this device, and only it, in the hands of these teams together: what the step above is there to find.")
        .example("Then software shares \"gpu-0\" between the teams \"red, blue\"");
}

async fn cut(world: &mut World, args: &Args) -> StepResult {
    let (node, wanted) = (world.the_node()?.name.clone(), args.text("text"));
    let known = (0..4).filter_map(Timeslice::from_raw).map(Timeslice::word);
    let known: Vec<&str> = known.collect();
    if !known.contains(&wanted) {
        return Err(
            Failure::new(format!("no time slice is called {wanted:?}")).help(known.join(", "))
        );
    }
    let result = until_none(world, LAG, "the time of the cards is cut", async || {
        let nodes = world.cards().await?;
        let cards = nodes.iter().filter(|it| it.node == node);
        let odd = cards.flat_map(|it| &it.cards).filter(|card| {
            card.timeslice.word() != wanted || card.compute_mode != ComputeMode::Default
        });
        let shown = odd.map(|card| {
            format!(
                "card {}: time slice {}, compute mode {:?}",
                card.index,
                card.timeslice.word(),
                card.compute_mode
            )
        });
        Ok(shown.collect())
    })
    .await;
    result.map_err(|failure| {
        in_vain(failure, |seen| {
            Failure::new("the cards are set otherwise")
                .versus(format!("time slice {wanted}, compute mode Default"), seen)
        })
    })
}

/// Teams by device, `driver/pool/device`. What hardware parts is a device of its own, so what two have is shared by software.
fn teams(
    claims: &[ResourceClaim],
    pods: &[Pod],
    namespaces: &[Namespace],
) -> BTreeMap<String, BTreeSet<String>> {
    let mut teams: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for claim in claims {
        let Some(status) = &claim.status else {
            continue;
        };
        let Some(devices) = status
            .allocation
            .as_ref()
            .and_then(|it| it.devices.as_ref())
        else {
            continue;
        };
        let home = claim.metadata.namespace.as_deref().unwrap_or_default();
        let namespace = namespaces
            .iter()
            .find(|it| it.metadata.name.as_deref() == Some(home));
        let of_claim = label(claim)
            .or_else(|| label(namespace?))
            .unwrap_or_else(|| home.to_owned());
        let users = status.reserved_for.as_deref().unwrap_or_default();
        let of_users: BTreeSet<String> = users
            .iter()
            .map(|user| {
                let uid = Some(user.uid.as_str());
                let pod = pods.iter().find(|it| it.metadata.uid.as_deref() == uid);
                pod.and_then(label).unwrap_or_else(|| of_claim.clone())
            })
            .collect();
        // Who looks on works on nothing.
        let works = |it: &&DeviceRequestAllocationResult| it.admin_access != Some(true);
        for result in devices.results.iter().flatten().filter(works) {
            let path = format!("{}/{}/{}", result.driver, result.pool, result.device);
            let by = teams.entry(path).or_default();
            by.extend(of_users.iter().cloned());
            if of_users.is_empty() {
                by.insert(of_claim.clone());
            }
        }
    }
    teams
}

fn label<K: Resource>(object: &K) -> Option<String> {
    object.meta().labels.as_ref()?.get(TEAM).cloned()
}

async fn shared(world: &World) -> Result<BTreeMap<String, BTreeSet<String>>, Failure> {
    let client = world.testbed().client();
    let all = ListParams::default();
    let (claims, pods, namespaces) = (
        Api::<ResourceClaim>::all(client.clone()),
        Api::<Pod>::all(client.clone()),
        Api::<Namespace>::all(client),
    );
    let listed = tokio::try_join!(claims.list(&all), pods.list(&all), namespaces.list(&all));
    let (claims, pods, namespaces) =
        listed.map_err(|error| api("list claims, pods and namespaces", &error))?;
    let mut teams = teams(&claims.items, &pods.items, &namespaces.items);
    teams.retain(|_, by| by.len() > 1);
    Ok(teams)
}

fn lines(teams: &BTreeMap<String, BTreeSet<String>>) -> String {
    let line = |(device, by): (&String, &BTreeSet<String>)| {
        let by: Vec<&str> = by.iter().map(String::as_str).collect();
        format!("{device}: {}", by.join(", "))
    };
    let lines: Vec<String> = teams.iter().map(line).collect();
    if lines.is_empty() {
        "none".to_owned()
    } else {
        lines.join("\n")
    }
}

async fn apart(world: &mut World, _: &Args) -> StepResult {
    let found = shared(world).await?;
    if found.is_empty() {
        return Ok(());
    }
    Err(
        Failure::new("teams share a device by software: one can stop the other")
            .versus("no device of two teams", lines(&found)),
    )
}

async fn between(world: &mut World, args: &Args) -> StepResult {
    let wanted: BTreeSet<String> = args.list("names").into_iter().map(str::to_owned).collect();
    let device = args.text("devices");
    let found = shared(world).await?;
    let is_it = |path: &str| path == device || path.ends_with(&format!("/{device}"));
    let mut all = found.iter();
    match (all.next(), all.next()) {
        (Some((path, by)), None) if is_it(path) && *by == wanted => Ok(()),
        _ => {
            let names = args.list("names").join(", ");
            Err(Failure::new("software shares devices otherwise")
                .versus(format!("{device}: {names}"), lines(&found)))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).expect("an object")
    }

    /// A claim of a device with users, as the scheduler leaves it.
    fn claim(namespace: &str, device: &str, extra: Value, users: &[&str]) -> ResourceClaim {
        let mut result = json!({"request": "gpu", "driver": "d", "pool": "n", "device": device});
        for (key, value) in extra.as_object().into_iter().flatten() {
            result[key] = value.clone();
        }
        let user = |uid: &&str| json!({"resource": "pods", "name": uid, "uid": uid});
        let users: Vec<Value> = users.iter().map(user).collect();
        read(json!({
            "metadata": {"namespace": namespace}, "spec": {},
            "status": {"reservedFor": users, "allocation": {"devices": {"results": [result]}}}
        }))
    }

    fn pod(name: &str, team: &str) -> Pod {
        read(json!({"metadata": {"name": name, "uid": name, "labels": {TEAM: team}}}))
    }

    #[test]
    fn shares_of_two_namespaces_are_of_two_teams_unless_a_label_says_otherwise() {
        let share = |namespace: &str| claim(namespace, "gpu-0", json!({"shareID": namespace}), &[]);
        let two = [share("red"), share("blue")];
        assert_eq!(lines(&teams(&two, &[], &[])), "d/n/gpu-0: blue, red");
        let namespace = |name: &str| -> Namespace {
            read(json!({"metadata": {"name": name, "labels": {TEAM: "purple"}}}))
        };
        let one_team = [namespace("red"), namespace("blue")];
        assert_eq!(lines(&teams(&two, &[], &one_team)), "d/n/gpu-0: purple");
    }

    #[test]
    fn a_claim_is_of_whoever_uses_it_and_partitions_are_apart() {
        let pods = [pod("p", "red"), pod("q", "blue")];
        let one = [claim("home", "gpu-0", json!({}), &["p", "q"])];
        assert_eq!(lines(&teams(&one, &pods, &[])), "d/n/gpu-0: blue, red");
        // Nobody says of which team the second is: the namespace is one.
        assert_eq!(lines(&teams(&one, &pods[..1], &[])), "d/n/gpu-0: home, red");
        let partitions = [
            claim("home", "gpu-0-mig-1g5gb-19-0", json!({}), &["p"]),
            claim("home", "gpu-0-mig-1g5gb-19-1", json!({}), &["q"]),
        ];
        assert!(
            teams(&partitions, &pods, &[])
                .values()
                .all(|by| by.len() == 1)
        );
    }

    #[test]
    fn who_looks_on_by_admin_access_shares_nothing() {
        let pods = [pod("p", "red"), pod("q", "blue")];
        let both = [
            claim("home", "gpu-0", json!({}), &["p"]),
            claim("home", "gpu-0", json!({"adminAccess": true}), &["q"]),
        ];
        assert_eq!(lines(&teams(&both, &pods, &[])), "d/n/gpu-0: red");
    }
}
