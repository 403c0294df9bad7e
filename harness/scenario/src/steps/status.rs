//! What stands in the status of claims and pods: the configuration that a driver gets, conditions of devices, and
//! whether a pod is bound.

use std::time::Duration;

use k8s_openapi::api::resource::v1::ResourceClaim;
use kube::api::{Api, Patch, PatchParams};
use report::Failure;
use serde_json::json;

use crate::registry::{Args, Kind, Registry, StepResult};
use crate::wait::{Probe, in_vain};
use crate::world::{World, api};

/// How long a claim has to be allocated, and a pod to be bound.
const UP: Duration = Duration::from_secs(45);

pub(super) fn register(steps: &mut Registry) {
    steps
        .add(Kind::Then, "claim {name} carries the configuration {text}", |world, args| Box::pin(configuration(world, args, true)))
        .doc("The configuration that the allocation of the ResourceClaim gives to the driver holds this text.")
        .example("Then claim \"shared\" carries the configuration \"MigDeviceConfig\"");
    steps
        .add(Kind::Then, "claim {name} does not carry the configuration {text}", |world, args| Box::pin(configuration(world, args, false)))
        .doc("The ResourceClaim is allocated, and the configuration that its allocation gives to the driver does not hold this text.")
        .example("Then claim \"shared\" does not carry the configuration \"GpuConfig\"");
    steps
        .add(Kind::When, "the devices of claim {name} are reported as {text}", |world, args| Box::pin(report(world, args)))
        .doc("A condition of this type is set to true for every device of the claim, as a controller of the driver would do.")
        .example("When the devices of claim \"remote\" are reported as \"example.com/attached\"")
        .timeout(Duration::from_secs(60));
    steps
        .add(Kind::Then, "claim {name} is allocated anew, without the report {text}", |world, args| Box::pin(anew(world, args)))
        .doc("The ResourceClaim is allocated, and no condition of this type stands on its devices: what was reported of an allocation goes with it.")
        .example("Then claim \"remote\" is allocated anew, without the report \"example.com/failed\"")
        .timeout(Duration::from_secs(60));
    steps
        .add(
            Kind::Then,
            "pod {name} is bound to no node for {duration}",
            |world, args| Box::pin(unbound(world, args)),
        )
        .doc("At every look during that time the pod is on no node.")
        .example("Then pod \"far\" is bound to no node for 3 seconds")
        .timeout(Duration::from_secs(3700));
    steps
        .add(Kind::Then, "pod {name} is bound to {text}", |world, args| Box::pin(bound(world, args)))
        .doc("The scheduler has bound the pod to this node. Says nothing of a pod that runs: where no driver stands behind hand-written ResourceSlices, none can.")
        .example("Then pod \"far\" is bound to \"node-1\"");
}

fn claims(world: &World) -> Api<ResourceClaim> {
    Api::namespaced(world.testbed().client(), world.namespace())
}

/// The claim once it is allocated.
async fn allocated(world: &World, name: &str) -> Result<ResourceClaim, Failure> {
    let claims = claims(world);
    world
        .until(UP, &format!("claim {name} is allocated"), async || {
            let claim = claims
                .get(name)
                .await
                .map_err(|error| api(&format!("get claim {name}"), &error))?;
            let status = claim.status.as_ref();
            Ok(match status.and_then(|status| status.allocation.as_ref()) {
                Some(_) => Probe::Ready(claim),
                None => Probe::NotYet("not allocated".to_owned()),
            })
        })
        .await
}

async fn configuration(world: &mut World, args: &Args, wanted: bool) -> StepResult {
    let (name, text) = (args.text("name"), args.text("text"));
    let claim = allocated(world, name).await?;
    let devices = claim
        .status
        .and_then(|status| status.allocation)
        .and_then(|allocation| allocation.devices);
    let config = devices
        .and_then(|devices| devices.config)
        .unwrap_or_default();
    let shown = serde_json::to_string_pretty(&config).unwrap_or_default();
    if shown.contains(text) == wanted {
        return Ok(());
    }
    let expected = if wanted {
        format!("… {text} …")
    } else {
        format!("nothing of {text}")
    };
    Err(Failure::new(format!("claim {name} carries another configuration")).versus(expected, shown))
}

async fn report(world: &mut World, args: &Args) -> StepResult {
    let (name, condition) = (args.text("name"), args.text("text"));
    let claim = allocated(world, name).await?;
    let devices = claim
        .status
        .and_then(|status| status.allocation)
        .and_then(|allocation| allocation.devices)
        .and_then(|devices| devices.results)
        .unwrap_or_default();
    let reported: Vec<serde_json::Value> = devices
        .iter()
        .map(|device| {
            json!({ "driver": device.driver, "pool": device.pool, "device": device.device, "shareID": device.share_id,
                "conditions": [{ "type": condition, "status": "True", "reason": "Scenario", "message": "as the scenario says",
                    "lastTransitionTime": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string() }] })
        })
        .collect();
    let patch = json!({ "status": { "devices": reported } });
    claims(world)
        .patch_status(name, &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .map(|_| ())
        .map_err(|error| api(&format!("report on the devices of claim {name}"), &error))
}

async fn anew(world: &mut World, args: &Args) -> StepResult {
    let (name, condition) = (args.text("name"), args.text("text"));
    let claims = claims(world);
    world
        .until(UP, &format!("claim {name} is allocated anew"), async || {
            let claim = claims
                .get(name)
                .await
                .map_err(|error| api(&format!("get claim {name}"), &error))?;
            let status = claim.status.unwrap_or_default();
            let devices = status.devices.unwrap_or_default();
            let mut reported = devices
                .iter()
                .flat_map(|device| device.conditions.iter().flatten());
            Ok(if reported.any(|it| it.type_ == condition) {
                Probe::NotYet(format!("{condition} is still reported"))
            } else if status.allocation.is_none() {
                Probe::NotYet("not allocated".to_owned())
            } else {
                Probe::Ready(())
            })
        })
        .await
}

async fn node_of(world: &World, name: &str) -> Result<Option<String>, Failure> {
    let pod = world
        .pods()
        .get(name)
        .await
        .map_err(|error| api(&format!("get {name}"), &error))?;
    Ok(pod.spec.and_then(|spec| spec.node_name))
}

async fn unbound(world: &mut World, args: &Args) -> StepResult {
    let (name, limit) = (args.text("name"), args.duration());
    let bound = world
        .until(limit, &format!("{name} is bound"), async || {
            Ok(match node_of(world, name).await? {
                Some(node) => Probe::Ready(node),
                None => Probe::NotYet("on no node".to_owned()),
            })
        })
        .await;
    match bound {
        Ok(node) => Err(Failure::new(format!("{name} is bound too early")).versus(
            format!("on no node for {} s", limit.as_secs()),
            format!("on {node}"),
        )),
        Err(failure) if failure.last_state.is_some() => Ok(()),
        Err(failure) => Err(failure),
    }
}

async fn bound(world: &mut World, args: &Args) -> StepResult {
    let (name, wanted) = (args.text("name"), args.text("text"));
    let bound = world
        .until(UP, &format!("{name} is bound"), async || {
            Ok(match node_of(world, name).await? {
                Some(node) => Probe::Ready(node),
                None => Probe::NotYet(world.look().await?.lines()),
            })
        })
        .await;
    let node = bound.map_err(|failure| {
        in_vain(failure, |seen| {
            Failure::new(format!("{name} is not bound")).versus(format!("on {wanted}"), seen)
        })
    })?;
    if node == wanted {
        return Ok(());
    }
    Err(Failure::new(format!("{name} is bound elsewhere")).versus(wanted, node))
}
