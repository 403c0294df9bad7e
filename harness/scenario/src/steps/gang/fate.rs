//! What becomes of gangs, and what they hold meanwhile.

use std::time::Duration;

use k8s_openapi::api::resource::v1::ResourceClaim;
use kube::api::{Api, ListParams};
use report::Failure;

use super::{UP, gang, gangs, known};
use crate::gang::{Sight, Stuck};
use crate::registry::{Args, Kind, Registry, StepResult};
use crate::sight::State;
use crate::wait::{Probe, in_vain};
use crate::world::{World, api};

pub(super) fn register(steps: &mut Registry) {
    let long = Duration::from_secs(3700);
    steps
        .add(Kind::Then, "gang {name} runs", |world, args| Box::pin(runs(world, args, UP)))
        .doc("All its pods run within a minute, at least as many as must at once, and where this Kubernetes says anything of the group, it says that it is scheduled.")
        .example("Then gang \"train\" runs")
        .timeout(Duration::from_secs(120));
    steps
        .add(
            Kind::Then,
            "gang {name} runs within {duration}",
            |world, args| Box::pin(runs(world, args, args.duration())),
        )
        .doc("The same, within this time.")
        .example("Then gang \"train\" runs within 20 seconds")
        .timeout(long);
    steps
        .add(Kind::Then, "{count} pod(s) of gang {name} run(s) and {count} wait(s)", |world, args| Box::pin(some_run(world, args)))
        .doc("Exactly that many of its pods run, and exactly that many have no node and hold nothing.")
        .example("Then 3 pods of gang \"train\" run and 1 waits")
        .timeout(Duration::from_secs(120));
    steps
        .add(Kind::Then, "gang {name} waits, and the scheduler says it {text}", |world, args| Box::pin(waits(world, args)))
        .doc("No pod of the gang has a node, it holds no device, and what is said of the group or of one of its pods holds this text.")
        .example("Then gang \"train\" waits, and the scheduler says it \"minCount (3) cannot be satisfied\"")
        .timeout(Duration::from_secs(120));
    steps
        .add(Kind::Then, "gang {name} waits", |world, args| {
            Box::pin(waits(world, args))
        })
        .doc("No pod of the gang has a node, it holds no device, and somebody has said why.")
        .example("Then gang \"train\" waits")
        .timeout(Duration::from_secs(120));
    steps
        .add(
            Kind::Then,
            "gang {name} still waits after {duration}",
            |world, args| Box::pin(still_waits(world, args)),
        )
        .doc(
            "At every look during that time no pod of the gang has a node, and it holds no device.",
        )
        .example("Then gang \"train\" still waits after 10 seconds")
        .timeout(long);
    steps
        .add(
            Kind::Then,
            "gang {name} still runs after {duration}",
            |world, args| Box::pin(still_runs(world, args)),
        )
        .doc("At every look during that time as many of its pods run as must at once.")
        .example("Then gang \"train\" still runs after 10 seconds")
        .timeout(long);
    steps
        .add(Kind::Then, "exactly one of gangs {names} runs, and the others hold nothing", |world, args| Box::pin(one_runs(world, args)))
        .doc("Within a minute one of the gangs runs whole; no pod of another has a node, and none holds a device.")
        .example("Then exactly one of gangs \"red, blue\" runs, and the others hold nothing")
        .timeout(Duration::from_secs(120));
    steps
        .add(Kind::Then, "no partition is held by a gang that does not run", |world, args| Box::pin(no_deadlock(world, args)))
        .doc("The deadlock detector, over every gang of the cluster: whoever holds a device has as many pods running as must run at once, or has them within a minute. Counted are claims that are reserved for the gang or one of its pods, or made for them. What a scheduler keeps in its memory alone is not seen.")
        .example("Then no partition is held by a gang that does not run")
        .timeout(Duration::from_secs(120));
    steps
        .add(Kind::Then, "gang {name} holds {count} device(s) without running", |world, args| Box::pin(holds_in_vain(world, args)))
        .doc("The other side of the detector: for five seconds on end the gang holds that many devices while fewer of its pods run than must.")
        .example("Then gang \"train\" holds 2 devices without running")
        .timeout(Duration::from_secs(120));
    steps
        .add(
            Kind::Then,
            "gang {name} has no pod, and holds nothing",
            |world, args| Box::pin(empty(world, args)),
        )
        .doc("The gang is announced, no pod is a member of it, and no claim is allocated for it.")
        .example("Then gang \"ghost\" has no pod, and holds nothing");
    steps
        .add(Kind::Then, "all pods of gang {name} use one claim, and it holds {count} device(s)", |world, args| Box::pin(one_claim(world, args)))
        .doc("The gang has one allocated claim, with that many devices, and it is reserved for each of its pods, or for the group as a whole.")
        .example("Then all pods of gang \"train\" use one claim, and it holds 1 device");
}

