//! Pages, rows, repairs, and counters that are cleared.

use gpu_model::{EccSite, GpuIndex, Injection, Op, RowRemaps, SramCheck, SramSource};
use nvml_wrapper_sys::bindings::{nvmlEccSramErrorStatus_v1_t, nvmlRepairStatus_v1_t};

use crate::support::{Node, ask, call};
use crate::{CARDS, INVALID, NOT_SUPPORTED, OK, VERSION, tag};

#[test]
fn pages_are_not_retired_since_ampere() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let mut count = 9;
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetRetiredPages(nvml.device(0), 0, &mut count, core::ptr::null_mut())
        ),
        NOT_SUPPORTED
    );
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetRetiredPages(nvml.device(0), 2, &mut count, core::ptr::null_mut())
        ),
        INVALID
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceGetRetiredPagesPendingStatus(nvml.device(0)) -> u32),
        Err(NOT_SUPPORTED)
    );
    assert_eq!(count, 9);
}

#[test]
fn repairs_and_errors_by_part() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let mut repair = nvmlRepairStatus_v1_t {
        version: tag::<nvmlRepairStatus_v1_t>(1),
        bChannelRepairPending: 9,
        bTpcRepairPending: 9,
    };
    assert_eq!(
        call!(nvml, nvmlDeviceGetRepairStatus(nvml.device(2), &mut repair)),
        OK
    );
    assert_eq!(
        (repair.bChannelRepairPending, repair.bTpcRepairPending),
        (0, 0)
    );
    // SAFETY: a plain struct, for which zeros are valid.
    let mut sram: nvmlEccSramErrorStatus_v1_t = unsafe { core::mem::zeroed() };
    sram.aggregateUncParity = 9;
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetSramEccErrorStatus(nvml.device(0), &mut sram)
        ),
        VERSION
    );
    sram.version = tag::<nvmlEccSramErrorStatus_v1_t>(1);
    assert_eq!(
        (
            call!(
                nvml,
                nvmlDeviceGetSramEccErrorStatus(nvml.device(0), &mut sram)
            ),
            sram.aggregateUncParity
        ),
        (OK, 0)
    );
}

/// Each part and each check has its own counter; the sums hold both memories, and a reset of the volatile ones leaves the rest.
#[test]
fn errors_of_the_chip_are_told_by_part_and_apart_from_the_memory() {
    let node = Node::new("1xA100-SXM4-40GB");
    let nvml = node.init();
    let gpu = GpuIndex(0);
    let inject = |corrected, uncorrected, site| {
        let what = Injection::Ecc {
            corrected,
            uncorrected,
            gi: None,
            site,
        };
        node.store()
            .apply(Op::Inject { gpu, what })
            .expect("injected");
    };
    let sources = [
        SramSource::L2,
        SramSource::Sm,
        SramSource::Pcie,
        SramSource::Microcontroller,
        SramSource::Other,
    ];
    for (count, source) in (1..).zip(sources) {
        let check = if count % 2 == 0 {
            SramCheck::Parity
        } else {
            SramCheck::SecDed
        };
        inject(10, count, EccSite::Sram { source, check });
    }
    inject(100, 1000, EccSite::Memory);
    let told = || {
        // SAFETY: a plain struct, for which zeros are valid.
        let mut told: nvmlEccSramErrorStatus_v1_t = unsafe { core::mem::zeroed() };
        told.version = tag::<nvmlEccSramErrorStatus_v1_t>(1);
        assert_eq!(
            call!(
                nvml,
                nvmlDeviceGetSramEccErrorStatus(nvml.device(0), &mut told)
            ),
            OK
        );
        told
    };
    let now = told();
    assert_eq!(
        [
            now.aggregateUncBucketL2,
            now.aggregateUncBucketSm,
            now.aggregateUncBucketPcie,
            now.aggregateUncBucketMcu,
            now.aggregateUncBucketOther,
        ],
        [1, 2, 3, 4, 5]
    );
    assert_eq!(
        (
            now.volatileUncParity,
            now.volatileUncSecDed,
            now.volatileCor
        ),
        (2 + 4, 1 + 3 + 5, 50)
    );
    assert_eq!(
        (
            now.aggregateUncParity,
            now.aggregateUncSecDed,
            now.aggregateCor
        ),
        (6, 9, 50)
    );
    let total = |error, counter| ask!(nvml, nvmlDeviceGetTotalEccErrors(nvml.device(0), error, counter) -> u64);
    assert_eq!((total(0, 0), total(1, 0)), (Ok(150), Ok(1015)));
    let at = |error, location| ask!(nvml, nvmlDeviceGetMemoryErrorCounter(nvml.device(0), error, 0, location) -> u64);
    const MEMORY: u32 = 2;
    const SRAM: u32 = 7;
    assert_eq!((at(0, MEMORY), at(1, MEMORY)), (Ok(100), Ok(1000)));
    assert_eq!((at(0, SRAM), at(1, SRAM)), (Ok(50), Ok(15)));
    assert_eq!((at(0, 0), at(0, SRAM + 1)), (Ok(0), Err(INVALID)));
    assert_eq!(
        call!(nvml, nvmlDeviceClearEccErrorCounts(nvml.device(0), 0)),
        OK
    );
    let now = told();
    assert_eq!(
        (
            now.volatileUncParity,
            now.volatileUncSecDed,
            now.volatileCor
        ),
        (0, 0, 0)
    );
    assert_eq!(
        (now.aggregateUncParity, now.aggregateUncBucketOther),
        (6, 5)
    );
}

