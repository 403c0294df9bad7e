//! Feature gates of the DRA driver: nodes on which it has others than the cluster's, and a restart with others.

use std::collections::BTreeMap;
use std::time::Duration;

use report::Failure;

use super::life::change;
use super::node::wish;
use crate::parameters::{list, to_gates};
use crate::registry::{Args, BlockWish, Kind, Registry, StepResult};
use crate::testbed::{NodeEvent, NodeWish};
use crate::world::World;

const WHOLE: &str = "a node with {count} {model} and the driver's feature gates {gates}";
const CUT: &str =
    "a node with {count} {model} cut into {layout} and the driver's feature gates {gates}";

const EACH: &str = "these nodes, each driver with feature gates of its own:";

pub(super) fn register(steps: &mut Registry) {
    let limit = Duration::from_secs(120);
    steps
        .add(Kind::Given, EACH, |world, args| Box::pin(each(world, args)))
        .doc("The cluster has exactly these nodes, a row for each, with MIG mode on or off; the DRA driver of each has these feature gates, the others are those of the cluster.")
        .block(BlockWish::Table(&[
            ("node", "name"),
            ("cards", "count"),
            ("model", "model"),
            ("MIG", "onoff"),
            ("gates", "gates"),
        ]))
        .example("Given these nodes, each driver with feature gates of its own:\n  | node   | cards | model          | MIG | gates            |\n  | node-1 | 1     | A100-SXM4-40GB | on  | DynamicMIG=true  |\n  | node-2 | 1     | A100-SXM4-40GB | off | DynamicMIG=false |")
        .timeout(limit);
    steps
        .add(Kind::Given, WHOLE, |world, args| Box::pin(a_node(world, args, false)))
        .doc("The cluster has one node with these cards, MIG mode off, and its DRA driver has these feature gates; the others are those of the cluster.")
        .example("Given a node with 1 \"A100-SXM4-40GB\" and the driver's feature gates \"TimeSlicingSettings=true\"")
        .timeout(limit);
    steps
        .add(Kind::Given, CUT, |world, args| Box::pin(a_node(world, args, true)))
        .doc("The same with each card in MIG mode and cut so since the boot, each GPU instance with one compute instance. A driver without DynamicMIG offers them as they are; one with it removes what no claim holds.")
        .example("Given a node with 1 \"A100-SXM4-40GB\" cut into \"3g.20gb, 3g.20gb\" and the driver's feature gates \"DynamicMIG=false, NVMLDeviceHealthCheck=true\"")
        .timeout(limit);
    steps
        .add(Kind::When, "the driver on the node is restarted with the feature gates {gates}", |world, args| Box::pin(regate(world, args)))
        .doc("The DRA driver ends and starts again with these feature gates beside the cluster's, until another step or the end of the scenario; the kubelet has registered it.")
        .example("When the driver on the node is restarted with the feature gates \"DynamicMIG=false\"")
        .timeout(limit);
    steps
        .add(Kind::When, "the driver on the node is restarted with the feature gates that it had", |world, args| Box::pin(as_before(world, args)))
        .doc("The DRA driver ends and starts again with the feature gates that the node was made with.")
        .example("When the driver on the node is restarted with the feature gates that it had")
        .timeout(limit);
}

pub(super) fn nodes_of(expression: &str, args: &Args) -> Option<Vec<NodeWish>> {
    match expression {
        WHOLE => Some(gated(args, false)),
        CUT => Some(gated(args, true)),
        EACH => Some(own(args)),
        _ => None,
    }
}

fn gates(args: &Args) -> BTreeMap<String, bool> {
    // The lint has let through only what can be read.
    to_gates(args.text("gates")).unwrap_or_default()
}

fn gated(args: &Args, cut: bool) -> Vec<NodeWish> {
    let mut nodes = wish(args, cut);
    for node in &mut nodes {
        node.driver_gates = gates(args);
        if cut {
            let layout = list(args.text("layout"));
            node.cut = layout.into_iter().map(str::to_owned).collect();
        }
    }
    nodes
}

fn own(args: &Args) -> Vec<NodeWish> {
    let columns = ["node", "cards", "model", "MIG", "gates"].map(|it| args.column(it));
    let [names, cards, models, mig, gates] = &columns;
    let node = |at: usize| NodeWish {
        name: names[at].clone(),
        cards: vec![(models[at].clone(), cards[at].parse().unwrap_or(1))],
        mig: mig[at] == "on",
        cut: Vec::new(),
        offer: cluster::Offer::default(),
        driver_gates: to_gates(&gates[at]).unwrap_or_default(),
    };
    (0..names.len()).map(node).collect()
}

async fn each(world: &mut World, args: &Args) -> StepResult {
    world.shape(own(args)).await
}

async fn a_node(world: &mut World, args: &Args, cut: bool) -> StepResult {
    world.shape(gated(args, cut)).await
}

async fn regate(world: &mut World, args: &Args) -> StepResult {
    let node = world.the_node()?;
    let mut all = node.driver_gates.clone();
    all.extend(gates(args));
    let node = node.name.clone();
    change(world, &node, NodeEvent::DriverRegated(all)).await
}

async fn as_before(world: &mut World, _: &Args) -> StepResult {
    let node = world.the_node()?;
    let (name, gates) = (node.name.clone(), node.driver_gates.clone());
    if !world.regated.contains(&name) {
        return Err(
            Failure::new("the driver has the feature gates that the node was made with")
                .help("write `When the driver on the node is restarted` for a restart as it is"),
        );
    }
    change(world, &name, NodeEvent::DriverRegated(gates)).await
}
