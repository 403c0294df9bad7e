//! Rules about whole features and scenarios.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use gherkin::StepType;
use oracle::Gate;

use crate::asks;
use crate::document::{Feature, Scenario};
use crate::expectation;
use crate::finding::Finding;
use crate::gang::scheduler;
use crate::gates;
use crate::source::SourceFile;

/// Checks all features together.
pub(crate) fn features(features: &[Feature]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for feature in features {
        if feature.scenarios.is_empty() {
            findings.push(
                Finding::new(
                    "empty-feature",
                    &feature.file,
                    feature.span,
                    format!("the feature {:?} has no scenario", feature.name),
                )
                .help("write at least one `Scenario: NAME` below it, or remove the file"),
            );
        }
        for scenario in &feature.scenarios {
            findings.extend(assertion(scenario));
        }
    }
    findings.extend(features.iter().flat_map(needs));
    findings.extend(features.iter().flat_map(asks));
    findings.extend(features.iter().flat_map(expectations));
    findings.extend(duplicates(features));
    findings
}

fn assertion(scenario: &Scenario) -> Option<Finding> {
    let file: &Arc<SourceFile> = &scenario.file;
    let own = scenario.steps.iter().filter(|step| !step.background);
    if own.clone().next().is_none() {
        return Some(
            Finding::new(
                "empty-scenario",
                file,
                scenario.span,
                format!("the scenario {:?} has no step", scenario.name),
            )
            .help("it would pass without checking anything"),
        );
    }
    (!own.clone().any(|step| step.ty == StepType::Then)).then(|| {
        Finding::new(
            "no-assertion",
            file,
            scenario.span,
            format!("the scenario {:?} asserts nothing", scenario.name),
        )
        .label("no Then below")
        .help("it would pass whatever happens; add at least one `Then …`")
    })
}

/// A need that nobody knows would be met everywhere. Scenarios inherit tags: each is told once for a feature.
fn needs(feature: &Feature) -> Vec<Finding> {
    let wrong = |scenario: &Scenario, name: &str| {
        format!(
            "the scenario {:?} needs {name:?}, which is neither a feature gate of device allocation nor kubernetes-MINOR",
            scenario.name
        )
    };
    let gates: Vec<&str> = Gate::ALL.iter().map(|gate| gate.name()).collect();
    unknown(feature, gates::NEEDS, gates::can_be_needed, &gates, wrong)
}

/// The same of what is asked for: no cluster could be started for it.
fn asks(feature: &Feature) -> Vec<Finding> {
    let known: Vec<&str> = asks::known().collect();
    let wrong = |scenario: &Scenario, name: &str| {
        format!(
            "the scenario {:?} asks for {name:?}, which is no feature gate that can be asked for",
            scenario.name
        )
    };
    let can = |name: &str| known.contains(&name);
    let mut findings = unknown(feature, asks::GATES, can, &known, wrong);
    let known: Vec<&str> = scheduler::names().collect();
    let wrong = |scenario: &Scenario, name: &str| {
        format!(
            "the scenario {:?} asks for {name:?}, which is no scheduler that is known",
            scenario.name
        )
    };
    let can = |name: &str| known.contains(&name);
    findings.extend(unknown(feature, asks::SCHEDULER, can, &known, wrong));
    findings
}

/// What follows `prefix` in tags and is not one of `known`.
fn unknown(
    feature: &Feature,
    prefix: &str,
    can_be: impl Fn(&str) -> bool,
    known: &[&str],
    wrong: impl Fn(&Scenario, &str) -> String,
) -> Vec<Finding> {
    let mut unknown: BTreeMap<&str, &Scenario> = BTreeMap::new();
    for scenario in &feature.scenarios {
        let names = scenario
            .tags
            .iter()
            .filter_map(|tag| tag.strip_prefix(prefix));
        for name in names.filter(|name| !can_be(name)) {
            unknown.entry(name).or_insert(scenario);
        }
    }
    let likeness = |name: &str, gate: &str| strsim::jaro_winkler(name, gate);
    unknown
        .into_iter()
        .map(|(name, scenario)| {
            let near = known
                .iter()
                .max_by(|a, b| likeness(name, a).total_cmp(&likeness(name, b)));
            let finding = Finding::new(
                "unknown-gate",
                &scenario.file,
                scenario.span,
                wrong(scenario, name),
            );
            let finding = finding.label("tagged so, or its feature is");
            match near {
                Some(gate) => finding.help(format!("the most similar one is {gate}")),
                None => finding,
            }
        })
        .collect()
}

/// Tags that mean to say what a scenario comes to, and say it wrong, would change nothing. Once for a feature, too.
fn expectations(feature: &Feature) -> Vec<Finding> {
    let mut told: BTreeMap<&str, Finding> = BTreeMap::new();
    for scenario in &feature.scenarios {
        let finding = |message: String, help: String| {
            Finding::new("wrong-expectation", &scenario.file, scenario.span, message)
                .label("tagged so, or its feature is")
                .help(help)
        };
        for tag in &scenario.tags {
            if let Some(help) = expectation::wrong(tag) {
                let message = format!(
                    "the tag {tag} of the scenario {:?} means nothing",
                    scenario.name
                );
                told.entry(tag).or_insert_with(|| finding(message, help));
            }
        }
        let both = [expectation::EXPECTED_FAIL, expectation::NONDETERMINISTIC];
        if both
            .iter()
            .all(|mark| scenario.tags.iter().any(|tag| tag.starts_with(mark)))
        {
            let message = format!("the scenario {:?} must fail and may hold", scenario.name);
            let help = "keep one of @expected-fail and @nondeterministic".to_owned();
            told.entry(&scenario.id)
                .or_insert_with(|| finding(message, help));
        }
    }
    told.into_values().collect()
}

fn duplicates(features: &[Feature]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen: HashMap<&str, &Scenario> = HashMap::new();
    for scenario in features.iter().flat_map(|feature| &feature.scenarios) {
        let Some(first) = seen.insert(scenario.id.as_str(), scenario) else {
            continue;
        };
        let finding = Finding::new(
            "duplicate-name",
            &scenario.file,
            scenario.span,
            format!("the scenario {:?} is there twice", scenario.name),
        )
        .help("reports and filters go by the name; give each its own");
        findings.push(if Arc::ptr_eq(&first.file, &scenario.file) {
            finding.label("again here").other(first.span, "first here")
        } else {
            finding.label(format!("also in {}:{}", first.file.shown, first.line))
        });
    }
    findings
}
