//! What Kueue charges a queue for devices, by its documented rules (KEP-2941; "Set up Dynamic Resource Allocation", 0.19):
//! a device of a mapping without sources counts one; a counter counts by the largest amount among all devices that match,
//! times the count, whatever the scheduler will pick; a capacity likewise, by the amount asked for.
//! Not here: which devices match, and who is admitted. Amounts come in, a charge goes out, saturating as Kueue's does.

/// What is charged, in base units.
pub type Charge = i64;

/// Why no charge can be reckoned: the workload waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoCharge {
    /// Fewer devices match than are asked for.
    #[error("{matching} device(s) match but {wanted} requested")]
    TooFew {
        /// Devices that match.
        matching: usize,
        /// Devices that are asked for.
        wanted: u64,
    },
    /// No device that matches has an amount of this kind.
    #[error("no matching device has such an amount")]
    NoAmount,
}

/// The charge for requests that count devices.
#[must_use]
pub fn by_device(counts: impl IntoIterator<Item = u64>) -> Charge {
    let whole = |count| Charge::try_from(count).unwrap_or(Charge::MAX);
    counts
        .into_iter()
        .fold(0, |sum, count| Charge::saturating_add(sum, whole(count)))
}

/// The charge for one request of `count` devices, where each device that matches has this amount, or none.
///
/// # Errors
/// Fewer devices than asked for, or none with an amount.
pub fn by_amount(matching: &[Option<i128>], count: u64) -> Result<Charge, NoCharge> {
    if (matching.len() as u64) < count {
        return Err(NoCharge::TooFew {
            matching: matching.len(),
            wanted: count,
        });
    }
    let largest = matching.iter().flatten().max().ok_or(NoCharge::NoAmount)?;
    let times = i128::from(count.max(1));
    Ok(clamped(largest.max(&0).saturating_mul(times)))
}

/// What devices that were allocated consume of the same.
#[must_use]
pub fn consumed(amounts: impl IntoIterator<Item = i128>) -> Charge {
    clamped(amounts.into_iter().fold(0, i128::saturating_add))
}

/// How many workloads of equal charges quotas admit: as many as the scarcest allows. None where nothing is charged.
#[must_use]
pub fn admits(quotas: &[(Charge, Charge)]) -> Option<i64> {
    let of_one = |(quota, charge): &(Charge, Charge)| (*charge > 0).then(|| quota.max(&0) / charge);
    quotas.iter().filter_map(of_one).min()
}

fn clamped(amount: i128) -> Charge {
    Charge::try_from(amount).unwrap_or(if amount < 0 { 0 } else { Charge::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_match_is_charged_whatever_is_picked() {
        assert_eq!(by_amount(&[Some(5), None, Some(20)], 1), Ok(20));
        assert_eq!(by_amount(&[Some(5), Some(20)], 2), Ok(40));
        assert_eq!(by_amount(&[Some(-3)], 1), Ok(0));
        assert_eq!(by_amount(&[None], 1), Err(NoCharge::NoAmount));
        let few = by_amount(&[Some(5)], 2).expect_err("one is not two");
        assert_eq!(few.to_string(), "1 device(s) match but 2 requested");
    }

    #[test]
    fn what_fits_into_no_number_is_the_largest_one() {
        assert_eq!(by_device([u64::MAX, 1]), i64::MAX);
        assert_eq!(by_amount(&[Some(i128::MAX)], 1), Ok(i64::MAX));
        assert_eq!(consumed([i128::MAX, 1]), i64::MAX);
    }

    #[test]
    fn a_charge_is_never_below_what_any_choice_consumes() {
        // Every choice of `count` out of all devices, as the bits of a number.
        let amounts = [0_i128, 5, 5, 10, 20, 40, 7];
        let all: Vec<_> = amounts.iter().copied().map(Some).collect();
        for choice in 1_u32..1 << amounts.len() {
            let chosen = (0..amounts.len()).filter(|at| choice >> at & 1 == 1);
            let charge = by_amount(&all, u64::from(choice.count_ones())).expect("enough match");
            let takes = consumed(chosen.map(|at| amounts[at]));
            assert!(charge >= takes, "{choice:b}: {charge} < {takes}");
        }
    }

    #[test]
    fn quotas_admit_as_many_as_the_scarcest() {
        for (first, second) in (0_i64..60).flat_map(|a| (0_i64..60).map(move |b| (a, b))) {
            let quotas = [(first, 7), (second, 5)];
            let admitted = admits(&quotas).expect("something is charged");
            let fits = |n: i64| quotas.iter().all(|(quota, charge)| n * charge <= *quota);
            assert!(fits(admitted) && !fits(admitted + 1), "{quotas:?}");
        }
        assert_eq!(admits(&[(5, 0)]), None);
    }
}
