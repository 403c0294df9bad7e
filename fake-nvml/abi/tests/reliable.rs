//! Many processes on one machine through the real library, and what may befall them: kill -9 at any moment, fork, setuid, a state
//! that can only be read, loading anew.
//! The storm's size is `NVML_RELIABLE`, as `64x10000` (processes x operations); without it a few seconds' worth.
#![allow(unsafe_code, reason = "the binding's functions are C functions")]

mod support;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gpu_model::Machine;
use nvml_wrapper_sys::bindings::*;
use support::{Node, Nvml, ask, call};

const UNINITIALIZED: u32 = 1;
const INVALID_ARGUMENT: u32 = 2;
const NO_PERMISSION: u32 = 4;
const NOT_FOUND: u32 = 6;
const TIMEOUT: u32 = 10;
const IN_USE: u32 = 19;
const INSUFFICIENT_RESOURCES: u32 = 23;
/// Instances of the smallest profile on an A100.
const PLACES: u32 = 7;

/// The type of the next event.
fn wait(nvml: &Nvml, set: nvmlEventSet_t, milliseconds: u32) -> Result<u64, u32> {
    let mut event = nvmlEventData_t {
        device: std::ptr::null_mut(),
        eventType: 0,
        eventData: 0,
        gpuInstanceId: 0,
        computeInstanceId: 0,
    };
    match call!(nvml, nvmlEventSetWait_v2(set, &mut event, milliseconds)) {
        0 => Ok(event.eventType),
        code => Err(code),
    }
}

// --- the storm --------------------------------------------------------------------------------------------------------

/// A worker owns one place of one GPU: nobody else touches it, so it is free or the worker's own, at every moment.
/// The last GPU belongs to all: there workers get in each other's way.
struct Place {
    gpu: u32,
    start: u32,
    common: u32,
}

impl Place {
    fn of(worker: u32, workers: u32) -> Self {
        Self {
            gpu: worker / PLACES,
            start: worker % PLACES,
            common: workers.div_ceil(PLACES),
        }
    }
}

/// What a worker did last, as it lies in its record; a worker that is killed leaves it to its successor. Each entry is one write
/// of 32 bytes, which no kill tears apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// Operations done.
    done: u64,
    step: Step,
    /// The handles of what the worker owns, 0 for none.
    gi: u64,
    ci: u64,
}

/// Where a worker stands; `To` means that the call may have happened or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
enum Step {
    Free,
    ToInstance,
    Instance,
    ToCompute,
    Compute,
    ToInstanceAgain,
    ToFree,
}

impl Step {
    fn of(number: u64) -> Self {
        use Step::*;
        [
            Free,
            ToInstance,
            Instance,
            ToCompute,
            Compute,
            ToInstanceAgain,
            ToFree,
        ][usize::try_from(number).expect("small")]
    }
}

struct Record(File);

impl Record {
    fn open(path: &Path) -> Self {
        Self(
            File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .expect("a record"),
        )
    }

    fn read(&self) -> Entry {
        let mut bytes = [0; 32];
        let _ = self.0.read_at(&mut bytes, 0).expect("its bytes");
        let word =
            |i: usize| u64::from_le_bytes(bytes[i * 8..i * 8 + 8].try_into().expect("eight bytes"));
        Entry {
            done: word(0),
            step: Step::of(word(1)),
            gi: word(2),
            ci: word(3),
        }
    }

    fn write(&self, entry: Entry) {
        let words = [entry.done, entry.step as u64, entry.gi, entry.ci];
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.0.write_all_at(&bytes, 0).expect("written");
    }
}

/// Numbers that look random and follow from the seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

struct Worker {
    nvml: Option<Nvml>,
    library: PathBuf,
    place: Place,
    record: Record,
    now: Entry,
    dice: Dice,
}

