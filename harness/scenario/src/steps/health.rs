//! Errors of cards and what the driver says of them: Xid events and the taints of devices.

use std::time::Duration;

use k8s_openapi::api::resource::v1::{DeviceTaint, ResourceSlice};
use kube::api::{Api, ListParams};
use report::Failure;

use super::card::until_none;
use super::life::change;
use crate::agreement::DRIVER;
use crate::allocation::{Held, Named, named};
use crate::registry::{Args, Kind, Registry, StepResult};
use crate::testbed::NodeEvent;
use crate::wait::in_vain;
use crate::world::{World, api};

/// How long the driver may take from an event to its ResourceSlice.
const LAG: Duration = Duration::from_secs(20);

pub(super) fn register(steps: &mut Registry) {
    let limit = Duration::from_secs(60);
    steps
        .add(Kind::When, "Xid {count} happens on the device of pod {name}", |world, args| Box::pin(xid(world, args)))
        .doc("NVML tells whoever listens of an Xid on the device that the pod's claim holds: on the partition alone, or on the whole card.")
        .example("When Xid 79 happens on the device of pod \"pod-1\"");
    steps
        .add(
            Kind::When,
            "Xid {count} happens on each card of the node",
            |world, args| Box::pin(on_each(world, args)),
        )
        .doc("NVML tells of an Xid on each whole card of the node. Kubernetes is not asked.")
        .example("When Xid 79 happens on each card of the node");
    steps
        .add(
            Kind::When,
            "somebody on the node resets its cards with nvidia-smi",
            |world, args| Box::pin(reset(world, args)),
        )
        .doc("`nvidia-smi --gpu-reset` on every card of the node, on which nobody may work.")
        .example("When somebody on the node resets its cards with nvidia-smi");
    steps
        .add(Kind::Then, "each device of the node has the taint {text}", |world, args| Box::pin(all_tainted(world, args)))
        .doc("Every device that NVIDIA's driver publishes has exactly this taint, written key=value:effect.")
        .example("Then each device of the node has the taint \"gpu.nvidia.com/xid=79:NoSchedule\"")
        .timeout(limit);
    steps
        .add(Kind::Then, "the device of pod {name} has the taint {text}, and no other device has one", |world, args| Box::pin(tainted(world, args)))
        .doc("Of all devices that NVIDIA's driver publishes the one that the pod's claim holds has exactly this taint, written key=value:effect, and the others have none.")
        .example("Then the device of pod \"pod-1\" has the taint \"gpu.nvidia.com/xid=79:NoSchedule\", and no other device has one")
        .timeout(limit);
    steps
        .add(Kind::Then, "no device has a taint", |world, args| {
            Box::pin(untainted(world, args))
        })
        .doc("No device that NVIDIA's driver publishes has a taint.")
        .example("Then no device has a taint")
        .timeout(limit);
}

/// The one device that the pod's claims hold.
async fn device(world: &World, pod: &str) -> Result<Held, Failure> {
    let sight = world.look().await?;
    let of_pod = |it: &&Held| it.namespace == sight.namespace && it.pods.iter().any(|by| by == pod);
    let held: Vec<&Held> = sight.held.iter().filter(of_pod).collect();
    match held[..] {
        [one] => Ok(one.clone()),
        _ => {
            let paths: Vec<String> = held.iter().map(|it| it.path()).collect();
            Err(Failure::new(format!("{pod} does not hold one device"))
                .versus("one device", paths.join(", ")))
        }
    }
}

async fn xid(world: &mut World, args: &Args) -> StepResult {
    let pod = args.text("name");
    let held = device(world, pod).await?;
    let cards = world.cards().await?;
    let on_node = cards.iter().find(|node| node.node == held.pool);
    let found = named(&held.device).and_then(|name| {
        let minor = match name {
            Named::Whole { minor } | Named::Partition { minor, .. } => minor,
        };
        let card = on_node?.cards.iter().find(|card| card.minor == minor)?;
        let part = match name {
            Named::Whole { .. } => None,
            Named::Partition {
                profile_id, start, ..
            } => {
                let instance = card
                    .instances
                    .iter()
                    .find(|it| it.profile_id == profile_id && it.start == start)?;
                // The driver makes one compute instance that has all of the GPU instance: it is the first.
                Some((instance.id, 0))
            }
        };
        Some((card.index, part))
    });
    let Some((gpu, part)) = found else {
        return Err(Failure::new(format!("{} is on no card", held.path())));
    };
    let xid = u32::try_from(args.count()).unwrap_or(u32::MAX);
    change(world, &held.pool, NodeEvent::Xid { gpu, part, xid }).await
}

