//! What can go wrong on the command line; the exit code is that of the error inside.

use std::path::PathBuf;

/// An error that ends the program.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Programs could not be had.
    #[error(transparent)]
    Components(#[from] components::Error),
    /// The cluster refused.
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    /// Kubernetes is of a minor whose feature gates nobody here knows.
    #[error(transparent)]
    Version(oracle::UnknownVersion),
    /// The selection cannot be understood.
    #[error(transparent)]
    Filter(#[from] scenario::FilterError),
    /// Reports could not be written.
    #[error(transparent)]
    Report(#[from] report::SinkError),
    /// A question of money without an answer.
    #[error(transparent)]
    Figure(#[from] billing::figures::FigureError),
    /// A bill that cannot be made.
    #[error("{0}")]
    Billing(String),
    /// Cards that cannot be had.
    #[error("--gpu {asked:?}: {reason}")]
    Gpu {
        /// As given.
        asked: String,
        /// Why.
        reason: String,
    },
    /// No path was given, and the usual one is not there.
    #[error(
        "no path was given and there is no folder scenarios/ here; name a .feature file or a folder that holds some"
    )]
    NoPath,
    /// A name that cannot be a feature's.
    #[error(
        "{asked:?} cannot name a scenario: letters, digits, - and _, with / between folders, as partitioning/my-layout"
    )]
    ScenarioName {
        /// As given.
        asked: String,
    },
    /// A file that would be overwritten.
    #[error("{} is there already and stays as it is; {remedy}", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
        /// What to do.
        remedy: &'static str,
    },
    /// The file system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// Verb phrase.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A ledger.
    #[error(transparent)]
    Ledger(billing::LedgerError),
    /// A meter that cannot go on.
    #[error(transparent)]
    Meter(billing::meter::MeterError),
    /// Facts that do not add up.
    #[error(transparent)]
    Buckets(billing::Fault),
    /// A period that is none.
    #[error("--from and --until: {0}")]
    Period(String),
    /// A kubeconfig that cannot be used.
    #[error("cannot use the kubeconfig {}: {why}; name one that kubectl works with", path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A file that holds no manifests.
    #[error("cannot use the manifests of {}: {why}; name a file of Kubernetes objects in YAML or JSON", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// An API server refused or could not be reached.
    #[error("cannot {doing}: {source}; see whether kubectl can")]
    Api {
        /// Verb phrase, with the cluster.
        doing: String,
        /// The client's error.
        source: Box<kube::Error>,
    },
    /// An API server answered something else than was asked.
    #[error("{server} answers {path} with something that is not understood: {why}")]
    Answer {
        /// The cluster.
        server: String,
        /// What was asked.
        path: String,
        /// Why.
        why: String,
    },
    /// There is no such object.
    #[error("there is no {what} in namespace {namespace} of {server}; {mend}")]
    NoSuch {
        /// Kind and name.
        what: String,
        /// The namespace.
        namespace: String,
        /// The cluster.
        server: String,
        /// What to do.
        mend: String,
    },
    /// A pod without claims, or whose claims are not made yet.
    #[error("pod {pod} of namespace {namespace} {why}")]
    NoClaims {
        /// The pod.
        pod: String,
        /// The namespace.
        namespace: String,
        /// What it lacks, and what to do.
        why: String,
    },
    /// A claim that the oracle cannot read.
    #[error("{0}; mend the object, or `kubectl describe` it")]
    Unreadable(oracle::objects::Mistake),
    /// The asynchronous runtime could not be made.
    #[error("cannot start the runtime: {0}; the machine is out of threads or file descriptors")]
    Runtime(std::io::Error),
}

impl Error {
    /// The API server answered that it has no such path.
    #[must_use]
    pub fn is_not_served(&self) -> bool {
        let Self::Api { source, .. } = self else {
            return false;
        };
        matches!(&**source, kube::Error::Api(status) if status.code == 404)
    }

    /// The exit code that this error asks for.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Cluster(error) => u8::try_from(error.exit_code()).unwrap_or(2),
            Self::Components(error) => error.exit_code(),
            _ => scenario::Exit::Broken.code(),
        }
    }
}
