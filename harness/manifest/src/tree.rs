//! A YAML or JSON text as a tree whose nodes know their place.
//! Not here: what the values should be (`schema`).

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, Span};

/// First byte and length.
pub type Place = (usize, usize);

/// Deeper ones are refused: no object of the API comes near it.
const MAX_DEPTH: usize = 64;
/// More nodes than any manifest has; aliases of aliases would fill the memory.
const MAX_NODES: usize = 200_000;

/// A value at its place. The place of a map or list is the key that holds it, or its first entry.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it stands.
    pub place: Place,
    /// What it is.
    pub value: Value,
}

/// What stands at a place.
#[derive(Clone, Debug)]
pub enum Value {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the text.
    Map(Vec<(Key, Node)>),
}

/// The key of a value.
#[derive(Clone, Debug)]
pub struct Key {
    /// What it says.
    pub name: String,
    /// Where it stands.
    pub place: Place,
}

/// What cannot be read, and where.
#[derive(Debug)]
pub struct Broken {
    /// Where.
    pub place: Place,
    /// Stable name of the rule.
    pub rule: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: &'static str,
}

/// The documents of a text up to the first that cannot be read.
#[must_use]
pub fn read(text: &str) -> (Vec<Node>, Vec<Broken>) {
    let mut builder = Builder {
        text,
        ..Builder::default()
    };
    for event in Parser::new_from_str(text) {
        let result = match event {
            Ok((event, span)) => builder.take(event, span),
            Err(error) => {
                let at = error.marker().byte_offset().unwrap_or(0).min(text.len());
                let message = error.to_string();
                let message = message.split(" at char ").next().unwrap_or(&message);
                Err(Broken {
                    place: (at, 1),
                    rule: "yaml",
                    message: format!("this is not YAML: {message}"),
                    help: "indentation is spaces, a text that holds `: ` or begins with a sign stands in quotes",
                })
            }
        };
        if let Err(broken) = result {
            builder.broken.push(broken);
            break;
        }
    }
    (builder.documents, builder.broken)
}

/// A map or list that is not complete.
struct Open {
    node: Node,
    key: Option<Key>,
    /// What `<<` brings; the map's own keys win.
    merged: Vec<(Key, Node)>,
    anchor: usize,
}

