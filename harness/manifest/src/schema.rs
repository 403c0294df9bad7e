//! Which fields the API has, of which types, in which minor: the shape of Kubernetes' published OpenAPI, without its words.
//! Not here: rules that go beyond one field. The data is made by `tests/schema.rs` from the modules of Kubernetes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use oracle::Version;
use serde::Deserialize;

static SCHEMA: LazyLock<Schema> =
    LazyLock::new(
        || match serde_json::from_str(include_str!("../data/schema.json")) {
            Ok(schema) => schema,
            Err(error) => panic!("the built-in schema does not read: {error}"),
        },
    );

/// The shapes of all kinds that are looked at.
#[derive(Debug, Deserialize)]
pub(crate) struct Schema {
    /// `resource.k8s.io/v1 ResourceSlice` → its type, and the minors if not all.
    kinds: BTreeMap<String, String>,
    /// A type → its fields: the type, `!` if it must be there, and the minors if not all.
    types: BTreeMap<String, BTreeMap<String, String>>,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape<'s> {
    Text,
    Int,
    Number,
    Bool,
    Quantity,
    IntOrText,
    /// Any map.
    Object,
    Anything,
    List(&'s str),
    Map(&'s str),
    Type(&'s str),
}

/// A field of a type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'s> {
    pub(crate) shape: Shape<'s>,
    pub(crate) required: bool,
    minors: Option<&'s str>,
}

impl<'s> Shape<'s> {
    /// From `[]T`, `{}T`, a word, or a type's name.
    pub(crate) fn read(text: &'s str) -> Self {
        if let Some(item) = text.strip_prefix("[]") {
            return Shape::List(item);
        }
        if let Some(item) = text.strip_prefix("{}") {
            return Shape::Map(item);
        }
        match text {
            "text" => Shape::Text,
            "int" => Shape::Int,
            "number" => Shape::Number,
            "bool" => Shape::Bool,
            "quantity" => Shape::Quantity,
            "int-or-text" => Shape::IntOrText,
            "object" => Shape::Object,
            "any" => Shape::Anything,
            name => Shape::Type(name),
        }
    }
}

impl<'s> Field<'s> {
    fn read(text: &'s str) -> Self {
        let (shape, minors) = match text.split_once(' ') {
            Some((shape, minors)) => (shape, Some(minors)),
            None => (text, None),
        };
        Field {
            shape: Shape::read(shape.trim_end_matches('!')),
            required: shape.ends_with('!'),
            minors,
        }
    }

    pub(crate) fn exists_in(&self, version: Version) -> bool {
        self.minors.is_none_or(|minors| listed(minors, version))
    }

    /// The minors that have it, where some have not.
    pub(crate) fn minors(&self) -> &'s str {
        self.minors.unwrap_or_default()
    }
}

fn listed(minors: &str, version: Version) -> bool {
    minors.split(' ').any(|minor| minor == version.as_str())
}

impl Schema {
    pub(crate) fn get() -> &'static Schema {
        &SCHEMA
    }

    /// The type of a kind, and the minors that have the version of it.
    pub(crate) fn kind(&self, api_version: &str, kind: &str) -> Option<(&str, Option<&str>)> {
        let found = self.kinds.get(&format!("{api_version} {kind}"))?;
        Some(match found.split_once(' ') {
            Some((name, minors)) => (name, Some(minors)),
            None => (found, None),
        })
    }

    /// Every version in which this minor has the kind, oldest spelling first.
    pub(crate) fn versions_of(&self, kind: &str, version: Version) -> Vec<&str> {
        let found = self.kinds.iter().filter_map(|(name, value)| {
            let (api_version, have) = name.split_once(' ')?;
            let here = value
                .split_once(' ')
                .is_none_or(|(_, minors)| listed(minors, version));
            (have == kind && here).then_some(api_version)
        });
        found.collect()
    }

    /// Names of all kinds.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &str> {
        self.kinds
            .keys()
            .filter_map(|name| Some(name.split_once(' ')?.1))
    }

    pub(crate) fn has_in(minors: Option<&str>, version: Version) -> bool {
        minors.is_none_or(|minors| listed(minors, version))
    }

    /// A field of a type, in whichever minor.
    pub(crate) fn field(&self, of: &str, name: &str) -> Option<Field<'_>> {
        self.types.get(of)?.get(name).map(|text| Field::read(text))
    }

    /// All fields of a type in a minor.
    pub(crate) fn fields(
        &self,
        of: &str,
        version: Version,
    ) -> impl Iterator<Item = (&str, Field<'_>)> {
        let all = self.types.get(of).into_iter().flatten();
        all.map(|(name, text)| (name.as_str(), Field::read(text)))
            .filter(move |(_, field)| field.exists_in(version))
    }

    /// The paths below a type at which a field of this name stands: `spec.sharedCounters`.
    pub(crate) fn paths_of(&self, field: &str, below: &str, version: Version) -> Vec<String> {
        let mut found = Vec::new();
        self.search(field, below, "", version, &mut found, 0);
        found
    }

    fn search(
        &self,
        wanted: &str,
        below: &str,
        path: &str,
        version: Version,
        found: &mut Vec<String>,
        depth: usize,
    ) {
        // Types that hold themselves (JSON schemas) would never end.
        if depth > 12 || found.len() > 6 {
            return;
        }
        for (name, field) in self.fields(below, version) {
            if path.is_empty() && (name == "metadata" || name == "status") {
                continue;
            }
            let dot = if path.is_empty() { "" } else { "." };
            let (inner, mark) = match field.shape {
                Shape::Type(inner) => (inner, ""),
                Shape::List(inner) => (inner, "[]"),
                Shape::Map(inner) => (inner, ".*"),
                _ => ("", ""),
            };
            if name == wanted {
                found.push(format!("{path}{dot}{name}"));
            }
            if !inner.is_empty() {
                self.search(
                    wanted,
                    inner,
                    &format!("{path}{dot}{name}{mark}"),
                    version,
                    found,
                    depth + 1,
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_is_that_of_the_minor() {
        let schema = Schema::get();
        let (slice, _) = schema
            .kind("resource.k8s.io/v1", "ResourceSlice")
            .expect("a kind");
        let paths = schema.paths_of("sharedCounters", slice, Version::V1_37);
        assert_eq!(paths, ["spec.sharedCounters"]);
        assert!(
            schema
                .versions_of("DeviceTaintRule", Version::V1_37)
                .contains(&"resource.k8s.io/v1")
        );
        assert!(
            !schema
                .versions_of("DeviceTaintRule", Version::V1_36)
                .contains(&"resource.k8s.io/v1")
        );
        let field = schema
            .field("resource.v1.ResourceSliceSpec", "skipNodeOperations")
            .expect("a field");
        assert!(!field.exists_in(Version::V1_36) && field.exists_in(Version::V1_37));
    }

    #[test]
    fn every_type_that_is_named_is_there() {
        let schema = Schema::get();
        for (name, fields) in &schema.types {
            for (field, text) in fields {
                let inner = match Field::read(text).shape {
                    Shape::Type(inner) => Some(inner),
                    Shape::List(inner) | Shape::Map(inner) => match Shape::read(inner) {
                        Shape::Type(inner) => Some(inner),
                        _ => None,
                    },
                    _ => None,
                };
                assert!(
                    inner.is_none_or(|inner| schema.types.contains_key(inner)),
                    "{name}.{field}: {text}"
                );
            }
        }
    }
}
