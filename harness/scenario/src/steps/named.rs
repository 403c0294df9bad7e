//! Pods and claims by their names: what becomes of them, and what they get.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use report::Failure;

use super::pod::{listing, settle};
use crate::allocation::Held;
use crate::registry::{Args, Kind, Registry, StepResult};
use crate::sight::{PodSight, State};
use crate::smi::Listing;
use crate::wait::{Probe, in_vain};
use crate::world::{World, api};

/// How long pods have to come up, and claims to be allocated or refused.
const UP: Duration = Duration::from_secs(45);

pub(super) fn register(steps: &mut Registry) {
    let long = Duration::from_secs(3700);
    pods(steps, long);
    claims(steps);
    steps
        .add(
            Kind::Then,
            "container {name} of pod {name} sees {count} GPU(s) and {count} MIG device(s)",
            |world, args| {
                let counts = args.counts();
                Box::pin(container_sees(
                    world,
                    args,
                    counts.first().copied().unwrap_or(0),
                    counts.get(1).copied().unwrap_or(0),
                ))
            },
        )
        .doc("`nvidia-smi -L` in this container of this pod lists exactly that.")
        .example("Then container \"left\" of pod \"two\" sees 1 GPU and 1 MIG device");
    steps
        .add(
            Kind::Then,
            "container {name} of pod {name} sees {count} GPU(s) and no MIG device",
            |world, args| Box::pin(container_sees(world, args, args.count(), 0)),
        )
        .doc("`nvidia-smi -L` in this container of this pod lists exactly that many whole GPUs.")
        .example("Then container \"left\" of pod \"two\" sees 1 GPU and no MIG device");
    steps
        .add(Kind::Then, "the containers of pod {name} see the same devices", |world, args| Box::pin(containers_see(world, args, true)))
        .doc("`nvidia-smi -L` lists the same devices in each container of the pod, and at least one.")
        .example("Then the containers of pod \"two\" see the same devices");
    steps
        .add(Kind::Then, "the containers of pod {name} see different devices", |world, args| Box::pin(containers_see(world, args, false)))
        .doc("`nvidia-smi -L` lists at least one device in each container of the pod, and none of them in two.")
        .example("Then the containers of pod \"two\" see different devices");
}

fn pods(steps: &mut Registry, long: Duration) {
    steps
        .add(Kind::Then, "pod(s) {names} run(s)", |world, args| {
            Box::pin(runs(world, args, UP))
        })
        .doc("The pod of this name, or each of these, runs within 45 seconds.")
        .example("Then pod \"small\" runs")
        .timeout(Duration::from_secs(120));
    steps
        .add(
            Kind::Then,
            "pod(s) {names} run(s) within {duration}",
            |world, args| Box::pin(runs(world, args, args.duration())),
        )
        .doc("The pod of this name, or each of these, runs in time.")
        .example("Then pod \"small\" runs within 30 seconds")
        .timeout(long);
    steps
        .add(
            Kind::Then,
            "pod {name} waits, and the scheduler says it {text}",
            |world, args| {
                Box::pin(waits(
                    world,
                    args.text("name").to_owned(),
                    args.text("text").to_owned(),
                ))
            },
        )
        .doc("The pod is Pending, and the scheduler's message holds this text.")
        .example(
            "Then pod \"large\" waits, and the scheduler says it \"cannot allocate all claims\"",
        );
    steps
        .add(Kind::Then, "pod {name} waits", |world, args| {
            Box::pin(waits(world, args.text("name").to_owned(), String::new()))
        })
        .doc("The pod is Pending: the scheduler has looked at it and found no place.")
        .example("Then pod \"large\" waits");
    steps
        .add(Kind::Then, "pod {name} is evicted within {duration}", |world, args| Box::pin(evicted(world, args)))
        .doc("The pod is deleted in time by the controller that evicts from tainted devices; nobody in the scenario has deleted it.")
        .example("Then pod \"large\" is evicted within 15 seconds")
        .timeout(long);
    steps
        .add(
            Kind::Then,
            "pod {name} keeps running for {duration}",
            |world, args| Box::pin(keeps(world, args)),
        )
        .doc("The pod runs, and at every look during that time it still does.")
        .example("Then pod \"large\" keeps running for 5 seconds")
        .timeout(long);
    steps
        .add(
            Kind::Then,
            "pod {name} is gone within {duration}",
            |world, args| Box::pin(gone(world, args)),
        )
        .doc("The Pod object is gone in time.")
        .example("Then pod \"large\" is gone within 30 seconds")
        .timeout(long);
    steps
        .add(Kind::When, "pod {name} is asked to end", |world, args| {
            Box::pin(asked(world, args))
        })
        .doc(
            "The pod of this name is deleted with its usual grace. Does not wait until it is gone.",
        )
        .example("When pod \"large\" is asked to end");
    steps
        .add(Kind::When, "pod {name} ends", |world, args| {
            Box::pin(ends(world, args))
        })
        .doc("The pod of this name is deleted, and is gone.")
        .example("When pod \"large\" ends");
}

