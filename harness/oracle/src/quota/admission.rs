//! Whether the API server takes an object, what it says if not, and what the quotas are at afterwards.

use std::collections::BTreeMap;
use std::fmt;

use super::amount::Amount;
use super::charge::Charge;
use super::classes::Classes;
use super::deviation::Rules;
use super::objects::{Limits, Pod};
use super::used::{counts_claims, counts_pods};

/// Why an object is not taken, in the words of the API server after `is forbidden: `.
#[derive(Clone, Debug)]
pub enum Denied {
    /// It would be too much.
    Exceeded {
        /// The quota.
        quota: String,
        /// What is asked of the keys that it is too much for.
        requested: BTreeMap<String, Amount>,
        /// What is used of them.
        used: BTreeMap<String, Amount>,
        /// What there is of them.
        limited: BTreeMap<String, Amount>,
    },
    /// The controller has not counted yet.
    Unknown {
        /// The quota.
        quota: String,
        /// The keys about such objects.
        keys: Vec<String>,
    },
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |list: &BTreeMap<String, Amount>| {
            let pairs = list.iter().map(|(key, amount)| format!("{key}={amount}"));
            pairs.collect::<Vec<_>>().join(",")
        };
        match self {
            Denied::Exceeded {
                quota,
                requested,
                used,
                limited,
            } => write!(
                f,
                "exceeded quota: {quota}, requested: {}, used: {}, limited: {}",
                list(requested),
                list(used),
                list(limited)
            ),
            Denied::Unknown { quota, keys } => {
                let keys = keys.join(",");
                write!(f, "status unknown for quota: {quota}, resources: {keys}")
            }
        }
    }
}

/// What an update adds to the charge.
pub fn growth(new: &Charge, old: &Charge) -> Charge {
    let amounts = new.amounts.iter();
    let added = amounts.map(|(key, amount)| (key.clone(), amount.less(old.of(key))));
    Charge {
        amounts: added.filter(|(_, amount)| !amount.is_zero()).collect(),
        least: BTreeMap::new(),
    }
}

/// Holds a charge against the quotas of a namespace: of a claim, or of `pod`. If it is taken, the quotas as they are then; if
/// not, every quota that says no: the API server names one of them, and which is chance. Where chance decides what is charged, the
/// most is.
pub fn admit(
    quotas: &[Limits],
    charge: &Charge,
    pod: Option<&Pod>,
    classes: &Classes,
    rules: &Rules,
) -> Result<Vec<Limits>, Vec<Denied>> {
    let mut after = quotas.to_vec();
    let (mut unknown, mut exceeded) = (Vec::new(), Vec::new());
    for quota in &mut after {
        let counts = |key: &str| match pod {
            Some(_) => counts_pods(key, rules),
            None => counts_claims(key, classes, rules),
        };
        let keys: Vec<&String> = quota.hard.keys().filter(|key| counts(key)).collect();
        let in_scope = match pod {
            Some(pod) => quota.has_in_scope(pod),
            None => quota.has_claims_in_scope(),
        };
        if keys.is_empty() || !in_scope {
            continue;
        }
        if keys.iter().any(|key| !quota.used.contains_key(*key)) {
            unknown.push(Denied::Unknown {
                quota: quota.name.clone(),
                keys: keys.into_iter().cloned().collect(),
            });
            continue;
        }
        // Whatever the quota has a limit for is charged, also under keys that alone would not concern such objects.
        let of_limits = charge.amounts.iter();
        let charged: Vec<(&String, &Amount)> = of_limits
            .filter(|(key, amount)| quota.hard.contains_key(*key) && !amount.is_zero())
            .collect();
        let (mut requested, mut used, mut limited) =
            (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for (key, amount) in charged {
            let before = quota.used.get(key).copied();
            let now = before.unwrap_or_default().plus(*amount);
            let limit = quota.hard[key];
            if now.value > limit.value {
                requested.insert(key.clone(), *amount);
                used.extend(before.map(|before| (key.clone(), before)));
                limited.insert(key.clone(), limit);
            } else {
                quota.used.insert(key.clone(), now.stored());
            }
        }
        if !requested.is_empty() {
            exceeded.push(Denied::Exceeded {
                quota: quota.name.clone(),
                requested,
                used,
                limited,
            });
        }
    }
    if !unknown.is_empty() {
        return Err(unknown);
    }
    if exceeded.is_empty() {
        Ok(after)
    } else {
        Err(exceeded)
    }
}
