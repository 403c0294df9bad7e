//! A feature file as values: parsed by the `gherkin` crate, with the places that it leaves out, and with each
//! outline unfolded into its examples.

use std::collections::BTreeSet;
use std::sync::Arc;

use gherkin::{GherkinEnv, StepType};

use crate::finding::Finding;
use crate::source::SourceFile;

/// A parsed feature.
#[derive(Debug, Clone)]
pub struct Feature {
    /// Its file.
    pub file: Arc<SourceFile>,
    /// Its name.
    pub name: String,
    /// Text below the name.
    pub about: String,
    /// Line of the name, from 1.
    pub line: usize,
    /// Place of the name.
    pub span: (usize, usize),
    /// Scenarios and unfolded outlines, in order.
    pub scenarios: Vec<Scenario>,
}

/// A scenario, or one example of an outline.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// File, name and example: unique where the lint is content.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Name of the feature.
    pub feature: String,
    /// Text below the name of the feature.
    pub about: String,
    /// Its file.
    pub file: Arc<SourceFile>,
    /// Line of the name, from 1.
    pub line: usize,
    /// Place of the name.
    pub span: (usize, usize),
    /// Tags with their `@`, inherited ones first.
    pub tags: Vec<String>,
    /// Steps, those of the background first.
    pub steps: Vec<Step>,
}

/// A step.
#[derive(Debug, Clone)]
pub struct Step {
    /// As written.
    pub keyword: String,
    /// What `And` and `But` stand for.
    pub ty: StepType,
    /// The rest of the line.
    pub text: String,
    /// What hangs below it.
    pub block: Option<Block>,
    /// Line, from 1.
    pub line: usize,
    /// Place of the line, without indentation.
    pub span: (usize, usize),
    /// Comes from the background.
    pub background: bool,
}

/// What hangs below a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// A table: header row, then rows of the same width.
    Table {
        /// Header row.
        header: Vec<String>,
        /// The other rows.
        rows: Vec<Vec<String>>,
    },
    /// A doc string.
    Doc(String),
}

impl Block {
    /// As text.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Doc(text) => text.clone(),
            Self::Table { header, rows } => {
                let all: Vec<&Vec<String>> = std::iter::once(header).chain(rows).collect();
                let width = |column: usize| {
                    all.iter()
                        .filter_map(|row| row.get(column))
                        .map(|cell| cell.chars().count())
                        .max()
                        .unwrap_or(0)
                };
                all.iter()
                    .map(|row| {
                        let cells: Vec<String> = row
                            .iter()
                            .enumerate()
                            .map(|(at, cell)| format!("{cell:<width$}", width = width(at)))
                            .collect();
                        format!("| {} |", cells.join(" | "))
                    })
                    .collect::<Vec<_>>()
                    .join("\n")
            }
        }
    }
}

/// Parses `file`. Rules about single lines have been checked before (`lint::lines`).
pub(crate) fn parse(file: &Arc<SourceFile>) -> Result<Feature, Vec<Finding>> {
    let parsed = gherkin::Feature::parse(&file.text, GherkinEnv::default())
        .map_err(|error| vec![unparsed(file, &error.to_string())])?;
    let mut findings = Vec::new();
    let span = place(file, parsed.span.start);
    let about = parsed
        .description
        .clone()
        .unwrap_or_default()
        .lines()
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" ");
    let mut feature = Feature {
        file: Arc::clone(file),
        name: parsed.name.clone(),
        about,
        line: file.line_at(span.0),
        span,
        scenarios: Vec::new(),
    };
    let context = parsed
        .background
        .as_ref()
        .map(|background| background.steps.as_slice())
        .unwrap_or_default();
    let tags = marked(&parsed.tags);
    for scenario in &parsed.scenarios {
        unfold(&mut feature, &tags, &[context], scenario, &mut findings);
    }
    for rule in &parsed.rules {
        let inner = rule
            .background
            .as_ref()
            .map(|background| background.steps.as_slice())
            .unwrap_or_default();
        let tags: Vec<String> = tags.iter().cloned().chain(marked(&rule.tags)).collect();
        for scenario in &rule.scenarios {
            unfold(
                &mut feature,
                &tags,
                &[context, inner],
                scenario,
                &mut findings,
            );
        }
    }
    if findings.is_empty() {
        Ok(feature)
    } else {
        Err(findings)
    }
}

fn marked(tags: &[String]) -> Vec<String> {
    tags.iter().map(|tag| format!("@{tag}")).collect()
}

fn unparsed(file: &Arc<SourceFile>, error: &str) -> Finding {
    // The parser keeps the position to itself and prints `Error at LINE:COL: {"expected", …}`.
    let line = error
        .split([' ', ':'])
        .find_map(|word| word.parse::<usize>().ok())
        .unwrap_or(1);
    let start = file
        .text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum::<usize>();
    let start = start.min(file.text.len().saturating_sub(1));
    Finding::new("gherkin", file, place(file, start), "this is not Gherkin")
        .label("the parser stopped here")
        .help("a file holds one Feature with a name; below it Background, Scenario and Scenario Outline with steps that start with Given, When, Then, And or But")
}

/// The line that really holds what the parser found from `offset` on: it counts blank lines and comments in.
pub(crate) fn place(file: &Arc<SourceFile>, offset: usize) -> (usize, usize) {
    let mut start = offset.min(file.text.len());
    loop {
        let rest = &file.text[start..];
        let skipped = rest.len() - rest.trim_start().len();
        start += skipped;
        let rest = &file.text[start..];
        if !rest.starts_with('#') {
            let line = rest.lines().next().unwrap_or_default().trim_end();
            return (start, line.len().max(1));
        }
        start += rest.find('\n').map_or(rest.len(), |at| at + 1);
    }
}

