//! Values by number.

use nvml_wrapper_sys::bindings::nvmlFieldValue_t;

use crate::support::{Node, Nvml, call};
use crate::{CARDS, INVALID, NOT_SUPPORTED, OK};

/// Type and value of a field, or its code.
pub(crate) fn field(nvml: &Nvml, index: u32, id: u32, scope: u32) -> Result<(u32, u64), u32> {
    // SAFETY: a plain struct, for which zeros are valid.
    let mut value: nvmlFieldValue_t = unsafe { core::mem::zeroed() };
    (value.fieldId, value.scopeId) = (id, scope);
    let code = call!(
        nvml,
        nvmlDeviceGetFieldValues(nvml.device(index), 1, &mut value)
    );
    assert_eq!(code, value.nvmlReturn, "of one value the call has its code");
    match code {
        // SAFETY: the union is written as its widest member.
        OK => Ok((value.valueType, unsafe { value.value.ullVal })),
        code => Err(code),
    }
}

const INT: u32 = 1;
pub(crate) const LONG: u32 = 3;
const SIGNED: u32 = 5;
pub(crate) const ALL: u32 = u32::MAX;

#[test]
fn fields_of_links_know_how_many_there_are() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    assert_eq!(
        [0, 2, 3].map(|index| field(&nvml, index, 91, 0)),
        [Ok((INT, 12)), Ok((INT, 18)), Ok((INT, 0))]
    );
    // Speed of link 5, of link 11, in common, by scope.
    assert_eq!(
        [89, 137, 90].map(|id| field(&nvml, 0, id, 0)),
        [Ok((INT, 25_000)); 3]
    );
    assert_eq!(
        (
            field(&nvml, 0, 164, 11),
            field(&nvml, 0, 164, 12),
            field(&nvml, 2, 164, 12)
        ),
        (Ok((INT, 25_000)), Err(NOT_SUPPORTED), Ok((INT, 26_562)))
    );
    assert_eq!(field(&nvml, 3, 90, 0), Err(NOT_SUPPORTED));
    // Errors by link and in total, throughput by scope.
    assert_eq!(
        [32, 38, 119, 160, 163].map(|id| field(&nvml, 0, id, 0)),
        [Ok((LONG, 0)); 5]
    );
    assert_eq!(
        (
            field(&nvml, 0, 138, ALL),
            field(&nvml, 0, 138, 12),
            field(&nvml, 3, 138, ALL)
        ),
        (Ok((LONG, 0)), Err(NOT_SUPPORTED), Err(NOT_SUPPORTED))
    );
    assert_eq!(
        (field(&nvml, 0, 165, 3), field(&nvml, 0, 166, 3)),
        (Ok((INT, 1)), Ok((INT, 4)))
    );
}

#[test]
fn what_an_architecture_does_not_have_is_not_supported() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    // T.Limit: distances on H100 and L4, degrees on A100.
    assert_eq!(
        field(&nvml, 2, 193, 0),
        Ok((SIGNED, u64::from(u32::from_ne_bytes((-8i32).to_ne_bytes()))))
    );
    assert_eq!(
        (
            field(&nvml, 0, 193, 0),
            field(&nvml, 2, 195, 0),
            field(&nvml, 3, 195, 0)
        ),
        (Err(NOT_SUPPORTED), Ok((SIGNED, 0)), Err(NOT_SUPPORTED))
    );
    // The memory's temperature: not of GDDR6. Average power: not of A100.
    assert!(field(&nvml, 0, 82, 0).is_ok());
    assert_eq!(
        (field(&nvml, 3, 82, 0), field(&nvml, 0, 185, 0)),
        (Err(NOT_SUPPORTED), Err(NOT_SUPPORTED))
    );
    assert!(field(&nvml, 2, 185, 0).is_ok() && field(&nvml, 0, 186, 0).is_ok());
    assert_eq!(
        field(&nvml, 2, 186, 1),
        Err(NOT_SUPPORTED),
        "power of a module"
    );
    // Retired pages ended with Turing.
    assert_eq!(field(&nvml, 0, 29, 0), Err(NOT_SUPPORTED));
    // MIG without a reset; questions about MIG with MIG off.
    assert_eq!(
        [0, 2, 3].map(|index| field(&nvml, index, 184, 0)),
        [Ok((INT, 0)), Ok((INT, 1)), Ok((INT, 0))]
    );
    assert_eq!(
        [0, 3].map(|index| field(&nvml, index, 199, 0)),
        [Ok((INT, 1)), Ok((INT, 0))]
    );
    // Clock event counters, before and after they were renumbered.
    assert_eq!(
        (
            field(&nvml, 0, 74, 0),
            field(&nvml, 0, 269, 0),
            field(&nvml, 0, 251, 0)
        ),
        (Ok((LONG, 0)), Ok((LONG, 0)), Err(NOT_SUPPORTED))
    );
    assert_eq!(
        (
            field(&nvml, 0, 0, 0),
            field(&nvml, 0, 99_999, 0),
            field(&nvml, 0, 226, 0)
        ),
        (Err(NOT_SUPPORTED), Err(NOT_SUPPORTED), Err(26))
    );
}

