//! The state file among several processes: lost updates, crashed writers, crashed holders, waiting, forks.
#![allow(unsafe_code)] // fork and kill, to be what other processes are
mod common;

use common::*;
use gpu_model::{
    Clients, Code, GiId, Injection, Machine, Now, Op, Outcome, Refusal, Scope, Telemetry,
};
use gpu_store::{Mirrored, Store, UpdateError};
use std::{
    path::Path,
    process::Child,
    time::{Duration, Instant},
};

/// What another process of these tests does; does nothing when run as a test.
#[test]
fn another_process() {
    let Some((role, state)) = role() else { return };
    let store = Store::open(&state).expect("the state file");
    let (role, arg) = role.split_once(' ').unwrap_or((&role, ""));
    match role {
        "count" => {
            for n in 0..arg.parse().expect("a number") {
                store.apply(xid(n)).expect("an update");
            }
        }
        "alternate" => {
            let store = match arg {
                "bare" => store.with_proc_dir(state.with_file_name("none")),
                _ => store,
            };
            let [a, b] = states();
            println!("ready");
            for n in 0.. {
                let next = if n % 2 == 0 { &b } else { &a };
                store
                    .update(|_, _| Ok::<_, Refusal>((next.clone(), ())))
                    .expect("an update");
            }
        }
        "hold" => {
            let gi = GiId(arg.parse().expect("an id"));
            let _hold = store.hold(Scope::gi(GPU, gi)).expect("a hold");
            println!("ready");
            std::thread::sleep(Duration::from_secs(60));
        }
        "wait" => {
            let seen = store.generation();
            println!("ready");
            assert!(store.wait_change(seen, Duration::from_secs(20)));
            println!("changed");
        }
        other => panic!("no role {other}"),
    }
}

fn xid(xid: u32) -> Op {
    Op::Inject {
        gpu: GPU,
        what: Injection::Xid {
            xid,
            gi: None,
            ci: None,
        },
    }
}

/// Two states that differ in length and in nearly every byte after the first instance.
fn states() -> [Machine; 2] {
    let empty = machine("crash", &[("A100-SXM4-40GB", 2)]);
    let mut full = empty.clone();
    for gpu in 0..2 {
        for _ in 0..7 {
            let op = Op::CreateGpuInstance {
                gpu: gpu_model::GpuIndex(gpu),
                profile: gpu_model::ProfileId(19),
                placement: None,
            };
            full = full.apply(op, Now(1)).expect("room for seven").0;
        }
    }
    [empty, full]
}

fn kill(child: &mut Child) {
    child.kill().expect("SIGKILL");
    child.wait().expect("its end");
}

/// A writer is killed at random moments; each time the state is whole, old or new, and the lock is free.
#[test]
fn a_killed_writer_leaves_the_old_or_the_new_state() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state");
    let proc = folder.path().join("proc");
    std::fs::create_dir(&proc).expect("a folder");
    let [a, b] = states();
    gpu_store::write_marker(&proc, &a).expect("a marker");
    let kept = Store::create(&path, &a)
        .expect("a state file")
        .with_proc_dir(&proc);
    let (mut olds, mut news) = (0, 0);
    for round in 0u64..40 {
        // Half of them without capability files, whose writing takes most of an update's time.
        let role = if round % 2 == 0 {
            "alternate bare"
        } else {
            "alternate"
        };
        let mut child = spawn("another_process", role, &path);
        wait_for(&mut child, "ready");
        // From nothing to some milliseconds, in uneven steps: a writer's round takes less than one.
        std::thread::sleep(Duration::from_micros((round * 7919) % 4000));
        kill(&mut child);
        for store in [&kept, &Store::open(&path).expect("it opens")] {
            let machine = &store.read().expect("it decodes").machine;
            // When it was written last is no part of what was written.
            let is = |state: &Machine| *machine == state.clone().stamped(machine.now(Now(0)));
            match (is(&a), is(&b)) {
                (true, false) => olds += 1,
                (false, true) => news += 1,
                _ => panic!("round {round}: neither state"),
            }
        }
        let started = Instant::now();
        kept.apply(xid(1)).expect("the lock is free");
        assert!(
            started.elapsed() < Duration::from_secs(2),
            "round {round}: the lock was not dropped"
        );
        kept.update(|_, _| Ok::<_, Refusal>((a.clone(), ())))
            .expect("back to the start");
        assert_eq!(
            kept.mirror().expect("the folder is ours"),
            Mirrored::InLine {
                written: 0,
                removed: 0
            },
            "the update before it has mended what the killed writer left"
        );
    }
    assert!(
        olds > 0 && news > 0,
        "{olds} old, {news} new: the moments were not spread"
    );
}

