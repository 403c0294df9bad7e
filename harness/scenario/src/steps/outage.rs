//! What befalls more than the driver: the whole node, the API server, what is published.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::resource::v1::ResourceSlice;
use kube::api::{Api, DeleteParams, ListParams};
use report::Failure;

use super::life::change;
use crate::layouts::{Layout, shown};
use crate::parameters::list;
use crate::registry::{Args, Kind, Registry, StepResult};
use crate::testbed::{ApiServerEvent, NodeEvent};
use crate::wait::{Probe, in_vain};
use crate::world::{World, api};

pub(super) fn register(steps: &mut Registry) {
    let limit = Duration::from_secs(180);
    steps
        .add(Kind::When, "the node reboots", |world, args| Box::pin(reboot(world, args)))
        .doc("Every process of the node ends, those of pods too, and it boots again under another boot id: /var is as it was, /run is empty, no card has an instance, and MIG mode is on only where boards keep it (before Hopper). Returns when its kubelet has registered the driver.")
        .example("When the node reboots")
        .timeout(limit);
    steps
        .add(Kind::When, "the API server is killed", |world, args| Box::pin(api_killed(world, args)))
        .doc("The API server is killed and stays dead until a step or the end of the scenario starts it again. Until then only steps about the cards of the node can be played.")
        .example("When the API server is killed");
    steps
        .add(Kind::When, "the API server starts again", |world, args| {
            Box::pin(api_revived(world, args))
        })
        .doc("The API server that was killed starts again, and says that it is ready.")
        .example("When the API server starts again")
        .timeout(limit);
    steps
        .add(Kind::When, "the ResourceSlices of the node are deleted", |world, args| Box::pin(withdrawn(world, args)))
        .doc("All that the node's drivers have published is deleted; a driver that lives publishes it anew.")
        .example("When the ResourceSlices of the node are deleted");
    steps
        .add(
            Kind::Then,
            "the node offers nothing within {duration}",
            |world, args| Box::pin(nothing_offered(world, args)),
        )
        .doc("No ResourceSlice of the node is there in time.")
        .example("Then the node offers nothing within 60 seconds")
        .timeout(Duration::from_secs(3700));
    steps
        .add(
            Kind::Then,
            "the node offers its cards again within {duration}",
            |world, args| Box::pin(offered_again(world, args)),
        )
        .doc("The node's pool is there and whole in time: all slices of its newest generation.")
        .example("Then the node offers its cards again within 30 seconds")
        .timeout(Duration::from_secs(3700));
    steps
        .add(Kind::Then, "the cards of the node are cut into {layout} within {duration}", |world, args| Box::pin(cut_into(world, args)))
        .doc("NVML has exactly these GPU instances on the cards of the node in time. Kubernetes is not asked.")
        .example("Then the cards of the node are cut into \"3g.20gb, 1g.5gb\" within 20 seconds")
        .timeout(Duration::from_secs(3700));
}

async fn reboot(world: &mut World, _: &Args) -> StepResult {
    let node = world.the_node()?.name.clone();
    change(world, &node, NodeEvent::Rebooted).await
}

async fn api_killed(world: &mut World, _: &Args) -> StepResult {
    // Noted before: the tear-down must know of what was begun, too.
    world.without_api = true;
    let done = world.testbed().api_server(ApiServerEvent::Killed).await;
    done.map_err(|error| Failure::new(error.message))
}

async fn api_revived(world: &mut World, _: &Args) -> StepResult {
    let done = world.testbed().api_server(ApiServerEvent::Revived).await;
    done.map_err(|error| Failure::new(error.message))?;
    world.without_api = false;
    Ok(())
}

fn of_node(node: &str) -> ListParams {
    ListParams::default().fields(&format!("spec.nodeName={node}"))
}

async fn slices(world: &World) -> Result<Vec<ResourceSlice>, Failure> {
    let node = &world.the_node()?.name;
    let all: Api<ResourceSlice> = Api::all(world.testbed().client());
    let list = all.list(&of_node(node)).await;
    Ok(list
        .map_err(|error| api("list the ResourceSlices", &error))?
        .items)
}

async fn withdrawn(world: &mut World, _: &Args) -> StepResult {
    let node = &world.the_node()?.name;
    let all: Api<ResourceSlice> = Api::all(world.testbed().client());
    all.delete_collection(&DeleteParams::default(), &of_node(node))
        .await
        .map(drop)
        .map_err(|error| api(&format!("delete the ResourceSlices of {node}"), &error))
}

async fn nothing_offered(world: &mut World, args: &Args) -> StepResult {
    let what = "the node offers nothing";
    world
        .until(args.duration(), what, async || {
            let left = slices(world).await?.len();
            Ok(match left {
                0 => Probe::Ready(()),
                left => Probe::NotYet(format!("{left} ResourceSlices")),
            })
        })
        .await
}

async fn offered_again(world: &mut World, args: &Args) -> StepResult {
    let what = "the node offers its cards again";
    world
        .until(args.duration(), what, async || {
            let slices = slices(world).await?;
            let newest = slices.iter().map(|it| it.spec.pool.generation).max();
            let Some(newest) = newest else {
                return Ok(Probe::NotYet("no ResourceSlice".to_owned()));
            };
            let pool: Vec<&ResourceSlice> = slices
                .iter()
                .filter(|it| it.spec.pool.generation == newest)
                .collect();
            let wanted = pool
                .first()
                .map_or(0, |it| it.spec.pool.resource_slice_count);
            Ok(if pool.len() as i64 == wanted {
                Probe::Ready(())
            } else {
                Probe::NotYet(format!("{} of {wanted} ResourceSlices", pool.len()))
            })
        })
        .await
}

async fn cut_into(world: &mut World, args: &Args) -> StepResult {
    let node = world.the_node()?.name.clone();
    let mut wanted = Layout::new();
    for profile in list(args.text("layout")) {
        *wanted.entry(profile.to_owned()).or_default() += 1;
    }
    // Not by `World::until`: the API server, which that asks where it waits in vain, may be dead.
    let waited = crate::wait::until(
        args.duration(),
        "the cards are cut",
        |_| {},
        async || {
            let mut cut: Layout = BTreeMap::new();
            let cards = world.cards().await?;
            let of_node = cards.iter().filter(|it| it.node == node);
            for instance in of_node
                .flat_map(|it| &it.cards)
                .flat_map(|it| &it.instances)
            {
                *cut.entry(instance.profile.clone()).or_default() += 1;
            }
            Ok(if cut == wanted {
                Probe::Ready(())
            } else {
                Probe::NotYet(if cut.is_empty() {
                    "nothing".to_owned()
                } else {
                    shown(&cut)
                })
            })
        },
    )
    .await;
    waited.map_err(|failure| {
        in_vain(failure, |seen| {
            Failure::new("the cards are cut otherwise").versus(shown(&wanted), seen)
        })
    })
}
