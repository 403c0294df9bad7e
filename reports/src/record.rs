//! The run as one value, folded from its events. `results.json` is this value; JUnit and HTML are made from it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{
    Environment, EnvironmentKind, Event, Failure, Frequency, Outcome, Picture, RunEnd, Table,
    Unplayed, What,
};

/// Version of the results format. `reports/schema/results.schema.json` describes it.
pub const RESULTS_SCHEMA: u32 = 2;

/// A finished run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// [`RESULTS_SCHEMA`] of the writer.
    pub schema: u32,
    /// Name of the run.
    pub run: String,
    /// What was asked for.
    pub command: String,
    /// When it started (RFC 3339, UTC).
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// How long it took, in milliseconds.
    pub millis: u64,
    /// How it ended.
    pub end: RunEnd,
    /// Exit code of the program.
    pub exit_code: u8,
    /// What it ran on.
    pub environment: Environment,
    /// Counts over [`Results::scenarios`].
    pub totals: Totals,
    /// Work around the scenarios.
    pub phases: Vec<PhaseResult>,
    /// Every selected scenario, in order.
    pub scenarios: Vec<ScenarioResult>,
    /// Things worth knowing that changed no result.
    pub notices: Vec<String>,
    /// Public reports that lists beside the scenarios name and no scenario plays.
    #[serde(default)]
    pub unplayed: Vec<Unplayed>,
}

/// Counts of scenarios.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Executed and as specified.
    pub passed: usize,
    /// Executed and not as specified.
    pub failed: usize,
    /// Selected but never executed.
    pub not_run: usize,
    /// Executed and wrong as expected.
    #[serde(default)]
    pub expected_failures: usize,
    /// Tried several times, without judgement.
    #[serde(default)]
    pub varied: usize,
    /// Read but not selected.
    pub unselected: usize,
}

/// Work around the scenarios.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseResult {
    /// Its name.
    pub phase: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What came out, one line.
    pub detail: String,
    /// How long it took, in milliseconds.
    pub millis: u64,
}

/// One scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioResult {
    /// Stable name: file, scenario, example.
    pub id: String,
    /// Name of the feature.
    pub feature: String,
    /// What the feature says about itself.
    pub about: String,
    /// Name of the scenario.
    pub name: String,
    /// File.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Tags, with their `@`.
    pub tags: Vec<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// When it started, in milliseconds after the run did.
    pub started_ms: Option<u64>,
    /// How long it took, in milliseconds.
    pub millis: u64,
    /// Steps, those of the background first.
    pub steps: Vec<StepResult>,
    /// Why it failed, where no step did.
    pub failure: Option<Failure>,
    /// Folder with the evidence, relative to the run folder.
    pub evidence: Option<String>,
    /// What the cluster lacked, where it was not run for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// How often it held, where it was tried several times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<Frequency>,
    /// What it tells in numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Table>,
}

impl ScenarioResult {
    /// What stands behind an outcome that is neither passed nor failed: the mark of an expected failure, a frequency.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        match (self.outcome, self.frequency) {
            (Outcome::ExpectedFailure, _) => {
                let mark = self
                    .tags
                    .iter()
                    .find_map(|tag| tag.strip_prefix("@expected-fail:"));
                mark.map(|mark| match mark.strip_suffix("-unreported") {
                    Some(program) => format!("{program}, in no public report that is known"),
                    None => mark.to_owned(),
                })
            }
            (_, Some(often)) => Some(format!("held in {} of {} tries", often.held, often.tries)),
            _ => None,
        }
    }

    /// The step that failed, with its failure; or the failure of the scenario itself.
    #[must_use]
    pub fn why(&self) -> Option<(Option<&StepResult>, &Failure)> {
        self.steps
            .iter()
            .find_map(|step| step.failure.as_ref().map(|failure| (Some(step), failure)))
            .or_else(|| self.failure.as_ref().map(|failure| (None, failure)))
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepResult {
    /// As written.
    pub keyword: String,
    /// The rest of the line.
    pub text: String,
    /// Table or doc string below it.
    pub block: Option<String>,
    /// Line, from 1.
    pub line: usize,
    /// Comes from the background.
    pub background: bool,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took, in milliseconds.
    pub millis: u64,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// What was on the cards after it.
    pub picture: Option<Picture>,
}

/// Folds events into [`Results`].
#[derive(Debug, Clone)]
pub struct Recorder {
    results: Results,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            results: Results {
                schema: RESULTS_SCHEMA,
                run: String::new(),
                command: String::new(),
                started: Timestamp::UNIX_EPOCH,
                millis: 0,
                end: RunEnd::NothingRan,
                exit_code: 4,
                environment: Environment {
                    kind: EnvironmentKind::Mock,
                    backend: String::new(),
                    sliceproof: String::new(),
                    machine: std::collections::BTreeMap::new(),
                    components: std::collections::BTreeMap::new(),
                },
                totals: Totals::default(),
                phases: Vec::new(),
                scenarios: Vec::new(),
                notices: Vec::new(),
                unplayed: Vec::new(),
            },
        }
    }
}

