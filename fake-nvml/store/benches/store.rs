//! What reading and changing the state costs, beside what it can not be cheaper than, in one run.
//! `cargo bench -p gpu-store`. Prints medians and ratios; under `cargo test` it does nothing.
use gpu_model::{Catalog, GpuIndex, Injection, Machine, MiB, Op, Options, Percent, ProfileId};
use gpu_store::Store;
use std::{
    hint::black_box,
    os::{fd::AsRawFd, unix::fs::FileExt},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const GPU: GpuIndex = GpuIndex(0);

fn main() {
    if let Some(path) = std::env::var_os("STORE_BENCH_CHILD") {
        return child(path.as_ref());
    }
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state");
    let catalog = Catalog::builtin();
    let model = catalog.model("A100-SXM4-40GB").expect("a model");
    let options = Options {
        mig: true,
        ..Options::default()
    };
    let machine = Machine::build(&[(model, 8)], &options);
    let store = Store::create(&path, &machine)
        .expect("a state file")
        .with_proc_dir(folder.path());

    let empty = per_call(|| {
        black_box(nothing());
    });
    let generation = per_call(|| {
        black_box(store.generation());
    });
    let hit = per_call(|| {
        black_box(store.read().expect("a state").generation);
    });
    row("empty call", empty, empty);
    row("generation()", generation, empty);
    row("read(), unchanged", hit, empty);

    // What no update can go below: take a lock, write as many bytes, release.
    let payload = vec![7u8; 4096];
    let file = std::fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.path().join("limit"))
        .expect("a file");
    let limit = median(500, || {
        lock(&file, true);
        file.write_all_at(&payload, 0).expect("written");
        lock(&file, false);
    });
    let mut on = false;
    let update = median(500, || {
        on = !on;
        store
            .apply(Op::SetPersistence { gpu: GPU, on })
            .expect("set");
    });
    let lifecycle = median(300, || whole_life(&store));
    // The same where capability files and nodes follow, as on a node.
    let second = Store::open(&path).expect("open again");
    let node = on_a_node(
        Store::open(&path).expect("open again"),
        folder.path(),
        &machine,
    );
    let followed = median(300, || whole_life(&node));
    let decode = median(500, || {
        on = !on;
        store
            .apply(Op::SetPersistence { gpu: GPU, on })
            .expect("set");
        black_box(second.read().expect("a state").generation);
    });
    row("lock, write 4 KiB, unlock", limit, limit);
    row("update", update, limit);
    row("update + another reader decodes", decode, limit);
    row("create GI + CI, destroy both", lifecycle, limit);
    row("  with files and nodes", followed, limit);

    // Another process answers each change by one of its own: two updates and two wake-ups.
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .env("STORE_BENCH_CHILD", &path)
        .stdin(Stdio::null())
        .spawn()
        .expect("another process");
    while child.try_wait().expect("its state").is_none()
        && !echoed(&store, 1, Duration::from_secs(5))
    {}
    let mut load = 1u64;
    let there_and_back = median(500, || {
        load += 1;
        store.apply(set_load(load * 2)).expect("set");
        assert!(echoed(&store, load * 2 + 1, Duration::from_secs(5)));
    });
    row(
        "seen by another process (half a round trip)",
        there_and_back / 2.0,
        limit,
    );
    store.apply(set_load(0)).expect("set");
    child.wait().expect("its end");
    println!("create + seen by another process: goal 300 us; NVML getters: goal 30 ns");
}

/// Four updates: an instance of each kind comes and goes.
fn whole_life(store: &Store) {
    for op in [
        Op::CreateGpuInstance {
            gpu: GPU,
            profile: ProfileId(19),
            placement: None,
        },
        Op::CreateComputeInstance {
            gpu: GPU,
            gi: gpu_model::GiId(13),
            profile: ProfileId(0),
            placement: None,
        },
        Op::DestroyComputeInstance {
            gpu: GPU,
            gi: gpu_model::GiId(13),
            ci: gpu_model::CiId(0),
        },
        Op::DestroyGpuInstance {
            gpu: GPU,
            gi: gpu_model::GiId(13),
        },
    ] {
        store.apply(op).expect("done");
    }
}

/// The store with folders below `root` that are marked as its machine's.
fn on_a_node(store: Store, root: &Path, machine: &Machine) -> Store {
    let (proc, dev) = (
        root.join("proc/driver/nvidia"),
        root.join("dev/nvidia-caps"),
    );
    for folder in [&proc, &dev] {
        std::fs::create_dir_all(folder).expect("a folder");
    }
    gpu_store::write_marker(&proc, machine).expect("a mark");
    std::fs::write(
        dev.join(gpu_store::MARKER),
        gpu_store::nodes_mark(machine, None),
    )
    .expect("a mark");
    store.with_proc_dir(proc)
}

fn child(path: &std::path::Path) {
    let store = Store::open(path).expect("the state file");
    store.apply(set_load(1)).expect("set");
    loop {
        let snapshot = store.read().expect("a state");
        match snapshot.machine.gpus[0]
            .memory_used(gpu_model::Now(u64::MAX))
            .0
        {
            0 => return,
            load if load % 2 == 0 => {
                store.apply(set_load(load + 1)).expect("set");
            }
            _ => {
                store.wait_change(snapshot.generation, Duration::from_secs(1));
            }
        }
    }
}

fn set_load(memory: u64) -> Op {
    let what = Injection::Load {
        gi: None,
        compute: Percent(1),
        memory: MiB(memory),
    };
    Op::Inject { gpu: GPU, what }
}

fn echoed(store: &Store, load: u64, patience: Duration) -> bool {
    let started = Instant::now();
    while started.elapsed() < patience {
        let snapshot = store.read().expect("a state");
        if snapshot.machine.gpus[0]
            .memory_used(gpu_model::Now(u64::MAX))
            .0
            == load
        {
            return true;
        }
        store.wait_change(snapshot.generation, Duration::from_millis(100));
    }
    false
}

#[inline(never)]
fn nothing() -> u64 {
    black_box(1)
}

fn lock(file: &std::fs::File, on: bool) {
    let operation = if on { libc::LOCK_EX } else { libc::LOCK_UN };
    // SAFETY: `file` is open; flock takes no pointer.
    #[allow(unsafe_code)]
    let done = unsafe { libc::flock(file.as_raw_fd(), operation) };
    assert_eq!(done, 0);
}

/// Seconds for one call.
fn per_call(mut call: impl FnMut()) -> f64 {
    const CALLS: u32 = 100_000;
    median(15, || (0..CALLS).for_each(|_| call())) / f64::from(CALLS)
}

/// Seconds for one round.
fn median(rounds: usize, mut round: impl FnMut()) -> f64 {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let started = Instant::now();
            round();
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[rounds / 2].as_secs_f64()
}

fn row(name: &str, seconds: f64, base: f64) {
    let time = match seconds < 1e-6 {
        true => format!("{:.1} ns", seconds * 1e9),
        false => format!("{:.1} us", seconds * 1e6),
    };
    println!("{name:44} {time:>12}  {:>8.1} x", seconds / base);
}
