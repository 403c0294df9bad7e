//! Performance metrics.

use gpu_model::{GpuIndex, Injection, MiB, Op, Percent};
use nvml_wrapper_sys::bindings::{nvmlGpmMetricsGet_t, nvmlGpmSample_t, nvmlGpmSupport_t};

use crate::support::{Node, Nvml, ask, call};
use crate::{CARDS, INVALID, NOT_SUPPORTED, OK, VERSION};

fn supported(nvml: &Nvml, index: u32, version: u32) -> Result<u32, u32> {
    let mut support = nvmlGpmSupport_t {
        version,
        isSupportedDevice: 9,
    };
    match call!(
        nvml,
        nvmlGpmQueryDeviceSupport(nvml.device(index), &mut support)
    ) {
        OK => Ok(support.isSupportedDevice),
        code => Err(code),
    }
}

#[test]
fn metrics_are_there_since_hopper() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    assert_eq!(
        [0, 2, 3].map(|index| supported(&nvml, index, 1)),
        [Ok(0), Ok(1), Ok(0)]
    );
    assert_eq!(supported(&nvml, 2, 2), Err(VERSION));
    let sample = ask!(nvml, nvmlGpmSampleAlloc() -> nvmlGpmSample_t).expect("a sample");
    assert_eq!(
        call!(nvml, nvmlGpmSampleGet(nvml.device(0), sample)),
        NOT_SUPPORTED
    );
    assert_eq!(call!(nvml, nvmlGpmSampleFree(sample)), OK);
    assert_eq!(
        call!(nvml, nvmlGpmSampleFree(sample)),
        INVALID,
        "a sample ends once"
    );
}

#[test]
fn two_samples_make_metrics() {
    let node = Node::new("1xH100-SXM5-80GB");
    let load = Injection::Load {
        gi: None,
        compute: Percent(60),
        memory: MiB(1024),
    };
    node.store()
        .apply(Op::Inject {
            gpu: GpuIndex(0),
            what: load,
        })
        .expect("a load");
    let nvml = node.init();
    let [one, two] =
        [(); 2].map(|()| ask!(nvml, nvmlGpmSampleAlloc() -> nvmlGpmSample_t).expect("a sample"));
    for sample in [one, two] {
        assert_eq!(call!(nvml, nvmlGpmSampleGet(nvml.device(0), sample)), OK);
    }
    // SAFETY: a plain struct, for which zeros are valid.
    let mut request: nvmlGpmMetricsGet_t = unsafe { core::mem::zeroed() };
    (
        request.version,
        request.numMetrics,
        request.sample1,
        request.sample2,
    ) = (1, 4, one, two);
    // SM utilisation, DRAM bandwidth, tensor pipes, no metric at all.
    for (place, id) in [2, 10, 5, 9999].into_iter().enumerate() {
        request.metrics[place].metricId = id;
    }
    assert_eq!(call!(nvml, nvmlGpmMetricsGet(&mut request)), OK);
    let [busy, memory, tensor, none] = [0, 1, 2, 3].map(|place| request.metrics[place]);
    assert_eq!(
        (
            busy.nvmlReturn,
            memory.nvmlReturn,
            tensor.nvmlReturn,
            none.nvmlReturn
        ),
        (OK, OK, NOT_SUPPORTED, INVALID)
    );
    assert!(
        (55.0..=65.0).contains(&busy.value) && (35.0..=45.0).contains(&memory.value),
        "{} {}",
        busy.value,
        memory.value
    );
    // SAFETY: the library's texts are constants.
    let name = unsafe { std::ffi::CStr::from_ptr(busy.metricInfo.longName) };
    assert_eq!(name, c"SM Utilization");
    request.version = 2;
    assert_eq!(call!(nvml, nvmlGpmMetricsGet(&mut request)), VERSION);
    (request.version, request.sample2) = (1, core::ptr::null_mut());
    assert_eq!(call!(nvml, nvmlGpmMetricsGet(&mut request)), INVALID);
}

#[test]
fn a_gpu_instance_has_samples_of_its_own() {
    let node = Node::mig("1xH100-SXM5-80GB");
    let nvml = node.init();
    let sample = ask!(nvml, nvmlGpmSampleAlloc() -> nvmlGpmSample_t).expect("a sample");
    assert_eq!(
        call!(nvml, nvmlGpmMigSampleGet(nvml.device(0), 9, sample)),
        INVALID,
        "no such instance"
    );
    let profile = node.machine().specs[0].mig.as_ref().expect("MIG").profiles[0].id;
    let made = node
        .store()
        .apply(Op::CreateGpuInstance {
            gpu: GpuIndex(0),
            profile,
            placement: None,
        })
        .expect("an instance");
    let gpu_model::Outcome::GpuInstance { id, .. } = made else {
        panic!("{made:?}")
    };
    assert_eq!(
        call!(nvml, nvmlGpmMigSampleGet(nvml.device(0), id.0, sample)),
        OK
    );
}

#[test]
fn metrics_are_not_streamed() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    assert_eq!(
        ask!(nvml, nvmlGpmQueryIfStreamingEnabled(nvml.device(2)) -> u32),
        Ok(0)
    );
    assert_eq!(
        [0, 1, 2].map(|state| call!(nvml, nvmlGpmSetStreamingEnabled(nvml.device(2), state))),
        [OK, NOT_SUPPORTED, INVALID]
    );
}