/// Four processes and this one write at once: no update is lost, and each reader sees whole states only.
#[test]
fn no_update_is_lost() {
    const EACH: u64 = 150;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state");
    let store = Store::create(&path, &machine("count", &[("L4", 2)])).expect("a state file");
    let role = format!("count {EACH}");
    let mut children: Vec<Child> = (0..4)
        .map(|_| spawn("another_process", &role, &path))
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for n in 0..EACH {
                    store
                        .apply(xid(u32::try_from(n).expect("small")))
                        .expect("an update");
                }
            });
        }
        let mut last = 0;
        while children
            .iter_mut()
            .any(|child| child.try_wait().expect("its state").is_none())
        {
            let snapshot = store.read().expect("a whole state");
            let events = &snapshot.machine.events;
            assert!(events.last_seq() >= last, "it went back");
            assert_eq!(events.all().last().map_or(0, |e| e.seq), events.last_seq());
            last = events.last_seq();
        }
    });
    for child in &mut children {
        assert!(child.wait().expect("its end").success());
    }
    assert_eq!(
        store.read().expect("a state").machine.events.last_seq(),
        6 * EACH
    );
}

/// An instance that a process holds can not be destroyed; when the process is killed it can.
#[test]
fn a_killed_client_lets_its_instance_go() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state");
    let store = Store::create(&path, &machine("hold", &[("A100-SXM4-40GB", 1)])).expect("a file");
    let made = store.apply(create(9)).expect("room");
    let Outcome::GpuInstance { id, .. } = made else {
        panic!("{made:?}")
    };
    let destroy = Op::DestroyGpuInstance { gpu: GPU, gi: id };

    let mut child = spawn("another_process", &format!("hold {id}"), &path);
    wait_for(&mut child, "ready");
    let clients = store.clients().expect("a list");
    assert_eq!(clients.all().len(), 1);
    assert_eq!(clients.all()[0].scope, Scope::gi(GPU, id));
    assert_eq!(clients.all()[0].pid.0, child.id());
    let refused = store.apply(destroy).expect_err("it is held");
    assert_eq!(refused.code(), Code::InUse);
    assert!(
        refused
            .to_string()
            .contains(&format!("process {}", child.id())),
        "{refused}"
    );
    assert_eq!(
        store
            .apply(Op::Reset { gpu: GPU })
            .expect_err("held")
            .code(),
        Code::InUse
    );

    kill(&mut child);
    assert_eq!(store.clients().expect("a list"), Clients::none());
    store.apply(destroy).expect("nobody holds it");
    let gone = store.hold(Scope::gi(GPU, id)).expect_err("it is gone");
    assert_eq!(
        gone.to_string(),
        "GPU 0 GPU instance 2 is not there: nothing to hold open"
    );
}