#[derive(Default)]
struct Builder<'t> {
    text: &'t str,
    documents: Vec<Node>,
    broken: Vec<Broken>,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Broken> {
        let place = self.place(&span);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let tagged = tag
                    .as_deref()
                    .and_then(|tag| tag.core_suffix())
                    .map(str::to_owned);
                let value = scalar(&text, style, tagged.as_deref());
                self.put(Node { place, value }, anchor)
            }
            Event::Alias(id) => {
                let node = self.anchors.get(&id).cloned().ok_or_else(|| Broken {
                    place,
                    rule: "yaml",
                    message: "this alias stands inside what it stands for".to_owned(),
                    help: "write the value out",
                })?;
                self.nodes += size(&node);
                self.put(node, 0)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.enter(place, Value::List(Vec::new()), anchor)
            }
            Event::MappingStart(_, anchor, _) => self.enter(place, Value::Map(Vec::new()), anchor),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(mut open) => {
                    if let Value::Map(entries) = &mut open.node.value {
                        for (key, value) in open.merged {
                            if !entries.iter().any(|(known, _)| known.name == key.name) {
                                entries.push((key, value));
                            }
                        }
                    }
                    self.put(open.node, open.anchor)
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn place(&self, span: &Span) -> Place {
        let range = span.byte_range().unwrap_or(0..0);
        let end = range.end.min(self.text.len());
        let start = range.start.min(end);
        let shown = self.text.get(start..end).unwrap_or_default().trim_end();
        (start, shown.len().max(1))
    }

    fn enter(&mut self, place: Place, value: Value, anchor: usize) -> Result<(), Broken> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Broken {
                place,
                rule: "yaml",
                message: format!("this is nested more than {MAX_DEPTH} deep"),
                help: "no object of Kubernetes is; look for a bracket that is not closed",
            });
        }
        // The key that was read last, or the map's own place.
        let place = match self.open.last() {
            Some(Open { key: Some(key), .. }) => key.place,
            _ => place,
        };
        self.open.push(Open {
            node: Node { place, value },
            key: None,
            merged: Vec::new(),
            anchor,
        });
        Ok(())
    }

    fn put(&mut self, node: Node, anchor: usize) -> Result<(), Broken> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(Broken {
                place: node.place,
                rule: "yaml",
                message: format!("this text has more than {MAX_NODES} values"),
                help: "write fewer objects into a file; aliases of aliases count as what they stand for",
            });
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.documents.push(node);
            return Ok(());
        };
        match &mut open.node.value {
            Value::List(items) => items.push(node),
            Value::Map(entries) => match open.key.take() {
                None => {
                    let name = match node.value {
                        Value::Text(text) | Value::Number(text) => text,
                        Value::Int(number) => number.to_string(),
                        Value::Bool(yes) => yes.to_string(),
                        Value::Null => "null".to_owned(),
                        Value::List(_) | Value::Map(_) => {
                            return Err(Broken {
                                place: node.place,
                                rule: "yaml",
                                message: "a key is a text; this one is a list or map".to_owned(),
                                help: "an unquoted {{ … }} of a template reads so: render the template first",
                            });
                        }
                    };
                    if entries.is_empty() && open.node.place.1 <= 1 {
                        open.node.place = node.place;
                    }
                    open.key = Some(Key {
                        name,
                        place: node.place,
                    });
                }
                Some(key) if key.name == "<<" => {
                    if let Value::Map(merged) = node.value {
                        open.merged.extend(merged);
                    }
                }
                Some(key) => {
                    if entries.iter().any(|(known, _)| known.name == key.name) {
                        self.broken.push(Broken {
                            place: key.place,
                            rule: "duplicate-key",
                            message: format!("the key {:?} stands here a second time", key.name),
                            help: "one of the two would be lost; a second object is separated by a line `---`",
                        });
                    }
                    entries.push((key, node));
                }
            },
            _ => {}
        }
        Ok(())
    }
}

fn size(node: &Node) -> usize {
    match &node.value {
        Value::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Map(entries) => 1 + entries.iter().map(|(_, node)| size(node)).sum::<usize>(),
        _ => 1,
    }
}

/// A plain scalar as Kubernetes' own reader takes it: `yes` and `on` are true there.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&str>) -> Value {
    if style != ScalarStyle::Plain || tag == Some("str") {
        return Value::Text(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => {
            return Value::Bool(true);
        }
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => {
            return Value::Bool(false);
        }
        _ => {}
    }
    let unsigned = text.trim_start_matches(['-', '+']);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Value::Text(text.to_owned());
    }
    if let Ok(number) = text.trim_start_matches('+').parse() {
        return Value::Int(number);
    }
    let radix = |prefix: &str, radix| {
        let digits = unsigned.strip_prefix(prefix)?;
        i64::from_str_radix(digits, radix).ok()
    };
    if let Some(number) = radix("0x", 16)
        .or_else(|| radix("0o", 8))
        .or_else(|| radix("0b", 2))
    {
        return Value::Int(if text.starts_with('-') {
            -number
        } else {
            number
        });
    }
    if text.parse::<f64>().is_ok() {
        return Value::Number(text.to_owned());
    }
    Value::Text(text.to_owned())
}

impl Node {
    /// The keys and values of a map; of anything else none.
    #[must_use]
    pub fn entries(&self) -> &[(Key, Node)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; of anything else none.
    #[must_use]
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The value of a key, unless it is nothing.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Node> {
        let found = self.entries().iter().find(|(key, _)| key.name == name);
        found
            .map(|(_, node)| node)
            .filter(|node| !matches!(node.value, Value::Null))
    }

    /// The value at a path of keys.
    #[must_use]
    pub fn path(&self, names: &[&str]) -> Option<&Node> {
        names.iter().try_fold(self, |node, name| node.get(name))
    }

    /// The items of the list at a key.
    #[must_use]
    pub fn list(&self, name: &str) -> &[Node] {
        self.get(name).map_or(&[], Node::items)
    }

    /// The keys and values of the map at a key.
    #[must_use]
    pub fn map(&self, name: &str) -> &[(Key, Node)] {
        self.get(name).map_or(&[], Node::entries)
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text at a key.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Node::as_text)
    }

