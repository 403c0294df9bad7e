//! Random operations from several processes on one state file agree with a reference model, always.
//! The processes are this very test program, run again. `AGREEMENT_CASES` makes more of it (default 1; 100 takes minutes).
#[path = "../common/mod.rs"]
mod common;
mod reference;
mod talk;

use common::{command, machine, role};
use gpu_model::{GpuIndex, Injection, Machine, Op, Quirks, Spec};
use gpu_store::Store;
use reference::Reference;
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Stdio},
};
use talk::Ask;

/// Every kind of MIG card there is, one whose ids are flipped, and one without MIG.
const CARDS: [(&str, bool); 6] = [
    ("A100-SXM4-40GB", false),
    ("A100-SXM4-80GB", true),
    ("H100-SXM5-80GB", false),
    ("RTX-PRO-6000-BLACKWELL-SERVER-96GB", false),
    ("A30-PCIE-24GB", false),
    ("L4", false),
];

/// Numbers that look random (xorshift); same seed, same numbers.
struct Dice(u64);

impl Dice {
    fn upto(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % n.max(1)
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.upto(all.len())]
    }

    fn number(&mut self, n: u32) -> u32 {
        u32::try_from(self.upto(n as usize)).unwrap_or(0)
    }

    /// Something to ask; mostly of what is there.
    fn ask(&mut self, specs: &[Spec], there: &[(u32, u32, Vec<u32>)], holds: bool) -> Ask {
        let beyond = u32::from(self.upto(12) == 0);
        let card = self.number(u32::try_from(CARDS.len()).unwrap_or(0) + beyond);
        let some = match there {
            [] => None,
            all if self.upto(5) > 0 => Some(all[self.upto(all.len())].clone()),
            _ => None,
        };
        let (at, gi, cis) = some.unwrap_or_else(|| (card, self.number(15), Vec::new()));
        let ci = match &cis[..] {
            [] => self.number(4),
            all => self.of(all),
        };
        let mig = specs.get(card as usize).and_then(|spec| spec.mig.as_ref());
        let profile = match mig {
            Some(mig) if self.upto(20) > 0 => mig.profiles[self.upto(mig.profiles.len())].clone(),
            _ => {
                return Ask::CreateGi {
                    card,
                    profile: self.number(80),
                    place: None,
                };
            }
        };
        match self.upto(if holds { 100 } else { 88 }) {
            0..30 => {
                let place = match self.upto(10) {
                    0..5 => None,
                    5..9 => Some((self.of(&profile.starts), profile.size.0)),
                    _ => Some((self.number(12), self.number(9))),
                };
                Ask::CreateGi {
                    card,
                    profile: profile.id.0,
                    place,
                }
            }
            30..48 => Ask::DestroyGi { card: at, gi },
            48..70 => {
                let place = (self.upto(5) == 0).then(|| (self.number(7), 1 + self.number(3)));
                Ask::CreateCi {
                    card: at,
                    gi,
                    profile: self.number(5),
                    place,
                }
            }
            70..82 => Ask::DestroyCi { card: at, gi, ci },
            82..86 => Ask::Mode {
                card,
                on: self.upto(3) > 0,
            },
            86..88 => Ask::Reset { card },
            88..95 => {
                let gi = (self.upto(5) > 0).then_some(gi);
                let ci = (self.upto(2) > 0).then_some(ci);
                Ask::Hold { card: at, gi, ci }
            }
            _ => Ask::Drop,
        }
    }
}

/// Another process of these tests; as a test it does nothing.
#[test]
fn another_process() {
    let Some((role, state)) = role() else { return };
    let store = Store::open(&state).expect("the state file");
    let mut holds = Vec::new();
    if let Some(seed) = role.strip_prefix("alone ") {
        return alone(&store, seed);
    }
    for line in std::io::stdin().lines() {
        let line = line.expect("a line");
        if line == "look" {
            let (text, uuids) = talk::look(&store.read().expect("a state").machine);
            let uuids: Vec<String> = uuids
                .iter()
                .map(|(card, gi, slice, uuid)| format!("{card}/{gi}/{slice}={uuid}"))
                .collect();
            println!("= {text}|{}", uuids.join(" "));
            continue;
        }
        let ask = Ask::parse(&line).expect("a known line");
        println!("= {}", talk::act(&store, &mut holds, ask).2);
    }
}

/// Asks at random, tells what it met and got.
fn alone(store: &Store, seed: &str) {
    let (seed, asks) = seed.split_once(' ').expect("seed and count");
    let mut dice = Dice(seed.parse().expect("a seed"));
    for _ in 0..asks.parse().expect("a count") {
        let machine = store.read().expect("a state");
        let specs = specs(&machine.machine);
        let there = there(&machine.machine);
        let ask = dice.ask(&specs, &there, false);
        let (met, changed, told) = talk::act(store, &mut Vec::new(), ask);
        println!("= {met} {} {}|{told}", u8::from(changed), ask.line());
    }
}

fn specs(machine: &Machine) -> Vec<Spec> {
    machine
        .gpus
        .iter()
        .map(|gpu| machine.spec(gpu).clone())
        .collect()
}

fn there(machine: &Machine) -> Vec<(u32, u32, Vec<u32>)> {
    let all = machine.gpus.iter();
    all.flat_map(|gpu| {
        gpu.instances.iter().map(|gi| {
            let cis = gi.compute.iter().map(|ci| ci.id.0).collect();
            (gpu.index.0, gi.id.0, cis)
        })
    })
    .collect()
}

