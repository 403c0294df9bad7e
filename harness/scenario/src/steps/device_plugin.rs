//! The device plugin in place of the DRA driver: what it offers, who gets it, and the labels that go with it.

use std::collections::BTreeMap;
use std::time::Duration;

use cluster::{MigStrategy, Offer};
use k8s_openapi::api::resource::v1::{Device, ResourceSlice};
use kube::api::{Api, ListParams};
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
    more(steps);
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

fn more(steps: &mut Registry) {
    steps
        .add(Kind::Then, "gpu-feature-discovery says of the cards what the slices say", |world, args| {
            Box::pin(as_slices(world, args))
        })
        .doc("NVIDIA's gpu-feature-discovery, run once on a node of whole cards of one model, writes labels with the same count, product, family, memory, compute capability and versions that the DRA driver publishes in its ResourceSlices.")
        .example("Then gpu-feature-discovery says of the cards what the slices say");
    steps
        .add(Kind::Then, "gpu-feature-discovery says of the cards what the slices say, but for:", |world, args| {
            Box::pin(but_for(world, args))
        })
        .doc("The same, where exactly these labels have another value than the slices would give them.")
        .block(BlockWish::Table(&[("label", "text"), ("value", "text"), ("by the slices", "text")]))
        .example("Then gpu-feature-discovery says of the cards what the slices say, but for:\n  | label                 | value | by the slices |\n  | nvidia.com/gpu.memory | 81559 | 81152         |");
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

/// What gpu-feature-discovery says of the node.
async fn discovered(world: &World) -> Result<String, Failure> {
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
    world.on_node(&node.name, &["cat", file]).await
}

fn by_label(text: &str) -> BTreeMap<&str, &str> {
    text.lines()
        .filter_map(|line| line.split_once('='))
        .collect()
}

/// Labels that tell something else than the slices do: label, its value, the slices' value.
async fn differing(world: &World) -> Result<Vec<[String; 3]>, Failure> {
    let text = discovered(world).await?;
    let found = by_label(&text);
    let node = world.the_node()?.name.clone();
    let slices: Api<ResourceSlice> = Api::all(world.testbed().client());
    let slices = slices.list(&ListParams::default()).await;
    let slices = slices.map_err(|error| crate::world::api("list the ResourceSlices", &error))?;
    let mine = slices
        .items
        .iter()
        .filter(|it| it.spec.node_name.as_deref() == Some(&node));
    let devices: Vec<&Device> = mine
        .flat_map(|it| it.spec.devices.iter().flatten())
        .collect();
    let wanted = labels_of(&devices)?;
    let differs = |(label, value): (String, String)| {
        let found = found.get(label.as_str()).copied().unwrap_or("none");
        (found != value).then(|| [label, found.to_owned(), value])
    };
    Ok(wanted.into_iter().filter_map(differs).collect())
}

fn told(all: &[[String; 3]]) -> String {
    let line = |[label, found, slices]: &[String; 3]| {
        format!("{label} is {found}, and by the slices {slices}")
    };
    match all {
        [] => "all is the same".to_owned(),
        all => all.iter().map(line).collect::<Vec<_>>().join("\n"),
    }
}

async fn as_slices(world: &mut World, _: &Args) -> StepResult {
    let wrong = differing(world).await?;
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::new("labels and slices tell different cards")
        .versus("all is the same", told(&wrong)))
}

async fn but_for(world: &mut World, args: &Args) -> StepResult {
    let columns = ["label", "value", "by the slices"].map(|it| args.column(it));
    let [labels, values, slices] = &columns;
    let mut wanted: Vec<[String; 3]> = (0..labels.len())
        .map(|at| [labels[at].clone(), values[at].clone(), slices[at].clone()])
        .collect();
    wanted.sort();
    let mut seen = differing(world).await?;
    seen.sort();
    if seen == wanted {
        return Ok(());
    }
    Err(Failure::new("labels and slices differ in something else")
        .versus(told(&wanted), told(&seen)))
}

/// The labels that whole cards of one model would have by what the DRA driver publishes of them.
fn labels_of(devices: &[&Device]) -> Result<BTreeMap<String, String>, Failure> {
    let text = |device: &Device, name: &str| {
        let attribute = device
            .attributes
            .iter()
            .flatten()
            .find(|(it, _)| it.rsplit('/').next() == Some(name));
        let value = attribute.map(|(_, value)| value.clone());
        value
            .and_then(|it| it.string.or(it.version))
            .unwrap_or_default()
    };
    let cards: Vec<&&Device> = devices
        .iter()
        .filter(|it| text(it, "type") == "gpu")
        .collect();
    let Some(card) = cards.first() else {
        return Err(
            Failure::new("no whole card is published").help("take a node with MIG mode off")
        );
    };
    let memory = card
        .capacity
        .iter()
        .flatten()
        .find(|(it, _)| it.rsplit('/').next() == Some("memory"));
    let memory = memory
        .and_then(|(_, it)| crate::allocation::quantity(&it.value.0))
        .unwrap_or(0);
    let dashes = |text: String| text.replace(' ', "-");
    let part = |version: &str, at: usize| version.split('.').nth(at).unwrap_or_default().to_owned();
    let (driver, compute, cuda) = (
        text(card, "driverVersion"),
        text(card, "cudaComputeCapability"),
        text(card, "cudaDriverVersion"),
    );
    let all = [
        ("gpu.count", cards.len().to_string()),
        ("gpu.product", dashes(text(card, "productName"))),
        (
            "gpu.family",
            dashes(text(card, "architecture")).to_lowercase(),
        ),
        ("gpu.memory", (memory >> 20).to_string()),
        ("gpu.compute.major", part(&compute, 0)),
        ("gpu.compute.minor", part(&compute, 1)),
        ("cuda.driver-version.major", part(&driver, 0)),
        ("cuda.driver-version.minor", part(&driver, 1)),
        ("cuda.runtime-version.major", part(&cuda, 0)),
        ("cuda.runtime-version.minor", part(&cuda, 1)),
    ];
    Ok(all
        .map(|(name, value)| (format!("nvidia.com/{name}"), value))
        .into())
}

async fn labels(world: &mut World, args: &Args) -> StepResult {
    let text = discovered(world).await?;
    let seen = by_label(&text);
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