fn claims(steps: &mut Registry) {
    steps
        .add(Kind::Then, "pod {name} gets {devices}", |world, args| {
            Box::pin(pod_gets(world, args, false))
        })
        .doc("The claims of the pod hold exactly these devices, in whatever order.")
        .example("Then pod \"large\" gets \"gpu-0, gpu-1\"");
    steps
        .add(Kind::Then, "pod {name} gets one of {devices}", |world, args| Box::pin(pod_gets(world, args, true)))
        .doc("The claims of the pod hold exactly one device, one of these: for where the order is not specified.")
        .example("Then pod \"large\" gets one of \"gpu-0, gpu-1\"");
    steps
        .add(Kind::Then, "claim {name} gets {devices}", |world, args| Box::pin(claim_gets(world, args)))
        .doc("The ResourceClaim is allocated exactly these devices, in whatever order. Says nothing of a pod that runs: where no driver stands behind hand-written ResourceSlices, none can.")
        .example("Then claim \"shared\" gets \"gpu-0\"");
    steps
        .add(
            Kind::Then,
            "claim {name} takes {quantity} of {text}",
            |world, args| Box::pin(takes(world, args)),
        )
        .doc("The ResourceClaim is allocated shares that take this much of this capacity together.")
        .example("Then claim \"shared\" takes \"10Gi\" of \"memory\"");
    steps
        .add(Kind::Then, "claim {name} is not allocated, and the scheduler says it {text}", |world, args| Box::pin(not_allocated(world, args)))
        .doc("The ResourceClaim is not allocated, and the scheduler has refused a pod that uses it with this text.")
        .example("Then claim \"shared\" is not allocated, and the scheduler says it \"cannot allocate all claims\"");
}

async fn find(world: &World, name: &str) -> Result<Option<PodSight>, Failure> {
    let sight = world.look().await?;
    Ok(sight.pods.into_iter().find(|pod| pod.name == name))
}

fn state_of(pod: Option<&PodSight>, name: &str) -> String {
    pod.map_or_else(|| format!("{name}: there is no such pod"), PodSight::line)
}

async fn runs(world: &mut World, args: &Args, limit: Duration) -> StepResult {
    let names = args.list("names");
    world
        .until(limit, &format!("{} runs", names.join(", ")), async || {
            let sight = world.look().await?;
            let mut not_yet = Vec::new();
            for name in &names {
                let pod = sight.pods.iter().find(|pod| pod.name == *name);
                match pod.map(|pod| &pod.state) {
                    Some(State::Running) => {}
                    Some(State::Dead(why)) => {
                        return Err(Failure::new(format!("{name} will not run"))
                            .versus("a running pod", why));
                    }
                    _ => not_yet.push(state_of(pod, name)),
                }
            }
            Ok(if not_yet.is_empty() {
                Probe::Ready(())
            } else {
                Probe::NotYet(not_yet.join("; "))
            })
        })
        .await
}

