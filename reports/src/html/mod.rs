//! `report.html`: one file, no script, nothing fetched from anywhere.
//! Not here: any judgement; the page shows [`Results`] as they are.
//! Data comes from the recorder and goes into one template.

pub(crate) mod chart;
mod map;

use minijinja::{AutoEscape, Environment, context};
use serde::Serialize;

use crate::event::{EnvironmentKind, Outcome, RunEnd};
use crate::{Results, ScenarioResult, human};

const TEMPLATE: &str = include_str!("report.html");

#[derive(Serialize)]
struct Feature<'a> {
    name: &'a str,
    about: &'a str,
    file: &'a str,
    scenarios: Vec<Scenario<'a>>,
}

#[derive(Serialize)]
struct Scenario<'a> {
    anchor: String,
    record: &'a ScenarioResult,
    outcome: &'static str,
    took: String,
    maps: Vec<map::CardMap>,
    charts: Vec<Charted<'a>>,
    stray: bool,
    steps: Vec<Step<'a>>,
    failure: Vec<String>,
    note: Option<String>,
}

#[derive(Serialize)]
struct Charted<'a> {
    title: &'a str,
    drawing: chart::Drawing,
}

#[derive(Serialize)]
struct Step<'a> {
    number: usize,
    keyword: &'a str,
    text: &'a str,
    block: Option<&'a str>,
    line: usize,
    background: bool,
    outcome: &'static str,
    took: String,
    share: f64,
    failure: Vec<String>,
}

/// The run as one self-contained page.
///
/// # Errors
/// A template that does not fit the data: a bug of this crate.
pub fn document(results: &Results) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("report", TEMPLATE)?;
    let (verdict, word) = match &results.end {
        RunEnd::Passed => ("passed", "Passed"),
        RunEnd::Failed => ("failed", "Failed"),
        RunEnd::Interrupted => ("not-run", "Interrupted"),
        RunEnd::NothingRan => ("not-run", "Nothing ran"),
        RunEnd::Broken { .. } => ("failed", "Could not run"),
    };
    let broken = match &results.end {
        RunEnd::Broken { message } => Some(message.as_str()),
        _ => None,
    };
    let phases: Vec<_> = results
        .phases
        .iter()
        .map(|phase| context! { phase => phase.phase, outcome => class(phase.outcome), detail => phase.detail, took => human(phase.millis) })
        .collect();
    environment.get_template("report")?.render(context! {
        results => results,
        verdict => verdict,
        word => word,
        broken => broken,
        mock => results.environment.kind == EnvironmentKind::Mock,
        started => results.started.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        took => human(results.millis),
        phases => phases,
        features => features(results),
    })
}

fn features(results: &Results) -> Vec<Feature<'_>> {
    let mut features: Vec<Feature<'_>> = Vec::new();
    for (index, record) in results.scenarios.iter().enumerate() {
        let fits = features
            .last()
            .is_some_and(|last| last.file == record.file && last.name == record.feature);
        if !fits {
            features.push(Feature {
                name: &record.feature,
                about: &record.about,
                file: &record.file,
                scenarios: Vec::new(),
            });
        }
        if let Some(feature) = features.last_mut() {
            feature.scenarios.push(scenario(index, record));
        }
    }
    features
}

fn scenario(index: usize, record: &ScenarioResult) -> Scenario<'_> {
    let longest = record
        .steps
        .iter()
        .map(|step| step.millis)
        .max()
        .unwrap_or(0)
        .max(1);
    Scenario {
        anchor: format!("s{}", index + 1),
        outcome: class(record.outcome),
        took: human(record.millis),
        maps: map::of(record),
        charts: record
            .tables
            .iter()
            .filter_map(|table| {
                let drawing = chart::of(table.chart.as_ref()?)?;
                let title = table.title.as_str();
                Some(Charted { title, drawing })
            })
            .collect(),
        stray: record
            .steps
            .iter()
            .filter_map(|step| step.picture.as_ref())
            .flat_map(|picture| &picture.nodes)
            .flat_map(|node| &node.cards)
            .any(|card| {
                card.partitions
                    .iter()
                    .any(|partition| partition.pod.is_none())
            }),
        steps: record
            .steps
            .iter()
            .enumerate()
            .map(|(index, step)| Step {
                number: index + 1,
                keyword: &step.keyword,
                text: &step.text,
                block: step.block.as_deref(),
                line: step.line,
                background: step.background,
                outcome: class(step.outcome),
                took: if step.outcome == Outcome::NotRun {
                    String::new()
                } else {
                    human(step.millis)
                },
                share: percent(step.millis, longest),
                failure: step
                    .failure
                    .as_ref()
                    .map(crate::Failure::lines)
                    .unwrap_or_default(),
            })
            .collect(),
        failure: record
            .failure
            .as_ref()
            .map(crate::Failure::lines)
            .unwrap_or_default(),
        note: record.note(),
        record,
    }
}

#[allow(clippy::cast_precision_loss, reason = "a width in a picture")]
fn percent(part: u64, whole: u64) -> f64 {
    (part as f64 / whole as f64 * 1000.0).round() / 10.0
}

fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "failed",
        Outcome::NotRun => "not-run",
        Outcome::ExpectedFailure => "expected-failure",
        Outcome::Varied => "varied",
    }
}
