//! System events, units, excluded GPUs, draining.

use std::time::{Duration, Instant};

use nvml_wrapper_sys::bindings as sys;

use crate::support::{Node, Nvml, call};
use crate::{CARDS, INVALID, NOT_FOUND, NOT_SUPPORTED, OK, TIMEOUT, VERSION, tag};

#[test]
fn no_driver_lets_a_gpu_go() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let mut create = sys::nvmlSystemEventSetCreateRequest_t {
        version: 1,
        set: core::ptr::null_mut(),
    };
    assert_eq!(call!(nvml, nvmlSystemEventSetCreate(&mut create)), VERSION);
    create.version = tag::<sys::nvmlSystemEventSetCreateRequest_v1_t>(1);
    assert_eq!(call!(nvml, nvmlSystemEventSetCreate(&mut create)), OK);
    let set = create.set;
    let register = |types| {
        let mut request = sys::nvmlSystemRegisterEventRequest_t {
            version: tag::<sys::nvmlSystemRegisterEventRequest_v1_t>(1),
            eventTypes: types,
            set,
        };
        call!(nvml, nvmlSystemRegisterEvents(&mut request))
    };
    assert_eq!((register(3), register(4)), (OK, INVALID));
    let mut data = [sys::nvmlSystemEventData_v1_t {
        eventType: 0,
        gpuId: 0,
    }; 1];
    let mut wait = sys::nvmlSystemEventSetWaitRequest_t {
        version: tag::<sys::nvmlSystemEventSetWaitRequest_v1_t>(1),
        timeoutms: 20,
        set,
        data: data.as_mut_ptr(),
        dataSize: 1,
        numEvent: 0,
    };
    let begun = Instant::now();
    assert_eq!(call!(nvml, nvmlSystemEventSetWait(&mut wait)), TIMEOUT);
    assert!(
        begun.elapsed() >= Duration::from_millis(20),
        "a wait takes its time"
    );
    let mut free = sys::nvmlSystemEventSetFreeRequest_t {
        version: tag::<sys::nvmlSystemEventSetFreeRequest_v1_t>(1),
        set,
    };
    assert_eq!(call!(nvml, nvmlSystemEventSetFree(&mut free)), OK);
    assert_eq!(
        call!(nvml, nvmlSystemEventSetWait(&mut wait)),
        INVALID,
        "a set ends once"
    );
}

#[test]
fn there_are_no_units_and_no_excluded_gpus() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let mut unit = core::ptr::null_mut();
    assert_eq!(call!(nvml, nvmlUnitGetHandleByIndex(0, &mut unit)), INVALID);
    // SAFETY: a plain struct, for which zeros are valid.
    let mut info: sys::nvmlExcludedDeviceInfo_t = unsafe { core::mem::zeroed() };
    assert_eq!(
        call!(nvml, nvmlGetExcludedDeviceInfoByIndex(0, &mut info)),
        INVALID
    );
    let mut count = 9;
    assert_eq!(
        call!(
            nvml,
            nvmlSystemGetHicVersion(&mut count, core::ptr::null_mut())
        ),
        OK
    );
    assert_eq!(count, 0);
}

#[test]
fn draining_is_noted_for_all_to_see() {
    let node = Node::new(CARDS);
    let (nvml, other) = (node.init(), node.init());
    // SAFETY: a plain struct, for which zeros are valid.
    let mut place: sys::nvmlPciInfo_t = unsafe { core::mem::zeroed() };
    assert_eq!(
        call!(nvml, nvmlDeviceGetPciInfo_v3(nvml.device(1), &mut place)),
        OK
    );
    let draining = |nvml: &Nvml, mut place: sys::nvmlPciInfo_t| {
        let mut state = 9;
        match call!(nvml, nvmlDeviceQueryDrainState(&mut place, &mut state)) {
            OK => Ok(state),
            code => Err(code),
        }
    };
    assert_eq!(draining(&other, place), Ok(0));
    assert_eq!(call!(nvml, nvmlDeviceModifyDrainState(&mut place, 1)), OK);
    assert_eq!(draining(&other, place), Ok(1));
    assert_eq!(
        call!(nvml, nvmlDeviceModifyDrainState(&mut place, 2)),
        INVALID
    );
    place.bus += 1;
    assert_eq!(draining(&other, place), Err(NOT_FOUND));
    assert_eq!(
        call!(nvml, nvmlDeviceDiscoverGpus(&mut place)),
        NOT_SUPPORTED
    );
}
