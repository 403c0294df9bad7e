//! Clocks to choose from, and choosing them.

use std::ptr::null_mut;

use gpu_model::{ClockChange, Op, Throttle};
use nvml_wrapper_sys::bindings::{
    nvmlFieldValue_t, nvmlGpuDynamicPstatesInfo_t, nvmlPowerValue_v2_t, nvmlViolationTime_t,
};

use crate::support::{Node, Nvml, ask, call};
use crate::{CARDS, INVALID, NOT_FOUND, NOT_SUPPORTED, OK, TOO_SMALL, VERSION, tag};

fn memory_clocks(nvml: &Nvml, index: u32) -> Vec<u32> {
    let mut count = 0;
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetSupportedMemoryClocks(nvml.device(index), &mut count, null_mut())
        ),
        TOO_SMALL
    );
    let mut clocks = vec![0; count as usize];
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetSupportedMemoryClocks(nvml.device(index), &mut count, clocks.as_mut_ptr())
        ),
        OK
    );
    clocks
}

fn graphics_clocks(nvml: &Nvml, index: u32, memory: u32) -> Result<Vec<u32>, u32> {
    let (mut count, mut clocks) = (256, vec![0; 256]);
    match call!(
        nvml,
        nvmlDeviceGetSupportedGraphicsClocks(
            nvml.device(index),
            memory,
            &mut count,
            clocks.as_mut_ptr()
        )
    ) {
        OK => {
            clocks.truncate(count as usize);
            Ok(clocks)
        }
        code => Err(code),
    }
}

#[test]
fn lists_are_those_of_the_captures() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    assert_eq!(memory_clocks(&nvml, 0), [1215]);
    assert_eq!(memory_clocks(&nvml, 2), [2619, 1593]);
    assert_eq!(memory_clocks(&nvml, 3), [6251, 405]);
    let a100 = graphics_clocks(&nvml, 0, 1215).expect("clocks");
    assert_eq!(
        (a100.len(), a100[0], a100[1], a100[80]),
        (81, 1410, 1395, 210)
    );
    for memory in [2619, 1593] {
        let h100 = graphics_clocks(&nvml, 2, memory).expect("clocks");
        assert_eq!(
            (h100.len(), h100[0], h100[1], h100[109]),
            (110, 1980, 1965, 345)
        );
    }
    assert_eq!(
        graphics_clocks(&nvml, 3, 405).expect("clocks").first(),
        Some(&405)
    );
    assert_eq!(graphics_clocks(&nvml, 0, 1216), Err(NOT_FOUND));
}

#[test]
fn application_clocks_can_be_chosen_and_are_seen_by_all() {
    let node = Node::new(CARDS);
    let (nvml, other) = (node.init(), node.init());
    let app = |nvml: &Nvml, domain| ask!(nvml, nvmlDeviceGetApplicationsClock(nvml.device(0), domain) -> u32);
    assert_eq!((app(&nvml, 0), app(&nvml, 2)), (Ok(1095), Ok(1215)));
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceSetApplicationsClocks(nvml.device(0), 1215, 1410)
        ),
        OK
    );
    assert_eq!((app(&other, 0), app(&other, 2)), (Ok(1410), Ok(1215)));
    assert_eq!(
        ask!(nvml, nvmlDeviceGetDefaultApplicationsClock(nvml.device(0), 0) -> u32),
        Ok(1095)
    );
    for (memory, graphics) in [(1215, 1411), (1216, 1410), (0, 0)] {
        assert_eq!(
            call!(
                nvml,
                nvmlDeviceSetApplicationsClocks(nvml.device(0), memory, graphics)
            ),
            INVALID
        );
    }
    assert_eq!(
        call!(nvml, nvmlDeviceResetApplicationsClocks(nvml.device(0))),
        OK
    );
    assert_eq!(app(&other, 0), Ok(1095));
}

#[test]
fn locked_clocks_hold_the_clock_of_now() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let now = |domain| ask!(nvml, nvmlDeviceGetClockInfo(nvml.device(0), domain) -> u32);
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceSetGpuLockedClocks(nvml.device(0), 900, 1200)
        ),
        OK
    );
    assert_eq!(
        (now(0), now(1)),
        (Ok(900), Ok(900)),
        "an idle card rises to the lowest that is allowed"
    );
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceSetGpuLockedClocks(nvml.device(0), 5000, 9000)
        ),
        OK
    );
    assert_eq!(now(0), Ok(1410), "no card runs faster than it can");
    assert_eq!(
        call!(nvml, nvmlDeviceSetGpuLockedClocks(nvml.device(0), 2, 1)),
        INVALID
    );
    assert_eq!(
        call!(nvml, nvmlDeviceResetGpuLockedClocks(nvml.device(0))),
        OK
    );
    assert_eq!(now(0), Ok(210));
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceSetMemoryLockedClocks(nvml.device(0), 400, 500)
        ),
        OK
    );
    assert_eq!(now(2), Ok(500));
    assert_eq!(
        call!(nvml, nvmlDeviceResetMemoryLockedClocks(nvml.device(0))),
        OK
    );
    assert_eq!(now(2), Ok(1215));
}