async fn waits(world: &mut World, name: String, text: String) -> StepResult {
    let waited = world
        .until(
            UP,
            &format!("{name} is refused by the scheduler"),
            async || {
                let pod = find(world, &name).await?;
                Ok(match pod.as_ref().map(|pod| &pod.state) {
                    Some(State::Waiting(why)) if why.contains(&text) => Probe::Ready(()),
                    // An error of its own would pass for any refusal.
                    Some(State::Failing(why)) if !text.is_empty() && why.contains(&text) => {
                        Probe::Ready(())
                    }
                    Some(State::Running) => {
                        return Err(Failure::new(format!("{name} does not wait"))
                            .versus("Pending", "it runs"));
                    }
                    _ => Probe::NotYet(state_of(pod.as_ref(), &name)),
                })
            },
        )
        .await;
    waited.map_err(|failure| {
        in_vain(failure, |seen| {
            Failure::new(format!("{name} does not wait as it should"))
                .versus(format!("Pending: … {text} …"), seen)
        })
    })?;
    world.waiting = vec![name];
    Ok(())
}

/// Whether the controller that evicts from tainted devices has ended the pod.
fn by_taint(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| {
        condition.type_ == "DisruptionTarget"
            && condition.reason.as_deref() == Some("DeletionByDeviceTaintManager")
    })
}

async fn evicted(world: &mut World, args: &Args) -> StepResult {
    let name = args.text("name").to_owned();
    if world.made_pod(&name)?.ended {
        return Err(Failure::new(format!(
            "{name} was ended by the scenario itself"
        )));
    }
    let pods = world.pods();
    world
        .until(args.duration(), &format!("{name} is evicted"), async || {
            let pod = pods
                .get_opt(&name)
                .await
                .map_err(|error| api(&format!("get {name}"), &error))?;
            // It may be gone between two looks: nobody but the controller ends pods of a scenario.
            Ok(match pod {
                None => Probe::Ready(()),
                Some(pod) if pod.metadata.deletion_timestamp.is_some() && by_taint(&pod) => {
                    Probe::Ready(())
                }
                Some(pod) => Probe::NotYet(PodSight::of(&pod).line()),
            })
        })
        .await?;
    for made in world.made.iter_mut().filter(|made| made.pod == name) {
        made.ended = true;
    }
    world.gone(&[name], Duration::from_secs(30)).await
}

async fn keeps(world: &mut World, args: &Args) -> StepResult {
    let name = args.text("name").to_owned();
    let limit = args.duration();
    let ended = world
        .until(limit, &format!("{name} stops running"), async || {
            let pod = find(world, &name).await?;
            Ok(match pod.as_ref() {
                Some(pod) if pod.runs() => Probe::NotYet("it runs".to_owned()),
                pod => Probe::Ready(state_of(pod, &name)),
            })
        })
        .await;
    match ended {
        Ok(seen) => Err(Failure::new(format!("{name} does not keep running"))
            .versus(format!("it runs for {} s", limit.as_secs()), seen)),
        Err(failure) if failure.last_state.is_some() => Ok(()),
        Err(failure) => Err(failure),
    }
}

async fn gone(world: &mut World, args: &Args) -> StepResult {
    let name = args.text("name");
    world.made_pod(name)?;
    world.gone(&[name.to_owned()], args.duration()).await
}

async fn asked(world: &mut World, args: &Args) -> StepResult {
    let name = args.text("name");
    world.made_pod(name)?;
    world.delete(name).await
}

async fn ends(world: &mut World, args: &Args) -> StepResult {
    let name = args.text("name");
    world.made_pod(name)?;
    world.end(name).await
}

