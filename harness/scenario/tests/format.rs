//! The formatter says again what was said: parsed before and after, a feature is the same; and formatting twice is formatting once.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects"
)]

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use scenario::{Filter, Plan, SourceFile, format, registry};

fn features(folder: &str) -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "feature") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a text")
}

/// Everything that a feature says, without the places where it says it.
fn said(text: &str) -> String {
    let parsed = gherkin::Feature::parse(text, gherkin::GherkinEnv::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let step = |it: &gherkin::Step| {
        let rows = it.table.as_ref().map(|table| &table.rows);
        let doc = it
            .docstring
            .as_ref()
            .map(|doc| doc.trim_matches('\n').to_owned());
        format!(
            "{:?} {} {} {rows:?} {doc:?}",
            it.ty,
            it.keyword.trim(),
            it.value.trim()
        )
    };
    let steps = |all: &[gherkin::Step]| all.iter().map(step).collect::<Vec<_>>().join("\n");
    let words = |text: &Option<String>| {
        text.clone()
            .unwrap_or_default()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let scenario = |it: &gherkin::Scenario| {
        let examples: Vec<String> = it
            .examples
            .iter()
            .map(|it| {
                format!(
                    "{:?} {:?}",
                    it.tags,
                    it.table.as_ref().map(|table| &table.rows)
                )
            })
            .collect();
        format!(
            "{} {} {:?} {}\n{}\n{examples:?}",
            it.keyword,
            it.name,
            it.tags,
            words(&it.description),
            steps(&it.steps)
        )
    };
    let background = |it: &Option<gherkin::Background>| it.as_ref().map(|it| steps(&it.steps));
    let mut all = vec![format!(
        "{} {:?} {} {:?}",
        parsed.name,
        parsed.tags,
        words(&parsed.description),
        background(&parsed.background)
    )];
    all.extend(parsed.scenarios.iter().map(scenario));
    for rule in &parsed.rules {
        all.push(format!(
            "{} {:?} {:?}",
            rule.name,
            rule.tags,
            background(&rule.background)
        ));
        all.extend(rule.scenarios.iter().map(scenario));
    }
    all.join("\n")
}

const UGLY: &str = r#"# A licence.

@a    @b
Feature:   ugly
 Words of it,
      in two lines.
  Background:

   Given a node with 1 "L4"


  @c
      # why
  Scenario:  first
      When pods claim these partitions, one after another:
  |profile|
        # a word in between
     | 1g.5gb \| x |
    # before the step
   Then   1 pod runs
   And a doc:
 """
   one
     two

   three
 """
  Scenario Outline: many <n>
    Then <n> pod runs
    # of these
    Examples:
    |n|
    |1|
    |100|
  Rule: a rule
  Background:
  Given a node with 1 "L4"
   @d
  Scenario: within
  Then 1 pod runs


"#;

const PRETTY: &str = r#"# A licence.

@a @b
Feature: ugly
  Words of it,
  in two lines.

  Background:
    Given a node with 1 "L4"

  @c
  # why
  Scenario: first
    When pods claim these partitions, one after another:
      | profile      |
      # a word in between
      | 1g.5gb \| x  |
    # before the step
    Then 1 pod runs
    And a doc:
      """
      one
        two

      three
      """

  Scenario Outline: many <n>
    Then <n> pod runs

    # of these
    Examples:
      | n   |
      | 1   |
      | 100 |

  Rule: a rule

    Background:
      Given a node with 1 "L4"

    @d
    Scenario: within
      Then 1 pod runs
"#;

#[test]
fn an_ugly_file_is_brought_into_form() {
    assert_eq!(
        format(UGLY),
        PRETTY
            .replace("| profile      |", "| profile     |")
            .replace("\\| x  |", "\\| x |")
    );
    assert_eq!(said(UGLY), said(&format(UGLY)));
    assert_eq!(format(&UGLY.replace('\n', "\r\n")), format(UGLY));
}

#[test]
fn features_that_the_lint_takes_are_still_taken() {
    for path in features("../../scenarios") {
        let text = format(&read(&path));
        let shown = path.display().to_string();
        let file = SourceFile::new(shown.clone(), text);
        assert!(
            Plan::of(&registry(), &[file], &Filter::default()).is_ok(),
            "{shown}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// However it is indented, spaced and set apart: one form, the same words.
    #[test]
    fn words_stay_and_the_form_is_one(which in 0_usize..1000, seed in any::<u64>()) {
        let all = features("../../scenarios");
        let original = if which % 4 == 0 { UGLY.to_owned() } else { read(&all[which % all.len()]) };
        let formatted = format(&original);
        prop_assert_eq!(said(&original), said(&formatted));
        prop_assert_eq!(format(&formatted), formatted.clone());
        let mut dice = seed;
        let mut roll = |sides: u64| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (dice >> 33) % sides
        };
        let mut shaken = String::new();
        let mut in_doc = false;
        for line in formatted.lines() {
            let fence = line.trim() == "\"\"\"";
            if in_doc || fence {
                // Lines of a doc string move together or not at all.
                shaken.push_str(line);
            } else {
                if line.is_empty() && roll(2) == 0 {
                    shaken.push('\n');
                }
                shaken.push_str(&" ".repeat(usize::try_from(roll(9)).unwrap_or(0)));
                let words = line.trim_start();
                if words.starts_with('|') {
                    // A | after a backslash belongs to its cell.
                    let bar = if roll(2) == 0 { "|   " } else { "|" };
                    shaken.push_str(&words.replace("\\|", "\u{1}").replace("| ", bar).replace('\u{1}', "\\|"));
                } else {
                    shaken.push_str(words);
                }
                shaken.push_str(&" ".repeat(usize::try_from(roll(3)).unwrap_or(0)));
            }
            in_doc ^= fence;
            shaken.push('\n');
        }
        prop_assert_eq!(format(&shaken), formatted);
    }
}