/// Looks at one gang until it is as it should be. Fails at once where nothing will come of a pod.
async fn until(
    world: &World,
    name: &str,
    limit: Duration,
    what: &str,
    is: impl Fn(&Sight) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    world
        .until(limit, &format!("gang {name} {what}"), async || {
            let gang = gang(world, name).await?;
            for member in &gang.members {
                if let State::Dead(why) = &member.pod.state {
                    return Err(Failure::new(format!("{} will not run", member.pod.name))
                        .versus("a running pod", why));
                }
            }
            Ok(if is(&gang)? {
                Probe::Ready(())
            } else {
                Probe::NotYet(gang.lines())
            })
        })
        .await
}

async fn runs(world: &mut World, args: &Args, limit: Duration) -> StepResult {
    until(world, args.text("name"), limit, "runs", |gang| {
        let said = gang.said.as_ref().is_none_or(|said| said.scheduled);
        Ok(gang.runs() && gang.running() == gang.members.len() && said)
    })
    .await
}

async fn some_run(world: &mut World, args: &Args) -> StepResult {
    let counts = args.counts();
    let of = |at: usize| counts.get(at).copied().unwrap_or(0);
    until(
        world,
        args.text("name"),
        UP,
        "runs as far as it can",
        |gang| {
            let waiting = gang.members.len() - gang.bound();
            Ok(gang.running() == of(0) && waiting == of(1) && gang.held.len() == of(0))
        },
    )
    .await
}

/// No pod has a node, and nothing is held.
fn idle(gang: &Sight) -> bool {
    gang.bound() == 0 && gang.held.is_empty()
}

async fn waits(world: &mut World, args: &Args) -> StepResult {
    let text = args.text("text");
    let name = args.text("name");
    let waited = until(world, name, UP, "waits", |gang| {
        if gang.runs() {
            return Err(Failure::new(format!("gang {name} does not wait"))
                .versus("no pod of it has a node", gang.lines()));
        }
        let mut words = gang.words().into_iter().filter(|word| !word.is_empty());
        Ok(idle(gang) && words.any(|word| word.contains(text)))
    })
    .await;
    waited.map_err(|failure| {
        in_vain(failure, |seen| {
            Failure::new(format!("gang {name} does not wait as it should")).versus(
                format!("no pod has a node, nothing is held, and: … {text} …"),
                seen,
            )
        })
    })
}

/// Fails at the first look at which `wrong` is so.
async fn stays(
    world: &World,
    args: &Args,
    what: &str,
    wrong: impl Fn(&Sight) -> bool,
) -> StepResult {
    let name = args.text("name");
    let changed = world
        .until(args.duration(), "something changes", async || {
            let gang = gang(world, name).await?;
            Ok(if wrong(&gang) {
                Probe::Ready(gang.lines())
            } else {
                Probe::NotYet(String::new())
            })
        })
        .await;
    match changed {
        Ok(seen) => Err(Failure::new(format!("gang {name} does not go on so")).versus(what, seen)),
        Err(failure) if failure.last_state.is_some() => Ok(()),
        Err(failure) => Err(failure),
    }
}

async fn still_waits(world: &mut World, args: &Args) -> StepResult {
    let what = "no pod has a node, and nothing is held";
    stays(world, args, what, |gang| !idle(gang)).await
}

async fn still_runs(world: &mut World, args: &Args) -> StepResult {
    let what = "as many pods run as must at once";
    stays(world, args, what, |gang| !gang.runs()).await
}

