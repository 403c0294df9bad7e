//! The same scenarios on several clusters, side by side.
//! Not here: how the runs are made. Results come in, a table goes out.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::event::{Outcome, RunEnd};
use crate::record::Results;

/// A table: a row for each scenario, a column for each run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Matrix {
    /// The runs, in the order in which they were made.
    pub columns: Vec<Column>,
    /// The scenarios, in the order in which they were first met.
    pub rows: Vec<Row>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    /// What it ran on: `1.37 default`.
    pub name: String,
    /// How it ended; `None` where it left no results.
    pub end: Option<RunEnd>,
    /// Version of each real program, by component name.
    pub components: BTreeMap<String, String>,
}

/// A scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Its stable name.
    pub id: String,
    /// How it ended, for each column.
    pub cells: Vec<Cell>,
}

/// How a scenario ended in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// The outcome; what a run does not know was not run.
    pub outcome: Outcome,
    /// Why it was not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Matrix {
    /// The table of these runs; a run without results is a column in which nothing ran.
    #[must_use]
    pub fn of(runs: &[(String, Option<Results>)]) -> Self {
        let mut ids: Vec<&str> = Vec::new();
        for scenario in runs
            .iter()
            .flat_map(|(_, run)| run)
            .flat_map(|run| &run.scenarios)
        {
            if !ids.contains(&scenario.id.as_str()) {
                ids.push(&scenario.id);
            }
        }
        let cell = |id: &str, run: &Option<Results>| {
            let found = run
                .iter()
                .flat_map(|run| &run.scenarios)
                .find(|it| it.id == id);
            match found {
                Some(scenario) => Cell {
                    outcome: scenario.outcome,
                    reason: scenario.left_out.clone().or_else(|| scenario.note()),
                },
                None => Cell {
                    outcome: Outcome::NotRun,
                    reason: Some("the run left no result".to_owned()),
                },
            }
        };
        Self {
            columns: runs
                .iter()
                .map(|(name, run)| Column {
                    name: name.clone(),
                    end: run.as_ref().map(|run| run.end.clone()),
                    components: run
                        .as_ref()
                        .map(|run| run.environment.components.clone())
                        .unwrap_or_default(),
                })
                .collect(),
            rows: ids
                .into_iter()
                .map(|id| Row {
                    id: id.to_owned(),
                    cells: runs.iter().map(|(_, run)| cell(id, run)).collect(),
                })
                .collect(),
        }
    }

    /// The table as Markdown, which people can read as it stands: outcomes, then the reasons by number.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut reasons: Vec<&str> = Vec::new();
        let mut lines: Vec<Vec<String>> = vec![Vec::new(), Vec::new()];
        lines[0].push("scenario".to_owned());
        lines[0].extend(self.columns.iter().map(|column| column.name.clone()));
        for row in &self.rows {
            let mut line = vec![row.id.clone()];
            for cell in &row.cells {
                let word = match cell.outcome {
                    Outcome::Failed => "FAILED",
                    other => other.word(),
                };
                let number = cell.reason.as_deref().map(|reason| {
                    let at = reasons.iter().position(|known| *known == reason);
                    at.unwrap_or_else(|| {
                        reasons.push(reason);
                        reasons.len() - 1
                    }) + 1
                });
                line.push(number.map_or(word.to_owned(), |number| format!("{word} ({number})")));
            }
            lines.push(line);
        }
        let width = |column: usize| {
            lines
                .iter()
                .filter_map(|line| line.get(column))
                .map(|text| text.chars().count())
                .max()
        };
        let widths: Vec<usize> = (0..=self.columns.len())
            .map(|column| width(column).unwrap_or(0))
            .collect();
        lines[1] = widths.iter().map(|width| "-".repeat(*width)).collect();
        let mut text = String::new();
        for line in lines {
            let cells: Vec<String> = line
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:<width$}"))
                .collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        for (at, reason) in reasons.iter().enumerate() {
            let _ = write!(text, "\n({}) {reason}", at + 1);
        }
        if !reasons.is_empty() {
            text.push('\n');
        }
        text
    }
}
