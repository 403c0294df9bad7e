//! The text of a CEL expression at its place in a manifest, and what it names.

use std::sync::LazyLock;

use regex::Regex;

use crate::tree::{Node, Place};

/// `device.attributes["domain"].name` or `device.capacity["domain"].name`.
static MENTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"device\s*\.\s*(attributes|capacity)\s*\[\s*["']([^"']*)["']\s*\]\s*(?:\.\s*\??([A-Za-z_]\w*)|\[\s*\??["']([^"']*)["']\s*\])"#).ok()
});
static COMPARED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"^\s*==\s*["']([^"']*)["']"#).ok());

/// A name that an expression asks a device for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mention<'e> {
    /// Of the attributes, not of the capacities.
    pub(crate) is_attribute: bool,
    pub(crate) domain: &'e str,
    pub(crate) name: &'e str,
    /// As it is written in whole.
    pub(crate) whole: &'e str,
    /// The text that it is compared with for equality.
    pub(crate) wanted: Option<&'e str>,
}

/// Everything that the expression asks for.
pub(crate) fn mentions(text: &str) -> Vec<Mention<'_>> {
    let Some(regex) = MENTION.as_ref() else {
        return Vec::new();
    };
    let found = regex.captures_iter(text).filter_map(|it| {
        let whole = it.get(0)?;
        let name = it.get(3).or_else(|| it.get(4))?.as_str();
        // A method is not a name: `device.attributes["d"].exists(…)`.
        let rest = &text[whole.end()..];
        if rest.trim_start().starts_with('(') {
            return None;
        }
        let wanted = COMPARED
            .as_ref()
            .and_then(|compared| compared.captures(rest))
            .and_then(|it| it.get(1));
        Some(Mention {
            is_attribute: &it[1] == "attributes",
            domain: it.get(2)?.as_str(),
            name,
            whole: whole.as_str(),
            wanted: wanted.map(|it| it.as_str()),
        })
    });
    found.collect()
}

/// Whether `word` stands in `text` as a word of its own.
pub(crate) fn names(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(part) && !text[at + word.len()..].starts_with(part))
}

/// The place in the manifest of a part of the expression that `node` holds; the whole of it where the part is written otherwise there.
pub(crate) fn place_of(source: &str, node: &Node, part: &str) -> Place {
    let (start, length) = node.place;
    let raw = source.get(start..start + length).unwrap_or_default();
    let escaped = part.replace('"', "\\\"");
    for part in [part, &escaped] {
        if let Some(at) = raw.find(part).filter(|_| !part.is_empty()) {
            return (start + at, part.len());
        }
    }
    node.place
}

/// The place of a line and column (from 1) of the expression.
pub(crate) fn place_at(source: &str, node: &Node, text: &str, line: u32, column: u32) -> Place {
    let index = |number: u32| usize::try_from(number).unwrap_or(0).checked_sub(1);
    let (Some(line), Some(column)) = (index(line), index(column)) else {
        return node.place;
    };
    let Some(content) = text.lines().nth(line) else {
        return node.place;
    };
    let before: usize = content.chars().take(column).map(char::len_utf8).sum();
    let rest = &content[before..];
    let end = rest
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|end| *end > 0)
        .unwrap_or(1);
    let (start, _) = place_of(source, node, content);
    if (start, content.len()) == place_of(source, node, content) {
        (start + before, end.min(rest.len()).max(1))
    } else {
        node.place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_expression_asks_for() {
        let text = r#"device.attributes["gpu.nvidia.com"].profile == "1g.5gb" && device.capacity['x'].memory.compareTo(quantity("1Gi")) > 0 && device.attributes["a"]["b"] == "c""#;
        let all = mentions(text);
        let short: Vec<(bool, &str, &str, Option<&str>)> = all
            .iter()
            .map(|it| (it.is_attribute, it.domain, it.name, it.wanted))
            .collect();
        assert_eq!(
            short,
            [
                (true, "gpu.nvidia.com", "profile", Some("1g.5gb")),
                (false, "x", "memory", None),
                (true, "a", "b", Some("c"))
            ]
        );
        assert!(names("a.uuid == 1", "uuid") && !names("parentUuid", "uuid"));
    }
}
