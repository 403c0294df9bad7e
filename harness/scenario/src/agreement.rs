//! Whether what is published, what is allocated and what is cut say the same. Pure.

use std::collections::BTreeMap;

use crate::allocation::{Counters, Held, Named, PublishedPool, named, overdrawn, take};
use crate::testbed::NodeCards;

/// The driver whose devices are the fake cards.
pub(crate) const DRIVER: &str = "gpu.nvidia.com";

/// Every contradiction, one line each.
pub(crate) fn disagreements(
    pools: &[PublishedPool],
    held: &[Held],
    nodes: &[NodeCards],
) -> Vec<String> {
    let mut wrong = Vec::new();
    // Admin access looks on: it takes nothing from anybody.
    let held: Vec<&Held> = held.iter().filter(|it| !it.admin).collect();
    given_once(&held, &mut wrong);
    let mut used: BTreeMap<(&str, &str), Counters> = BTreeMap::new();
    for it in &held {
        let pool = pools
            .iter()
            .find(|pool| pool.driver == it.driver && pool.pool == it.pool);
        match pool.and_then(|pool| pool.devices.iter().find(|device| device.name == it.device)) {
            Some(device) => take(used.entry((&it.driver, &it.pool)).or_default(), device),
            None => wrong.push(format!(
                "{}: {} is allocated and not published",
                it.claim, it.device
            )),
        }
    }
    for pool in pools {
        let Some(used) = used.get(&(pool.driver.as_str(), pool.pool.as_str())) else {
            continue;
        };
        for (counter, taken, there) in overdrawn(used, &pool.counters) {
            wrong.push(format!(
                "{}: {counter} is overdrawn: {taken} of {there}",
                pool.pool
            ));
        }
    }
    // Devices of other drivers are on no card.
    let on_cards: Vec<&Held> = held.into_iter().filter(|it| it.driver == DRIVER).collect();
    on_the_card(pools, &on_cards, nodes, &mut wrong);
    wrong
}

fn given_once(held: &[&Held], wrong: &mut Vec<String>) {
    let mut owners: BTreeMap<(&str, &str, &str), Vec<&str>> = BTreeMap::new();
    for it in held.iter().filter(|it| it.share.is_none()) {
        owners
            .entry((&it.driver, &it.pool, &it.device))
            .or_default()
            .push(&it.claim);
    }
    for ((_, _, device), claims) in owners.into_iter().filter(|(_, claims)| claims.len() > 1) {
        wrong.push(format!(
            "{device} is allocated {} times: {}",
            claims.len(),
            claims.join(", ")
        ));
    }
}

/// Claims against GPU instances, both ways.
fn on_the_card(
    pools: &[PublishedPool],
    held: &[&Held],
    nodes: &[NodeCards],
    wrong: &mut Vec<String>,
) {
    let mut claimed: Vec<(&str, Named)> = Vec::new();
    for it in held {
        let Some(name) = named(&it.device) else {
            wrong.push(format!(
                "{}: {} is not a name that the driver gives",
                it.claim, it.device
            ));
            continue;
        };
        claimed.push((&it.pool, name));
        let minor = match name {
            Named::Whole { minor } | Named::Partition { minor, .. } => minor,
        };
        let card = nodes
            .iter()
            .find(|node| node.node == it.pool)
            .and_then(|node| node.cards.iter().find(|card| card.minor == minor));
        let Some(card) = card else {
            wrong.push(format!(
                "{}: {} is allocated, and {} has no such card",
                it.claim, it.device, it.pool
            ));
            continue;
        };
        let Named::Partition {
            profile_id, start, ..
        } = name
        else {
            if !card.instances.is_empty() {
                wrong.push(format!(
                    "{} is allocated whole and cut into {} GPU instances",
                    it.device,
                    card.instances.len()
                ));
            }
            continue;
        };
        match card
            .instances
            .iter()
            .find(|instance| instance.profile_id == profile_id && instance.start == start)
        {
            None => wrong.push(format!(
                "{}: {} is allocated and not on the card",
                it.claim, it.device
            )),
            Some(instance) => {
                let device = pools
                    .iter()
                    .filter(|pool| pool.pool == it.pool)
                    .flat_map(|pool| &pool.devices)
                    .find(|device| device.name == it.device);
                // What was cut before and is offered as it is takes nothing out of counters.
                let slices = device
                    .filter(|device| !device.consumes.is_empty())
                    .map(|device| memory_slices(&device.consumes));
                let cut: Vec<u32> = (instance.start..instance.start + instance.size).collect();
                if slices.as_ref().is_some_and(|slices| *slices != cut) {
                    wrong.push(format!(
                        "{} takes the memory slices {:?} and is cut from {cut:?}",
                        it.device,
                        slices.unwrap_or_default()
                    ));
                }
            }
        }
    }
    for node in nodes {
        for card in &node.cards {
            for instance in &card.instances {
                let name = Named::Partition {
                    minor: card.minor,
                    profile_id: instance.profile_id,
                    start: instance.start,
                };
                let offered = pools
                    .iter()
                    .filter(|pool| pool.driver == DRIVER && pool.pool == node.node)
                    .flat_map(|pool| &pool.devices)
                    .any(|device| device.consumes.is_empty() && named(&device.name) == Some(name));
                if !offered && !claimed.contains(&(node.node.as_str(), name)) {
                    wrong.push(format!(
                        "{} card {}: GPU instance {} ({} at memory slice {}) belongs to no claim",
                        node.node, card.index, instance.id, instance.profile, instance.start
                    ));
                }
            }
        }
    }
}

/// The memory slices that a device takes, by its counters.
fn memory_slices(consumes: &Counters) -> Vec<u32> {
    let mut slices: Vec<u32> = consumes
        .iter()
        .filter(|(_, amount)| **amount > 0)
        .filter_map(|((_, counter), _)| counter.strip_prefix("memory-slice-")?.parse().ok())
        .collect();
    slices.sort_unstable();
    slices
}

#[cfg(test)]
#[path = "agreement_tests.rs"]
mod tests;
