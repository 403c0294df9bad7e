//! The device plugin in place of the DRA driver: what it offers, who gets it, and the labels that go with it.

use std::collections::BTreeMap;
use std::time::Duration;

use cluster::{MigStrategy, Offer};
use report::Failure;

use super::node::wish;
use crate::registry::{Args, BlockWish, Kind, Registry, StepResult};
use crate::testbed::NodeWish;
use crate::wait::{Probe, in_vain};
use crate::world::World;

const WHOLE: &str =
    "a node with {count} {model} and the device plugin with MIG strategy {strategy}";
const CUT: &str = "a node with {count} {model} cut into {layout} and the device plugin with MIG strategy {strategy}";

/// How long the kubelet may take to tell the API what a plugin offers.
const LAG: Duration = Duration::from_secs(30);

pub(super) fn register(steps: &mut Registry) {
    let limit = Duration::from_secs(120);
    steps
        .add(Kind::Given, WHOLE, |world, args| Box::pin(a_node(world, args, false)))
        .doc("The cluster has one node with these cards, MIG mode off, and NVIDIA's device plugin in place of the DRA driver.")
        .example("Given a node with 2 \"A100-SXM4-40GB\" and the device plugin with MIG strategy \"none\"")
        .timeout(limit);
    steps
        .add(Kind::Given, CUT, |world, args| Box::pin(a_node(world, args, true)))
        .doc("The same with each card in MIG mode and cut so, each GPU instance with one compute instance.")
        .example("Given a node with 1 \"A100-SXM4-40GB\" cut into \"3g.20gb, 1g.5gb\" and the device plugin with MIG strategy \"mixed\"")
        .timeout(limit);
    steps
        .add(
            Kind::When,
            "a pod asks for one {resource}",
            |world, args| Box::pin(ask(world, args, 1)),
        )
        .doc(
            "A pod with a limit of one of this extended resource is created. Does not wait for it.",
        )
        .example("When a pod asks for one \"nvidia.com/mig-1g.5gb\"");
    steps
        .add(Kind::When, "{count} pods each ask for one {resource}", |world, args| Box::pin(ask(world, args, args.count())))
        .doc("That many pods with a limit of one of this extended resource are created at once. Does not wait for them.")
        .example("When 3 pods each ask for one \"nvidia.com/gpu\"");
    steps
        .add(Kind::Then, "the node's allocatable GPU resources are:", |world, args| Box::pin(allocatable(world, args)))
        .doc("The Node object offers exactly these extended resources of nvidia.com, the table's and no other.")
        .block(BlockWish::Table(&[("resource", "resource"), ("count", "count")]))
        .example("Then the node's allocatable GPU resources are:\n  | resource       | count |\n  | nvidia.com/gpu | 2     |");
    steps
        .add(Kind::Then, "node {name} offers {quantity} of {resource}", |world, args| Box::pin(node_offers(world, args)))
        .doc("The Node object of this name offers so much of an extended resource, as soon as its device plugin has told the kubelet, and that the API server.")
        .example("Then node \"node-2\" offers \"1\" of \"nvidia.com/gpu\"")
        .timeout(limit);
    steps
        .add(Kind::Then, "gpu-feature-discovery labels the node with:", |world, args| Box::pin(labels(world, args)))
        .doc("NVIDIA's gpu-feature-discovery, run once on the node with the same MIG strategy, writes these labels, among others.")
        .block(BlockWish::Table(&[("label", "text"), ("value", "text")]))
        .example("Then gpu-feature-discovery labels the node with:\n  | label                | value |\n  | nvidia.com/gpu.count | 2     |");
}

pub(super) fn nodes_of(expression: &str, args: &Args) -> Option<Vec<NodeWish>> {
    match expression {
        WHOLE => Some(plugin(args, false)),
        CUT => Some(plugin(args, true)),
        _ => None,
    }
}

