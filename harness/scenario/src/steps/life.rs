//! What befalls a node, its driver and its pods, and what must not be left of it.

use std::time::Duration;

use k8s_openapi::api::core::v1::Event;
use k8s_openapi::api::resource::v1::ResourceClaim;
use kube::api::{Api, DeleteParams, ListParams};
use report::Failure;

use super::card::{leftovers, until_none};
use crate::registry::{Args, BlockWish, Kind, Registry, StepResult};
use crate::testbed::{NodeEvent, NodeWish};
use crate::wait::{Probe, in_vain};
use crate::world::{World, api};

/// How long the node may lag behind the API.
const LAG: Duration = Duration::from_secs(30);

const FAULTS: &str = "Given calls of NVML on the node go wrong:\n  \"\"\"\n  format: 1\n  calls:\n  - {function: nvmlGpuInstanceCreateComputeInstance, nth: 1, error: INSUFFICIENT_RESOURCES}\n  \"\"\"";

pub(super) fn register(steps: &mut Registry) {
    let limit = Duration::from_secs(120);
    steps
        .add(Kind::When, "the driver on the node is killed", |world, args| Box::pin(befall(world, args, NodeEvent::DriverKilled)))
        .doc("The DRA driver is killed and stays dead until a step or the end of the scenario starts it again; its sockets stay behind.")
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
        .add(Kind::Given, "calls of NVML on the node go wrong:", |world, args| Box::pin(faults(world, args)))
        .doc("Calls of NVML go wrong as the plan below says, in the form of `fakegpu fault`, until another plan or the end of the scenario.")
        .block(BlockWish::Faults)
        .example(FAULTS);
    steps
        .add(
            Kind::When,
            "calls of NVML on the node go right again",
            |world, args| Box::pin(no_faults(world, args)),
        )
        .doc("No call of NVML goes wrong any more.")
        .example("When calls of NVML on the node go right again");
    steps
        .add(Kind::When, "somebody on the node cuts {profile} with nvidia-smi", |world, args| Box::pin(cut(world, args)))
        .doc("`nvidia-smi mig` makes a partition of this profile on the first card of the node, which no claim knows of.")
        .example("When somebody on the node cuts \"1g.5gb\" with nvidia-smi");
    steps
        .add(
            Kind::When,
            "somebody on the node removes all partitions with nvidia-smi",
            |world, args| Box::pin(uncut(world, args)),
        )
        .doc("`nvidia-smi mig` removes every partition on the cards of the node, whoever holds it.")
        .example("When somebody on the node removes all partitions with nvidia-smi");
    steps
        .add(
            Kind::Then,
            "the driver on the node prepares pod {name} within {duration}",
            |world, args| Box::pin(prepares(world, args)),
        )
        .doc("A claim of the pod is in the driver's checkpoint: the driver has begun with it, and may be done.")
        .example("Then the driver on the node prepares pod \"pod-1\" within 60 seconds")
        .timeout(Duration::from_secs(3700));
    steps
        .add(
            Kind::Then,
            "the kubelet says of pod {name} within {duration}: {text}",
            |world, args| Box::pin(kubelet_says(world, args)),
        )
        .doc("The kubelet has reported this of the pod in an event.")
        .example("Then the kubelet says of pod \"pod-1\" within 60 seconds: \"Failed to prepare dynamic resources\"")
        .timeout(Duration::from_secs(3700));
    steps
        .add(Kind::Then, "nothing is left behind on the node", |world, args| Box::pin(nothing_left(world, args)))
        .doc("No claim holds a device, NVML has no GPU instance, the driver's checkpoint has no claim, and no CDI file of a claim is there.")
        .example("Then nothing is left behind on the node");
}

async fn befall(world: &mut World, _: &Args, event: NodeEvent) -> StepResult {
    let node = world.the_node()?.name.clone();
    change(world, &node, event).await
}

async fn faults(world: &mut World, args: &Args) -> StepResult {
    let node = world.the_node()?.name.clone();
    let Some(plan) = args.faults.clone() else {
        return Err(Failure::new("there is no plan of faults"));
    };
    change(world, &node, NodeEvent::FaultsArmed(Box::new(plan))).await
}

async fn no_faults(world: &mut World, _: &Args) -> StepResult {
    let node = world.the_node()?.name.clone();
    change(world, &node, NodeEvent::FaultsCleared).await
}

