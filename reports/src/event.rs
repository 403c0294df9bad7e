//! The events of a run. One stream, in order; every report is made from it and from nothing else.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the event format. Raised when a reader of the old form would misread the new one.
pub const EVENT_SCHEMA: u32 = 2;

/// One thing that happened, with its place in the stream and its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// [`EVENT_SCHEMA`] of the writer.
    pub schema: u32,
    /// Position in the stream, from 0, without gaps.
    pub seq: u64,
    /// Wall-clock time.
    pub at: Timestamp,
    /// Milliseconds since the run started, from a clock that only goes forward.
    pub elapsed_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum What {
    /// The plan stands; nothing has been started.
    RunStarted(RunStarted),
    /// Work around the scenarios begins: components, cluster, tear-down.
    PhaseStarted {
        /// Short name, the same in the other phase events.
        phase: String,
    },
    /// A phase has got somewhere.
    PhaseProgress {
        /// Name of the phase.
        phase: String,
        /// What it is at.
        detail: String,
    },
    /// A phase is over.
    PhaseFinished {
        /// Name of the phase.
        phase: String,
        /// How it ended.
        outcome: Outcome,
        /// What came out, one line.
        detail: String,
        /// How long it took.
        millis: u64,
    },
    /// What the run turned out to run on, known once the cluster is up.
    EnvironmentKnown(Environment),
    /// A scenario is not run: this cluster lacks what it needs. No other event of the scenario follows.
    ScenarioLeftOut {
        /// Index of the scenario.
        scenario: usize,
        /// What is lacking, one line.
        reason: String,
    },
    /// A scenario begins.
    ScenarioStarted {
        /// Index into [`RunStarted::scenarios`].
        scenario: usize,
    },
    /// A step begins.
    StepStarted {
        /// Index of the scenario.
        scenario: usize,
        /// Index of the step in it.
        step: usize,
    },
    /// A step waits; this is the state it sees now.
    StepWaiting {
        /// Index of the scenario.
        scenario: usize,
        /// Index of the step in it.
        step: usize,
        /// One line.
        state: String,
    },
    /// A step is over.
    StepFinished {
        /// Index of the scenario.
        scenario: usize,
        /// Index of the step in it.
        step: usize,
        /// How it ended.
        outcome: Outcome,
        /// How long it took.
        millis: u64,
        /// Why it failed.
        failure: Option<Failure>,
    },
    /// What is on the cards after a step.
    PictureTaken {
        /// Index of the scenario.
        scenario: usize,
        /// Index of the step after which it was taken.
        step: usize,
        /// The picture.
        picture: Picture,
    },
    /// A scenario has something to tell in numbers.
    TableKept {
        /// Index of the scenario.
        scenario: usize,
        /// The table.
        table: Table,
    },
    /// Evidence of a failure lies in the run folder.
    EvidenceKept {
        /// Index of the scenario.
        scenario: usize,
        /// Folder, relative to the run folder.
        folder: String,
        /// Files in it, relative to it.
        files: Vec<String>,
    },
    /// A scenario is over, its tear-down included.
    ScenarioFinished {
        /// Index of the scenario.
        scenario: usize,
        /// How it ended.
        outcome: Outcome,
        /// How long it took, set-up and tear-down included.
        millis: u64,
        /// Why it failed, where no step did (a leak, a tear-down that hangs).
        failure: Option<Failure>,
        /// How often it held, where it was tried several times.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frequency: Option<Frequency>,
    },
    /// Something a person should know that changes no result.
    Notice {
        /// One line.
        text: String,
    },
    /// The run is over; no event follows.
    RunFinished {
        /// How it ended.
        end: RunEnd,
        /// Exit code of the program.
        exit_code: u8,
        /// How long it took.
        millis: u64,
    },
}

/// How a step, a scenario or a phase ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// As specified.
    Passed,
    /// Not as specified.
    Failed,
    /// Never executed: an earlier step failed, or the run stopped before. Never counted as passed.
    NotRun,
    /// Not as specified, and marked so: something upstream is wrong and known to be. Scenarios only.
    ExpectedFailure,
    /// Tried several times, because it holds at some times and not at others: a frequency and no judgement. Scenarios
    /// only.
    Varied,
}

impl Outcome {
    /// As people say it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotRun => "not run",
            Self::ExpectedFailure => "expected failure",
            Self::Varied => "varied",
        }
    }
}

/// How often a scenario held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Frequency {
    /// Tries in which everything was as specified.
    pub held: usize,
    /// All tries.
    pub tries: usize,
}

/// A public report that no scenario plays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unplayed {
    /// Where it was reported, and its number: `kubernetes-140434`.
    pub number: String,
    /// Its title, or what happens.
    pub title: String,
    /// Why it is not played here.
    pub reason: String,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum RunEnd {
    /// Each selected scenario ran and passed.
    Passed,
    /// At least one scenario failed.
    Failed,
    /// Somebody stopped it.
    Interrupted,
    /// No scenario was executed.
    NothingRan,
    /// The surroundings failed: components, cluster, machine.
    Broken {
        /// The error, whole.
        message: String,
    },
}

/// First event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// Name of the run, also of its folder.
    pub run: String,
    /// What was asked for, as a person would type it.
    pub command: String,
    /// What is known of the surroundings at this point.
    pub environment: Environment,
    /// Every selected scenario, in order.
    pub scenarios: Vec<PlannedScenario>,
    /// Scenarios that were read but not selected.
    pub unselected: usize,
    /// Public reports that lists beside the scenarios name and no scenario plays.
    #[serde(default)]
    pub unplayed: Vec<Unplayed>,
}

