//! Every layout that a card can have, reached through claims, and the ones that it cannot have, refused.

use std::collections::BTreeMap;
use std::time::Duration;

use gpu_model::{Catalog, GpuIndex, Machine, Options};
use report::Failure;
use serde_json::{Value, json};

use super::pod::settle;
use crate::layouts::{self, Layout, Layouts};
use crate::registry::{Args, Kind, Registry, StepResult};
use crate::sight::State;
use crate::wait::Probe;
use crate::world::World;

/// How long one layout may take, from its claim to the clean card.
const EACH: Duration = Duration::from_secs(45);

pub(super) fn register(steps: &mut Registry) {
    let long = Duration::from_secs(900);
    steps
        .add(Kind::Then, "every maximal layout of the card can be claimed, and nothing fits beside it", |world, args| {
            Box::pin(maximal(world, args))
        })
        .doc("For each layout beside which no further partition fits, by the catalogue: one claim asks for all of it and its pod runs; NVML has exactly these GPU instances; a claim for any partition then waits. The first card of the node, which nobody uses.")
        .example("Then every maximal layout of the card can be claimed, and nothing fits beside it")
        .timeout(long);
    steps
        .add(Kind::Then, "{count} maximal layouts, spread evenly over all {count} of the card, can be claimed, and nothing fits beside them", |world, args| {
            Box::pin(some(world, args))
        })
        .doc("The same for so many of them as a sample: the first, the last and what lies at even distances between, in the order of their names. The second number says how many there are, and must be right.")
        .example("Then 12 maximal layouts, spread evenly over all 79 of the card, can be claimed, and nothing fits beside them")
        .timeout(long);
    steps
        .add(Kind::Then, "no layout beyond those of the card can be claimed", |world, args| Box::pin(beyond(world, args)))
        .doc("For each layout that does not fit although each with one partition less does, by the catalogue: a claim that asks for all of it waits on the empty card.")
        .example("Then no layout beyond those of the card can be claimed")
        .timeout(long);
}

/// The layouts of the first card.
fn of(world: &World) -> Result<Layouts, Failure> {
    let node = world.the_node()?;
    let (model, _) = node
        .cards
        .first()
        .ok_or_else(|| Failure::new("the node has no card"))?;
    let catalog = Catalog::builtin();
    let card = catalog
        .model(model)
        .map_err(|error| Failure::new(error.to_string()))?;
    let options = Options {
        mig: true,
        ..Options::default()
    };
    let found = layouts::of(&Machine::build(&[(card, 1)], &options), GpuIndex(0));
    if found.maximal.is_empty() {
        return Err(Failure::new(format!("{model} cannot be partitioned")));
    }
    Ok(found)
}

/// `spec.devices` of a claim for a whole layout.
fn claim(layout: &Layout) -> Value {
    let requests: Vec<Value> = layout
        .iter()
        .enumerate()
        .map(|(at, (profile, count))| {
            let expression =
                format!("device.attributes[\"gpu.nvidia.com\"].profile == \"{profile}\"");
            json!({ "name": format!("r{at}"), "exactly": {
                "deviceClassName": "mig.nvidia.com", "count": count,
                "selectors": [{ "cel": { "expression": expression } }]
            } })
        })
        .collect();
    json!({ "requests": requests })
}

async fn maximal(world: &mut World, _: &Args) -> StepResult {
    let layouts = of(world)?.maximal;
    claimed(world, &layouts).await
}

async fn some(world: &mut World, args: &Args) -> StepResult {
    let layouts = of(world)?.maximal;
    let [some, all] = args.counts()[..] else {
        return Err(Failure::new("two numbers are needed"));
    };
    if layouts.len() != all {
        return Err(
            Failure::new("the card has another number of maximal layouts")
                .versus(all.to_string(), layouts.len().to_string())
                .help("they follow from the catalogue: write the number that it gives"),
        );
    }
    claimed(world, &layouts::spread(&layouts, some)).await
}

/// Claims each layout at once, looks at the card, and lets a claim for any partition be refused beside it.
async fn claimed(world: &mut World, layouts: &[Layout]) -> StepResult {
    let any = json!({ "requests": [{ "name": "any", "exactly": { "deviceClassName": "mig.nvidia.com" } }] });
    for (at, layout) in layouts.iter().enumerate() {
        let what = format!(
            "layout {} of {}: {}",
            at + 1,
            layouts.len(),
            layouts::shown(layout)
        );
        let (pod, beside) = (format!("layout-{at}"), format!("beside-{at}"));
        world.claim_devices(Some(&pod), &claim(layout)).await?;
        runs(world, &pod, &what).await?;
        let mut cut = Layout::new();
        let cards = world.cards().await?;
        let instances = cards
            .iter()
            .flat_map(|node| &node.cards)
            .flat_map(|card| &card.instances);
        for instance in instances {
            *cut.entry(instance.profile.clone()).or_default() += 1;
        }
        if cut != *layout {
            return Err(Failure::new(format!("{what}: the card is cut otherwise"))
                .versus(layouts::shown(layout), layouts::shown(&cut)));
        }
        world.claim_devices(Some(&beside), &any).await?;
        refused(
            world,
            &BTreeMap::from([(beside.clone(), format!("any partition beside {what}"))]),
        )
        .await?;
        end(world, &[beside, pod]).await?;
    }
    Ok(())
}

async fn beyond(world: &mut World, _: &Args) -> StepResult {
    let layouts = of(world)?.beyond;
    let mut pods = BTreeMap::new();
    for (at, layout) in layouts.iter().enumerate() {
        let pod = format!("beyond-{at}");
        world.claim_devices(Some(&pod), &claim(layout)).await?;
        pods.insert(pod, layouts::shown(layout));
    }
    refused(world, &pods).await?;
    let names: Vec<String> = pods.into_keys().collect();
    end(world, &names).await
}

async fn end(world: &mut World, pods: &[String]) -> StepResult {
    for pod in pods {
        world.delete(pod).await?;
    }
    world.gone(pods, EACH).await
}

async fn runs(world: &World, pod: &str, what: &str) -> StepResult {
    world
        .until(EACH, what, async || {
            let sight = world.look().await?;
            let found = sight.pods.iter().find(|it| it.name == pod);
            match found.map(|it| &it.state) {
                Some(State::Running) => Ok(Probe::Ready(())),
                Some(State::Dead(why)) => Err(Failure::new(what).versus("a running pod", why)),
                // Claims of the pod before may not be released yet: the scheduler tries again by itself.
                _ => Ok(Probe::NotYet(sight.short())),
            }
        })
        .await
}

/// Waits until the scheduler has refused each of the pods. By name: what was asked for.
async fn refused(world: &World, pods: &BTreeMap<String, String>) -> StepResult {
    let sight = settle(world).await?;
    let running: Vec<&str> = sight
        .running()
        .into_iter()
        .filter_map(|pod| pods.get(pod).map(String::as_str))
        .collect();
    if !running.is_empty() {
        return Err(Failure::new("the scheduler gives out what does not fit")
            .versus("these wait", running.join("\n")));
    }
    let waiting = sight.waiting();
    let missing: Vec<&String> = pods
        .keys()
        .filter(|pod| !waiting.iter().any(|(it, _)| it == pod))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::new("a pod neither runs nor waits")
        .versus(format!("{missing:?} wait"), sight.lines()))
}
