//! Device classes: each should admit something, and one extended resource should have one of them.

use std::collections::{BTreeMap, BTreeSet};

use oracle::counted;

use crate::finding::{Check, Examined, Found, Level, few};
use crate::menu::Menu;
use crate::seen::Seen;
use crate::vendor;

pub(crate) fn examine(seen: &Seen, menu: &Menu) -> Examined {
    let mut found = Found::default();
    let plugins: BTreeSet<&str> = seen
        .listed
        .nodes
        .iter()
        .flat_map(vendor::offered)
        .map(|(resource, _)| resource)
        .collect();
    let mut resources: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for class in menu.world.classes() {
        let about = format!("DeviceClass {}", class.name);
        match menu.world.admitted(class, &menu.stock) {
            Err(why) => found.problem(
                &about,
                format!("a selector of it fails, so every claim of it does: {why}"),
                "mend the expression; an attribute that not every device has is asked for first, as in \"name\" in device.attributes[\"driver\"]",
            ),
            Ok(admitted) if admitted.is_empty() => found.warning(
                &about,
                match menu.stock.len() {
                    0 => "it admits nothing, for nothing is published".to_owned(),
                    all => format!("it admits none of the {}", counted(all, "device")),
                },
                "compare its selectors with what is published (sliceproof inspect slices), or delete it if nothing of its kind will come",
            ),
            Ok(_) => {}
        }
        if let Some(resource) = &class.extended_resource {
            resources.entry(resource).or_default().push(&class.name);
        }
    }
    for (resource, classes) in resources {
        if let [_, _, ..] = classes.as_slice() {
            found.warning(
                format!("extended resource {resource}"),
                format!(
                    "{} have it: the class that was made last serves it, the others do not",
                    few(classes.iter().map(|class| format!("DeviceClass {class}")))
                ),
                "leave extendedResourceName in one of them",
            );
        }
        if plugins.contains(resource) {
            found.say(
                Level::Note,
                format!("extended resource {resource}"),
                format!(
                    "a device plugin offers it on some nodes, and DeviceClass {} serves it from DRA on others",
                    classes.first().copied().unwrap_or_default()
                ),
                "this is right while nodes move from one to the other; see that no node has both",
            );
        }
    }
    let count = menu.world.classes().count();
    if count == 0 && !menu.stock.is_empty() {
        found.problem(
            "DeviceClasses",
            format!(
                "there is none, so the {} that are published cannot be claimed",
                counted(menu.stock.len(), "device")
            ),
            "apply the classes that come with the driver",
        );
    }
    Examined::new(Check::Classes, counted(count, "class"), found.0)
}
