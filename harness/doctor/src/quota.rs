//! Quotas on devices: keys that count something, and namespaces that are at their end.
//! The keys are those of `core/v1` (facts: kubernetes-dra section 2.4).

use std::collections::BTreeSet;

use oracle::{Quantity, counted};

use crate::finding::{Check, Examined, Found, Level, few};
use crate::pods::{self, IMPLICIT};
use crate::seen::Seen;
use crate::vendor;

/// What a key of a quota counts.
enum Key<'k> {
    /// Devices requested of a class.
    Devices(&'k str),
    /// An extended resource; the implicit one of a class has the class here too.
    Resource(&'k str),
    /// It looks like one of these and is not.
    Misspelt(String),
    /// Something else.
    Other,
}

fn read(key: &str) -> Key<'_> {
    if let Some(class) = key.strip_suffix(".deviceclass.resource.k8s.io/devices") {
        return Key::Devices(class);
    }
    if let Some(resource) = key.strip_prefix("requests.") {
        if let Some(class) = resource.strip_prefix("deviceclass.resource.k8s.io/") {
            return Key::Misspelt(format!("requests.{IMPLICIT}{class}"));
        }
        if resource.starts_with(IMPLICIT) || vendor::of_resource(resource).is_some() {
            return Key::Resource(resource);
        }
        return Key::Other;
    }
    for (wrong, right) in [
        (
            "request.deviceclass.resource.kubernetes.io/",
            format!("requests.{IMPLICIT}"),
        ),
        (
            "limits.deviceclass.resource.kubernetes.io/",
            format!("requests.{IMPLICIT}"),
        ),
    ] {
        if let Some(class) = key.strip_prefix(wrong) {
            return Key::Misspelt(format!("{right}{class}"));
        }
    }
    match key.strip_suffix(".deviceclass.resource.kubernetes.io/devices") {
        Some(class) => Key::Misspelt(format!("{class}.deviceclass.resource.k8s.io/devices")),
        None => Key::Other,
    }
}

pub(crate) fn examine(seen: &Seen) -> Examined {
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
    let mut bounded: BTreeSet<&str> = BTreeSet::new();
    let mut keys = 0;
    for quota in quotas {
        let namespace = quota.metadata.namespace.as_deref().unwrap_or_default();
        let about = format!(
            "ResourceQuota {namespace}/{}",
            quota.metadata.name.as_deref().unwrap_or_default()
        );
        for (key, hard) in quota.spec.iter().flat_map(|spec| &spec.hard).flatten() {
            match read(key) {
                Key::Other => continue,
                Key::Misspelt(right) => {
                    found.problem(
                        &about,
                        format!("{key} counts nothing"),
                        format!("write {right}"),
                    );
                    continue;
                }
                Key::Devices(class) if !classes.contains(class) => found.warning(
                    &about,
                    format!("{key} is about a DeviceClass {class} that is not there"),
                    "mend the name, or take the key out",
                ),
                Key::Resource(resource) => {
                    let class = resource.strip_prefix(IMPLICIT);
                    if let Some(class) = class.filter(|class| !classes.contains(class)) {
                        found.warning(
                            &about,
                            format!("{key} is about a DeviceClass {class} that is not there"),
                            "mend the name, or take the key out",
                        );
                    }
                }
                Key::Devices(_) => {}
            }
            keys += 1;
            bounded.insert(namespace);
            let status = quota.status.as_ref();
            let used = status.and_then(|status| status.used.as_ref()?.get(key));
            let number = |text: &str| text.parse::<Quantity>().ok();
            if let Some(used) = used
                && let (Some(taken), Some(limit)) = (number(&used.0), number(&hard.0))
                && taken >= limit
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart_and_the_usual_misspellings_are_mended() {
        let misspelt = |key: &str| match read(key) {
            Key::Misspelt(right) => Some(right),
            _ => None,
        };
        assert!(matches!(
            read("mig.nvidia.com.deviceclass.resource.k8s.io/devices"),
            Key::Devices("mig.nvidia.com")
        ));
        assert!(matches!(
            read("requests.nvidia.com/gpu"),
            Key::Resource("nvidia.com/gpu")
        ));
        assert!(matches!(
            read("requests.deviceclass.resource.kubernetes.io/a"),
            Key::Resource(_)
        ));
        assert!(matches!(read("requests.cpu"), Key::Other));
        assert!(matches!(
            read("count/resourceclaims.resource.k8s.io"),
            Key::Other
        ));
        let implicit = Some("requests.deviceclass.resource.kubernetes.io/a".to_owned());
        assert_eq!(
            misspelt("request.deviceclass.resource.kubernetes.io/a"),
            implicit
        );
        assert_eq!(misspelt("requests.deviceclass.resource.k8s.io/a"), implicit);
        assert_eq!(
            misspelt("a.deviceclass.resource.kubernetes.io/devices").as_deref(),
            Some("a.deviceclass.resource.k8s.io/devices")
        );
    }
}
