//! An amount of money for a stretch of time, and the currency that it is in.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::ratio::{Arithmetic, Ratio};
use crate::time::{MonthBasis, Span};

/// A currency of ISO 4217.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(into = "String")]
pub struct Currency {
    code: &'static str,
    digits: u32,
}

/// For how long an amount pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// An hour of 3600 seconds.
    Hour,
    /// A month, whose hours a [`MonthBasis`] names.
    Month,
}

/// An amount for an hour or a month, written `1559/month`, `0.50/h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// How much.
    pub amount: Ratio,
    /// For how long.
    pub per: Per,
}

/// A price that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no price: write an amount and for how long, as 1559/month or 0.50/h")]
pub struct NoPrice {
    /// What was written.
    pub text: String,
}

/// A code that ISO 4217 has not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{code:?} is no currency of ISO 4217 with a smallest unit: write three capitals, as USD or EUR"
)]
pub struct NoCurrency {
    /// What was written.
    pub code: String,
}

impl Currency {
    /// Stands where a wrong code was refused.
    pub(super) const NONE: Currency = Currency {
        code: "XXX",
        digits: 0,
    };

    /// Its three capitals.
    #[must_use]
    pub const fn code(self) -> &'static str {
        self.code
    }

    /// How many digits its smallest unit has after the point.
    #[must_use]
    pub const fn digits(self) -> u32 {
        self.digits
    }
}

impl FromStr for Currency {
    type Err = NoCurrency;

    fn from_str(code: &str) -> Result<Self, Self::Err> {
        iso_currency::Currency::from_code(code)
            .and_then(|it| {
                Some(Self {
                    code: it.code(),
                    digits: u32::from(it.exponent()?),
                })
            })
            .ok_or_else(|| NoCurrency {
                code: code.to_owned(),
            })
    }
}

// By hand, for a derived one would borrow the code.
impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let code = String::deserialize(from)?;
        code.parse().map_err(serde::de::Error::custom)
    }
}

impl From<Currency> for String {
    fn from(it: Currency) -> Self {
        it.code.to_owned()
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code)
    }
}

impl Price {
    /// What a span costs.
    pub fn of(&self, span: Span, month: MonthBasis) -> Result<Ratio, Arithmetic> {
        self.amount.times(match self.per {
            Per::Hour => Ratio::new(span.seconds().into(), 3600)?,
            Per::Month => month.months(span)?,
        })
    }

    /// What so many hours cost, of which so many are a month.
    pub fn for_hours(&self, hours: Ratio, month: Ratio) -> Result<Ratio, Arithmetic> {
        match self.per {
            Per::Hour => self.amount.times(hours),
            Per::Month => self.amount.times(hours)?.over(month),
        }
    }
}

impl FromStr for Price {
    type Err = NoPrice;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let no_price = || NoPrice {
            text: text.to_owned(),
        };
        let (amount, per) = text.rsplit_once('/').ok_or_else(no_price)?;
        let per = match per {
            "h" | "hour" => Per::Hour,
            "month" => Per::Month,
            _ => return Err(no_price()),
        };
        let amount: Ratio = amount.parse().map_err(|_| no_price())?;
        if amount.is_negative() {
            return Err(no_price());
        }
        Ok(Self { amount, per })
    }
}

impl Per {
    /// `an hour` or `a month`.
    #[must_use]
    pub const fn each(self) -> &'static str {
        match self {
            Self::Hour => "an hour",
            Self::Month => "a month",
        }
    }

    /// `hour` or `month`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Month => "month",
        }
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = self.amount.exact_decimal();
        let amount = amount.unwrap_or_else(|| self.amount.to_string());
        write!(f, "{amount}/{}", self.per.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_and_currencies_are_read_or_refused() {
        for (written, shown) in [
            ("1559/month", "1559/month"),
            ("0.50/h", "0.5/hour"),
            ("1/7/hour", "1/7/hour"),
        ] {
            assert_eq!(
                written.parse::<Price>().expect("a price").to_string(),
                shown
            );
        }
        for wrong in ["1559", "1559/year", "-1/h", "/h", "a/h"] {
            assert!(wrong.parse::<Price>().is_err(), "{wrong}");
        }
        let digits = |code: &str| code.parse::<Currency>().map(Currency::digits);
        assert_eq!(
            (digits("USD"), digits("JPY"), digits("BHD")),
            (Ok(2), Ok(0), Ok(3))
        );
        for wrong in ["usd", "DOLLAR", "XXX", ""] {
            assert!(digits(wrong).is_err(), "{wrong}");
        }
    }
}