#[test]
#[ignore = "run by many_processes_killed_at_random_lose_nothing"]
fn as_a_worker() {
    let word = |name: &str| std::env::var(name).expect("run by another test");
    let number = |name: &str| word(name).parse::<u32>().expect("a number");
    let (me, workers) = (number("STORM_WORKER"), number("STORM_WORKERS"));
    let operations = u64::from(number("STORM_OPERATIONS"));
    let record = Record::open(Path::new(&word("STORM_RECORD")));
    let now = record.read();
    let mut worker = Worker {
        nvml: None,
        library: word("STORM_LIBRARY").into(),
        place: Place::of(me, workers),
        dice: Dice(u64::from(me) << 32 ^ now.done << 8 ^ u64::from(std::process::id())),
        record,
        now,
    };
    worker.load();
    worker.settle();
    while worker.now.done < operations {
        worker.operate();
        worker.now.done += 1;
        worker.record.write(worker.now);
    }
}

impl Worker {
    fn nvml(&self) -> &Nvml {
        self.nvml.as_ref().expect("loaded")
    }

    fn load(&mut self) {
        // dlclose of the last use comes first, then the load.
        self.nvml = None;
        let nvml = Nvml::open(&self.library);
        assert_eq!(call!(nvml, nvmlInit_v2()), 0);
        self.nvml = Some(nvml);
    }

    fn device(&self) -> nvmlDevice_t {
        self.nvml().device(self.place.gpu)
    }

    fn step(&mut self, step: Step) {
        self.now.step = step;
        self.record.write(self.now);
    }

    /// The handle of the GPU instance that stands in this worker's place, if one does.
    fn found(&self) -> Option<u64> {
        self.instances(self.place.gpu)
            .into_iter()
            .find(|gi| {
                ask!(self.nvml(), nvmlGpuInstanceGetInfo(*gi as nvmlGpuInstance_t) -> nvmlGpuInstanceInfo_t)
                    .is_ok_and(|info| info.placement.start == self.place.start)
            })
    }

    fn instances(&self, gpu: u32) -> Vec<u64> {
        let mut room = [std::ptr::null_mut(); PLACES as usize];
        let mut count = PLACES;
        let code = call!(
            self.nvml(),
            nvmlDeviceGetGpuInstances(self.nvml().device(gpu), 19, room.as_mut_ptr(), &mut count)
        );
        assert_eq!(code, 0, "the list of GPU instances");
        room.iter()
            .take(count as usize)
            .map(|gi| *gi as u64)
            .collect()
    }

    fn compute(&self, gi: u64) -> Option<u64> {
        ask!(self.nvml(), nvmlGpuInstanceGetComputeInstanceById(gi as nvmlGpuInstance_t, 0) -> nvmlComputeInstance_t)
            .ok()
            .map(|ci| ci as u64)
    }

    /// After the end of the one before: what was under way has happened or has not; all else is as it was.
    fn settle(&mut self) {
        let (gi, ci) = (self.now.gi, self.now.ci);
        let found = self.found();
        let compute = found.and_then(|gi| self.compute(gi));
        let is = format!(
            "{:?} by the record, {found:x?} with {compute:x?} found",
            self.now
        );
        match self.now.step {
            Step::Free => assert_eq!(found, None, "{is}"),
            Step::ToInstance => assert_eq!(compute, None, "{is}"),
            Step::Instance => assert_eq!((found, compute), (Some(gi), None), "{is}"),
            Step::ToCompute => assert_eq!(found, Some(gi), "{is}"),
            Step::Compute => assert_eq!((found, compute), (Some(gi), Some(ci)), "{is}"),
            Step::ToInstanceAgain => {
                assert_eq!(found, Some(gi), "{is}");
                assert!(compute.is_none() || compute == Some(ci), "{is}");
            }
            Step::ToFree => {
                assert!(found.is_none() || found == Some(gi), "{is}");
                assert_eq!(compute, None, "{is}");
            }
        }
        (self.now.gi, self.now.ci) = (found.unwrap_or(0), compute.unwrap_or(0));
        self.step(match (found, compute) {
            (None, _) => Step::Free,
            (Some(_), None) => Step::Instance,
            (Some(_), Some(_)) => Step::Compute,
        });
    }

    fn operate(&mut self) {
        match self.dice.below(100) {
            0..8 => self.forth(),
            8..16 => self.back(),
            16..22 => self.quarrel(),
            22..26 => self.set(),
            26..28 => {
                assert_eq!(call!(self.nvml(), nvmlShutdown()), 0);
                assert_eq!(call!(self.nvml(), nvmlInit_v2()), 0);
            }
            28 => self.load(),
            29..31 => self.wait(),
            _ => self.look(),
        }
    }

