//! What an object is, in the words of facts. What is not whole where the API allows parts (a counter of 1.5) is named, not rounded.

use crate::text::Text;
use std::collections::BTreeMap;

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::resource::v1 as api;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::Object;
use crate::fact::{Claim, Consumer, Device, Held, Pod, Request, Rule, Slice, Uid, What};

type Mistake = String;

/// Attributes that say what a device is.
const SAYS: [&str; 5] = ["type", "profile", "uuid", "parentUUID", "productName"];
/// The claim that the scheduler makes for a pod's extended resources.
const EXTENDED: &str = "resource.kubernetes.io/extended-resource-claim";
/// A label of ours: what may be taken away, and costs less.
const SPOT: &str = "sliceproof.dev/spot";

/// An object that is there; `None` where it has nothing to do with devices.
pub(super) fn there(object: &Object) -> Result<Option<What>, Mistake> {
    Ok(match object {
        Object::Claim(it) => Some(claim(it)?),
        Object::Slice(it) => Some(What::SlicePublished(slice(it)?)),
        Object::Rule(it) => Some(What::Tainted(rule(it))),
        Object::Pod(it) => uses_claims(it).then(|| What::PodIs(pod(it))),
        Object::Node(_) => None,
    })
}

/// An object that is gone.
pub(super) fn gone(object: &Object) -> Option<What> {
    Some(match object {
        Object::Claim(_) => What::ClaimGone,
        Object::Slice(_) => What::SliceWithdrawn,
        Object::Rule(_) => What::TaintLifted,
        Object::Pod(it) if uses_claims(it) => What::PodGone,
        Object::Pod(_) => return None,
        Object::Node(it) => What::NodeGone {
            node: it.metadata.name.as_deref()?.into(),
        },
    })
}

fn text(of: Option<&String>) -> Text {
    of.map_or("", String::as_str).into()
}

fn whole(place: &str, quantity: &Quantity) -> Result<i64, Mistake> {
    let number: oracle::Quantity = quantity
        .0
        .parse()
        .map_err(|error| format!("{place}: {error}"))?;
    let whole = number.as_whole();
    whole.ok_or_else(|| {
        format!(
            "{place}: {} is no whole number of at most 63 bits, and nothing is rounded here",
            quantity.0
        )
    })
}

fn amounts<'a>(
    place: &str,
    from: impl Iterator<Item = (&'a String, &'a Quantity)>,
) -> Result<BTreeMap<Text, i64>, Mistake> {
    from.map(|(name, quantity)| {
        Ok((
            name.as_str().into(),
            whole(&format!("{place}[{name}]"), quantity)?,
        ))
    })
    .collect()
}

fn claim(from: &api::ResourceClaim) -> Result<What, Mistake> {
    let metadata = &from.metadata;
    let status = from.status.as_ref();
    let allocation = status.and_then(|status| status.allocation.as_ref());
    let results = allocation.and_then(|it| it.devices.as_ref());
    let results = results.and_then(|it| it.results.as_deref());
    let marked = |map: &Option<BTreeMap<String, String>>, key: &str| {
        map.as_ref()
            .is_some_and(|map| map.get(key).is_some_and(|value| value == "true"))
    };
    let devices = results.unwrap_or_default().iter().map(held);
    let consumers = status.and_then(|status| status.reserved_for.as_deref());
    let mut consumers: Vec<Consumer> = consumers
        .unwrap_or_default()
        .iter()
        .map(|it| Consumer {
            uid: Uid(it.uid.as_str().into()),
            name: it.name.as_str().into(),
        })
        .collect();
    consumers.sort();
    let requests = from.spec.as_ref().and_then(|spec| spec.devices.as_ref());
    let requests = requests.and_then(|devices| devices.requests.as_deref());
    let claim = Claim {
        namespace: text(metadata.namespace.as_ref()),
        name: text(metadata.name.as_ref()),
        requests: requests
            .unwrap_or_default()
            .iter()
            .flat_map(request)
            .collect(),
        devices: devices.collect::<Result<_, _>>()?,
        consumers,
        extended: marked(&metadata.annotations, EXTENDED),
        spot: marked(&metadata.labels, SPOT) || marked(&metadata.annotations, SPOT),
    };
    Ok(match allocation {
        Some(_) => What::ClaimHolds(claim),
        None => What::ClaimWaits(claim),
    })
}

/// A request, or its alternatives under `request/alternative`: the names that results use.
fn request(from: &api::DeviceRequest) -> Vec<(Text, Request)> {
    let one = |class: &str, mode: Option<&str>, count: Option<i64>| Request {
        class: class.into(),
        count: (mode != Some("All")).then(|| count.unwrap_or(1)),
    };
    let exactly = from.exactly.iter().map(|it| {
        let asked = one(
            &it.device_class_name,
            it.allocation_mode.as_deref(),
            it.count,
        );
        (from.name.as_str().into(), asked)
    });
    let first = from.first_available.iter().flatten().map(|it| {
        let asked = one(
            &it.device_class_name,
            it.allocation_mode.as_deref(),
            it.count,
        );
        (format!("{}/{}", from.name, it.name).into(), asked)
    });
    exactly.chain(first).collect()
}

