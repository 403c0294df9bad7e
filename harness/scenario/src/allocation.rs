//! What drivers publish and what claims hold, as plain values. Pure: the arithmetic that the assertions stand on.

use std::collections::BTreeMap;

use k8s_openapi::api::resource::v1::{ResourceClaim, ResourceSlice};

/// One driver's devices on one node, in published order: the order in which the allocator meets them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishedPool {
    /// Driver.
    pub driver: String,
    /// Pool, which is the node for drivers of local devices.
    pub pool: String,
    /// Devices, in published order.
    pub devices: Vec<DeviceView>,
    /// What the counter sets hold.
    pub counters: Counters,
}

/// Amounts by counter set and counter, in base units.
pub type Counters = BTreeMap<(String, String), u128>;

/// One published device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceView {
    /// Its name, unique in the pool.
    pub name: String,
    /// String attributes, without the domain.
    pub attributes: BTreeMap<String, String>,
    /// What it takes out of the counter sets.
    pub consumes: Counters,
}

/// One device that a claim holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) namespace: String,
    pub(crate) claim: String,
    pub(crate) driver: String,
    pub(crate) pool: String,
    pub(crate) device: String,
    /// By admin access: beside whoever else holds it, and without its counters.
    pub(crate) admin: bool,
    /// A share of a device that several claims may hold.
    pub(crate) share: Option<String>,
    /// What the share takes of the device, by name without domain, in base units.
    pub(crate) capacity: BTreeMap<String, u128>,
    /// Pods for which the claim is reserved.
    pub(crate) pods: Vec<String>,
}

/// What the name of a device says: `gpu-0`, or `gpu-0-mig-1g5gb-19-3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Named {
    Whole {
        minor: u32,
    },
    Partition {
        minor: u32,
        profile_id: u32,
        start: u32,
    },
}

pub(crate) fn named(device: &str) -> Option<Named> {
    let rest = device.strip_prefix("gpu-")?;
    let Some((minor, partition)) = rest.split_once("-mig-") else {
        return Some(Named::Whole {
            minor: rest.parse().ok()?,
        });
    };
    let mut parts = partition.rsplitn(3, '-');
    let start = parts.next()?.parse().ok()?;
    let profile_id = parts.next()?.parse().ok()?;
    parts.next().filter(|profile| !profile.is_empty())?;
    Some(Named::Partition {
        minor: minor.parse().ok()?,
        profile_id,
        start,
    })
}

impl Held {
    /// `gpu.nvidia.com/node-1/gpu-0`.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}/{}", self.driver, self.pool, self.device)
    }

    /// Whether `name` means this device: its name, with its pool before it, or with pool and driver.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.path() == name || self.path().ends_with(&format!("/{name}"))
    }
}

impl DeviceView {
    /// `gpu`, `mig`, …, as the driver says.
    pub(crate) fn kind(&self) -> &str {
        self.attributes.get("type").map_or("", String::as_str)
    }

    pub(crate) fn profile(&self) -> &str {
        self.attributes.get("profile").map_or("", String::as_str)
    }
}