fn plugin(args: &Args, cut: bool) -> Vec<NodeWish> {
    let asked = args.text("strategy");
    let strategy = MigStrategy::ALL
        .into_iter()
        .find(|strategy| strategy.name() == asked)
        // The lint has let through only those that there are.
        .unwrap_or(MigStrategy::None);
    let layout = || {
        args.text("layout")
            .split(',')
            .map(|profile| profile.trim().to_owned())
    };
    let mut nodes = wish(args, cut);
    for node in &mut nodes {
        node.offer = Offer::DevicePlugin(strategy);
        if cut {
            node.cut = layout().collect();
        }
    }
    nodes
}

async fn a_node(world: &mut World, args: &Args, cut: bool) -> StepResult {
    world.shape(plugin(args, cut)).await
}

async fn ask(world: &mut World, args: &Args, count: usize) -> StepResult {
    for _ in 0..count {
        world.ask(args.text("resource")).await?;
    }
    Ok(())
}

fn shown(resources: &BTreeMap<String, String>) -> String {
    let lines: Vec<String> = resources
        .iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    if lines.is_empty() {
        "none".to_owned()
    } else {
        lines.join("\n")
    }
}

async fn allocatable(world: &mut World, args: &Args) -> StepResult {
    let wanted: BTreeMap<String, String> = args
        .column("resource")
        .into_iter()
        .zip(args.column("count"))
        .collect();
    let nodes = world.node_objects();
    let name = world.the_node()?.name.clone();
    let look = async || {
        let node = nodes
            .get(&name)
            .await
            .map_err(|error| crate::world::api("get the node", &error))?;
        let all = node
            .status
            .and_then(|status| status.allocatable)
            .unwrap_or_default();
        // A resource whose plugin has gone stays for a while, with nothing of it.
        let seen: BTreeMap<String, String> = all
            .into_iter()
            .filter(|(name, count)| name.starts_with("nvidia.com/") && count.0 != "0")
            .map(|(name, count)| (name, count.0))
            .collect();
        Ok(if seen == wanted {
            Probe::Ready(())
        } else {
            Probe::NotYet(shown(&seen))
        })
    };
    world
        .until(LAG, "what the node offers", look)
        .await
        .map_err(|failure| {
            in_vain(failure, |seen| {
                Failure::new("the node offers other resources").versus(shown(&wanted), seen)
            })
        })
}

async fn node_offers(world: &mut World, args: &Args) -> StepResult {
    let (name, wanted, resource) = (
        args.text("name"),
        args.text("quantity"),
        args.text("resource"),
    );
    let nodes = world.node_objects();
    world
        .until(
            Duration::from_secs(60),
            &format!("{name} offers {resource}"),
            async || {
                let node = nodes
                    .get(name)
                    .await
                    .map_err(|error| crate::world::api("get the node", &error))?;
                let all = node
                    .status
                    .and_then(|status| status.allocatable)
                    .unwrap_or_default();
                let seen = all.get(resource).map_or("none", |amount| amount.0.as_str());
                Ok(if seen == wanted {
                    Probe::Ready(())
                } else {
                    Probe::NotYet(format!("{seen} of {resource}"))
                })
            },
        )
        .await
}

async fn labels(world: &mut World, args: &Args) -> StepResult {
    let node = world.the_node()?;
    let strategy = match node.offer {
        Offer::DevicePlugin(strategy) => strategy,
        Offer::DraDriver => MigStrategy::None,
    };
    let file = "/run/gpu-feature-discovery";
    let argv = [
        "gpu-feature-discovery",
        "--oneshot",
        "--no-timestamp",
        "--mig-strategy",
        strategy.name(),
        "--output-file",
        file,
    ];
    world.on_node(&node.name, &argv).await?;
    let text = world.on_node(&node.name, &["cat", file]).await?;
    let seen: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let wrong: Vec<String> = args
        .column("label")
        .iter()
        .zip(args.column("value"))
        .filter_map(|(label, value)| match seen.get(label.as_str()) {
            Some(found) if **found == *value => None,
            Some(found) => Some(format!("{label} is {found}, not {value}")),
            None => Some(format!("there is no {label}")),
        })
        .collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::new("the labels are others").versus(wrong.join("\n"), text))
}
