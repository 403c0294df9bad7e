//! Pods: what they claim, whether they run, what they see, and how they end.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use report::Failure;

use crate::allocation::{Named, named};
use crate::registry::{Args, BlockWish, Kind, Registry, StepResult};
use crate::sight::{Sight, State};
use crate::smi::{self, Listing};
use crate::testbed::{CardState, NodeCards};
use crate::wait::Probe;
use crate::world::{Ask, World};

/// How long pods have to come up.
const UP: Duration = Duration::from_secs(45);

pub(super) fn register(steps: &mut Registry) {
    steps
        .add(Kind::When, "a pod claims one {profile}", |world, args| Box::pin(claim_profile(world, args, 1)))
        .doc("A pod with a ResourceClaim for one partition of this profile is created. Does not wait for it.")
        .example("When a pod claims one \"4g.20gb\"");
    steps
        .add(Kind::When, "{count} pods each claim one {profile}", |world, args| Box::pin(claim_profile(world, args, args.count())))
        .doc("That many pods are created at once, each with a ResourceClaim of its own for one partition of this profile. Does not wait for them.")
        .example("When 8 pods each claim one \"1g.5gb\"");
    steps
        .add(Kind::When, "pods claim these partitions, one after another:", |world, args| Box::pin(claim_in_turn(world, args)))
        .doc("Pods are created in the order of the table; the next one comes when the one before runs or has been refused.")
        .block(BlockWish::Table(&[("profile", "profile")]))
        .example("When pods claim these partitions, one after another:\n  | profile |\n  | 3g.20gb |\n  | 2g.10gb |")
        .timeout(Duration::from_secs(180));
    steps
        .add(Kind::When, "a pod claims a whole card", |world, args| Box::pin(claim_whole(world, args)))
        .doc("A pod with a ResourceClaim of the class gpu.nvidia.com is created. Does not wait for it.")
        .example("When a pod claims a whole card");
    steps
        .add(Kind::When, "a running pod ends", |world, args| {
            Box::pin(one_ends(world, args))
        })
        .doc("The oldest pod that runs is deleted, and is gone.")
        .example("When a running pod ends");
    steps
        .add(Kind::When, "all pods end", |world, args| {
            Box::pin(all_end(world, args))
        })
        .doc("Every pod of the scenario is deleted, and is gone.")
        .example("When all pods end");
    steps
        .add(Kind::Then, "{count} pod(s) run(s)", |world, args| {
            Box::pin(run(world, args))
        })
        .doc("Exactly that many pods run once nobody is on the way any more.")
        .example("Then 1 pod runs");
    steps
        .add(Kind::Then, "{count} pod(s) run(s), each on a partition of its own", |world, args| Box::pin(run_apart(world, args)))
        .doc("Exactly that many pods run, each claim holds one partition of the profile that was asked for, and no partition is given twice.")
        .example("Then 7 pods run, each on a partition of its own");
    steps
        .add(Kind::Then, "{count} pod(s) wait(s), and the scheduler says it {text}", |world, args| Box::pin(wait(world, args)))
        .doc("Exactly that many pods are Pending, and the scheduler's message for each holds this text.")
        .example("Then 1 pod waits, and the scheduler says it \"cannot allocate all claims\"");
    steps
        .add(
            Kind::Then,
            "the waiting pod runs within {duration}",
            |world, args| Box::pin(waiting_runs(world, args)),
        )
        .doc("The pod that the scenario found waiting before runs in time.")
        .example("Then the waiting pod runs within 30 seconds")
        .timeout(Duration::from_secs(3700));
    steps
        .add(Kind::Then, "each running pod sees {count} GPU(s) and {count} MIG device(s)", |world, args| {
            let counts = args.counts();
            let (gpus, migs) = (counts.first().copied().unwrap_or(0), counts.get(1).copied().unwrap_or(0));
            Box::pin(sees(world, gpus, migs))
        })
        .doc("`nvidia-smi -L` in each running pod lists exactly that, the listed UUIDs are those of the claimed devices on the node (of devices on the node, where a pod asks for a resource), and no two pods list the same device.")
        .example("Then each running pod sees 1 GPU and 1 MIG device");
    steps
        .add(Kind::Then, "each running pod sees {count} GPU(s) and no MIG device", |world, args| Box::pin(sees(world, args.count(), 0)))
        .doc("`nvidia-smi -L` in each running pod lists exactly that many whole GPUs, those that its claim holds.")
        .example("Then each running pod sees 1 GPU and no MIG device");
}

