//! Exact fractions. Nothing is rounded here unless [`Ratio::rounded`] is asked to, and what does not fit is an error, never a wrap.
//! Not here: currencies, how a total is split into whole cents (`split`).

use std::fmt;
use std::str::FromStr;

use num_rational::Ratio as Fraction;
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub, Signed, Zero};
use serde::{Deserialize, Serialize};

/// An exact fraction in lowest terms; its denominator is above zero. Written `1/7`, `365`; read also from `0.50`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Ratio(Fraction<i128>);

/// How an exact amount becomes a number of smallest units; always named, on the price book and on the invoice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// To the nearest; a half to the even neighbour.
    #[default]
    HalfEven,
    /// To the nearest; a half away from zero.
    HalfUp,
}

/// What cannot be computed exactly.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Arithmetic {
    /// A number of more than 127 bits; nothing is cut off to make it fit.
    #[error(
        "{what} does not fit into 127 bits: shorten the period or the digits of the prices, or bring weights to one denominator"
    )]
    Overflow {
        /// The computation.
        what: String,
    },
    /// A denominator of zero.
    #[error("{what} divides by zero")]
    ByZero {
        /// The computation.
        what: String,
    },
    /// Not a number.
    #[error("{text:?} is no number: write 3, 0.50 or 1/7")]
    NoNumber {
        /// What was written.
        text: String,
    },
}

impl Default for Ratio {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Ratio {
    /// Nothing.
    pub const ZERO: Ratio = Ratio(Fraction::new_raw(0, 1));
    /// The whole.
    pub const ONE: Ratio = Ratio(Fraction::new_raw(1, 1));

    /// `numerator/denominator` in lowest terms.
    pub fn new(numerator: i128, denominator: i128) -> Result<Self, Arithmetic> {
        let what = || format!("{numerator}/{denominator}");
        if denominator == 0 {
            return Err(Arithmetic::ByZero { what: what() });
        }
        // The least number has no positive counterpart, which lowest terms may need.
        if numerator == i128::MIN || denominator == i128::MIN {
            return Err(Arithmetic::Overflow { what: what() });
        }
        Ok(Self(Fraction::new(numerator, denominator)))
    }

    /// A whole number.
    #[must_use]
    pub const fn whole(number: i64) -> Self {
        Self(Fraction::new_raw(number as i128, 1))
    }

    /// Above the line.
    #[must_use]
    pub const fn numerator(&self) -> i128 {
        *self.0.numer()
    }

    /// Below the line, above zero.
    #[must_use]
    pub const fn denominator(&self) -> i128 {
        *self.0.denom()
    }

    /// Whether it is nothing.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// Whether it is below zero.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.0.is_negative()
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Result<Self, Arithmetic> {
        self.with(other, "+", CheckedAdd::checked_add)
    }

    /// The difference.
    pub fn minus(self, other: Self) -> Result<Self, Arithmetic> {
        self.with(other, "-", CheckedSub::checked_sub)
    }

    /// The product.
    pub fn times(self, other: Self) -> Result<Self, Arithmetic> {
        self.with(other, "x", CheckedMul::checked_mul)
    }

    /// The quotient.
    pub fn over(self, other: Self) -> Result<Self, Arithmetic> {
        if other.is_zero() {
            return Err(Arithmetic::ByZero {
                what: format!("{self} / 0"),
            });
        }
        self.with(other, "/", CheckedDiv::checked_div)
    }

    /// The same below zero.
    #[must_use]
    pub fn negated(self) -> Self {
        Self(-self.0)
    }

    fn with(
        self,
        other: Self,
        sign: &str,
        compute: fn(&Fraction<i128>, &Fraction<i128>) -> Option<Fraction<i128>>,
    ) -> Result<Self, Arithmetic> {
        compute(&self.0, &other.0)
            .map(Self)
            .filter(|it| it.numerator() != i128::MIN)
            .ok_or_else(|| Arithmetic::Overflow {
                what: format!("{self} {sign} {other}"),
            })
    }

    /// The number of units of `10^-digits`, rounded as named.
    pub fn rounded(&self, digits: u32, rounding: Rounding) -> Result<i128, Arithmetic> {
        let too_much = || Arithmetic::Overflow {
            what: format!("{self} with {digits} digits"),
        };
        let scale = 10_i128.checked_pow(digits).ok_or_else(too_much)?;
        let scaled =
            CheckedMul::checked_mul(&self.0, &Fraction::new_raw(scale, 1)).ok_or_else(too_much)?;
        let (numerator, denominator) = (*scaled.numer(), *scaled.denom());
        let below = numerator.div_euclid(denominator);
        let rest = numerator.rem_euclid(denominator);
        // rest < denominator, so the other part is above zero and nothing overflows.
        let up = match rest.cmp(&(denominator - rest)) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => match rounding {
                Rounding::HalfEven => below % 2 != 0,
                Rounding::HalfUp => below >= 0,
            },
        };
        Ok(below + i128::from(up))
    }

