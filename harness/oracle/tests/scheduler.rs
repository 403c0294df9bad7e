//! The oracle against the real API server and the real scheduler of Kubernetes 1.37: on random cases, and on bad input.
//! There is no kubelet: the test writes the Node objects and looks at what is allocated.
//! It is not run where the programs are not (`cargo sliceproof components ensure` builds them), unless `ORACLE_REQUIRED` is
//! set, which makes that a failure. `ORACLE_SCHEDULER_CASES` sets how many cases per set of gates, `ORACLE_SEED` the first.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    reason = "the counts are what a reader of a run wants"
)]

#[path = "differential/compare.rs"]
mod compare;
#[path = "differential/dice.rs"]
mod dice;
#[path = "differential/form.rs"]
mod form;
#[path = "differential/generate/mod.rs"]
mod generate;
#[path = "differential/known.rs"]
mod known;
#[path = "differential/said.rs"]
mod said;

#[path = "scheduler/bad.rs"]
mod bad;
#[path = "scheduler/cast.rs"]
mod cast;
#[path = "scheduler/extended.rs"]
mod extended;
#[path = "scheduler/judge.rs"]
mod judge;
#[path = "differential/number.rs"]
mod number;
#[path = "scheduler/plane.rs"]
mod plane;
#[path = "scheduler/play.rs"]
mod play;
#[path = "scheduler/store.rs"]
mod store;
#[path = "scheduler/waiting.rs"]
mod waiting;

use std::collections::BTreeMap;
use std::process::ExitCode;

use cast::Cast;
use libtest_mimic::Arguments;
use number::number;
use oracle::{Gates, Version};
use plane::Start;

/// Cases that share the cluster at one time.
const TOGETHER: usize = 24;

fn main() -> ExitCode {
    cluster::dispatch();
    let mut arguments = Arguments::from_args();
    // Each test has a control plane of its own, and two of them take longer than one after the other.
    arguments.test_threads = Some(1);
    let trial = |name, check| plane::trial(name, &[], check);
    let trials = vec![
        trial("cases_with_the_default_gates", |start| {
            cases(start, &Gates::default_of(Version::V1_37))
        }),
        trial("cases_with_every_gate_of_dra", |start| {
            cases(start, &Gates::all_of(Version::V1_37))
        }),
        trial("bad_input_is_refused_at_the_same_place", |start| {
            let gates = Gates::default_of(Version::V1_37);
            let plane = start(&gates)?;
            bad::table(&plane, &gates)?;
            plane.stop()
        }),
        trial("shares_of_a_waiting_pod_count_twice", |start| {
            let plane = start(&Gates::default_of(Version::V1_37))?;
            waiting::check(&plane)?;
            plane.stop()
        }),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn cases(start: Start<'_>, gates: &Gates) -> Result<(), String> {
    let plane = start(gates)?;
    let (first, wanted) = (
        number("ORACLE_SEED", 1)?,
        number("ORACLE_SCHEDULER_CASES", 60)?,
    );
    let casts: Vec<Cast> = (first..first + wanted)
        .map(|seed| Cast::new(seed, gates))
        .collect();
    // Devices for all nodes are seen by the pods of every case: such a case is alone.
    let (alone, together): (Vec<Cast>, Vec<Cast>) = casts.into_iter().partition(Cast::reaches_all);
    let batches = together
        .chunks(TOGETHER)
        .chain(alone.chunks(1))
        .collect::<Vec<_>>();
    let mut count: BTreeMap<String, u64> = BTreeMap::new();
    let mut unexplained = Vec::new();
    for (at, batch) in batches.into_iter().enumerate() {
        let played = plane.block_on(play::play(&plane, at, batch))?;
        for (cast, played) in batch.iter().zip(&played) {
            for verdict in judge::judge(cast, gates, played) {
                match verdict {
                    judge::Verdict::Same(kind) => *count.entry(kind.to_owned()).or_default() += 1,
                    judge::Verdict::Explained(name) => {
                        *count.entry(format!("explained: {name}")).or_default() += 1;
                    }
                    judge::Verdict::Differs(how) => {
                        *count.entry("unexplained".to_owned()).or_default() += 1;
                        println!("seed {}: {how}", cast.seed);
                        unexplained.push(format!("seed {}: {how}", cast.seed));
                    }
                }
            }
        }
    }
    plane.stop()?;
    println!("{wanted} cases, seeds from {first}: {count:?}");
    unexplained.truncate(5);
    if unexplained.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "cases that nothing explains, the first of them:\n{}",
            unexplained.join("\n")
        ))
    }
}
