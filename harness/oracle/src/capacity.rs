//! Consumable capacity (KEP-5075): what a share takes, and whether it is there.

use std::collections::BTreeMap;

use crate::names::Name;
use crate::objects::{Capacity, Policy, Range};
use crate::quantity::Quantity;

/// Amounts by capacity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amounts(pub(crate) BTreeMap<Name, Quantity>);

impl Amounts {
    pub(crate) fn add(&mut self, more: impl IntoIterator<Item = (Name, Quantity)>) {
        for (name, amount) in more {
            let sum = self.0.entry(name).or_default();
            *sum = sum.plus(amount);
        }
    }

    pub(crate) fn get(&self, name: &str) -> Quantity {
        self.0.get(name).copied().unwrap_or_default()
    }
}

/// Why a device's capacity does not serve a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// The device has no such capacity.
    Unknown {
        /// The capacity.
        capacity: Name,
    },
    /// It is smaller than asked.
    TooSmall {
        /// The capacity.
        capacity: Name,
        /// What is asked.
        asked: Quantity,
        /// What the device has.
        has: Quantity,
    },
    /// The policy has no amount for that request.
    Policy {
        /// The capacity.
        capacity: Name,
        /// What is asked.
        asked: Quantity,
    },
    /// Other shares have taken too much of it.
    Left {
        /// The capacity.
        capacity: Name,
        /// What the share would take.
        needs: Quantity,
        /// What is left.
        left: Quantity,
    },
}

impl std::fmt::Display for Lack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Lack::Unknown { capacity } => write!(f, "it has no capacity {capacity}"),
            Lack::TooSmall {
                capacity,
                asked,
                has,
            } => write!(f, "capacity {capacity} is {has}, asked is {asked}"),
            Lack::Policy { capacity, asked } => write!(
                f,
                "the request policy of capacity {capacity} has no amount for {asked}"
            ),
            Lack::Left {
                capacity,
                needs,
                left,
            } => write!(
                f,
                "capacity {capacity} has {left} left, a share takes {needs}"
            ),
        }
    }
}

/// The amount that a request takes under a policy: rounded up to a valid one, or none.
pub(crate) fn rounded(policy: &Policy, asked: Quantity) -> Option<Quantity> {
    if let Some(range) = &policy.range {
        return in_range(range, asked);
    }
    if policy.values.is_empty() {
        return Some(asked);
    }
    policy
        .values
        .iter()
        .copied()
        .filter(|value| *value >= asked)
        .min()
}

fn in_range(range: &Range, asked: Quantity) -> Option<Quantity> {
    let mut amount = asked.max(range.min);
    if let Some(step) = range.step.filter(|step| *step > Quantity::ZERO) {
        let above = amount.minus(range.min).nanos();
        let steps = above / step.nanos() + i128::from(above % step.nanos() != 0);
        amount = range
            .min
            .plus(Quantity::from_nanos(steps.saturating_mul(step.nanos())));
    }
    if range.max.is_some_and(|max| amount > max) {
        None
    } else {
        Some(amount)
    }
}

/// What a share takes of one capacity: as asked or by default, rounded by the policy.
pub(crate) fn share(capacity: &Capacity, asked: Option<Quantity>) -> Option<Quantity> {
    match (&capacity.policy, asked) {
        (None, asked) => Some(asked.unwrap_or(capacity.value)),
        (Some(policy), Some(asked)) => rounded(policy, asked),
        (Some(policy), None) => Some(policy.default.unwrap_or(capacity.value)),
    }
}

/// Whether a device has what is asked if nobody else has any of it; a request for all devices passes over those that do not.
pub(crate) fn admits(has: &BTreeMap<Name, Capacity>, asked: &BTreeMap<Name, Quantity>) -> bool {
    asked.iter().all(|(name, amount)| {
        let capacity = has.get(name);
        let takes = capacity.and_then(|capacity| share(capacity, Some(*amount)));
        takes.is_some_and(|takes| capacity.is_some_and(|capacity| takes <= capacity.value))
    })
}

