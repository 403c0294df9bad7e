//! Whole smallest units (cents) from exact amounts: the sum is rounded once, the parts by largest remainder.
//! Not here: what the amounts are. Ties go to the lowest id, so that the same parts always give the same split.

use crate::ratio::{Arithmetic, Ratio, Rounding, Sum};

/// A part of a total.
#[derive(Clone, Copy, Debug)]
pub struct Share<'a> {
    /// Who or what it is for; of equal remainders the lowest id gets the unit.
    pub id: &'a str,
    /// Its exact amount, not below zero.
    pub amount: Ratio,
}

/// What cannot be split.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// A number that does not fit.
    #[error(transparent)]
    Arithmetic(#[from] Arithmetic),
    /// A negative part.
    #[error(
        "the part of {id} is {amount}: a split has no parts below zero; what was charged too much is a correction"
    )]
    Negative {
        /// The part.
        id: String,
        /// Its amount.
        amount: Ratio,
    },
    /// Something has to be split over nothing.
    #[error("{total} units cannot be split: no part has any weight")]
    Nobody {
        /// The total.
        total: i128,
    },
}

/// The parts in units of `10^-digits`. They add up to the exact sum, rounded once as named; each is less than a unit off.
pub fn round_together(
    parts: &[Share<'_>],
    digits: u32,
    rounding: Rounding,
) -> Result<Vec<i128>, SplitError> {
    let mut sum = Sum::default();
    for part in parts {
        if part.amount.is_negative() {
            return Err(SplitError::Negative {
                id: part.id.to_owned(),
                amount: part.amount,
            });
        }
        sum.add(part.amount, 1)?;
    }
    let total = sum.total()?.rounded(digits, rounding)?;
    let scale = Ratio::new(10_i128.checked_pow(digits).unwrap_or(0), 1)?;
    let mut units = Vec::with_capacity(parts.len());
    let mut remainders = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let exact = part.amount.times(scale)?;
        let floor = exact.numerator().div_euclid(exact.denominator());
        let rest = Ratio::new(
            exact.numerator().rem_euclid(exact.denominator()),
            exact.denominator(),
        )?;
        units.push(floor);
        remainders.push((rest, index));
    }
    remainders.sort_by(|(one, at), (other, of)| {
        other
            .cmp(one)
            .then_with(|| parts[*at].id.cmp(parts[*of].id))
            .then(at.cmp(of))
    });
    let left = total - units.iter().sum::<i128>();
    // Between no unit and one for each part, for each remainder is below 1.
    let left = usize::try_from(left).unwrap_or(0);
    for (_, index) in remainders.iter().take(left) {
        units[*index] += 1;
    }
    debug_assert_eq!(units.iter().sum::<i128>(), total);
    Ok(units)
}

/// A total, which may be below zero, over parts by their weights.
pub fn split(total: i128, weights: &[Share<'_>]) -> Result<Vec<i128>, SplitError> {
    let mut sum = Sum::default();
    for part in weights {
        sum.add(part.amount, 1)?;
    }
    let sum = sum.total()?;
    if sum.is_zero() {
        return match total {
            0 => Ok(vec![0; weights.len()]),
            _ => Err(SplitError::Nobody { total }),
        };
    }
    let whole = Ratio::new(total.abs(), 1)?;
    let amounts = weights
        .iter()
        .map(|part| {
            Ok(Share {
                id: part.id,
                amount: part.amount.over(sum)?.times(whole)?,
            })
        })
        .collect::<Result<Vec<_>, Arithmetic>>()?;
    let units = round_together(&amounts, 0, Rounding::HalfEven)?;
    Ok(units.into_iter().map(|it| it * total.signum()).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shares<'a>(ids: &'a [String], amounts: &[Ratio]) -> Vec<Share<'a>> {
        ids.iter()
            .zip(amounts)
            .map(|(id, amount)| Share {
                id,
                amount: *amount,
            })
            .collect()
    }

    #[test]
    fn of_equal_remainders_the_lowest_id_gets_the_cent() {
        let seventh = Ratio::new(1559, 7).expect("fits");
        let ids: Vec<String> = ["g", "f", "e", "d", "c", "b", "a"]
            .map(str::to_owned)
            .into();
        let units =
            round_together(&shares(&ids, &[seventh; 7]), 2, Rounding::HalfEven).expect("splits");
        assert_eq!(units, [22271, 22271, 22271, 22271, 22272, 22272, 22272]);
    }

    #[test]
    fn a_total_below_zero_is_split_like_one_above() {
        let ids = ["a", "b", "c"].map(str::to_owned);
        let parts = shares(&ids, &[Ratio::ONE; 3]);
        assert_eq!(split(100, &parts), Ok(vec![34, 33, 33]));
        assert_eq!(split(-100, &parts), Ok(vec![-34, -33, -33]));
        let nobody = shares(&ids, &[Ratio::ZERO; 3]);
        assert!(matches!(split(1, &nobody), Err(SplitError::Nobody { .. })));
        assert_eq!(split(0, &nobody), Ok(vec![0; 3]));
        let below = shares(&ids, &[Ratio::whole(-1); 3]);
        assert!(matches!(
            round_together(&below, 2, Rounding::HalfUp),
            Err(SplitError::Negative { .. })
        ));
    }

    proptest! {
        #[test]
        fn case_36_the_parts_are_the_total_in_any_order(
            parts in prop::collection::vec((0_i128..100_000, 1_i128..17), 1..30),
            up in any::<bool>(),
        ) {
            let rounding = if up { Rounding::HalfUp } else { Rounding::HalfEven };
            let amounts: Vec<Ratio> = parts.iter().map(|(above, below)| Ratio::new(*above, *below).expect("fits")).collect();
            let ids: Vec<String> = (0..amounts.len()).map(|it| format!("{it:03}")).collect();
            let units = round_together(&shares(&ids, &amounts), 2, rounding).expect("fits");
            let mut sum = Sum::default();
            for amount in &amounts {
                sum.add(*amount, 1).expect("fits");
            }
            prop_assert_eq!(units.iter().sum::<i128>(), sum.total().expect("fits").rounded(2, rounding).expect("fits"));
            for (unit, amount) in units.iter().zip(&amounts) {
                prop_assert!((unit - amount.floor(2).expect("fits")) <= 1 && *unit >= amount.floor(2).expect("fits"));
            }
            let turned: Vec<Share<'_>> = shares(&ids, &amounts).into_iter().rev().collect();
            let mut again = round_together(&turned, 2, rounding).expect("fits");
            again.reverse();
            prop_assert_eq!(again, units);
        }
    }
}
