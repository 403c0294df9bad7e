//! The way from a result of ours to the number a C caller gets, and from the number to its text.
//! Not the codes and their texts (`gpu_model::Code`), nor the place where one is chosen: the topics under `api` do that.
//! Results come from the bodies of all functions and leave through `boundary`.

use core::ffi::CStr;

pub(crate) use gpu_model::Code as Status;

use crate::macros::api;
use crate::out::Text;

/// `nvmlReturn_t` as a C function returns it; 0 is success.
pub type Return = u32;

/// What a function of ours answers before it is a number.
pub(crate) type Result<T = ()> = core::result::Result<T, Status>;

/// The number a C caller gets for `result`.
pub(crate) const fn code_of(result: Result) -> Return {
    match result {
        Ok(()) => 0,
        Err(status) => status.raw(),
    }
}

fn text(code: Return) -> &'static CStr {
    Status::from_raw(code).unwrap_or(Status::Unknown).c_text()
}

api! {
    table STATUS;

    /// The text of a return code; needs no init. An unknown code reads "Unknown Error".
    text fn nvmlErrorString(result: Return) { Text::of(text(result)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_as_small_as_its_code() {
        assert_eq!(size_of::<Result>(), size_of::<Return>());
        assert_eq!(code_of(Err(Status::InUse)), 19);
        assert_eq!(code_of(Ok(())), 0);
    }

    #[test]
    fn an_unknown_code_has_a_text_too() {
        assert_eq!(text(3), c"Not Supported");
        assert_eq!(text(4711), c"Unknown Error");
    }
}