/// A state file with all the cards, and the reference of it.
fn begin(path: &Path, name: &str) -> (Store, Reference, Vec<Spec>) {
    let cards = CARDS.map(|(model, _)| (model, 1));
    let store = Store::create(path, &machine(name, &cards)).expect("a state file");
    for (index, (_, flipped)) in (0..).zip(CARDS) {
        let what = Injection::Quirks(Quirks {
            flipped_ids: flipped,
            ..Quirks::default()
        });
        store
            .apply(Op::Inject {
                gpu: GpuIndex(index),
                what,
            })
            .expect("quirks");
    }
    let specs = specs(&store.read().expect("a state").machine);
    let with: Vec<(Spec, bool)> = specs
        .iter()
        .cloned()
        .zip(CARDS.map(|card| card.1))
        .collect();
    (store, Reference::new(&with), specs)
}

/// A process that does what it is told.
struct Worker {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Worker {
    fn start(role: &str, state: &Path) -> Self {
        let mut child = command("another_process", role, state)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("another process");
        let to = child.stdin.take().expect("its input");
        let from = BufReader::new(child.stdout.take().expect("its output"));
        Self { child, to, from }
    }

    /// The next answer; the test harness prints lines of its own in between.
    fn answer(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.from.read_line(&mut line).expect("a line") == 0 {
                return None;
            }
            if let Some((_, answer)) = line.trim_end().split_once("= ") {
                return Some(answer.to_owned());
            }
        }
    }

    fn ask(&mut self, line: &str) -> String {
        writeln!(self.to, "{line}").expect("it listens");
        self.answer().expect("an answer")
    }

    fn end(self) {
        let Self {
            mut child,
            to,
            mut from,
        } = self;
        drop(to);
        // The harness in it says good-bye; it must not meet a closed pipe.
        let rest = from.read_to_end(&mut Vec::new());
        assert!(rest.is_ok() && child.wait().expect("its end").success());
    }
}

fn cases() -> u64 {
    std::env::var("AGREEMENT_CASES").map_or(1, |n| n.parse().expect("AGREEMENT_CASES: a number"))
}

/// One after another, each from some process, with holds: every answer and, seen by yet another process, every state.
#[test]
fn processes_that_take_turns_get_what_the_rules_say() {
    if role().is_some() {
        return;
    }
    for seed in 1..=2 * cases() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state");
        let (_store, mut reference, specs) = begin(&path, &format!("turns {seed}"));
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut workers: Vec<Worker> = (0..3).map(|_| Worker::start("turns", &path)).collect();
        let mut uuids: BTreeMap<String, String> = BTreeMap::new();
        let mut history = Vec::new();
        let mut done = 0;
        for _ in 0..250 {
            let process = dice.upto(workers.len());
            let ask = dice.ask(&specs, &reference.there(), true);
            history.push(format!("{process}: {}", ask.line()));
            let must = reference.ask(process, ask);
            let told = workers[process].ask(&ask.line());
            assert_eq!(told, must, "seed {seed}\n{}", history.join("\n"));
            done += usize::from(!told.starts_with("code"));
            let seen = dice.upto(workers.len());
            let seen = workers[seen].ask("look");
            let (state, devices) = seen.split_once('|').expect("two parts");
            assert_eq!(
                state,
                reference.look(),
                "seed {seed}\n{}",
                history.join("\n")
            );
            // A place keeps its UUID, also over destruction and re-creation, and no two places share one.
            for (place, uuid) in devices.split_whitespace().filter_map(|d| d.split_once('=')) {
                let known = uuids
                    .entry(uuid.to_owned())
                    .or_insert_with(|| place.to_owned());
                assert_eq!(known, place, "seed {seed}: {uuid}");
                let places = uuids.values().filter(|known| *known == place).count();
                assert_eq!(places, 1, "seed {seed}: two UUIDs of {place}");
            }
        }
        assert!(done > 40, "too little came about to prove anything: {done}");
        workers.into_iter().for_each(Worker::end);
    }
}

/// All at once, without order: what each met and got is brought in line afterwards by the generations, and then agrees too.
#[test]
fn processes_at_the_same_time_get_what_the_rules_say() {
    if role().is_some() {
        return;
    }
    for seed in 1..=cases() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state");
        let (store, mut reference, _) = begin(&path, &format!("at once {seed}"));
        let first = store.generation();
        let workers: Vec<Worker> = (0..4)
            .map(|n| {
                Worker::start(
                    &format!("alone {} 120", seed * 7919 + n * 104_729 + 1),
                    &path,
                )
            })
            .collect();
        // What was met at one generation, and last what changed it.
        let mut told: Vec<(u64, bool, String, String)> = Vec::new();
        for mut worker in workers {
            while let Some(line) = worker.answer() {
                let (met, answer) = line.split_once('|').expect("two parts");
                let mut words = met.splitn(3, ' ');
                let met = words
                    .next()
                    .and_then(|n| n.parse().ok())
                    .expect("a generation");
                let changed = words.next() == Some("1");
                let ask = words.next().expect("what was asked");
                told.push((met, changed, ask.to_owned(), answer.to_owned()));
            }
            worker.end();
        }
        assert_eq!(told.len(), 4 * 120);
        told.sort_by_key(|(met, changed, ..)| (*met, *changed));
        let changes: Vec<u64> = told.iter().filter(|t| t.1).map(|t| t.0).collect();
        let every: Vec<u64> = (first..store.generation()).collect();
        assert_eq!(
            changes, every,
            "each generation was changed once: no update is lost"
        );
        for (met, changed, ask, answer) in &told {
            let asked = Ask::parse(ask).expect("what was asked");
            let before = reference.look();
            let must = reference.ask(0, asked);
            assert_eq!(answer, &must, "seed {seed}, generation {met}: {ask}");
            assert!(
                *changed || reference.look() == before,
                "generation {met}: {ask}"
            );
        }
        let machine = &store.read().expect("a state").machine;
        assert_eq!(talk::look(machine).0, reference.look(), "seed {seed}");
    }
}
