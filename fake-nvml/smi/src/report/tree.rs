//! A report before it is text or XML.

use nvml_client::Result;

use crate::value::{part, switch};

/// A line or a block.
#[derive(Debug)]
pub(crate) enum Node {
    /// A name with a value. An empty name is left out of that form.
    Value {
        text: &'static str,
        xml: &'static str,
        value: String,
    },
    /// A name with lines below it.
    Group {
        text: &'static str,
        xml: &'static str,
        nodes: Vec<Node>,
        look: Look,
    },
}

/// How a block differs from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Plain,
    /// Nothing but this word when it has no lines: `None`.
    OrNone,
    /// Its blocks stand where it would stand itself, in both forms, under no heading: MIG devices.
    Spread,
    /// Its colons stand at the old column in every driver, under a heading that has none: a process.
    Narrow,
}

impl Node {
    pub(crate) fn value(text: &'static str, xml: &'static str, value: impl Into<String>) -> Self {
        Self::Value {
            text,
            xml,
            value: value.into(),
        }
    }

    /// Its name in the text form.
    pub(crate) const fn text(&self) -> &'static str {
        match self {
            Self::Value { text, .. } | Self::Group { text, .. } => text,
        }
    }

    pub(crate) fn group(text: &'static str, xml: &'static str, nodes: Vec<Self>) -> Self {
        Self::look(text, xml, Look::Plain, nodes)
    }

    pub(crate) fn look(
        text: &'static str,
        xml: &'static str,
        look: Look,
        nodes: Vec<Self>,
    ) -> Self {
        Self::Group {
            text,
            xml,
            nodes,
            look,
        }
    }
}

/// Enabled or Disabled of two modes: now and after the next reset.
pub(super) fn modes(
    text: &'static str,
    xml: &'static str,
    elements: [&'static str; 2],
    got: Result<(bool, bool)>,
) -> Node {
    let show = |pick: fn(&(bool, bool)) -> bool| part(&got, |both| switch(pick(both)));
    Node::group(
        text,
        xml,
        vec![
            Node::value("Current", elements[0], show(|m| m.0)),
            Node::value("Pending", elements[1], show(|m| m.1)),
        ],
    )
}