/// What a share of a device takes of every capacity, if others leave enough.
pub(crate) fn shared(
    has: &BTreeMap<Name, Capacity>,
    asked: &BTreeMap<Name, Quantity>,
    taken: impl Fn(&str) -> Quantity,
) -> Result<BTreeMap<Name, Quantity>, Lack> {
    if let Some(capacity) = asked.keys().find(|name| !has.contains_key(*name)) {
        return Err(Lack::Unknown {
            capacity: capacity.clone(),
        });
    }
    let mut shares = BTreeMap::new();
    for (name, capacity) in has {
        if let Some(asked) = asked.get(name).filter(|asked| **asked > capacity.value) {
            return Err(Lack::TooSmall {
                capacity: name.clone(),
                asked: *asked,
                has: capacity.value,
            });
        }
        let wanted = asked.get(name).copied();
        let needs = share(capacity, wanted).ok_or_else(|| Lack::Policy {
            capacity: name.clone(),
            asked: wanted.unwrap_or_default(),
        })?;
        let left = capacity.value.minus(taken(name));
        if needs > left {
            return Err(Lack::Left {
                capacity: name.clone(),
                needs,
                left,
            });
        }
        shares.insert(name.clone(), needs);
    }
    Ok(shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn q(text: &str) -> Quantity {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    fn range(min: &str, max: Option<&str>, step: Option<&str>) -> Policy {
        let range = Range {
            min: q(min),
            max: max.map(q),
            step: step.map(q),
        };
        Policy {
            default: Some(q(min)),
            values: vec![],
            range: Some(range),
        }
    }

    #[test]
    fn a_range_rounds_up_to_minimum_plus_steps() {
        let policy = range("1Gi", Some("10Gi"), Some("2Gi"));
        assert_eq!(rounded(&policy, q("1")), Some(q("1Gi")));
        assert_eq!(rounded(&policy, q("2Gi")), Some(q("3Gi")));
        assert_eq!(rounded(&policy, q("3Gi")), Some(q("3Gi")));
        assert_eq!(rounded(&policy, q("9.5Gi")), None, "11Gi is above the most");
        assert_eq!(
            rounded(&range("1Gi", None, None), q("1.5Gi")),
            Some(q("1.5Gi"))
        );
    }

    #[test]
    fn values_round_up_to_the_next() {
        let policy = Policy {
            default: Some(q("2")),
            values: vec![q("2"), q("4"), q("8")],
            range: None,
        };
        assert_eq!(rounded(&policy, q("3")), Some(q("4")));
        assert_eq!(rounded(&policy, q("8")), Some(q("8")));
        assert_eq!(rounded(&policy, q("9")), None);
    }

    #[test]
    fn without_policy_an_unasked_capacity_is_taken_whole() {
        let capacity = Capacity {
            value: q("40Gi"),
            policy: None,
        };
        assert_eq!(share(&capacity, None), Some(q("40Gi")));
        assert_eq!(share(&capacity, Some(q("1Gi"))), Some(q("1Gi")));
        let capacity = Capacity {
            value: q("40Gi"),
            policy: Some(range("5Gi", None, None)),
        };
        assert_eq!(share(&capacity, None), Some(q("5Gi")));
    }

    #[test]
    fn shares_never_take_more_than_there_is() {
        let has: BTreeMap<Name, Capacity> = [(
            "memory".into(),
            Capacity {
                value: q("8Gi"),
                policy: None,
            },
        )]
        .into();
        let asked: BTreeMap<Name, Quantity> = [("memory".into(), q("5Gi"))].into();
        assert!(shared(&has, &asked, |_| q("3Gi")).is_ok());
        assert!(
            matches!(shared(&has, &asked, |_| q("4Gi")), Err(Lack::Left { left, .. }) if left == q("4Gi"))
        );
        let unknown: BTreeMap<Name, Quantity> = [("cores".into(), q("1"))].into();
        assert!(matches!(
            shared(&has, &unknown, |_| Quantity::ZERO),
            Err(Lack::Unknown { .. })
        ));
    }
}
