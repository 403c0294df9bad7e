//! Problems of a plan, drawn at their places.

use std::fmt;

use gpu_model::Problem;
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode,
};

struct Shown<'a> {
    problem: &'a Problem,
    source: NamedSource<String>,
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem.message)
    }
}

impl std::error::Error for Shown<'_> {}

impl Diagnostic for Shown<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.problem.rule))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.problem.help))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = (self.problem.offset, self.problem.length);
        let label = LabeledSpan::new_primary_with_span(Some("here".to_owned()), span);
        Some(Box::new(std::iter::once(label)))
    }
}

/// All problems as text, with a closing count.
pub(super) fn render(file: &str, yaml: &str, problems: Vec<Problem>) -> String {
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(110)
        .with_links(false)
        .with_wrap_lines(false);
    let mut text = String::new();
    for problem in &problems {
        text.push_str(&format!("{file}:{}: {}\n", problem.line, problem.message));
        let shown = Shown {
            problem,
            source: NamedSource::new(file, yaml.to_owned()),
        };
        // Writing to a String cannot fail.
        let _ = handler.render_report(&mut text, &shown);
        text.push('\n');
    }
    let count = problems.len();
    let errors = if count == 1 { "error" } else { "errors" };
    text.push_str(&format!("{count} {errors} in {file}; nothing was armed\n"));
    text
}
