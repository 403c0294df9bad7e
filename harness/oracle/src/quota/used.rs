//! What a quota's status must say is used, by the objects of its namespace.

use std::collections::BTreeMap;

use super::amount::Amount;
use super::charge::{of_claim, of_pod};
use super::classes::Classes;
use super::deviation::{Deviation, Rules};
use super::key::{self, Key};
use super::objects::{Claim, Limits, Pod};

/// The claims and pods of a namespace. A claim that is being deleted is there until it is gone.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// The claims.
    pub claims: Vec<Claim>,
    /// The pods.
    pub pods: Vec<Pod>,
}

/// For each key of the quota that is about devices the least and the most that is used; they differ only where chance decides.
pub fn used(
    quota: &Limits,
    held: &Held,
    classes: &Classes,
    rules: &Rules,
) -> BTreeMap<String, (Amount, Amount)> {
    let keys = || quota.wanted.keys().map(String::as_str);
    let with_claims =
        quota.has_claims_in_scope() && keys().any(|it| counts_claims(it, classes, rules));
    let mut sums: BTreeMap<String, (Amount, Amount)> = keys()
        .filter(|it| counts_claims(it, classes, rules) || counts_pods(it, rules))
        .map(|it| (it.to_owned(), Default::default()))
        .collect();
    let claims = held.claims.iter().filter(|_| with_claims);
    let pods = held.pods.iter().filter(|pod| quota.has_in_scope(pod));
    let charges = claims
        .map(|claim| of_claim(claim, held, classes, rules))
        .chain(pods.map(|pod| of_pod(pod, rules)));
    for charge in charges {
        for (key, (least, most)) in &mut sums {
            *least = least.plus(charge.least_of(key));
            *most = most.plus(charge.of(key));
        }
    }
    for (least, most) in sums.values_mut() {
        (*least, *most) = (least.stored(), most.stored());
    }
    sums
}

/// Whether the key makes a quota one about claims.
pub(crate) fn counts_claims(text: &str, classes: &Classes, rules: &Rules) -> bool {
    match Key::read(text) {
        Key::Claims | Key::Devices(_) => true,
        Key::Implicit(class) => {
            rules.extended
                && (classes.has(class) || !rules.has(Deviation::AnAbsentClassCountsInCompanyOnly))
        }
        Key::Resource(resource) => rules.extended && classes.serve(resource),
        _ => false,
    }
}

/// Whether the key counts extended resources of pods.
pub(crate) fn counts_pods(text: &str, rules: &Rules) -> bool {
    match text.strip_prefix("requests.") {
        Some(_) if matches!(Key::read(text), Key::Implicit(_)) => rules.implicit_pods,
        Some(resource) => !key::is_native(resource),
        None => false,
    }
}
