//! Events: registered, waited for, each given once.
#![allow(unsafe_code, reason = "the binding's functions are C functions")]

mod support;

use std::time::{Duration, Instant};

use gpu_model::{CiId, EccSite, GiId, GpuIndex, Injection, Op};
use nvml_wrapper_sys::bindings::*;
use support::{Node, Nvml, ask, call};

const INVALID_ARGUMENT: u32 = 2;
const NOT_SUPPORTED: u32 = 3;
const TIMEOUT: u32 = 10;
const GPU_IS_LOST: u32 = 15;

const DOUBLE_BIT_ECC: u64 = 0x2;
const XID: u64 = 0x8;
const NONE: u32 = u32::MAX;

fn set(nvml: &Nvml) -> nvmlEventSet_t {
    ask!(nvml, nvmlEventSetCreate() -> nvmlEventSet_t).expect("a set")
}

fn wait(nvml: &Nvml, set: nvmlEventSet_t, ms: u32) -> Result<nvmlEventData_t, u32> {
    let mut data = nvmlEventData_t {
        device: std::ptr::null_mut(),
        eventType: 0,
        eventData: 0,
        gpuInstanceId: 0,
        computeInstanceId: 0,
    };
    match call!(nvml, nvmlEventSetWait_v2(set, &mut data, ms)) {
        0 => Ok(data),
        code => Err(code),
    }
}

fn xid(node: &Node, gpu: u32, xid: u32, place: Option<(u32, u32)>) {
    let what = Injection::Xid {
        xid,
        gi: place.map(|(gi, _)| GiId(gi)),
        ci: place.map(|(_, ci)| CiId(ci)),
    };
    node.store()
        .apply(Op::Inject {
            gpu: GpuIndex(gpu),
            what,
        })
        .expect("an Xid");
}

#[test]
fn an_event_comes_once_to_each_set_that_registered_before() {
    let node = Node::new("2xA100-SXM4-40GB");
    let nvml = node.init();
    let device = nvml.device(1);
    let (early, late, other) = (set(&nvml), set(&nvml), set(&nvml));
    let types = ask!(nvml, nvmlDeviceGetSupportedEventTypes(device) -> u64).expect("types");
    assert_eq!(types & (XID | DOUBLE_BIT_ECC | 1), XID | DOUBLE_BIT_ECC | 1);
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceRegisterEvents(device, XID | DOUBLE_BIT_ECC, early)
        ),
        0
    );
    assert_eq!(
        call!(nvml, nvmlDeviceRegisterEvents(nvml.device(0), XID, other)),
        0
    );
    xid(&node, 1, 79, None);
    assert_eq!(call!(nvml, nvmlDeviceRegisterEvents(device, XID, late)), 0);
    xid(&node, 1, 31, Some((9, 0)));

    let event = wait(&nvml, early, 0).expect("the first");
    assert_eq!(
        (event.device, event.eventType, event.eventData),
        (device, XID, 79)
    );
    assert_eq!((event.gpuInstanceId, event.computeInstanceId), (NONE, NONE));
    let event = wait(&nvml, early, 0).expect("the second");
    assert_eq!(
        (
            event.eventData,
            event.gpuInstanceId,
            event.computeInstanceId
        ),
        (31, 9, 0)
    );
    assert_eq!(wait(&nvml, early, 0).map(drop), Err(TIMEOUT));
    assert_eq!(
        wait(&nvml, late, 0).map(|event| event.eventData),
        Ok(31),
        "what was before does not count"
    );
    assert_eq!(wait(&nvml, late, 0).map(drop), Err(TIMEOUT));
    assert_eq!(wait(&nvml, other, 0).map(drop), Err(TIMEOUT), "another GPU");

    let ecc = Injection::Ecc {
        corrected: 1,
        uncorrected: 1,
        gi: None,
        site: EccSite::Memory,
    };
    node.store()
        .apply(Op::Inject {
            gpu: GpuIndex(1),
            what: ecc,
        })
        .expect("ECC errors");
    assert_eq!(
        wait(&nvml, early, 0).map(|event| (event.eventType, event.eventData)),
        Ok((DOUBLE_BIT_ECC, 0)),
        "corrected ones were not asked for"
    );
    assert_eq!(wait(&nvml, early, 0).map(drop), Err(TIMEOUT));
}

#[test]
fn a_wait_blocks_for_its_time_and_ends_with_an_event_of_another_process() {
    let node = Node::new("1xA100-SXM4-40GB");
    let nvml = node.init();
    let set = set(&nvml);
    assert_eq!(
        call!(nvml, nvmlDeviceRegisterEvents(nvml.device(0), XID, set)),
        0
    );
    let start = Instant::now();
    assert_eq!(wait(&nvml, set, 120).map(drop), Err(TIMEOUT));
    let waited = start.elapsed();
    assert!(
        (Duration::from_millis(120)..Duration::from_millis(1000)).contains(&waited),
        "{waited:?}"
    );

    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            xid(&node, 0, 79, None);
        });
        let start = Instant::now();
        assert_eq!(
            wait(&nvml, set, 20_000).map(|event| event.eventData),
            Ok(79)
        );
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{:?}",
            start.elapsed()
        );
    });
}

