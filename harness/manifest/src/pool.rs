//! Slices together: a pool is complete, its counters exist and suffice, and its order is the one that was meant.

use std::collections::{BTreeMap, BTreeSet};

use oracle::{Gate, Gates, Quantity, Version, counted};

use crate::names::{listed, nearest};
use crate::object::Object;
use crate::problem::Report;
use crate::tree::Node;

type PoolKey<'t> = (&'t str, &'t str);

pub(crate) fn check(objects: &[Object<'_>], gates: &Gates, report: &mut Report<'_>) {
    let mut pools: BTreeMap<PoolKey<'_>, Vec<(&Object<'_>, &Node)>> = BTreeMap::new();
    for slice in objects.iter().filter(|it| it.kind == "ResourceSlice") {
        let Some(spec) = slice.spec() else { continue };
        let pool = spec.path(&["pool", "name"]).and_then(Node::as_text);
        if let (Some(driver), Some(pool)) = (spec.text("driver"), pool) {
            pools.entry((driver, pool)).or_default().push((slice, spec));
        }
    }
    for ((driver, pool), slices) in &pools {
        generations(slices, report);
        let complete = counts(pool, slices, report);
        identities(driver, pool, slices, report);
        if gates.has(Gate::PartitionableDevices) && complete {
            counters(&pools, (driver, pool), slices, gates, report);
        }
    }
    order(&pools, report);
}

