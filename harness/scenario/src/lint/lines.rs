//! Rules about single lines. The parser takes any line that it does not know as description, and so a mistyped
//! keyword would vanish without a word: here each line must be something.

use std::sync::Arc;

use super::keywords;
use crate::finding::Finding;
use crate::registry::Registry;
use crate::source::SourceFile;

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Start,
    Feature,
    /// Background or scenario: `true` once a step has been seen.
    Steps(bool),
    /// Examples: `true` once the table has begun.
    Examples(bool),
}

/// Checks each line of `file` on its own.
pub(crate) fn lines(file: &Arc<SourceFile>, registry: &Registry) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut at = At::Start;
    let mut doc: Option<(&str, (usize, usize))> = None;
    let mut width: Option<usize> = None;
    let mut offset = 0;
    for raw in file.text.split_inclusive('\n') {
        let line = raw.trim();
        let span = (
            offset + raw.len() - raw.trim_start().len(),
            line.len().max(1),
        );
        offset += raw.len();
        if let Some((fence, _)) = doc {
            if line == fence {
                doc = None;
            }
            continue;
        }
        if !line.starts_with('|') {
            width = None;
        }
        if let Some(fence) = ["\"\"\"", "```"]
            .into_iter()
            .find(|fence| line.starts_with(fence))
        {
            if at != At::Steps(true) {
                findings.push(
                    Finding::new(
                        "misplaced-doc-string",
                        file,
                        span,
                        "a doc string belongs below a step",
                    )
                    .help("write the step above it"),
                );
            }
            doc = Some((fence, span));
            continue;
        }
        if line.is_empty() || line.starts_with('@') {
            continue;
        }
        if line.starts_with('#') {
            findings.extend(language(file, span, line));
            continue;
        }
        if line.starts_with('|') {
            findings.extend(row(file, span, line, &mut width));
            match at {
                At::Steps(true) => {}
                At::Examples(_) => at = At::Examples(true),
                _ => findings.push(
                    Finding::new(
                        "misplaced-table",
                        file,
                        span,
                        "a table belongs below a step or below `Examples:`",
                    )
                    .help("write the step above it"),
                ),
            }
            continue;
        }
        if let Some((keyword, rest)) = keywords::block(line) {
            if rest.trim().is_empty()
                && matches!(
                    keyword,
                    "Feature" | "Scenario" | "Scenario Outline" | "Scenario Template" | "Example"
                )
            {
                findings.push(
                    Finding::new("no-name", file, span, format!("this {keyword} has no name"))
                        .help(
                            "say in a few words what it shows; reports and filters go by the name",
                        ),
                );
            }
            at = match keyword {
                "Feature" | "Rule" => At::Feature,
                "Examples" | "Scenarios" => At::Examples(false),
                _ => At::Steps(false),
            };
            continue;
        }
        if let (At::Steps(seen), Some((keyword, _))) = (at, keywords::step(line)) {
            if !seen && matches!(keyword, "And" | "But" | "*") {
                findings.push(
                    Finding::new(
                        "and-first",
                        file,
                        span,
                        format!("{keyword:?} continues a step, and there is none before it"),
                    )
                    .help("begin with Given, When or Then"),
                );
            }
            at = At::Steps(true);
            continue;
        }
        findings.extend(other(file, span, line, at, registry));
        // What follows belongs to the block that was meant: one mistake, one finding.
        at = match keywords::meant_block(line) {
            Some("Feature" | "Rule") => At::Feature,
            Some("Examples" | "Scenarios") => At::Examples(false),
            Some(_) => At::Steps(false),
            None => at,
        };
    }
    if let Some((fence, span)) = doc {
        findings.push(
            Finding::new(
                "open-doc-string",
                file,
                span,
                "this doc string is never closed",
            )
            .label("opened here")
            .help(format!("end it with a line that holds only {fence}")),
        );
    }
    if at == At::Start && findings.is_empty() {
        findings.push(
            Finding::new("empty-file", file, (0, 1), "this file holds no feature")
                .help("write `Feature: NAME` and at least one `Scenario: NAME` below it, or remove the file"),
        );
    }
    findings
}