/// Waits until what `of` finds among the allocated devices is there, and `fits` says that it is right.
async fn gets(
    world: &World,
    who: &str,
    wanted: &str,
    of: impl Fn(&[Held], &str) -> Vec<Held>,
    fits: impl Fn(&[Held]) -> bool,
) -> StepResult {
    let waited = world
        .until(UP, &format!("{who} is allocated"), async || {
            let sight = world.look().await?;
            let held = of(&sight.held, &sight.namespace);
            if held.is_empty() {
                return Ok(Probe::NotYet("no device".to_owned()));
            }
            let paths: Vec<String> = held.iter().map(Held::path).collect();
            if fits(&held) {
                return Ok(Probe::Ready(()));
            }
            Err(Failure::new(format!("{who} has got something else"))
                .versus(wanted, paths.join(", ")))
        })
        .await;
    waited.map_err(|failure| {
        in_vain(failure, |seen| {
            Failure::new(format!("{who} has not got a device")).versus(wanted, seen)
        })
    })
}

/// Each name means one device of those held, and none is over.
fn exactly(held: &[Held], names: &[&str]) -> bool {
    let mut left: Vec<&Held> = held.iter().collect();
    for name in names {
        let Some(at) = left.iter().position(|held| held.is(name)) else {
            return false;
        };
        left.remove(at);
    }
    left.is_empty()
}

async fn pod_gets(world: &mut World, args: &Args, any: bool) -> StepResult {
    let (pod, names) = (args.text("name"), args.list("devices"));
    let of = |held: &[Held], namespace: &str| -> Vec<Held> {
        let mine = |it: &&Held| it.namespace == namespace && it.pods.iter().any(|it| it == pod);
        held.iter().filter(mine).cloned().collect()
    };
    let fits = |held: &[Held]| {
        if any {
            held.len() == 1 && names.iter().any(|name| held[0].is(name))
        } else {
            exactly(held, &names)
        }
    };
    let wanted = if any {
        format!("one of {}", names.join(", "))
    } else {
        names.join(", ")
    };
    gets(world, pod, &wanted, of, fits).await
}

fn of_claim<'a>(claim: &'a str) -> impl Fn(&[Held], &str) -> Vec<Held> + 'a {
    move |held, namespace| {
        let mine = |it: &&Held| it.namespace == namespace && it.claim == claim;
        held.iter().filter(mine).cloned().collect()
    }
}

async fn claim_gets(world: &mut World, args: &Args) -> StepResult {
    let (claim, names) = (args.text("name"), args.list("devices"));
    gets(world, claim, &names.join(", "), of_claim(claim), |held| {
        exactly(held, &names)
    })
    .await
}

async fn takes(world: &mut World, args: &Args) -> StepResult {
    let (claim, amount, what) = (args.text("name"), args.text("quantity"), args.text("text"));
    let wanted = crate::allocation::quantity(amount).unwrap_or(0);
    world
        .until(UP, &format!("{claim} is allocated"), async || {
            let sight = world.look().await?;
            let held = of_claim(claim)(&sight.held, &sight.namespace);
            if held.is_empty() {
                return Ok(Probe::NotYet("no device".to_owned()));
            }
            let taken: u128 = held
                .iter()
                .map(|held| held.capacity.get(what).copied().unwrap_or(0))
                .sum();
            if taken == wanted {
                return Ok(Probe::Ready(()));
            }
            Err(
                Failure::new(format!("{claim} takes another amount of {what}"))
                    .versus(format!("{wanted} ({amount})"), taken.to_string()),
            )
        })
        .await
}

async fn not_allocated(world: &mut World, args: &Args) -> StepResult {
    let (claim, text) = (args.text("name"), args.text("text"));
    settle_of(world, claim, text).await
}

