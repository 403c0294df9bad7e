//! How gangs come, and go.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use report::Failure;
use serde_json::{Value, json};

use super::{gang, gangs, scheduler};
use crate::gang::{Group, Made, Sight};
use crate::registry::{Args, BlockWish, Kind, Registry, StepResult};
use crate::world::{self, Ask, World, api, claim_template, pod_object};

const DEVICES: &str = "When gang \"train\" of 2 pods comes, each claiming:\n  \"\"\"\n  requests:\n  - name: gpu\n    exactly: {deviceClassName: mig.nvidia.com}\n  \"\"\"";

pub(super) fn register(steps: &mut Registry) {
    steps
        .add(Kind::When, "gang {name} of {count} pod(s) comes, each claiming one {profile}", |world, args| Box::pin(comes(world, args)))
        .doc("A gang that must start whole is announced, and its pods are created: NAME-1, NAME-2 and so on, each with a ResourceClaim of its own for one partition. In the form that this Kubernetes has: a PodGroup, or in 1.35 a Workload. Does not wait for them.")
        .example("When gang \"train\" of 3 pods comes, each claiming one \"1g.5gb\"");
    steps
        .add(Kind::When, "gang {name} of {count} pod(s) comes, at least {count} at once, each claiming one {profile}", |world, args| Box::pin(comes(world, args)))
        .doc("The same, and it may start when that many of its pods can; the others follow when there is room.")
        .example("When gang \"train\" of 4 pods comes, at least 3 at once, each claiming one \"1g.5gb\"");
    steps
        .add(Kind::When, "gang {name} of {count} pod(s) with priority {count} comes, each claiming one {profile}", |world, args| Box::pin(comes_with_priority(world, args)))
        .doc("The same as the first, and gang and pods have a PriorityClass of this value.")
        .example("When gang \"urgent\" of 2 pods with priority 1000 comes, each claiming one \"3g.20gb\"");
    steps
        .add(Kind::When, "gang {name} of {count} pod(s) comes, each claiming:", |world, args| Box::pin(comes_claiming(world, args)))
        .doc("The same as the first; below the step stands what the claim of each pod asks for, as in spec.devices of a ResourceClaim.")
        .block(BlockWish::Devices)
        .example(DEVICES);
    steps
        .add(
            Kind::When,
            "gang {name} of {count} pod(s) comes, sharing one {profile}",
            |world, args| Box::pin(comes_sharing(world, args)),
        )
        .doc("All pods of the gang use the same ResourceClaim, which is there before them.")
        .example("When gang \"train\" of 3 pods comes, sharing one \"3g.20gb\"");
    steps
        .add(Kind::When, "gang {name} of {count} pod(s) comes, with a claim of the group for one {profile}", |world, args| Box::pin(comes_with_claim(world, args)))
        .doc("The gang has a claim of its own, made for its PodGroup from a template (DRAWorkloadResourceClaims), and all its pods use it.")
        .example("When gang \"train\" of 3 pods comes, with a claim of the group for one \"3g.20gb\"");
    steps
        .add(Kind::When, "gangs {names} of {count} pods each come at once, each pod claiming one {profile}", |world, args| Box::pin(come_at_once(world, args)))
        .doc("Several gangs are announced, and their pods are created in turns: the first of each, the second of each, and so on. Whoever places pods one by one lets the gangs block each other so.")
        .example("When gangs \"red, blue\" of 2 pods each come at once, each pod claiming one \"3g.20gb\"");
    steps
        .add(
            Kind::When,
            "gang {name} is announced for {count} pod(s)",
            |world, args| Box::pin(announced(world, args)),
        )
        .doc("The object that announces a gang is created, and none of its pods.")
        .example("When gang \"train\" is announced for 3 pods");
    steps
        .add(
            Kind::When,
            "{count} pod(s) of gang {name} come(s), each claiming one {profile}",
            |world, args| Box::pin(more(world, args)),
        )
        .doc("Pods of a gang are created, whether it is announced already or not.")
        .example("When 2 pods of gang \"train\" come, each claiming one \"1g.5gb\"");
    steps
        .add(Kind::When, "a running pod of gang {name} is lost", |world, args| Box::pin(lost(world, args)))
        .doc("A pod of the gang that runs is deleted, and is gone. Nobody makes another in its place.")
        .example("When a running pod of gang \"train\" is lost");
    steps
        .add(Kind::When, "gang {name} ends", |world, args| {
            Box::pin(ends(world, args))
        })
        .doc("All pods of the gang are deleted and gone, and so is what announced it.")
        .example("When gang \"train\" ends");
    steps
        .add(Kind::When, "the gang that runs ends", |world, args| {
            Box::pin(running_ends(world, args))
        })
        .doc("The same with the one gang of the scenario that runs, whichever it is.")
        .example("When the gang that runs ends");
}

