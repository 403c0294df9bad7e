//! The menu as tables: per class its devices in published order, and per counter set what is left.

use std::collections::BTreeMap;
use std::fmt::Write;

use oracle::{CounterLeft, Quantity, State, Stocked};

use crate::live;

use super::menu::{ClassMenu, Menu};

/// Of devices in a row that are alike so many are shown.
const IN_A_ROW: usize = 2;
/// Counters of memory slices begin so; the picture shows them one by one.
const MEMORY_SLICE: &str = "memory-slice-";

/// The tables; `all` unfolds them.
pub(crate) fn render(menu: &Menu, all: bool) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = head(&mut text, menu);
    for class in &menu.classes {
        let _ = of_class(&mut text, menu, class, all);
    }
    let _ = counters(&mut text, menu);
    text
}

fn head(text: &mut String, menu: &Menu) -> std::fmt::Result {
    live::head(text, &menu.server, menu.variant, menu.order_is_specified)?;
    live::left_out(text, &menu.unreadable)?;
    if menu.stock.is_empty() {
        writeln!(text, "note: no driver publishes any device")?;
    }
    Ok(())
}

fn of_class(text: &mut String, menu: &Menu, class: &ClassMenu, all: bool) -> std::fmt::Result {
    let extended = class
        .extended_resource
        .as_ref()
        .map_or(String::new(), |name| format!(" (extended resource {name})"));
    write!(text, "\nclass {}{extended}: ", class.name)?;
    let devices = match &class.devices {
        Err(error) => return writeln!(text, "its selector cannot be asked: {error}"),
        Ok(devices) if devices.is_empty() => return writeln!(text, "it admits no device"),
        Ok(devices) => devices,
    };
    let tally = menu.tally(devices);
    writeln!(
        text,
        "{} devices: {} free, {} held, {} not to be had now",
        devices.len(),
        tally.free,
        tally.held,
        tally.not_now
    )?;
    let column = |of: &dyn Fn(&Stocked) -> usize| {
        devices
            .iter()
            .map(|at| of(&menu.stock[*at]))
            .max()
            .unwrap_or(0)
    };
    let name = column(&|it| it.id.device.chars().count());
    let profile = column(&|it| {
        it.profile
            .as_ref()
            .map_or(0, |profile| profile.chars().count())
    });
    let weight = column(&|it| it.weight.to_string().chars().count());
    let mut pool = None;
    let (mut before, mut in_a_row, mut hidden) = (None::<&Stocked>, 0, 0);
    for (at, device) in devices.iter().map(|at| &menu.stock[*at]).enumerate() {
        let this = (&device.id.driver, &device.id.pool);
        let heads = pool != Some(this);
        let like = !heads && before.is_some_and(|before| alike(before, device));
        before = Some(device);
        in_a_row = if like { in_a_row + 1 } else { 1 };
        if in_a_row > IN_A_ROW && !all {
            hidden += 1;
            continue;
        }
        more(text, hidden)?;
        hidden = 0;
        if heads {
            writeln!(text, "  {}", pool_of(device))?;
            pool = Some(this);
        }
        writeln!(
            text,
            "  {:>5}  {:name$}  {:profile$}  {:weight$}  {}",
            at + 1,
            device.id.device,
            device.profile.as_deref().unwrap_or_default(),
            device.weight.to_string(),
            state(menu, device)
        )?;
    }
    more(text, hidden)
}

fn more(text: &mut String, hidden: usize) -> std::fmt::Result {
    match hidden {
        0 => Ok(()),
        hidden => writeln!(text, "         and {hidden} more like it"),
    }
}

fn pool_of(device: &Stocked) -> String {
    let node = match &device.node {
        Some(node) => format!("node {node}"),
        None => "several nodes".to_owned(),
    };
    format!(
        "{node}, driver {}, pool {}",
        device.id.driver, device.id.pool
    )
}

/// Whether a reader would call them the same.
fn alike(a: &Stocked, b: &Stocked) -> bool {
    let states = match (&a.state, &b.state) {
        (State::Short(a), State::Short(b)) => a.set == b.set,
        (State::Held(_), _) => false,
        (a, b) => a == b,
    };
    states
        && a.profile == b.profile
        && a.weight == b.weight
        && a.shares == b.shares
        && a.sets == b.sets
}

/// How a device stands, in words.
pub(super) fn state(menu: &Menu, device: &Stocked) -> String {
    let shares = match device.shares {
        0 => String::new(),
        1 => ", 1 share is out".to_owned(),
        shares => format!(", {shares} shares are out"),
    };
    match &device.state {
        State::Free => format!("free{shares}"),
        State::Held(claim) => format!("held by {}{shares}", menu.holder(claim)),
        State::Tainted(taint) => format!("only by those who tolerate {taint}{shares}"),
        State::Short(shortage) => format!(
            "not now: counter {} of {} has {} left, it needs {}",
            shortage.counter, shortage.set, shortage.left, shortage.needs
        ),
        State::Pool(note) => format!("not now: its pool is {}", note.flaw),
    }
}

fn counters(text: &mut String, menu: &Menu) -> std::fmt::Result {
    let mut sets: BTreeMap<(&str, &str, &str), Vec<&CounterLeft>> = BTreeMap::new();
    for counter in &menu.counters {
        sets.entry((&counter.driver, &counter.pool, &counter.set))
            .or_default()
            .push(counter);
    }
    if !sets.is_empty() {
        writeln!(text, "\ncounters left")?;
    }
    for ((driver, pool, set), counters) in sets {
        writeln!(text, "  {driver}, pool {pool}, set {set}")?;
        let (slices, rest): (Vec<&CounterLeft>, Vec<&CounterLeft>) = counters
            .iter()
            .partition(|counter| counter.counter.starts_with(MEMORY_SLICE));
        let mut parts: Vec<String> = rest
            .iter()
            .filter(|counter| counter.total != Quantity::ZERO)
            .map(|counter| format!("{} {} of {}", counter.counter, counter.left, counter.total))
            .collect();
        if !slices.is_empty() {
            let left = slices
                .iter()
                .filter(|slice| slice.left > Quantity::ZERO)
                .count();
            parts.push(format!("memory slices {left} of {}", slices.len()));
        }
        writeln!(text, "    {}", parts.join(", "))?;
    }
    Ok(())
}
