//! `fakegpu coverage`: what the library does, function by function.
//! Not a list kept by hand: a test of nvml-abi writes the table from the functions themselves.
//! In: filters. Out: a table for people, or JSON.

use clap::{Args, ValueEnum};
use gpu_model::driver::Driver;
use serde::Serialize;

use crate::error::Error;

const TABLE: &str = include_str!("../../abi/data/coverage.tsv");
const MODELS: &str = include_str!("../../abi/data/models.tsv");

/// Arguments of `coverage`.
#[derive(Debug, Args)]
pub(crate) struct Coverage {
    /// Only functions whose name holds this text.
    #[arg(value_name = "TEXT")]
    name: Option<String>,
    /// Only functions that this driver has.
    #[arg(long, value_name = "VERSION")]
    driver_version: Option<String>,
    /// Only this tier: T0 (to boot anything) to T5 (DCGM), - for the rest.
    #[arg(long, value_name = "TIER")]
    tier: Option<String>,
    /// How to write it.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// One function.
#[derive(Debug, Serialize)]
struct Row {
    function: &'static str,
    /// How soon a program misses it.
    tier: &'static str,
    /// `answers` from state, catalogue or system, or has `one answer` on every card.
    behaviour: &'static str,
    topic: &'static str,
    /// The first CUDA release whose nvml.h has it; 11.8 also for older ones.
    since: &'static str,
    /// On how many models of the catalogue a card answers something else than NOT_SUPPORTED; `-` where it is not about a card.
    models: &'static str,
}

fn rows() -> impl Iterator<Item = Row> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let mut cells = line.split('\t');
        let function = cells.next()?;
        let mut models = MODELS.lines().filter_map(|line| line.split_once('\t'));
        Some(Row {
            function,
            tier: cells.next()?,
            behaviour: cells.next()?,
            topic: cells.next()?,
            since: cells.next()?,
            models: models
                .find(|(name, _)| *name == function)
                .map_or("-", |(_, models)| models),
        })
    })
}

impl Coverage {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let driver = self.driver_version.as_deref().map(Driver::of);
        let rows: Vec<Row> = rows()
            .filter(|row| {
                self.name
                    .as_deref()
                    .is_none_or(|text| row.function.contains(text))
            })
            .filter(|row| driver.is_none_or(|driver| driver.has(row.function)))
            .filter(|row| self.tier.as_deref().is_none_or(|tier| row.tier == tier))
            .collect();
        if self.format == Format::Json {
            println!(
                "{}",
                serde_json::to_string_pretty(&rows).unwrap_or_default()
            );
            return Ok(());
        }
        println!(
            "{:<60} {:<4} {:<10} {:<6} {:<9} TOPIC",
            "FUNCTION", "TIER", "BEHAVIOUR", "SINCE", "MODELS"
        );
        for row in &rows {
            let Row {
                function,
                tier,
                behaviour,
                topic,
                since,
                models,
            } = row;
            println!("{function:<60} {tier:<4} {behaviour:<10} {since:<6} {models:<9} {topic}");
        }
        let answers = rows.iter().filter(|row| row.behaviour == "answers").count();
        println!(
            "\n{} functions: {answers} answer from state, catalogue or system, {} have one answer on every card",
            rows.len(),
            rows.len() - answers
        );
        Ok(())
    }
}