/// Amounts as Kubernetes writes them (`9984Mi`, `7`), in base units.
pub(crate) fn quantity(text: &str) -> Option<u128> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: u128 = text[..digits].parse().ok()?;
    let factor = match &text[digits..] {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// The pools of all `slices`, of the highest generation each, sorted as the allocator sorts them: pools by driver and
/// name, slices by name, devices as they stand.
pub(crate) fn pools(slices: &[ResourceSlice]) -> Vec<PublishedPool> {
    let mut generations: BTreeMap<(String, String), i64> = BTreeMap::new();
    for slice in slices {
        let key = (slice.spec.driver.clone(), slice.spec.pool.name.clone());
        let newest = generations.entry(key).or_default();
        *newest = (*newest).max(slice.spec.pool.generation);
    }
    let mut sorted: Vec<&ResourceSlice> = slices
        .iter()
        .filter(|slice| {
            let key = (slice.spec.driver.clone(), slice.spec.pool.name.clone());
            generations.get(&key) == Some(&slice.spec.pool.generation)
        })
        .collect();
    sorted.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    let mut pools: BTreeMap<(String, String), PublishedPool> = BTreeMap::new();
    for slice in sorted {
        let key = (slice.spec.driver.clone(), slice.spec.pool.name.clone());
        let pool = pools.entry(key.clone()).or_insert_with(|| PublishedPool {
            driver: key.0,
            pool: key.1,
            ..PublishedPool::default()
        });
        for set in slice.spec.shared_counters.iter().flatten() {
            for (counter, value) in &set.counters {
                pool.counters.insert(
                    (set.name.clone(), counter.clone()),
                    quantity(&value.value.0).unwrap_or(0),
                );
            }
        }
        for device in slice.spec.devices.iter().flatten() {
            let mut consumes = Counters::new();
            for taken in device.consumes_counters.iter().flatten() {
                for (counter, value) in &taken.counters {
                    *consumes
                        .entry((taken.counter_set.clone(), counter.clone()))
                        .or_default() += quantity(&value.value.0).unwrap_or(0);
                }
            }
            let attributes = device
                .attributes
                .iter()
                .flatten()
                .filter_map(|(name, value)| Some((bare(name), value.string.clone()?)))
                .collect();
            pool.devices.push(DeviceView {
                name: device.name.clone(),
                attributes,
                consumes,
            });
        }
    }
    pools.into_values().collect()
}

/// A name without its domain.
fn bare(name: &str) -> String {
    name.rsplit('/').next().unwrap_or(name).to_owned()
}

/// Every device that a claim holds.
pub(crate) fn held(claims: &[ResourceClaim]) -> Vec<Held> {
    let mut all = Vec::new();
    for claim in claims {
        let status = claim.status.as_ref();
        let results = status
            .and_then(|status| status.allocation.as_ref())
            .and_then(|allocation| allocation.devices.as_ref())
            .and_then(|devices| devices.results.as_ref());
        let pods: Vec<String> = status
            .and_then(|status| status.reserved_for.as_ref())
            .into_iter()
            .flatten()
            .filter(|user| user.resource == "pods")
            .map(|user| user.name.clone())
            .collect();
        for result in results.into_iter().flatten() {
            all.push(Held {
                namespace: claim.metadata.namespace.clone().unwrap_or_default(),
                claim: claim.metadata.name.clone().unwrap_or_default(),
                driver: result.driver.clone(),
                pool: result.pool.clone(),
                device: result.device.clone(),
                admin: result.admin_access == Some(true),
                share: result.share_id.clone(),
                capacity: result
                    .consumed_capacity
                    .iter()
                    .flatten()
                    .map(|(name, amount)| (bare(name), quantity(&amount.0).unwrap_or(0)))
                    .collect(),
                pods: pods.clone(),
            });
        }
    }
    all
}

/// Adds what `device` takes to `used`.
pub(crate) fn take(used: &mut Counters, device: &DeviceView) {
    for (counter, amount) in &device.consumes {
        *used.entry(counter.clone()).or_default() += amount;
    }
}

/// Counters of which more is used than there is: counter, used, available.
pub(crate) fn overdrawn(used: &Counters, available: &Counters) -> Vec<(String, u128, u128)> {
    used.iter()
        .filter_map(|((set, counter), amount)| {
            let there = available
                .get(&(set.clone(), counter.clone()))
                .copied()
                .unwrap_or(0);
            (*amount > there).then(|| (format!("{set}/{counter}"), *amount, there))
        })
        .collect()
}

/// The first device of `pool` in published order that fits `wanted`, is in nobody's hands and finds its counters.
pub(crate) fn first_match<'p>(
    pool: &'p PublishedPool,
    taken: &[&str],
    wanted: impl Fn(&DeviceView) -> bool,
) -> Option<&'p DeviceView> {
    let mut used = Counters::new();
    for device in pool
        .devices
        .iter()
        .filter(|device| taken.contains(&device.name.as_str()))
    {
        take(&mut used, device);
    }
    pool.devices.iter().find(|device| {
        let free = wanted(device) && !taken.contains(&device.name.as_str());
        free && {
            let mut with = used.clone();
            take(&mut with, device);
            // Only what this device adds to: an overdraft elsewhere is somebody else's.
            overdrawn(&with, &pool.counters)
                .iter()
                .all(|(counter, _, _)| {
                    !device.consumes.iter().any(|((set, name), amount)| {
                        *amount > 0 && format!("{set}/{name}") == *counter
                    })
                })
        }
    })
}

#[cfg(test)]
#[path = "allocation_tests.rs"]
mod tests;
