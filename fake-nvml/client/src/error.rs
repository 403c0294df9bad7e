//! What an NVML call can answer besides a value.
//! Not the list of codes: numbers are those of the bindings, words those of `gpu_model::Code`.
//! Made by every call of this crate; a code that nvml.h does not know yet is kept as its number.

use nvml_wrapper_sys::bindings as sys;

/// `Result` with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;

/// A code of `nvmlReturn_t` other than success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub u32);

impl Code {
    /// `NVML_ERROR_INVALID_ARGUMENT`
    pub const INVALID_ARGUMENT: Self = Self(sys::nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT);
    /// `NVML_ERROR_NOT_SUPPORTED`
    pub const NOT_SUPPORTED: Self = Self(sys::nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED);
    /// `NVML_ERROR_NO_PERMISSION`
    pub const NO_PERMISSION: Self = Self(sys::nvmlReturn_enum_NVML_ERROR_NO_PERMISSION);
    /// `NVML_ERROR_NOT_FOUND`
    pub const NOT_FOUND: Self = Self(sys::nvmlReturn_enum_NVML_ERROR_NOT_FOUND);
    /// `NVML_ERROR_INSUFFICIENT_SIZE`
    pub const INSUFFICIENT_SIZE: Self = Self(sys::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE);
    /// `NVML_ERROR_DRIVER_NOT_LOADED`
    pub const DRIVER_NOT_LOADED: Self = Self(sys::nvmlReturn_enum_NVML_ERROR_DRIVER_NOT_LOADED);
    /// `NVML_ERROR_GPU_IS_LOST`
    pub const GPU_IS_LOST: Self = Self(sys::nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST);
    /// `NVML_ERROR_RESET_REQUIRED`
    pub const RESET_REQUIRED: Self = Self(sys::nvmlReturn_enum_NVML_ERROR_RESET_REQUIRED);
    /// `NVML_ERROR_IN_USE`
    pub const IN_USE: Self = Self(sys::nvmlReturn_enum_NVML_ERROR_IN_USE);
    /// `NVML_ERROR_INSUFFICIENT_RESOURCES`
    pub const INSUFFICIENT_RESOURCES: Self =
        Self(sys::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_RESOURCES);

    /// The words that nvidia-smi prints for this code.
    #[must_use]
    pub fn text(self) -> &'static str {
        gpu_model::Code::from_raw(self.0)
            .unwrap_or(gpu_model::Code::Unknown)
            .text()
    }
}

/// Why a call has no value.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No NVML library was found.
    #[error("cannot load libnvidia-ml.so.1: {tried}")]
    Library {
        /// Each place that was tried, and what the loader said.
        tried: String,
    },
    /// The library lacks a function.
    #[error("{function} is not in this libnvidia-ml.so.1")]
    Function {
        /// The function.
        function: &'static str,
    },
    /// The library answered with an error.
    #[error("{function}: {}", code.text())]
    Call {
        /// The function.
        function: &'static str,
        /// Its answer.
        code: Code,
    },
}

impl Error {
    /// The code the library gave, where it gave one.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Call { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// The words that nvidia-smi prints for this error.
    #[must_use]
    pub fn text(&self) -> &'static str {
        match self {
            Self::Library { .. } => "NVML Shared Library Not Found",
            Self::Function { .. } => "Function Not Found",
            Self::Call { code, .. } => code.text(),
        }
    }
}

pub(crate) fn check(function: &'static str, code: sys::nvmlReturn_t) -> Result<()> {
    if code == sys::nvmlReturn_enum_NVML_SUCCESS {
        return Ok(());
    }
    Err(Error::Call {
        function,
        code: Code(code),
    })
}
