//! Boards, sensors, encoders, confidential computing.

use nvml_wrapper_sys::bindings::{
    nvmlConfComputeMemSizeInfo_t, nvmlConfComputeSystemCaps_t, nvmlConfComputeSystemState_t,
    nvmlDeviceCapabilities_v1_t, nvmlFBCStats_t, nvmlGpuThermalSettings_t,
    nvmlMarginTemperature_v1_t, nvmlMemory_t,
};

use crate::support::{Node, ask, call, text};
use crate::{CARDS, INVALID, NOT_SUPPORTED, OK, VERSION, tag};

#[test]
fn boards_are_as_the_data_sheets_say() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let cores = |index| ask!(nvml, nvmlDeviceGetNumGpuCores(nvml.device(index)) -> u32);
    assert_eq!(
        (cores(0), cores(2), cores(3)),
        (Ok(6912), Ok(16_896), Ok(7424))
    );
    let width = |index| ask!(nvml, nvmlDeviceGetMemoryBusWidth(nvml.device(index)) -> u32);
    assert_eq!((width(0), width(3)), (Ok(5120), Ok(192)));
    let speed = |index| ask!(nvml, nvmlDeviceGetPcieLinkMaxSpeed(nvml.device(index)) -> u32);
    assert_eq!((speed(0), speed(2)), (Ok(4), Ok(5)));
    assert_eq!(
        ask!(nvml, nvmlDeviceGetBusType(nvml.device(0)) -> u32),
        Ok(2)
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceGetIrqNum(nvml.device(1)) -> u32),
        Ok(101)
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceGetPowerSource(nvml.device(0)) -> u32),
        Ok(0)
    );
    let firmware = text(|out, _| call!(nvml, nvmlDeviceGetGspFirmwareVersion(nvml.device(0), out)));
    assert_eq!(firmware.as_deref(), Ok("580.95.05"));
    let (mut enabled, mut default) = (9, 9);
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetGspFirmwareMode(nvml.device(0), &mut enabled, &mut default)
        ),
        OK
    );
    assert_eq!((enabled, default), (1, 1));
    assert_eq!(call!(nvml, nvmlDeviceValidateInforom(nvml.device(0))), OK);
    let mut caps = nvmlDeviceCapabilities_v1_t {
        version: 1,
        capMask: 9,
    };
    assert_eq!(
        call!(nvml, nvmlDeviceGetCapabilities(nvml.device(0), &mut caps)),
        VERSION
    );
    caps.version = tag::<nvmlDeviceCapabilities_v1_t>(1);
    assert_eq!(
        (
            call!(nvml, nvmlDeviceGetCapabilities(nvml.device(0), &mut caps)),
            caps.capMask
        ),
        (OK, 0)
    );
}

#[test]
fn distances_to_the_limit_since_ada() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let margin = |index| {
        let mut margin = nvmlMarginTemperature_v1_t {
            version: tag::<nvmlMarginTemperature_v1_t>(1),
            marginTemperature: 0,
        };
        match call!(
            nvml,
            nvmlDeviceGetMarginTemperature(nvml.device(index), &mut margin)
        ) {
            OK => Ok(margin.marginTemperature),
            code => Err(code),
        }
    };
    assert_eq!(margin(0), Err(NOT_SUPPORTED));
    // 87 degrees less some 30.
    assert!(
        margin(2).is_ok_and(|degrees| (50..65).contains(&degrees)),
        "{:?}",
        margin(2)
    );
    let sensors = |sensor| ask!(nvml, nvmlDeviceGetThermalSettings(nvml.device(0), sensor) -> nvmlGpuThermalSettings_t);
    let all = sensors(15).expect("the GPU's own");
    assert_eq!(
        (all.count, all.sensor[0].target, all.sensor[0].controller),
        (1, 1, 1)
    );
    assert!((20..45).contains(&all.sensor[0].currentTemp));
    assert_eq!(sensors(1).err(), Some(INVALID));
}

