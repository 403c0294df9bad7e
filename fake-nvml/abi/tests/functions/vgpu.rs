//! Virtual GPUs: there are none.

use nvml_wrapper_sys::bindings as sys;

use crate::support::{Node, call};
use crate::{CARDS, INVALID, NOT_FOUND, NOT_SUPPORTED, OK, VERSION, tag};

#[test]
fn what_does_not_exist_has_the_headers_error() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let mut number = 0;
    assert_eq!(
        call!(nvml, nvmlVgpuInstanceGetFrameRateLimit(0, &mut number)),
        INVALID
    );
    assert_eq!(
        call!(nvml, nvmlVgpuInstanceGetFrameRateLimit(7, &mut number)),
        NOT_FOUND
    );
    assert_eq!(
        call!(
            nvml,
            nvmlVgpuInstanceGetFrameRateLimit(7, core::ptr::null_mut())
        ),
        INVALID
    );
    assert_eq!(
        call!(nvml, nvmlVgpuTypeGetFrameRateLimit(7, &mut number)),
        INVALID
    );
}

#[test]
fn a_card_is_no_host() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let mut count = 0;
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetSupportedVgpus(nvml.device(0), &mut count, core::ptr::null_mut())
        ),
        NOT_SUPPORTED
    );
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetSupportedVgpus(
                nvml.device(0),
                core::ptr::null_mut(),
                core::ptr::null_mut()
            )
        ),
        INVALID
    );
    let mut mode = sys::nvmlVgpuHeterogeneousMode_t {
        version: 0,
        mode: 0,
    };
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetVgpuHeterogeneousMode(nvml.device(0), &mut mode)
        ),
        VERSION
    );
    mode.version = tag::<sys::nvmlVgpuHeterogeneousMode_v1_t>(1);
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetVgpuHeterogeneousMode(nvml.device(0), &mut mode)
        ),
        NOT_SUPPORTED
    );
}

#[test]
fn nothing_is_to_be_licensed() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    // SAFETY: a plain struct, for which zeros are valid.
    let mut features: sys::nvmlGridLicensableFeatures_t = unsafe { core::mem::zeroed() };
    (
        features.isGridLicenseSupported,
        features.licensableFeaturesCount,
    ) = (9, 9);
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetGridLicensableFeatures_v4(nvml.device(0), &mut features)
        ),
        OK
    );
    assert_eq!(
        (
            features.isGridLicenseSupported,
            features.licensableFeaturesCount
        ),
        (0, 0)
    );
}