/// A line that is neither keyword nor table: description where one may stand, a mistake elsewhere.
fn other(
    file: &Arc<SourceFile>,
    span: (usize, usize),
    line: &str,
    at: At,
    registry: &Registry,
) -> Option<Finding> {
    let word_len = line.split_whitespace().next().unwrap_or_default().len();
    let head = (span.0, word_len.max(1));
    let mistyped = |keyword: &str| {
        Finding::new(
            "mistyped-keyword",
            file,
            head,
            format!("{:?} is not a keyword", &line[..word_len]),
        )
        .label(format!("did you mean `{keyword}`?"))
        .help("the parser would have taken this line as description, and it would never have run")
    };
    if let Some(keyword) = keywords::meant_block(line) {
        return Some(mistyped(&format!("{keyword}:")));
    }
    let rest = line[word_len..].trim();
    let is_known_step = !registry.find(rest).is_empty();
    match at {
        At::Start => Some(
            Finding::new("before-feature", file, span, "a feature file begins with `Feature: NAME`")
                .help("only tags and comments may stand above it"),
        ),
        At::Feature => {
            // Prose is welcome here; a whole step is not: it would never run.
            is_known_step.then(|| match keywords::meant_step(line, false) {
                Some(keyword) if keywords::step(line).is_none() => mistyped(keyword),
                _ => Finding::new("step-outside", file, span, "this step stands outside a scenario and would never run")
                    .help("put `Scenario: NAME` or `Background:` above it"),
            })
        }
        At::Steps(false) | At::Examples(false) => {
            if let Some(keyword) = keywords::glued(line) {
                return Some(mistyped(keyword));
            }
            if let Some(keyword) = keywords::meant_step(line, true) {
                return Some(mistyped(keyword));
            }
            is_known_step.then(|| mistyped("Given`, `When`, `Then`, `And` or `But"))
        }
        At::Steps(true) | At::Examples(true) => Some(match keywords::meant_step(line, false).or_else(|| keywords::glued(line)) {
            Some(keyword) => mistyped(keyword),
            None => Finding::new("not-a-step", file, span, "below a step only steps may follow")
                .label("neither step, table nor doc string")
                .help("a description goes right below the name of the scenario; a comment begins with #"),
        }),
    }
}

fn language(file: &Arc<SourceFile>, span: (usize, usize), line: &str) -> Option<Finding> {
    let rest = line
        .trim_start_matches('#')
        .trim()
        .strip_prefix("language")?
        .trim()
        .strip_prefix(':')?
        .trim();
    (rest != "en").then(|| {
        Finding::new(
            "language",
            file,
            span,
            format!("features are written in English; {rest:?} is not supported"),
        )
        .help("remove the line; the steps are English in any case")
    })
}

fn row(
    file: &Arc<SourceFile>,
    span: (usize, usize),
    line: &str,
    width: &mut Option<usize>,
) -> Option<Finding> {
    if !line.ends_with('|') || line.len() < 2 {
        return Some(
            Finding::new("open-row", file, span, "this table row does not end in |")
                .help("each cell is closed by a |; a | in a cell is written \\|"),
        );
    }
    let bare = line.replace("\\\\", "").replace("\\|", "");
    let cells = bare.matches('|').count() - 1;
    match *width {
        None => {
            *width = Some(cells);
            None
        }
        Some(first) if first == cells => None,
        Some(first) => Some(
            Finding::new(
                "ragged-table",
                file,
                span,
                format!("this row has {cells} cells, the first row of the table has {first}"),
            )
            .help("each row of a table has the same number of cells; a | in a cell is written \\|"),
        ),
    }
}
