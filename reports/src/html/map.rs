//! Geometry of the card map: a row for each memory slice, a column for each step, a block for each partition
//! from the step after which it was there to the last one that still saw it.

use serde::Serialize;

use crate::ScenarioResult;
use crate::event::{Card, Picture};

/// Columns share this width, within the two limits below; what is wider still scrolls.
const PAGE: u32 = 1060;
const NARROW: u32 = 92;
const WIDE: u32 = 118;
const ROW: u32 = 26;
const LEFT: u32 = 34;
const TOP: u32 = 22;
const GAP: u32 = 3;

/// The map of one card through one scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct CardMap {
    title: String,
    width: u32,
    height: u32,
    rows: Vec<Row>,
    columns: Vec<Column>,
    blocks: Vec<Block>,
    waits: Vec<Block>,
    waits_y: u32,
    middle: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Row {
    label: String,
    y: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Column {
    label: String,
    x: u32,
}

/// A rectangle with up to two lines of text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Block {
    x: u32,
    y: u32,
    width: u32,
    height: u32,
    class: String,
    name: String,
    holder: String,
    hover: String,
    two_lines: bool,
}

/// What a block stands for: equal in two neighbouring columns, it is one block.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    start: u32,
    size: u32,
    class: String,
    name: String,
    holder: String,
    hover: String,
}

/// One map for each card that the scenario saw, in the order of node and index.
pub(super) fn of(scenario: &ScenarioResult) -> Vec<CardMap> {
    let pictures: Vec<(usize, &Picture)> = scenario
        .steps
        .iter()
        .enumerate()
        .filter_map(|(step, result)| Some((step + 1, result.picture.as_ref()?)))
        .collect();
    let mut cards: Vec<(String, u32)> = Vec::new();
    for (_, picture) in &pictures {
        for node in &picture.nodes {
            for card in &node.cards {
                let key = (node.node.clone(), card.index);
                if !cards.contains(&key) {
                    cards.push(key);
                }
            }
        }
    }
    cards.sort();
    let last = cards.len().saturating_sub(1);
    cards
        .iter()
        .enumerate()
        .filter_map(|(position, (node, index))| {
            let seen: Vec<(usize, &Picture, Option<&Card>)> = pictures
                .iter()
                .map(|(step, picture)| (*step, *picture, find(picture, node, *index)))
                .collect();
            // Pods that wait belong to no card; they are drawn once, below the last one.
            map(node, &seen, position == last)
        })
        .collect()
}

fn find<'a>(picture: &'a Picture, node: &str, index: u32) -> Option<&'a Card> {
    picture
        .nodes
        .iter()
        .find(|it| it.node == node)?
        .cards
        .iter()
        .find(|card| card.index == index)
}

fn map(
    node: &str,
    seen: &[(usize, &Picture, Option<&Card>)],
    with_waiting: bool,
) -> Option<CardMap> {
    let card = seen.iter().find_map(|(_, _, card)| *card)?;
    let rows_of = card.memory_slices.max(1);
    let wide = column_width(seen.len());
    let columns: Vec<Column> = seen
        .iter()
        .enumerate()
        .map(|(column, (step, _, _))| Column {
            label: format!("step {step}"),
            x: x_of(column, wide),
        })
        .collect();
    let rows = (0..rows_of)
        .map(|row| Row {
            label: if card.memory_slices == 0 {
                String::new()
            } else {
                row.to_string()
            },
            y: TOP + row * ROW,
        })
        .collect();
    let pieces: Vec<Vec<Piece>> = seen
        .iter()
        .map(|(_, _, card)| card.map(|card| pieces(card, rows_of)).unwrap_or_default())
        .collect();
    let blocks = merge(&pieces, wide, |piece| {
        (TOP + piece.start * ROW, piece.size * ROW)
    });
    let waiting: Vec<Vec<Piece>> = if with_waiting {
        seen.iter()
            .map(|(_, picture, _)| {
                picture
                    .waiting
                    .iter()
                    .enumerate()
                    .map(|(row, waiting)| Piece {
                        start: u32::try_from(row).unwrap_or(0),
                        size: 1,
                        class: "waits".to_owned(),
                        name: waiting.asks.clone(),
                        holder: waiting.pod.clone(),
                        hover: format!("{} waits: {}", waiting.pod, waiting.why),
                    })
                    .collect()
            })
            .collect()
    } else {
        Vec::new()
    };
    let waits_y = TOP + rows_of * ROW + 18;
    let waits = merge(&waiting, wide, |piece| (waits_y + piece.start * ROW, ROW));
    let waits_rows = waiting.iter().map(Vec::len).max().unwrap_or(0);
    let below = if waits_rows == 0 {
        6
    } else {
        22 + u32::try_from(waits_rows).unwrap_or(0) * ROW
    };
    Some(CardMap {
        title: format!("{node} · card {} · {}", card.index, card.model),
        width: x_of(seen.len(), wide) + 4,
        height: TOP + rows_of * ROW + below,
        rows,
        columns,
        blocks,
        waits_y,
        middle: wide / 2,
        waits,
    })
}

/// How wide a column is where there are so many.
fn column_width(columns: usize) -> u32 {
    ((PAGE - LEFT) / u32::try_from(columns.max(1)).unwrap_or(1)).clamp(NARROW, WIDE)
}

fn x_of(column: usize, width: u32) -> u32 {
    LEFT + u32::try_from(column).unwrap_or(0) * width
}

fn pieces(card: &Card, rows: u32) -> Vec<Piece> {
    if let Some(pod) = &card.whole {
        return vec![Piece {
            start: 0,
            size: rows,
            class: "whole".to_owned(),
            name: "whole card".to_owned(),
            holder: pod.clone(),
            hover: format!("{} ({}) held whole by {pod}", card.model, card.uuid),
        }];
    }
    card.partitions
        .iter()
        .map(|partition| {
            let holder = partition.pod.clone().unwrap_or_default();
            let held = partition.pod.as_ref().map_or_else(
                || "held by nobody".to_owned(),
                |pod| format!("held by {pod}"),
            );
            Piece {
                start: partition.start,
                size: partition.size,
                class: if partition.pod.is_some() {
                    size_class(&partition.profile)
                } else {
                    "stray".to_owned()
                },
                name: partition.profile.clone(),
                holder,
                hover: format!(
                    "{} at memory slices {}-{}, GPU instance {}, {held}",
                    partition.profile,
                    partition.start,
                    partition.start + partition.size.saturating_sub(1),
                    partition.gpu_instance,
                ),
            }
        })
        .collect()
}

/// `1g.10gb+me` → `g1`.
fn size_class(profile: &str) -> String {
    let compute: String = profile.chars().take_while(char::is_ascii_digit).collect();
    format!("g{compute}")
}

fn merge(columns: &[Vec<Piece>], wide: u32, place: impl Fn(&Piece) -> (u32, u32)) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (column, pieces) in columns.iter().enumerate() {
        for piece in pieces {
            let continues = column > 0 && columns[column - 1].contains(piece);
            if continues {
                continue;
            }
            let until = (column..columns.len())
                .take_while(|at| columns[*at].contains(piece))
                .last()
                .unwrap_or(column);
            let (y, height) = place(piece);
            blocks.push(Block {
                x: x_of(column, wide) + GAP,
                y: y + GAP / 2,
                width: u32::try_from(until - column + 1).unwrap_or(1) * wide - 2 * GAP,
                height: height - GAP,
                class: piece.class.clone(),
                name: piece.name.clone(),
                holder: piece.holder.clone(),
                hover: piece.hover.clone(),
                two_lines: height > ROW && until == column,
            });
        }
    }
    blocks
}
