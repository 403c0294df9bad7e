//! The texts of NVML's return codes, and the way from a result of ours to the number a C caller gets.
//! Not the codes themselves (`gpu_model::Code`), nor the place where one is chosen: the topics under `api` do that.
//! Texts are those that people grep logs for, as the real library prints them.

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

const TEXTS: &[(Status, &CStr)] = &[
    (Status::Success, c"Success"),
    (Status::Uninitialized, c"Uninitialized"),
    (Status::InvalidArgument, c"Invalid Argument"),
    (Status::NotSupported, c"Not Supported"),
    (Status::NoPermission, c"Insufficient Permissions"),
    (Status::AlreadyInitialized, c"Already Initialized"),
    (Status::NotFound, c"Not Found"),
    (Status::InsufficientSize, c"Insufficient Size"),
    (Status::InsufficientPower, c"Insufficient External Power"),
    (Status::DriverNotLoaded, c"Driver Not Loaded"),
    (Status::Timeout, c"Timeout"),
    (Status::IrqIssue, c"Interrupt Request Issue"),
    (Status::LibraryNotFound, c"NVML Shared Library Not Found"),
    (Status::FunctionNotFound, c"Function Not Found"),
    (Status::CorruptedInforom, c"Corrupted infoROM"),
    (Status::GpuIsLost, c"GPU is lost"),
    (Status::ResetRequired, c"GPU requires reset"),
    (
        Status::OperatingSystem,
        c"GPU access blocked by the operating system",
    ),
    (
        Status::LibRmVersionMismatch,
        c"Driver/library version mismatch",
    ),
    (Status::InUse, c"In use by another client"),
    (Status::Memory, c"Insufficient Memory"),
    (Status::NoData, c"No data"),
    (
        Status::VgpuEccNotSupported,
        c"The requested vgpu operation is not available on target device because ECC is enabled",
    ),
    (Status::InsufficientResources, c"Insufficient Resources"),
    (
        Status::FreqNotSupported,
        c"Requested Frequency Not Supported",
    ),
    (
        Status::ArgumentVersionMismatch,
        c"The version of the argument provided is invalid",
    ),
    (Status::Deprecated, c"Function deprecated"),
    (Status::NotReady, c"System Not Ready"),
    (Status::GpuNotFound, c"No supported GPUs were found"),
    (Status::InvalidState, c"Resource is in an invalid state"),
    (
        Status::ResetTypeNotSupported,
        c"Reset not supported for the device",
    ),
    (Status::Unknown, c"Unknown Error"),
];

fn text(code: Return) -> &'static CStr {
    TEXTS
        .iter()
        .find(|(status, _)| status.raw() == code)
        .map_or(c"Unknown Error", |(_, text)| text)
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
    fn each_code_has_a_text() {
        let with_text: Vec<_> = TEXTS.iter().map(|(status, _)| *status).collect();
        assert_eq!(with_text, Status::ALL);
        assert_eq!(text(3), c"Not Supported");
        assert_eq!(text(4711), c"Unknown Error");
    }
}
