//! An amount as the API server writes it: the value, and the form that its text had.
//! Sums are exact, also beyond what a device count can be. Only binary quantities (`1Ki`) are capped, at 2^63-1, when they are read.

use std::fmt;
use std::str::FromStr;

use crate::quantity::{NotAQuantity, Quantity};

/// How a quantity is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Form {
    /// `1k`
    #[default]
    Decimal,
    /// `1Ki`
    Binary,
    /// `1e3`
    Exponent,
}

/// A quantity with its form.
#[derive(Clone, Copy, Debug, Default)]
pub struct Amount {
    /// The value.
    pub value: Quantity,
    /// How it was written.
    pub form: Form,
}

impl Amount {
    /// A number of devices, or of claims.
    pub const fn whole(number: u64) -> Self {
        Amount {
            value: Quantity::beyond(number as i128),
            form: Form::Decimal,
        }
    }

    /// The sum, in the form of the first unless that is nothing.
    #[must_use]
    pub fn plus(self, other: Amount) -> Self {
        Amount {
            value: self.value.plus(other.value),
            form: if self.value == Quantity::ZERO {
                other.form
            } else {
                self.form
            },
        }
    }

    /// What is left of it after `other`, at least nothing.
    #[must_use]
    pub fn less(self, other: Amount) -> Self {
        Amount {
            value: self.value.minus(other.value).max(Quantity::ZERO),
            form: self.form,
        }
    }

    /// As it is after it was stored: no binary quantity is more than 2^63-1.
    #[must_use]
    pub fn stored(self) -> Self {
        match self.form {
            Form::Binary => Amount {
                value: self.value.capped(),
                form: self.form,
            },
            Form::Decimal | Form::Exponent => self,
        }
    }

    /// Whether it is nothing.
    pub fn is_zero(self) -> bool {
        self.value == Quantity::ZERO
    }
}

impl FromStr for Amount {
    type Err = NotAQuantity;

    fn from_str(text: &str) -> Result<Self, NotAQuantity> {
        let value = text.parse()?;
        let suffix = text.trim_start_matches(|c: char| c.is_ascii_digit() || "+-.".contains(c));
        let form = if suffix.ends_with('i') {
            Form::Binary
        } else if suffix.len() > 1 && suffix.starts_with(['e', 'E']) {
            Form::Exponent
        } else {
            Form::Decimal
        };
        Ok(Amount { value, form })
    }
}

impl fmt::Display for Amount {
    /// The canonical text: as few digits as a suffix of the form allows, and no fraction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const KILO: i128 = 1_000_000_000 * 1024;
        let mut left = self.value.nanos();
        if left == 0 {
            return f.write_str("0");
        }
        if self.form == Form::Binary && left.abs() >= KILO {
            // What is no whole number is rounded up.
            left = self.value.rounded_up();
            let suffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
            let mut at = 0;
            while left % 1024 == 0 && at + 1 < suffixes.len() {
                left /= 1024;
                at += 1;
            }
            return write!(f, "{left}{}", suffixes[at]);
        }
        let mut power = -9;
        while left % 1000 == 0 && power < 18 {
            left /= 1000;
            power += 3;
        }
        let suffix = match (self.form, power) {
            (_, 0) => "",
            (Form::Exponent, _) => return write!(f, "{left}e{power}"),
            (_, -9) => "n",
            (_, -6) => "u",
            (_, -3) => "m",
            (_, 3) => "k",
            (_, 6) => "M",
            (_, 9) => "G",
            (_, 12) => "T",
            (_, 15) => "P",
            _ => "E",
        };
        write!(f, "{left}{suffix}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_as_the_api_server_writes_them() {
        for (text, shown) in [
            ("0", "0"),
            ("7", "7"),
            ("1000", "1k"),
            ("1500", "1500"),
            ("1k", "1k"),
            ("1.5", "1500m"),
            ("2048", "2048"),
            ("2Ki", "2Ki"),
            ("1.5Ki", "1536"),
            ("512Mi", "512Mi"),
            ("1023", "1023"),
            ("1e3", "1e3"),
            ("5e0", "5"),
            ("9223372036854775807", "9223372036854775807"),
            ("99999999999999999999", "99999999999999999999"),
            ("9Ei", "9223372036854775807"),
            ("1E", "1E"),
        ] {
            let amount: Amount = text.parse().expect("an amount");
            assert_eq!(amount.to_string(), shown, "{text}");
        }
    }

    #[test]
    fn sums_are_exact_and_only_binary_ones_are_capped_when_they_are_stored() {
        let most = Amount::whole(i64::MAX as u64);
        let twice = most.plus(most);
        assert_eq!(twice.to_string(), "18446744073709551614");
        assert_eq!(twice.stored().to_string(), twice.to_string());
        let binary: Amount = "7Ei".parse().expect("an amount");
        assert_eq!(binary.plus(binary).stored().to_string(), most.to_string());
        assert_eq!(most.less(twice).to_string(), "0");
        let ki: Amount = "2Ki".parse().expect("an amount");
        assert_eq!(Amount::default().plus(ki).form, Form::Binary);
    }
}
