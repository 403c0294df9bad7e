//! Feature files in one form: indentation by what a line is, tables in columns, one blank line between blocks.
//! Not here: what a line means, beyond its keyword; words are never changed. Files that the lint refuses are left alone.

use crate::lint::keywords;

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line<'t> {
    Blank,
    Comment(&'t str),
    Tags(&'t str),
    /// A block keyword, with its line.
    Block(&'static str, &'t str),
    Step(&'t str),
    Row(&'t str),
    /// The line that opens or closes a doc string.
    Fence(&'t str),
    /// A line within a doc string, as it stands.
    Doc(&'t str),
    Prose(&'t str),
}

/// The text in the one form. Parsed, it says what it said before.
#[must_use]
pub fn format(text: &str) -> String {
    let lines = read(text);
    let mut out = Writer::default();
    let mut at = 0;
    while at < lines.len() {
        at = match lines[at] {
            Line::Row(_) => table(&lines, at, &mut out),
            Line::Fence(_) => doc(&lines, at, &mut out),
            Line::Blank => {
                out.gap = true;
                at + 1
            }
            Line::Comment(_) | Line::Tags(_) | Line::Block(..) => head(&lines, at, &mut out),
            Line::Step(step) => {
                let (keyword, rest) = step.split_once(char::is_whitespace).unwrap_or((step, ""));
                out.in_body = true;
                out.line(out.body, &format!("{keyword} {}", rest.trim()));
                at + 1
            }
            Line::Prose(words) => {
                out.line(out.body, words);
                at + 1
            }
            Line::Doc(words) => {
                out.line(0, words);
                at + 1
            }
        };
    }
    out.text
}

#[derive(Default)]
struct Writer {
    text: String,
    /// Indentation of what stands below the last block keyword.
    body: usize,
    /// A rule is open: what follows stands deeper.
    in_rule: bool,
    /// Below a block keyword something has been written.
    in_body: bool,
    /// A blank line was there.
    gap: bool,
}

impl Writer {
    fn line(&mut self, indent: usize, words: &str) {
        if self.gap && !self.text.is_empty() {
            self.text.push('\n');
        }
        self.gap = false;
        let words = words.trim_end();
        if !words.is_empty() {
            self.text.push_str(&" ".repeat(indent));
            self.text.push_str(words);
        }
        self.text.push('\n');
    }
}

fn read(text: &str) -> Vec<Line<'_>> {
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for raw in text.lines() {
        let line = raw.trim();
        if let Some(open) = fence {
            if line == open {
                fence = None;
                lines.push(Line::Fence(line));
            } else {
                lines.push(Line::Doc(raw));
            }
            continue;
        }
        let opens = ["\"\"\"", "```"]
            .into_iter()
            .find(|mark| line.starts_with(mark));
        lines.push(match line {
            "" => Line::Blank,
            _ if opens.is_some() => {
                fence = opens;
                Line::Fence(line)
            }
            _ if line.starts_with('#') => Line::Comment(line),
            _ if line.starts_with('@') => Line::Tags(line),
            _ if line.starts_with('|') => Line::Row(line),
            _ => match (keywords::block(line), keywords::step(line)) {
                (Some((keyword, _)), _) => Line::Block(keyword, line),
                (None, Some(_)) => Line::Step(line),
                (None, None) => Line::Prose(line),
            },
        });
    }
    lines
}

/// Comments and tags, with the keyword that they belong to: they share its indentation, and the blank line stands above them.
fn head(lines: &[Line<'_>], from: usize, out: &mut Writer) -> usize {
    let mut to = from;
    while matches!(
        lines.get(to),
        Some(Line::Comment(_) | Line::Tags(_) | Line::Blank)
    ) {
        to += 1;
    }
    let keyword = match lines.get(to) {
        Some(Line::Block(keyword, _)) => Some(*keyword),
        _ => None,
    };
    let Some(keyword) = keyword else {
        // A comment of its own: it stands as deep as what follows, and what was apart from it stays so.
        let indent = match lines.get(to) {
            Some(Line::Row(_) | Line::Fence(_)) => out.body + 2,
            _ => out.body,
        };
        if let Line::Comment(words) | Line::Tags(words) = lines[from] {
            out.line(indent, words);
        }
        return from + 1;
    };
    let indent = match keyword {
        "Feature" => 0,
        "Rule" => 2,
        "Examples" | "Scenarios" => out.level() + 2,
        _ => out.level(),
    };
    out.gap = !out.text.is_empty();
    for line in &lines[from..to] {
        match line {
            Line::Comment(words) => out.line(indent, words),
            Line::Tags(words) => out.line(indent, &tags(words)),
            // A blank line keeps apart what was apart; right above the keyword there is none.
            _ => out.gap = true,
        }
    }
    out.gap = out.gap && from == to && !out.text.is_empty();
    if let Some(Line::Block(_, words)) = lines.get(to) {
        let (head, rest) = words.split_once(':').unwrap_or((words, ""));
        let rest = rest.trim();
        let space = if rest.is_empty() { "" } else { " " };
        out.line(indent, &format!("{head}:{space}{rest}"));
    }
    if keyword == "Rule" {
        out.in_rule = true;
    }
    out.body = indent + 2;
    out.in_body = false;
    // Nothing stands between a keyword and the first line below it.
    let mut next = to + 1;
    while matches!(lines.get(next), Some(Line::Blank)) {
        next += 1;
    }
    next
}

impl Writer {
    /// Indentation of backgrounds and scenarios.
    fn level(&self) -> usize {
        if self.in_rule { 4 } else { 2 }
    }
}

/// Tags with one space between them; a comment behind them stays.
fn tags(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The cells of a row, as written; a `|` after a backslash belongs to its cell.
fn cells(row: &str) -> Vec<&str> {
    let inner = row.strip_prefix('|').unwrap_or(row);
    let mut cells = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, c) in inner.char_indices() {
        match c {
            '\\' if !escaped => escaped = true,
            '|' if !escaped => {
                cells.push(inner[start..at].trim());
                start = at + 1;
            }
            _ => escaped = false,
        }
    }
    cells
}

fn table(lines: &[Line<'_>], from: usize, out: &mut Writer) -> usize {
    // Comments within a table stay where they are.
    let mut to = from;
    let mut last = from;
    while let Some(Line::Row(_) | Line::Comment(_)) = lines.get(to) {
        if matches!(lines[to], Line::Row(_)) {
            last = to;
        }
        to += 1;
    }
    let to = last + 1;
    let rows: Vec<Option<Vec<&str>>> = lines[from..to]
        .iter()
        .map(|line| match line {
            Line::Row(row) => Some(cells(row)),
            _ => None,
        })
        .collect();
    let width = |column: usize| {
        let of_column = rows.iter().flatten().filter_map(|row| row.get(column));
        of_column
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    for (line, row) in lines[from..to].iter().zip(&rows) {
        match (line, row) {
            (_, Some(row)) => {
                let padded: Vec<String> = row
                    .iter()
                    .enumerate()
                    .map(|(column, cell)| {
                        format!("{cell}{}", " ".repeat(width(column) - cell.chars().count()))
                    })
                    .collect();
                let indent = if out.in_body { out.body + 2 } else { out.body };
                out.line(indent, &format!("| {} |", padded.join(" | ")));
            }
            (Line::Comment(words), None) => {
                let indent = if out.in_body { out.body + 2 } else { out.body };
                out.line(indent, words);
            }
            _ => {}
        }
    }
    to
}

/// A doc string: its lines move together, so that what it says stays.
fn doc(lines: &[Line<'_>], from: usize, out: &mut Writer) -> usize {
    let indent = out.body + 2;
    let Line::Fence(open) = lines[from] else {
        return from + 1;
    };
    out.line(indent, open);
    let mut to = from + 1;
    while matches!(lines.get(to), Some(Line::Doc(_))) {
        to += 1;
    }
    let words = |line: &Line<'_>| match line {
        Line::Doc(words) => (*words).to_owned(),
        _ => String::new(),
    };
    let texts: Vec<String> = lines[from + 1..to].iter().map(words).collect();
    // Behind a media type the parser takes the text as it stands.
    let moves = open.len() == 3;
    let margin = |text: &String| -> String {
        text.chars()
            .take_while(|c| [' ', '\t'].contains(c))
            .collect()
    };
    let margins = texts
        .iter()
        .filter(|text| !text.trim().is_empty())
        .map(margin);
    let common = margins.reduce(|a, b| {
        a.chars()
            .zip(b.chars())
            .take_while(|(a, b)| a == b)
            .map(|(a, _)| a)
            .collect()
    });
    let common = common.unwrap_or_default();
    for text in &texts {
        let shown = match text.strip_prefix(&common) {
            _ if !moves => text.clone(),
            _ if text.trim().is_empty() => String::new(),
            rest => format!("{}{}", " ".repeat(indent), rest.unwrap_or(text)),
        };
        out.text.push_str(&shown);
        out.text.push('\n');
    }
    if let Some(Line::Fence(close)) = lines.get(to) {
        out.line(indent, close);
        to += 1;
    }
    to
}
