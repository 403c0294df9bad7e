//! Nodes and what they offer.

use std::time::Duration;

use report::Failure;

use super::device_plugin;
use crate::allocation::{Named, PublishedPool, named};
use crate::registry::{Args, Kind, Registry, StepResult};
use crate::testbed::NodeWish;
use crate::wait::{Probe, in_vain};
use crate::world::World;

const PARTITIONABLE: &str = "a node with {count} {model} in MIG mode";
const PLAIN: &str = "a node with {count} {model}";

pub(super) fn register(steps: &mut Registry) {
    // Making a node takes as long as a kubelet, a container runtime and a driver need to start.
    let limit = Duration::from_secs(120);
    steps
        .add(Kind::Given, PARTITIONABLE, |world, args| Box::pin(a_node(world, args, true)))
        .doc("The cluster has one node with these cards, MIG mode on since boot, nothing cut, and its driver has published them.")
        .example("Given a node with 1 \"A100-SXM4-40GB\" in MIG mode")
        .timeout(limit);
    steps
        .add(Kind::Given, PLAIN, |world, args| Box::pin(a_node(world, args, false)))
        .doc("The cluster has one node with these cards, MIG mode off, and its driver has published them.")
        .example("Given a node with 1 \"H100-SXM5-80GB\"")
        .timeout(limit);
    steps
        .add(
            Kind::Then,
            "the node offers {count} whole card(s) and no partition",
            |world, args| Box::pin(only_whole(world, args)),
        )
        .doc("The driver has published that many whole cards and not a single partition.")
        .example("Then the node offers 1 whole card and no partition");
    steps
        .add(
            Kind::Then,
            "the node offers partitions of {count} card(s) and no whole card",
            |world, args| Box::pin(only_partitions(world, args)),
        )
        .doc("The driver has published partitions of that many cards and not a single whole card.")
        .example("Then the node offers partitions of 1 card and no whole card");
    steps
        .add(
            Kind::Then,
            "the node offers {count} whole card(s) and partitions of each",
            |world, args| Box::pin(both(world, args)),
        )
        .doc("The driver has published that many whole cards, and partitions of each of them.")
        .example("Then the node offers 1 whole card and partitions of each");
}

/// The nodes for which a step asks, where it asks for some: with it a run can start the cluster in that shape.
pub(crate) fn nodes_of(expression: &str, args: &Args) -> Option<Vec<NodeWish>> {
    match expression {
        PARTITIONABLE => Some(wish(args, true)),
        PLAIN => Some(wish(args, false)),
        other => device_plugin::nodes_of(other, args),
    }
}

pub(super) fn wish(args: &Args, mig: bool) -> Vec<NodeWish> {
    vec![NodeWish {
        name: "node-1".to_owned(),
        cards: vec![(args.text("model").to_owned(), args.count())],
        mig,
        cut: Vec::new(),
        offer: cluster::Offer::default(),
    }]
}

async fn a_node(world: &mut World, args: &Args, mig: bool) -> StepResult {
    world.shape(wish(args, mig)).await
}

/// Minor numbers of the whole cards and of the cards with partitions.
fn offered(pools: &[PublishedPool]) -> (Vec<u32>, Vec<u32>) {
    let (mut whole, mut cut) = (Vec::new(), Vec::new());
    for device in pools.iter().flat_map(|pool| &pool.devices) {
        match named(&device.name) {
            Some(Named::Whole { minor }) if device.kind() == "gpu" => whole.push(minor),
            Some(Named::Partition { minor, .. }) if !cut.contains(&minor) => cut.push(minor),
            _ => {}
        }
    }
    whole.sort_unstable();
    cut.sort_unstable();
    (whole, cut)
}

async fn expect(
    world: &World,
    expected: &str,
    fits: impl Fn(&[u32], &[u32]) -> bool,
) -> StepResult {
    let look = async || {
        let pools = world.published().await?;
        let (whole, cut) = offered(&pools);
        let partitions = pools
            .iter()
            .flat_map(|pool| &pool.devices)
            .filter(|device| device.kind() == "mig")
            .count();
        let seen = format!(
            "{} whole cards, {partitions} partitions of {} cards",
            whole.len(),
            cut.len()
        );
        Ok(if fits(&whole, &cut) {
            Probe::Ready(())
        } else {
            Probe::NotYet(seen)
        })
    };
    world
        .until(Duration::from_secs(5), "what the node offers", look)
        .await
        .map_err(|failure| {
            in_vain(failure, |seen| {
                Failure::new("the node offers something else")
                    .versus(expected, seen)
                    .help("kubectl get resourceslices -o yaml shows what the driver published")
            })
        })
}

async fn only_whole(world: &mut World, args: &Args) -> StepResult {
    let count = args.count();
    expect(
        world,
        &format!("{count} whole cards, 0 partitions"),
        |whole, cut| whole.len() == count && cut.is_empty(),
    )
    .await
}

async fn only_partitions(world: &mut World, args: &Args) -> StepResult {
    let count = args.count();
    expect(
        world,
        &format!("0 whole cards, partitions of {count} cards"),
        |whole, cut| whole.is_empty() && cut.len() == count,
    )
    .await
}

async fn both(world: &mut World, args: &Args) -> StepResult {
    let count = args.count();
    expect(
        world,
        &format!("{count} whole cards, and partitions of the same cards"),
        |whole, cut| whole.len() == count && whole == cut,
    )
    .await
}
