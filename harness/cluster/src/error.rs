//! What can go wrong with a cluster, each with what was tried and what to do next.
//! Not for bugs: those panic, and the cluster dies with the process.
//! Comes from every module of this crate; goes to the caller, who prints it and takes `exit_code`.
use std::{io, path::PathBuf, time::Duration};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a cluster could not be started, changed or asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The cluster was asked for in a way that cannot work.
    #[error("{what}; {remedy}")]
    Spec {
        /// What is wrong with it.
        what: String,
        /// What to write instead.
        remedy: String,
    },
    /// The machine forbids or lacks something that a cluster needs.
    #[error("this machine cannot run a process cluster: {what}\n  what to do: {remedy}")]
    Environment {
        /// What was tried and how the kernel answered.
        what: String,
        /// The setting to change or the other way to go.
        remedy: String,
    },
    /// A file or folder could not be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// Verb phrase, for example `write`.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A real component ended although it should run.
    #[error("{component} ended {when} with {status}; its last lines ({}):\n{tail}", log.display())]
    ComponentEnded {
        /// Name in `components.lock`, with the node's name where it belongs to one.
        component: String,
        /// `while starting` or `while the cluster ran`.
        when: &'static str,
        /// Exit status or signal in words.
        status: String,
        /// Its log file. It is gone when the run folder is.
        log: PathBuf,
        /// The last lines of its log.
        tail: String,
    },
    /// Something did not happen in time.
    #[error("waited {}s for {waiting_for}, and it did not happen; last seen: {last_seen}{hint}", limit.as_secs())]
    TimedOut {
        /// What was waited for.
        waiting_for: String,
        /// The limit.
        limit: Duration,
        /// The last state seen.
        last_seen: String,
        /// Where to look next, or empty.
        hint: String,
    },
    /// The API server refused or could not be reached.
    #[error("cannot {doing}: {source}")]
    Kube {
        /// Verb phrase.
        doing: String,
        /// The client's error.
        source: Box<kube::Error>,
    },
    /// A node's or the cluster's init did not answer or refused.
    #[error("cannot {doing}: {message}")]
    Init {
        /// Verb phrase.
        doing: String,
        /// The answer.
        message: String,
    },
    /// A detached cluster could not be started; its supervisor says why.
    #[error("{text}")]
    Supervisor {
        /// What it said.
        text: String,
        /// The exit code it asks for.
        code: i32,
    },
    /// Another process owns a cluster of this name or folder.
    #[error(
        "cluster {name} is already running (supervisor pid {pid}); use it, end it with `sliceproof down {name}`, or choose another name"
    )]
    Busy {
        /// The cluster's name.
        name: String,
        /// The process that owns it.
        pid: String,
    },
    /// No cluster of this name is up.
    #[error("no cluster named {name} is running; start one with `sliceproof up{}`", if name == "default" { String::new() } else { format!(" --name {name}") })]
    NotRunning {
        /// The name that was asked for.
        name: String,
    },
    /// There is no such node.
    #[error("there is no node {asked}; this cluster has {}", known.join(", "))]
    UnknownNode {
        /// The name that was asked for.
        asked: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// The fake GPU's side refused.
    #[error("cannot {doing}: {message}")]
    Gpu {
        /// Verb phrase.
        doing: String,
        /// What the fake GPU's crate said.
        message: String,
    },
    /// A real program is missing.
    #[error("component {name} is not there; run `sliceproof components ensure`")]
    MissingComponent {
        /// Its name.
        name: String,
    },
    /// An image archive could not be made.
    #[error("cannot assemble the container images: {0}")]
    Images(String),
    /// A certificate could not be made.
    #[error("cannot issue a certificate for {subject}: {message}")]
    Pki {
        /// Whose.
        subject: String,
        /// Why.
        message: String,
    },
}

impl Error {
    /// The exit code this error asks for: 2 for usage and environment, 1 for the rest.
    pub fn exit_code(&self) -> i32 {
        match self {
            Error::Spec { .. }
            | Error::Environment { .. }
            | Error::Io { .. }
            | Error::ComponentEnded { .. }
            | Error::Busy { .. }
            | Error::NotRunning { .. }
            | Error::UnknownNode { .. }
            | Error::MissingComponent { .. }
            | Error::Images(_)
            | Error::Pki { .. } => 2,
            Error::Supervisor { code, .. } => *code,
            _ => 1,
        }
    }

    pub(crate) fn io(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io {
            doing,
            path,
            source,
        }
    }

    pub(crate) fn kube(doing: impl Into<String>) -> impl FnOnce(kube::Error) -> Error {
        let doing = doing.into();
        move |source| Error::Kube {
            doing,
            source: Box::new(source),
        }
    }
}
