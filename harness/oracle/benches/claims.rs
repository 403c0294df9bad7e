//! The oracle's claims per second: against Kubernetes' own allocator of 1.37 (the program of the differential test, if it is
//! built), how time grows with devices, and that a search with constraints ends at its limit and says so.
//! Goals: at least as fast as the allocator; 16 times the devices take no more than twice 16 times as long. Times on the
//! processor are said; answers are judged.

mod cluster;
#[path = "../tests/differential/pipe.rs"]
mod pipe;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use cluster::{Clock, Goals, Shape};
use oracle::objects::Claim;
use oracle::{Answer, Gates, How, Variant, Verdict, Version, World};
use pipe::Pipe;
use serde_json::{Value, json};

/// What is asked of a node of 8 cards: profile, requests, constraint.
const QUESTIONS: [(&str, &str, usize, bool); 4] = [
    ("the first partition of a profile", "1g.5gb", 1, false),
    ("a profile far down the list", "7g.40gb", 1, false),
    ("a profile that no card has", "9g.90gb", 1, false),
    ("four partitions of one card", "1g.5gb", 4, true),
];

fn main() -> ExitCode {
    // `cargo test --benches` only wants to know that it runs.
    let long = std::env::args().any(|argument| argument == "--bench");
    let gates = Gates::default_of(Version::V1_37);
    let mut goals = Goals::default();
    let right = against_the_allocator(&gates, long, &mut goals)
        & grows(&gates, long, &mut goals)
        & limit(&gates);
    cluster::end(&goals, right)
}

fn question(profile: &str, requests: usize, constraint: bool) -> Value {
    let same = json!({ "matchAttribute": "gpu.nvidia.com/parentUUID" });
    cluster::claim("wanted", profile, requests, constraint.then_some(same))
}

fn quiet() -> How {
    How {
        explain: false,
        ..How::default()
    }
}

fn ask(world: &World, claim: &Claim) -> Verdict {
    oracle::allocate_on(world, &[claim], &world.nodes()[0], quiet())
}

/// Seconds of one call, over so many that the clock, which goes in ticks, is no matter.
fn per_call(long: bool, mut call: impl FnMut()) -> f64 {
    let enough = Duration::from_millis(if long { 300 } else { 1 });
    let clock = Clock::start();
    let mut times = 0;
    loop {
        call();
        times += 1;
        let elapsed = clock.elapsed();
        if elapsed >= enough {
            return elapsed.as_secs_f64() / f64::from(times);
        }
    }
}

fn against_the_allocator(gates: &Gates, long: bool, goals: &mut Goals) -> bool {
    let shape = Shape {
        nodes: 1,
        cards: 8,
        copies: 1,
    };
    let times = if long { 40 } else { 3 };
    println!(
        "one node of 8 cards, {} partitions; µs per claim",
        shape.devices()
    );
    println!(
        "  {:<34} {:>9} {:>11} {:>10} {:>7}",
        "", "oracle", "with world", "allocator", "ratio"
    );
    let program =
        components::Catalog::embedded().and_then(|catalog| catalog.path("dra-allocator-1.37"));
    let mut right = true;
    for (what, profile, requests, constraint) in QUESTIONS {
        let claim = cluster::wanted(question(profile, requests, constraint), gates);
        let setup = cluster::setup(&shape, gates);
        let world = World::new(setup.clone(), gates.clone(), None);
        let answer = ask(&world, &claim).answer;
        let oracle = per_call(long, || {
            std::hint::black_box(ask(&world, &claim));
        });
        // The allocator sorts the slices into pools anew each time.
        let anew = per_call(long, || {
            let setup = setup.clone();
            std::hint::black_box(ask(&World::new(setup, gates.clone(), None), &claim));
        });
        let wanted = question(profile, requests, constraint);
        let allocator = program
            .as_ref()
            .ok()
            .map(|program| allocator(program, &shape, wanted, gates, times));
        let (other, ratio) = match allocator {
            None => {
                goals.unknown("the allocator's is not built");
                ("not built".to_owned(), String::new())
            }
            Some(Err(error)) => {
                println!("WRONG: the allocator does not answer: {error}");
                right = false;
                ("failed".to_owned(), String::new())
            }
            Some(Ok((seconds, devices))) => {
                if devices != given(&answer) {
                    println!(
                        "WRONG: the allocator gives {devices:?}, the oracle {:?}",
                        given(&answer)
                    );
                    right = false;
                }
                goals.met(seconds / oracle >= 1.0);
                (
                    format!("{:.1}", seconds * 1e6),
                    format!("{:.1}x", seconds / oracle),
                )
            }
        };
        println!(
            "  {what:<34} {:>9.1} {:>11.1} {other:>10} {ratio:>7}",
            oracle * 1e6,
            anew * 1e6
        );
    }
    right
}