#[test]
fn registering_says_what_it_cannot_do() {
    let node = Node::mig("1xA100-SXM4-40GB");
    let nvml = node.init();
    let device = nvml.device(0);
    let set = set(&nvml);
    assert_eq!(
        call!(nvml, nvmlDeviceRegisterEvents(device, 1 << 40, set)),
        NOT_SUPPORTED
    );
    assert_eq!(
        call!(nvml, nvmlDeviceRegisterEvents(device, XID, device.cast())),
        INVALID_ARGUMENT
    );
    assert_eq!(
        call!(nvml, nvmlDeviceRegisterEvents(set.cast(), XID, set)),
        INVALID_ARGUMENT
    );
    let gi = ask!(nvml, nvmlDeviceCreateGpuInstance(device, 19) -> nvmlGpuInstance_t)
        .expect("a GPU instance");
    ask!(nvml, nvmlGpuInstanceCreateComputeInstance(gi, 0) -> nvmlComputeInstance_t)
        .expect("a compute instance");
    let mig = ask!(nvml, nvmlDeviceGetMigDeviceHandleByIndex(device, 0) -> nvmlDevice_t)
        .expect("a MIG device");
    assert_eq!(
        call!(nvml, nvmlDeviceRegisterEvents(mig, XID, set)),
        NOT_SUPPORTED
    );
    assert_eq!(
        call!(nvml, nvmlDeviceRegisterEvents(device, XID, set)),
        0,
        "the set is still good"
    );
    xid(&node, 0, 48, None);
    assert_eq!(wait(&nvml, set, 0).map(|event| event.eventData), Ok(48));
}

#[test]
fn a_freed_set_is_no_set_even_for_who_waits() {
    let node = Node::new("1xA100-SXM4-40GB");
    let nvml = node.init();
    let (freed, lasting) = (set(&nvml), set(&nvml));
    let number = freed as usize;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            assert_eq!(call!(nvml, nvmlEventSetFree(number as nvmlEventSet_t)), 0);
        });
        assert_eq!(wait(&nvml, freed, 20_000).map(drop), Err(INVALID_ARGUMENT));
    });
    assert_eq!(call!(nvml, nvmlEventSetFree(freed)), INVALID_ARGUMENT);
    assert_ne!(set(&nvml), freed, "a new set has a new handle");
    assert_eq!(wait(&nvml, lasting, 0).map(drop), Err(TIMEOUT));
    assert_eq!(call!(nvml, nvmlShutdown()), 0);
    assert_eq!(call!(nvml, nvmlInit_v2()), 0);
    assert_eq!(
        wait(&nvml, lasting, 0).map(drop),
        Err(INVALID_ARGUMENT),
        "sets end with NVML"
    );
}

#[test]
fn a_lost_gpu_ends_waits_and_answers_nothing_else() {
    let node = Node::new("2xA100-SXM4-40GB");
    let nvml = node.init();
    let device = nvml.device(0);
    let set = set(&nvml);
    assert_eq!(call!(nvml, nvmlDeviceRegisterEvents(device, XID, set)), 0);
    node.store()
        .apply(Op::Inject {
            gpu: GpuIndex(0),
            what: Injection::Lost(true),
        })
        .expect("lost");
    assert_eq!(wait(&nvml, set, 20_000).map(drop), Err(GPU_IS_LOST));
    let start = Instant::now();
    assert_eq!(wait(&nvml, set, 60).map(drop), Err(GPU_IS_LOST));
    assert!(
        start.elapsed() >= Duration::from_millis(60),
        "a client's loop must not spin"
    );
    assert_eq!(nvml.uuid(device), Err(GPU_IS_LOST));
    assert_eq!(
        ask!(nvml, nvmlDeviceGetHandleByIndex_v2(0) -> nvmlDevice_t),
        Err(GPU_IS_LOST)
    );
    assert!(nvml.uuid(nvml.device(1)).is_ok(), "the other card is well");
    assert_eq!(ask!(nvml, nvmlDeviceGetCount_v2() -> u32), Ok(2));
    node.store()
        .apply(Op::Inject {
            gpu: GpuIndex(0),
            what: Injection::Lost(false),
        })
        .expect("back");
    assert_eq!(wait(&nvml, set, 0).map(drop), Err(TIMEOUT));
}

#[test]
fn the_first_layout_has_no_instance_ids() {
    let node = Node::new("1xA100-SXM4-40GB");
    let nvml = node.init();
    let set = set(&nvml);
    assert_eq!(
        call!(nvml, nvmlDeviceRegisterEvents(nvml.device(0), XID, set)),
        0
    );
    xid(&node, 0, 13, Some((3, 0)));
    let mut data = nvmlEventData_t {
        device: std::ptr::null_mut(),
        eventType: 0,
        eventData: 0,
        gpuInstanceId: 77,
        computeInstanceId: 78,
    };
    assert_eq!(call!(nvml, nvmlEventSetWait(set, &mut data, 0)), 0);
    assert_eq!(
        (data.eventData, data.gpuInstanceId, data.computeInstanceId),
        (13, 77, 78)
    );
}