/// Pods that use the claim, with the scheduler's words; fails where the claim is allocated.
async fn settle_of(world: &World, claim: &str, text: &str) -> StepResult {
    let pods = world.pods();
    let uses = |pod: &Pod| {
        let spec = pod.spec.as_ref();
        let claims = spec.and_then(|spec| spec.resource_claims.as_ref());
        claims
            .into_iter()
            .flatten()
            .any(|it| it.resource_claim_name.as_deref() == Some(claim))
    };
    let waited = world
        .until(UP, &format!("{claim} is refused"), async || {
            let sight = world.look().await?;
            let held = of_claim(claim)(&sight.held, &sight.namespace);
            if !held.is_empty() {
                let paths: Vec<String> = held.iter().map(Held::path).collect();
                return Err(Failure::new(format!("{claim} is allocated"))
                    .versus("no device", paths.join(", ")));
            }
            let list = pods
                .list(&kube::api::ListParams::default())
                .await
                .map_err(|error| api("list the pods", &error))?;
            let users: Vec<PodSight> = list
                .items
                .iter()
                .filter(|pod| uses(pod))
                .map(PodSight::of)
                .collect();
            let refused = users
                .iter()
                .any(|pod| matches!(&pod.state, State::Waiting(why) if why.contains(text)));
            let lines: Vec<String> = users.iter().map(PodSight::line).collect();
            Ok(if refused {
                Probe::Ready(())
            } else if lines.is_empty() {
                Probe::NotYet("no pod uses it".to_owned())
            } else {
                Probe::NotYet(lines.join("; "))
            })
        })
        .await;
    waited.map_err(|failure| {
        in_vain(failure, |seen| {
            Failure::new("the scheduler gives another reason").versus(format!("… {text} …"), seen)
        })
    })
}

fn shown(listing: &Listing) -> String {
    format!(
        "{} GPUs, {} MIG devices",
        listing.gpus.len(),
        listing.migs.len()
    )
}

async fn container_sees(world: &mut World, args: &Args, gpus: usize, migs: usize) -> StepResult {
    settle(world).await?;
    let names = args.texts("name");
    let (container, pod) = (
        names.first().copied().unwrap_or_default(),
        names.get(1).copied().unwrap_or_default(),
    );
    let listing = listing(world, pod, Some(container)).await?;
    if listing.gpus.len() == gpus && listing.migs.len() == migs {
        return Ok(());
    }
    Err(
        Failure::new(format!("{container} of {pod} sees something else"))
            .versus(format!("{gpus} GPUs, {migs} MIG devices"), shown(&listing)),
    )
}

async fn containers_see(world: &mut World, args: &Args, same: bool) -> StepResult {
    settle(world).await?;
    let name = args.text("name");
    let pod = world
        .pods()
        .get(name)
        .await
        .map_err(|error| api(&format!("get {name}"), &error))?;
    let containers = pod.spec.map(|spec| spec.containers).unwrap_or_default();
    let mut seen: Vec<(String, Vec<String>)> = Vec::new();
    for container in &containers {
        let listing = listing(world, name, Some(&container.name)).await?;
        let mig = !listing.migs.is_empty();
        let mut devices: Vec<String> = listing
            .devices(mig)
            .into_iter()
            .map(str::to_owned)
            .collect();
        devices.sort();
        seen.push((container.name.clone(), devices));
    }
    let lines: Vec<String> = seen
        .iter()
        .map(|(container, devices)| format!("{container}: {}", devices.join(", ")))
        .collect();
    let empty = seen.iter().any(|(_, devices)| devices.is_empty());
    let equal = seen.windows(2).all(|pair| pair[0].1 == pair[1].1);
    let mut all: Vec<&String> = seen.iter().flat_map(|(_, devices)| devices).collect();
    let count = all.len();
    all.sort();
    all.dedup();
    let fits = if same { equal } else { all.len() == count };
    if seen.len() > 1 && !empty && fits {
        return Ok(());
    }
    let wanted = if same {
        "the same devices in each"
    } else {
        "other devices in each"
    };
    Err(
        Failure::new(format!("the containers of {name} see something else"))
            .versus(format!("several containers, {wanted}"), lines.join("\n")),
    )
}
