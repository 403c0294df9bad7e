//! An invoice: charges with their totals, what they were made from, and what it all is as text, HTML, CSV and JSON.
//! Not here: what a line comes to (`charge`), exports for other tools (`focus`, `metrics`).
//! The same inputs give the same bytes: there is no clock and no random number in it.

mod correct;
mod csv;
mod explain;
mod html;
mod text;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::book::{Currency, PriceBook};
use crate::charge::{Amount, Charges, Line, LineKind, Lines};
use crate::entry::Card;
use crate::ratio::{Arithmetic, Ratio, Rounding};
use crate::time::{MonthBasis, Span};

pub use correct::{CorrectError, corrections};
pub(crate) use csv::finished;
pub(crate) use text::what;

/// An invoice, or a statement of all tenants together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Invoice {
    /// Format of this file: 1.
    pub format: u32,
    /// Made from period and inputs: the same inputs, the same id.
    pub id: String,
    /// Who issues it.
    pub issuer: String,
    /// Whose it is; none is that of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// What it is for.
    pub period: Span,
    /// Of all amounts.
    pub currency: Currency,
    /// How each line was rounded.
    pub rounding: Rounding,
    /// How many hours a price per month pays for.
    pub month: MonthBasis,
    /// By what partitions weigh.
    pub weights: String,
    /// How fine the lines are.
    pub by: Lines,
    /// What it was made from.
    pub inputs: Inputs,
    /// Sums of the lines.
    pub totals: Totals,
    /// What each card cost, and where it went.
    pub cards: Vec<CardSum>,
    /// Lines.
    pub lines: Vec<Line>,
}

/// What an invoice was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inputs {
    /// How many entries of the ledger.
    pub entries: u64,
    /// Their digest, whatever their order.
    pub entries_digest: String,
    /// Name of the price book.
    pub book: String,
    /// Digest of what it says.
    pub book_digest: String,
    /// The last hash of the ledger's chain, if there was a ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<String>,
}

/// Sums of lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// Before discounts.
    pub list: Amount,
    /// What is to be paid.
    pub billed: Amount,
    /// What the cards cost.
    pub cost: Amount,
    /// What they cost by where it went.
    pub by_kind: BTreeMap<LineKind, Amount>,
    /// Of what is billed: corrections of earlier periods.
    pub corrections: Amount,
}

/// What a card cost, and where it went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardSum {
    /// The card.
    pub card: Card,
    /// Share of it times seconds that are accounted for.
    pub share_seconds: Ratio,
    /// Its cost.
    pub cost: Amount,
    /// Its cost by where it went; what there is none of is there as nothing.
    pub by_kind: BTreeMap<LineKind, Amount>,
    /// What its tenants pay.
    pub billed: Amount,
}

impl Invoice {
    /// The statement of all tenants: charges, then corrections of earlier periods.
    ///
    /// # Errors
    /// A sum that does not fit.
    pub fn new(
        charges: Charges,
        corrections: Vec<Line>,
        book: &PriceBook,
        period: Span,
        by: Lines,
        ledger: Option<String>,
    ) -> Result<Self, Arithmetic> {
        let mut lines = charges.lines;
        lines.extend(corrections);
        let inputs = Inputs {
            entries: charges.entries,
            entries_digest: charges.digest,
            book: book.name.clone(),
            book_digest: book.digest.clone(),
            ledger,
        };
        let digits = book.currency.digits();
        let mut invoice = Self {
            format: 1,
            id: String::new(),
            issuer: book.issuer.clone(),
            tenant: None,
            period,
            currency: book.currency,
            rounding: book.rounding,
            month: book.month,
            weights: book.weights.word().to_owned(),
            by,
            inputs,
            totals: Totals::of(&[], digits),
            cards: Vec::new(),
            lines,
        };
        invoice.sum_up()?;
        Ok(invoice)
    }

    fn sum_up(&mut self) -> Result<(), Arithmetic> {
        let digits = self.currency.digits();
        self.totals = Totals::of(&self.lines, digits);
        self.cards = card_sums(&self.lines, digits)?;
        let day = self.period.from().to_string();
        let hash = PriceBook::digest_of(&serde_json::json!([
            self.inputs,
            self.period,
            self.by,
            self.tenant,
            self.totals,
        ]));
        self.id = format!(
            "{}-{}",
            day.get(..10).unwrap_or_default(),
            hash.get(..12).unwrap_or_default()
        );
        Ok(())
    }

    /// What one tenant is sent: its own lines and nothing of the cards' cost.
    ///
    /// # Errors
    /// A sum that does not fit.
    pub fn of_tenant(&self, tenant: &str) -> Result<Self, Arithmetic> {
        let mut invoice = self.clone();
        invoice.tenant = Some(tenant.to_owned());
        invoice
            .lines
            .retain(|line| line.tenant.as_deref() == Some(tenant));
        invoice.sum_up()?;
        invoice.cards.clear();
        Ok(invoice)
    }

    /// Reads an invoice that was written as JSON.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        let invoice: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match invoice.format {
            1 => Ok(invoice),
            other => Err(format!(
                "format {other} of invoices is not known here; this program knows 1"
            )),
        }
    }

    /// As JSON, which is read back.
    #[must_use]
    pub fn json(&self) -> String {
        // Texts, numbers, lists and maps with keys that are texts: it is always written.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// All tenants that have a line, in order.
    #[must_use]
    pub fn tenants(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self
            .lines
            .iter()
            .filter_map(|line| line.tenant.as_deref())
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl Totals {
    fn of(lines: &[Line], digits: u32) -> Self {
        let mut totals = Self {
            list: nothing(digits),
            billed: nothing(digits),
            cost: nothing(digits),
            by_kind: BTreeMap::new(),
            corrections: nothing(digits),
        };
        for line in lines {
            totals.list.units += line.list.units;
            totals.billed.units += line.billed.units;
            totals.cost.units += line.cost.units;
            totals
                .by_kind
                .entry(line.kind)
                .or_insert(nothing(digits))
                .units += line.cost.units;
            if line.correction.is_some() {
                totals.corrections.units += line.billed.units;
            }
        }
        totals
    }
}

fn nothing(digits: u32) -> Amount {
    Amount { units: 0, digits }
}

/// By card; corrections are of another period and left out.
fn card_sums(lines: &[Line], digits: u32) -> Result<Vec<CardSum>, Arithmetic> {
    let mut sums: BTreeMap<&Card, CardSum> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.correction.is_none()) {
        let sum = sums.entry(&line.card).or_insert_with(|| CardSum {
            card: line.card.clone(),
            share_seconds: Ratio::ZERO,
            cost: nothing(digits),
            by_kind: BTreeMap::new(),
            billed: nothing(digits),
        });
        sum.share_seconds = sum.share_seconds.plus(line.share_seconds)?;
        sum.cost.units += line.cost.units;
        sum.billed.units += line.billed.units;
        sum.by_kind
            .entry(line.kind)
            .or_insert(nothing(digits))
            .units += line.cost.units;
    }
    Ok(sums.into_values().collect())
}

#[cfg(test)]
mod tests;
