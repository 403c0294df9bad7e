//! Rules about whole features and scenarios.

use std::collections::HashMap;
use std::sync::Arc;

use gherkin::StepType;

use crate::document::{Feature, Scenario};
use crate::finding::Finding;
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