/// Lets something befall a node, and notes what the tear-down must mend.
pub(super) async fn change(world: &mut World, node: &str, event: NodeEvent) -> StepResult {
    // Noted before: the tear-down must know of what was begun, too.
    match &event {
        NodeEvent::FaultsArmed(_) => world.faulty.push(node.to_owned()),
        NodeEvent::DriverKilled => world.driverless.push(node.to_owned()),
        NodeEvent::DriverRegated(_) => world.regated.push(node.to_owned()),
        _ => {}
    }
    let gates = match &event {
        NodeEvent::DriverRegated(gates) => Some(gates.clone()),
        _ => None,
    };
    let lives = gates.is_some()
        || matches!(
            event,
            NodeEvent::DriverRevived | NodeEvent::DriverRestarted | NodeEvent::Rebooted
        );
    let done = world.testbed().befall(node, event).await;
    done.map_err(|error| Failure::new(error.message))?;
    if lives {
        world.driverless.retain(|it| it != node);
    }
    let made_with = |it: &&NodeWish| it.name == node && Some(&it.driver_gates) == gates.as_ref();
    if world.nodes.iter().any(|it| made_with(&it)) {
        world.regated.retain(|it| it != node);
    }
    Ok(())
}

async fn cut(world: &mut World, args: &Args) -> StepResult {
    let node = world.the_node()?.name.clone();
    let argv = [
        "nvidia-smi",
        "mig",
        "-i",
        "0",
        "-cgi",
        args.text("profile"),
        "-C",
    ];
    world.on_node(&node, &argv).await.map(|_| ())
}

async fn uncut(world: &mut World, _: &Args) -> StepResult {
    let node = world.the_node()?.name.clone();
    for what in ["-dci", "-dgi"] {
        world.on_node(&node, &["nvidia-smi", "mig", what]).await?;
    }
    Ok(())
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

const CHECKPOINT: &str = "/var/lib/kubelet/plugins/gpu.nvidia.com/checkpoint.json";

async fn prepares(world: &mut World, args: &Args) -> StepResult {
    let (node, pod) = (world.the_node()?.name.clone(), args.text("name"));
    let claims: Api<ResourceClaim> = Api::namespaced(world.testbed().client(), world.namespace());
    let what = format!("the driver prepares {pod}");
    world
        .until(args.duration(), &what, async || {
            let list = claims.list(&ListParams::default()).await;
            let list = list.map_err(|error| api("list the ResourceClaims", &error))?;
            let of_pod = |claim: &&ResourceClaim| {
                let status = claim.status.as_ref();
                let users = status.and_then(|it| it.reserved_for.as_ref());
                users.is_some_and(|users| users.iter().any(|it| it.name == pod))
            };
            let claims: Vec<&ResourceClaim> = list.items.iter().filter(of_pod).collect();
            let checkpoint = world.on_node(&node, &["cat", CHECKPOINT]).await?;
            let mut uids = claims.iter().filter_map(|it| it.metadata.uid.as_deref());
            Ok(if claims.is_empty() {
                Probe::NotYet(format!("no claim is reserved for {pod}"))
            } else if uids.any(|uid| checkpoint.contains(uid)) {
                Probe::Ready(())
            } else {
                Probe::NotYet(format!("no claim of {pod} is in the driver's checkpoint"))
            })
        })
        .await
}

async fn kubelet_says(world: &mut World, args: &Args) -> StepResult {
    let (pod, text) = (args.text("name"), args.text("text"));
    let events: Api<Event> = Api::namespaced(world.testbed().client(), world.namespace());
    let of_pod = ListParams::default().fields(&format!("involvedObject.name={pod}"));
    let what = format!("the kubelet says of {pod}: {text}");
    world
        .until(args.duration(), &what, async || {
            let list = events.list(&of_pod).await;
            let list = list.map_err(|error| api("list the Events", &error))?;
            let by_kubelet = list.items.into_iter().filter(|event| {
                let source = event.source.as_ref();
                source.and_then(|it| it.component.as_deref()) == Some("kubelet")
            });
            let said: Vec<String> = by_kubelet.filter_map(|event| event.message).collect();
            Ok(if said.iter().any(|it| it.contains(text)) {
                Probe::Ready(())
            } else if said.is_empty() {
                Probe::NotYet("nothing".to_owned())
            } else {
                Probe::NotYet(said.join("\n"))
            })
        })
        .await
}

/// Prints a line for each claim in the driver's checkpoint and for each CDI file of a claim, and for what is not where it
/// is looked for: there is nothing left then because nobody has looked.
const REMAINS: &str = "test -d /run/cdi || echo 'there is no folder of CDI files'; \
    for f in /run/cdi/*claim_*; do test -e \"$f\" && echo \"CDI file $f\"; done; \
    c=/var/lib/kubelet/plugins/gpu.nvidia.com/checkpoint.json; test -s $c || echo \"there is no checkpoint $c\"; \
    grep -q '\"preparedClaims\"' $c && echo 'claims in the checkpoint'; true";

async fn nothing_left(world: &mut World, _: &Args) -> StepResult {
    let node = world.the_node()?.name.clone();
    let result = until_none(
        world,
        LAG,
        "nothing is left behind on the node",
        async || {
            let (sight, cards) = (world.look().await?, world.cards().await?);
            let mut left = leftovers(&sight.held, &cards);
            let remains = world.on_node(&node, &["sh", "-c", REMAINS]).await?;
            left.extend(remains.lines().map(str::to_owned));
            Ok(left)
        },
    )
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