#[test]
fn performance_states_are_those_of_the_memory() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let states = |index| {
        let mut states = [7u32; 4];
        let code = call!(
            nvml,
            nvmlDeviceGetSupportedPerformanceStates(
                nvml.device(index),
                states.as_mut_ptr().cast(),
                16
            )
        );
        (code, states)
    };
    assert_eq!(states(0), (OK, [0, 32, 32, 32]));
    assert_eq!(
        states(2),
        (OK, [0, 32, 32, 32]),
        "its second memory clock slows nothing"
    );
    assert_eq!(states(3), (OK, [0, 8, 32, 32]));
    let mut one = [7u32; 1];
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetSupportedPerformanceStates(nvml.device(3), one.as_mut_ptr().cast(), 4)
        ),
        TOO_SMALL
    );
    let range = |index, domain, state| {
        let (mut min, mut max) = (0, 0);
        match call!(
            nvml,
            nvmlDeviceGetMinMaxClockOfPState(nvml.device(index), domain, state, &mut min, &mut max)
        ) {
            OK => Ok((min, max)),
            code => Err(code),
        }
    };
    assert_eq!(
        (range(0, 0, 0), range(0, 2, 0)),
        (Ok((210, 1410)), Ok((1215, 1215)))
    );
    assert_eq!(
        [
            range(3, 0, 8),
            range(0, 0, 8),
            range(2, 0, 8),
            range(2, 0, 0),
            range(0, 9, 0)
        ],
        [
            Ok((210, 405)),
            Err(NOT_SUPPORTED),
            Err(NOT_SUPPORTED),
            Ok((345, 1980)),
            Err(INVALID)
        ]
    );
    let busy =
        ask!(nvml, nvmlDeviceGetDynamicPstatesInfo(nvml.device(0)) -> nvmlGpuDynamicPstatesInfo_t)
            .expect("idle");
    assert_eq!(
        (
            busy.utilization[0].bIsPresent,
            busy.utilization[0].percentage,
            busy.utilization[4].bIsPresent
        ),
        (1, 0, 0)
    );
    let held = |policy| {
        ask!(nvml, nvmlDeviceGetViolationStatus(nvml.device(0), policy) -> nvmlViolationTime_t)
            .map(|time| (time.violationTime, time.referenceTime > 0))
    };
    assert_eq!(
        (held(0), held(10), held(6)),
        (Ok((0, true)), Ok((0, true)), Err(INVALID))
    );
}

#[test]
fn the_time_held_down_is_told_by_policy_and_by_reason() {
    let node = Node::new("1xA100-SXM4-40GB");
    let nvml = node.init();
    let clock = |change| {
        let set = node.store().update(|machine, _| {
            let real = machine.now(gpu_model::Now::from_secs(0));
            Ok::<_, std::convert::Infallible>((machine.with_clock(real, change), ()))
        });
        set.expect("a clock");
    };
    let throttle = |reasons| {
        let what = gpu_model::Injection::Throttle(reasons);
        let gpu = gpu_model::GpuIndex(0);
        let done = node.store().update(|machine, _| {
            machine.apply(Op::Inject { gpu, what }, machine.now(gpu_model::Now(0)))
        });
        done.expect("injected");
    };
    clock(ClockChange::Stop);
    throttle(Throttle::SW_THERMAL);
    clock(ClockChange::Step(3_000_000));
    throttle(Throttle::POWER_CAP.with(Throttle::POWER_BRAKE));
    clock(ClockChange::Step(2_000_000));
    throttle(Throttle::default());
    clock(ClockChange::Step(9_000_000));
    let seconds = |time: u64| (time / 1_000_000_000, time % 1_000_000_000);
    let held = [0, 1, 2, 3, 4, 5, 10, 11].map(|policy| {
        ask!(nvml, nvmlDeviceGetViolationStatus(nvml.device(0), policy) -> nvmlViolationTime_t)
            .map(|time| seconds(time.violationTime))
    });
    assert_eq!(held, [2, 3, 0, 0, 0, 0, 5, 5].map(|time| Ok((time, 0))));
    let fields = [74, 75, 76, 77, 78, 79, 80, 81, 269, 270, 271];
    let held = fields.map(|id| {
        // SAFETY: a plain struct, for which zeros are valid.
        let mut value: nvmlFieldValue_t = unsafe { core::mem::zeroed() };
        value.fieldId = id;
        let code = call!(
            nvml,
            nvmlDeviceGetFieldValues(nvml.device(0), 1, &mut value)
        );
        // SAFETY: the union is written as its widest member.
        (code, seconds(unsafe { value.value.ullVal }))
    });
    let expected = [2, 3, 0, 0, 0, 0, 5, 5, 3, 0, 2].map(|time| (OK, (time, 0)));
    assert_eq!(held, expected);
}

#[test]
fn the_power_limit_of_the_gpu_can_be_set_with_a_scope() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let set = |version, scope, milliwatts| {
        let mut value = nvmlPowerValue_v2_t {
            version,
            powerScope: scope,
            powerValueMw: milliwatts,
        };
        call!(
            nvml,
            nvmlDeviceSetPowerManagementLimit_v2(nvml.device(0), &mut value)
        )
    };
    let v2 = tag::<nvmlPowerValue_v2_t>(2);
    assert_eq!(
        (
            set(v2, 0, 300_000),
            set(v2, 1, 300_000),
            set(v2, 7, 1),
            set(v2, 0, 1),
            set(1, 0, 1)
        ),
        (OK, NOT_SUPPORTED, INVALID, INVALID, VERSION)
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceGetPowerManagementLimit(nvml.device(0)) -> u32),
        Ok(300_000)
    );
}
