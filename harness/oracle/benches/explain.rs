//! What `explain` asks of the oracle on 1,000 nodes x 8 cards x 50 partitions: a claim that every node serves, one that none
//! does, so that every device is looked at, and one of which some are held. Objects are at hand; fetching and parsing JSON
//! is said beside it, on a part.
//! Goal: 2 s from objects to verdicts. Times on the processor are said; answers are judged.

mod cluster;

use std::process::ExitCode;
use std::time::Duration;

use cluster::{Clock, Goals, Shape};
use oracle::objects::{Claim, Held, Slice};
use oracle::{Answer, DeviceId, Gates, How, Version, World};

const GOAL: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    // `cargo test --benches` only wants to know that it runs.
    let long = std::env::args().any(|argument| argument == "--bench");
    let shape = Shape {
        nodes: if long { 1_000 } else { 10 },
        cards: 8,
        copies: 2,
    };
    let gates = Gates::default_of(Version::V1_37);
    println!(
        "{} nodes x {} cards x {} partitions = {} devices, Kubernetes {}",
        shape.nodes,
        shape.cards,
        shape.devices() / shape.nodes / shape.cards,
        shape.devices(),
        gates.version()
    );
    let mut right = true;
    let mut goals = Goals::default();
    for (what, profile, full) in [
        ("every node can serve it", "1g.5gb", 0),
        (
            "no node can serve it: each device is looked at",
            "9g.90gb",
            0,
        ),
        (
            "half of the nodes are full: counters are asked",
            "1g.5gb",
            shape.nodes / 2,
        ),
    ] {
        let mut setup = cluster::setup(&shape, &gates);
        let wanted = cluster::wanted(cluster::claim("wanted", profile, 1, None), &gates);
        setup
            .claims
            .extend((0..full).flat_map(|at| holders(at, &shape, &gates)));
        // As `explain` does it, but for the reading of slices, which is timed apart.
        let start = Clock::start();
        let world = World::new(setup, gates.clone(), None);
        let made = start.elapsed();
        let verdicts = oracle::allocate_together(&world, &[&wanted], How::default());
        let all = start.elapsed();
        let serve = verdicts
            .iter()
            .filter(|verdict| matches!(verdict.answer, Answer::Allocated(_)))
            .count();
        let looks: usize = verdicts.iter().map(|verdict| verdict.looks.len()).sum();
        let expected = match profile {
            "9g.90gb" => 0,
            _ => shape.nodes - full,
        };
        if serve != expected {
            println!("WRONG: {serve} nodes serve, {expected} are right");
            right = false;
        }
        goals.met(all <= GOAL);
        println!(
            "  {what}\n    world {:>6.2} s, verdicts {:>6.2} s, {looks} looks; together {:.2} s, goal {} s{}",
            made.as_secs_f64(),
            (all - made).as_secs_f64(),
            all.as_secs_f64(),
            GOAL.as_secs(),
            if all <= GOAL { "" } else { "   MISSED" }
        );
    }
    reading(&shape);
    cluster::end(&goals, right)
}

/// Claims that hold every card of a node.
fn holders(node: usize, shape: &Shape, gates: &Gates) -> Vec<Claim> {
    let node = cluster::node(node);
    let holder = |card: usize| {
        let value = cluster::claim(&format!("holder-{node}-{card}"), "7g.40gb", 1, None);
        let mut claim = cluster::wanted(value, gates);
        claim.holds = Some(vec![Held {
            request: "r0".into(),
            device: DeviceId::new(
                "gpu.nvidia.com",
                &node,
                &format!("gpu-{card}-mig-7g40gb-0-0"),
            ),
            admin: false,
            share: None,
            consumed: Default::default(),
        }]);
        claim
    };
    (0..shape.cards).map(holder).collect()
}

/// What comes before: objects from JSON, and the oracle's values from objects, on a tenth of the cluster.
fn reading(shape: &Shape) {
    let part = Shape {
        nodes: (shape.nodes / 10).max(1),
        ..*shape
    };
    let texts: Vec<String> = (0..part.nodes)
        .flat_map(|at| cluster::slices(&cluster::node(at), &part))
        .map(|slice| slice.to_string())
        .collect();
    let start = Clock::start();
    let objects: Vec<k8s_openapi::api::resource::v1::ResourceSlice> = texts
        .iter()
        .map(|text| cluster::read(serde_json::from_str(text)))
        .collect();
    let parsed = start.elapsed();
    let slices: Vec<Slice> = objects
        .iter()
        .map(|object| cluster::read(Slice::read(object)))
        .collect();
    let read = start.elapsed();
    println!(
        "  before that, for a tenth ({} slices): parsing JSON {:.2} s, reading objects {:.2} s",
        slices.len(),
        parsed.as_secs_f64(),
        (read - parsed).as_secs_f64()
    );
}
