//! Manifests: YAML split into objects, with the place of what is no object.
//! Not here: whether the objects are right (the API server says so) and how they get there (`applied`).

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

/// What is wrong with a manifest, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// Line from 1; 0 where there is none.
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl Wrong {
    fn at(line: usize, message: impl Into<String>) -> Self {
        Self {
            line,
            message: message.into(),
        }
    }
}

/// The objects of a manifest, in order; lists are taken apart.
pub(crate) fn objects(text: &str) -> Result<Vec<Value>, Wrong> {
    let mut all = Vec::new();
    for (number, value) in documents(text)?.into_iter().enumerate() {
        let kind = word(&value, "kind");
        let items = value.get("items").and_then(Value::as_array);
        match (kind.ends_with("List"), items) {
            (true, Some(items)) => all.extend(items.iter().cloned()),
            _ => all.push(value),
        }
        let last = all.last().unwrap_or(&Value::Null);
        let missing: Vec<&str> = ["apiVersion", "kind"]
            .into_iter()
            .filter(|field| word(last, field).is_empty())
            .chain(name(last).is_empty().then_some("metadata.name"))
            .collect();
        if !missing.is_empty() {
            return Err(Wrong::at(
                0,
                format!("document {} has no {}", number + 1, missing.join(", no ")),
            ));
        }
    }
    if all.is_empty() {
        return Err(Wrong::at(0, "there is no object in it"));
    }
    Ok(all)
}

/// What a claim asks for: `spec.devices` of a ResourceClaim.
pub(crate) fn devices(text: &str) -> Result<Value, Wrong> {
    let mut documents = documents(text)?;
    let (Some(value), 0) = (documents.pop(), documents.len()) else {
        return Err(Wrong::at(0, "a claim is one document"));
    };
    let known = ["requests", "constraints", "config"];
    let Some(fields) = value.as_object() else {
        return Err(Wrong::at(
            0,
            "what a claim asks for begins with `requests:`",
        ));
    };
    if let Some(other) = fields.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(Wrong::at(
            0,
            format!("a claim has requests, constraints and config, and no {other:?}"),
        ));
    }
    if !fields.contains_key("requests") {
        return Err(Wrong::at(0, "this claim has no requests"));
    }
    Ok(value)
}

/// Fields of a program's configuration.
pub(crate) fn settings(text: &str) -> Result<Value, Wrong> {
    let mut documents = documents(text)?;
    match (documents.pop(), documents.len()) {
        (Some(value), 0) if value.is_object() => Ok(value),
        _ => Err(Wrong::at(0, "a configuration is one document of fields")),
    }
}

/// The objects of a file, or why there are none.
pub(crate) fn file(path: &Path) -> Result<Vec<Value>, Wrong> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Wrong::at(0, format!("cannot read it: {error}")))?;
    objects(&text)
}

fn documents(text: &str) -> Result<Vec<Value>, Wrong> {
    let mut all = Vec::new();
    for document in serde_yaml_ng::Deserializer::from_str(text) {
        // By way of YAML's own values, which take no key twice.
        let value = serde_yaml_ng::Value::deserialize(document).map_err(|error| {
            let line = error.location().map_or(0, |place| place.line());
            Wrong::at(line, format!("this is not YAML that can be read: {error}"))
        })?;
        let value = serde_json::to_value(value)
            .map_err(|error| Wrong::at(0, format!("this is no object: {error}")))?;
        if !value.is_null() {
            all.push(value);
        }
    }
    Ok(all)
}

/// A text field of an object; empty where there is none.
pub(crate) fn word<'v>(object: &'v Value, field: &str) -> &'v str {
    object.get(field).and_then(Value::as_str).unwrap_or("")
}

/// The name of an object, or the beginning of one; empty where it has neither.
pub(crate) fn name(object: &Value) -> &str {
    let metadata = object.get("metadata").unwrap_or(&Value::Null);
    match word(metadata, "name") {
        "" => word(metadata, "generateName"),
        name => name,
    }
}

/// `Pod "one"`.
pub(crate) fn shown(object: &Value) -> String {
    format!("{} {:?}", word(object, "kind"), name(object))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "# two\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {generateName: b-}}\n";

    #[test]
    fn objects_come_in_order_and_lists_are_taken_apart() {
        let names: Vec<String> = objects(TWO).expect("objects").iter().map(shown).collect();
        assert_eq!(names, ["Pod \"a\"", "Pod \"b-\""]);
    }

    #[test]
    fn what_is_no_object_is_refused_with_its_place() {
        let of = |text: &str| objects(text).expect_err("refused");
        assert!(
            of("kind: Pod\n")
                .message
                .contains("no apiVersion, no metadata.name")
        );
        assert!(of("# nothing\n").message.contains("no object"));
        let wrong = of("apiVersion: v1\nkind: Pod\n  metadata: 1\n");
        assert_eq!(wrong.line, 3, "{wrong:?}");
        assert!(of("a: 1\na: 2\n").message.contains("duplicate"));
    }

    #[test]
    fn a_claim_has_requests() {
        assert!(devices("requests: []\n").is_ok());
        for (text, says) in [
            ("constraints: []\n", "no requests"),
            ("requests: []\nspec: {}\n", "\"spec\""),
            ("- a\n", "begins with"),
            ("requests: []\n---\nrequests: []\n", "one document"),
        ] {
            let message = devices(text).expect_err("refused").message;
            assert!(message.contains(says), "{text}: {message}");
        }
    }
}