fn unfold(
    feature: &mut Feature,
    tags: &[String],
    backgrounds: &[&[gherkin::Step]],
    scenario: &gherkin::Scenario,
    findings: &mut Vec<Finding>,
) {
    let file = Arc::clone(&feature.file);
    let span = place(&file, scenario.span.start);
    let tags: Vec<String> = tags.iter().cloned().chain(marked(&scenario.tags)).collect();
    let outline = scenario.keyword.contains("Outline") || scenario.keyword.contains("Template");
    let context: Vec<Step> = backgrounds
        .iter()
        .flat_map(|steps| steps.iter())
        .map(|step| step_of(&file, step, true))
        .collect();
    let own: Vec<Step> = scenario
        .steps
        .iter()
        .map(|step| step_of(&file, step, false))
        .collect();
    let push =
        |feature: &mut Feature, name: String, id: String, tags: Vec<String>, own: Vec<Step>| {
            feature.scenarios.push(Scenario {
                id,
                name,
                feature: feature.name.clone(),
                about: feature.about.clone(),
                file: Arc::clone(&file),
                line: file.line_at(span.0),
                span,
                tags,
                steps: context.iter().cloned().chain(own).collect(),
            });
        };
    if scenario.examples.is_empty() {
        if outline {
            findings.push(
                Finding::new(
                    "outline-without-examples",
                    &file,
                    span,
                    format!("the outline {:?} has no Examples", scenario.name),
                )
                .help("add `Examples:` with a table below it, or write `Scenario:`"),
            );
            return;
        }
        let id = format!("{}::{}", file.id, scenario.name);
        push(feature, scenario.name.clone(), id, tags, own);
        return;
    }
    let mut number = 0;
    let mut used: BTreeSet<String> = BTreeSet::new();
    for examples in &scenario.examples {
        let place_of = place(&file, examples.span.start);
        let Some((header, rows)) = examples
            .table
            .as_ref()
            .and_then(|table| table.rows.split_first())
            .filter(|(_, rows)| !rows.is_empty())
        else {
            findings.push(
                Finding::new("examples-without-rows", &file, place_of, "these Examples have no row, so nothing would run")
                    .help("below `Examples:` stands a table: a row with the names, then a row for each example"),
            );
            continue;
        };
        for row in rows {
            number += 1;
            let values: Vec<(&str, &str)> = header
                .iter()
                .map(String::as_str)
                .zip(row.iter().map(String::as_str))
                .collect();
            let fill = |text: &str, used: &mut BTreeSet<String>| fill(text, &values, used);
            let name = fill(&scenario.name, &mut used);
            let name = if name == scenario.name {
                format!("{name} ({})", row.join(", "))
            } else {
                name
            };
            let mut steps = Vec::new();
            for step in &own {
                let mut step = step.clone();
                step.text = fill(&step.text, &mut used);
                step.block = step.block.map(|block| match block {
                    Block::Doc(text) => Block::Doc(fill(&text, &mut used)),
                    Block::Table { header, rows } => Block::Table {
                        header,
                        rows: rows
                            .iter()
                            .map(|row| row.iter().map(|cell| fill(cell, &mut used)).collect())
                            .collect(),
                    },
                });
                // Reported once, at the first example: the next rows would say the same.
                if number == 1
                    && let Some(unknown) = placeholder(&step.text)
                {
                    let known = header.join(", ");
                    findings.push(
                        Finding::new(
                            "unknown-placeholder",
                            &file,
                            step.span,
                            format!("<{unknown}> is not a column of the Examples"),
                        )
                        .help(format!("the columns are: {known}")),
                    );
                }
                steps.push(step);
            }
            let tags: Vec<String> = tags.iter().cloned().chain(marked(&examples.tags)).collect();
            let id = format!("{}::{name}", file.id);
            push(feature, name, id, tags, steps);
        }
        for column in header.iter().filter(|column| !used.contains(*column)) {
            findings.push(
                Finding::new(
                    "unused-column",
                    &file,
                    place_of,
                    format!("no step uses the column {column:?} of these Examples"),
                )
                .help(format!("write <{column}> in a step, or drop the column")),
            );
        }
    }
}

fn step_of(file: &Arc<SourceFile>, step: &gherkin::Step, background: bool) -> Step {
    let span = place(file, step.span.start);
    let block = match (&step.table, &step.docstring) {
        (Some(table), _) => table.rows.split_first().map(|(header, rows)| Block::Table {
            header: header.clone(),
            rows: rows.to_vec(),
        }),
        (None, Some(doc)) => Some(Block::Doc(doc.trim_matches('\n').to_owned())),
        (None, None) => None,
    };
    Step {
        keyword: step.keyword.trim().to_owned(),
        ty: step.ty,
        text: step.value.trim().to_owned(),
        block,
        line: file.line_at(span.0),
        span,
        background,
    }
}

fn fill(text: &str, values: &[(&str, &str)], used: &mut BTreeSet<String>) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| {
        let mark = format!("<{name}>");
        if text.contains(&mark) {
            used.insert((*name).to_owned());
            text.replace(&mark, value)
        } else {
            text
        }
    })
}

/// A `<name>` that is left after filling in.
fn placeholder(text: &str) -> Option<&str> {
    let start = text.find('<')?;
    let end = text[start..].find('>')? + start;
    let name = &text[start + 1..end];
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || c == '_' || c == '-' || c == ' ');
    is_name.then_some(name)
}
