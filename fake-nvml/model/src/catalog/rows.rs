//! The values of a model file as a list for people.
//! Not here: their types (`file`), whether they fit (`check`).
//! In: the same YAML text. Out: one row per value, found by its shape (a map with `confidence` and `source`).
use super::{error::CatalogError, file::Confidence};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use std::fmt;

/// One value of a model file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactRow {
    /// Where in the file: `identity.name`, `mig.gpu_instance_profiles.1g.5gb.memory_mib`.
    pub path: String,
    /// The value as text, `null` if there is none.
    pub value: String,
    /// How sure it is.
    pub confidence: Confidence,
    /// Ids of its sources.
    pub sources: Vec<String>,
    /// A remark.
    pub note: Option<String>,
}

impl FactRow {
    /// A value that nobody has shown: it is there, and its confidence is `unknown`.
    pub fn is_stand_in(&self) -> bool {
        self.confidence == Confidence::Unknown && self.value != "null"
    }
}

pub(super) fn read(file: &str, yaml: &str) -> Result<Vec<FactRow>, CatalogError> {
    let tree: Tree =
        serde_saphyr::from_str(yaml).map_err(|error| CatalogError::yaml(file, &error))?;
    let mut rows = Vec::new();
    walk(&tree, &mut Vec::new(), &mut rows);
    Ok(rows)
}

fn walk(tree: &Tree, path: &mut Vec<String>, rows: &mut Vec<FactRow>) {
    match tree {
        Tree::Map(entries) => {
            if let Some(row) = row(tree, path) {
                rows.push(row);
                return;
            }
            for (key, value) in entries {
                path.push(key.clone());
                walk(value, path, rows);
                path.pop();
            }
        }
        Tree::List(items) => {
            for (i, item) in items.iter().enumerate() {
                let name = item
                    .get("name")
                    .map_or_else(|| i.to_string(), ToString::to_string);
                path.push(name);
                walk(item, path, rows);
                path.pop();
            }
        }
        Tree::Null | Tree::Text(_) => {}
    }
}

fn row(tree: &Tree, path: &[String]) -> Option<FactRow> {
    let confidence = match tree.get("confidence")? {
        Tree::Text(word) => match word.as_str() {
            "doc" => Confidence::Doc,
            "observed" => Confidence::Observed,
            "derived" => Confidence::Derived,
            _ => Confidence::Unknown,
        },
        _ => return None,
    };
    let sources = match tree.get("source")? {
        Tree::List(items) => items.iter().map(ToString::to_string).collect(),
        _ => return None,
    };
    let note = match tree.get("note") {
        Some(Tree::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let value = tree.get("value").unwrap_or(&Tree::Null).to_string();
    let value = hexadecimal(path.last().map_or("", String::as_str), value);
    Some(FactRow {
        path: path.join("."),
        value,
        confidence,
        sources,
        note,
    })
}

/// Ids of chips and PCI devices as everybody writes them.
fn hexadecimal(key: &str, value: String) -> String {
    match (key, value.parse::<u32>()) {
        ("pci_device_id" | "pci_subsystem_id", Ok(id)) => format!("0x{id:08X}"),
        ("chip_id", Ok(id)) => format!("0x{id:X}"),
        _ => value,
    }
}

/// YAML without types, in the order of the file.
enum Tree {
    Null,
    Text(String),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

impl Tree {
    fn get(&self, key: &str) -> Option<&Tree> {
        match self {
            Self::Map(entries) => entries.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Text(text) => f.write_str(text),
            Self::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            Self::Map(entries) => {
                for (i, (key, value)) in entries.iter().enumerate() {
                    let value = match value {
                        Self::List(_) => format!("[{value}]"),
                        _ => value.to_string(),
                    };
                    write!(f, "{}{key} {value}", if i == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyTree;
        impl<'de> Visitor<'de> for AnyTree {
            type Value = Tree;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any YAML value")
            }
            fn visit_unit<E>(self) -> Result<Tree, E> {
                Ok(Tree::Null)
            }
            fn visit_none<E>(self) -> Result<Tree, E> {
                Ok(Tree::Null)
            }
            fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<Tree, D::Error> {
                Tree::deserialize(d)
            }
            fn visit_bool<E>(self, v: bool) -> Result<Tree, E> {
                Ok(Tree::Text(v.to_string()))
            }
            fn visit_i64<E>(self, v: i64) -> Result<Tree, E> {
                Ok(Tree::Text(v.to_string()))
            }
            fn visit_u64<E>(self, v: u64) -> Result<Tree, E> {
                Ok(Tree::Text(v.to_string()))
            }
            fn visit_f64<E>(self, v: f64) -> Result<Tree, E> {
                Ok(Tree::Text(v.to_string()))
            }
            fn visit_str<E>(self, v: &str) -> Result<Tree, E> {
                Ok(Tree::Text(v.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tree, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Tree::List(items))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Tree::Map(entries))
            }
        }
        deserializer.deserialize_any(AnyTree)
    }
}
