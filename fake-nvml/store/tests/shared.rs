//! What all processes of a node share besides the state: counters of fault rules, the log, loads of real processes; and the largest
//! machine there is.
mod common;

use common::*;
use gpu_model::{
    CiId, GiId, GpuIndex, Machine, MiB, NewLoad, Now, Op, Pid, Process, ProcessKind, ProfileId,
    Refusal, Scope, Shape,
};
use gpu_store::{Entry, Error, Store, UpdateError};
use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt, path::Path, time::Duration};

/// What another process of these tests does; does nothing when run as a test.
#[test]
fn another_process() {
    let Some((role, state)) = role() else { return };
    let store = Store::open(&state).expect("the state file");
    let (role, arg) = role.split_once(' ').unwrap_or((&role, ""));
    match role {
        "count" => {
            let numbers = (0..1000).map(|_| store.count(1, 0).to_string());
            println!("\n{}", numbers.collect::<Vec<_>>().join(" "));
        }
        "log" => {
            println!("ready");
            for n in 0u64.. {
                assert!(store.log(&entry(&format!("{arg} {n}"))));
            }
        }
        "work" => {
            let hold = store.hold(Scope::gpu(GPU)).expect("a place");
            work(&store, std::process::id());
            println!("ready");
            std::thread::sleep(Duration::from_secs(60));
            drop(hold);
        }
        other => panic!("no role {other}"),
    }
}

#[test]
fn a_plan_on_a_machine_made_anew_counts_from_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state");
    let fresh = machine("node", &[("L4", 1)]);
    let mut plans = BTreeSet::new();
    for _ in 0..3 {
        let store = Store::put(&path, &fresh).expect("made anew");
        let armed =
            store.update(|machine, _| Ok::<_, Refusal>((machine.armed(0, Vec::new(), Now(1)), ())));
        armed.expect("a writable state");
        let plan = store.read().expect("the state").machine.faults.id;
        assert_eq!([store.count(plan, 0), store.count(plan, 0)], [1, 2]);
        plans.insert(plan);
    }
    assert_eq!(plans.len(), 3);
}

fn entry(arguments: &str) -> Entry<'_> {
    Entry {
        at: Now(1),
        took: 2,
        pid: Pid(std::process::id()),
        process: "test",
        function: "nvmlDeviceGetName",
        arguments,
        result: "",
        code: 0,
    }
}

fn work(store: &Store, pid: u32) {
    let load = NewLoad {
        scope: Scope::gpu(GPU),
        process: Some(Process {
            pid: Pid(pid),
            name: "worker".to_owned(),
            kind: ProcessKind::Compute,
            real: true,
        }),
        memory: MiB(77),
        shape: Shape::constant(5_000),
        traffic: gpu_model::Traffic::default(),
        since: None,
        until: None,
    };
    let real = store.real();
    store
        .update(|machine, _| machine.with_load(load, machine.now(real)))
        .expect("room for it");
}

fn node(folder: &Path) -> Store {
    let plain = gpu_model::Options {
        node: "shared".to_owned(),
        ..gpu_model::Options::default()
    };
    let catalog = gpu_model::Catalog::builtin();
    let model = catalog.model("L4").expect("a known model");
    let machine = Machine::build(&[(model, 1)], &plain);
    Store::create(folder.join("state"), &machine).expect("a state file")
}

