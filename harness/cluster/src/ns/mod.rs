//! Namespaces: leaving the old ones, and the small root file system that the new ones see.
//! Not here: who lives in them (`init`) and what the network in them looks like (`net`).
//! Called by the hidden roles before any thread exists; an error becomes one line for the supervisor.
mod dev;
pub(crate) mod enter;
pub(crate) mod mounts;
pub(crate) mod root;

/// A step of setting up namespaces that the kernel refused.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Refused {
    pub what: String,
    pub remedy: String,
}

/// What to do about a refusal that no known machine gives.
pub(crate) const UNEXPECTED: &str =
    "no known machine refuses this: please report it with this text and `uname -a`";

/// How an init writes its last line when the kernel refuses something.
const MARK: &str = "sliceproof-refused: ";

impl Refused {
    pub(crate) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Refused {
            what: what.into(),
            remedy: remedy.into(),
        }
    }

    pub(crate) fn unexpected(what: impl Into<String>) -> Self {
        Refused::new(what, UNEXPECTED)
    }

    /// The line for an init's log.
    pub(crate) fn line(&self) -> String {
        format!("{MARK}{}", serde_json::json!(self))
    }

    /// The last refusal in an init's log.
    pub(crate) fn last_in(log: &str) -> Option<Self> {
        let line = log.lines().rev().find_map(|l| l.strip_prefix(MARK))?;
        serde_json::from_str(line).ok()
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.what, self.remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_found_again_in_a_log() {
        let refused = Refused::new("it", "do that");
        let log = format!("noise\n{}\nmore noise\n", refused.line());
        assert_eq!(Refused::last_in(&log), Some(refused));
        assert_eq!(Refused::last_in("noise\n"), None);
    }
}