    /// One step towards a MIG device.
    fn forth(&mut self) {
        match self.now.step {
            Step::Free => {
                self.step(Step::ToInstance);
                let placement = nvmlGpuInstancePlacement_t {
                    start: self.place.start,
                    size: 1,
                };
                let gi = ask!(self.nvml(), nvmlDeviceCreateGpuInstanceWithPlacement(self.device(), 19, &placement) -> nvmlGpuInstance_t)
                    .expect("my place is free");
                self.now.gi = gi as u64;
                self.step(Step::Instance);
            }
            Step::Instance => {
                self.step(Step::ToCompute);
                let gi = self.now.gi as nvmlGpuInstance_t;
                let ci = ask!(self.nvml(), nvmlGpuInstanceCreateComputeInstance(gi, 0) -> nvmlComputeInstance_t)
                    .expect("my GPU instance is empty");
                self.now.ci = ci as u64;
                self.step(Step::Compute);
            }
            _ => self.look(),
        }
    }

    /// One step back.
    fn back(&mut self) {
        let (gi, ci) = (
            self.now.gi as nvmlGpuInstance_t,
            self.now.ci as nvmlComputeInstance_t,
        );
        match self.now.step {
            Step::Compute => {
                assert_eq!(call!(self.nvml(), nvmlGpuInstanceDestroy(gi)), IN_USE);
                self.step(Step::ToInstanceAgain);
                assert_eq!(call!(self.nvml(), nvmlComputeInstanceDestroy(ci)), 0);
                self.now.ci = 0;
                self.step(Step::Instance);
            }
            Step::Instance => {
                self.step(Step::ToFree);
                assert_eq!(call!(self.nvml(), nvmlGpuInstanceDestroy(gi)), 0);
                self.now.gi = 0;
                self.step(Step::Free);
            }
            _ => self.look(),
        }
    }

    /// Creates and destroys where all do: a place is given once, and a full card says so.
    fn quarrel(&mut self) {
        let device = self.nvml().device(self.place.common);
        match ask!(self.nvml(), nvmlDeviceCreateGpuInstance(device, 19) -> nvmlGpuInstance_t) {
            // Another one, or this one in an earlier life, may have left it: then anybody takes it away.
            Err(code) => {
                assert_eq!(code, INSUFFICIENT_RESOURCES, "on the common GPU");
                for gi in self.instances(self.place.common) {
                    let code = call!(self.nvml(), nvmlGpuInstanceDestroy(gi as nvmlGpuInstance_t));
                    assert!([0, INVALID_ARGUMENT].contains(&code), "{code}");
                }
            }
            Ok(gi) => {
                let code = call!(self.nvml(), nvmlGpuInstanceDestroy(gi));
                assert!([0, INVALID_ARGUMENT].contains(&code), "{code}");
            }
        }
    }

    fn set(&mut self) {
        let device = self.device();
        let on = self.dice.below(2) as u32;
        assert_eq!(
            call!(self.nvml(), nvmlDeviceSetPersistenceMode(device, on)),
            0
        );
        let watts = 100 + self.dice.below(300) as u32;
        let limit = call!(
            self.nvml(),
            nvmlDeviceSetPowerManagementLimit(device, watts * 1000)
        );
        assert_eq!(limit, 0);
    }

    fn wait(&mut self) {
        let set = ask!(self.nvml(), nvmlEventSetCreate() -> nvmlEventSet_t).expect("a set");
        assert_eq!(
            call!(
                self.nvml(),
                nvmlDeviceRegisterEvents(self.device(), 0x8, set)
            ),
            0
        );
        assert_eq!(
            wait(self.nvml(), set, 1),
            Err(TIMEOUT),
            "nobody injects anything"
        );
        assert_eq!(call!(self.nvml(), nvmlEventSetFree(set)), 0);
    }

