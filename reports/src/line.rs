//! Plain lines for logs and CI: one aligned line per operation, nothing that moves.

use std::collections::BTreeMap;
use std::io::Write;

use crate::event::{Chart, Event, Failure, Outcome, PlannedScenario, RunEnd, Series, Table, What};
use crate::html::chart::blocks;
use crate::{Recorder, Sink, human};

/// Writes plain lines. Used where the output is not a terminal.
pub struct Plain<W> {
    out: W,
    lines: Lines,
}

impl<W: Write + Send> Plain<W> {
    /// Lines to `out`. `folder` is where the last lines say that the reports lie.
    pub fn new(out: W, folder: impl Into<String>) -> Self {
        Self {
            out,
            lines: Lines::new(false, folder.into()),
        }
    }
}

impl<W: Write + Send> Sink for Plain<W> {
    fn on(&mut self, event: &Event) {
        if let What::PhaseProgress { phase, detail } = &event.what {
            // Somebody reads along in CI, too, while components are built.
            let _ = writeln!(
                self.out,
                "{:>9}       {phase}: {detail}",
                human(event.elapsed_ms)
            );
        }
        for line in self.lines.of(event) {
            // Nobody is left to tell when stdout is gone.
            let _ = writeln!(self.out, "{line}");
        }
        let _ = self.out.flush();
    }
}

/// Turns events into lines; shared by the plain and the live sink so that both say the same.
pub(crate) struct Lines {
    colour: bool,
    folder: String,
    scenarios: Vec<PlannedScenario>,
    recorder: Recorder,
}

const GREEN: &str = "32";
const RED: &str = "31;1";
const DIM: &str = "2";
const BOLD: &str = "1";
const YELLOW: &str = "33";

impl Lines {
    pub(crate) fn new(colour: bool, folder: String) -> Self {
        Self {
            colour,
            folder,
            scenarios: Vec::new(),
            recorder: Recorder::default(),
        }
    }

