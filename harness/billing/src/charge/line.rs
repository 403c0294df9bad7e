//! A line of an invoice.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::entry::Card;
use crate::ratio::{Arithmetic, Ratio, units_as_decimal};
use crate::time::Span;

/// Whole smallest units of the invoice's currency, written `-222.72`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Amount {
    /// How many units.
    pub units: i128,
    /// How many digits after the point a unit has.
    pub digits: u32,
}

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineKind {
    /// A claim had it.
    Sold,
    /// Nobody had it, and it could have been sold.
    Idle,
    /// Nobody had it, and nothing fitted it.
    Stranded,
    /// Tainted or broken.
    OutOfService,
    /// The ledger does not say: time between what it says of a card.
    Unmetered,
    /// Administrative access, outside the sum.
    Administrative,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// What it is about.
    pub kind: LineKind,
    /// Of a line about what is out of service, unreserved or spread: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The tenant: a namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// UID of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_uid: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Its class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_class: Option<String>,
    /// Its request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The card.
    pub card: Card,
    /// The device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Its profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Sold as what may be taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spot: bool,
    /// From its first second to its last; between them it may have gaps.
    pub span: Span,
    /// Seconds that it was held, without the gaps. Below zero only in a correction.
    pub seconds: i64,
    /// Share of the card times seconds.
    pub share_seconds: Ratio,
    /// The price as the book has it, and in which currency.
    pub price: String,
    /// Where the price is from.
    pub source: String,
    /// The price of an hour in the invoice's currency, before the discount.
    pub hourly: Ratio,
    /// Seconds at that price: of the whole card, or of the partition if the price is a partition's.
    pub priced_seconds: Ratio,
    /// Nothing is sold: what is billed is what it cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub showback: bool,
    /// The exchange rate, with its day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchange>,
    /// What the tenant pays less, as part of the price.
    #[serde(default = "zero", skip_serializing_if = "Ratio::is_zero")]
    pub discount: Ratio,
    /// Seconds that are paid besides, by a minimum or a step.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub added_seconds: i64,
    /// The most that the claim pays was reached.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub capped: bool,
    /// Before the discount, rounded.
    pub list: Amount,
    /// What is billed, rounded.
    pub billed: Amount,
    /// The part of what the card cost, rounded; all lines of a card add up to its cost.
    pub cost: Amount,
    /// What of the cost is idle time of the card, spread over its claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Amount>,
    /// What is billed, before rounding.
    pub exactly: Ratio,
    /// The part of the cost, before rounding.
    pub cost_exactly: Ratio,
    /// What the smallest partition that would have fitted would have cost less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misallocated: Option<Ratio>,
    /// Who pays which part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consumers: Vec<Paid>,
    /// Why a bound is not from an event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub estimated: Vec<String>,
    /// Of a correction: of what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correction: Option<Correction>,
}

/// An exchange rate of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// The price's currency.
    pub from: String,
    /// How many of the invoice's one of it is.
    pub rate: Ratio,
    /// The day of the rate.
    pub on: crate::time::Seconds,
}

/// What a consumer of a shared claim pays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paid {
    /// UID of the pod.
    pub uid: String,
    /// Its name.
    pub name: String,
    /// How much.
    pub billed: Amount,
}

/// Which invoice, already issued, a line corrects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correction {
    /// The period of the invoice.
    pub period: Span,
    /// Its id.
    pub invoice: String,
}

fn zero() -> Ratio {
    Ratio::ZERO
}

// serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

impl LineKind {
    /// In words.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Sold => "sold",
            Self::Idle => "idle",
            Self::Stranded => "stranded",
            Self::OutOfService => "out of service",
            Self::Unmetered => "unmetered",
            Self::Administrative => "administrative access",
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&units_as_decimal(self.units, self.digits))
    }
}

impl From<Amount> for String {
    fn from(it: Amount) -> Self {
        it.to_string()
    }
}

impl TryFrom<String> for Amount {
    type Error = Arithmetic;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl FromStr for Amount {
    type Err = Arithmetic;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.split_once('.').map_or(0, |(_, after)| after.len());
        let digits = u32::try_from(digits).unwrap_or(u32::MAX);
        let units = text
            .parse::<Ratio>()?
            .rounded(digits, crate::ratio::Rounding::HalfEven)?;
        Ok(Self { units, digits })
    }
}
