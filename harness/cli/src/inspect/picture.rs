//! A picture of each card: its memory slices in a row, who holds them, and how many compute slices are held.
//! Drawn from what is published and held; what NVML has on the node is another matter (`kubectl exec … nvidia-smi`).

use std::collections::BTreeMap;
use std::fmt::Write;

use oracle::{State, Stocked};

use super::menu::Menu;

/// Characters of one memory slice.
const CELL: usize = 9;

/// A card: the devices that draw on one counter set, or a device that draws on none.
struct Card<'m> {
    title: String,
    devices: Vec<&'m Stocked>,
    /// How many memory slices it has.
    memory: u32,
}

/// The pictures.
pub(crate) fn render(menu: &Menu) -> String {
    let mut text = String::new();
    let cards = cards(menu);
    if cards.is_empty() {
        return text;
    }
    // Writing to a String cannot fail.
    let _ = writeln!(text, "\ncards");
    for card in &cards {
        let _ = draw(&mut text, menu, card);
    }
    text
}

fn cards(menu: &Menu) -> Vec<Card<'_>> {
    let mut cards: Vec<Card<'_>> = Vec::new();
    let mut by_set: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for device in &menu.stock {
        let id = &device.id;
        let product = device.product.as_deref().unwrap_or("a device");
        let place = device.node.as_deref().unwrap_or(&id.pool);
        let Some(set) = device.sets.first() else {
            cards.push(Card {
                title: format!("{place}  {}  {product}", id.device),
                devices: vec![device],
                memory: 0,
            });
            continue;
        };
        let at = *by_set
            .entry((&id.driver, &id.pool, set))
            .or_insert_with(|| {
                cards.push(Card {
                    title: format!("{place}  {set}  {product}"),
                    devices: Vec::new(),
                    memory: 0,
                });
                cards.len() - 1
            });
        let card = &mut cards[at];
        card.devices.push(device);
        let last = device.memory_slices.last().map_or(0, |last| last + 1);
        card.memory = card.memory.max(last);
    }
    cards
}

fn draw(text: &mut String, menu: &Menu, card: &Card<'_>) -> std::fmt::Result {
    let held: Vec<(&Stocked, String)> = card
        .devices
        .iter()
        .filter_map(|device| match &device.state {
            State::Held(claim) => Some((*device, menu.short_holder(claim))),
            _ => None,
        })
        .collect();
    writeln!(text, "  {}", card.title)?;
    if card.memory == 0 {
        return match held.first() {
            Some((device, _)) => writeln!(text, "    {}", super::table::state(menu, device)),
            None => match card.devices.first() {
                Some(device) => writeln!(text, "    {}", super::table::state(menu, device)),
                None => Ok(()),
            },
        };
    }
    let owner = |slice: u32| {
        held.iter()
            .position(|(device, _)| device.memory_slices.contains(&slice))
    };
    let mut pieces: Vec<(Option<usize>, usize)> = Vec::new();
    for slice in 0..card.memory {
        let this = owner(slice);
        match pieces.last_mut() {
            Some((last, count)) if this.is_some() && *last == this => *count += 1,
            _ => pieces.push((this, 1)),
        }
    }
    let width = |count: usize| count * CELL + count - 1;
    let row = |of: &dyn Fn(Option<usize>) -> String| {
        let cells: Vec<String> = pieces
            .iter()
            .map(|(owner, count)| cell(&of(*owner), width(*count)))
            .collect();
        format!("|{}|", cells.join("|"))
    };
    let numbers: Vec<String> = (0..card.memory)
        .map(|slice| cell(&slice.to_string(), CELL))
        .collect();
    let line: Vec<String> = pieces
        .iter()
        .map(|(_, count)| "-".repeat(width(*count)))
        .collect();
    let line = format!("+{}+", line.join("+"));
    let profile = |owner: Option<usize>| match owner.map(|at| held[at].0) {
        None => String::new(),
        Some(device) => device.profile.as_deref().unwrap_or("whole card").to_owned(),
    };
    let holder = |owner: Option<usize>| owner.map_or(String::new(), |at| held[at].1.clone());
    writeln!(text, "    memory    {}", numbers.join(" ").trim_end())?;
    writeln!(text, "             {line}")?;
    writeln!(text, "             {}", row(&profile))?;
    writeln!(text, "             {}", row(&holder))?;
    writeln!(text, "             {line}")?;
    compute(text, card, &held)
}

fn compute(text: &mut String, card: &Card<'_>, held: &[(&Stocked, String)]) -> std::fmt::Result {
    let all = card
        .devices
        .iter()
        .filter_map(|device| device.weight.compute)
        .max();
    let taken: Option<u32> = held.iter().map(|(device, _)| device.weight.compute).sum();
    match (all, taken) {
        (Some(all), Some(taken)) => {
            let boxes: String = (0..all)
                .map(|at| if at < taken { "[#]" } else { "[ ]" })
                .collect();
            writeln!(text, "    compute  {boxes}  {taken} of {all} held")
        }
        _ => writeln!(text, "    compute  unknown"),
    }
}

/// A text in the middle of so many characters, cut where it is longer.
fn cell(text: &str, width: usize) -> String {
    let length = text.chars().count();
    let shown: String = if length > width {
        text.chars()
            .take(width.saturating_sub(1))
            .chain(['~'])
            .collect()
    } else {
        text.to_owned()
    };
    format!("{shown:^width$}")
}
