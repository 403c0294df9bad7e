//! Kubernetes quantities as exact numbers.
//! Not a formatter of the original text: the canonical form of a value may differ from what was written.
//! Texts come from slices, claims and CEL; values go to counters, capacities and comparisons.

use std::fmt;
use std::str::FromStr;

const NANO: i128 = 1_000_000_000;
/// No quantity that is written with a binary suffix is larger; larger ones are capped.
const BINARY_MAX: i128 = (i64::MAX as i128) * NANO;
/// What cannot be counted any more is taken as this whole number.
const MOST: i128 = i128::MAX / NANO * NANO;

/// An amount, held in billionths, which is the finest that the API keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Quantity(i128);

/// The text is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a quantity: {why}; write a number with an optional suffix, as 40Gi, 500m or 1e3"
)]
pub struct NotAQuantity {
    /// What was written.
    pub text: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Quantity = Quantity(0);

    /// A whole number.
    pub const fn whole(value: i64) -> Self {
        Quantity(value as i128 * NANO)
    }

    /// The amount in billionths.
    pub const fn nanos(self) -> i128 {
        self.0
    }

    /// A whole number, however large: what a sum may be that is not stored.
    pub(crate) const fn beyond(value: i128) -> Self {
        Quantity(value.saturating_mul(NANO))
    }

    /// From billionths.
    pub const fn from_nanos(nanos: i128) -> Self {
        Quantity(nanos)
    }

    /// At most what a binary suffix can say.
    #[must_use]
    pub fn capped(self) -> Self {
        Quantity(self.0.min(BINARY_MAX))
    }

    /// Whether it is a whole number, however large.
    pub const fn is_whole(self) -> bool {
        self.0 % NANO == 0
    }

    /// The whole number, if it is one that fits.
    pub fn as_whole(self) -> Option<i64> {
        if self.0 % NANO == 0 {
            i64::try_from(self.0 / NANO).ok()
        } else {
            None
        }
    }

    /// The whole number that is next above, or below for negative amounts.
    pub fn rounded_up(self) -> i128 {
        self.0 / NANO + self.0.signum() * i128::from(self.0 % NANO != 0)
    }

    /// As a floating number, not exact.
    pub fn approximate(self) -> f64 {
        self.0 as f64 / NANO as f64
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Quantity) -> Self {
        Quantity(self.0.saturating_add(other.0))
    }

    /// The difference; it may be negative.
    #[must_use]
    pub fn minus(self, other: Quantity) -> Self {
        Quantity(self.0.saturating_sub(other.0))
    }

    /// -1, 0 or 1.
    pub fn sign(self) -> i64 {
        self.0.signum() as i64
    }
}

/// Numerator and denominator that a suffix stands for.
fn scale(suffix: &str) -> Option<(i128, i128)> {
    let binary = |power: u32| Some((1i128 << (10 * power), 1));
    let decimal = |power: i32| {
        let ten = 10i128.checked_pow(power.unsigned_abs())?;
        Some(if power >= 0 { (ten, 1) } else { (1, ten) })
    };
    match suffix {
        "" => Some((1, 1)),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        exponent => {
            let digits = exponent.strip_prefix(['e', 'E'])?;
            let (sign, number) = match digits.strip_prefix('-') {
                Some(number) => (-1, number),
                None => (1, digits.strip_prefix('+').unwrap_or(digits)),
            };
            if number.is_empty() || !number.bytes().all(|digit| digit.is_ascii_digit()) {
                return None;
            }
            decimal(sign * number.parse().map_or(38, |power: i32| power.min(38)))
        }
    }
}

impl FromStr for Quantity {
    type Err = NotAQuantity;

    /// As the API server: a number without digits is 0, also where only a sign or suffix is left of it.
    fn from_str(text: &str) -> Result<Self, NotAQuantity> {
        let bad = |why| NotAQuantity {
            text: text.to_owned(),
            why,
        };
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            Some(_) => (false, text),
            None => return Err(bad("it is empty")),
        };
        let end = unsigned
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') {
            return Err(bad("it has two decimal points"));
        }
        let (up, down) = scale(suffix).ok_or_else(|| bad("its suffix is not known"))?;
        let magnitude = simple(whole, fraction, up, down)
            .unwrap_or_else(|| magnitude(whole, fraction, up, down));
        let value = Quantity(if negative { -magnitude } else { magnitude });
        let binary = suffix.ends_with('i');
        Ok(if binary { value.capped() } else { value })
    }
}

/// A whole number of a suffix that multiplies, as nearly all are: nothing to divide, nothing to round.
fn simple(whole: &str, fraction: &str, up: i128, down: i128) -> Option<i128> {
    if !fraction.is_empty() || down != 1 || whole.len() > 18 {
        return None;
    }
    let number: i64 = whole.parse().ok()?;
    i128::from(number).checked_mul(up)?.checked_mul(NANO)
}

