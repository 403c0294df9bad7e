//! Feature files that are wrong on purpose: each must be refused, with the place and the remedy, and the text that a
//! person reads is kept as a snapshot.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use scenario::{Filter, LoadError, Plan, SourceFile, registry, render};

fn bad(name: &str) -> Arc<SourceFile> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let path = folder.join(format!("{name}.feature"));
    SourceFile::within(
        "tests/bad",
        format!("bad/{name}.feature"),
        std::fs::read_to_string(path).expect("a fixture"),
    )
}

fn findings(files: &[Arc<SourceFile>]) -> Vec<scenario::Finding> {
    match Plan::of(&registry(), files, &Filter::default()) {
        Err(LoadError::Findings(findings)) => findings,
        Err(other) => panic!("{other}"),
        Ok(plan) => panic!(
            "the lint is content with {} scenarios",
            plan.scenarios.len()
        ),
    }
}

fn snapshot(name: &str) {
    let text = render(&findings(&[bad(name)]), false);
    insta::assert_snapshot!(name, text);
}

#[test]
fn undefined_steps() {
    snapshot("undefined");
}

#[test]
fn mistyped_keywords() {
    snapshot("keywords");
}

#[test]
fn an_empty_file() {
    snapshot("nothing");
}

#[test]
fn a_feature_without_scenarios() {
    snapshot("no-scenario");
}

#[test]
fn scenarios_that_assert_nothing_and_names_that_are_there_twice() {
    snapshot("no-assertion");
}

#[test]
fn needs_that_nobody_knows() {
    snapshot("needs");
}

#[test]
fn expectations_that_are_none() {
    snapshot("expectations");
}

#[test]
fn only_what_is_expected_to_fail_can_be_selected() {
    let text = "Feature: f\n  @expected-fail:kubernetes-1\n  Scenario: one\n    Then 1 pod runs\n\n  Scenario: two\n    Then 1 pod runs\n";
    let file = SourceFile::new("scenarios/x/y.feature", text);
    let filter = Filter::default().only_expected_failures(true);
    let plan = Plan::of(&registry(), &[file], &filter).expect("a plan");
    assert_eq!(plan.scenarios.len(), 1);
    assert_eq!(plan.scenarios[0].scenario.name, "one");
}

#[test]
fn manifests_that_are_missing_or_no_manifests() {
    snapshot("manifests");
}

#[test]
fn values_that_do_not_exist() {
    snapshot("values");
}

#[test]
fn steps_in_the_wrong_place() {
    snapshot("shape");
}

#[test]
fn outlines() {
    snapshot("outline");
}

#[test]
fn lines_that_are_nothing() {
    snapshot("lines");
}

#[test]
fn everything_is_told_at_once() {
    let all = ["undefined", "keywords", "nothing", "values"].map(bad);
    let together = findings(&all);
    for name in ["undefined", "keywords", "nothing", "values"] {
        let file = format!("bad/{name}.feature");
        assert!(
            together.iter().any(|finding| finding.file.shown == file),
            "{name} is missing"
        );
    }
}

#[test]
fn paths_that_give_nothing_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "x").expect("written");
    let load = |path: PathBuf| match Plan::load(&registry(), &[path], &Filter::default()) {
        Err(LoadError::Source(errors)) => errors.into_iter().next().expect("an error").to_string(),
        other => panic!("{other:?}"),
    };
    assert!(load(folder.path().join("nowhere")).starts_with("there is no file or folder"));
    assert!(load(folder.path().to_owned()).contains("holds no .feature file"));
    assert!(load(text).contains("is not a feature file"));
}

#[test]
fn our_own_scenarios_have_nothing_wrong() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    // By any name: what takes long, too.
    let all = Filter::parse(None, Some("")).expect("an expression");
    let plan = match Plan::load(&registry(), &[root], &all) {
        Ok(plan) => plan,
        Err(LoadError::Findings(findings)) => panic!("{}", render(&findings, false)),
        Err(error) => panic!("{error}"),
    };
    assert!(plan.scenarios.len() >= 12, "{}", plan.scenarios.len());
    assert_eq!(plan.unselected, 0);
    let ids: std::collections::BTreeSet<&str> = plan
        .scenarios
        .iter()
        .map(|it| it.scenario.id.as_str())
        .collect();
    assert_eq!(ids.len(), plan.scenarios.len(), "ids are unique");
}

