//! Nodes and what they offer.

use std::collections::BTreeMap;
use std::time::Duration;

use cluster::{MigStrategy, Offer};
use gpu_model::Catalog;
use report::Failure;

use super::{device_plugin, gates};
use crate::allocation::{Named, PublishedPool, named};
use crate::registry::{Args, BlockWish, Kind, Registry, StepResult};
use crate::testbed::NodeWish;
use crate::wait::{Probe, in_vain};
use crate::world::World;

const PARTITIONABLE: &str = "a node with {count} {model} in MIG mode";
const PLAIN: &str = "a node with {count} {model}";
const BESIDE: &str = "a node with {count} {model} in MIG mode and {count} {model}";
const NODES: &str = "these nodes:";

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
        .add(Kind::Given, BESIDE, |world, args| Box::pin(beside(world, args)))
        .doc("The cluster has one node with these cards, those of the second model beside those of the first; MIG mode is on on every card that has it, so the second model is one without.")
        .example("Given a node with 1 \"A100-SXM4-40GB\" in MIG mode and 1 \"L40S\"")
        .timeout(limit);
    steps
        .add(Kind::Given, NODES, |world, args| Box::pin(these(world, args)))
        .doc("The cluster has exactly these nodes, a row for each kind of card on them. MIG mode is on or off for a whole node, and its cards are offered by the \"DRA driver\" or the \"device plugin\".")
        .block(BlockWish::Table(&[
            ("node", "name"),
            ("cards", "count"),
            ("model", "model"),
            ("MIG", "onoff"),
            ("offered by", "offer"),
        ]))
        .example("Given these nodes:\n  | node   | cards | model          | MIG | offered by    |\n  | node-1 | 1     | A100-SXM4-40GB | on  | DRA driver    |\n  | node-2 | 2     | A100-SXM4-40GB | off | device plugin |")
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
        BESIDE => Some(two_models(args)),
        NODES => Some(table(args)),
        other => device_plugin::nodes_of(other, args).or_else(|| gates::nodes_of(other, args)),
    }
}

pub(super) fn wish(args: &Args, mig: bool) -> Vec<NodeWish> {
    vec![NodeWish {
        name: "node-1".to_owned(),
        cards: vec![(args.text("model").to_owned(), args.count())],
        mig,
        cut: Vec::new(),
        offer: cluster::Offer::default(),
        driver_gates: BTreeMap::new(),
    }]
}

fn two_models(args: &Args) -> Vec<NodeWish> {
    let mut nodes = wish(args, true);
    let models = args.texts("model").into_iter().map(str::to_owned);
    for node in &mut nodes {
        node.cards = models.clone().zip(args.counts()).collect();
    }
    nodes
}

async fn beside(world: &mut World, args: &Args) -> StepResult {
    let second = args.texts("model").get(1).copied().unwrap_or_default();
    let mig = Catalog::builtin()
        .model(second)
        .is_ok_and(|model| model.spec().mig.is_some());
    if mig {
        return Err(
            Failure::new(format!("{second} has MIG mode, too, and it would be on"))
                .help("name a card without MIG second, as \"L40S\""),
        );
    }
    world.shape(two_models(args)).await
}

fn offer(written: &str) -> Offer {
    match written {
        "device plugin" => Offer::DevicePlugin(MigStrategy::None),
        _ => Offer::DraDriver,
    }
}

fn table(args: &Args) -> Vec<NodeWish> {
    let mut nodes: Vec<NodeWish> = Vec::new();
    let cards = args
        .column("cards")
        .into_iter()
        .map(|count| count.parse().unwrap_or(0));
    let cards: Vec<(String, usize)> = args.column("model").into_iter().zip(cards).collect();
    let (mig, offers) = (args.column("MIG"), args.column("offered by"));
    for (at, name) in args.column("node").into_iter().enumerate() {
        let cards = cards[at].clone();
        if let Some(node) = nodes.iter_mut().find(|node| node.name == name) {
            node.cards.push(cards);
            continue;
        }
        nodes.push(NodeWish {
            name,
            cards: vec![cards],
            mig: mig[at] == "on",
            cut: Vec::new(),
            offer: offer(&offers[at]),
            driver_gates: BTreeMap::new(),
        });
    }
    nodes
}

async fn these(world: &mut World, args: &Args) -> StepResult {
    let nodes = table(args);
    let (mig, offers) = (args.column("MIG"), args.column("offered by"));
    for (at, name) in args.column("node").iter().enumerate() {
        let node = nodes.iter().find(|node| node.name == *name);
        if node
            .is_some_and(|node| node.mig != (mig[at] == "on") || node.offer != offer(&offers[at]))
        {
            return Err(Failure::new(format!(
                "the rows of {name} do not agree on MIG mode or on who offers its cards"
            ))
            .help("both are of a whole node: write the same in each of its rows"));
        }
    }
    world.shape(nodes).await
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
