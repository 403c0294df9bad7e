//! Threads, forks, processes, and loading anew.
#![allow(unsafe_code, reason = "the binding's functions are C functions")]

mod support;

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gpu_model::{GpuIndex, Op, Outcome, ProfileId};
use nvml_wrapper_sys::bindings::*;
use support::{Node, Nvml, ask, call};

const UNINITIALIZED: u32 = 1;
const INVALID_ARGUMENT: u32 = 2;
const NOT_FOUND: u32 = 6;

/// Creates a GPU and a compute instance and takes them away again, by way of the library.
fn cycle(nvml: &Nvml, device: nvmlDevice_t) {
    let gi = ask!(nvml, nvmlDeviceCreateGpuInstance(device, 19) -> nvmlGpuInstance_t)
        .expect("a GPU instance");
    let ci = ask!(nvml, nvmlGpuInstanceCreateComputeInstance(gi, 0) -> nvmlComputeInstance_t)
        .expect("a compute instance");
    let mig = ask!(nvml, nvmlComputeInstanceGetInfo_v2(ci) -> nvmlComputeInstanceInfo_t)
        .expect("what it is")
        .device;
    assert!(nvml.uuid(mig).is_ok_and(|uuid| uuid.starts_with("MIG-")));
    assert_eq!(call!(nvml, nvmlComputeInstanceDestroy(ci)), 0);
    assert_eq!(call!(nvml, nvmlGpuInstanceDestroy(gi)), 0);
}

/// What a reader may see while others create and destroy: whole answers, or that a thing is gone.
fn look(nvml: &Nvml, gpus: u32) {
    for index in 0..gpus {
        let device = nvml.device(index);
        assert_eq!(nvml.name(device).as_deref(), Ok("NVIDIA A100-SXM4-40GB"));
        assert_eq!(ask!(nvml, nvmlDeviceGetIndex(device) -> u32), Ok(index));
        for place in 0..7 {
            match ask!(nvml, nvmlDeviceGetMigDeviceHandleByIndex(device, place) -> nvmlDevice_t) {
                Ok(mig) => match nvml.uuid(mig) {
                    Ok(uuid) => assert!(uuid.starts_with("MIG-") && uuid.len() == 40, "{uuid}"),
                    Err(code) => assert_eq!(code, INVALID_ARGUMENT),
                },
                Err(code) => assert_eq!(code, NOT_FOUND),
            }
        }
    }
}

/// Tells the threads of a test that it is over, also when it is over by a panic.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn many_threads_read_while_others_change() {
    let node = Node::mig("2xA100-SXM4-40GB");
    let nvml = node.init();
    let (done, looks) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    look(&nvml, 2);
                    looks.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // Inits and shutdowns of another part of the program go on meanwhile.
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert_eq!(call!(nvml, nvmlInit_v2()), 0);
                assert_eq!(call!(nvml, nvmlShutdown()), 0);
            }
        });
        let writers: Vec<_> = (0..2)
            .map(|index| {
                let nvml = &nvml;
                scope.spawn(move || (0..100).for_each(|_| cycle(nvml, nvml.device(index))))
            })
            .collect();
        let _over = Over(&done);
        let outcome: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        assert!(outcome.iter().all(Result::is_ok));
    });
    assert!(looks.into_inner() > 100);
    assert!(
        node.machine()
            .gpus
            .iter()
            .all(|gpu| gpu.instances.is_empty())
    );
}

#[test]
fn a_shutdown_under_readers_is_an_answer_and_no_crash() {
    let node = Node::new("1xA100-SXM4-40GB");
    let nvml = node.init();
    let device = nvml.device(0);
    let done = AtomicBool::new(false);
    let number = device as usize;
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    match nvml.uuid(number as nvmlDevice_t) {
                        Ok(uuid) => assert_eq!(uuid.len(), 40),
                        Err(code) => assert_eq!(code, UNINITIALIZED),
                    }
                }
            });
        }
        let _over = Over(&done);
        for _ in 0..500 {
            assert_eq!(call!(nvml, nvmlShutdown()), 0);
            assert_eq!(call!(nvml, nvmlInit_v2()), 0);
        }
    });
}

#[test]
fn a_child_of_fork_goes_on_while_threads_hold_locks() {
    let node = Node::mig("2xA100-SXM4-40GB");
    let nvml = node.init();
    let set = ask!(nvml, nvmlEventSetCreate() -> nvmlEventSet_t).expect("a set");
    assert_eq!(
        call!(nvml, nvmlDeviceRegisterEvents(nvml.device(1), 0x100, set)),
        0
    );
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                look(&nvml, 1);
                let set = ask!(nvml, nvmlEventSetCreate() -> nvmlEventSet_t).expect("a set");
                assert_eq!(call!(nvml, nvmlEventSetFree(set)), 0);
            }
        });
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                cycle(&nvml, nvml.device(0));
            }
        });
        let _over = Over(&done);
        for round in 0..30 {
            // SAFETY: the child calls the library, which is made for it, and leaves by _exit.
            let child = unsafe { libc::fork() };
            assert!(child >= 0);
            if child == 0 {
                let device = nvml.device(1);
                cycle(&nvml, device);
                let mut event = nvmlEventData_t {
                    device,
                    eventType: 0,
                    eventData: 0,
                    gpuInstanceId: 0,
                    computeInstanceId: 0,
                };
                let woken = call!(nvml, nvmlEventSetWait_v2(set, &mut event, 1000));
                // SAFETY: ends the child at once.
                unsafe { libc::_exit(i32::from(woken != 0)) };
            }
            assert_eq!(
                ends(child, Duration::from_secs(20)),
                Some(0),
                "child of round {round}"
            );
        }
    });
}