fn held(from: &api::DeviceRequestAllocationResult) -> Result<Held, Mistake> {
    let place = format!("status.allocation.devices.results of {}", from.device);
    Ok(Held {
        request: from.request.as_str().into(),
        driver: from.driver.as_str().into(),
        pool: from.pool.as_str().into(),
        device: from.device.as_str().into(),
        admin: from.admin_access.unwrap_or(false),
        share: from.share_id.as_deref().map(Into::into),
        consumed: amounts(&place, from.consumed_capacity.iter().flatten())?,
    })
}

fn slice(from: &api::ResourceSlice) -> Result<Slice, Mistake> {
    let spec = &from.spec;
    let sets = spec.shared_counters.iter().flatten().map(|set| {
        let place = format!("spec.sharedCounters of {}", set.name);
        let counters = set.counters.iter().map(|(name, it)| (name, &it.value));
        Ok((set.name.as_str().into(), amounts(&place, counters)?))
    });
    let devices = spec.devices.iter().flatten();
    Ok(Slice {
        driver: spec.driver.as_str().into(),
        pool: spec.pool.name.as_str().into(),
        generation: spec.pool.generation,
        of: spec.pool.resource_slice_count,
        node: spec.node_name.as_deref().map(Into::into),
        sets: sets.collect::<Result<_, Mistake>>()?,
        devices: devices
            .map(|it| device(it, &spec.driver))
            .collect::<Result<_, _>>()?,
    })
}

fn device(from: &api::Device, driver: &str) -> Result<Device, Mistake> {
    let own = |name: &str| {
        name.strip_prefix(driver)
            .and_then(|it| it.strip_prefix('/'))
            .unwrap_or(name)
            .to_owned()
    };
    let says = from
        .attributes
        .iter()
        .flatten()
        .filter_map(|(name, value)| {
            let name = own(name);
            let value = value.string.as_deref()?;
            SAYS.contains(&name.as_str())
                .then(|| (name.into(), value.into()))
        });
    let place = format!("device {}", from.name);
    let capacity = from.capacity.iter().flatten();
    let capacity: Vec<(String, &Quantity)> =
        capacity.map(|(name, it)| (own(name), &it.value)).collect();
    let draws = from.consumes_counters.iter().flatten().map(|it| {
        let counters = it.counters.iter().map(|(name, it)| (name, &it.value));
        let place = format!("{place}, counter set {}", it.counter_set);
        Ok((it.counter_set.as_str().into(), amounts(&place, counters)?))
    });
    let taints = from.taints.iter().flatten();
    Ok(Device {
        name: from.name.as_str().into(),
        says: says.collect(),
        capacity: amounts(&place, capacity.iter().map(|(name, it)| (name, *it)))?,
        draws: draws.collect::<Result<_, Mistake>>()?,
        shared: from.allow_multiple_allocations.unwrap_or(false),
        taints: taints
            .filter_map(|it| taint(&it.key, it.value.as_deref(), &it.effect))
            .collect(),
    })
}

/// A taint that keeps devices from being used; one that only informs does not.
fn taint(key: &str, value: Option<&str>, effect: &str) -> Option<Text> {
    let value = value.filter(|value| !value.is_empty());
    let value = value.map_or(String::new(), |value| format!("={value}"));
    ["NoSchedule", "NoExecute"]
        .contains(&effect)
        .then(|| format!("{key}{value}:{effect}").into())
}

fn rule(from: &api::DeviceTaintRule) -> Rule {
    let selector = from.spec.device_selector.as_ref();
    let part = |of: fn(&api::DeviceTaintSelector) -> &Option<String>| {
        selector.and_then(|it| of(it).as_deref()).map(Into::into)
    };
    let it = &from.spec.taint;
    Rule {
        driver: part(|it| &it.driver),
        pool: part(|it| &it.pool),
        device: part(|it| &it.device),
        // A rule without a selector taints nothing.
        taint: selector.and_then(|_| taint(&it.key, it.value.as_deref(), &it.effect)),
    }
}

fn uses_claims(from: &core::Pod) -> bool {
    let asks = from
        .spec
        .as_ref()
        .and_then(|spec| spec.resource_claims.as_ref());
    let extended = from
        .status
        .as_ref()
        .and_then(|status| status.extended_resource_claim_status.as_ref());
    asks.is_some_and(|claims| !claims.is_empty()) || extended.is_some()
}

fn pod(from: &core::Pod) -> Pod {
    let status = from.status.as_ref();
    let waiting = status
        .and_then(|status| status.container_statuses.as_ref())
        .into_iter()
        .flatten()
        .find_map(|it| it.state.as_ref()?.waiting.as_ref()?.reason.as_deref());
    let reason = status
        .and_then(|status| status.reason.as_deref())
        .or(waiting);
    Pod {
        namespace: text(from.metadata.namespace.as_ref()),
        name: text(from.metadata.name.as_ref()),
        phase: text(status.and_then(|status| status.phase.as_ref())),
        reason: reason.map(Into::into),
    }
}