async fn one_runs(world: &mut World, args: &Args) -> StepResult {
    let names = args.list("names");
    for name in &names {
        known(world, name)?;
    }
    world
        .until(UP, "exactly one of the gangs runs", async || {
            let mut seen = gangs(world).await?;
            // One that has ended is gone, and holds nothing.
            seen.retain(|gang| {
                gang.namespace == world.namespace() && names.contains(&gang.name.as_str())
            });
            let lines: Vec<String> = seen.iter().map(Sight::lines).collect();
            let running = seen.iter().filter(|gang| gang.runs()).count();
            if running > 1 {
                return Err(Failure::new("more than one of the gangs runs")
                    .versus("exactly one", lines.join("\n")));
            }
            let others = seen.iter().filter(|gang| !gang.runs());
            Ok(if running == 1 && others.into_iter().all(idle) {
                Probe::Ready(())
            } else {
                Probe::NotYet(lines.join("\n"))
            })
        })
        .await
}

async fn no_deadlock(world: &mut World, _: &Args) -> StepResult {
    let waited = world
        .until(UP, "no gang holds a device in vain", async || {
            let all = gangs(world).await?;
            if all.is_empty() {
                return Err(Failure::new("there is no gang")
                    .help("the detector proves nothing where nobody could block anybody"));
            }
            let stuck: Vec<String> = all
                .iter()
                .filter_map(Sight::stuck)
                .map(|it| it.line())
                .collect();
            Ok(if stuck.is_empty() {
                Probe::Ready(())
            } else {
                Probe::NotYet(stuck.join("\n"))
            })
        })
        .await;
    waited.map_err(|failure| {
        in_vain(failure, |seen| {
            Failure::new("a gang that does not run holds devices")
                .versus("whoever holds a device runs", seen)
        })
    })
}

async fn holds_in_vain(world: &mut World, args: &Args) -> StepResult {
    let (name, count) = (args.text("name"), args.count());
    let since = std::cell::Cell::new(None);
    until(world, name, UP, "holds devices without running", |gang| {
        let held = gang
            .stuck()
            .map_or(0, |Stuck { devices, .. }| devices.len());
        if held != count {
            since.set(None);
            return Ok(false);
        }
        let now = tokio::time::Instant::now();
        let began = since.get().unwrap_or(now);
        since.set(Some(began));
        Ok(now.duration_since(began) >= Duration::from_secs(5))
    })
    .await
}

async fn empty(world: &mut World, args: &Args) -> StepResult {
    let gang = gang(world, args.text("name")).await?;
    if gang.members.is_empty() && gang.held.is_empty() {
        return Ok(());
    }
    Err(Failure::new("the gang is not empty").versus("no pod, no device", gang.lines()))
}

async fn one_claim(world: &mut World, args: &Args) -> StepResult {
    let name = args.text("name");
    let gang = gang(world, name).await?;
    let mut used: Vec<&str> = gang.held.iter().map(|it| it.claim.as_str()).collect();
    used.dedup();
    let wrong = |seen: String| {
        Err(
            Failure::new(format!("the pods of gang {name} do not share a claim"))
                .versus(format!("one claim with {} device(s)", args.count()), seen),
        )
    };
    let ([claim], true) = (used.as_slice(), gang.held.len() == args.count()) else {
        return wrong(gang.lines());
    };
    let claims: Api<ResourceClaim> = Api::namespaced(world.testbed().client(), world.namespace());
    let list = claims
        .list(&ListParams::default())
        .await
        .map_err(|error| api("list the ResourceClaims", &error))?;
    let found = list
        .items
        .into_iter()
        .find(|it| it.metadata.name.as_deref() == Some(*claim));
    let users: Vec<String> = found
        .and_then(|claim| claim.status?.reserved_for)
        .into_iter()
        .flatten()
        .map(|user| format!("{}/{}", user.resource, user.name))
        .collect();
    let whole = users == [format!("podgroups/{name}")];
    let each = gang
        .members
        .iter()
        .all(|member| users.contains(&format!("pods/{}", member.pod.name)));
    if whole || (each && users.len() == gang.members.len()) {
        return Ok(());
    }
    wrong(format!("{claim} is reserved for {}", users.join(", ")))
}
