//! The schema's data is made here from what Kubernetes publishes, and held against it.
//! The source is the module k8s.io/kubernetes of each minor, where the build of the real programs has left it.
#![allow(clippy::expect_used, reason = "a test says what it expects")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

const MINORS: [&str; 4] = ["1.34", "1.35", "1.36", "1.37"];

/// Files of `api/openapi-spec/v3`, and the kinds that are taken from them.
const WANTED: [(&str, &[&str]); 10] = [
    (
        "apis__resource.k8s.io__v1",
        &[
            "ResourceSlice",
            "DeviceClass",
            "ResourceClaim",
            "ResourceClaimTemplate",
            "DeviceTaintRule",
        ],
    ),
    (
        "apis__resource.k8s.io__v1beta2",
        &[
            "ResourceSlice",
            "DeviceClass",
            "ResourceClaim",
            "ResourceClaimTemplate",
            "DeviceTaintRule",
        ],
    ),
    (
        "apis__resource.k8s.io__v1beta1",
        &[
            "ResourceSlice",
            "DeviceClass",
            "ResourceClaim",
            "ResourceClaimTemplate",
        ],
    ),
    ("apis__resource.k8s.io__v1alpha3", &["DeviceTaintRule"]),
    (
        "api__v1",
        &[
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Namespace",
        ],
    ),
    (
        "apis__apps__v1",
        &["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"],
    ),
    ("apis__batch__v1", &["Job", "CronJob"]),
    (
        "apis__scheduling.k8s.io__v1beta1",
        &["Workload", "PodGroup"],
    ),
    (
        "apis__scheduling.k8s.io__v1alpha3",
        &["Workload", "PodGroup", "CompositePodGroup"],
    ),
    (
        "apis__scheduling.k8s.io__v1alpha2",
        &["Workload", "PodGroup"],
    ),
];

const PREFIX: &str = "#/components/schemas/";

fn short(name: &str) -> String {
    name.trim_start_matches("io.k8s.api.")
        .trim_start_matches("io.k8s.apimachinery.pkg.apis.")
        .trim_start_matches("io.k8s.apimachinery.pkg.")
        .to_owned()
}

/// The word for a schema, and the type it leads to.
fn shape(schema: &Value, found: &mut BTreeSet<String>) -> String {
    let reference = schema["$ref"]
        .as_str()
        .or_else(|| schema["allOf"][0]["$ref"].as_str());
    if let Some(reference) = reference {
        let name = reference.trim_start_matches(PREFIX);
        return match name.rsplit('.').next().unwrap_or_default() {
            "Quantity" => "quantity".to_owned(),
            "IntOrString" => "int-or-text".to_owned(),
            "Time" | "MicroTime" => "text".to_owned(),
            "FieldsV1" | "RawExtension" => "object".to_owned(),
            "JSON" | "JSONSchemaPropsOrBool" => "any".to_owned(),
            _ => {
                found.insert(name.to_owned());
                short(name)
            }
        };
    }
    match schema["type"].as_str() {
        Some("string") => "text".to_owned(),
        Some("integer") => "int".to_owned(),
        Some("number") => "number".to_owned(),
        Some("boolean") => "bool".to_owned(),
        Some("array") => format!("[]{}", shape(&schema["items"], found)),
        Some("object") if schema["additionalProperties"].is_object() => {
            format!("{{}}{}", shape(&schema["additionalProperties"], found))
        }
        Some("object") => "object".to_owned(),
        _ => "any".to_owned(),
    }
}

type Minors = BTreeMap<String, BTreeSet<&'static str>>;

/// What is the same in several minors is one entry; where the shape differs the newest counts.
#[derive(Default)]
struct Data {
    kinds: Minors,
    types: BTreeMap<String, Minors>,
    of_type: BTreeMap<String, BTreeSet<&'static str>>,
    shapes: BTreeMap<(String, String), String>,
}

