//! Quotas on devices: keys that count something, limits that mean it, namespaces that are at their end, and sums that do not
//! agree with what is there. What counts what is the oracle's (`oracle::quota`).

use std::collections::{BTreeMap, BTreeSet};

use oracle::counted;
use oracle::quota::{Amount, Held, Key, Limits, Pod, Rules, Unfit, unfit, used};

use crate::finding::{Check, Examined, Found, Level, few};
use crate::menu::Menu;
use crate::pods;
use crate::seen::Seen;

pub(crate) fn examine(seen: &Seen, menu: &Menu) -> Examined {
    let quotas = match &seen.quotas {
        Ok(quotas) => quotas,
        Err(why) => return Examined::left_out(Check::Quota, why),
    };
    let mut found = Found::default();
    let classes: BTreeSet<&str> = seen
        .listed
        .classes
        .iter()
        .filter_map(|class| class.metadata.name.as_deref())
        .collect();
    let waiting: BTreeSet<&str> = seen
        .pods
        .iter()
        .flatten()
        .filter(|pod| pods::waits(pod) && pods::uses_a_gpu(pod))
        .filter_map(|pod| pod.metadata.namespace.as_deref())
        .collect();
    let rules = Rules::of(&seen.gates);
    let sizes = sizes(menu);
    let mut bounded: BTreeSet<&str> = BTreeSet::new();
    let mut keys = 0;
    for quota in quotas {
        let namespace = quota.metadata.namespace.as_deref().unwrap_or_default();
        let about = format!(
            "ResourceQuota {namespace}/{}",
            quota.metadata.name.as_deref().unwrap_or_default()
        );
        for (key, hard) in quota.spec.iter().flat_map(|spec| &spec.hard).flatten() {
            let read = Key::read(key);
            match &read {
                Key::Misspelt(meant) => {
                    let right = "CLASS.deviceclass.resource.k8s.io/devices or requests.deviceclass.resource.kubernetes.io/CLASS";
                    let right = meant.as_deref().unwrap_or(right);
                    found.problem(
                        &about,
                        format!("{key} counts nothing"),
                        format!("write {right}"),
                    );
                    continue;
                }
                Key::Bare(right) => {
                    found.problem(
                        &about,
                        format!("{key} counts nothing"),
                        format!("write {right}"),
                    );
                    continue;
                }
                Key::Devices(class) | Key::Implicit(class) if !classes.contains(class) => found
                    .warning(
                        &about,
                        format!("{key} is about a DeviceClass {class} that is not there"),
                        "mend the name, or take the key out",
                    ),
                Key::Devices(class) | Key::Implicit(class) => {
                    if let Some(sizes) = sizes.get(*class) {
                        found.say(
                            Level::Note,
                            &about,
                            format!("{key} counts devices, and those of the class are of different size: {sizes}. One of the largest costs the quota no more than one of the smallest, though not whoever pays for it"),
                            "make a DeviceClass for each size, and a key for each",
                        );
                    }
                }
                Key::Other | Key::Templates => continue,
                Key::Claims | Key::Resource(_) => {}
            }
            for unfit in unfit(key, &hard.0, &rules) {
                let remedy = match unfit {
                    Unfit::Endless => "leave the key out, if there is to be no limit",
                    _ => "write a whole number of devices",
                };
                found.warning(&about, format!("{key}: {}: {unfit}", hard.0), remedy);
            }
            if !matches!(read, Key::Claims) {
                keys += 1;
                bounded.insert(namespace);
            }
            let status = quota.status.as_ref();
            let used = status.and_then(|status| status.used.as_ref()?.get(key));
            let number = |text: &str| text.parse::<Amount>().ok();
            if let Some(used) = used
                && let (Some(taken), Some(limit)) = (number(&used.0), number(&hard.0))
                && taken.value >= limit.value
                && waiting.contains(namespace)
            {
                found.warning(
                    &about,
                    format!(
                        "{key} is used up ({} of {}) and pods of the namespace wait",
                        used.0, hard.0
                    ),
                    "raise the quota, or end what the namespace has",
                );
            }
        }
        disagreements(seen, namespace, quota, &rules, &about, &mut found);
    }
    let unbounded: BTreeSet<&str> = seen
        .listed
        .claims
        .iter()
        .filter_map(|claim| claim.metadata.namespace.as_deref())
        .filter(|namespace| !bounded.contains(namespace))
        .collect();
    if !unbounded.is_empty() {
        found.say(
            Level::Note,
            format!("namespaces {}", few(unbounded.iter().copied())),
            "they have claims and no quota on devices: one of them can take all",
            "give each a ResourceQuota with CLASS.deviceclass.resource.k8s.io/devices",
        );
    }
    Examined::new(
        Check::Quota,
        format!(
            "{}, {} about devices",
            counted(quotas.len(), "quota"),
            counted(keys, "key")
        ),
        found.0,
    )
}

/// Where the status of a quota says something else than what is there adds up to.
fn disagreements(
    seen: &Seen,
    namespace: &str,
    quota: &k8s_openapi::api::core::v1::ResourceQuota,
    rules: &Rules,
    about: &str,
    found: &mut Found,
) {
    let (Ok(pods), Ok(limits)) = (&seen.pods, Limits::read(quota)) else {
        return;
    };
    let here = |it: &Option<String>| it.as_deref() == Some(namespace);
    let claims = seen
        .listed
        .claims
        .iter()
        .filter(|it| here(&it.metadata.namespace));
    let pods = pods.iter().filter(|it| here(&it.metadata.namespace));
    let Ok(pods) = pods.map(Pod::read).collect::<Result<Vec<_>, _>>() else {
        return;
    };
    let held = Held {
        claims: claims.map(oracle::quota::Claim::read).collect(),
        pods,
    };
    let classes = oracle::quota::Classes::named(seen.listed.classes.iter().filter_map(|class| {
        let spec = class.spec.as_ref();
        let resource = spec.and_then(|spec| spec.extended_resource_name.as_deref());
        Some((class.metadata.name.as_deref()?, resource))
    }));
    for (key, (least, most)) in used(&limits, &held, &classes, rules) {
        // Before the controller has counted there is nothing to compare.
        let Some(said) = limits.used.get(&key) else {
            continue;
        };
        if said.value < least.value || said.value > most.value {
            let should = if least.value == most.value {
                most.to_string()
            } else {
                format!("{least} to {most}")
            };
            found.warning(
                about,
                format!("{key}: its status says that {said} is used, and what is there adds up to {should}"),
                "the controller adds up anew when something of the namespace is deleted, and every 5 minutes; a class that got or lost its extendedResourceName since is one cause",
            );
        }
    }
}

/// Classes that admit partitions of several profiles, with these.
fn sizes(menu: &Menu) -> BTreeMap<String, String> {
    let mut sizes = BTreeMap::new();
    for class in menu.world.classes() {
        let Ok(admitted) = menu.world.admitted(class, &menu.stock) else {
            continue;
        };
        let profiles = admitted.iter().map(|at| {
            let profile = menu.stock[*at].profile.as_deref();
            profile.unwrap_or("a whole card")
        });
        let profiles: BTreeSet<&str> = profiles.collect();
        if profiles.len() > 1 {
            sizes.insert(class.name.to_string(), few(profiles.iter().copied()));
        }
    }
    sizes
}