/// No two calls of a node have the same number, and none is left out.
#[test]
fn calls_are_counted_over_all_processes() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = node(folder.path());
    let children: Vec<_> = (0..3)
        .map(|_| spawn("another_process", "count", store.path()))
        .collect();
    let mut numbers: Vec<u64> = Vec::new();
    for child in children {
        let output = child.wait_with_output().expect("its end");
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text
            .lines()
            .find(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        let line = line.unwrap_or_default().split(' ');
        numbers.extend(line.filter_map(|word| word.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    assert!(
        numbers.iter().copied().eq(1..=3000),
        "{} numbers",
        numbers.len()
    );
    assert_eq!(
        (
            store.counted(1, 0),
            store.counted(2, 0),
            store.counted(1, 1)
        ),
        (3000, 0, 0)
    );
}

/// Writers are killed in the middle of it: what is read is whole, in order, of each writer without a gap that is not told.
#[test]
fn the_log_stands_kills() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = node(folder.path());
    let mut next = 1;
    let mut told = 0;
    let mut calls = 0;
    for round in 0..6 {
        let mut children: Vec<_> = (0..2)
            .map(|_| {
                let mut child = spawn("another_process", &format!("log {round}"), store.path());
                wait_for(&mut child, "ready");
                child
            })
            .collect();
        for _ in 0..40 {
            let read = store.logged(next, 500);
            for call in &read.calls {
                assert_eq!(call.function, "nvmlDeviceGetName");
                let (round, n) = call.arguments.split_once(' ').expect("two words");
                assert!(
                    round.parse::<u32>().is_ok() && n.parse::<u64>().is_ok(),
                    "{call:?}"
                );
            }
            assert!(read.calls.is_sorted_by_key(|call| call.number));
            told += read.lost;
            calls += read.calls.len() as u64;
            assert_eq!(
                calls + told,
                read.next - 1,
                "each number is read or told to be lost"
            );
            next = read.next;
        }
        for child in &mut children {
            child.kill().expect("SIGKILL");
            child.wait().expect("its end");
        }
    }
    assert!(calls > 0 && store.last_logged() >= calls);
}

/// A real process is the load; killed, it is gone: at once for who looks, and with the next change for good.
#[test]
fn a_killed_process_frees_its_load() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = node(folder.path());
    let mut child = spawn("another_process", "work", store.path());
    wait_for(&mut child, "ready");
    let loads = |machine: &Machine| machine.gpus.first().map_or(0, |gpu| gpu.loads.len());
    assert_eq!(loads(&store.current().expect("it").machine), 1);
    let reset = store.apply(Op::Reset { gpu: GPU });
    assert!(
        matches!(reset, Err(UpdateError::Refused(Refusal::Held { .. }))),
        "{reset:?}"
    );
    assert_eq!(loads(&store.read().expect("it").machine), 1);
    child.kill().expect("SIGKILL");
    child.wait().expect("its end");
    assert_eq!(loads(&store.current().expect("it").machine), 0);
    store
        .apply(Op::SetPersistence { gpu: GPU, on: true })
        .expect("a change");
    assert_eq!(loads(&store.read().expect("it").machine), 0);
}

/// Who can only read counts for itself, logs nothing, and is told so.
#[test]
fn a_file_that_can_only_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = node(folder.path());
    assert_eq!(store.count(1, 0), 1);
    fs::set_permissions(store.path(), fs::Permissions::from_mode(0o444)).expect("its mode");
    let reader = Store::open(store.path()).expect("it opens");
    if reader.writable() {
        eprintln!("not run: this user may write every file");
        return;
    }
    assert_eq!([reader.count(1, 0), reader.count(1, 0)], [1, 2]);
    assert!(!reader.log(&entry("")));
    assert_eq!((store.counted(1, 0), store.last_logged()), (1, 0));
    let refused = reader.apply(Op::SetPersistence { gpu: GPU, on: true });
    assert!(matches!(
        refused,
        Err(UpdateError::Store(Error::ReadOnly { .. }))
    ));
}

/// The largest nodes: 64 cards of all models that there are, and 64 of the card with most places, each cut into as many MIG devices as
/// it takes, a process with a curve on each.
#[test]
fn the_largest_nodes_fit() {
    let catalog = gpu_model::Catalog::builtin();
    let names: Vec<&str> = catalog.names().collect();
    let mixed: Vec<_> = (0..64).map(|i| (names[i % names.len()], 1)).collect();
    for (node, cards) in [("mixed", mixed), ("large", vec![("B200-SXM-180GB", 64)])] {
        let mut large = machine(node, &cards);
        for index in 0..64 {
            large = filled(large, GpuIndex(index));
        }
        let devices: usize = large
            .gpus
            .iter()
            .map(|gpu| large.mig_devices(gpu).count())
            .sum();
        assert!(devices > 200, "{node}: {devices}");
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::create(folder.path().join("state"), &large)
            .unwrap_or_else(|e| panic!("{node}, {devices} MIG devices: {e}"));
        let read = store.read().expect("it");
        assert!(read.machine == large, "{node}");
        let held: BTreeSet<GpuIndex> = read.machine.gpus.iter().map(|gpu| gpu.index).collect();
        assert_eq!(held.len(), 64, "{node}");
    }
}

/// The card with the smallest instances that it has, all that fit, one compute instance and one load in each.
fn filled(mut machine: Machine, gpu: GpuIndex) -> Machine {
    let profiles: Vec<ProfileId> = {
        let card = machine.gpu(gpu).expect("there");
        let mig = machine.mig_spec(card).map(|mig| mig.profiles.clone());
        let mut profiles = mig.unwrap_or_default();
        profiles.sort_by_key(|profile| profile.slices);
        profiles.iter().map(|profile| profile.id).collect()
    };
    for profile in &profiles {
        let op = Op::CreateGpuInstance {
            gpu,
            profile: *profile,
            placement: None,
        };
        while let Ok((next, _)) = machine.apply(op, Now(1)) {
            machine = next;
        }
    }
    let instances: Vec<GiId> = machine
        .gpu(gpu)
        .expect("there")
        .instances
        .iter()
        .map(|gi| gi.id)
        .collect();
    for gi in instances {
        let profile = ProfileId(0);
        let op = Op::CreateComputeInstance {
            gpu,
            gi,
            profile,
            placement: None,
        };
        let (next, _) = machine.apply(op, Now(1)).expect("a compute instance");
        machine = loaded(next, Scope::ci(gpu, gi, CiId(0)));
    }
    if profiles.is_empty() {
        machine = loaded(machine, Scope::gpu(gpu));
    }
    machine
}

fn loaded(machine: Machine, scope: Scope) -> Machine {
    let load = NewLoad {
        scope,
        process: Some(Process {
            pid: Pid(4_000_000),
            name: "/usr/bin/python3 train.py --epochs 90".to_owned(),
            kind: ProcessKind::Compute,
            real: false,
        }),
        memory: MiB(1),
        shape: Shape::square(1_000, 9_000, 60_000_000, 20_000_000),
        traffic: gpu_model::Traffic::default(),
        since: None,
        until: None,
    };
    machine.with_load(load, Now(1)).expect("room for it").0
}
