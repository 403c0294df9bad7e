//! The return codes of NVML, as values with their texts.
//! Not here: why a call was refused (`refusal`).
//! Numbers are those of `nvmlReturn_t` in nvml.h (API 13).
use serde::{Deserialize, Serialize};
use std::{ffi::CStr, fmt};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $value:literal, $c:literal, $text:literal;)*) => {
        /// What an NVML call returns (`nvmlReturn_t`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[repr(u32)]
        pub enum Code { $($(#[$doc])* $name = $value,)* }

        impl Code {
            /// Every code, in ascending order.
            pub const ALL: &'static [Code] = &[$(Code::$name),*];

            /// The name in nvml.h.
            pub const fn c_name(self) -> &'static str {
                match self { $(Code::$name => $c,)* }
            }

            /// The name in nvml.h without what all names begin with: `GPU_IS_LOST`.
            pub fn short_name(self) -> &'static str {
                let name = self.c_name();
                name.strip_prefix("NVML_ERROR_").or_else(|| name.strip_prefix("NVML_")).unwrap_or(name)
            }

            /// The code of a name, with or without what all names begin with, in any case.
            pub fn named(name: &str) -> Option<Self> {
                let is = |code: &&Code| code.c_name().eq_ignore_ascii_case(name) || code.short_name().eq_ignore_ascii_case(name);
                Self::ALL.iter().find(is).copied()
            }

            /// What `nvmlErrorString` says and nvidia-smi prints: people search logs for these words.
            pub const fn c_text(self) -> &'static CStr {
                match self { $(Code::$name => $text,)* }
            }

            /// From the number in nvml.h; `None` if nvml.h has no such code.
            pub const fn from_raw(raw: u32) -> Option<Self> {
                match raw { $($value => Some(Code::$name),)* _ => None }
            }
        }
    };
}

codes! {
    /// Done.
    Success = 0, "NVML_SUCCESS", c"Success";
    /// `nvmlInit` was not called.
    Uninitialized = 1, "NVML_ERROR_UNINITIALIZED", c"Uninitialized";
    /// An argument is not valid.
    InvalidArgument = 2, "NVML_ERROR_INVALID_ARGUMENT", c"Invalid Argument";
    /// The device does not offer this.
    NotSupported = 3, "NVML_ERROR_NOT_SUPPORTED", c"Not Supported";
    /// The caller may not do this.
    NoPermission = 4, "NVML_ERROR_NO_PERMISSION", c"Insufficient Permissions";
    /// Deprecated.
    AlreadyInitialized = 5, "NVML_ERROR_ALREADY_INITIALIZED", c"Already Initialized";
    /// The object is not there.
    NotFound = 6, "NVML_ERROR_NOT_FOUND", c"Not Found";
    /// The buffer is too small.
    InsufficientSize = 7, "NVML_ERROR_INSUFFICIENT_SIZE", c"Insufficient Size";
    /// External power is missing.
    InsufficientPower = 8, "NVML_ERROR_INSUFFICIENT_POWER", c"Insufficient External Power";
    /// No driver.
    DriverNotLoaded = 9, "NVML_ERROR_DRIVER_NOT_LOADED", c"Driver Not Loaded";
    /// The time ran out.
    Timeout = 10, "NVML_ERROR_TIMEOUT", c"Timeout";
    /// Interrupt trouble.
    IrqIssue = 11, "NVML_ERROR_IRQ_ISSUE", c"Interrupt Request Issue";
    /// No library.
    LibraryNotFound = 12, "NVML_ERROR_LIBRARY_NOT_FOUND", c"NVML Shared Library Not Found";
    /// The library lacks the function.
    FunctionNotFound = 13, "NVML_ERROR_FUNCTION_NOT_FOUND", c"Function Not Found";
    /// The infoROM is corrupt.
    CorruptedInforom = 14, "NVML_ERROR_CORRUPTED_INFOROM", c"Corrupted infoROM";
    /// The GPU fell off the bus.
    GpuIsLost = 15, "NVML_ERROR_GPU_IS_LOST", c"GPU is lost";
    /// A reset must come first.
    ResetRequired = 16, "NVML_ERROR_RESET_REQUIRED", c"GPU requires reset";
    /// The operating system has blocked it.
    OperatingSystem = 17, "NVML_ERROR_OPERATING_SYSTEM", c"GPU access blocked by the operating system";
    /// Library and kernel driver differ.
    LibRmVersionMismatch = 18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH", c"Driver/library version mismatch";
    /// Somebody uses it.
    InUse = 19, "NVML_ERROR_IN_USE", c"In use by another client";
    /// No memory.
    Memory = 20, "NVML_ERROR_MEMORY", c"Insufficient Memory";
    /// No data.
    NoData = 21, "NVML_ERROR_NO_DATA", c"No data";
    /// vGPU with ECC.
    VgpuEccNotSupported = 22, "NVML_ERROR_VGPU_ECC_NOT_SUPPORTED", c"The requested vgpu operation is not available on target device because ECC is enabled";
    /// What the request needs is taken.
    InsufficientResources = 23, "NVML_ERROR_INSUFFICIENT_RESOURCES", c"Insufficient Resources";
    /// No such clock.
    FreqNotSupported = 24, "NVML_ERROR_FREQ_NOT_SUPPORTED", c"Requested Frequency Not Supported";
    /// The struct's version is not known.
    ArgumentVersionMismatch = 25, "NVML_ERROR_ARGUMENT_VERSION_MISMATCH", c"The version of the argument provided is invalid";
    /// No longer offered.
    Deprecated = 26, "NVML_ERROR_DEPRECATED", c"Function deprecated";
    /// Not yet.
    NotReady = 27, "NVML_ERROR_NOT_READY", c"System Not Ready";
    /// No GPU.
    GpuNotFound = 28, "NVML_ERROR_GPU_NOT_FOUND", c"No supported GPUs were found";
    /// Wrong state for this.
    InvalidState = 29, "NVML_ERROR_INVALID_STATE", c"Resource is in an invalid state";
    /// This reset is not offered.
    ResetTypeNotSupported = 30, "NVML_ERROR_RESET_TYPE_NOT_SUPPORTED", c"Reset not supported for the device";
    /// Something else.
    Unknown = 999, "NVML_ERROR_UNKNOWN", c"Unknown Error";
}

impl Code {
    /// The number in nvml.h.
    pub const fn raw(self) -> u32 {
        self as u32
    }

    /// [`Code::c_text`] as a string.
    pub fn text(self) -> &'static str {
        // All texts are ASCII; a test reads each.
        self.c_text().to_str().unwrap_or_default()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.c_name(), self.raw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_a_number_a_name_and_a_text() {
        for code in Code::ALL {
            assert_eq!(Code::from_raw(code.raw()), Some(*code));
            assert!(code.c_name().starts_with("NVML_"), "{code}");
            assert!(!code.text().is_empty(), "{code}");
        }
        assert_eq!(Code::from_raw(11_000), None);
        // Two that people know from broken machines.
        assert_eq!(
            Code::LibRmVersionMismatch.text(),
            "Driver/library version mismatch"
        );
        assert_eq!(
            Code::OperatingSystem.text(),
            "GPU access blocked by the operating system"
        );
    }
}
