//! What was found.

use crate::tree::Place;

/// One thing that is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which of the texts.
    pub file: usize,
    /// Stable name of the rule.
    pub rule: &'static str,
    /// First byte and length.
    pub span: (usize, usize),
    /// Line of the place, from 1.
    pub line: usize,
    /// Column of the place in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

/// Gathers problems.
pub(crate) struct Report<'t> {
    texts: &'t [&'t str],
    problems: Vec<Problem>,
}

impl<'t> Report<'t> {
    pub(crate) fn new(texts: &'t [&'t str]) -> Self {
        Self {
            texts,
            problems: Vec::new(),
        }
    }

    pub(crate) fn text(&self, file: usize) -> &'t str {
        self.texts.get(file).copied().unwrap_or_default()
    }

    pub(crate) fn say(
        &mut self,
        file: usize,
        rule: &'static str,
        span: Place,
        message: impl Into<String>,
    ) -> &mut Problem {
        let (line, column) = oracle::line_and_column(self.text(file), span.0);
        self.problems.push(Problem {
            file,
            rule,
            span,
            line,
            column,
            message: message.into(),
            help: String::new(),
        });
        let last = self.problems.len() - 1;
        &mut self.problems[last]
    }

    /// Whether a place was already found wrong: what follows from that is not said again.
    pub(crate) fn has(&self, file: usize, span: Place) -> bool {
        self.problems
            .iter()
            .any(|it| it.file == file && it.span == span)
    }

    pub(crate) fn done(mut self) -> Vec<Problem> {
        self.problems
            .sort_by(|a, b| (a.file, a.span, a.rule).cmp(&(b.file, b.span, b.rule)));
        self.problems.dedup();
        self.problems
    }
}

impl Problem {
    pub(crate) fn help(&mut self, help: impl Into<String>) {
        self.help = help.into();
    }
}
