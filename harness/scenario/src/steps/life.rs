//! What befalls a node, its driver and its pods, and what must not be left of it.

use std::time::Duration;

use kube::api::DeleteParams;
use report::Failure;

use super::card::leftovers;
use crate::registry::{Args, Kind, Registry, StepResult};
use crate::testbed::NodeEvent;
use crate::wait::{Probe, in_vain};
use crate::world::{World, api};

/// How long the node may lag behind the API.
const LAG: Duration = Duration::from_secs(30);

pub(super) fn register(steps: &mut Registry) {
    let limit = Duration::from_secs(120);
    steps
        .add(Kind::When, "the driver on the node is killed", |world, args| Box::pin(befall(world, args, NodeEvent::DriverKilled)))
        .doc("The DRA driver is killed and stays dead until a step starts it again; its sockets stay behind.")
        .example("When the driver on the node is killed");
    steps
        .add(
            Kind::When,
            "the driver on the node starts again",
            |world, args| Box::pin(befall(world, args, NodeEvent::DriverRevived)),
        )
        .doc("The driver that was killed starts again, and the kubelet has registered it.")
        .example("When the driver on the node starts again")
        .timeout(limit);
    steps
        .add(Kind::When, "the driver on the node is restarted", |world, args| Box::pin(befall(world, args, NodeEvent::DriverRestarted)))
        .doc("The DRA driver ends as its pod would and starts again, and the kubelet has registered it.")
        .example("When the driver on the node is restarted")
        .timeout(limit);
    steps
        .add(
            Kind::When,
            "the kubelet on the node is restarted",
            |world, args| Box::pin(befall(world, args, NodeEvent::KubeletRestarted)),
        )
        .doc(
            "The kubelet ends and starts again while pods go on, and it has registered the driver.",
        )
        .example("When the kubelet on the node is restarted")
        .timeout(limit);
    steps
        .add(Kind::When, "pod {name} is deleted by force", |world, args| Box::pin(by_force(world, args)))
        .doc("The Pod object is deleted without grace: it is gone from the API before the node knows of it.")
        .example("When pod \"small\" is deleted by force");
    steps
        .add(Kind::Then, "nothing is left behind on the node", |world, args| Box::pin(nothing_left(world, args)))
        .doc("No claim holds a device, NVML has no GPU instance, the driver's checkpoint has no claim, and no CDI file of a claim is there.")
        .example("Then nothing is left behind on the node");
}

async fn befall(world: &mut World, _: &Args, event: NodeEvent) -> StepResult {
    let node = world.the_node()?.name.clone();
    world
        .testbed()
        .befall(&node, event)
        .await
        .map_err(|error| Failure::new(error.message))
}

async fn by_force(world: &mut World, args: &Args) -> StepResult {
    let name = args.text("name");
    let force = DeleteParams::default().grace_period(0);
    world
        .pods()
        .delete(name, &force)
        .await
        .map_err(|error| api(&format!("delete {name} by force"), &error))?;
    for made in world.made.iter_mut().filter(|made| made.pod == name) {
        made.ended = true;
    }
    Ok(())
}

/// Prints a line for each claim in the driver's checkpoint and for each CDI file of a claim.
const REMAINS: &str = "for f in /run/cdi/*claim_*; do test -e \"$f\" && echo \"CDI file $f\"; done; \
    grep -q '\"preparedClaims\"' /var/lib/kubelet/plugins/gpu.nvidia.com/checkpoint.json && echo 'claims in the checkpoint'; true";

async fn nothing_left(world: &mut World, _: &Args) -> StepResult {
    let node = world.the_node()?.name.clone();
    let result = world
        .until(LAG, "nothing is left behind on the node", async || {
            let (sight, cards) = (world.look().await?, world.cards().await?);
            let mut left = leftovers(&sight.held, &cards);
            let remains = world.on_node(&node, &["sh", "-c", REMAINS]).await?;
            left.extend(remains.lines().map(str::to_owned));
            Ok(if left.is_empty() {
                Probe::Ready(())
            } else {
                Probe::NotYet(left.join("\n"))
            })
        })
        .await;
    result.map_err(|failure| {
        in_vain(failure, |seen| {
            Failure::new("something is left behind").versus(
                "no allocated device, no GPU instance, no prepared claim, no CDI file",
                seen,
            )
        })
    })
}