/// Of two generations the older is not looked at.
fn generations(slices: &[(&Object<'_>, &Node)], report: &mut Report<'_>) {
    let of = |spec: &Node| {
        spec.path(&["pool", "generation"])
            .and_then(Node::as_int)
            .unwrap_or(0)
    };
    let newest = slices.iter().map(|(_, spec)| of(spec)).max().unwrap_or(0);
    for (slice, spec) in slices.iter().filter(|(_, spec)| of(spec) < newest) {
        let place = spec
            .path(&["pool", "generation"])
            .map_or(spec.at("pool"), |it| it.place);
        report
            .say(
                slice.file,
                "generation",
                place,
                format!(
                    "this slice is not looked at: another one of the pool is of generation {newest}"
                ),
            )
            .help(format!(
                "write `generation: {newest}` in every slice of the pool"
            ));
    }
}

/// Whether the pool is complete with the slices at hand.
fn counts(pool: &str, slices: &[(&Object<'_>, &Node)], report: &mut Report<'_>) -> bool {
    let count_of = |spec: &Node| {
        spec.path(&["pool", "resourceSliceCount"])
            .and_then(Node::as_int)
    };
    let said: BTreeSet<i64> = slices
        .iter()
        .filter_map(|(_, spec)| count_of(spec))
        .collect();
    let have = i64::try_from(slices.len()).unwrap_or(i64::MAX);
    if let [one] = said.iter().copied().collect::<Vec<_>>()[..]
        && one == have
    {
        return true;
    }
    let with_counters = slices
        .iter()
        .filter(|(_, spec)| spec.get("sharedCounters").is_some())
        .count();
    for (slice, spec) in slices {
        let Some(count) = count_of(spec).filter(|count| *count != have && *count > 0) else {
            continue;
        };
        let place = spec
            .path(&["pool", "resourceSliceCount"])
            .map_or(spec.at("pool"), |it| it.place);
        let counters = if count < have && with_counters > 0 {
            ", those with counters too"
        } else {
            ""
        };
        let help = if count < have {
            format!(
                "write `resourceSliceCount: {have}`: every slice of the pool counts{counters}; until then no device of it is allocated"
            )
        } else {
            "lint all slices of the pool together; while one is missing no device of the pool is allocated".to_owned()
        };
        report
            .say(
                slice.file,
                "slice-count",
                place,
                format!(
                    "the pool {pool:?} is to have {}, {have} {} here",
                    counted(count, "slice"),
                    if have == 1 { "is" } else { "are" }
                ),
            )
            .help(help);
    }
    false
}

/// The scheduler knows a device by driver, pool and name: two of one name are one to it.
fn identities(driver: &str, pool: &str, slices: &[(&Object<'_>, &Node)], report: &mut Report<'_>) {
    let mut seen: BTreeMap<&str, (Option<&str>, usize)> = BTreeMap::new();
    for (index, (slice, spec)) in slices.iter().enumerate() {
        let node = spec.text("nodeName");
        for device in spec.list("devices") {
            let Some(name) = device.get("name") else {
                continue;
            };
            let text = name.as_text().unwrap_or_default();
            match seen.get(text) {
                Some((other, first)) if *first != index => {
                    let (message, help) = if *other == node {
                        (
                            format!("the pool {pool:?} has a device {text:?} in another slice"),
                            "give each device of a pool its own name".to_owned(),
                        )
                    } else {
                        (
                            format!(
                                "two nodes publish a device {driver}/{pool}/{text}: the scheduler takes them for one"
                            ),
                            "name each pool after its node".to_owned(),
                        )
                    };
                    report
                        .say(slice.file, "shared-identity", name.place, message)
                        .help(help);
                }
                Some(_) => {}
                None => {
                    seen.insert(text, (node, index));
                }
            }
        }
    }
}

/// What devices draw on exists in their pool and is enough for each.
fn counters(
    pools: &BTreeMap<PoolKey<'_>, Vec<(&Object<'_>, &Node)>>,
    of: PoolKey<'_>,
    slices: &[(&Object<'_>, &Node)],
    gates: &Gates,
    report: &mut Report<'_>,
) {
    let sets_of =
        |slices: &[(&Object<'_>, &Node)]| -> BTreeMap<String, BTreeMap<String, Option<Quantity>>> {
            let sets = slices
                .iter()
                .flat_map(|(_, spec)| spec.list("sharedCounters"))
                .map(|set| {
                    let counters = set
                        .map("counters")
                        .iter()
                        .map(|(key, it)| (key.name.clone(), value(it)));
                    (
                        set.text("name").unwrap_or_default().to_owned(),
                        counters.collect(),
                    )
                });
            sets.collect()
        };
    let in_pool = sets_of(slices);
    for slice in slices {
        // Before 1.35 a counter set was seen in its own slice only.
        let sets = if gates.version() < Version::V1_35 {
            sets_of(std::slice::from_ref(slice))
        } else {
            in_pool.clone()
        };
        let (object, spec) = slice;
        for device in spec.list("devices") {
            let body = device.get("basic").unwrap_or(device);
            for draw in body.list("consumesCounters") {
                let Some(node) = draw.get("counterSet") else {
                    continue;
                };
                let name = node.as_text().unwrap_or_default();
                let Some(set) = sets.get(name) else {
                    let elsewhere = pools
                        .iter()
                        .filter(|(key, _)| **key != of)
                        .find(|(_, slices)| sets_of(slices).contains_key(name));
                    let help = match (elsewhere, nearest(name, sets.keys().map(String::as_str))) {
                        (Some(((driver, pool), _)), _) => format!("the pool {driver}/{pool} has one, but a device draws on sets of its own pool only; while it names another the whole pool is invalid"),
                        (None, Some(near)) => format!("did you mean {near:?}?"),
                        (None, None) if in_pool.contains_key(name) => "before 1.35 a set is seen in its own slice only: put devices and counters into one".to_owned(),
                        (None, None) => format!("the pool has {}; while one is missing the whole pool is invalid", listed(sets.keys().map(String::as_str))),
                    };
                    report
                        .say(
                            object.file,
                            "unknown-counter-set",
                            node.place,
                            format!("the pool has no counter set {name:?}"),
                        )
                        .help(help);
                    continue;
                };
                for (key, it) in draw.map("counters") {
                    match (set.get(&key.name), value(it)) {
                        (None, _) => {
                            let help = nearest(&key.name, set.keys().map(String::as_str)).map_or_else(|| format!("it has {}", listed(set.keys().map(String::as_str))), |near| format!("did you mean {near:?}?"));
                            report.say(object.file, "unknown-counter", key.place, format!("the counter set {name:?} has no counter {:?}", key.name)).help(help);
                        }
                        (Some(Some(have)), Some(takes)) if takes > *have => report
                            .say(object.file, "never-fits", key.place, format!("the device takes {takes} of {:?}, the set holds {have}: it can never be allocated", key.name))
                            .help("raise the counter of the set, or lower what the device takes"),
                        _ => {}
                    }
                }
            }
        }
    }
}

fn value(counter: &Node) -> Option<Quantity> {
    counter.get("value")?.written()?.parse().ok()
}

/// Pools are tried in the order of their names as texts: `pool-10` comes before `pool-2`.
fn order(pools: &BTreeMap<PoolKey<'_>, Vec<(&Object<'_>, &Node)>>, report: &mut Report<'_>) {
    let node_of = |slices: &[(&Object<'_>, &Node)]| {
        slices
            .first()
            .and_then(|(_, spec)| spec.text("nodeName"))
            .unwrap_or_default()
            .to_owned()
    };
    let numbered = |name: &str| -> Option<(String, u64)> {
        let head = name.trim_end_matches(|c: char| c.is_ascii_digit());
        Some((head.to_owned(), name[head.len()..].parse().ok()?))
    };
    for ((driver, pool), slices) in pools {
        let Some((head, number)) = numbered(pool) else {
            continue;
        };
        let earlier = pools.iter().filter(|((other_driver, _), other)| {
            other_driver == driver && node_of(other) == node_of(slices)
        });
        let passed = earlier
            .filter_map(|((_, other), _)| Some((*other, numbered(other)?)))
            .filter(|(other, (other_head, other_number))| {
                *other_head == head && *other_number < number && *other > *pool
            })
            .map(|(other, _)| other)
            .next();
        if let (Some(other), Some((slice, spec))) = (passed, slices.first()) {
            let place = spec
                .path(&["pool", "name"])
                .map_or(spec.at("pool"), |it| it.place);
            report
                .say(slice.file, "pool-order", place, format!("devices of the pool {pool:?} are tried before those of {other:?}: names are ordered as texts"))
                .help(format!("write the numbers with as many digits, as {head}{:0>width$}", other.trim_start_matches(&head), width = number.to_string().len()));
        }
    }
}
