//! Accounting.

use crate::support::{Node, ask, call};
use crate::{CARDS, INVALID, NOT_FOUND, NOT_SUPPORTED, OK};
use nvml_wrapper_sys::bindings::nvmlAccountingStats_t;

#[test]
fn accounting_is_off_until_it_is_switched_on() {
    let node = Node::new(CARDS);
    let (nvml, other) = (node.init(), node.init());
    let mode = || ask!(other, nvmlDeviceGetAccountingMode(other.device(0)) -> u32);
    let stats = || {
        ask!(nvml, nvmlDeviceGetAccountingStats(nvml.device(0), 1) -> nvmlAccountingStats_t)
            .map(drop)
    };
    assert_eq!((mode(), stats()), (Ok(0), Err(NOT_SUPPORTED)));
    assert_eq!(
        call!(nvml, nvmlDeviceSetAccountingMode(nvml.device(0), 1)),
        OK
    );
    assert_eq!((mode(), stats()), (Ok(1), Err(NOT_FOUND)));
    let mut count = 9;
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetAccountingPids(nvml.device(0), &mut count, core::ptr::null_mut())
        ),
        OK
    );
    assert_eq!(count, 0);
    assert_eq!(
        ask!(nvml, nvmlDeviceGetAccountingBufferSize(nvml.device(0)) -> u32),
        Ok(4000)
    );
    assert_eq!(
        call!(nvml, nvmlDeviceClearAccountingPids(nvml.device(0))),
        OK
    );
    assert_eq!(
        call!(nvml, nvmlDeviceSetAccountingMode(nvml.device(0), 2)),
        INVALID
    );
    assert_eq!(
        call!(nvml, nvmlDeviceSetAccountingMode(nvml.device(0), 0)),
        OK
    );
    assert_eq!(mode(), Ok(0));
}

#[test]
fn not_in_mig_mode() {
    let node = Node::mig(CARDS);
    let nvml = node.init();
    assert_eq!(
        call!(nvml, nvmlDeviceSetAccountingMode(nvml.device(0), 1)),
        NOT_SUPPORTED
    );
    assert_eq!(
        call!(nvml, nvmlDeviceSetAccountingMode(nvml.device(3), 1)),
        OK,
        "an L4 has no MIG"
    );
}
