//! How a command ends when it does not end well.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use gpu_model::{NodeSpecError, Refusal, UnknownModel};
use gpu_store::UpdateError;

/// Why a command did not do what it should.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("--node: {0}")]
    Node(#[from] NodeSpecError),
    #[error("--node: {0}")]
    NodeModel(UnknownModel),
    #[error(transparent)]
    Model(#[from] UnknownModel),
    #[error("{0}")]
    ModelFile(#[from] gpu_model::catalog::CatalogError),
    #[error("--driver-version: `{given}` is no driver version: write it as 580.95.05")]
    DriverVersion { given: String },
    #[error(
        "say what to run: fakegpu run --node 2xA100-SXM4-40GB -- nvidia-smi, or give a machine made before by --state"
    )]
    NoMachine,
    #[error("{} holds a machine already ({holds}): leave out --node to use it, or choose another folder", dir.display())]
    Taken { dir: PathBuf, holds: String },
    #[error(
        "there is no machine here: name its folder or state file, set FAKEGPU_STATE, or call this inside of `fakegpu run`"
    )]
    NoState,
    #[error(transparent)]
    Host(#[from] gpu_host::Error),
    #[error(transparent)]
    Store(#[from] gpu_store::Error),
    #[error("{0}")]
    Refused(Refusal),
    #[error("--timeout: `{given}` is no time: write seconds, as 10 or 0.5")]
    Timeout { given: f64 },
    #[error("cannot record {}: {why}; name the library by --library, and see that the driver is loaded", library.display())]
    NoRecording { library: PathBuf, why: String },
    #[error(transparent)]
    Recording(#[from] nvml_record::RecordingError),
    #[error("--allow: {0}")]
    Varies(#[from] nvml_record::VariesError),
    #[error(transparent)]
    Fake(#[from] nvml_record::FakeError),
    #[error("the fake differs in {count} fields")]
    Differs { count: usize },
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{0}")]
    Plan(String),
    #[error("{}: {problem}", file.display())]
    Curve {
        file: PathBuf,
        problem: gpu_model::CurveError,
    },
    #[error("{option}: {problem}")]
    Option {
        option: &'static str,
        problem: String,
    },
    #[error("the armed plan has {max} rules, as many as there can be: fakegpu fault clear, or arm a plan with fewer", max = gpu_model::FaultPlan::MAX_RULES)]
    ManyRules,
    #[error("this fault is an event, it can not be undone after a time: leave --for out")]
    Event,
    #[error("cannot run {}: {source}", program.to_string_lossy())]
    Exec {
        program: OsString,
        source: io::Error,
    },
}

impl Error {
    /// 1 for what was refused, 126 and 127 as shells have them, 2 for usage and environment.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Refused(_) | Self::Differs { .. } => 1,
            Self::Exec { source, .. } if source.kind() == io::ErrorKind::NotFound => 127,
            Self::Exec { .. } => 126,
            _ => 2,
        }
    }
}

impl From<UpdateError<Refusal>> for Error {
    fn from(error: UpdateError<Refusal>) -> Self {
        match error {
            UpdateError::Store(error) => Self::Store(error),
            UpdateError::Refused(refusal) => Self::Refused(refusal),
        }
    }
}