/// What the pods of a gang claim.
enum Claims {
    /// From a template, each its own, or with the group's claim the same for all.
    Template(String),
    /// The same ResourceClaim, by its name.
    Shared(String),
}

impl Claims {
    fn of_pod(&self) -> Value {
        match self {
            Self::Template(name) => {
                json!([{ "name": "gpu", "resourceClaimTemplateName": name }])
            }
            Self::Shared(name) => json!([{ "name": "gpu", "resourceClaimName": name }]),
        }
    }
}

fn profile(args: &Args) -> Ask {
    Ask::Profile(args.text("profile").to_owned())
}

/// A gang as its step says it: the first count is that of its pods, the second how many must start at once.
fn wanted(args: &Args) -> (usize, Group) {
    let counts = args.counts();
    let pods = counts.first().copied().unwrap_or(0);
    let group = Group {
        name: args.text("name").to_owned(),
        min: counts.get(1).copied().unwrap_or(pods),
        ..Group::default()
    };
    (pods, group)
}

async fn comes(world: &mut World, args: &Args) -> StepResult {
    let (pods, group) = wanted(args);
    let ask = profile(args);
    let claims = Claims::Template(world.template(&ask).await?);
    announce(world, &group).await?;
    members(world, &group.name, pods, &ask, &claims).await
}

async fn comes_with_priority(world: &mut World, args: &Args) -> StepResult {
    let (pods, mut group) = wanted(args);
    // The second count of this step is its priority.
    let value = std::mem::replace(&mut group.min, pods);
    let class = format!("{}-{value}", world.namespace());
    let known = world
        .gangs
        .iter()
        .any(|made| made.priority.as_ref() == Some(&class));
    if !known {
        let object = json!({
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": { "name": class },
            "value": value
        });
        world.apply(&[object]).await?;
    }
    group.priority = Some(class);
    let ask = profile(args);
    let claims = Claims::Template(world.template(&ask).await?);
    announce(world, &group).await?;
    members(world, &group.name, pods, &ask, &claims).await
}

async fn comes_claiming(world: &mut World, args: &Args) -> StepResult {
    let (pods, group) = wanted(args);
    let template = format!("each-of-{}", group.name);
    for devices in &args.objects {
        world.apply(&[claim_template(&template, devices)]).await?;
    }
    announce(world, &group).await?;
    members(
        world,
        &group.name,
        pods,
        &Ask::Own,
        &Claims::Template(template),
    )
    .await
}

async fn comes_sharing(world: &mut World, args: &Args) -> StepResult {
    let (pods, group) = wanted(args);
    let ask = profile(args);
    let claim = format!("shared-by-{}", group.name);
    let object = json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": { "name": claim },
        "spec": { "devices": ask.devices() }
    });
    world.apply(&[object]).await?;
    announce(world, &group).await?;
    members(world, &group.name, pods, &ask, &Claims::Shared(claim)).await
}

async fn comes_with_claim(world: &mut World, args: &Args) -> StepResult {
    let (pods, mut group) = wanted(args);
    let ask = profile(args);
    let template = world.template(&ask).await?;
    group.claim = Some(template.clone());
    announce(world, &group).await?;
    members(world, &group.name, pods, &ask, &Claims::Template(template)).await
}

async fn come_at_once(world: &mut World, args: &Args) -> StepResult {
    let (pods, first) = wanted(args);
    let ask = profile(args);
    let claims = Claims::Template(world.template(&ask).await?);
    let names = args.list("names");
    for name in &names {
        let group = Group {
            name: (*name).to_owned(),
            ..first.clone()
        };
        announce(world, &group).await?;
    }
    for _ in 0..pods {
        for name in &names {
            members(world, name, 1, &ask, &claims).await?;
        }
    }
    Ok(())
}