async fn on_each(world: &mut World, args: &Args) -> StepResult {
    let node = world.the_node()?.name.clone();
    let xid = u32::try_from(args.count()).unwrap_or(u32::MAX);
    let cards = world.cards().await?;
    let of_node = cards.iter().filter(|it| it.node == node);
    for card in of_node.flat_map(|it| &it.cards) {
        let gpu = card.index;
        change(
            world,
            &node,
            NodeEvent::Xid {
                gpu,
                part: None,
                xid,
            },
        )
        .await?;
    }
    Ok(())
}

async fn reset(world: &mut World, _: &Args) -> StepResult {
    let node = world.the_node()?.name.clone();
    let argv = ["nvidia-smi", "--gpu-reset"];
    world.on_node(&node, &argv).await.map(drop)
}

/// `key=value:effect`.
fn written(taint: &DeviceTaint) -> String {
    match &taint.value {
        Some(value) => format!("{}={value}:{}", taint.key, taint.effect),
        None => format!("{}:{}", taint.key, taint.effect),
    }
}

/// Pool, device and taint of each taint that is published.
async fn taints(world: &World) -> Result<Vec<(String, String, String)>, Failure> {
    let slices: Api<ResourceSlice> = Api::all(world.testbed().client());
    let list = slices
        .list(&ListParams::default())
        .await
        .map_err(|error| api("list the ResourceSlices", &error))?;
    let ours = list
        .items
        .iter()
        .filter(|slice| slice.spec.driver == DRIVER);
    let each = ours.flat_map(|slice| {
        slice.spec.devices.iter().flatten().flat_map(|device| {
            let taints = device.taints.iter().flatten();
            let pool = slice.spec.pool.name.clone();
            taints.map(move |taint| (pool.clone(), device.name.clone(), written(taint)))
        })
    });
    Ok(each.collect())
}

/// Waits until exactly these taints are published.
async fn published(world: &World, wanted: &[(String, String, String)]) -> StepResult {
    let result = until_none(world, LAG, "the driver's taints", async || {
        let seen = taints(world).await?;
        let shown = |(pool, device, taint): &(String, String, String)| {
            format!("{pool}/{device} has the taint {taint}")
        };
        let odd = seen.iter().filter(|it| !wanted.contains(it)).map(shown);
        let missing = wanted.iter().filter(|it| !seen.contains(it));
        Ok(odd
            .chain(missing.map(|it| format!("not yet: {}", shown(it))))
            .collect())
    })
    .await;
    result.map_err(|failure| {
        in_vain(failure, |seen| {
            let wanted: Vec<String> = wanted
                .iter()
                .map(|(pool, device, taint)| format!("{pool}/{device}: {taint}"))
                .collect();
            let wanted = if wanted.is_empty() {
                "none".to_owned()
            } else {
                wanted.join("\n")
            };
            Failure::new("the driver publishes other taints").versus(wanted, seen)
        })
    })
}

async fn tainted(world: &mut World, args: &Args) -> StepResult {
    let held = device(world, args.text("name")).await?;
    let taint = args.text("text").to_owned();
    published(world, &[(held.pool, held.device, taint)]).await
}

async fn all_tainted(world: &mut World, args: &Args) -> StepResult {
    let pools = world.published().await?;
    let ours = pools.iter().filter(|pool| pool.driver == DRIVER);
    let wanted = ours.flat_map(|pool| {
        let devices = pool.devices.iter().map(|device| device.name.clone());
        devices.map(|device| (pool.pool.clone(), device, args.text("text").to_owned()))
    });
    published(world, &wanted.collect::<Vec<_>>()).await
}

async fn untainted(world: &mut World, _: &Args) -> StepResult {
    published(world, &[]).await
}
