//! Manifests with one mistake each: what is found in them is kept as a snapshot. What the real API server of 1.37 says to
//! each stands in its first line: it refuses with these words, drops a field, or takes what can never work. No test holds
//! that against a server yet.
#![allow(clippy::expect_used, reason = "a test says what it expects")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use manifest::{Linted, lint};
use oracle::{Gates, Version};

fn folder(name: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/examples")
        .join(name);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    let read = |path: &PathBuf| {
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        (name, std::fs::read_to_string(path).expect("a text"))
    };
    paths.iter().map(read).collect()
}

/// A word in the comments at the top.
fn said<'t>(text: &'t str, what: &str) -> Option<&'t str> {
    text.lines()
        .take_while(|line| line.starts_with('#'))
        .find_map(|line| line.strip_prefix(&format!("# {what}: ")))
}

fn linted(text: &str) -> Linted {
    let version: Version = said(text, "kubernetes").map_or(Version::NEWEST, |minor| {
        minor.parse().unwrap_or(Version::NEWEST)
    });
    lint(&[text], &Gates::default_of(version))
}

#[test]
fn each_example_has_its_mistake_at_its_place() {
    let mut shown = String::new();
    for (name, text) in folder("bad") {
        let problems = linted(&text).problems;
        assert!(!problems.is_empty(), "{name}: nothing is found");
        let _ = writeln!(shown, "{name}");
        for it in problems {
            let (start, length) = it.span;
            let place = text
                .get(start..start + length)
                .expect("a place in the text")
                .lines()
                .next()
                .unwrap_or_default();
            let _ = writeln!(
                shown,
                "  {}:{} {} [{}]\n    at: {place}\n    mend: {}",
                it.line, it.column, it.message, it.rule, it.help
            );
            assert!(!it.help.is_empty(), "{name}: no remedy");
        }
    }
    insta::assert_snapshot!("bad", shown);
}

#[test]
fn what_is_right_has_no_findings() {
    for (name, text) in folder("good") {
        let linted = linted(&text);
        assert!(linted.problems.is_empty(), "{name}: {:#?}", linted.problems);
        assert!(linted.objects > 2, "{name}");
    }
}

#[test]
fn a_file_may_say_that_a_rule_does_not_count_in_it() {
    let (_, text) = folder("bad")
        .into_iter()
        .find(|(name, _)| name == "slice-missing.yaml")
        .expect("an example");
    let with = |rules: &str| {
        linted(&format!("# lint: allow {rules}\n{text}"))
            .problems
            .len()
    };
    assert_eq!(
        (
            with("slice-count"),
            with("yaml, slice-count"),
            with("slice")
        ),
        (0, 0, 1)
    );
}

#[test]
fn every_rule_has_an_example() {
    let found: BTreeSet<&str> = folder("bad")
        .iter()
        .flat_map(|(_, text)| linted(text).problems)
        .map(|it| it.rule)
        .collect();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut rules = BTreeSet::new();
    for entry in std::fs::read_dir(source).expect("a folder").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("a text");
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for (at, _) in flat.match_indices(".say(") {
            let arguments = &flat[at..];
            let rule = arguments.split('"').nth(1).unwrap_or_default();
            let is_rule = rule.contains('-')
                && rule
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'-');
            if is_rule
                && arguments
                    .split('"')
                    .next()
                    .is_some_and(|before| before.matches(',').count() == 1)
            {
                rules.insert(rule.to_owned());
            }
        }
    }
    let without: Vec<&String> = rules
        .iter()
        .filter(|rule| !found.contains(rule.as_str()))
        .collect();
    assert!(
        rules.len() > 20 && without.is_empty(),
        "rules without an example: {without:?}"
    );
}

#[test]
fn a_pod_and_its_template_may_be_in_two_files() {
    let template = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: one}\nspec: {spec: {devices: {requests: [{name: a, exactly: {deviceClassName: gpu.nvidia.com}}]}}}\n";
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  resourceClaims: [{name: g, resourceClaimTemplateName: one}]\n  containers: [{name: c, image: i, resources: {claims: [{name: g, request: b}]}}]\n";
    let problems = lint(&[template, pod], &Gates::default_of(Version::NEWEST)).problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(
        (problems[0].file, problems[0].rule, problems[0].line),
        (1, "unknown-request", 6)
    );
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Whatever is written: an answer, and places within the text.
    #[test]
    fn no_text_makes_it_stumble(at in 0_usize..3000, with in "[a-z{}\\[\\]:,\\-\"' \n\t#&*|>]{0,4}", which in 0_usize..200, cut in 0_usize..3000) {
        let all = folder("bad");
        let (_, text) = &all[which % all.len()];
        let mut text = text.clone();
        let at = at % (text.len() + 1);
        if text.is_char_boundary(at) {
            text.insert_str(at, &with);
        }
        let cut = text.len() - cut % (text.len() + 1);
        if text.is_char_boundary(cut) {
            text.truncate(cut);
        }
        for it in linted(&text).problems {
            proptest::prop_assert!(it.span.0 <= text.len() && text.get(it.span.0..).is_some(), "{:?}", it);
        }
    }
}
