//! Small helpers that the function libraries share.

use cel::ExecutionError;
use cel::common::types::{CelBool, CelInt, CelString};
use cel::common::value::{CowVal, StaticVal};

/// The argument at that place, as the type that its overload was declared for.
pub(super) fn argument<'a, T: StaticVal>(
    args: &'a [CowVal<'_, '_>],
    index: usize,
) -> Result<&'a T, ExecutionError> {
    args.get(index)
        .and_then(|value| value.as_any()?.downcast_ref::<T>())
        .ok_or(ExecutionError::MissingArgumentOrTarget)
}

/// The text at that place.
pub(super) fn text<'a>(
    args: &'a [CowVal<'_, '_>],
    index: usize,
) -> Result<&'a str, ExecutionError> {
    args.get(index)
        .and_then(|value| value.downcast_ref::<CelString<'_>>())
        .map(|text| text.inner())
        .ok_or(ExecutionError::MissingArgumentOrTarget)
}

pub(super) fn boolean<'b, 'v>(value: bool) -> Result<CowVal<'b, 'v>, ExecutionError> {
    Ok(CowVal::owned(CelBool::from(value)))
}

pub(super) fn integer<'b, 'v>(value: i64) -> Result<CowVal<'b, 'v>, ExecutionError> {
    Ok(CowVal::owned(CelInt::from(value)))
}