    /// What stands in this worker's place is what it put there, and everything answers.
    fn look(&mut self) {
        let nvml = self.nvml();
        let device = self.device();
        assert_eq!(nvml.name(device).as_deref(), Ok("NVIDIA A100-SXM4-40GB"));
        let memory = ask!(nvml, nvmlDeviceGetMemoryInfo(device) -> nvmlMemory_t);
        assert!(
            memory.is_ok_and(|m| m.free + m.used == m.total),
            "{memory:?}"
        );
        assert!(ask!(nvml, nvmlDeviceGetPowerUsage(device) -> u32).is_ok());
        let gi = self.now.gi as nvmlGpuInstance_t;
        let ci = self.now.ci as nvmlComputeInstance_t;
        if self.now.gi != 0 {
            let info = ask!(nvml, nvmlGpuInstanceGetInfo(gi) -> nvmlGpuInstanceInfo_t);
            let start = info.map(|info| info.placement.start);
            assert_eq!(start, Ok(self.place.start), "my GPU instance is lost");
        }
        if self.now.ci != 0 {
            let info = ask!(nvml, nvmlComputeInstanceGetInfo_v2(ci) -> nvmlComputeInstanceInfo_t)
                .expect("my compute instance is lost");
            assert_eq!(nvml.uuid(info.device).map(|uuid| uuid.len()), Ok(40));
        }
    }
}

/// Says what is wrong with a machine that must never be: two instances in one place, an id twice, an event that went back.
fn wrong(machine: &Machine) -> Option<String> {
    for gpu in &machine.gpus {
        let mut taken = [false; 8];
        let mut ids = Vec::new();
        for gi in &gpu.instances {
            for place in gi.placement.start..gi.placement.start + gi.placement.size {
                let place = usize::try_from(place).ok()?;
                if std::mem::replace(taken.get_mut(place)?, true) {
                    return Some(format!("GPU {}: place {place} is given twice", gpu.index));
                }
            }
            if ids.contains(&gi.id) || gi.compute.len() > 1 {
                return Some(format!("GPU {}: {:?}", gpu.index, gpu.instances));
            }
            ids.push(gi.id);
        }
    }
    None
}

fn storm() -> (u32, u32) {
    let size = std::env::var("NVML_RELIABLE").unwrap_or_else(|_| "8x250".to_owned());
    let (processes, operations) = size.split_once('x').expect("NVML_RELIABLE=64x10000");
    (
        processes.parse().expect("a number of processes"),
        operations.parse().expect("a number of operations"),
    )
}

/// Ends what a failed test would leave.
struct Fleet(Vec<Option<Child>>);