    /// Shares of a card times seconds, as hours of the whole card with so many digits, for people.
    pub fn hours(&self, digits: u32) -> Result<String, Arithmetic> {
        self.over(Ratio::whole(3600))?
            .decimal(digits, Rounding::HalfEven)
    }

    /// The greatest number of units of `10^-digits` that is not above it.
    pub fn floor(&self, digits: u32) -> Result<i128, Arithmetic> {
        let scale = Ratio::new(10_i128.checked_pow(digits).unwrap_or(0), 1)?;
        let scaled = self.times(scale)?;
        Ok(scaled.numerator().div_euclid(scaled.denominator()))
    }

    /// As a decimal of so many digits, rounded as named: for people; nothing computes with it.
    pub fn decimal(&self, digits: u32, rounding: Rounding) -> Result<String, Arithmetic> {
        Ok(units_as_decimal(self.rounded(digits, rounding)?, digits))
    }

    /// As a decimal without any rounding, if it has one of at most 36 digits after the point.
    #[must_use]
    pub fn exact_decimal(&self) -> Option<String> {
        let mut rest = self.denominator();
        let mut powers = [0_u32; 2];
        for (power, prime) in powers.iter_mut().zip([2, 5]) {
            while rest % prime == 0 {
                rest /= prime;
                *power += 1;
            }
        }
        let digits = powers[0].max(powers[1]);
        (rest == 1 && digits <= 36)
            .then(|| self.decimal(digits, Rounding::HalfEven).ok())
            .flatten()
    }
}

impl Rounding {
    /// `half-even` or `half-up`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::HalfEven => "half-even",
            Self::HalfUp => "half-up",
        }
    }
}

/// So many units of `10^-digits`, written with a point.
#[must_use]
pub fn units_as_decimal(units: i128, digits: u32) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let width = digits as usize + 1;
    let plain = format!("{:0>width$}", units.unsigned_abs());
    let (before, after) = plain.split_at(plain.len() - digits as usize);
    match after {
        "" => format!("{sign}{before}"),
        _ => format!("{sign}{before}.{after}"),
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Ratio> for String {
    fn from(ratio: Ratio) -> Self {
        ratio.to_string()
    }
}

impl TryFrom<String> for Ratio {
    type Error = Arithmetic;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl FromStr for Ratio {
    type Err = Arithmetic;

    /// `3`, `-0.50`, `1/7`; no sign before digits but `-`, no exponent, no separators.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let no_number = || Arithmetic::NoNumber {
            text: text.to_owned(),
        };
        let overflow = || Arithmetic::Overflow {
            what: text.to_owned(),
        };
        let digits = |part: &str| match part.bytes().all(|it| it.is_ascii_digit()) {
            true if !part.is_empty() => part.parse::<i128>().map_err(|_| overflow()),
            _ => Err(no_number()),
        };
        let (negative, plain) = match text.strip_prefix('-') {
            Some(plain) => (true, plain),
            None => (false, text),
        };
        let (numerator, denominator) = if let Some((above, below)) = plain.split_once('/') {
            (digits(above)?, digits(below)?)
        } else if let Some((before, after)) = plain.split_once('.') {
            let places = u32::try_from(after.len()).map_err(|_| overflow())?;
            let scale = 10_i128.checked_pow(places).ok_or_else(overflow)?;
            let whole = digits(before)?.checked_mul(scale).ok_or_else(overflow)?;
            let all = whole.checked_add(digits(after)?).ok_or_else(overflow)?;
            (all, scale)
        } else {
            (digits(plain)?, 1)
        };
        Self::new(if negative { -numerator } else { numerator }, denominator)
    }
}

/// A running sum that looks for a common denominator only when a new one comes: adding a million like shares costs additions.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    numerator: i128,
    denominator: i128,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            numerator: 0,
            denominator: 1,
        }
    }
}

impl Sum {
    /// Adds `ratio` so many times.
    pub fn add(&mut self, ratio: Ratio, times: i64) -> Result<(), Arithmetic> {
        let added = self.with(ratio, times).ok_or_else(|| {
            let (above, below) = (self.numerator, self.denominator);
            Arithmetic::Overflow {
                what: format!("{above}/{below} + {ratio} x {times}"),
            }
        })?;
        *self = added;
        Ok(())
    }

