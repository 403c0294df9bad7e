//! A problem at its place in the text.
//! Not here: what is a problem (`calls`, `cards`, `devices`), how it is drawn (`fakegpu`).
use super::{super::Problem, Lint};
use serde_saphyr::{Location, Spanned};

impl Lint<'_> {
    /// What serde refused: a field that is not known, one that is missing, a value of another type, or no YAML at all.
    pub(super) fn unread(&mut self, error: &serde_saphyr::Error) {
        let text = error.without_snippet().to_string();
        let text = text.split(" at line ").next().unwrap_or(&text);
        let message = text
            .trim_start_matches("error: ")
            .lines()
            .next()
            .unwrap_or_default();
        // serde: unknown field `x`, expected one of a, b
        let given = message.split('`').nth(1);
        let names = message.split("expected one of ").nth(1).unwrap_or_default();
        let names = names.split(", ").map(|name| name.trim_matches('`'));
        let unknown = message.contains("unknown field") || message.contains("unknown variant");
        let schema = "`fakegpu fault schema` shows what can be written";
        let (rule, help) = match given.filter(|_| unknown) {
            Some(given) => (
                "field",
                nearest(given, names)
                    .map_or_else(|| schema.to_owned(), |it| format!("did you mean `{it}`?")),
            ),
            None => ("yaml", schema.to_owned()),
        };
        let (offset, length) = error
            .location()
            .map_or((0, 0), |at| self.place(at.line(), at.column()));
        self.push(rule, offset, length, message.to_owned(), help);
    }

    pub(super) fn at<T>(
        &mut self,
        place: &Spanned<T>,
        rule: &'static str,
        message: String,
        help: impl Into<String>,
    ) {
        let at: Location = place.referenced;
        let (offset, length) = self.place(at.line(), at.column());
        self.push(rule, offset, length, message, help.into());
    }

    fn push(
        &mut self,
        rule: &'static str,
        offset: usize,
        length: usize,
        message: String,
        help: String,
    ) {
        let line = self
            .yaml
            .get(..offset)
            .unwrap_or_default()
            .matches('\n')
            .count()
            + 1;
        self.problems.push(Problem {
            rule,
            offset,
            length,
            line,
            message,
            help,
        });
    }

    /// The bytes from a line and column (from 1) to the end of the value, or of the line.
    fn place(&self, line: u64, column: u64) -> (usize, usize) {
        let line = usize::try_from(line.saturating_sub(1)).unwrap_or(0);
        let column = usize::try_from(column.saturating_sub(1)).unwrap_or(0);
        let start: usize = self
            .yaml
            .split_inclusive('\n')
            .take(line)
            .map(str::len)
            .sum();
        let text = self.yaml.get(start..).unwrap_or_default();
        let text = text.lines().next().unwrap_or_default();
        let into: usize = text.chars().take(column).map(char::len_utf8).sum();
        let rest = text.get(into..).unwrap_or_default();
        let end = rest.find([',', '}', '#']).unwrap_or(rest.len());
        let value = rest.get(..end).unwrap_or_default().trim_end();
        (start + into, value.len())
    }
}

/// The name that is most like this one, if any is.
pub(super) fn nearest<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let like = |name: &str| strsim::jaro_winkler(given, name);
    names
        .map(|name| (name, like(name)))
        .filter(|(_, like)| *like > 0.7)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(name, _)| name)
}