#[test]
fn nobody_encodes_or_captures() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let capacity =
        |index, codec| ask!(nvml, nvmlDeviceGetEncoderCapacity(nvml.device(index), codec) -> u32);
    assert_eq!(
        (capacity(0, 0), capacity(3, 1), capacity(3, 3)),
        (Err(NOT_SUPPORTED), Ok(100), Err(INVALID))
    );
    let (mut count, mut fps, mut latency) = (9, 9, 9);
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetEncoderStats(nvml.device(0), &mut count, &mut fps, &mut latency)
        ),
        OK
    );
    assert_eq!((count, fps, latency), (0, 0, 0));
    let captured =
        ask!(nvml, nvmlDeviceGetFBCStats(nvml.device(0)) -> nvmlFBCStats_t).expect("none");
    assert_eq!((captured.sessionsCount, captured.averageFPS), (0, 0));
    count = 9;
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetFBCSessions(nvml.device(0), &mut count, core::ptr::null_mut())
        ),
        OK
    );
    assert_eq!(count, 0);
}

#[test]
fn confidential_computing_is_off() {
    let (mixed, hopper) = (Node::new(CARDS), Node::new("1xH100-SXM5-80GB"));
    let (nvml, capable) = (mixed.init(), hopper.init());
    let caps = |nvml: &crate::support::Nvml| {
        ask!(nvml, nvmlSystemGetConfComputeCapabilities() -> nvmlConfComputeSystemCaps_t)
            .map(|caps| (caps.cpuCaps, caps.gpusCaps))
    };
    assert_eq!((caps(&nvml), caps(&capable)), (Ok((0, 0)), Ok((0, 1))));
    let state =
        ask!(nvml, nvmlSystemGetConfComputeState() -> nvmlConfComputeSystemState_t).expect("off");
    assert_eq!(
        (state.environment, state.ccFeature, state.devToolsMode),
        (0, 0, 0)
    );
    let sizes = ask!(nvml, nvmlDeviceGetConfComputeMemSizeInfo(nvml.device(0)) -> nvmlConfComputeMemSizeInfo_t).expect("sizes");
    assert_eq!(
        (sizes.protectedMemSizeKib, sizes.unprotectedMemSizeKib),
        (0, 40_960 * 1024)
    );
    let used =
        ask!(nvml, nvmlDeviceGetConfComputeProtectedMemoryUsage(nvml.device(0)) -> nvmlMemory_t)
            .expect("none");
    assert_eq!((used.total, used.free, used.used), (0, 0, 0));
    let mut accepting = 9;
    assert_eq!(
        (
            call!(nvml, nvmlSystemGetConfComputeGpusReadyState(&mut accepting)),
            accepting
        ),
        (NOT_SUPPORTED, 9)
    );
}

#[test]
fn what_no_card_has_is_said_after_a_look_at_the_arguments() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    assert_eq!(
        ask!(nvml, nvmlDeviceGetFanSpeed(nvml.device(0)) -> u32),
        Err(NOT_SUPPORTED)
    );
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetFanSpeed(nvml.device(0), core::ptr::null_mut())
        ),
        INVALID
    );
    let mut info = nvml_wrapper_sys::bindings::nvmlFanSpeedInfo_t {
        version: 9,
        fan: 0,
        speed: 0,
    };
    assert_eq!(
        call!(nvml, nvmlDeviceGetFanSpeedRPM(nvml.device(0), &mut info)),
        VERSION
    );
    info.version = tag::<nvml_wrapper_sys::bindings::nvmlFanSpeedInfo_t>(1);
    assert_eq!(
        call!(nvml, nvmlDeviceGetFanSpeedRPM(nvml.device(0), &mut info)),
        NOT_SUPPORTED
    );
    let (mut current, mut pending) = (0, 0);
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetDriverModel_v2(nvml.device(0), &mut current, &mut pending)
        ),
        NOT_SUPPORTED
    );
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetDriverModel_v2(core::ptr::null_mut(), &mut current, &mut pending)
        ),
        INVALID
    );
}
