//! Which scenarios of those read are to run.

use gherkin::tagexpr::TagOperation;
use regex::Regex;

use crate::document::Scenario;
use crate::expectation::{self, Expectation};

/// Marks a scenario that takes long: it plays where `--tags` names the mark or `--name` the scenario.
const LONG: &str = "long";

/// A selection by tags and by name; empty, it takes everything that does not take long.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    tags: Option<TagOperation>,
    name: Option<Regex>,
    expected_fail: bool,
}

/// A selection that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// `--tags`.
    #[error(
        "--tags {expression:?} is not a tag expression; write tags with their @, joined by and, or, not and parentheses: \"@smoke and not @slow\""
    )]
    Tags {
        /// As given.
        expression: String,
    },
    /// `--name`.
    #[error("--name {expression:?} is not a regular expression: {reason}")]
    Name {
        /// As given.
        expression: String,
        /// Why.
        reason: String,
    },
}

impl Filter {
    /// A selection from the text of `--tags` and `--name`.
    ///
    /// # Errors
    /// Text that cannot be understood.
    pub fn parse(tags: Option<&str>, name: Option<&str>) -> Result<Self, FilterError> {
        let tags = tags
            .map(|expression| {
                expression
                    .trim()
                    .parse::<TagOperation>()
                    .map_err(|_| FilterError::Tags {
                        expression: expression.to_owned(),
                    })
            })
            .transpose()?;
        let name = name
            .map(|expression| {
                Regex::new(expression).map_err(|error| FilterError::Name {
                    expression: expression.to_owned(),
                    reason: last_line(&error.to_string()),
                })
            })
            .transpose()?;
        Ok(Self {
            tags,
            name,
            expected_fail: false,
        })
    }

    /// The same selection, and of it only what is expected to fail.
    #[must_use]
    pub fn only_expected_failures(mut self, only: bool) -> Self {
        self.expected_fail = only;
        self
    }

    /// Whether `scenario` is to run. A name matches where the expression is found in the id or the name.
    #[must_use]
    pub fn takes(&self, scenario: &Scenario) -> bool {
        let tags = self
            .tags
            .as_ref()
            .is_none_or(|tags| holds(tags, &scenario.tags));
        let name = self
            .name
            .as_ref()
            .is_none_or(|name| name.is_match(&scenario.name) || name.is_match(&scenario.id));
        let expected = matches!(expectation::of(&scenario.tags), Expectation::Fails(_));
        let long = scenario
            .tags
            .iter()
            .any(|it| it.trim_start_matches('@') == LONG);
        let asked = self.name.is_some() || self.tags.as_ref().is_some_and(|it| names(it, LONG));
        tags && name && (expected || !self.expected_fail) && (!long || asked)
    }
}

fn holds(expression: &TagOperation, tags: &[String]) -> bool {
    match expression {
        TagOperation::And(a, b) => holds(a, tags) && holds(b, tags),
        TagOperation::Or(a, b) => holds(a, tags) || holds(b, tags),
        TagOperation::Not(a) => !holds(a, tags),
        TagOperation::Tag(tag) => tags.iter().any(|have| have.trim_start_matches('@') == tag),
    }
}

/// Whether the expression speaks of a tag.
fn names(expression: &TagOperation, tag: &str) -> bool {
    match expression {
        TagOperation::And(a, b) | TagOperation::Or(a, b) => names(a, tag) || names(b, tag),
        TagOperation::Not(a) => names(a, tag),
        TagOperation::Tag(have) => have == tag,
    }
}

fn last_line(text: &str) -> String {
    text.lines()
        .last()
        .unwrap_or_default()
        .trim_start_matches("error: ")
        .to_owned()
}