impl Drop for Fleet {
    fn drop(&mut self) {
        for child in self.0.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn many_processes_killed_at_random_lose_nothing() {
    let (workers, operations) = storm();
    let gpus = workers.div_ceil(PLACES) + 1;
    let node = Node::mig(&format!("{gpus}xA100-SXM4-40GB"));
    let proc = node.folder().join("proc");
    std::fs::create_dir(&proc).expect("a folder");
    gpu_store::write_marker(&proc, &node.machine()).expect("a marker");
    let start = |worker: u32| {
        Command::new(std::env::current_exe().expect("the test's own path"))
            .args(["--exact", "as_a_worker", "--ignored", "--nocapture"])
            .env("STORM_WORKER", worker.to_string())
            .env("STORM_WORKERS", workers.to_string())
            .env("STORM_OPERATIONS", operations.to_string())
            .env(
                "STORM_RECORD",
                node.folder().join(format!("record-{worker}")),
            )
            .env("STORM_LIBRARY", node.library())
            .env("FAKEGPU_VISIBLE", "all")
            .env(gpu_store::PROC_ENV, &proc)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("the test runs again")
    };
    let began = Instant::now();
    let mut fleet = Fleet((0..workers).map(|worker| Some(start(worker))).collect());
    let (mut kills, mut reads, mut dice) = (0u32, 0u64, Dice(1));
    // As many kills as there are workers for each thousand operations, at the least some.
    let enough = (workers * operations / 1000).max(3 * workers);
    while fleet.0.iter().any(Option::is_some) {
        for worker in 0..workers {
            let slot = &mut fleet.0[worker as usize];
            let Some(child) = slot else { continue };
            if let Some(status) = child.try_wait().expect("its state") {
                assert!(status.success(), "worker {worker}: {status}");
                *slot = None;
            }
        }
        let victim = dice.below(u64::from(workers)) as usize;
        if let Some(child) = &mut fleet.0[victim]
            && kills < enough
        {
            child.kill().expect("SIGKILL");
            let status = child.wait().expect("its end");
            // It may have ended, well or badly, just before.
            assert!(
                status.code().is_none_or(|code| code == 0),
                "worker {victim}: {status}"
            );
            kills += u32::from(status.code().is_none());
            fleet.0[victim] = Some(start(victim as u32));
        }
        let machine = node.machine();
        assert_eq!(wrong(&machine), None);
        reads += 1;
        std::thread::sleep(Duration::from_micros(200 + dice.below(20_000)));
    }
    let took = began.elapsed();

    // All of it is accounted for: what the records say is in the state, and nothing else is.
    let machine = node.machine();
    let mut owned = 0;
    for worker in 0..workers {
        let entry = Record::open(&node.folder().join(format!("record-{worker}"))).read();
        assert_eq!(entry.done, u64::from(operations));
        let place = Place::of(worker, workers);
        let there = machine.gpus[place.gpu as usize]
            .instances
            .iter()
            .find(|gi| gi.placement.start == place.start);
        let compute = there.map_or(0, |gi| gi.compute.len());
        let expected = match entry.step {
            Step::Free => (false, 0),
            Step::Instance => (true, 0),
            Step::Compute => (true, 1),
            other => panic!("worker {worker} ended within {other:?}"),
        };
        assert_eq!((there.is_some(), compute), expected, "worker {worker}");
        owned += usize::from(there.is_some());
    }
    let own_gpus = &machine.gpus[..machine.gpus.len() - 1];
    let total: usize = own_gpus.iter().map(|gpu| gpu.instances.len()).sum();
    assert_eq!(total, owned, "instances that nobody made");
    assert!(
        kills >= workers,
        "only {kills} were killed: the storm was too short"
    );
    // The lock is free, and the files that mirror the instances are what they should be after one more look.
    let store = gpu_store::Store::open(node.store().path())
        .expect("it opens")
        .with_proc_dir(&proc);
    store
        .mirror()
        .expect("the folder is ours and the lock is free");
    println!(
        "{workers} processes x {operations} operations, {kills} killed, {} changes of the state, {reads} looks from outside: {took:.1?}",
        node.store().generation()
    );
}

// --- threads, forks, rights -------------------------------------------------------------------------------------------

/// Threads wait, begin and end, read and change at once; each call answers with a code of the header, and all end.
#[test]
fn waiting_beginning_and_ending_at_once() {
    let node = Node::mig("2xA100-SXM4-40GB");
    let nvml = node.init();
    let end = Instant::now() + Duration::from_millis(400);
    let allowed = |code: u32| [0, UNINITIALIZED, INVALID_ARGUMENT, TIMEOUT].contains(&code);
    std::thread::scope(|scope| {
        for index in 0..3 {
            let nvml = &nvml;
            scope.spawn(move || {
                while Instant::now() < end {
                    let Ok(set) = ask!(nvml, nvmlEventSetCreate() -> nvmlEventSet_t) else {
                        continue;
                    };
                    if let Ok(device) =
                        ask!(nvml, nvmlDeviceGetHandleByIndex_v2(index % 2) -> nvmlDevice_t)
                    {
                        assert!(allowed(call!(
                            nvml,
                            nvmlDeviceRegisterEvents(device, 0x8, set)
                        )));
                    }
                    // Longer than the test: a shutdown elsewhere must wake it.
                    assert!(allowed(wait(nvml, set, 60_000).err().unwrap_or(0)));
                    assert!(allowed(call!(nvml, nvmlEventSetFree(set))));
                }
            });
            scope.spawn(move || {
                while Instant::now() < end {
                    if let Ok(device) =
                        ask!(nvml, nvmlDeviceGetHandleByIndex_v2(index % 2) -> nvmlDevice_t)
                    {
                        let on = call!(nvml, nvmlDeviceSetPersistenceMode(device, index % 2));
                        assert!(allowed(on), "{on}");
                    }
                }
            });
        }
        while Instant::now() < end {
            assert!(allowed(call!(nvml, nvmlShutdown())));
            assert!(allowed(call!(nvml, nvmlInit_v2())));
        }
        // The last word is a shutdown: whoever still waits must wake.
        assert!(allowed(call!(nvml, nvmlShutdown())));
    });
}

/// A forked child has the parent's handles and goes on with them when the parent is killed in the middle of its changes: no lock
/// of the dead stays with the living.
#[test]
fn a_child_outlives_its_killed_parent() {
    let node = Node::mig("2xA100-SXM4-40GB");
    let nvml = node.load();
    for round in 0..10u64 {
        let parent = fork(|| {
            assert_eq!(call!(nvml, nvmlInit_v2()), 0);
            let device = nvml.device(1);
            let gi = ask!(nvml, nvmlDeviceCreateGpuInstance(device, 19) -> nvmlGpuInstance_t);
            let Ok(gi) = gi else { return 1 };
            // A thread is within the store's lock nearly all the time when the forks happen.
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for turn in 0.. {
                        call!(nvml, nvmlDeviceSetPersistenceMode(nvml.device(0), turn % 2));
                    }
                });
                std::thread::sleep(Duration::from_micros(500 + round * 300));
                let orphan = fork(|| {
                    // The parent is killed meanwhile.
                    std::thread::sleep(Duration::from_millis(30));
                    let known = ask!(nvml, nvmlGpuInstanceGetInfo(gi) -> nvmlGpuInstanceInfo_t);
                    let gone = call!(nvml, nvmlGpuInstanceDestroy(gi));
                    let done = known.is_ok() && gone == 0;
                    std::fs::write(
                        node.folder().join(format!("orphan-{round}")),
                        if done { "fine" } else { "lost" },
                    )
                    .map_or(1, |()| 0)
                });
                let _ = orphan;
                std::thread::sleep(Duration::from_millis(1));
                // SAFETY: a signal to this process itself.
                unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
            });
            0
        });
        assert_eq!(ends(parent), Err(libc::SIGKILL), "round {round}");
        let told = node.folder().join(format!("orphan-{round}"));
        // A lock that stayed with the dead makes its calls time out, and then it says so.
        let end = Instant::now() + Duration::from_secs(60);
        let said = loop {
            match std::fs::read_to_string(&told) {
                Ok(said) if !said.is_empty() => break said,
                _ => assert!(Instant::now() < end, "round {round}: the child is stuck"),
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        assert_eq!(said, "fine", "round {round}");
    }
}

