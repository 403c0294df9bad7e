//! A finding of the lint: what is wrong, where, and what to write instead.

use std::sync::Arc;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode,
};

use crate::source::{SourceFile, is_manifest};

/// One thing that is wrong with a feature file.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Finding {
    /// Stable name of the rule.
    pub rule: &'static str,
    /// One line.
    pub message: String,
    /// The file.
    pub file: Arc<SourceFile>,
    /// First byte and length.
    pub span: (usize, usize),
    /// Text at the place.
    pub label: String,
    /// What to do.
    pub help: Option<String>,
    /// A second place.
    pub other: Option<((usize, usize), String)>,
    shown: NamedSource<String>,
}

impl Finding {
    /// A finding at `span` of `file`.
    #[must_use]
    pub fn new(
        rule: &'static str,
        file: &Arc<SourceFile>,
        span: (usize, usize),
        message: impl Into<String>,
    ) -> Self {
        Self {
            rule,
            message: message.into(),
            span,
            label: "here".to_owned(),
            help: None,
            other: None,
            shown: NamedSource::new(&file.shown, file.text.clone()),
            file: Arc::clone(file),
        }
    }

    /// Sets the text at the place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Sets what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Points at a second place.
    #[must_use]
    pub fn other(mut self, span: (usize, usize), label: impl Into<String>) -> Self {
        self.other = Some((span, label.into()));
        self
    }

    /// Line of the place, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.file.line_at(self.span.0)
    }
}

impl Diagnostic for Finding {
    fn code<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        Some(Box::new(self.rule))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn std::fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.shown)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let first = LabeledSpan::new_primary_with_span(Some(self.label.clone()), self.span);
        let second = self
            .other
            .as_ref()
            .map(|(span, label)| LabeledSpan::new_with_span(Some(label.clone()), *span));
        Some(Box::new(std::iter::once(first).chain(second)))
    }
}

/// All findings as text, in the order of file and line, with a closing count.
#[must_use]
pub fn render(findings: &[Finding], colour: bool) -> String {
    let theme = if colour {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_width(110)
        .with_links(false)
        .with_wrap_lines(false);
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by(|a, b| (&a.file.shown, a.span).cmp(&(&b.file.shown, b.span)));
    let mut text = String::new();
    for finding in &sorted {
        // A manifest's line may hold several findings; a feature's line is one thing.
        let column = if is_manifest(std::path::Path::new(&finding.file.shown)) {
            format!(":{}", finding.file.column_at(finding.span.0))
        } else {
            String::new()
        };
        text.push_str(&format!(
            "{}:{}{column}: {}\n",
            finding.file.shown,
            finding.line(),
            finding.message
        ));
        // Writing to a String cannot fail.
        let _ = handler.render_report(&mut text, *finding);
        text.push('\n');
    }
    let files: std::collections::BTreeSet<&str> = sorted
        .iter()
        .map(|finding| finding.file.shown.as_str())
        .collect();
    text.push_str(&format!(
        "{} error{} in {} file{}; nothing was started\n",
        sorted.len(),
        if sorted.len() == 1 { "" } else { "s" },
        files.len(),
        if files.len() == 1 { "" } else { "s" },
    ));
    text
}