/// Limits as the captures of GB200 and H100 have them: minimum, maximum, default, in force, set.
#[test]
fn power_limits_of_a_scope_are_those_of_the_captures() {
    let node = Node::new("1xGB200-186GB,1xH100-SXM5-80GB");
    let nvml = node.init();
    let limits = |index, scope| [187, 188, 189, 190, 192].map(|id| field(&nvml, index, id, scope));
    let watts = |watts: [u64; 5]| watts.map(|watts| Ok((INT, watts * 1000)));
    assert_eq!(limits(0, 0), watts([200, 1200, 1200, 1200, 1200]));
    assert_eq!(limits(0, 1), watts([500, 2500, 2500, 2500, 2500]));
    assert_eq!(limits(1, 0), watts([200, 700, 700, 700, 700]));
    assert_eq!(limits(1, 1), [Err(NOT_SUPPORTED); 5], "no module");
    assert_eq!(limits(0, 2), [Err(NOT_SUPPORTED); 5], "of memory");
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceSetPowerManagementLimit(nvml.device(0), 900_000)
        ),
        OK
    );
    assert_eq!(limits(0, 0), watts([200, 1200, 1200, 900, 900]));
    assert_eq!(limits(0, 1), watts([500, 2500, 2500, 2500, 2500]));
    // Mean and moment, of the module and of the memory. The ripple moves the card's power by two steps of half a watt at most.
    const RIPPLE: u64 = 1000;
    let drawn = |index, scope, watts: u64| {
        [185, 186].map(|id| {
            let (kind, power) = field(&nvml, index, id, scope)?;
            Ok::<_, u32>((kind, power.abs_diff(watts * 1000) <= RIPPLE))
        })
    };
    assert_eq!(drawn(0, 1, 467), [Ok((INT, true)); 2]);
    assert_eq!(drawn(0, 2, 30), [Ok((INT, true)), Err(NOT_SUPPORTED)]);
    assert_eq!(drawn(1, 1, 0), [Err(NOT_SUPPORTED); 2]);
    assert_eq!(drawn(1, 2, 33), [Ok((INT, true)), Err(NOT_SUPPORTED)]);
}

#[test]
fn counters_of_errors_can_be_cleared_and_others_not() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let clear = |id| {
        // SAFETY: a plain struct, for which zeros are valid.
        let mut value: nvmlFieldValue_t = unsafe { core::mem::zeroed() };
        value.fieldId = id;
        let code = call!(
            nvml,
            nvmlDeviceClearFieldValues(nvml.device(0), 1, &mut value)
        );
        (code, value.nvmlReturn)
    };
    assert_eq!(
        (clear(173), clear(1)),
        ((OK, OK), (NOT_SUPPORTED, NOT_SUPPORTED))
    );
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceClearFieldValues(nvml.device(0), 0, core::ptr::null_mut())
        ),
        INVALID
    );
}