/// Runs `body` in a child of this process.
fn fork(body: impl FnOnce() -> i32) -> libc::pid_t {
    // SAFETY: the child runs the library, which is made for it, and short code of this file, and leaves by _exit.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child > 0 {
        return child;
    }
    // SAFETY: a number. Another test's thread may have held a lock of the test program's at the fork: then a signal ends the child.
    unsafe { libc::alarm(90) };
    let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(99);
    // SAFETY: ends the child at once.
    unsafe { libc::_exit(code) }
}

/// How a child ended: its exit status, or the signal.
fn ends(child: libc::pid_t) -> Result<i32, i32> {
    let mut status = 0;
    // SAFETY: a child of ours and a place for its status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    if libc::WIFSIGNALED(status) {
        Err(libc::WTERMSIG(status))
    } else {
        Ok(libc::WEXITSTATUS(status))
    }
}

/// The calls that change something, and what each answers to one who may not.
fn refused(nvml: &Nvml) -> Vec<u32> {
    let device = nvml.device(0);
    let mut status = 0;
    vec![
        ask!(nvml, nvmlDeviceCreateGpuInstance(device, 19) -> nvmlGpuInstance_t)
            .map_or_else(|code| code, |_| 0),
        call!(nvml, nvmlDeviceSetPersistenceMode(device, 1)),
        call!(nvml, nvmlDeviceSetPowerManagementLimit(device, 200_000)),
        call!(nvml, nvmlDeviceSetComputeMode(device, 3)),
        call!(nvml, nvmlDeviceSetMigMode(device, 0, &mut status)),
    ]
}