    fn with(self, ratio: Ratio, times: i64) -> Option<Self> {
        let (mut numerator, mut denominator) = (self.numerator, self.denominator);
        let (above, below) = (ratio.numerator(), ratio.denominator());
        if denominator % below != 0 {
            let sum = Fraction::new(numerator, denominator);
            denominator = common_multiple(*sum.denom(), below)?;
            numerator = i128::checked_mul(*sum.numer(), denominator / *sum.denom())?;
        }
        let more = above
            .checked_mul(denominator / below)?
            .checked_mul(times.into())?;
        numerator = numerator.checked_add(more)?;
        Some(Self {
            numerator,
            denominator,
        })
    }

    /// The sum in lowest terms.
    pub fn total(&self) -> Result<Ratio, Arithmetic> {
        Ratio::new(self.numerator, self.denominator)
    }
}

fn common_multiple(one: i128, other: i128) -> Option<i128> {
    // The denominator of a reduced one/other is other/gcd.
    let reduced = Fraction::new(one, other);
    one.checked_mul(*reduced.denom())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ratio(text: &str) -> Ratio {
        text.parse().expect("a number")
    }

    #[test]
    fn numbers_are_read_and_written() {
        for (written, shown) in [
            ("0.50", "1/2"),
            ("1559", "1559"),
            ("-2/14", "-1/7"),
            ("0.305088", "4767/15625"),
        ] {
            assert_eq!(ratio(written).to_string(), shown);
        }
        for wrong in [
            "", ".5", "5.", "1e3", "+1", "1,000", "1/", "--1", "1/-2", "٣",
        ] {
            assert!(
                matches!(wrong.parse::<Ratio>(), Err(Arithmetic::NoNumber { .. })),
                "{wrong}"
            );
        }
        assert!(matches!(
            "1/0".parse::<Ratio>(),
            Err(Arithmetic::ByZero { .. })
        ));
        let long = "9".repeat(40);
        assert!(matches!(
            long.parse::<Ratio>(),
            Err(Arithmetic::Overflow { .. })
        ));
    }

    #[test]
    fn what_does_not_fit_is_an_error_never_a_wrap() {
        let most = Ratio::new(i128::MAX, 1).expect("fits");
        assert!(most.plus(Ratio::ONE).is_err());
        assert!(most.negated().minus(Ratio::ONE).is_err());
        assert!(most.times(most).is_err());
        assert!(
            Ratio::new(1, i128::MAX)
                .and_then(|it| it.times(ratio("1/2")))
                .is_err()
        );
        assert!(Ratio::new(i128::MIN, -1).is_err());
        assert!(most.rounded(2, Rounding::HalfUp).is_err());
        let mut sum = Sum::default();
        assert!(sum.add(most, 1).is_ok());
        assert!(sum.add(Ratio::ONE, 1).is_err());
    }

    #[test]
    fn both_roundings_and_only_the_half_differs() {
        let cents = |text: &str, rounding| ratio(text).rounded(2, rounding).expect("fits");
        for (written, even, up) in [
            ("0.125", 12, 13),
            ("0.135", 14, 14),
            ("-0.125", -12, -13),
            ("-0.135", -14, -14),
            ("0.1249", 12, 12),
            ("2/3", 67, 67),
            ("-2/3", -67, -67),
        ] {
            assert_eq!(cents(written, Rounding::HalfEven), even, "{written}");
            assert_eq!(cents(written, Rounding::HalfUp), up, "{written}");
        }
    }

    #[test]
    fn a_decimal_without_rounding_or_none() {
        assert_eq!(ratio("1/8").exact_decimal().as_deref(), Some("0.125"));
        assert_eq!(ratio("-365").exact_decimal().as_deref(), Some("-365"));
        assert_eq!(ratio("1/7").exact_decimal(), None);
        assert_eq!(units_as_decimal(-5, 2), "-0.05");
    }

    proptest! {
        #[test]
        fn a_running_sum_is_the_sum(parts in prop::collection::vec((-1000_i128..1000, 1_i128..60, 0_i64..4000), 0..40)) {
            let mut sum = Sum::default();
            let mut slow = Ratio::ZERO;
            for (above, below, times) in parts {
                let part = Ratio::new(above, below).expect("fits");
                sum.add(part, times).expect("fits");
                slow = slow.plus(part.times(Ratio::whole(times)).expect("fits")).expect("fits");
            }
            prop_assert_eq!(sum.total().expect("fits"), slow);
        }

        #[test]
        fn what_is_written_is_read_back(above in any::<i64>(), below in 1_i64..i64::MAX) {
            let one = Ratio::new(above.into(), below.into()).expect("fits");
            prop_assert_eq!(one.to_string().parse::<Ratio>().expect("a number"), one);
        }
    }
}
