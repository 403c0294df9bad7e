//! What one claim and one pod are charged.

use std::collections::BTreeMap;

use super::amount::Amount;
use super::classes::Classes;
use super::deviation::{Deviation, Rules};
use super::key;
use super::objects::{Claim, Pod};
use super::used::Held;

/// Amounts by the keys that a quota may have.
#[derive(Clone, Debug, Default)]
pub struct Charge {
    /// What is charged.
    pub amounts: BTreeMap<String, Amount>,
    /// Where chance decides: the least that may be charged instead.
    pub least: BTreeMap<String, Amount>,
}

impl Charge {
    /// What is charged to a key.
    pub fn of(&self, key: &str) -> Amount {
        self.amounts.get(key).copied().unwrap_or_default()
    }

    /// The least that may be charged to it.
    pub(crate) fn least_of(&self, key: &str) -> Amount {
        self.least.get(key).copied().unwrap_or_else(|| self.of(key))
    }

    fn put(&mut self, key: String, least: Amount, most: Amount) {
        if most.is_zero() {
            return;
        }
        if least.value != most.value {
            self.least.insert(key.clone(), least);
        }
        self.amounts.insert(key, most);
    }
}

/// What a claim is charged that is there already. `held` has it too, and what else is in its namespace.
pub fn of_claim(claim: &Claim, held: &Held, classes: &Classes, rules: &Rules) -> Charge {
    charge(claim, held, classes, rules, claim.created)
}

/// What a claim is charged while it is created: of several that were made for one pod it is the last.
pub fn of_claim_at_its_creation(
    claim: &Claim,
    held: &Held,
    classes: &Classes,
    rules: &Rules,
) -> Charge {
    charge(claim, held, classes, rules, None)
}

fn charge(
    claim: &Claim,
    held: &Held,
    classes: &Classes,
    rules: &Rules,
    created: Option<i64>,
) -> Charge {
    let mut charge = Charge::default();
    let one = Amount::whole(1);
    charge.put(key::claims().to_owned(), one, one);
    let devices = devices(claim);
    for (class, number) in &devices {
        charge.put(key::devices(class), *number, *number);
    }
    if !rules.extended {
        return charge;
    }
    let payer = payer(claim, held, rules, created);
    let paid = |resource: &str| {
        let requested = payer.and_then(|pod| pod.requests.get(resource));
        requested.copied().unwrap_or_default()
    };
    let mut of_resource: BTreeMap<&str, Vec<Amount>> = BTreeMap::new();
    for (class, number) in &devices {
        let implicit = key::implicit(class);
        let left = number.less(paid(implicit.trim_start_matches("requests.")));
        charge.put(implicit, left, left);
        if let Some(resource) = classes.resource_of(class) {
            of_resource.entry(resource).or_default().push(*number);
        }
    }
    for (resource, numbers) in of_resource {
        let sorted = |pick: fn(Amount, Amount) -> bool| {
            let mut numbers = numbers.iter().copied();
            let first = numbers.next().unwrap_or_default();
            numbers.fold(
                first,
                |so_far, it| if pick(it, so_far) { it } else { so_far },
            )
        };
        let (least, most) = if rules.has(Deviation::ClassesOfOneResourceAreNotSummed) {
            (
                sorted(|it, so_far| it.value < so_far.value),
                sorted(|it, so_far| it.value > so_far.value),
            )
        } else {
            let sum = numbers
                .iter()
                .fold(Amount::default(), |sum, it| sum.plus(*it));
            (sum, sum)
        };
        let paid = paid(resource);
        charge.put(key::requests(resource), least.less(paid), most.less(paid));
    }
    charge
}

/// For each class the devices that the claim may get at most: of the alternatives of a request the largest, then the sum.
fn devices(claim: &Claim) -> BTreeMap<&str, Amount> {
    let mut sum: BTreeMap<&str, Amount> = BTreeMap::new();
    for request in &claim.requests {
        let mut largest: BTreeMap<&str, u64> = BTreeMap::new();
        for (class, number) in request {
            let so_far = largest.entry(class).or_default();
            *so_far = (*so_far).max(*number);
        }
        for (class, number) in largest {
            let so_far = sum.entry(class).or_default();
            *so_far = so_far.plus(Amount::whole(number));
        }
    }
    sum
}

/// The pod that has paid for extended resources of the claim: the claim was made for it, and is the one that it names or,
/// as long as it names none, the first that was made for it.
fn payer<'h>(
    claim: &Claim,
    held: &'h Held,
    rules: &Rules,
    created: Option<i64>,
) -> Option<&'h Pod> {
    let owner = claim.made_for.as_ref()?;
    let pod = held
        .pods
        .iter()
        .find(|pod| pod.name == owner.name && pod.uid == owner.uid)?;
    let is_its = match &pod.claim {
        Some(named) => *named == claim.name,
        None if rules.has(Deviation::EveryOwnedClaimIsPaidByThePod) => true,
        None => {
            let mine = (created.unwrap_or(i64::MAX), claim.name.as_str());
            let others = held.claims.iter().filter(|it| it.name != claim.name);
            let mut others =
                others.filter(|it| it.made_for.as_ref().is_some_and(|it| it.uid == owner.uid));
            !others.any(|it| (it.created.unwrap_or(i64::MAX), it.name.as_str()) < mine)
        }
    };
    (is_its && !pod.ended).then_some(pod)
}

/// What a pod is charged for extended resources; nothing once it has ended.
pub fn of_pod(pod: &Pod, rules: &Rules) -> Charge {
    let mut charge = Charge::default();
    if pod.ended {
        return charge;
    }
    for (resource, amount) in &pod.requests {
        if rules.implicit_pods || !key::is_native(resource) {
            charge.put(key::requests(resource), *amount, *amount);
        }
    }
    charge
}
