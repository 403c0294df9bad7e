//! Objects that a scenario writes out itself, in a file beside it or below the step, and what the API server says of them.

use std::time::Duration;

use report::Failure;

use crate::registry::{Args, BlockWish, Kind, Registry, StepResult};
use crate::wait::{Probe, in_vain};
use crate::world::World;

const CLAIM: &str = "When a pod claims:\n  \"\"\"\n  requests:\n  - name: gpu\n    exactly: {deviceClassName: gpu.nvidia.com}\n  \"\"\"";
const BELOW: &str = "Given this manifest is applied:\n  \"\"\"\n  apiVersion: resource.k8s.io/v1\n  kind: DeviceClass\n  metadata: {name: any}\n  spec: {}\n  \"\"\"";
const TRIED: &str = "When this manifest is tried:\n  \"\"\"\n  apiVersion: resource.k8s.io/v1\n  kind: DeviceClass\n  metadata: {name: Any}\n  spec: {}\n  \"\"\"";
const NAMED: &str = "When pod \"large\" claims:\n  \"\"\"\n  requests:\n  - name: gpu\n    exactly: {deviceClassName: gpu.nvidia.com}\n  \"\"\"";

const SOON: &str = "Then the API server soon refuses this manifest, saying \"time-slicing is not wished\":\n  \"\"\"\n  apiVersion: resource.k8s.io/v1\n  kind: DeviceClass\n  metadata: {name: sliced}\n  spec: {}\n  \"\"\"";

/// How long a policy may take to be in force.
const IN_FORCE: Duration = Duration::from_secs(20);

pub(super) fn register(steps: &mut Registry) {
    steps
        .add(Kind::Given, "the manifest {manifest} is applied", |world, args| Box::pin(apply(world, args)))
        .doc("Every object of the file is sent to the API server, which checks it strictly; a refusal fails the step. What belongs to a namespace goes into the scenario's own, and labels of a Namespace in the file go onto it. Everything is taken away at the end, cluster-wide objects too.")
        .example("Given the manifest \"two-containers.yaml\" is applied");
    steps
        .add(Kind::Given, "this manifest is applied:", |world, args| {
            Box::pin(apply(world, args))
        })
        .doc("The same with the objects below the step. Applied once more, an object is changed.")
        .block(BlockWish::Manifest)
        .example(BELOW);
    steps
        .add(Kind::When, "the manifest {manifest} is tried", |world, args| Box::pin(try_out(world, args)))
        .doc("The same as applying it, but a refusal is no failure: a step after it says what the API server has to say.")
        .example("When the manifest \"two-containers.yaml\" is tried");
    steps
        .add(Kind::When, "this manifest is tried:", |world, args| {
            Box::pin(try_out(world, args))
        })
        .doc("The same with the objects below the step.")
        .block(BlockWish::Manifest)
        .example(TRIED);
    steps
        .add(Kind::Then, "the API server refuses it, saying {text}", |world, args| Box::pin(refused(world, args)))
        .doc("The manifest that was tried last was refused, and the API server's message holds this text.")
        .example("Then the API server refuses it, saying \"should be lower case\"");
    steps
        .add(Kind::Then, "the API server accepts it", |world, args| {
            Box::pin(accepted(world, args))
        })
        .doc("The manifest that was tried last was accepted.")
        .example("Then the API server accepts it");
    steps
        .add(Kind::Then, "the API server soon refuses this manifest, saying {text}:", |world, args| Box::pin(soon_refused(world, args)))
        .doc("A dry run of the first object below the step, again and again until the API server refuses it with this text: a policy that was just applied is in force a moment later. Nothing is created.")
        .block(BlockWish::Manifest)
        .example(SOON)
        .timeout(Duration::from_secs(60));
    steps
        .add(Kind::When, "the {kind} {name} is deleted", |world, args| Box::pin(delete(world, args)))
        .doc("An object that a manifest of this scenario made is deleted. Does not wait for what follows from it.")
        .example("When the DeviceTaintRule \"drain\" is deleted");
    steps
        .add(Kind::When, "a pod claims:", |world, args| Box::pin(claim(world, args, None)))
        .doc("A pod with a claim of its own is created; below the step stands what it asks for, as in spec.devices of a ResourceClaim. Does not wait for it.")
        .block(BlockWish::Devices)
        .example(CLAIM);
    steps
        .add(Kind::When, "pod {name} claims:", |world, args| {
            Box::pin(claim(world, args, Some(args.text("name"))))
        })
        .doc("The same, and the pod has this name.")
        .block(BlockWish::Devices)
        .example(NAMED);
    steps
        .add(Kind::When, "pod {name} uses claim(s) {names}", |world, args| Box::pin(use_claims(world, args)))
        .doc("A pod of this name is created that uses these ResourceClaims of the scenario, which other pods may use too. Does not wait for it.")
        .example("When pod \"reader\" uses claim \"shared\"");
}

async fn apply(world: &mut World, args: &Args) -> StepResult {
    world.apply(&args.objects).await
}

async fn try_out(world: &mut World, args: &Args) -> StepResult {
    world.try_out(&args.objects).await
}

fn tried(world: &World) -> Result<&Result<(), String>, Failure> {
    world.tried.as_ref().ok_or_else(|| {
        Failure::new("no manifest was tried")
            .help("write `When the manifest … is tried` or `When this manifest is tried:` before")
    })
}

async fn refused(world: &mut World, args: &Args) -> StepResult {
    let text = args.text("text");
    match tried(world)? {
        Err(refusal) if refusal.contains(text) => Ok(()),
        Err(refusal) => Err(Failure::new("the API server says something else")
            .versus(format!("… {text} …"), refusal)),
        Ok(()) => Err(Failure::new("the API server has nothing against it")
            .versus(format!("a refusal that says {text:?}"), "it was accepted")),
    }
}

async fn soon_refused(world: &mut World, args: &Args) -> StepResult {
    let (text, object) = (args.text("text"), args.objects.first());
    let Some(object) = object else {
        return Err(Failure::new("there is no object below the step"));
    };
    let result = world
        .until(IN_FORCE, "the API server refuses it", async || {
            Ok(match world.would_be_sent(object).await? {
                Err(refusal) if refusal.contains(text) => Probe::Ready(()),
                Err(refusal) => Probe::NotYet(refusal),
                Ok(()) => Probe::NotYet("it would be accepted".to_owned()),
            })
        })
        .await;
    result.map_err(|failure| {
        in_vain(failure, |seen| {
            Failure::new("the API server does not refuse it so")
                .versus(format!("a refusal that says {text:?}"), seen)
        })
    })
}

async fn accepted(world: &mut World, _: &Args) -> StepResult {
    match tried(world)? {
        Ok(()) => Ok(()),
        Err(refusal) => {
            Err(Failure::new("the API server refuses it").versus("it is accepted", refusal))
        }
    }
}

async fn delete(world: &mut World, args: &Args) -> StepResult {
    let kind = args
        .named()
        .find(|(name, _)| *name == "kind")
        .map_or("", |(_, value)| value);
    world.take_back(kind, args.text("name")).await
}

async fn claim(world: &mut World, args: &Args, pod: Option<&str>) -> StepResult {
    for devices in &args.objects {
        world.claim_devices(pod, devices).await?;
    }
    Ok(())
}

async fn use_claims(world: &mut World, args: &Args) -> StepResult {
    world
        .use_claims(args.text("name"), &args.list("names"))
        .await
}
