//! The page of all scenarios: one line for each feature and scenario, from the files themselves.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::document::Scenario;
use crate::plan::{Plan, PlannedScenario};

/// Markdown: each feature with what it is about, and its scenarios; an outline is one line.
#[must_use]
pub fn page(plan: &Plan) -> String {
    let mut text = "# Scenarios\n\nMade from the feature files by `sliceproof docs`; a test holds it to them.\n".to_owned();
    let mut features: Vec<(&str, Vec<&PlannedScenario>)> = Vec::new();
    for planned in &plan.scenarios {
        let file = planned.scenario.file.shown.as_str();
        match features.last_mut() {
            Some((last, all)) if *last == file => all.push(planned),
            _ => features.push((file, vec![planned])),
        }
    }
    for (file, all) in features {
        let Some(first) = all.first().map(|it| &it.scenario) else {
            continue;
        };
        // Writing to a String cannot fail.
        let on_all = |tag: &&String| all.iter().all(|it| it.scenario.tags.contains(tag));
        let shared: Vec<&String> = first.tags.iter().filter(on_all).collect();
        let _ = write!(text, "\n## {}\n`{file}`{}", first.feature, marks(&shared));
        if !first.about.is_empty() {
            let about: Vec<&str> = first.about.split_whitespace().collect();
            let _ = write!(text, "\n{}", about.join(" "));
        }
        text.push_str("\n\n");
        let mut told = BTreeSet::new();
        for it in &all {
            let scenario = &it.scenario;
            if !told.insert(scenario.line) {
                continue;
            }
            let name = written_name(scenario);
            let examples = all
                .iter()
                .filter(|other| other.scenario.line == scenario.line)
                .count();
            let times = if examples > 1 {
                format!(" ({examples} examples)")
            } else {
                String::new()
            };
            let tags = scenario.tags.iter().filter(|tag| !shared.contains(tag));
            let _ = writeln!(text, "- {name}{times}{}", marks(&tags.collect::<Vec<_>>()));
        }
    }
    text
}

/// The name as it stands in the file: an outline's has its `<columns>` still.
fn written_name(scenario: &Scenario) -> String {
    let line = scenario.file.text.lines().nth(scenario.line - 1);
    let name = line
        .and_then(|line| line.split_once(':'))
        .map_or(scenario.name.as_str(), |(_, name)| name.trim());
    name.replace('<', "\\<")
}

fn marks(tags: &[&String]) -> String {
    tags.iter().map(|tag| format!(" `{tag}`")).collect()
}
