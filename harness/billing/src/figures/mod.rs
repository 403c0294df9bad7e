//! Questions of money that need no ledger: seats of a card, break-even, a split by memory or compute, what idles.
//! Not here: bills of what was used (`invoice`). In: prices and numbers. Out: figures, each with its basis.
//! What cannot be computed is a row that says so and why, never a guess.

mod claims;
mod parts;
mod seats;
mod usage;

use std::fmt;

use serde::Serialize;

use crate::book::{Currency, NoCurrency, NoPrice, Price};
use crate::ratio::{Arithmetic, Ratio, Rounding};
use crate::split::SplitError;
use crate::time::MonthBasis;

pub use claims::claims;
pub use parts::{fit, part_of, split};
pub use seats::{break_even, fleet, month_of, seats, shared};
pub use usage::{idle, inference};

/// What all questions share.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Of all amounts.
    pub currency: Currency,
    /// Hours that a month has.
    pub month: MonthBasis,
    /// Of what is shown.
    pub rounding: Rounding,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Figure {
    /// The question.
    pub question: String,
    /// What the answer rests on.
    pub basis: Vec<String>,
    /// The answer.
    pub rows: Vec<Row>,
}

/// One number of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// What it is.
    pub label: String,
    /// What it comes to.
    #[serde(flatten)]
    pub value: Value,
}

/// A number, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", untagged)]
pub enum Value {
    /// Computed.
    Is {
        /// For people.
        value: String,
        /// Before rounding.
        #[serde(skip_serializing_if = "Option::is_none")]
        exactly: Option<Ratio>,
    },
    /// A claim that cannot be computed.
    NotComputable {
        /// What is missing.
        not_computable: String,
    },
}

/// A question that has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FigureError {
    /// A number that does not fit, or divides by nothing.
    #[error(transparent)]
    Arithmetic(#[from] Arithmetic),
    /// A split over nothing.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// A price.
    #[error(transparent)]
    Price(#[from] NoPrice),
    /// A currency.
    #[error(transparent)]
    Currency(#[from] NoCurrency),
    /// A model that the catalogue has not.
    #[error("{0}")]
    Model(String),
    /// A number outside its range.
    #[error("{what} is {is}: {must}")]
    Range {
        /// Which.
        what: &'static str,
        /// Its value.
        is: String,
        /// What it has to be.
        must: &'static str,
    },
}

impl Figure {
    fn new(question: impl Into<String>, basis: Vec<String>) -> Self {
        Self {
            question: question.into(),
            basis,
            rows: Vec::new(),
        }
    }

    fn row(&mut self, label: impl Into<String>, value: impl Into<String>, exactly: Option<Ratio>) {
        self.rows.push(Row {
            label: label.into(),
            value: Value::Is {
                value: value.into(),
                exactly,
            },
        });
    }

    fn not_computable(&mut self, label: impl Into<String>, why: impl Into<String>) {
        self.rows.push(Row {
            label: label.into(),
            value: Value::NotComputable {
                not_computable: why.into(),
            },
        });
    }

    /// What a row says, by its label.
    #[must_use]
    pub fn get(&self, label: &str) -> Option<&str> {
        let row = self.rows.iter().find(|row| row.label == label)?;
        match &row.value {
            Value::Is { value, .. } => Some(value),
            Value::NotComputable { .. } => None,
        }
    }
}

impl Terms {
    /// In smallest units of the currency, rounded once, for people.
    fn money(&self, amount: Ratio) -> Result<String, Arithmetic> {
        amount.decimal(self.currency.digits(), self.rounding)
    }

    /// The hours of a month; a month of the calendar has no hours until it is named.
    fn hours(&self) -> Result<Ratio, FigureError> {
        match self.month {
            MonthBasis::Hours730 => Ok(Ratio::whole(730)),
            MonthBasis::Hours720 => Ok(Ratio::whole(720)),
            MonthBasis::Calendar => Err(FigureError::Range {
                what: "the month basis",
                is: "calendar".to_owned(),
                must: "a question without a date needs 730h or 720h; a bill of a month takes the calendar's",
            }),
        }
    }

    /// What a price comes to in a month.
    fn monthly(&self, price: &Price) -> Result<Ratio, FigureError> {
        let hours = self.hours()?;
        Ok(price.for_hours(hours, hours)?)
    }

    /// What a price comes to in an hour.
    fn hourly(&self, price: &Price) -> Result<Ratio, FigureError> {
        Ok(price.for_hours(Ratio::ONE, self.hours()?)?)
    }

    fn basis(&self) -> Vec<String> {
        vec![
            self.month.to_string(),
            format!("{}, rounded once, {}", self.currency, self.rounding.word()),
        ]
    }
}

/// Hundredths of a whole, for people.
fn percent(ratio: Ratio) -> Result<String, Arithmetic> {
    let hundredfold = ratio.times(Ratio::whole(100))?;
    Ok(format!("{} %", hundredfold.decimal(2, Rounding::HalfEven)?))
}

/// `222.72 x 3, 222.71 x 4`: equal amounts together, greatest first.
fn counted(units: &[i128], digits: u32) -> String {
    let mut sorted = units.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let groups = sorted.chunk_by(|a, b| a == b).map(|equal| {
        let amount = crate::ratio::units_as_decimal(equal[0], digits);
        format!("{amount} x {}", equal.len())
    });
    groups.collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.question)?;
        for basis in &self.basis {
            writeln!(f, "  basis: {basis}")?;
        }
        let width = self.rows.iter().map(|row| row.label.chars().count()).max();
        let width = width.unwrap_or(0);
        for row in &self.rows {
            write!(f, "  {:width$}  ", row.label)?;
            match &row.value {
                Value::Is {
                    value,
                    exactly: Some(exactly),
                } if exactly.denominator() != 1 && exactly.to_string() != *value => {
                    writeln!(f, "{value}  (exactly {exactly})")?;
                }
                Value::Is { value, .. } => writeln!(f, "{value}")?,
                Value::NotComputable { not_computable } => {
                    writeln!(f, "claim, not computable: {not_computable}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
