//! All places where a tree has another shape than a JSON schema says, in one pass.
//! Not here: what the values mean (`lint`). Only what schemas made from our own types use is understood: `$ref`, `type`,
//! `properties`, `required`, `additionalProperties`, `items`, `enum`, `const`, `anyOf`, `oneOf`.

use manifest::tree::{Node, Place, Value};
use serde_json::Value as Json;

/// What is wrong at a place.
pub(super) struct Wrong {
    pub(super) place: Place,
    pub(super) rule: &'static str,
    pub(super) message: String,
    pub(super) help: String,
}

pub(super) fn check(node: &Node, schema: &Json) -> Vec<Wrong> {
    let mut shape = Shape {
        root: schema,
        wrong: Vec::new(),
    };
    shape.node(node, schema, "the file");
    shape.wrong
}

struct Shape<'s> {
    root: &'s Json,
    wrong: Vec<Wrong>,
}

impl<'s> Shape<'s> {
    fn say(&mut self, place: Place, rule: &'static str, message: String, help: String) {
        self.wrong.push(Wrong {
            place,
            rule,
            message,
            help,
        });
    }

    fn followed(&self, schema: &'s Json) -> &'s Json {
        let mut schema = schema;
        while let Some(name) = schema["$ref"].as_str() {
            let name = name.rsplit('/').next().unwrap_or_default();
            schema = &self.root["$defs"][name];
        }
        schema
    }

    fn node(&mut self, node: &Node, schema: &'s Json, what: &str) {
        let schema = self.followed(schema);
        let choices = ["anyOf", "oneOf"]
            .into_iter()
            .find_map(|key| schema[key].as_array());
        if let Some(choices) = choices {
            self.choice(node, choices, what);
            return;
        }
        if let Some(constants) = constants(schema) {
            if !constants.iter().any(|it| Some(*it) == node.as_text()) {
                self.one_of(node, &constants, what);
            }
            return;
        }
        let types = types(schema);
        if !types.is_empty() && !types.iter().any(|it| is(node, it)) {
            let wanted: Vec<&str> = types
                .iter()
                .filter(|it| **it != "null")
                .map(|it| word(it))
                .collect();
            self.say(
                node.place,
                "type",
                format!("{what} is {}", node.kind()),
                format!("write {}", wanted.join(" or ")),
            );
            return;
        }
        match &node.value {
            Value::Map(_) => self.map(node, schema, what),
            Value::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.node(item, &schema["items"], &format!("{what}[{index}]"));
                }
            }
            _ => {}
        }
    }

    fn choice(&mut self, node: &Node, choices: &'s [Json], what: &str) {
        let mut closest: Option<Vec<Wrong>> = None;
        let mut names = Vec::new();
        for choice in choices {
            let mut one = Shape {
                root: self.root,
                wrong: Vec::new(),
            };
            one.node(node, choice, what);
            if one.wrong.is_empty() {
                return;
            }
            names.extend(constants(self.followed(choice)).unwrap_or_default());
            // What came furthest before it went wrong is what was meant.
            let further = |it: &[Wrong]| it.first().map(|wrong| wrong.place.0);
            if closest
                .as_ref()
                .is_none_or(|it| further(&one.wrong) > further(it))
            {
                closest = Some(one.wrong);
            }
        }
        match names.is_empty() {
            true => self.wrong.extend(closest.unwrap_or_default()),
            false => self.one_of(node, &names, what),
        }
    }

    fn one_of(&mut self, node: &Node, names: &[&str], what: &str) {
        let is = node
            .written()
            .map_or_else(|| node.kind().to_owned(), |it| format!("{it:?}"));
        let message = format!("{what} is {is}");
        self.say(
            node.place,
            "choice",
            message,
            format!("write one of {}", names.join(", ")),
        );
    }

    fn map(&mut self, node: &Node, schema: &'s Json, what: &str) {
        let properties = schema["properties"].as_object();
        for (key, value) in node.entries() {
            let known = properties.and_then(|it| it.get(&key.name));
            match (known, &schema["additionalProperties"]) {
                (Some(known), _) => {
                    // Nothing is as good as no such key.
                    if !matches!(value.value, Value::Null) {
                        self.node(value, known, &key.name);
                    }
                }
                (None, Json::Bool(false)) => {
                    let names: Vec<&String> = properties.iter().flat_map(|it| it.keys()).collect();
                    let near = names
                        .iter()
                        .map(|name| (strsim::jaro_winkler(name, &key.name), name))
                        .filter(|(near, _)| *near > 0.75)
                        .max_by(|a, b| a.0.total_cmp(&b.0));
                    let help = match near {
                        Some((_, name)) => format!("is {name} meant?"),
                        None => {
                            let names: Vec<&str> = names.iter().map(|it| it.as_str()).collect();
                            format!("what there is: {}", names.join(", "))
                        }
                    };
                    self.say(
                        key.place,
                        "key",
                        format!("{what} has no key {:?}", key.name),
                        help,
                    );
                }
                (None, Json::Object(_)) => {
                    self.node(value, &schema["additionalProperties"], &key.name);
                }
                (None, _) => {}
            }
        }
        for name in schema["required"].as_array().into_iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            if node.get(name).is_none() {
                let help = properties
                    .and_then(|it| it.get(name))
                    .and_then(|it| {
                        it["description"]
                            .as_str()
                            .or_else(|| self.followed(it)["description"].as_str())
                    })
                    .unwrap_or_default();
                self.say(
                    node.place,
                    "missing",
                    format!("{what} has no {name}"),
                    format!("{name}: {help}"),
                );
            }
        }
    }
}

fn constants(schema: &Json) -> Option<Vec<&str>> {
    if let Some(one) = schema["const"].as_str() {
        return Some(vec![one]);
    }
    schema["enum"]
        .as_array()
        .map(|all| all.iter().filter_map(Json::as_str).collect())
}

fn types(schema: &Json) -> Vec<&str> {
    match &schema["type"] {
        Json::String(one) => vec![one],
        Json::Array(all) => all.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is(node: &Node, kind: &str) -> bool {
    matches!(
        (kind, &node.value),
        ("object", Value::Map(_))
            | ("array", Value::List(_))
            | ("string", Value::Text(_))
            | ("integer", Value::Int(_))
            | ("number", Value::Int(_) | Value::Number(_))
            | ("boolean", Value::Bool(_))
            | ("null", Value::Null)
    )
}

fn word(kind: &str) -> &str {
    match kind {
        "object" => "a map",
        "array" => "a list",
        "string" => "a text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        other => other,
    }
}

/// The tree as JSON; numbers that are not whole stay the texts that were written.
pub(super) fn json(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(yes) => Json::Bool(*yes),
        Value::Int(number) => Json::from(*number),
        Value::Number(text) | Value::Text(text) => Json::String(text.clone()),
        Value::List(items) => Json::Array(items.iter().map(json).collect()),
        Value::Map(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| (key.name.clone(), json(value)));
            Json::Object(entries.collect())
        }
    }
}