async fn claim_profile(world: &mut World, args: &Args, count: usize) -> StepResult {
    for _ in 0..count {
        world
            .claim(Ask::Profile(args.text("profile").to_owned()), None)
            .await?;
    }
    Ok(())
}

async fn claim_whole(world: &mut World, _: &Args) -> StepResult {
    world.claim(Ask::WholeCard, None).await
}

async fn claim_in_turn(world: &mut World, args: &Args) -> StepResult {
    for profile in args.column("profile") {
        in_turn(world, Ask::Profile(profile)).await?;
    }
    Ok(())
}

/// Creates a pod alone: what is taken before is known, and the next one comes when this one is settled.
pub(super) async fn in_turn(world: &mut World, ask: Ask) -> StepResult {
    let before = world
        .look()
        .await?
        .held
        .iter()
        .map(|held| (held.pool.clone(), held.device.clone()))
        .collect();
    world.claim(ask, Some(before)).await?;
    settle(world).await.map(|_| ())
}

async fn one_ends(world: &mut World, _: &Args) -> StepResult {
    let sight = world.look().await?;
    let oldest = sight.running().first().map(|pod| (*pod).to_owned());
    match oldest {
        Some(pod) => world.end(&pod).await,
        None => {
            Err(Failure::new("no pod can end").versus("at least one running pod", sight.lines()))
        }
    }
}

async fn all_end(world: &mut World, _: &Args) -> StepResult {
    let pods: Vec<String> = world
        .made
        .iter()
        .filter(|made| !made.ended)
        .map(|made| made.pod.clone())
        .collect();
    for pod in &pods {
        world.delete(pod).await?;
    }
    world.gone(&pods, Duration::from_secs(45)).await
}

/// Waits until nobody is on the way; fails where nothing will come of a pod.
pub(super) async fn settle(world: &World) -> Result<Sight, Failure> {
    world
        .until(UP, "every pod runs or has been refused", async || {
            let sight = world.look().await?;
            if let Some(dead) = sight.dead() {
                return Err(Failure::new(format!("{} will not run", dead.name))
                    .versus("a running pod", dead.line()));
            }
            // The API server may not list a pod that was created a moment ago only if it lost it.
            Ok(if sight.settled() {
                Probe::Ready(sight)
            } else {
                Probe::NotYet(sight.short())
            })
        })
        .await
}