/// The exit status of a child; `None` (and the child is killed) if it does not end in time or is killed by a signal.
fn ends(child: libc::pid_t, time: Duration) -> Option<i32> {
    let end = Instant::now() + time;
    let mut status = 0;
    while Instant::now() < end {
        // SAFETY: a child of ours and a place for its status.
        if unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == child {
            return libc::WIFEXITED(status).then_some(libc::WEXITSTATUS(status));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    // SAFETY: a child of ours that is not reaped yet.
    unsafe { libc::kill(child, libc::SIGKILL) };
    None
}

#[test]
fn loading_anew_costs_no_memory_and_keeps_the_state() {
    let node = Node::mig("1xA100-SXM4-40GB");
    let first = node.init();
    let gi = ask!(first, nvmlDeviceCreateGpuInstance(first.device(0), 19) -> nvmlGpuInstance_t)
        .expect("a GPU instance");
    assert_eq!(call!(first, nvmlShutdown()), 0);
    drop(first);
    let mappings = || {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
        maps.lines()
            .filter(|line| line.contains(node.folder().to_str().expect("UTF-8")))
            .count()
    };
    let before = mappings();
    assert!(before > 0);
    for _ in 0..200 {
        let nvml = node.init();
        assert!(ask!(nvml, nvmlGpuInstanceGetInfo(gi) -> nvmlGpuInstanceInfo_t).is_ok());
        assert_eq!(call!(nvml, nvmlShutdown()), 0);
    }
    assert_eq!(mappings(), before);
}

#[test]
fn what_one_process_creates_another_sees_at_once() {
    let node = Node::mig("1xA100-SXM4-40GB");
    let nvml = node.init();
    let device = nvml.device(0);
    let mut other = Command::new(std::env::current_exe().expect("the test's own path"))
        .args(["--exact", "as_another_process", "--ignored", "--nocapture"])
        .env("NVML_TEST_LIBRARY", node.library())
        .env("FAKEGPU_VISIBLE", "all")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the test runs again");
    // The other one creates as soon as it may, tells by its state in the file alone, and waits until it may end.
    let end = Instant::now() + Duration::from_secs(20);
    let mig = loop {
        match ask!(nvml, nvmlDeviceGetMigDeviceHandleByIndex(device, 0) -> nvmlDevice_t) {
            Ok(mig) => break mig,
            Err(code) => assert_eq!(code, NOT_FOUND),
        }
        assert!(Instant::now() < end, "nothing was created");
    };
    let uuid = nvml.uuid(mig).expect("a UUID");
    assert_eq!(
        node.machine().gpus[0].instances[0].compute[0]
            .uuid
            .to_string(),
        uuid
    );
    // What this one destroys, the other sees: it ends when its own handle is dead.
    let gi = ask!(nvml, nvmlDeviceGetGpuInstanceById(device, node.machine().gpus[0].instances[0].id.0) -> nvmlGpuInstance_t).expect("the GPU instance");
    let ci = ask!(nvml, nvmlGpuInstanceGetComputeInstanceById(gi, 0) -> nvmlComputeInstance_t)
        .expect("the compute instance");
    assert_eq!(call!(nvml, nvmlComputeInstanceDestroy(ci)), 0);
    assert!(other.wait().expect("it ends").success());
    assert_eq!(call!(nvml, nvmlGpuInstanceDestroy(gi)), 0);
}

#[test]
#[ignore = "run by what_one_process_creates_another_sees_at_once"]
fn as_another_process() {
    let library = std::env::var_os("NVML_TEST_LIBRARY").expect("run by another test");
    // SAFETY: the library's constructors do nothing.
    let nvml = unsafe { NvmlLib::new(&library) }.expect("the library loads");
    assert_eq!(call!(nvml, nvmlInit_v2()), 0);
    let device = ask!(nvml, nvmlDeviceGetHandleByIndex_v2(0) -> nvmlDevice_t).expect("a GPU");
    let gi = ask!(nvml, nvmlDeviceCreateGpuInstance(device, 19) -> nvmlGpuInstance_t)
        .expect("a GPU instance");
    let ci = ask!(nvml, nvmlGpuInstanceCreateComputeInstance(gi, 0) -> nvmlComputeInstance_t)
        .expect("a compute instance");
    let end = Instant::now() + Duration::from_secs(20);
    while ask!(nvml, nvmlComputeInstanceGetInfo_v2(ci) -> nvmlComputeInstanceInfo_t).map(drop)
        != Err(INVALID_ARGUMENT)
    {
        assert!(Instant::now() < end, "nobody destroyed it");
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Two processes create on one card until it is full: each place is given once.
#[test]
fn writers_of_two_processes_never_get_the_same_place() {
    let node = Node::mig("1xA100-SXM4-40GB");
    let nvml = node.init();
    let device = nvml.device(0);
    let made = std::thread::scope(|scope| {
        let by_store = scope.spawn(|| {
            (0..7)
                .filter(|_| {
                    let op = Op::CreateGpuInstance {
                        gpu: GpuIndex(0),
                        profile: ProfileId(19),
                        placement: None,
                    };
                    matches!(node.store().apply(op), Ok(Outcome::GpuInstance { .. }))
                })
                .count()
        });
        let by_library = (0..7)
            .filter(|_| {
                ask!(nvml, nvmlDeviceCreateGpuInstance(device, 19) -> nvmlGpuInstance_t).is_ok()
            })
            .count();
        by_library + by_store.join().expect("it ends")
    });
    assert_eq!(made, 7);
    assert_eq!(node.machine().gpus[0].instances.len(), 7);
}
