//! Limits that the API server refuses, or takes although nobody can have meant them.

use std::fmt;

use super::deviation::{Deviation, Rules};
use super::key;
use crate::quantity::Quantity;

/// What is wrong with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Less than nothing: refused.
    Negative,
    /// No whole number, where one is needed: refused.
    NotWhole,
    /// No whole number, of something that has whole units only: taken, and what is behind the point counts for nothing.
    Fraction,
    /// More than can ever be asked for: taken.
    Endless,
}

impl Unfit {
    /// Whether the API server refuses it.
    pub fn is_refused(self) -> bool {
        matches!(self, Unfit::Negative | Unfit::NotWhole)
    }
}

impl fmt::Display for Unfit {
    /// The API server's words for what it refuses, ours for the rest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unfit::Negative => "must be greater than or equal to 0",
            Unfit::NotWhole => "must be an integer",
            Unfit::Fraction => "devices are whole: what is behind the point counts for nothing",
            Unfit::Endless => "this is no limit: nobody has so many",
        })
    }
}

/// What is wrong with the limit of a key; nothing of a text that is no quantity at all.
pub fn unfit(key: &str, text: &str, rules: &Rules) -> Vec<Unfit> {
    let Ok(value) = text.parse::<Quantity>() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    if value.sign() < 0 {
        found.push(Unfit::Negative);
    }
    let fraction = !value.is_whole();
    if fraction && must_be_whole(key) {
        found.push(Unfit::NotWhole);
    } else if fraction && key::Key::read(key).is_about_devices() {
        found.push(Unfit::Fraction);
    }
    if !fraction && must_be_whole(key) && overflows(text, rules) {
        found.push(Unfit::NotWhole);
    }
    if value >= Quantity::whole(i64::MAX) {
        found.push(Unfit::Endless);
    }
    found
}

/// Limits on extended resources, behind `requests.`, are not held to be whole, and those on what is Kubernetes' own neither.
fn must_be_whole(key: &str) -> bool {
    !key::is_native(key) && !key.starts_with("requests.")
}

/// A whole number is multiplied by 1000 in 64 bits, to see whether it is whole.
fn overflows(text: &str, rules: &Rules) -> bool {
    let digits = text.strip_prefix('+').unwrap_or(text);
    let plain = digits.bytes().all(|it| it.is_ascii_digit());
    let number = digits.parse::<i128>().ok().filter(|_| plain);
    // Of what does not fit into 64 bits the lowest are taken.
    let wrapped = number.map_or(0, |number| (number as i64).wrapping_mul(1000));
    rules.has(Deviation::LargeIntegersAreRefused) && wrapped % 1000 != 0
}
