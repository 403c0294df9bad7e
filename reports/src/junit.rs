//! JUnit XML, as Jenkins, GitLab and nextest read it: one suite per feature, one case per scenario.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use crate::event::{EnvironmentKind, Outcome, RunEnd};
use crate::{Results, ScenarioResult};

/// The run as a JUnit document.
pub(crate) fn document(results: &Results) -> Result<String, quick_junit::SerializeError> {
    let mut report = Report::new("sliceproof");
    report.set_timestamp(stamp(results.started.as_millisecond()));
    report.set_time(Duration::from_millis(results.millis));
    let mut suites: Vec<(String, TestSuite)> = Vec::new();
    for scenario in &results.scenarios {
        let position = suites.iter().position(|(file, _)| *file == scenario.file);
        let index = position.unwrap_or_else(|| {
            let mut suite = TestSuite::new(scenario.feature.clone());
            suite.add_properties(properties(results));
            suite.add_property(Property::new("file", scenario.file.as_str()));
            suites.push((scenario.file.clone(), suite));
            suites.len() - 1
        });
        if let Some((_, suite)) = suites.get_mut(index) {
            suite.add_test_case(case(results, scenario));
        }
    }
    for (_, mut suite) in suites {
        let millis = suite.test_cases.iter().filter_map(|case| case.time).sum();
        suite.set_time(millis);
        report.add_test_suite(suite);
    }
    report.to_string()
}

fn case(results: &Results, scenario: &ScenarioResult) -> TestCase {
    let status = match scenario.outcome {
        Outcome::Passed => TestCaseStatus::success(),
        Outcome::Failed => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            if let Some((step, failure)) = scenario.why() {
                let line = step.map_or(scenario.line, |step| step.line);
                let mut text = Vec::new();
                if let Some(step) = step {
                    text.push(format!("{} {}", step.keyword, step.text));
                }
                text.push(format!("at {}:{line}", scenario.file));
                text.extend(failure.lines());
                if let Some(evidence) = &scenario.evidence {
                    text.push(format!("evidence:   {evidence}"));
                }
                status
                    .set_message(failure.summary.clone())
                    .set_type("assertion")
                    .set_description(text.join("\n"));
            }
            status
        }
        Outcome::NotRun => match (&scenario.left_out, &results.end) {
            (Some(reason), _) => {
                let mut status = TestCaseStatus::skipped();
                status.set_message(reason.as_str());
                status
            }
            // Not a pass and not a failure of the scenario: the surroundings broke, and CI must turn red.
            (None, RunEnd::Broken { message }) => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
                status
                    .set_message("the run could not go on")
                    .set_type("environment")
                    .set_description(message.as_str());
                status
            }
            _ => {
                let mut status = TestCaseStatus::skipped();
                status.set_message("the run stopped before this scenario");
                status
            }
        },
        // Neither red nor green: JUnit has one word for that.
        Outcome::ExpectedFailure | Outcome::Varied => {
            let mut status = TestCaseStatus::skipped();
            let note = scenario.note().unwrap_or_default();
            status.set_message(format!("{}: {note}", scenario.outcome.word()));
            status
        }
    };
    let mut case = TestCase::new(scenario.name.clone(), status);
    case.set_classname(scenario.file.trim_end_matches(".feature").replace('/', "."))
        .set_time(Duration::from_millis(scenario.millis));
    if let Some(started) = scenario.started_ms {
        case.set_timestamp(stamp(
            results.started.as_millisecond() + i64::try_from(started).unwrap_or(0),
        ));
    }
    case.add_property(Property::new("id", scenario.id.as_str()));
    if !scenario.tags.is_empty() {
        case.add_property(Property::new("tags", scenario.tags.join(" ")));
    }
    let log: Vec<String> = scenario
        .steps
        .iter()
        .map(|step| {
            let mark = match step.outcome {
                Outcome::Passed => "ok  ",
                Outcome::Failed => "FAIL",
                Outcome::NotRun | Outcome::ExpectedFailure | Outcome::Varied => "--  ",
            };
            format!(
                "{mark} {} {} ({})",
                step.keyword,
                step.text,
                crate::human(step.millis)
            )
        })
        .collect();
    case.set_system_out(log.join("\n"));
    case
}

fn properties(results: &Results) -> Vec<Property> {
    let environment = &results.environment;
    let kind = match environment.kind {
        EnvironmentKind::Mock => "mock",
        EnvironmentKind::Real => "real",
    };
    let mut properties = vec![
        Property::new("run", results.run.as_str()),
        Property::new("environment.kind", kind),
        Property::new("environment.backend", environment.backend.as_str()),
        Property::new("sliceproof.version", environment.sliceproof.as_str()),
    ];
    properties.extend(
        environment
            .machine
            .iter()
            .map(|(name, value)| Property::new(format!("machine.{name}"), value.as_str())),
    );
    properties.extend(
        environment
            .components
            .iter()
            .map(|(name, version)| Property::new(format!("component.{name}"), version.as_str())),
    );
    properties
}

fn stamp(millis: i64) -> chrono::DateTime<chrono::FixedOffset> {
    chrono::DateTime::from_timestamp_millis(millis)
        .unwrap_or_default()
        .fixed_offset()
}
