//! The Kubernetes minors that the oracle knows. Patch releases are told apart only where a rule changed within a minor.

use std::fmt;
use std::str::FromStr;

/// A Kubernetes minor version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// 1.34
    V1_34,
    /// 1.35
    V1_35,
    /// 1.36
    V1_36,
    /// 1.37
    V1_37,
}

impl Version {
    /// Every version, oldest first.
    pub const ALL: [Version; 4] = [
        Version::V1_34,
        Version::V1_35,
        Version::V1_36,
        Version::V1_37,
    ];

    /// The newest of them.
    pub const NEWEST: Version = Version::ALL[Version::ALL.len() - 1];

    /// As people write it: `1.37`.
    pub fn as_str(self) -> &'static str {
        match self {
            Version::V1_34 => "1.34",
            Version::V1_35 => "1.35",
            Version::V1_36 => "1.36",
            Version::V1_37 => "1.37",
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text names no version that the oracle knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Kubernetes {0:?} is not known; known are 1.34, 1.35, 1.36 and 1.37")]
pub struct UnknownVersion(pub String);

impl FromStr for Version {
    type Err = UnknownVersion;

    /// Reads `1.37`, `v1.37` and `1.37.2` (as an API server reports it, build suffixes included).
    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        let mut parts = text.trim_start_matches('v').split('.');
        let minor = match (parts.next(), parts.next()) {
            (Some(major), Some(minor)) => format!("{major}.{}", minor.trim_end_matches('+')),
            _ => text.to_owned(),
        };
        Version::ALL
            .into_iter()
            .find(|version| version.as_str() == minor)
            .ok_or_else(|| UnknownVersion(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_people_and_servers_write_them() {
        assert_eq!("1.37".parse(), Ok(Version::V1_37));
        assert_eq!("v1.34.4".parse(), Ok(Version::V1_34));
        assert_eq!("1.36+".parse(), Ok(Version::V1_36));
        assert!("1.33".parse::<Version>().is_err());
        assert!("2".parse::<Version>().is_err());
    }
}
