//! What a start says while it goes on. Not a log: one line per thing that a person waits for.
//! Emitted by `start` and `wait`; the caller prints or counts it.
use std::time::Duration;

/// Something that happened on the way, with the time since the start.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Progress {
    /// A stage is done.
    Reached {
        /// Since the start.
        at: Duration,
        /// For example `API server is ready`.
        what: String,
    },
    /// Something takes longer than two seconds; repeated while it does.
    Waiting {
        /// Since the start.
        at: Duration,
        /// What is waited for.
        what: String,
        /// The last state seen.
        last_seen: String,
    },
    /// Something of an earlier run was found and cleaned.
    Cleaned {
        /// What, and why it was there.
        what: String,
    },
}

impl std::fmt::Display for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Progress::Reached { at, what } => write!(f, "{:5.1}s  {what}", at.as_secs_f64()),
            Progress::Waiting {
                at,
                what,
                last_seen,
            } => write!(
                f,
                "{:5.1}s  waiting for {what} ({last_seen})",
                at.as_secs_f64()
            ),
            Progress::Cleaned { what } => write!(f, "cleaned {what}"),
        }
    }
}

/// Takes progress. Called from async code: it must not block.
pub trait Listener: Send + Sync {
    /// One step.
    fn on(&self, progress: Progress);
}

impl<F: Fn(Progress) + Send + Sync> Listener for F {
    fn on(&self, progress: Progress) {
        self(progress);
    }
}

/// Nobody listens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Listener for Silent {
    fn on(&self, _: Progress) {}
}
