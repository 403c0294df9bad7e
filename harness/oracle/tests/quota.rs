//! The oracle's quota against the real API server, which refuses, and the real controller manager, which adds up, of
//! Kubernetes 1.37: random sequences of claims, pods and quotas, limits that nobody can mean, and each deviation.
//! It is not run where the programs are not (`cargo sliceproof components ensure` builds them), unless `ORACLE_REQUIRED` is
//! set, which makes that a failure. `ORACLE_QUOTA_SEQUENCES` sets how many sequences per set of gates, `ORACLE_SEED` the first.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    reason = "the counts are what a reader of a run wants"
)]

#[path = "differential/dice.rs"]
mod dice;
#[path = "differential/number.rs"]
mod number;
#[path = "scheduler/plane.rs"]
mod plane;
#[path = "scheduler/store.rs"]
mod store;

#[path = "quota/chance.rs"]
mod chance;
#[path = "quota/deviations.rs"]
mod deviations;
#[path = "quota/limits.rs"]
mod limits;
#[path = "quota/room.rs"]
mod room;
#[path = "quota/sequence.rs"]
mod sequence;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use futures::StreamExt as _;
use libtest_mimic::Arguments;
use number::number;
use oracle::{Gates, Version};
use plane::Start;
use room::Scene;

/// Sequences at one time, each in namespaces of its own.
const TOGETHER: usize = 48;

fn main() -> ExitCode {
    cluster::dispatch();
    let mut arguments = Arguments::from_args();
    // Each test has a control plane of its own, and two of them take longer than one after the other.
    arguments.test_threads = Some(1);
    let trial = |name, check| plane::trial(name, &["kube-controller-manager"], check);
    let trials = vec![
        trial("sequences_with_the_default_gates", |start| {
            sequences(start, &Gates::default_of(Version::V1_37))
        }),
        trial("sequences_with_every_gate_of_dra", |start| {
            sequences(start, &Gates::all_of(Version::V1_37))
        }),
        trial("limits_are_taken_and_refused_as_the_oracle_says", |start| {
            let gates = Gates::default_of(Version::V1_37);
            let plane = start(&gates)?;
            plane.block_on(limits::table(&plane, &gates))?;
            plane.stop()
        }),
        trial("each_deviation_is_there", |start| {
            let gates = Gates::default_of(Version::V1_37);
            let plane = start(&gates)?;
            plane.block_on(deviations::check(&plane, &gates))?;
            plane.stop()
        }),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn sequences(start: Start<'_>, gates: &Gates) -> Result<(), String> {
    let plane = start(gates)?;
    let (first, wanted) = (
        number("ORACLE_SEED", 1)?,
        number("ORACLE_QUOTA_SEQUENCES", 48)?,
    );
    let scene = plane.block_on(Scene::set(&plane, gates))?;
    let begun = Instant::now();
    let (mut count, mut wrong) = (BTreeMap::new(), Vec::new());
    plane.block_on(async {
        let lanes = TOGETHER
            .min(usize::try_from(wanted).unwrap_or(TOGETHER))
            .max(1);
        let lane = |lane: usize| {
            let seeds = (first..first + wanted).skip(lane).step_by(lanes);
            let scene = &scene;
            async move {
                let mut told = sequence::Told::default();
                sequence::lane(scene, lane, seeds, &mut told)
                    .await
                    .map(|()| told)
            }
        };
        let mut running = futures::stream::iter((0..lanes).map(lane)).buffer_unordered(lanes);
        while let Some(told) = running.next().await {
            let told = told?;
            for (kind, number) in told.count {
                *count.entry(kind).or_insert(0u64) += number;
            }
            wrong.extend(told.wrong);
        }
        plane.check().await
    })?;
    plane.stop()?;
    let seconds = begun.elapsed().as_secs();
    println!("{wanted} sequences, seeds from {first}, {seconds} s: {count:?}");
    if wrong.is_empty() {
        return Ok(());
    }
    let all = wrong.len();
    wrong.truncate(5);
    Err(format!(
        "{all} differences, the first of them:\n{}",
        wrong.join("\n")
    ))
}
