//! The return codes of NVML, as values.
//! Not here: why a call was refused (`refusal`).
//! Numbers are those of `nvmlReturn_t` in nvml.h (API 13).
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $value:literal, $c:literal;)*) => {
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
        }
    };
}

codes! {
    /// Done.
    Success = 0, "NVML_SUCCESS";
    /// `nvmlInit` was not called.
    Uninitialized = 1, "NVML_ERROR_UNINITIALIZED";
    /// An argument is not valid.
    InvalidArgument = 2, "NVML_ERROR_INVALID_ARGUMENT";
    /// The device does not offer this.
    NotSupported = 3, "NVML_ERROR_NOT_SUPPORTED";
    /// The caller may not do this.
    NoPermission = 4, "NVML_ERROR_NO_PERMISSION";
    /// Deprecated.
    AlreadyInitialized = 5, "NVML_ERROR_ALREADY_INITIALIZED";
    /// The object is not there.
    NotFound = 6, "NVML_ERROR_NOT_FOUND";
    /// The buffer is too small.
    InsufficientSize = 7, "NVML_ERROR_INSUFFICIENT_SIZE";
    /// External power is missing.
    InsufficientPower = 8, "NVML_ERROR_INSUFFICIENT_POWER";
    /// No driver.
    DriverNotLoaded = 9, "NVML_ERROR_DRIVER_NOT_LOADED";
    /// The time ran out.
    Timeout = 10, "NVML_ERROR_TIMEOUT";
    /// Interrupt trouble.
    IrqIssue = 11, "NVML_ERROR_IRQ_ISSUE";
    /// No library.
    LibraryNotFound = 12, "NVML_ERROR_LIBRARY_NOT_FOUND";
    /// The library lacks the function.
    FunctionNotFound = 13, "NVML_ERROR_FUNCTION_NOT_FOUND";
    /// The infoROM is corrupt.
    CorruptedInforom = 14, "NVML_ERROR_CORRUPTED_INFOROM";
    /// The GPU fell off the bus.
    GpuIsLost = 15, "NVML_ERROR_GPU_IS_LOST";
    /// A reset must come first.
    ResetRequired = 16, "NVML_ERROR_RESET_REQUIRED";
    /// The operating system has blocked it.
    OperatingSystem = 17, "NVML_ERROR_OPERATING_SYSTEM";
    /// Library and kernel driver differ.
    LibRmVersionMismatch = 18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH";
    /// Somebody uses it.
    InUse = 19, "NVML_ERROR_IN_USE";
    /// No memory.
    Memory = 20, "NVML_ERROR_MEMORY";
    /// No data.
    NoData = 21, "NVML_ERROR_NO_DATA";
    /// vGPU with ECC.
    VgpuEccNotSupported = 22, "NVML_ERROR_VGPU_ECC_NOT_SUPPORTED";
    /// What the request needs is taken.
    InsufficientResources = 23, "NVML_ERROR_INSUFFICIENT_RESOURCES";
    /// No such clock.
    FreqNotSupported = 24, "NVML_ERROR_FREQ_NOT_SUPPORTED";
    /// The struct's version is not known.
    ArgumentVersionMismatch = 25, "NVML_ERROR_ARGUMENT_VERSION_MISMATCH";
    /// No longer offered.
    Deprecated = 26, "NVML_ERROR_DEPRECATED";
    /// Not yet.
    NotReady = 27, "NVML_ERROR_NOT_READY";
    /// No GPU.
    GpuNotFound = 28, "NVML_ERROR_GPU_NOT_FOUND";
    /// Wrong state for this.
    InvalidState = 29, "NVML_ERROR_INVALID_STATE";
    /// This reset is not offered.
    ResetTypeNotSupported = 30, "NVML_ERROR_RESET_TYPE_NOT_SUPPORTED";
    /// Something else.
    Unknown = 999, "NVML_ERROR_UNKNOWN";
}

impl Code {
    /// The number in nvml.h.
    pub const fn raw(self) -> u32 {
        self as u32
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.c_name(), self.raw())
    }
}