#[test]
fn every_step_is_documented_and_its_example_is_one() {
    let steps = registry();
    for def in steps.steps() {
        assert!(!def.doc.is_empty(), "{}: no doc", def.expression);
        let text = format!(
            "Feature: f\n  Scenario: s\n    {}\n{}",
            def.example.replace('\n', "\n    "),
            match def.kind {
                scenario::Kind::Then => "",
                _ => "    Then 1 pod runs\n",
            }
        );
        // Manifests that examples name lie beside the scenarios that use them.
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/sharing");
        let file = SourceFile::within(folder, "example.feature", text);
        match Plan::of(&steps, &[file], &Filter::default()) {
            Ok(_) => {}
            Err(LoadError::Findings(findings)) => {
                panic!("{}: {}", def.expression, render(&findings, false))
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn tags_and_names_select() {
    let text = "@a\nFeature: f\n  @b\n  Scenario: one\n    Then 1 pod runs\n\n  @c\n  Scenario: two\n    Then 1 pod runs\n";
    let file = SourceFile::new("scenarios/x/y.feature", text);
    let ids = |tags: Option<&str>, name: Option<&str>| -> Vec<String> {
        let filter = Filter::parse(tags, name).expect("a filter");
        let plan = Plan::of(&registry(), &[Arc::clone(&file)], &filter).expect("a plan");
        plan.scenarios
            .into_iter()
            .map(|it| it.scenario.id)
            .collect()
    };
    assert_eq!(ids(None, None), ["x/y::one", "x/y::two"]);
    assert_eq!(ids(Some("@a and not @b"), None), ["x/y::two"]);
    assert_eq!(ids(Some("@b or @c"), None).len(), 2);
    assert_eq!(ids(Some("not (@b or @c)"), None).len(), 0);
    assert_eq!(ids(None, Some("^tw")), ["x/y::two"]);
    assert_eq!(ids(None, Some("^x/y::one$")), ["x/y::one"]);
    // What takes long plays only where it is asked for.
    let text = text.replace("@c", "@c @long");
    let file = SourceFile::new("scenarios/x/y.feature", text);
    let ids = |tags: Option<&str>, name: Option<&str>| -> usize {
        let filter = Filter::parse(tags, name).expect("a filter");
        let plan = Plan::of(&registry(), &[Arc::clone(&file)], &filter).expect("a plan");
        plan.scenarios.len()
    };
    assert_eq!((ids(None, None), ids(Some("@a"), None)), (1, 1));
    assert_eq!((ids(Some("@long"), None), ids(None, Some("^tw"))), (1, 1));
    assert_eq!(
        (ids(Some("@a or @long"), None), ids(Some("@c"), None)),
        (2, 0)
    );
    assert!(Filter::parse(Some("@a not @b"), None).is_err());
    assert!(Filter::parse(Some("smoke"), None).is_err());
    assert!(Filter::parse(None, Some("(")).is_err());
}

/// Lines that a hurried hand could leave in a feature file, in any order.
const SCRAPS: [&str; 28] = [
    "Feature: f",
    "Feature:",
    "Rule: r",
    "Background:",
    "Scenario: s",
    "  Scenario Outline: o <n>",
    "Example: e",
    "Examples:",
    "Scenarios: x",
    "    Given a node with 1 \"L4\"",
    "    Given",
    "Given ",
    "When a pod claims a whole card",
    "Then <n> pods run",
    "Then 1 pod runs",
    "And 1 pod runs",
    "But",
    "* 1 pod runs",
    "| n |",
    "| 1 |",
    "| a | b |",
    "|",
    "| \\ |",
    "\"\"\"",
    "```",
    "@tag @other",
    "# language: fr",
    "Ünïcode – prose…",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 400, ..Default::default() })]

    /// Whatever the file holds, there is a plan or there are findings with a place in the file; never a panic, and
    /// never a plan in which a scenario asserts nothing.
    #[test]
    fn any_text_is_a_plan_or_findings(picks in proptest::collection::vec(0..SCRAPS.len(), 0..14)) {
        let text: String = picks.iter().map(|at| format!("{}\n", SCRAPS[*at])).collect();
        let file = SourceFile::new("any.feature", text);
        match Plan::of(&registry(), &[Arc::clone(&file)], &Filter::default()) {
            Ok(plan) => {
                proptest::prop_assert!(!plan.scenarios.is_empty());
                for planned in &plan.scenarios {
                    let asserts = planned.scenario.steps.iter().any(|step| !step.background && step.text.contains("run"));
                    proptest::prop_assert!(asserts, "{}", file.text);
                }
            }
            Err(LoadError::Findings(findings)) => {
                proptest::prop_assert!(!findings.is_empty());
                for finding in &findings {
                    proptest::prop_assert!(finding.span.0 <= file.text.len());
                }
                proptest::prop_assert!(render(&findings, false).contains("nothing was started"));
            }
            Err(other) => proptest::prop_assert!(false, "{other}"),
        }
    }
}
