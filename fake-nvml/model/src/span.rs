//! Lengths of time as people write them.
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A length of time in microseconds; written `250us`, `50ms`, `10s`, `2m`, `1h`, with a fraction if need be (`1.5s`).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Micros(pub u64);

/// What is no length of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is no length of time: write a number and a unit of us, ms, s, m, h, as 50ms or 1.5s"
)]
pub struct BadMicros {
    /// As written.
    pub given: String,
}

const UNITS: [(&str, u64); 5] = [
    ("us", 1),
    ("ms", 1_000),
    ("s", 1_000_000),
    ("m", 60_000_000),
    ("h", 3_600_000_000),
];

impl FromStr for Micros {
    type Err = BadMicros;

    fn from_str(text: &str) -> Result<Self, BadMicros> {
        number(text, &UNITS).map(Self).ok_or_else(|| BadMicros {
            given: text.to_owned(),
        })
    }
}

/// A number with a unit, `1.5s`, in the smallest unit; `None` for what is none, has no such unit or is too large.
pub(crate) fn number(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let end = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(end);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let part: u64 = fraction.parse().ok()?;
    let part = part.checked_mul(*factor)? / 10u64.pow(u32::try_from(fraction.len()).ok()?);
    whole.checked_mul(*factor)?.checked_add(part)
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = UNITS
            .iter()
            .rev()
            .find(|(_, factor)| self.0 > 0 && self.0.is_multiple_of(*factor));
        match fits {
            Some((name, factor)) => write!(f, "{}{name}", self.0 / factor),
            None => f.write_str("0s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        for (text, micros) in [
            ("0s", 0),
            ("250us", 250),
            ("50ms", 50_000),
            ("1.5s", 1_500_000),
            ("2m", 120_000_000),
            ("0.25h", 900_000_000),
            ("1.000001s", 1_000_001),
        ] {
            assert_eq!(text.parse(), Ok(Micros(micros)), "{text}");
            assert_eq!(
                Micros(micros).to_string().parse(),
                Ok(Micros(micros)),
                "{text}"
            );
        }
        for text in [
            "",
            "5",
            "s",
            "5 s",
            "-5s",
            "1.s",
            ".5s",
            "5d",
            "1e3s",
            "99999999999999999999s",
            "9999999999999999h",
        ] {
            assert!(text.parse::<Micros>().is_err(), "{text}");
        }
        assert_eq!(Micros(90_000_000).to_string(), "90s");
    }
}
