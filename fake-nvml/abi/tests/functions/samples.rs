//! Values over the last while.

use gpu_model::{GpuIndex, Injection, MiB, Op, Percent};
use nvml_wrapper_sys::bindings::nvmlSample_t;

use crate::support::{Node, Nvml, call};
use crate::{CARDS, INVALID, NOT_FOUND, NOT_SUPPORTED, OK};

/// Times and values, or the code.
fn samples(
    nvml: &Nvml,
    index: u32,
    kind: u32,
    since: u64,
    room: u32,
) -> Result<Vec<(u64, u32)>, u32> {
    // SAFETY: plain structs, for which zeros are valid.
    let mut values: Vec<nvmlSample_t> = vec![unsafe { core::mem::zeroed() }; room as usize];
    let (mut kind_of_value, mut count) = (9, room);
    match call!(
        nvml,
        nvmlDeviceGetSamples(
            nvml.device(index),
            kind,
            since,
            &mut kind_of_value,
            &mut count,
            values.as_mut_ptr()
        )
    ) {
        OK => {
            assert_eq!(kind_of_value, 1, "unsigned numbers");
            // SAFETY: the union is written as its widest member.
            Ok(values
                .iter()
                .take(count as usize)
                .map(|it| (it.timeStamp, unsafe { it.sampleValue.uiVal }))
                .collect())
        }
        code => Err(code),
    }
}

#[test]
fn the_last_twenty_seconds_are_kept() {
    let node = Node::new(CARDS);
    let load = Injection::Load {
        gi: None,
        compute: Percent(50),
        memory: MiB(1),
    };
    node.store()
        .apply(Op::Inject {
            gpu: GpuIndex(0),
            what: load,
        })
        .expect("a load");
    let nvml = node.init();
    let (mut kind, mut count) = (0, 0);
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetSamples(
                nvml.device(0),
                1,
                0,
                &mut kind,
                &mut count,
                core::ptr::null_mut()
            )
        ),
        OK
    );
    assert_eq!(count, 120);
    let power = samples(&nvml, 2, 0, 0, 200).expect("power");
    assert_eq!(power.len(), 120);
    assert!(
        power.windows(2).all(|pair| pair[0].0 < pair[1].0),
        "ascending by time"
    );
    assert!(
        power
            .iter()
            .all(|(_, value)| (50_000..200_000).contains(value)),
        "{power:?}"
    );
    let last = power.last().expect("one").0;
    assert_eq!(
        samples(&nvml, 2, 0, last + 3_600_000_000, 200),
        Err(NOT_FOUND)
    );
    assert_eq!(samples(&nvml, 2, 0, 0, 3).map(|some| some.len()), Ok(3));
    assert!(samples(&nvml, 0, 1, 0, 200).is_ok(), "utilisation");
    for clock in [5, 6] {
        assert_eq!(samples(&nvml, 0, clock, 0, 9), Err(NOT_FOUND), "of an A100");
    }
    assert_eq!(
        (samples(&nvml, 0, 7, 0, 9), samples(&nvml, 0, 10, 0, 9)),
        (Err(NOT_SUPPORTED), Err(INVALID))
    );
}

#[test]
fn utilisation_is_not_known_in_mig_mode() {
    let node = Node::mig(CARDS);
    let nvml = node.init();
    assert_eq!(samples(&nvml, 0, 1, 0, 9), Err(NOT_SUPPORTED));
    let (mut percent, mut period) = (0, 0);
    let engines = [
        call!(
            nvml,
            nvmlDeviceGetEncoderUtilization(nvml.device(0), &mut percent, &mut period)
        ),
        call!(
            nvml,
            nvmlDeviceGetDecoderUtilization(nvml.device(0), &mut percent, &mut period)
        ),
        call!(
            nvml,
            nvmlDeviceGetJpgUtilization(nvml.device(0), &mut percent, &mut period)
        ),
        call!(
            nvml,
            nvmlDeviceGetOfaUtilization(nvml.device(0), &mut percent, &mut period)
        ),
    ];
    assert_eq!(engines, [NOT_SUPPORTED; 4]);
    assert!(samples(&nvml, 0, 0, 0, 9).is_ok(), "power is");
}

/// Drivers keep samples of clocks of older cards.
#[test]
fn clocks_of_a_v100_are_kept() {
    let node = Node::new("1xV100-SXM2-16GB");
    let nvml = node.init();
    assert!(samples(&nvml, 0, 5, 0, 9).is_ok_and(|kept| kept.len() == 9));
}