/// A selected scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedScenario {
    /// Stable name: file, scenario, example.
    pub id: String,
    /// Name of the feature.
    pub feature: String,
    /// What the feature says about itself.
    pub about: String,
    /// Name of the scenario.
    pub name: String,
    /// File, as a person would type it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Tags, with their `@`, inherited ones included.
    pub tags: Vec<String>,
    /// Steps, those of the background first.
    pub steps: Vec<PlannedStep>,
}

/// A step of a selected scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// As written: `Given`, `And`, ….
    pub keyword: String,
    /// The rest of the line.
    pub text: String,
    /// Table or doc string below it, as text.
    pub block: Option<String>,
    /// Line, from 1.
    pub line: usize,
    /// Comes from the background.
    pub background: bool,
}

/// What a run ran on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Fake GPUs or real ones. A reader that certifies hardware must look here first.
    pub kind: EnvironmentKind,
    /// How the cluster is run: `process`, ….
    pub backend: String,
    /// This program's version.
    pub sliceproof: String,
    /// Operating system, kernel, processors of the machine, one line each.
    pub machine: BTreeMap<String, String>,
    /// Version of each real program, by component name.
    pub components: BTreeMap<String, String>,
}

/// Whether the silicon was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EnvironmentKind {
    /// Fake GPUs; everything above them real.
    Mock,
    /// Real GPUs.
    Real,
}

/// Why something failed: what was expected against what was seen, and no more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// One line.
    pub summary: String,
    /// What had to be.
    pub expected: Option<String>,
    /// What was.
    pub seen: Option<String>,
    /// What a waiting step saw last.
    pub last_state: Option<String>,
    /// What to do next.
    pub help: Option<String>,
}

impl Failure {
    /// A failure that has only a summary.
    #[must_use]
    pub fn new(summary: impl Into<String>) -> Self {
        Self {
            summary: summary.into(),
            ..Self::default()
        }
    }

    /// Sets what had to be and what was.
    #[must_use]
    pub fn versus(mut self, expected: impl Into<String>, seen: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self.seen = Some(seen.into());
        self
    }

    /// Sets what a waiting step saw last.
    #[must_use]
    pub fn last(mut self, state: impl Into<String>) -> Self {
        self.last_state = Some(state.into());
        self
    }

    /// Sets what to do next.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The failure as lines of text, without indentation.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.summary.lines().map(str::to_owned).collect();
        for (label, text) in [
            ("expected", &self.expected),
            ("seen", &self.seen),
            ("last state", &self.last_state),
            ("help", &self.help),
        ] {
            let Some(text) = text else { continue };
            for (index, line) in text.lines().enumerate() {
                let label = if index == 0 {
                    format!("{label}:")
                } else {
                    String::new()
                };
                lines.push(format!("{label:<11} {line}"));
            }
        }
        lines
    }
}

/// Figures of a scenario, for people to read; no result depends on them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Heads of the columns, with the unit where there is one.
    pub columns: Vec<String>,
    /// Rows, each as long as the heads.
    pub rows: Vec<Vec<String>>,
    /// The same over time, where there is more to see than figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart: Option<Chart>,
}

/// What changed over time, in steps: each value lasts until the next one. Whole numbers, so that it reads the same everywhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Chart {
    /// What is measured, with its unit.
    pub unit: String,
    /// Milliseconds that it shows, from 0 on.
    pub millis: u64,
    /// Series that are laid one on another.
    pub stacked: Vec<Series>,
    /// Series that are drawn as lines over them.
    pub lines: Vec<Series>,
}

/// One series of a chart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// From which millisecond on there were so many thousandths of the unit, in order of time.
    pub points: Vec<(u64, u64)>,
}

impl Series {
    /// Thousandths of the unit at a time.
    #[must_use]
    pub fn at(&self, millis: u64) -> u64 {
        let later = self.points.partition_point(|(from, _)| *from <= millis);
        later.checked_sub(1).map_or(0, |at| self.points[at].1)
    }
}

/// What is on every card of the cluster, and who waits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Picture {
    /// Every node.
    pub nodes: Vec<NodePicture>,
    /// Pods that do not run.
    pub waiting: Vec<Waiting>,
}

/// The cards of one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodePicture {
    /// Name of the node.
    pub node: String,
    /// In index order.
    pub cards: Vec<Card>,
}

/// One card and what is cut from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Card {
    /// Index on its node.
    pub index: u32,
    /// Model name.
    pub model: String,
    /// UUID.
    pub uuid: String,
    /// MIG mode is on.
    pub mig: bool,
    /// Memory slices that the card has; 0 where it cannot be partitioned.
    pub memory_slices: u32,
    /// GPU instances, by first memory slice.
    pub partitions: Vec<Partition>,
    /// Pod that holds the whole card.
    pub whole: Option<String>,
}

/// One GPU instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Partition {
    /// Profile, as `1g.5gb`.
    pub profile: String,
    /// First memory slice.
    pub start: u32,
    /// Memory slices.
    pub size: u32,
    /// GPU instance id.
    pub gpu_instance: u32,
    /// Pod that holds it; none where nobody does.
    pub pod: Option<String>,
}

/// A pod that does not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waiting {
    /// Its name.
    pub pod: String,
    /// What it asks for.
    pub asks: String,
    /// Why, as the cluster says it.
    pub why: String,
}