impl Data {
    fn file(&mut self, minor: &'static str, path: &Path, group_version: &str, kinds: &[&str]) {
        let Ok(text) = std::fs::read_to_string(path) else {
            return;
        };
        let spec: Value = serde_json::from_str(&text).expect("JSON");
        let schemas = spec["components"]["schemas"].as_object().expect("schemas");
        let mut todo = Vec::new();
        for (name, schema) in schemas {
            let Some(kind) = kinds
                .iter()
                .find(|kind| name.rsplit('.').next() == Some(kind))
            else {
                continue;
            };
            let is_it = schema["x-kubernetes-group-version-kind"]
                .as_array()
                .is_some_and(|all| all.iter().any(|it| it["kind"] == **kind));
            if is_it {
                self.kinds
                    .entry(format!("{group_version} {kind}={}", short(name)))
                    .or_default()
                    .insert(minor);
                todo.push(name.clone());
            }
        }
        while let Some(name) = todo.pop() {
            let of = short(&name);
            let schema = &schemas[&name];
            if !self.of_type.entry(of.clone()).or_default().insert(minor) {
                continue;
            }
            let required: Vec<&str> = schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let mut found = BTreeSet::new();
            for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
                let mut text = shape(schema, &mut found);
                if required.contains(&field.as_str()) {
                    text.push('!');
                }
                self.shapes.insert((of.clone(), field.clone()), text);
                self.types
                    .entry(of.clone())
                    .or_default()
                    .entry(field.clone())
                    .or_default()
                    .insert(minor);
            }
            self.types.entry(of).or_default();
            todo.extend(found);
        }
    }

    fn json(&self) -> String {
        let minors = |have: &BTreeSet<&str>, all: &BTreeSet<&str>| -> String {
            if have == all {
                String::new()
            } else {
                format!(" {}", have.iter().copied().collect::<Vec<_>>().join(" "))
            }
        };
        let every: BTreeSet<&str> = MINORS.into_iter().collect();
        let kinds: BTreeMap<&str, String> = self
            .kinds
            .iter()
            .filter_map(|(key, have)| {
                let (kind, of) = key.split_once('=')?;
                Some((kind, format!("{of}{}", minors(have, &every))))
            })
            .collect();
        let types: BTreeMap<&String, BTreeMap<&String, String>> = self
            .types
            .iter()
            .map(|(of, fields)| {
                let all: BTreeSet<&str> = self.of_type[of].iter().copied().collect();
                let fields = fields.iter().map(|(field, have)| {
                    let shape = &self.shapes[&(of.clone(), field.clone())];
                    (field, format!("{shape}{}", minors(have, &all)))
                });
                (of, fields.collect())
            })
            .collect();
        let mut text =
            serde_json::to_string_pretty(&json!({ "kinds": kinds, "types": types })).expect("JSON");
        text.push('\n');
        text
    }
}

/// The newest patch of each minor in Go's module cache; none where a minor is missing.
fn modules() -> Option<Vec<(&'static str, PathBuf)>> {
    let output = std::process::Command::new("go")
        .args(["env", "GOMODCACHE"])
        .output()
        .ok()?;
    let cache = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()).join("k8s.io");
    MINORS
        .into_iter()
        .map(|minor| {
            let mut found: Vec<PathBuf> = std::fs::read_dir(&cache)
                .ok()?
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| {
                    let name = path
                        .file_name()
                        .and_then(|name| name.to_str())
                        .unwrap_or_default();
                    let patch = name.strip_prefix(&format!("kubernetes@v{minor}."));
                    patch.is_some_and(|patch| patch.bytes().all(|byte| byte.is_ascii_digit()))
                })
                .collect();
            found.sort();
            Some((minor, found.pop()?.join("api/openapi-spec/v3")))
        })
        .collect()
}

#[test]
fn the_data_is_what_kubernetes_publishes() {
    let Some(modules) = modules() else {
        eprintln!(
            "not run: Go's module cache lacks k8s.io/kubernetes of a minor; `sliceproof components ensure --kubernetes MINOR` brings it"
        );
        return;
    };
    let mut data = Data::default();
    for (minor, folder) in modules {
        for (file, kinds) in WANTED {
            let group_version = file
                .trim_start_matches("api__")
                .trim_start_matches("apis__")
                .replace("__", "/");
            data.file(
                minor,
                &folder.join(format!("{file}_openapi.json")),
                &group_version,
                kinds,
            );
        }
    }
    let made = data.json();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/schema.json");
    if std::env::var_os("SLICEPROOF_WRITE").is_some() {
        std::fs::write(&path, &made).expect("written");
    }
    let have = std::fs::read_to_string(&path).expect("the data");
    assert!(
        have == made,
        "data/schema.json is out of line; SLICEPROOF_WRITE=1 cargo test -p manifest --test schema makes it anew"
    );
}