impl Recorder {
    /// Takes one event.
    pub fn on(&mut self, event: &Event) {
        let results = &mut self.results;
        match &event.what {
            What::RunStarted(start) => {
                results.run.clone_from(&start.run);
                results.command.clone_from(&start.command);
                results.started = event.at;
                results.environment = start.environment.clone();
                results.totals.unselected = start.unselected;
                results.unplayed.clone_from(&start.unplayed);
                results.scenarios = start
                    .scenarios
                    .iter()
                    .map(ScenarioResult::planned)
                    .collect();
            }
            What::EnvironmentKnown(environment) => results.environment = environment.clone(),
            What::PhaseFinished {
                phase,
                outcome,
                detail,
                millis,
            } => results.phases.push(PhaseResult {
                phase: phase.clone(),
                outcome: *outcome,
                detail: detail.clone(),
                millis: *millis,
            }),
            What::ScenarioStarted { scenario } => {
                if let Some(scenario) = results.scenarios.get_mut(*scenario) {
                    // One that is tried several times began with the first try, and keeps nothing of it.
                    scenario.started_ms.get_or_insert(event.elapsed_ms);
                    for step in &mut scenario.steps {
                        (step.outcome, step.failure, step.picture) = (Outcome::NotRun, None, None);
                    }
                }
            }
            What::StepFinished {
                scenario,
                step,
                outcome,
                millis,
                failure,
            } => {
                if let Some(step) = step_mut(results, *scenario, *step) {
                    step.outcome = *outcome;
                    step.millis = *millis;
                    step.failure.clone_from(failure);
                }
            }
            What::PictureTaken {
                scenario,
                step,
                picture,
            } => {
                if let Some(step) = step_mut(results, *scenario, *step) {
                    step.picture = Some(picture.clone());
                }
            }
            What::TableKept { scenario, table } => {
                if let Some(scenario) = results.scenarios.get_mut(*scenario) {
                    scenario.tables.push(table.clone());
                }
            }
            What::ScenarioLeftOut { scenario, reason } => {
                if let Some(scenario) = results.scenarios.get_mut(*scenario) {
                    scenario.left_out = Some(reason.clone());
                }
            }
            What::EvidenceKept {
                scenario, folder, ..
            } => {
                if let Some(scenario) = results.scenarios.get_mut(*scenario) {
                    scenario.evidence = Some(folder.clone());
                }
            }
            What::ScenarioFinished {
                scenario,
                outcome,
                millis,
                failure,
                frequency,
            } => {
                if let Some(scenario) = results.scenarios.get_mut(*scenario) {
                    scenario.frequency = *frequency;
                    scenario.outcome = *outcome;
                    scenario.millis = *millis;
                    scenario.failure.clone_from(failure);
                }
            }
            What::Notice { text } => results.notices.push(text.clone()),
            What::RunFinished {
                end,
                exit_code,
                millis,
            } => {
                results.end = end.clone();
                results.exit_code = *exit_code;
                results.millis = *millis;
            }
            What::PhaseStarted { .. }
            | What::PhaseProgress { .. }
            | What::StepStarted { .. }
            | What::StepWaiting { .. } => {}
        }
        results.count();
    }

    /// The run so far.
    #[must_use]
    pub fn results(&self) -> &Results {
        &self.results
    }
}

impl Results {
    fn count(&mut self) {
        let count = |outcome| {
            self.scenarios
                .iter()
                .filter(|scenario| scenario.outcome == outcome)
                .count()
        };
        self.totals = Totals {
            passed: count(Outcome::Passed),
            failed: count(Outcome::Failed),
            not_run: count(Outcome::NotRun),
            expected_failures: count(Outcome::ExpectedFailure),
            varied: count(Outcome::Varied),
            unselected: self.totals.unselected,
        };
    }
}

impl ScenarioResult {
    fn planned(plan: &crate::PlannedScenario) -> Self {
        Self {
            id: plan.id.clone(),
            feature: plan.feature.clone(),
            about: plan.about.clone(),
            name: plan.name.clone(),
            file: plan.file.clone(),
            line: plan.line,
            tags: plan.tags.clone(),
            outcome: Outcome::NotRun,
            started_ms: None,
            millis: 0,
            steps: plan
                .steps
                .iter()
                .map(|step| StepResult {
                    keyword: step.keyword.clone(),
                    text: step.text.clone(),
                    block: step.block.clone(),
                    line: step.line,
                    background: step.background,
                    outcome: Outcome::NotRun,
                    millis: 0,
                    failure: None,
                    picture: None,
                })
                .collect(),
            failure: None,
            evidence: None,
            tables: Vec::new(),
            left_out: None,
            frequency: None,
        }
    }
}

fn step_mut(results: &mut Results, scenario: usize, step: usize) -> Option<&mut StepResult> {
    results.scenarios.get_mut(scenario)?.steps.get_mut(step)
}