fn given(answer: &Answer) -> Vec<String> {
    match answer {
        Answer::Allocated(allocations) => allocations
            .iter()
            .flat_map(|allocation| &allocation.devices)
            .map(|given| given.device.device.to_string())
            .collect(),
        _ => Vec::new(),
    }
}

/// Seconds per answer by the allocator's own clock, without parsing, and what it gives.
fn allocator(
    program: &Path,
    shape: &Shape,
    wanted: Value,
    gates: &Gates,
    times: u32,
) -> std::io::Result<(f64, Vec<String>)> {
    let question = json!({
        "variant": Variant::chosen(gates).as_str(),
        "features": gates.iter().map(|gate| gate.name()).collect::<Vec<_>>(),
        "slices": cluster::slices(&cluster::node(0), shape),
        "classes": [cluster::class()],
        "claims": [],
        "node": { "metadata": { "name": cluster::node(0) } },
        "wanted": [wanted],
        "repeat": 5,
    });
    // It answers with the time of its last attempt, by the wall: the shortest of many, so that neither warming up nor other
    // programs count.
    let mut pipe = Pipe::start(program)?;
    let mut shortest = u64::MAX;
    let mut devices = Vec::new();
    for _ in 0..times {
        let answer = pipe.ask(&question)?;
        let nanoseconds = answer["nanoseconds"].as_u64();
        shortest = shortest.min(nanoseconds.ok_or_else(|| std::io::Error::other("no time"))?);
        let results = answer["allocations"][0]["devices"]["results"].as_array();
        let names = results
            .into_iter()
            .flatten()
            .filter_map(|result| result["device"].as_str());
        devices = names.map(str::to_owned).collect();
    }
    Ok((Duration::from_nanos(shortest).as_secs_f64(), devices))
}

/// Requests without constraints take time in proportion to the devices looked at.
fn grows(gates: &Gates, long: bool, goals: &mut Goals) -> bool {
    println!(
        "a node of more and more cards, a profile that none has: each device is looked at once"
    );
    let claim = cluster::wanted(question("9g.90gb", 1, false), gates);
    let (mut first, mut right) = (None, true);
    for cards in [4, 16, 64] {
        let shape = Shape {
            nodes: 1,
            cards,
            copies: 1,
        };
        let world = World::new(cluster::setup(&shape, gates), gates.clone(), None);
        let steps = ask(&world, &claim).steps;
        if steps != shape.devices() as u64 {
            println!("WRONG: {steps} steps for {} devices", shape.devices());
            right = false;
        }
        let seconds = per_call(long, || {
            std::hint::black_box(ask(&world, &claim));
        });
        let (devices, before) = *first.get_or_insert((shape.devices(), seconds));
        let more = shape.devices() as f64 / devices as f64;
        let longer = seconds / before;
        goals.met(longer <= 2.0 * more);
        println!(
            "  {:>5} devices {:>9.1} µs   {more:>4.0}x the devices, {longer:>5.1}x the time",
            shape.devices(),
            seconds * 1e6
        );
    }
    right
}

/// A search that could go on for ever ends at its limit, and the verdict says so.
fn limit(gates: &Gates) -> bool {
    let shape = Shape {
        nodes: 1,
        cards: 8,
        copies: 1,
    };
    let world = World::new(cluster::setup(&shape, gates), gates.clone(), None);
    // Every choice of eight cards is tried, in every order, before it is clear that there is no ninth.
    let distinct = json!({ "distinctAttribute": "gpu.nvidia.com/parentUUID" });
    let value = cluster::claim("wanted", "1g.5gb", 9, Some(distinct));
    let claim = cluster::wanted(value, gates);
    let how = How {
        steps: 200_000,
        explain: false,
    };
    let clock = Clock::start();
    let verdict = oracle::allocate_on(&world, &[&claim], &world.nodes()[0], how);
    println!(
        "nine partitions of nine cards where there are eight: {:?} after {} steps, {:.0} ms",
        verdict.answer,
        verdict.steps,
        clock.elapsed().as_secs_f64() * 1e3
    );
    let right = verdict.answer == Answer::GaveUp { steps: how.steps };
    if !right {
        println!("WRONG: the search should have been given up");
    }
    right
}
