//! NVLink and fabric.

use std::ffi::CStr;

use nvml_wrapper_sys::bindings::{
    nvmlC2cModeInfo_v1_t, nvmlGpuFabricInfo_t, nvmlGpuFabricInfo_v2_t, nvmlGpuFabricInfoV_t,
    nvmlPciInfo_t, nvmlPdi_v1_t,
};

use crate::support::{Node, ask, call};
use crate::{CARDS, INVALID, NOT_SUPPORTED, OK, VERSION, tag};

#[test]
fn links_are_up_and_lead_to_switches() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let state = |index, link| ask!(nvml, nvmlDeviceGetNvLinkState(nvml.device(index), link) -> u32);
    // Twelve links of an A100, eighteen of an H100, none of an L4.
    assert_eq!(
        (state(0, 11), state(0, 12), state(2, 17), state(3, 0)),
        (Ok(1), Err(NOT_SUPPORTED), Ok(1), Err(NOT_SUPPORTED))
    );
    assert_eq!(state(2, 18), Err(INVALID), "no card has so many");
    let version = |index| ask!(nvml, nvmlDeviceGetNvLinkVersion(nvml.device(index), 0) -> u32);
    assert_eq!(
        (version(0), version(2)),
        (Ok(4), Ok(6)),
        "NVLink 3.0 and 4.0 in the header's numbers"
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceGetNvLinkRemoteDeviceType(nvml.device(0), 3) -> u32),
        Ok(2)
    );
    let remote =
        ask!(nvml, nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml.device(0), 3) -> nvmlPciInfo_t)
            .expect("a switch");
    // SAFETY: the library closes the text.
    let bus = unsafe { CStr::from_ptr(remote.busId.as_ptr()) };
    assert_eq!(
        (bus, remote.pciDeviceId),
        (c"00000000:C7:00.0", 0x1AF1_10DE)
    );
    let capability = |capability| ask!(nvml, nvmlDeviceGetNvLinkCapability(nvml.device(0), 0, capability) -> u32);
    assert_eq!((capability(0), capability(6)), (Ok(1), Err(INVALID)));
    let errors =
        |counter| ask!(nvml, nvmlDeviceGetNvLinkErrorCounter(nvml.device(0), 0, counter) -> u64);
    assert_eq!((errors(3), errors(5)), (Ok(0), Err(INVALID)));
    assert_eq!(
        call!(nvml, nvmlDeviceResetNvLinkErrorCounters(nvml.device(0), 0)),
        OK
    );
    assert_eq!(
        call!(nvml, nvmlDeviceResetNvLinkErrorCounters(nvml.device(3), 0)),
        NOT_SUPPORTED
    );
    let mut mode = 9;
    assert_eq!(
        (call!(nvml, nvmlSystemGetNvlinkBwMode(&mut mode)), mode),
        (OK, 0)
    );
}

#[test]
fn cards_of_a_fabric_have_completed() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let fabric = |index| {
        ask!(nvml, nvmlDeviceGetGpuFabricInfo(nvml.device(index)) -> nvmlGpuFabricInfo_t)
            .map(|info| (info.state, info.status, info.cliqueId))
    };
    assert_eq!(
        (fabric(0), fabric(2), fabric(3)),
        (Err(NOT_SUPPORTED), Ok((3, 0, 0)), Err(NOT_SUPPORTED))
    );
    let ask_version = |index, version| {
        let mut info = nvmlGpuFabricInfoV_t {
            version,
            clusterUuid: [9; 16],
            status: 9,
            cliqueId: 9,
            state: 9,
            healthMask: 9,
            healthSummary: 9,
        };
        let code = call!(
            nvml,
            nvmlDeviceGetGpuFabricInfoV(nvml.device(index), &mut info)
        );
        (code, info.state, info.healthMask, info.healthSummary)
    };
    assert_eq!(
        ask_version(2, tag::<nvmlGpuFabricInfoV_t>(3)),
        (OK, 3, 0, 0)
    );
    // The second version ends before the summary. It is as long as the third, whose last byte lies in its padding.
    assert_eq!(ask_version(2, tag::<nvmlGpuFabricInfo_v2_t>(2)).0, OK);
    assert_eq!(ask_version(2, 2 << 24), (VERSION, 9, 9, 9));
    assert_eq!(
        ask_version(0, tag::<nvmlGpuFabricInfoV_t>(3)),
        (NOT_SUPPORTED, 9, 9, 9)
    );
}

#[test]
fn identifiers_and_the_link_to_the_cpu() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let c2c = |index| {
        ask!(nvml, nvmlDeviceGetC2cModeInfoV(nvml.device(index)) -> nvmlC2cModeInfo_v1_t)
            .map(|info| info.isC2cEnabled)
    };
    assert_eq!((c2c(0), c2c(2)), (Err(NOT_SUPPORTED), Ok(0)));
    let mut pdi = nvmlPdi_v1_t {
        version: tag::<nvmlPdi_v1_t>(1),
        value: 0,
    };
    assert_eq!(call!(nvml, nvmlDeviceGetPdi(nvml.device(0), &mut pdi)), OK);
    assert_eq!(pdi.value, node.machine().gpus[0].pdi());
    pdi.version = 1;
    assert_eq!(
        call!(nvml, nvmlDeviceGetPdi(nvml.device(0), &mut pdi)),
        VERSION
    );
}
