//! The price book's file as it is written: what serde reads and what the schema is made from.
#![allow(missing_docs)] // the texts below are the schema's descriptions
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A price book of sliceproof.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "price book", rename = "PriceBook")]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// Format of this file: 1.
    pub(super) format: u32,
    /// Its name, which stands on each invoice.
    pub(super) name: String,
    /// Who issues the invoices.
    pub(super) issuer: String,
    /// Currency of the invoices, by ISO 4217.
    pub(super) currency: String,
    /// How many hours a price per month pays for.
    pub(super) month: Month,
    /// By what a partition weighs.
    pub(super) weights: By,
    /// With `weights: explicit`: the weight of each profile, as 1/7; a whole card is 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) profiles: BTreeMap<String, Amount>,
    /// How each line of an invoice is rounded; nothing else is.
    pub(super) rounding: Rounds,
    /// A claim that has a device and that no pod has reserved.
    #[serde(default)]
    pub(super) unreserved: Unreserved,
    /// Who pays if a claim was given a bigger partition than the smallest that would have fitted.
    #[serde(default)]
    pub(super) misallocation: Misallocated,
    /// What becomes of the cost of idle shares.
    #[serde(default)]
    pub(super) idle: IdleCost,
    /// What cards cost, and what they are sold for.
    pub(super) rates: Vec<Rate>,
    /// Exchange rates, each from its day on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) fx: Vec<Fx>,
    /// What tenants pay less.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) discounts: Vec<Discount>,
    /// Prices that were seen and are not used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) quotes: Vec<Quote>,
}

/// A number: 1559, 0.50 or "1/7". It is read as it is written, never as a floating point number.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Amount {
    Whole(i64),
    #[schemars(with = "NumberOrText")]
    Written(String),
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)] // for the schema
enum NumberOrText {
    Number(f64),
    Text(String),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) enum Month {
    #[serde(rename = "730h")]
    Hours730,
    #[serde(rename = "720h")]
    Hours720,
    #[serde(rename = "calendar")]
    Calendar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum By {
    Compute,
    Memory,
    Max,
    Explicit,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Rounds {
    HalfEven,
    HalfUp,
}

/// A claim that has a device and that no pod has reserved blocks it; whether it pays is said here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unreserved {
    /// It pays from allocation to deallocation.
    #[default]
    Billed,
    /// It pays nothing while no pod has it.
    Excluded,
}

/// Who pays for what a claim was given beyond what it needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Misallocated {
    /// The tenant pays for what it was given.
    #[default]
    Given,
    /// The tenant pays for the smallest that would have fitted.
    Needed,
}

/// What becomes of the cost of idle shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleCost {
    /// It stays where it is.
    #[default]
    Kept,
    /// It goes to the claims of the card by what they used; a card without claims keeps it.
    Spread,
}

/// A price.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rate {
    /// The card's model: of the catalogue, or what the driver calls the product.
    pub(super) model: String,
    /// The price of a partition of this profile as it is; without it, of the whole card, of which a partition pays its weight.
    pub(super) profile: Option<String>,
    /// What the card costs its owner, or what it is sold for.
    pub(super) kind: Kind,
    /// How much; nothing if no price is known.
    pub(super) amount: Option<Amount>,
    /// For how long.
    pub(super) per: Each,
    /// Its currency, if it is not that of the invoices.
    pub(super) currency: Option<String>,
    /// From when on, as 2026-11-01; without it always.
    pub(super) from: Option<String>,
    /// Seconds that a claim pays at least.
    pub(super) minimum: Option<i64>,
    /// Seconds of a step: a started one is paid in full.
    pub(super) step: Option<i64>,
    /// The most that a claim pays in an invoice.
    pub(super) cap: Option<Amount>,
    /// Where the price is from.
    pub(super) source: String,
    /// When it was seen.
    pub(super) seen: Option<String>,
    /// How far it can be trusted.
    pub(super) confidence: Confidence,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// What the card costs its owner.
    Cost,
    /// What it is sold for.
    OnDemand,
    /// What it is sold for if it may be taken back.
    Spot,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Each {
    Hour,
    Month,
}

/// How far a price can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// Read word for word where it is offered.
    High,
    /// Quoted by somebody else.
    Medium,
    /// Without a date, or a guess.
    Low,
    /// Sources contradict each other.
    Conflicting,
    /// Given with the task; no public page shows it.
    Given,
    /// Not found.
    Unverified,
}

/// An exchange rate.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Fx {
    /// One of this
    pub(super) from: String,
    /// is so many of this:
    pub(super) to: String,
    /// its day, as 2026-05-27; it holds until the next of the same currencies.
    pub(super) day: String,
    /// How many.
    pub(super) rate: Amount,
    /// Where it is from.
    pub(super) source: String,
}

/// What a tenant pays less.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Discount {
    /// The tenant: a namespace.
    pub(super) tenant: String,
    /// Hundredths of the price.
    pub(super) percent: Amount,
    /// From when on; without it always.
    pub(super) from: Option<String>,
    /// Until when; without it for good.
    pub(super) until: Option<String>,
}

/// A price that was seen and is not used.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Quote {
    /// The card.
    pub(super) model: String,
    /// How much.
    pub(super) amount: Option<Amount>,
    /// Up to how much, if it is a range.
    pub(super) up_to: Option<Amount>,
    /// For how long.
    pub(super) per: Each,
    /// Its currency, if it is not that of the invoices.
    pub(super) currency: Option<String>,
    /// Who offers it, and what belongs to it.
    pub(super) note: Option<String>,
    /// Where it is from.
    pub(super) source: String,
    /// When it was seen.
    pub(super) seen: Option<String>,
    /// How far it can be trusted.
    pub(super) confidence: Confidence,
}