/// Root begins, becomes an ordinary user, and goes on: it reads what it read, and changes nothing any more.
#[test]
fn who_gives_up_root_may_read_and_not_change() {
    let node = Node::mig("1xA100-SXM4-40GB");
    let nvml = node.load();
    let child = fork(|| {
        assert_eq!(call!(nvml, nvmlInit_v2()), 0);
        let gi = ask!(nvml, nvmlDeviceCreateGpuInstance(nvml.device(0), 19) -> nvmlGpuInstance_t)
            .expect("root may");
        if !become_ordinary() {
            return 42;
        }
        assert!(ask!(nvml, nvmlGpuInstanceGetInfo(gi) -> nvmlGpuInstanceInfo_t).is_ok());
        assert_eq!(refused(&nvml), [NO_PERMISSION; 5]);
        assert_eq!(call!(nvml, nvmlGpuInstanceDestroy(gi)), NO_PERMISSION);
        assert_eq!(call!(nvml, nvmlShutdown()), 0);
        0
    });
    match ends(child) {
        Ok(42) => eprintln!("not run: this user cannot become another one"),
        other => assert_eq!(other, Ok(0)),
    }
    assert_eq!(node.machine().gpus[0].instances.len(), 1);
}

fn become_ordinary() -> bool {
    // SAFETY: numbers only.
    unsafe { libc::setresuid(65_534, 65_534, 65_534) == 0 }
}

/// Root of a container that has the state by a read-only mount: it reads, waits, and changes nothing.
#[test]
fn root_with_a_read_only_state_may_read_and_not_change() {
    let node = Node::mig("1xA100-SXM4-40GB");
    let before = node.store().generation();
    let nvml = node.load();
    let child = fork(|| {
        if !mount_read_only(node.folder()) {
            return 42;
        }
        assert_eq!(call!(nvml, nvmlInit_v2()), 0);
        assert_eq!(refused(&nvml), [NO_PERMISSION; 5]);
        assert!(nvml.uuid(nvml.device(0)).is_ok());
        let set = ask!(nvml, nvmlEventSetCreate() -> nvmlEventSet_t).expect("a set");
        let registered = call!(nvml, nvmlDeviceRegisterEvents(nvml.device(0), 0x8, set));
        assert_eq!(registered, 0);
        assert_eq!(wait(&nvml, set, 5), Err(TIMEOUT));
        let none =
            ask!(nvml, nvmlDeviceGetMigDeviceHandleByIndex(nvml.device(0), 0) -> nvmlDevice_t);
        assert_eq!(none.map(drop), Err(NOT_FOUND));
        0
    });
    match ends(child) {
        Ok(42) => eprintln!("not run: no mount here"),
        other => assert_eq!(other, Ok(0)),
    }
    assert_eq!(node.store().generation(), before);
}

/// Makes a folder read-only for this process.
fn mount_read_only(folder: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let folder = std::ffi::CString::new(folder.as_os_str().as_bytes()).expect("no NUL");
    let none = std::ptr::null();
    let mount = |from: *const _, to: &std::ffi::CStr, flags| {
        // SAFETY: C strings that live during the call, or NULL where none is needed.
        unsafe { libc::mount(from, to.as_ptr(), none, flags, none.cast()) == 0 }
    };
    // SAFETY: a number; the mounts of this process become its own.
    (unsafe { libc::unshare(libc::CLONE_NEWNS) } == 0)
        && mount(none, c"/", libc::MS_REC | libc::MS_PRIVATE)
        && mount(folder.as_ptr(), &folder, libc::MS_BIND)
        && mount(
            none,
            &folder,
            libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY,
        )
}

/// The last dlclose and the next dlopen among threads that are in the middle of calls through handles of their own.
#[test]
fn loading_and_unloading_while_others_call() {
    let node = Node::mig("1xA100-SXM4-40GB");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let nvml = node.init();
                    let name = nvml.name(nvml.device(0));
                    assert_eq!(name.as_deref(), Ok("NVIDIA A100-SXM4-40GB"));
                    assert_eq!(call!(nvml, nvmlShutdown()), 0);
                }
            });
        }
    });
    let nvml = node.load();
    assert_eq!(
        call!(nvml, nvmlShutdown()),
        UNINITIALIZED,
        "each init had its shutdown"
    );
}