    pub(crate) fn paint(&self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn step_text(&self, scenario: usize, step: usize) -> String {
        self.scenarios
            .get(scenario)
            .and_then(|scenario| scenario.steps.get(step))
            .map(|step| format!("{} {}", step.keyword, step.text))
            .unwrap_or_default()
    }

    pub(crate) fn scenario(&self, scenario: usize) -> Option<(usize, usize, &PlannedScenario)> {
        self.scenarios
            .get(scenario)
            .map(|plan| (scenario + 1, self.scenarios.len(), plan))
    }

    fn mark(&self, outcome: Outcome) -> String {
        match outcome {
            Outcome::Passed => self.paint(GREEN, "ok  "),
            Outcome::Failed => self.paint(RED, "FAIL"),
            Outcome::NotRun | Outcome::ExpectedFailure | Outcome::Varied => {
                self.paint(YELLOW, "--  ")
            }
        }
    }

    fn failure(&self, failure: &Failure, indent: &str) -> Vec<String> {
        let mut lines = failure.lines().into_iter();
        let first = lines
            .next()
            .map(|line| format!("{indent}{}", self.paint(RED, &line)));
        first
            .into_iter()
            .chain(lines.map(|line| format!("{indent}{line}")))
            .collect()
    }

    /// The lines that `event` adds.
    pub(crate) fn of(&mut self, event: &Event) -> Vec<String> {
        self.recorder.on(event);
        let clock = self.paint(DIM, &format!("{:>9}", human(event.elapsed_ms)));
        match &event.what {
            What::RunStarted(start) => {
                self.scenarios.clone_from(&start.scenarios);
                let mut lines = vec![format!(
                    "{} {}",
                    self.paint(
                        BOLD,
                        &format!("sliceproof {}", start.environment.sliceproof)
                    ),
                    self.paint(DIM, &format!("run {}", start.run)),
                )];
                let unselected = match start.unselected {
                    0 => String::new(),
                    n => format!(", {n} not selected"),
                };
                lines.push(format!(
                    "{} scenario{} selected{unselected}",
                    start.scenarios.len(),
                    plural(start.scenarios.len())
                ));
                lines
            }
            What::PhaseFinished {
                phase,
                outcome,
                detail,
                millis,
            } => {
                let took = self.paint(DIM, &human(*millis));
                vec![format!(
                    "{clock}  {} {phase}: {detail} {took}",
                    self.mark(*outcome)
                )]
            }
            What::ScenarioStarted { scenario } => self.heading(*scenario, &clock),
            What::ScenarioLeftOut { scenario, reason } => {
                let mut lines = self.heading(*scenario, &clock);
                lines.push(format!(
                    "{clock}  {} not run: {reason}",
                    self.mark(Outcome::NotRun)
                ));
                lines
            }
            What::StepFinished {
                scenario,
                step,
                outcome,
                millis,
                failure,
            } => {
                let text = self.step_text(*scenario, *step);
                let text = if *outcome == Outcome::NotRun {
                    self.paint(DIM, &text)
                } else {
                    text
                };
                let took = if *outcome == Outcome::NotRun {
                    String::new()
                } else {
                    self.paint(DIM, &human(*millis))
                };
                let mut lines = vec![
                    format!("{clock}    {} {text} {took}", self.mark(*outcome))
                        .trim_end()
                        .to_owned(),
                ];
                if let Some(failure) = failure {
                    lines.extend(self.failure(failure, "                    "));
                }
                lines
            }
            What::EvidenceKept { folder, files, .. } => {
                vec![format!(
                    "{clock}         evidence: {}/{folder} ({} files)",
                    self.folder,
                    files.len()
                )]
            }
            What::ScenarioFinished {
                scenario,
                outcome,
                millis,
                failure,
                ..
            } => {
                let took = self.paint(DIM, &human(*millis));
                let results = self.recorder.results();
                let note = results.scenarios.get(*scenario).and_then(|it| it.note());
                let word = match note {
                    Some(note) => format!("{}: {note}", outcome.word()),
                    None => outcome.word().to_owned(),
                };
                let mut lines = Vec::new();
                if let Some(failure) = failure {
                    lines.extend(self.failure(failure, "                    "));
                }
                lines.push(format!("{clock}  {} {word} {took}", self.mark(*outcome)));
                lines
            }
            What::TableKept { table, .. } => {
                let mut lines = aligned(table);
                lines.insert(0, table.title.clone());
                lines.extend(table.chart.iter().flat_map(drawn));
                let indent = |line: String| format!("                    {line}");
                lines.into_iter().map(indent).collect()
            }
            What::Notice { text } => {
                vec![format!("{clock}  {} {text}", self.paint(YELLOW, "note"))]
            }
            What::RunFinished { end, millis, .. } => self.closing(end, *millis),
            What::PhaseStarted { .. }
            | What::PhaseProgress { .. }
            | What::EnvironmentKnown(_)
            | What::StepStarted { .. }
            | What::StepWaiting { .. }
            | What::PictureTaken { .. } => Vec::new(),
        }
    }

    /// The name of a scenario, below that of its feature where it is the first.
    fn heading(&self, scenario: usize, clock: &str) -> Vec<String> {
        let Some((number, of, plan)) = self.scenario(scenario) else {
            return Vec::new();
        };
        let place = self.paint(DIM, &format!("{}:{}", plan.file, plan.line));
        let mut lines = Vec::new();
        let first_of_feature = scenario == 0
            || self
                .scenarios
                .get(scenario - 1)
                .is_none_or(|before| before.feature != plan.feature);
        if first_of_feature {
            lines.push(String::new());
            lines.push(self.paint(BOLD, &plan.feature));
        }
        lines.push(format!(
            "{clock}  {} {}  {place}",
            self.paint(BOLD, &format!("{number}/{of}")),
            plan.name
        ));
        lines
    }

    fn closing(&self, end: &RunEnd, millis: u64) -> Vec<String> {
        let results = self.recorder.results();
        let mut lines = vec![String::new()];
        let failed: Vec<_> = results
            .scenarios
            .iter()
            .filter(|scenario| scenario.outcome == Outcome::Failed)
            .collect();
        if !failed.is_empty() {
            lines.push(self.paint(BOLD, "failures"));
            for scenario in failed {
                lines.push(format!("  {} {}", self.paint(RED, "FAIL"), scenario.id));
                if let Some((step, failure)) = scenario.why() {
                    let line = step.map_or(scenario.line, |step| step.line);
                    if let Some(step) = step {
                        lines.push(format!(
                            "       {} {}  ({}:{line})",
                            step.keyword, step.text, scenario.file
                        ));
                    }
                    lines.extend(self.failure(failure, "       "));
                }
                if let Some(evidence) = &scenario.evidence {
                    lines.push(format!("       evidence:   {}/{evidence}", self.folder));
                }
            }
            lines.push(String::new());
        }
        let mut left_out: BTreeMap<&str, usize> = BTreeMap::new();
        for reason in results
            .scenarios
            .iter()
            .filter_map(|it| it.left_out.as_deref())
        {
            *left_out.entry(reason).or_default() += 1;
        }
        for (reason, count) in left_out {
            let word = self.paint(YELLOW, "not run");
            lines.push(format!(
                "{word} {count} scenario{}: {reason}",
                plural(count)
            ));
        }
        for scenario in &results.scenarios {
            if let Some(note) = scenario.note() {
                let word = self.paint(YELLOW, scenario.outcome.word());
                lines.push(format!("{word} {}: {note}", scenario.id));
            }
        }
        if !results.unplayed.is_empty() {
            let word = self.paint(YELLOW, "not run");
            let count = results.unplayed.len();
            lines.push(format!(
                "{word} {count} public report{} that no scenario plays: the report has them with the reasons",
                plural(count)
            ));
        }
        let totals = results.totals;
        let mut counts = vec![format!("{} passed", totals.passed)];
        if totals.failed > 0 {
            counts.push(format!("{} failed", totals.failed));
        }
        if totals.expected_failures > 0 {
            counts.push(format!("{} failed as expected", totals.expected_failures));
        }
        if totals.varied > 0 {
            counts.push(format!("{} varied", totals.varied));
        }
        if totals.not_run > 0 {
            counts.push(format!("{} not run", totals.not_run));
        }
        let counts = counts.join(", ");
        let took = human(millis);
        let timed = |colour, verdict: &str| format!("{} in {took}", self.paint(colour, verdict));
        lines.push(match end {
            RunEnd::Passed => timed(GREEN, &format!("passed: {counts}")),
            RunEnd::Failed => timed(RED, &format!("failed: {counts}")),
            RunEnd::Interrupted => timed(YELLOW, &format!("interrupted: {counts}")),
            RunEnd::NothingRan => timed(YELLOW, "nothing ran"),
            // The reason may have several lines, so the time stands before it.
            RunEnd::Broken { message } => {
                self.paint(RED, &format!("could not run, after {took}: {message}"))
            }
        });
        // Said when it happened, and once more where it is read: how to reach a cluster that was kept.
        for notice in &results.notices {
            lines.push(format!("{} {notice}", self.paint(YELLOW, "note")));
        }
        lines.push(format!("report: {}/report.html", self.folder));
        lines
    }
}

fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}
/// How wide a chart is in a terminal.
const CHART: u64 = 60;

/// A chart, a line of blocks for each series, with the most of each in thousandths of the unit.
fn drawn(chart: &Chart) -> Vec<String> {
    let all = || chart.stacked.iter().chain(&chart.lines);
    let most = |series: &Series| series.points.iter().map(|(_, value)| *value).max();
    let names = all().map(|it| it.name.chars().count());
    let width = names.max().unwrap_or(0);
    let top = all().filter_map(most).max().unwrap_or(0);
    let of = |series: &Series| {
        let blocks = blocks(series, chart.millis, top, CHART);
        let most = most(series).unwrap_or(0);
        let (whole, part) = (most / 1_000, most % 1_000 / 100);
        format!(
            "{:width$}  {blocks}  at most {whole}.{part} {}",
            series.name, chart.unit
        )
    };
    all().map(of).collect()
}

/// A table with its columns below one another.
fn aligned(table: &Table) -> Vec<String> {
    let all: Vec<&Vec<String>> = std::iter::once(&table.columns).chain(&table.rows).collect();
    let width = |at: usize| {
        let cells = all.iter().filter_map(|row| row.get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    let line = |row: &&Vec<String>| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        cells.join("  ").trim_end().to_owned()
    };
    all.iter().map(line).collect()
}
