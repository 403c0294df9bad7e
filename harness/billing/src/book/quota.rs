//! Whether a quota and a price weigh alike. Nothing in Kubernetes links the unit of a quota (devices, a counter, slices) to the
//! unit of a price: a tenant that fills its quota may be billed for more or for less of the card.

use crate::ratio::{Arithmetic, Ratio};

/// What one allocated device is charged by a quota, and what it weighs by the price book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighed {
    /// Its profile.
    pub profile: String,
    /// Units of the quota.
    pub charged: Ratio,
    /// Share of the card.
    pub share: Ratio,
}

/// Why a quota and a price do not fit each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuotaError {
    /// Two profiles with two ratios.
    #[error(
        "the quota charges {one} for each card's worth of {first} and {other} for each of {second}: no price makes one of the other, so weigh both by the same measure"
    )]
    Differs {
        /// A profile.
        first: String,
        /// Its units of quota for a whole card.
        one: Ratio,
        /// Another.
        second: String,
        /// Its.
        other: Ratio,
    },
    /// A number that does not fit, or a device that weighs nothing.
    #[error(transparent)]
    Arithmetic(#[from] Arithmetic),
}

/// The units of quota of a whole card, if they are the same over all profiles; `None` of nothing.
///
/// # Errors
/// The first profile whose ratio is another.
pub fn quota_unit(devices: &[Weighed]) -> Result<Option<Ratio>, QuotaError> {
    let mut first: Option<(&str, Ratio)> = None;
    for device in devices {
        let ratio = device.charged.over(device.share)?;
        match first {
            None => first = Some((&device.profile, ratio)),
            Some((_, one)) if one == ratio => {}
            Some((profile, one)) => {
                return Err(QuotaError::Differs {
                    first: profile.to_owned(),
                    one,
                    second: device.profile.clone(),
                    other: ratio,
                });
            }
        }
    }
    Ok(first.map(|(_, ratio)| ratio))
}

/// What a quota holds beyond the device that was allocated, in units of the quota: the device is billed, this is only shown.
///
/// # Errors
/// A number that does not fit.
pub fn over_reserved(charged: Ratio, allocated: Ratio) -> Result<Ratio, Arithmetic> {
    Ok(charged.minus(allocated)?.max(Ratio::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ratio;

    fn weighed(profile: &str, charged: &str, share: &str) -> Weighed {
        Weighed {
            profile: profile.to_owned(),
            charged: ratio(charged),
            share: ratio(share),
        }
    }

    #[test]
    fn case_5_a_quota_by_memory_and_a_price_by_compute_do_not_fit() {
        // MiB of the counter `memory` of an A100 of 80 GB, and compute slices.
        let by_memory = [
            weighed("1g.10gb", "9856", "1/7"),
            weighed("3g.40gb", "40192", "3/7"),
        ];
        let error = quota_unit(&by_memory).expect_err("differs");
        assert!(error.to_string().contains("3g.40gb"), "{error}");
        // Multiprocessors and compute slices are one measure on this card.
        let by_compute = [
            weighed("1g.10gb", "14", "1/7"),
            weighed("3g.40gb", "42", "3/7"),
            weighed("7g.80gb", "98", "1"),
        ];
        assert_eq!(quota_unit(&by_compute), Ok(Some(ratio("98"))));
        assert_eq!(quota_unit(&[]), Ok(None));
        assert!(quota_unit(&[weighed("admin", "1", "0")]).is_err());
    }

    #[test]
    fn case_6_a_quota_by_the_greatest_profile_is_over_reserved_and_the_device_is_billed() {
        // The request may be a 1g or a 3g: the quota takes 40192 MiB, a 1g of 9856 is allocated.
        assert_eq!(
            over_reserved(ratio("40192"), ratio("9856")),
            Ok(ratio("30336"))
        );
        assert_eq!(over_reserved(ratio("9856"), ratio("9856")), Ok(Ratio::ZERO));
    }
}
