//! The two forms of a report's tree.

use std::io::Write as _;

use super::tree::{Look, Node};
use crate::failure::Output;

/// Columns of a process's lines, the same in every driver.
const NARROW: usize = 42;

/// Lines with their colons in one column.
pub(super) fn text(nodes: &[Node], depth: usize, column: usize, out: &mut Output) {
    for node in nodes {
        let indent = " ".repeat(depth * 4);
        match node {
            Node::Value { text: "", .. } | Node::Group { text: "", .. } => {}
            Node::Value { text, value, .. } => {
                let _ = writeln!(out, "{:<column$}: {value}", format!("{indent}{text}"));
            }
            Node::Group {
                text: name,
                nodes,
                look: Look::OrNone,
                ..
            } if nodes.is_empty() => {
                let _ = writeln!(out, "{:<column$}: None", format!("{indent}{name}"));
            }
            // A process has no heading: its first lines stand in the block's own column and the rest one step in.
            Node::Group {
                nodes,
                look: Look::Narrow,
                ..
            } => text(nodes, depth, NARROW, out),
            Node::Group {
                nodes,
                look: Look::Spread,
                ..
            } => text(nodes, depth, column, out),
            Node::Group {
                text: name, nodes, ..
            } => {
                let _ = writeln!(out, "{indent}{name}");
                text(nodes, depth + 1, column, out);
            }
        }
    }
}

/// Elements, a tab for each step.
pub(super) fn xml(nodes: &[Node], depth: usize, out: &mut Output) {
    for node in nodes {
        let indent = "\t".repeat(depth);
        match node {
            Node::Value { xml: "", .. } | Node::Group { xml: "", .. } => {}
            Node::Value {
                xml: name, value, ..
            } => {
                let _ = writeln!(out, "{indent}<{name}>{}</{name}>", escaped(value));
            }
            Node::Group {
                xml: name,
                nodes,
                look,
                ..
            } => {
                let _ = writeln!(out, "{indent}<{name}>");
                match (nodes.is_empty(), look) {
                    (true, Look::OrNone) => {
                        let _ = writeln!(out, "{indent}\tNone");
                    }
                    (_, Look::Spread) => xml(nodes, depth, out),
                    _ => xml(nodes, depth + 1, out),
                }
                let _ = writeln!(out, "{indent}</{name}>");
            }
        }
    }
}

fn escaped(value: &str) -> String {
    value
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        // Characters that no XML 1.0 document may hold, which a process can put into its name.
        .replace(|c: char| c.is_control() && c != '\t', "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(nodes: &[Node]) -> (String, String) {
        let (mut lines, mut elements) = (Output::new(), Output::new());
        text(nodes, 1, 20, &mut lines);
        xml(nodes, 1, &mut elements);
        (
            String::from_utf8(lines).expect("text"),
            String::from_utf8(elements).expect("text"),
        )
    }

    #[test]
    fn colons_stand_in_one_column_and_names_may_be_of_one_form_only() {
        let (lines, elements) = both(&[
            Node::value("One", "one", "1"),
            Node::value("", "two", "2"),
            Node::group("Three", "three", vec![Node::value("Four", "", "4")]),
        ]);
        assert_eq!(
            lines,
            "    One             : 1\n    Three\n        Four        : 4\n"
        );
        assert_eq!(
            elements,
            "\t<one>1</one>\n\t<two>2</two>\n\t<three>\n\t</three>\n"
        );
    }

    #[test]
    fn names_of_processes_do_not_break_the_document() {
        let (_, elements) = both(&[Node::value("", "name", "a<b>&\u{1}")]);
        assert_eq!(elements, "\t<name>a&lt;b&gt;&amp;?</name>\n");
    }
}
