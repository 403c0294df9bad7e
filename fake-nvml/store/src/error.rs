//! What can go wrong with a state file, and what to do about it.
//! Not here: refused operations (`gpu_model::Refusal`).
//! Made by all modules of this crate; shown to people, mapped to an NVML code by the library.
use gpu_model::{Code, Refusal, Scope};
use std::{io, path::PathBuf};

/// A problem with the state file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is not there.
    #[error(
        "there is no state file at {path}: make a machine (fakegpu create --node 1xA100-SXM4-40GB DIR), or set FAKEGPU_STATE to the state file of one"
    )]
    Missing {
        /// Where.
        path: PathBuf,
    },
    /// Something is there already.
    #[error("{path} exists already: remove it, or choose another path")]
    Exists {
        /// Where.
        path: PathBuf,
    },
    /// It is something else.
    #[error("{path} is not a state file of ours ({found}): check the path; nothing was changed")]
    NotOurs {
        /// Where.
        path: PathBuf,
        /// What it looks like.
        found: String,
    },
    /// It is too short or too long.
    #[error(
        "the state file {path} has {found} bytes, expected {expected}: it was truncated or copied in part; remove it and make it anew (fakegpu create)"
    )]
    WrongSize {
        /// Where.
        path: PathBuf,
        /// Bytes it has.
        found: u64,
        /// Bytes it should have.
        expected: u64,
    },
    /// It was written by another version of this program.
    #[error(
        "the state file {path} has format {found}, this program writes {expected}: make it anew with this program (fakegpu create), or use the program that made it"
    )]
    OtherVersion {
        /// Where.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// Ours.
        expected: u32,
    },
    /// Its content does not decode.
    #[error(
        "the state file {path} is damaged ({what}): remove it and make it anew (fakegpu create)"
    )]
    Damaged {
        /// Where.
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// It can be read, but not written.
    #[error(
        "the state file {path} is read-only here: change it from the node itself, not from a container"
    )]
    ReadOnly {
        /// Where.
        path: PathBuf,
    },
    /// The state has outgrown the file.
    #[error(
        "the state needs {needs} bytes, a slot of {path} holds {capacity}: use fewer GPUs per node"
    )]
    TooLarge {
        /// Where.
        path: PathBuf,
        /// Needed.
        needs: usize,
        /// There is.
        capacity: usize,
    },
    /// Another process does not let go.
    #[error(
        "another process has held the lock of {path} for {seconds} s: find it (fuser -v {path}), it may be stopped"
    )]
    Busy {
        /// Where.
        path: PathBuf,
        /// Waited.
        seconds: u64,
    },
    /// What was to be held is not there.
    #[error("{scope} is not there: nothing to hold open")]
    NothingToHold {
        /// What.
        scope: Scope,
    },
    /// The system said no.
    #[error("could not {doing} {path}: {source}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl Error {
    /// What NVML answers.
    pub fn code(&self) -> Code {
        match self {
            Self::Missing { .. } => Code::DriverNotLoaded,
            Self::OtherVersion { .. } => Code::LibRmVersionMismatch,
            Self::ReadOnly { .. } => Code::NoPermission,
            Self::TooLarge { .. } => Code::InsufficientResources,
            Self::Busy { .. } => Code::Timeout,
            Self::NothingToHold { .. } => Code::NotFound,
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Code::NoPermission
            }
            _ => Code::Unknown,
        }
    }
}

/// Why an update did not happen.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError<E> {
    /// The file.
    #[error(transparent)]
    Store(#[from] Error),
    /// The state machine, or whoever else decided.
    #[error("{0}")]
    Refused(E),
}

impl UpdateError<Refusal> {
    /// What NVML answers.
    pub fn code(&self) -> Code {
        match self {
            Self::Store(error) => error.code(),
            Self::Refused(refusal) => refusal.code(),
        }
    }
}
