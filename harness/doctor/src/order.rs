//! The order in which devices are published is the order in which they are given: small before large, and the same on
//! nodes that have the same.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use oracle::{Stocked, counted};

use crate::finding::{Check, Examined, Found, Level, few};
use crate::menu::Menu;

/// Pools that have the same devices of a driver, each with its order.
type Alike<'o, 'm> = BTreeMap<(&'m str, Vec<&'m str>), Vec<(&'m str, &'o Vec<&'m str>)>>;

/// The devices of one pool that a class admits, in published order.
type OfPool<'m> = BTreeMap<(&'m str, &'m str), Vec<&'m Stocked>>;

pub(crate) fn examine(menu: &Menu) -> Examined {
    let mut found = Found::default();
    let mut classes = 0;
    for class in menu.world.classes() {
        // A class that cannot be asked is told by the check of classes.
        let Ok(admitted) = menu.world.admitted(class, &menu.stock) else {
            continue;
        };
        classes += 1;
        let mut pools: OfPool<'_> = BTreeMap::new();
        for at in admitted {
            let device = &menu.stock[at];
            let key = (&*device.id.driver, &*device.id.pool);
            pools.entry(key).or_default().push(device);
        }
        let mut against: Vec<(&str, &Stocked, &Stocked)> = Vec::new();
        for ((_, pool), devices) in &pools {
            if let Some((larger, smaller)) = larger_first(devices) {
                against.push((pool, larger, smaller));
            }
        }
        if let Some((pool, larger, smaller)) = against.first() {
            found.say(
                Level::Note,
                format!("DeviceClass {}", class.name),
                format!(
                    "in {} ({}) {} stands before {}: a claim that either would do gets the larger ({} for {})",
                    counted(against.len(), "pool"),
                    few(against.iter().map(|(pool, ..)| (*pool).to_owned())),
                    larger.id.device,
                    smaller.id.device,
                    larger.weight,
                    smaller.weight,
                ),
                format!(
                    "let claims of this class name what they need (a selector on the profile or on memory), or keep {pool}'s driver from publishing the larger one first"
                ),
            );
        }
    }
    for (names, pools) in unlike(menu) {
        found.warning(
            format!("pools {}", few(pools.iter().map(|pool| (*pool).to_owned()))),
            format!(
                "they publish the same {} in different orders, so first match gives other devices on each of them",
                counted(names, "device")
            ),
            "look whether the driver sorts what it publishes; some start with another order each time",
        );
    }
    Examined::new(
        Check::Order,
        format!("what {} would be given first", counted(classes, "class")),
        found.0,
    )
}

/// The first device that stands before a smaller one, with that one.
fn larger_first<'m>(devices: &[&'m Stocked]) -> Option<(&'m Stocked, &'m Stocked)> {
    devices.windows(2).find_map(|pair| match pair {
        [first, second] if first.weight.compare(&second.weight) == Some(Ordering::Greater) => {
            Some((*first, *second))
        }
        _ => None,
    })
}

/// Pools of one driver with the same devices in different orders: how many devices, and which pools.
fn unlike(menu: &Menu) -> Vec<(usize, Vec<&str>)> {
    let mut orders: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for device in &menu.stock {
        let key = (&*device.id.driver, &*device.id.pool);
        orders.entry(key).or_default().push(&device.id.device);
    }
    let mut alike: Alike<'_, '_> = BTreeMap::new();
    for ((driver, pool), order) in &orders {
        let mut names = order.clone();
        names.sort_unstable();
        alike
            .entry((driver, names))
            .or_default()
            .push((pool, order));
    }
    alike
        .into_iter()
        .filter(|(_, pools)| pools.iter().any(|(_, order)| *order != pools[0].1))
        .map(|((_, names), pools)| {
            (
                names.len(),
                pools.into_iter().map(|(pool, _)| pool).collect(),
            )
        })
        .collect()
}
