//! How a call ends when it does not end well: a text on standard output and an exit code, as NVIDIA's tool gives them.

use nvml_client::{Code, Error};

/// What a command has printed.
pub(crate) type Output = Vec<u8>;

/// The end of a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) text: String,
    pub(crate) code: u8,
}

impl Failure {
    /// A supplied argument or flag is invalid.
    pub(crate) const USAGE: u8 = 2;
    /// A query to find an object was unsuccessful.
    pub(crate) const NOT_FOUND: u8 = 6;

    pub(crate) fn new(code: u8, text: impl Into<String>) -> Self {
        Self {
            text: format!("{}\n", text.into()),
            code,
        }
    }

    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::new(Self::USAGE, text)
    }

    pub(crate) fn no_devices() -> Self {
        Self::new(Self::NOT_FOUND, "No devices were found")
    }

    /// There is nothing of the kind that a command is about.
    pub(crate) fn none_found(kind: &str) -> Self {
        Self::new(Self::NOT_FOUND, format!("No {kind} found: Not Found"))
    }

    /// The library is missing, or has no driver behind it.
    pub(crate) fn init(error: &Error) -> Self {
        match error {
            Error::Library { .. } => Self::new(
                12,
                "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display Driver \
                 is properly installed and present in your system.\nPlease also try adding directory that contains libnvidia-ml.so \
                 to your system PATH.",
            ),
            _ if error.code() == Some(Code::DRIVER_NOT_LOADED) => Self::new(
                9,
                "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA \
                 driver is installed and running.\n",
            ),
            other => Self::new(
                code(other),
                format!("Failed to initialize NVML: {}", other.text()),
            ),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(code(&error), error.text())
    }
}

/// The exit code of an NVML error: its number, where that is one of nvidia-smi's; 255 otherwise.
pub(crate) fn code(error: &Error) -> u8 {
    error.code().map_or(255, exit_code)
}

/// As [`code`], for a code that did not come from a call.
pub(crate) fn exit_code(code: Code) -> u8 {
    u8::try_from(code.0).unwrap_or(255)
}
