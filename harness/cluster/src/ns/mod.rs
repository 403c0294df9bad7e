//! Namespaces: leaving the old ones, and the small root file system that the new ones see.
//! Not here: who lives in them (`init`) and what the network in them looks like (`net`).
//! Called by the hidden roles before any thread exists; an error becomes one line for the supervisor.
pub(crate) mod dev;
pub(crate) mod enter;
pub(crate) mod root;

/// A step of setting up namespaces that the kernel refused.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Refused {
    pub what: String,
    pub remedy: String,
}

impl Refused {
    pub(crate) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Refused {
            what: what.into(),
            remedy: remedy.into(),
        }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.what, self.remedy)
    }
}
