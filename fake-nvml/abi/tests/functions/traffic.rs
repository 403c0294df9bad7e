//! What moves over PCI Express and NVLink while a load says so.

use gpu_model::{ClockChange, Flow, GpuIndex, MiB, NewLoad, Rate, Scope, Shape, Traffic};
use nvml_wrapper_sys::bindings::{nvmlGpmMetricsGet_t, nvmlGpmSample_t};

use crate::fields::{ALL, LONG, field};
use crate::support::{Node, Nvml, ask, call};
use crate::{INVALID, NOT_SUPPORTED, OK};

const MIB: u64 = 1 << 20;
/// Links of the card.
const LINKS: u64 = 18;
const SECONDS: u64 = 3;

/// Bytes a second.
const PCIE: Flow = Flow {
    sent: Rate(512 * MIB),
    received: Rate(128 * MIB),
};
const NVLINK: Flow = Flow {
    sent: Rate(LINKS * 64 * MIB),
    received: Rate(LINKS * 16 * MIB),
};

/// A card whose clock stands, with a load.
fn node() -> Node {
    let node = Node::new("1xH100-SXM5-80GB");
    clock(&node, ClockChange::Stop);
    let load = NewLoad {
        scope: Scope::gpu(GpuIndex(0)),
        process: None,
        memory: MiB(0),
        shape: Shape::constant(Shape::FULL / 2),
        traffic: Traffic {
            pcie: PCIE,
            nvlink: NVLINK,
        },
        since: None,
        until: None,
    };
    let store = node.store();
    store
        .update(|machine, _| machine.with_load(load.clone(), machine.now(store.real())))
        .expect("a load");
    node
}

fn clock(node: &Node, change: ClockChange) {
    let store = node.store();
    store
        .update(|machine, _| {
            Ok::<_, gpu_model::Refusal>((machine.with_clock(store.real(), change), ()))
        })
        .expect("the clock");
}

fn throughput(nvml: &Nvml, counter: u32) -> Result<u32, u32> {
    ask!(nvml, nvmlDeviceGetPcieThroughput(nvml.device(0), counter) -> u32)
}

#[test]
fn rates_are_those_of_the_load() {
    let node = node();
    let nvml = node.init();
    let kilobytes = |rate: Rate| Ok(u32::try_from(rate.0 / 1_000).expect("few"));
    assert_eq!(
        [0, 1, 2].map(|counter| throughput(&nvml, counter)),
        [kilobytes(PCIE.sent), kilobytes(PCIE.received), Err(INVALID)]
    );
}

#[test]
fn counters_rise_with_time() {
    let node = node();
    let nvml = node.init();
    let all = |id| field(&nvml, 0, id, ALL).map(|(_, value)| value);
    assert_eq!([138, 139, 197, 198].map(all), [Ok(0); 4]);
    clock(
        &node,
        ClockChange::Step(i64::try_from(SECONDS * 1_000_000).expect("few")),
    );
    let moved = |rate: Rate| rate.0 * SECONDS;
    let kib = |rate: Rate| Ok((LONG, moved(rate) >> 10));
    assert_eq!(field(&nvml, 0, 138, ALL), kib(NVLINK.sent));
    assert_eq!(field(&nvml, 0, 139, ALL), kib(NVLINK.received));
    assert_eq!(
        field(&nvml, 0, 138, 17),
        kib(Rate(NVLINK.sent.0 / LINKS)),
        "evenly over all links"
    );
    assert_eq!(field(&nvml, 0, 138, 18), Err(NOT_SUPPORTED));
    assert!(
        field(&nvml, 0, 140, ALL) > field(&nvml, 0, 138, ALL),
        "packets take some"
    );
    assert_eq!(field(&nvml, 0, 197, 0), Ok((LONG, moved(PCIE.sent))));
    assert_eq!(field(&nvml, 0, 198, 0), Ok((LONG, moved(PCIE.received))));
}

#[test]
fn performance_metrics_have_them_too() {
    let node = node();
    let nvml = node.init();
    let [one, two] =
        [(); 2].map(|()| ask!(nvml, nvmlGpmSampleAlloc() -> nvmlGpmSample_t).expect("a sample"));
    for sample in [one, two] {
        assert_eq!(call!(nvml, nvmlGpmSampleGet(nvml.device(0), sample)), OK);
        clock(&node, ClockChange::Step(1_000_000));
    }
    // SAFETY: a plain struct, for which zeros are valid.
    let mut request: nvmlGpmMetricsGet_t = unsafe { core::mem::zeroed() };
    let wanted: [(u32, Rate); 6] = [
        (20, PCIE.sent),
        (21, PCIE.received),
        (60, NVLINK.received),
        (61, NVLINK.sent),
        (62, Rate(NVLINK.received.0 / LINKS)),
        (97, Rate(NVLINK.sent.0 / LINKS)),
    ];
    request.version = 1;
    request.numMetrics = 6;
    (request.sample1, request.sample2) = (one, two);
    for (place, (id, _)) in request.metrics.iter_mut().zip(wanted) {
        place.metricId = id;
    }
    assert_eq!(call!(nvml, nvmlGpmMetricsGet(&mut request)), OK);
    for (metric, (id, rate)) in request.metrics.iter().zip(wanted) {
        assert_eq!(metric.nvmlReturn, OK, "{id}");
        let mebibytes = rate.0 as f64 / MIB as f64;
        assert!(
            (metric.value - mebibytes).abs() < 0.01,
            "{id}: {} {mebibytes}",
            metric.value
        );
    }
}