/// Several holds, of this process too, are listed one by one and end one by one.
#[test]
fn holds_are_listed_and_dropped() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state");
    let store = Store::create(&path, &machine("list", &[("H100-SXM5-80GB", 2)])).expect("a file");
    let scopes = [Scope::gpu(GPU), Scope::gpu(gpu_model::GpuIndex(1))];
    let mut holds: Vec<_> = scopes
        .map(|s| store.hold(s).expect("a hold"))
        .into_iter()
        .collect();
    holds.push(store.hold(Scope::gpu(GPU)).expect("twice by one process"));
    let listed: Vec<Scope> = store
        .clients()
        .expect("a list")
        .all()
        .iter()
        .map(|c| c.scope)
        .collect();
    assert_eq!(listed, scopes);
    drop(holds.remove(0));
    assert_eq!(
        store.clients().expect("a list").all().len(),
        2,
        "the second hold of GPU 0 stands"
    );
    holds.clear();
    assert_eq!(store.clients().expect("a list"), Clients::none());
}

/// A process that waits wakes up when another one writes, long before its time is over.
#[test]
fn a_waiting_process_wakes_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state");
    let store = Store::create(&path, &machine("wait", &[("L4", 1)])).expect("a state file");
    let mut child = spawn("another_process", "wait", &path);
    wait_for(&mut child, "ready");
    // Let it fall asleep; the test is right without this, only less sharp.
    std::thread::sleep(Duration::from_millis(50));
    let started = Instant::now();
    store.apply(xid(79)).expect("an update");
    wait_for(&mut child, "changed");
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "it slept {:?}",
        started.elapsed()
    );
    assert!(child.wait().expect("its end").success());
    assert!(!store.wait_change(store.generation(), Duration::from_millis(20)));
}

/// The child of a fork and its parent share one `Store` and still exclude each other.
#[test]
fn a_forked_child_may_write() {
    const EACH: u64 = 50;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state");
    let store = Store::create(&path, &machine("fork", &[("L4", 1)])).expect("a state file");
    // SAFETY: the child touches only `store`, which takes no process-local lock, and leaves by `_exit`.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    for n in 0..EACH {
        let done = store.update(|machine, clients| {
            // Long enough for the other one to come in between, if it could.
            std::thread::sleep(Duration::from_micros(200));
            machine.apply_among(xid(u32::try_from(n).expect("small")), Now(n), clients)
        });
        if pid == 0 && done.is_err() {
            // SAFETY: ends the child at once, without running the parent's destructors.
            unsafe { libc::_exit(1) };
        }
        done.expect("an update");
    }
    if pid == 0 {
        // SAFETY: as above.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: `pid` is the child made above; `status` is a valid place.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(status, 0);
    assert_eq!(
        store.read().expect("a state").machine.events.last_seq(),
        2 * EACH
    );
}

/// Where the file can only be read: reading, holding and waiting work, changing says so.
#[test]
fn a_read_only_file_can_be_read_and_held() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state");
    drop(Store::create(&path, &machine("ro", &[("A100-SXM4-40GB", 1)])).expect("a state file"));
    open_to_all(folder.path(), 0o755);
    open_to_all(&path, 0o444);
    // SAFETY: the child runs plain code of this crate and leaves by `_exit`.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: gives up root's rights, if it has them; harmless otherwise.
        unsafe { libc::setresuid(65534, 65534, 65534) };
        let fine = std::panic::catch_unwind(|| read_only(&path)).is_ok();
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(!fine)) };
    }
    let mut status = 0;
    // SAFETY: `pid` is the child made above; `status` is a valid place.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(status, 0);
}

fn open_to_all(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
}

fn read_only(path: &Path) {
    let store = Store::open(path).expect("it opens");
    assert!(!store.writable());
    let snapshot = store.read().expect("it reads");
    let gpu = snapshot.machine.gpu(GPU).expect("a GPU");
    let _ = Telemetry::of(snapshot.machine.spec(gpu), gpu, Now(1));
    assert!(!store.wait_change(store.generation(), Duration::from_millis(5)));
    let hold = store.hold(Scope::gpu(GPU)).expect("it can be held");
    assert_eq!(store.clients().expect("a list").all().len(), 1);
    drop(hold);
    match store.apply(create(19)) {
        Err(UpdateError::Store(error)) => {
            assert_eq!(error.code(), Code::NoPermission);
            assert!(error.to_string().contains("is read-only here"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}