#[test]
fn counters_can_be_cleared_each_for_itself() {
    let node = Node::new("1xA100-SXM4-40GB");
    let nvml = node.init();
    let gpu = GpuIndex(0);
    let errors = Injection::Ecc {
        corrected: 3,
        uncorrected: 1,
        gi: None,
        site: EccSite::Memory,
    };
    node.store()
        .apply(Op::Inject { gpu, what: errors })
        .expect("injected");
    let all = |counter| ask!(nvml, nvmlDeviceGetTotalEccErrors(nvml.device(0), 0, counter) -> u64);
    assert_eq!((all(0), all(1)), (Ok(3), Ok(3)));
    assert_eq!(
        call!(nvml, nvmlDeviceClearEccErrorCounts(nvml.device(0), 0)),
        OK
    );
    assert_eq!((all(0), all(1)), (Ok(0), Ok(3)));
    assert_eq!(
        call!(nvml, nvmlDeviceClearEccErrorCounts(nvml.device(0), 1)),
        OK
    );
    assert_eq!((all(0), all(1)), (Ok(0), Ok(0)));
    assert_eq!(
        call!(nvml, nvmlDeviceClearEccErrorCounts(nvml.device(0), 2)),
        INVALID
    );
}

#[test]
fn remapped_rows_are_told_in_both_layouts() {
    let node = Node::new("1xA100-SXM4-40GB");
    let nvml = node.init();
    let remaps = RowRemaps {
        corrected: 2,
        uncorrected: 1,
        pending: true,
        failed: false,
    };
    node.store()
        .apply(Op::Inject {
            gpu: GpuIndex(0),
            what: Injection::Remaps(remaps),
        })
        .expect("injected");
    // Newer than the binding: the layout is compared with the header's in the library's own tests.
    let path = node.library();
    // SAFETY: the same library that is loaded already; the function is (nvmlDevice_t, six numbers) by the header.
    let code_and_rows = unsafe {
        let library = libloading::Library::new(path).expect("loads");
        let rows = library.get::<unsafe extern "C" fn(nvml_wrapper_sys::bindings::nvmlDevice_t, *mut [u32; 6]) -> u32>(b"nvmlDeviceGetRemappedRows_v2").expect("exported");
        let mut out = [9u32; 6];
        (rows(nvml.device(0), &mut out), out)
    };
    assert_eq!(code_and_rows, (OK, [2, 0, 1, 0, 1, 0]));
}
