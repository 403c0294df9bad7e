//! Rates of traffic as people write them.
use crate::span::number;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Bytes in a second; written `0B/s`, `500MB/s`, `1.5GB/s`, or in binary multiples, `2GiB/s`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Rate(pub u64);

/// What is no rate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is no rate: write a number and a unit of B/s, KB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s, as 500MB/s or 1.5GB/s"
)]
pub struct BadRate {
    /// As written.
    pub given: String,
}

const UNITS: [(&str, u64); 7] = [
    ("B/s", 1),
    ("KB/s", 1_000),
    ("KiB/s", 1 << 10),
    ("MB/s", 1_000_000),
    ("MiB/s", 1 << 20),
    ("GB/s", 1_000_000_000),
    ("GiB/s", 1 << 30),
];

impl FromStr for Rate {
    type Err = BadRate;

    fn from_str(text: &str) -> Result<Self, BadRate> {
        number(text, &UNITS).map(Self).ok_or_else(|| BadRate {
            given: text.to_owned(),
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(_, factor): &&(&str, u64)| self.0 > 0 && self.0.is_multiple_of(*factor);
        let (name, factor) = UNITS.iter().rev().find(fits).unwrap_or(&UNITS[0]);
        write!(f, "{}{name}", self.0 / factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        for (text, bytes) in [
            ("0B/s", 0),
            ("512B/s", 512),
            ("500MB/s", 500_000_000),
            ("1.5GB/s", 1_500_000_000),
            ("2GiB/s", 2 << 30),
            ("0.5KiB/s", 512),
        ] {
            assert_eq!(text.parse(), Ok(Rate(bytes)), "{text}");
            assert_eq!(Rate(bytes).to_string().parse(), Ok(Rate(bytes)), "{text}");
        }
        for text in [
            "",
            "5",
            "5MB",
            "MB/s",
            "-1MB/s",
            "5 MB/s",
            "5mb/s",
            "99999999999GB/s",
        ] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }
}