/// Waits until `count` pods run and nobody is on the way.
async fn running(world: &World, count: usize) -> Result<Sight, Failure> {
    let start = tokio::time::Instant::now();
    let wrong = |sight: &Sight| {
        Failure::new("another number of pods runs").versus(
            format!("{count} running"),
            format!("{} running\n{}", sight.running().len(), sight.lines()),
        )
    };
    loop {
        let sight = settle(world).await?;
        let seen = sight.running().len();
        // Too many is final. Too few may not be: the scheduler tries a refused pod again when something is freed.
        if seen == count {
            return Ok(sight);
        }
        if seen > count || start.elapsed() > Duration::from_secs(15) {
            return Err(wrong(&sight));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn run(world: &mut World, args: &Args) -> StepResult {
    running(world, args.count()).await.map(|_| ())
}

async fn run_apart(world: &mut World, args: &Args) -> StepResult {
    let sight = running(world, args.count()).await?;
    let pools = world.published().await?;
    let mut wrong = Vec::new();
    let mut owners: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for pod in sight.running() {
        let devices = sight.devices_of(pod);
        let wanted = match world.ask_of(pod) {
            Some(Ask::Profile(profile)) => Some(profile.as_str()),
            _ => None,
        };
        if devices.len() != 1 {
            wrong.push(format!("{pod} holds {} devices", devices.len()));
        }
        for held in devices {
            owners
                .entry((held.pool.clone(), held.device.clone()))
                .or_default()
                .push(pod.to_owned());
            let published = pools
                .iter()
                .filter(|pool| pool.pool == held.pool)
                .flat_map(|pool| &pool.devices)
                .find(|it| it.name == held.device);
            match published {
                None => wrong.push(format!(
                    "{pod} holds {}, which is not published",
                    held.device
                )),
                Some(device) if device.kind() != "mig" => wrong.push(format!(
                    "{pod} holds {}, which is no partition",
                    held.device
                )),
                Some(device) if wanted.is_some_and(|wanted| wanted != device.profile()) => {
                    wrong.push(format!(
                        "{pod} asked for {} and holds {} ({})",
                        wanted.unwrap_or_default(),
                        device.profile(),
                        held.device
                    ));
                }
                Some(_) => {}
            }
        }
    }
    for ((_, device), pods) in owners.iter().filter(|(_, pods)| pods.len() > 1) {
        wrong.push(format!(
            "{device} is given to {} at once",
            pods.join(" and ")
        ));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(
        Failure::new("the pods do not have a partition each").versus(
            "one partition of the claimed profile for each pod, none twice",
            wrong.join("\n"),
        ),
    )
}

async fn wait(world: &mut World, args: &Args) -> StepResult {
    let (count, text) = (args.count(), args.text("text"));
    let sight = settle(world).await?;
    let waiting = sight.waiting();
    if waiting.len() != count {
        return Err(Failure::new("another number of pods waits").versus(
            format!("{count} waiting"),
            format!("{} waiting\n{}", waiting.len(), sight.lines()),
        ));
    }
    let other: Vec<String> = waiting
        .iter()
        .filter(|(_, why)| !why.contains(text))
        .map(|(pod, why)| format!("{pod}: {why}"))
        .collect();
    if !other.is_empty() {
        return Err(Failure::new("the scheduler gives another reason")
            .versus(format!("… {text} …"), other.join("\n")));
    }
    world.waiting = waiting.iter().map(|(pod, _)| (*pod).to_owned()).collect();
    Ok(())
}

async fn waiting_runs(world: &mut World, args: &Args) -> StepResult {
    if world.waiting.is_empty() {
        return Err(Failure::new("no step before has found a pod waiting")
            .help("write `Then 1 pod waits, and the scheduler says it …` before"));
    }
    let pods = world.waiting.clone();
    world
        .until(args.duration(), "the waiting pod runs", async || {
            let sight = world.look().await?;
            let of: Vec<_> = sight
                .pods
                .iter()
                .filter(|pod| pods.contains(&pod.name))
                .collect();
            if let Some(dead) = of.iter().find(|pod| matches!(pod.state, State::Dead(_))) {
                return Err(Failure::new(format!("{} will not run", dead.name))
                    .versus("a running pod", dead.line()));
            }
            let all = of.len() == pods.len() && of.iter().all(|pod| pod.runs());
            Ok(if all {
                Probe::Ready(())
            } else {
                Probe::NotYet(
                    of.iter()
                        .map(|pod| pod.line())
                        .collect::<Vec<_>>()
                        .join("; "),
                )
            })
        })
        .await?;
    world.waiting.clear();
    Ok(())
}

async fn sees(world: &mut World, gpus: usize, migs: usize) -> StepResult {
    let sight = settle(world).await?;
    let running = sight.running();
    if running.is_empty() {
        return Err(Failure::new("no pod runs that could see anything")
            .versus("at least one running pod", sight.lines()));
    }
    let cards = world.cards().await?;
    let listings = join_all(running.iter().map(|pod| listing(world, pod, None))).await;
    let mut wrong = Vec::new();
    let mut owners: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (pod, listing) in running.iter().zip(listings) {
        let listing = listing?;
        if listing.gpus.len() != gpus || listing.migs.len() != migs {
            wrong.push(format!(
                "{pod}: {} GPUs, {} MIG devices",
                listing.gpus.len(),
                listing.migs.len()
            ));
        }
        for uuid in listing.devices(migs > 0) {
            owners.entry(uuid.to_owned()).or_default().push(pod);
        }
        let mut given = given(&sight, pod, &cards);
        let mut listed: Vec<String> = listing
            .devices(migs > 0)
            .into_iter()
            .map(str::to_owned)
            .collect();
        if let Some(Ask::Resource(_)) = world.ask_of(pod) {
            // Which device the kubelet gave is between it and the plugin; it must be one of the node.
            let known = on_cards(&cards);
            given = listed
                .iter()
                .filter(|uuid| known.contains(uuid))
                .cloned()
                .collect();
        }
        given.sort();
        listed.sort();
        if given != listed {
            wrong.push(format!(
                "{pod}: its claim holds {}, it sees {}",
                or_nothing(&given),
                or_nothing(&listed)
            ));
        }
    }
    for (uuid, pods) in owners.iter().filter(|(_, pods)| !together(&sight, pods)) {
        wrong.push(format!("{uuid} is seen by {}", pods.join(" and ")));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(
        Failure::new("the pods see something else than they claimed")
            .versus(
                format!(
                    "{gpus} GPU and {migs} MIG devices in each, those of its claim, none twice"
                ),
                wrong.join("\n"),
            )
            .help("kubectl exec -n NAMESPACE POD -- nvidia-smi -L shows it"),
    )
}

pub(super) async fn listing(
    world: &World,
    pod: &str,
    container: Option<&str>,
) -> Result<Listing, Failure> {
    let output = world
        .testbed()
        .exec(world.namespace(), pod, container, &["nvidia-smi", "-L"])
        .await
        .map_err(|error| Failure::new(format!("cannot run nvidia-smi -L in {pod}: {error}")))?;
    if output.code.is_some_and(|code| code != 0) {
        return Err(output.failure(&format!("nvidia-smi -L failed in {pod}")));
    }
    smi::parse(&output.stdout).map_err(|line| {
        Failure::new(format!(
            "nvidia-smi -L in {pod} prints what nobody can read"
        ))
        .versus("a list of GPUs and MIG devices", line)
    })
}

/// UUIDs that the node's NVML has for the devices that the claims of `pod` hold.
fn given(sight: &Sight, pod: &str, nodes: &[NodeCards]) -> Vec<String> {
    sight
        .devices_of(pod)
        .into_iter()
        .flat_map(|held| {
            let missing = vec![format!("{}, which is not on the card", held.device)];
            let find = |minor: u32| -> Option<&CardState> {
                nodes
                    .iter()
                    .find(|node| node.node == held.pool)?
                    .cards
                    .iter()
                    .find(|card| card.minor == minor)
            };
            match named(&held.device) {
                Some(Named::Whole { minor }) => {
                    find(minor).map_or(missing, |card| vec![card.uuid.clone()])
                }
                Some(Named::Partition {
                    minor,
                    profile_id,
                    start,
                }) => find(minor)
                    .and_then(|card| {
                        card.instances
                            .iter()
                            .find(|it| it.profile_id == profile_id && it.start == start)
                    })
                    .map_or(missing, |instance| instance.mig_uuids.clone()),
                None => missing,
            }
        })
        .collect()
}

/// Every UUID that NVML has on the nodes.
fn on_cards(nodes: &[NodeCards]) -> Vec<String> {
    let cards = nodes.iter().flat_map(|node| &node.cards);
    cards
        .flat_map(|card| {
            let parts = card
                .instances
                .iter()
                .flat_map(|part| part.mig_uuids.clone());
            parts.chain([card.uuid.clone()])
        })
        .collect()
}

/// Pods that may see the same device: they share a claim, or look on by admin access.
fn together(sight: &Sight, pods: &[&str]) -> bool {
    let looks_on = |pod: &str| sight.devices_of(pod).iter().any(|held| held.admin);
    let claims = |pod: &str| -> Vec<String> {
        let held = sight.devices_of(pod);
        held.iter().map(|held| held.claim.clone()).collect()
    };
    let mut others = pods.iter().filter(|pod| !looks_on(pod));
    let Some(first) = others.next() else {
        return true;
    };
    let first = claims(first);
    others.all(|pod| claims(pod).iter().any(|claim| first.contains(claim)))
}

fn or_nothing(uuids: &[String]) -> String {
    if uuids.is_empty() {
        "nothing".to_owned()
    } else {
        uuids.join(", ")
    }
}
