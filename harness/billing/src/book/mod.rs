//! The price book: what a card costs, what a share of it is sold for, and by which weights and roundings.
//! Not here: what was used (`entry`), what it comes to (`charge`).
//! In: YAML or JSON. Out: a book, or all that is wrong with it, each with line and column.

mod lint;
mod price;
mod quota;
mod shape;
#[cfg(test)]
mod tests;
mod weights;
mod written;

use sha2::{Digest, Sha256};

use crate::ratio::{Ratio, Rounding};
use crate::time::{MonthBasis, Seconds};

pub use lint::Problem;
pub use price::{Currency, NoCurrency, NoPrice, Per, Price};
pub use quota::{QuotaError, Weighed, over_reserved, quota_unit};
pub use weights::{Part, UnknownWeight, Weights};
pub use written::{Confidence, IdleCost, Kind, Misallocated, Unreserved};

/// A price book that was read and found good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceBook {
    /// Its name.
    pub name: String,
    /// Who issues the invoices.
    pub issuer: String,
    /// Currency of the invoices.
    pub currency: Currency,
    /// Hours of a month.
    pub month: MonthBasis,
    /// By what a partition weighs.
    pub weights: Weights,
    /// How a line is rounded.
    pub rounding: Rounding,
    /// Whether a claim without a pod pays.
    pub unreserved: Unreserved,
    /// Who pays for what is given beyond need.
    pub misallocation: Misallocated,
    /// What becomes of the cost of idle shares.
    pub idle: IdleCost,
    /// Prices.
    pub rates: Vec<Rate>,
    /// Exchange rates.
    pub fx: Vec<Fx>,
    /// What tenants pay less.
    pub discounts: Vec<Discount>,
    /// SHA-256 of what it says, whatever its comments and line breaks.
    pub digest: String,
}

/// A price of a card or of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The model as it is written.
    pub model: String,
    /// What the driver calls it, if the catalogue has it.
    pub product: Option<String>,
    /// The partition whose price it is; `None` is the card, of which a partition pays its weight.
    pub profile: Option<String>,
    /// Cost, on demand or spot.
    pub kind: Kind,
    /// How much; `None` if no price is known.
    pub price: Option<Price>,
    /// Of the price and the cap.
    pub currency: Currency,
    /// From when on.
    pub from: Option<Seconds>,
    /// Seconds that a claim pays at least.
    pub minimum: i64,
    /// Seconds of a step that is paid in full once begun.
    pub step: i64,
    /// The most that a claim pays in an invoice.
    pub cap: Option<Ratio>,
    /// Where it is from.
    pub source: String,
    /// How far it can be trusted.
    pub confidence: Confidence,
}

/// An exchange rate, from its day on until the next of the same currencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fx {
    /// One of this
    pub from: Currency,
    /// is so many of this.
    pub to: Currency,
    /// Its day.
    pub on: Seconds,
    /// How many.
    pub rate: Ratio,
}

/// What a tenant pays less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discount {
    /// A namespace.
    pub tenant: String,
    /// Part of the price.
    pub part: Ratio,
    /// From when on.
    pub from: Option<Seconds>,
    /// Until when.
    pub until: Option<Seconds>,
}

impl Discount {
    fn overlaps(&self, other: &Self) -> bool {
        let begins_before = |one: &Self, other: &Self| match (one.from, other.until) {
            (Some(from), Some(until)) => from < until,
            _ => true,
        };
        self.tenant == other.tenant && begins_before(self, other) && begins_before(other, self)
    }

    fn holds(&self, tenant: &str, at: Seconds) -> bool {
        self.tenant == tenant
            && self.from.is_none_or(|from| from <= at)
            && self.until.is_none_or(|until| at < until)
    }
}

impl PriceBook {
    /// The built-in book: prices of public pages, each with its source; a place to begin, not the truth.
    pub const DEFAULT: &str = include_str!("../../data/price-book.yaml");

    /// Reads a book and checks it.
    ///
    /// # Errors
    /// All problems, in the order of the text.
    pub fn read(text: &str) -> Result<Self, Vec<Problem>> {
        lint::read(text)
    }

    /// The schema of such files (JSON Schema 2020-12).
    #[must_use]
    pub fn schema() -> schemars::Schema {
        schemars::schema_for!(written::File)
    }

    pub(crate) fn digest_of(json: &serde_json::Value) -> String {
        let mut text = String::new();
        canonical(json, &mut text);
        let hash = Sha256::digest(text);
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The price of a card, or of a partition of it, at a moment: the partition's own before the card's, and of each the one
    /// that began last.
    #[must_use]
    pub fn rate(
        &self,
        model: &str,
        profile: Option<&str>,
        kind: Kind,
        at: Seconds,
    ) -> Option<&Rate> {
        let fits = |rate: &&Rate| {
            rate.kind == kind
                && (rate.model == model || rate.product.as_deref() == Some(model))
                && rate.from.is_none_or(|from| from <= at)
        };
        let of = |profile: Option<&str>| {
            let fitting = self
                .rates
                .iter()
                .filter(fits)
                .filter(|it| it.profile.as_deref() == profile);
            // The first of equals, for `product` may be that of two models.
            fitting.min_by_key(|it| std::cmp::Reverse(it.from))
        };
        profile
            .and_then(|profile| of(Some(profile)))
            .or_else(|| of(None))
    }

    /// Whether the book has any price at which cards of a model are sold; if not, tenants are shown what they cost.
    #[must_use]
    pub fn sells(&self, model: &str) -> bool {
        let of = |it: &Rate| it.model == model || it.product.as_deref() == Some(model);
        self.rates.iter().any(|it| it.kind != Kind::Cost && of(it))
    }

    /// The exchange rate at a moment; `None` if the book has none.
    #[must_use]
    pub fn exchange(&self, from: Currency, at: Seconds) -> Option<&Fx> {
        let fitting = self
            .fx
            .iter()
            .filter(|it| it.from == from && it.to == self.currency && it.on <= at);
        fitting.max_by_key(|it| it.on)
    }

    /// What a tenant pays less at a moment, as part of the price.
    #[must_use]
    pub fn discount(&self, tenant: &str, at: Seconds) -> Ratio {
        let found = self.discounts.iter().find(|it| it.holds(tenant, at));
        found.map_or(Ratio::ZERO, |it| it.part)
    }

    /// Where anything in the book changes, in order.
    #[must_use]
    pub fn changes(&self) -> Vec<Seconds> {
        let rates = self.rates.iter().filter_map(|it| it.from);
        let fx = self.fx.iter().map(|it| it.on);
        let discounts = self
            .discounts
            .iter()
            .flat_map(|it| [it.from, it.until])
            .flatten();
        let mut all: Vec<Seconds> = rates.chain(fx).chain(discounts).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// JSON without blanks, maps sorted by key: the order of keys in a file, and how a JSON library keeps maps, change no digest.
fn canonical(json: &serde_json::Value, out: &mut String) {
    use serde_json::Value;
    match json {
        Value::Array(items) => {
            out.push('[');
            for item in items {
                canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(entries) => {
            let sorted: std::collections::BTreeMap<&String, &Value> = entries.iter().collect();
            out.push('{');
            for (key, value) in sorted {
                canonical(&Value::String(key.clone()), out);
                out.push(':');
                canonical(value, out);
                out.push(',');
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}