    /// The whole number, if it is one.
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        match &self.value {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The whole number at a key.
    #[must_use]
    pub fn int(&self, name: &str) -> Option<i64> {
        self.get(name).and_then(Node::as_int)
    }

    /// Whether the value of a key is true.
    #[must_use]
    pub fn is_true(&self, name: &str) -> bool {
        matches!(
            self.get(name).map(|node| &node.value),
            Some(Value::Bool(true))
        )
    }

    /// The place of a key, or of the node where it has no such key.
    #[must_use]
    pub fn at(&self, name: &str) -> Place {
        let found = self.entries().iter().find(|(key, _)| key.name == name);
        found.map_or(self.place, |(key, _)| key.place)
    }

    /// What a scalar says, whatever its type; what a quantity is read from.
    #[must_use]
    pub fn written(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) | Value::Number(text) => Some(text.clone()),
            Value::Int(number) => Some(number.to_string()),
            Value::Bool(yes) => Some(yes.to_string()),
            _ => None,
        }
    }

    /// What it is, in words.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Int(_) => "a whole number",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_where_they_stand() {
        let text = "a: 1\nb:\n  - c: \"x y\"\n    d: yes\n";
        let (documents, broken) = read(text);
        assert!(broken.is_empty(), "{broken:?}");
        let item = &documents[0].list("b")[0];
        let shown = |(start, length): Place| &text[start..start + length];
        assert_eq!(shown(item.place), "c");
        assert_eq!(item.get("c").map(|node| shown(node.place)), Some("\"x y\""));
        assert!(item.is_true("d"));
        assert_eq!(shown(documents[0].at("b")), "b");
        assert_eq!(documents[0].int("a"), Some(1));
    }

    #[test]
    fn json_is_read_with_tabs_and_all() {
        let (documents, broken) = read("{\n\t\"a\": [true, null, \"on\", 1.5, -2]\n}\n");
        assert!(broken.is_empty(), "{broken:?}");
        let kinds: Vec<&str> = documents[0].list("a").iter().map(Node::kind).collect();
        assert_eq!(
            kinds,
            [
                "true or false",
                "nothing",
                "a text",
                "a number",
                "a whole number"
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_has_a_place_and_keeps_what_was_before() {
        let (documents, broken) = read("a: 1\n---\nb: [1\n");
        assert_eq!(documents.len(), 1);
        assert_eq!(broken.len(), 1);
        assert!(broken[0].place.0 >= 9, "{broken:?}");
        let bomb = (1..20).fold("a0: &a0 [1]\n".to_owned(), |text, n| {
            let before = n - 1;
            format!("{text}a{n}: &a{n} [*a{before}, *a{before}, *a{before}, *a{before}]\n")
        });
        assert!(read(&bomb).1[0].message.contains("values"));
        assert!(read(&"[".repeat(100_000)).1[0].rule == "yaml");
        assert_eq!(read("a: 1\na: 2\n").1[0].rule, "duplicate-key");
    }

    #[test]
    fn anchors_and_merged_keys_are_followed() {
        let (documents, broken) = read("x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3}\nz: *x\n");
        assert!(broken.is_empty(), "{broken:?}");
        assert_eq!(
            documents[0].path(&["y", "b"]).and_then(Node::as_int),
            Some(3)
        );
        assert_eq!(
            documents[0].path(&["y", "a"]).and_then(Node::as_int),
            Some(1)
        );
        assert_eq!(
            documents[0].path(&["z", "b"]).and_then(Node::as_int),
            Some(2)
        );
    }
}