/// digits x up / down in billionths, rounded up; `MOST` where that cannot be counted.
fn magnitude(whole: &str, fraction: &str, up: i128, down: i128) -> i128 {
    let mut digits: i128 = 0;
    let mut places: u32 = 0;
    let mut lost = false;
    for (index, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
        let in_fraction = index >= whole.len();
        if in_fraction && places >= 18 {
            // Beyond what any suffix can bring back above a billionth, only "more than nothing" counts.
            lost |= digit != b'0';
            continue;
        }
        digits = match digits
            .checked_mul(10)
            .and_then(|d| d.checked_add(i128::from(digit - b'0')))
        {
            Some(digits) => digits,
            None => return MOST,
        };
        places += u32::from(in_fraction);
    }
    let mut below: i128 = 10i128.pow(places);
    // Divide out what is common first, so that exact values do not overflow.
    let mut above = digits;
    let mut factor = up;
    let mut nano = NANO;
    for number in [&mut factor, &mut above, &mut nano] {
        let common = gcd(*number, below);
        *number /= common;
        below /= common;
    }
    let mut down = down;
    let common = gcd(nano, down);
    nano /= common;
    down /= common;
    let Some(top) = above.checked_mul(factor).and_then(|t| t.checked_mul(nano)) else {
        return if above == 0 { 0 } else { MOST };
    };
    let Some(bottom) = below.checked_mul(down) else {
        return i128::from(top > 0);
    };
    top / bottom + i128::from(top % bottom != 0 || lost)
}

fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

impl fmt::Display for Quantity {
    /// The shortest exact form: `40Gi`, `7`, `500m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_whole() {
            for (per, suffix) in [(1_000_000, "m"), (1_000, "u"), (1, "n")] {
                if self.0 % per == 0 {
                    return write!(f, "{}{suffix}", self.0 / per);
                }
            }
            return write!(f, "{}n", self.0);
        }
        let whole = self.0 / NANO;
        for (power, suffix) in [
            (60, "Ei"),
            (50, "Pi"),
            (40, "Ti"),
            (30, "Gi"),
            (20, "Mi"),
            (10, "Ki"),
        ] {
            if whole != 0 && whole % (1 << power) == 0 {
                return write!(f, "{}{suffix}", whole >> power);
            }
        }
        write!(f, "{whole}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_gives_what_the_long_way_gives() {
        for whole in ["0", "1", "007", "40320", "9223372036", "999999999999999999"] {
            for suffix in ["", "Ki", "Mi", "Gi", "Ei", "k", "M", "E", "e3", "e30"] {
                let Some((up, 1)) = scale(suffix) else {
                    panic!("{suffix}")
                };
                let long = magnitude(whole, "", up, 1);
                if let Some(short) = simple(whole, "", up, 1) {
                    assert_eq!(short, long, "{whole}{suffix}");
                }
            }
        }
        assert!(simple("40", "", 1 << 30, 1).is_some() && simple("", "", 1, 1).is_none());
    }

    fn q(text: &str) -> Quantity {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn suffixes_and_exponents() {
        assert_eq!(q("40Gi"), Quantity::whole(40 << 30));
        assert_eq!(q("1.5Ki"), Quantity::whole(1536));
        assert_eq!(q("500m").nanos(), NANO / 2);
        assert_eq!(q("1e3"), q("1k"));
        assert_eq!(q("1E3"), q("1000"));
        assert_eq!(q("1E"), Quantity::whole(1_000_000_000_000_000_000));
        assert_eq!(q("+5"), q("5"));
        assert_eq!(q("-1"), Quantity::whole(-1));
        assert_eq!(q("12e-1").nanos(), 1_200_000_000);
        assert_eq!(q(".5"), q("0.5"));
        assert_eq!(q("5."), q("5"));
    }

    #[test]
    fn what_is_finer_than_a_billionth_rounds_up_and_what_is_too_large_is_capped() {
        assert_eq!(q("0.0000000001").nanos(), 1);
        assert_eq!(q("1.0000000001").nanos(), NANO + 1);
        assert_eq!(q("9Ei").as_whole(), Some(i64::MAX));
        let most = Quantity::whole(i64::MAX);
        for binary in ["9Ei", "9999999999999999Ei", "99999999999999999999Ki"] {
            assert_eq!(q(binary), most, "{binary}");
        }
        // Decimal ones are not.
        for decimal in ["99999999999999999999", "1e20", "100E", "1e40"] {
            assert!(q(decimal) > most && q(decimal).is_whole(), "{decimal}");
            assert_eq!(q(decimal).as_whole(), None, "{decimal}");
        }
        assert_eq!(q("1e20"), q("100E"));
        assert_eq!(
            q("99999999999999999999").to_string(),
            "99999999999999999999"
        );
        assert!(q("-16Ei") < q("-8Ei"));
        assert_eq!(q("0e30"), Quantity::ZERO);
    }

    #[test]
    fn without_digits_it_is_0() {
        for text in ["Gi", ".", "-", "m", "+Ki"] {
            assert_eq!(q(text), Quantity::ZERO, "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_says_why() {
        for bad in [
            "", "abc", "1.2.3", "5GB", "--1", "1 Gi", "1e", "1e+-3", "0x10",
        ] {
            assert!(bad.parse::<Quantity>().is_err(), "{bad:?} was accepted");
        }
        let error = "5GB".parse::<Quantity>().map_err(|error| error.to_string());
        assert!(error.is_err_and(|text| text.contains("5GB") && text.contains("suffix")));
    }

    #[test]
    fn the_shortest_exact_form() {
        for (text, shown) in [
            ("40Gi", "40Gi"),
            ("1024", "1Ki"),
            ("7", "7"),
            ("0.5", "500m"),
            ("0", "0"),
            ("-2Gi", "-2Gi"),
        ] {
            assert_eq!(q(text).to_string(), shown);
        }
    }
}
