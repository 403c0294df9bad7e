//! Pools from which nothing is taken, and objects that cannot be read.

use std::collections::BTreeSet;

use oracle::{Flaw, State, counted};

use crate::finding::{Check, Examined, Found};
use crate::menu::Menu;

pub(crate) fn examine(menu: &Menu) -> Examined {
    let mut found = Found::default();
    let pools: BTreeSet<(&str, &str)> = menu
        .stock
        .iter()
        .map(|device| (&*device.id.driver, &*device.id.pool))
        .collect();
    let mut told = BTreeSet::new();
    for device in &menu.stock {
        let State::Pool(note) = &device.state else {
            continue;
        };
        if !told.insert((&note.driver, &note.pool)) {
            continue;
        }
        let remedy = match &note.flaw {
            Flaw::Incomplete { .. } => {
                "wait until the driver has published all of it; if it stays so, a slice was deleted by hand or the driver counts wrongly (slices of counters count too): restart the driver"
            }
            Flaw::Invalid { .. } => {
                "mend what publishes the slices: names are unique in a pool, and counters stand in a slice of the same pool and generation"
            }
        };
        found.problem(
            format!("pool {} of {}", note.pool, note.driver),
            format!("nothing is taken from it, for it is {}", note.flaw),
            remedy,
        );
    }
    for mistake in &menu.mistakes {
        found.problem(
            &mistake.object,
            format!("{}: {}", mistake.field, mistake.why),
            "mend the object; sliceproof lint MANIFEST shows the place",
        );
    }
    Examined::new(
        Check::Pools,
        format!(
            "{} in {}",
            counted(menu.stock.len(), "device"),
            counted(pools.len(), "pool")
        ),
        found.0,
    )
}