async fn announced(world: &mut World, args: &Args) -> StepResult {
    let (_, group) = wanted(args);
    announce(world, &group).await
}

async fn more(world: &mut World, args: &Args) -> StepResult {
    let (pods, group) = wanted(args);
    let ask = profile(args);
    let claims = Claims::Template(world.template(&ask).await?);
    members(world, &group.name, pods, &ask, &claims).await
}

/// The gang as the scenario remembers it.
fn made<'w>(world: &'w mut World, name: &str) -> &'w mut Made {
    let at = world.gangs.iter().position(|made| made.name == name);
    let at = at.unwrap_or_else(|| {
        world.gangs.push(Made {
            name: name.to_owned(),
            pods: 0,
            priority: None,
        });
        world.gangs.len() - 1
    });
    &mut world.gangs[at]
}

async fn announce(world: &mut World, group: &Group) -> StepResult {
    let scheduler = scheduler(world).await?;
    let object = scheduler.announce(group).ok_or_else(|| {
        let kind = scheduler.resource();
        Failure::new(format!(
            "a {} of {} cannot have a claim of its own",
            kind.kind, kind.api_version
        ))
        .help("tag the scenario with @gates:DRAWorkloadResourceClaims")
    })?;
    made(world, &group.name).priority = group.priority.clone();
    world.apply(&[object]).await
}

/// Creates pods of a gang. As they stand: the client of this program may know fewer fields than the API server.
async fn members(
    world: &mut World,
    gang: &str,
    count: usize,
    ask: &Ask,
    claims: &Claims,
) -> StepResult {
    let scheduler = scheduler(world).await?;
    let pods: Api<DynamicObject> = Api::namespaced_with(
        world.testbed().client(),
        world.namespace(),
        &ApiResource::erase::<Pod>(&()),
    );
    for _ in 0..count {
        let made = made(world, gang);
        made.pods += 1;
        let name = format!("{gang}-{}", made.pods);
        let mut pod = pod_object(&name, &claims.of_pod());
        if let Some(class) = &made.priority {
            pod["spec"]["priorityClassName"] = json!(class);
        }
        scheduler.join(&mut pod, gang);
        let pod = serde_json::from_value(pod).map_err(|error| {
            Failure::new(format!("a manifest of this program is wrong: {error}"))
        })?;
        pods.create(&PostParams::default(), &pod)
            .await
            .map_err(|error| api(&format!("create {name}"), &error))?;
        world.made.push(world::Made {
            pod: name,
            ask: ask.clone(),
            ended: false,
            before: None,
        });
    }
    Ok(())
}

async fn lost(world: &mut World, args: &Args) -> StepResult {
    let gang = gang(world, args.text("name")).await?;
    let running = gang.members.iter().find(|member| member.pod.runs());
    match running.map(|member| member.pod.name.clone()) {
        Some(pod) => world.end(&pod).await,
        None => Err(Failure::new("no pod of the gang can be lost")
            .versus("at least one that runs", gang.lines())),
    }
}

async fn ends(world: &mut World, args: &Args) -> StepResult {
    let gang = gang(world, args.text("name")).await?;
    end(world, gang).await
}

async fn running_ends(world: &mut World, _: &Args) -> StepResult {
    let mut all = gangs(world).await?;
    all.retain(|gang| gang.namespace == world.namespace());
    match all.iter().position(Sight::runs) {
        Some(at) => end(world, all.remove(at)).await,
        None => {
            let lines: Vec<String> = all.iter().map(Sight::lines).collect();
            Err(Failure::new("no gang runs").versus("one that does", lines.join("\n")))
        }
    }
}

async fn end(world: &mut World, gang: Sight) -> StepResult {
    let pods: Vec<String> = gang.members.iter().map(|it| it.pod.name.clone()).collect();
    for pod in &pods {
        world.delete(pod).await?;
    }
    world.gone(&pods, super::UP).await?;
    let kind = scheduler(world).await?.resource().kind;
    world.take_back(&kind, &gang.name).await
}
