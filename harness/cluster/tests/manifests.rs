//! The API server's word on the manifests that the lint finds wrong (`harness/manifest/tests/examples/bad`): each says in
//! its first line whether it is refused and with which words, whether a field is dropped, or whether it is taken although
//! it can never work. Good ones are all taken. One cluster; with SLICEPROOF_TEST_MINOR=1.36 one of that minor.
#![forbid(unsafe_code)]

#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cluster::{Cluster, ClusterSpec, NodeShape, Programs, Progress};
use k8s_openapi::api::resource::v1::{Device, ResourceSlice};
use kube::api::{Api, ListParams};
use libtest_mimic::{Arguments, Trial};
use manifest::PublishedDevice;
use serde_json::Value;
use support::{Outcome, programs};

const MINOR: &str = "SLICEPROOF_TEST_MINOR";

fn main() -> ExitCode {
    cluster::dispatch();
    let arguments = Arguments::from_args();
    let trial = Trial::test("the_api_server_says_what_the_examples_say", || {
        check().map_err(Into::into)
    });
    libtest_mimic::run(&arguments, vec![trial]).exit_code()
}

fn programs_of(minor: Option<&str>) -> Outcome<Programs> {
    let Some(minor) = minor else {
        return programs();
    };
    let installed = components::Catalog::embedded()
        .and_then(|catalog| catalog.with_kubernetes(minor))
        .and_then(|catalog| catalog.ensure(Programs::NEEDED, &*components::progress::auto()))
        .map_err(|e| e.to_string())?;
    Programs::from_installed(&installed).map_err(|e| e.to_string())
}

fn check() -> Outcome {
    let minor = std::env::var(MINOR).ok();
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let partitions = minor.as_deref().is_none_or(|minor| minor >= "1.36");
    let spec = ClusterSpec {
        name: "manifests".into(),
        dir: folder.path().join("run"),
        nodes: vec![NodeShape {
            name: "node-1".into(),
            gpus: "1xA100-SXM4-40GB,1xL4"
                .parse()
                .map_err(|e: gpu_model::NodeSpecError| e.to_string())?,
            mig: true,
            cut: vec![],
            offer: cluster::Offer::default(),
            driver_gates: Default::default(),
        }],
        programs: programs_of(minor.as_deref())?,
        features: cluster::Features {
            dynamic_mig: partitions,
            ..cluster::Features::default()
        },
        exe: None,
        image_cache: None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| e.to_string())?;
    runtime.block_on(async {
        let say = |progress: Progress| eprintln!("{progress}");
        let running = Cluster::start(spec, &say)
            .await
            .map_err(|e| e.to_string())?;
        let client = running.client();
        let wrong = all(&client, minor.as_deref()).await;
        let other = match partitions {
            true => as_published(&client).await,
            false => Ok(()),
        };
        running.stop().await.map_err(|e| e.to_string())?;
        wrong.and(other)
    })
}

/// What the real driver publishes is what the lint holds selectors against.
async fn as_published(client: &kube::Client) -> Outcome {
    let slices: Api<ResourceSlice> = Api::all(client.clone());
    let slices = slices
        .list(&ListParams::default())
        .await
        .map_err(|e| e.to_string())?;
    let mut seen = 0;
    for device in slices
        .items
        .iter()
        .flat_map(|slice| slice.spec.devices.iter().flatten())
    {
        let text = |name: &str| device.attributes.as_ref()?.get(name)?.string.clone();
        let product = text("productName").unwrap_or_default();
        let fits = |it: &&PublishedDevice| {
            let attribute = |name: &str| it.facts.attributes.get(name).map(ToString::to_string);
            it.profile == text("profile")
                && attribute("productName") == Some(format!("{product:?}"))
                && differences(device, it).is_empty()
        };
        if !manifest::published().iter().any(|it| fits(&it)) {
            let near = manifest::published().iter().find(|it| {
                it.profile == text("profile")
                    && product.contains(it.model.split('-').next().unwrap_or_default())
            });
            return Err(format!(
                "the driver publishes {} otherwise than the lint thinks: {:?}",
                device.name,
                near.map(|it| differences(device, it))
            ));
        }
        seen += 1;
    }
    if seen > 5 {
        Ok(())
    } else {
        Err(format!("only {seen} devices were published"))
    }
}

/// Values that are the machine's, and attributes that not every machine has.
const OF_THE_MACHINE: [&str; 7] = [
    "uuid",
    "parentUUID",
    "driverVersion",
    "cudaDriverVersion",
    "addressingMode",
    "numaNode",
    "pci",
];

fn differences(device: &Device, as_thought: &PublishedDevice) -> Vec<String> {
    let mut wrong = Vec::new();
    let facts = &as_thought.facts;
    let of_the_machine = |name: &str| {
        OF_THE_MACHINE
            .iter()
            .any(|it| name == *it || name.ends_with(&format!("/{it}")) || name.contains("/pci"))
    };
    let have = device.attributes.iter().flatten();
    let mut names: Vec<&str> = Vec::new();
    for (name, value) in have {
        names.push(name);
        let shown = match (&value.string, &value.version, value.int, value.bool) {
            (Some(text), ..) => format!("{text:?}"),
            (_, Some(text), ..) => format!("version {text}"),
            (.., Some(number), _) => number.to_string(),
            (.., Some(yes)) => yes.to_string(),
            _ => String::new(),
        };
        match facts.attributes.get(name.as_str()) {
            None => wrong.push(format!("attribute {name}")),
            Some(thought) if thought.to_string() != shown && !of_the_machine(name) => {
                wrong.push(format!("{name}: {shown}, not {thought}"))
            }
            Some(_) => {}
        }
    }
    let missing = facts
        .attributes
        .keys()
        .filter(|name| !names.contains(&&***name) && !of_the_machine(name));
    wrong.extend(missing.map(|name| format!("no attribute {name}")));
    let capacity: BTreeMap<&str, Option<oracle::Quantity>> = device
        .capacity
        .iter()
        .flatten()
        .map(|(name, it)| (name.as_str(), it.value.0.parse().ok()))
        .collect();
    let thought: BTreeMap<&str, Option<oracle::Quantity>> = facts
        .capacity
        .iter()
        .map(|(name, it)| (&**name, Some(it.value)))
        .collect();
    if capacity != thought {
        wrong.push(format!("capacity {capacity:?}, not {thought:?}"));
    }
    wrong
}

fn examples(folder: &str) -> Outcome<Vec<(String, String)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../manifest/tests/examples")
        .join(folder);
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let read = |path: &PathBuf| {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        Ok((name.unwrap_or_default(), support::read(path)?))
    };
    paths.iter().map(read).collect()
}

fn said<'t>(text: &'t str, what: &str) -> Option<&'t str> {
    let top = text.lines().take_while(|line| line.starts_with('#'));
    top.filter_map(|line| line.strip_prefix("# "))
        .find_map(|line| line.strip_prefix(what)?.strip_prefix(": "))
}

/// Posts every example and gathers where the server says otherwise.
async fn all(client: &kube::Client, minor: Option<&str>) -> Outcome {
    let mut wrong = Vec::new();
    let mut posted = 0;
    for (name, text) in examples("bad")? {
        let Some(server) = said(&text, "server") else {
            continue;
        };
        // An example without a minor is for the newest.
        if said(&text, "kubernetes") != minor || server.starts_with("not posted") {
            continue;
        }
        posted += 1;
        let answers = post(client, &text).await?;
        if let Err(why) = compare(server, &answers) {
            let all: Vec<String> = answers
                .iter()
                .map(|(code, body)| format!("  {code} {}", message(body)))
                .collect();
            wrong.push(format!("{name}: {why}\n{}", all.join("\n")));
        }
    }
    for (name, text) in examples("good")? {
        if minor.is_some() {
            continue;
        }
        for (code, body) in post(client, &text)
            .await?
            .iter()
            .filter(|(code, _)| *code != 201)
        {
            wrong.push(format!("{name}: refused with {code} {}", message(body)));
        }
    }
    if posted == 0 {
        return Err("no example is for this Kubernetes".to_owned());
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "of {posted} examples {} are not as they say:\n{}",
            wrong.len(),
            wrong.join("\n")
        ))
    }
}

fn message(body: &Value) -> String {
    body["message"]
        .as_str()
        .map_or_else(|| body.to_string(), str::to_owned)
}

fn compare(server: &str, answers: &[(u16, Value)]) -> Outcome {
    let (verb, rest) = server.split_once(' ').unwrap_or((server, ""));
    let refused: Vec<String> = answers
        .iter()
        .filter(|(code, _)| *code >= 400)
        .map(|(_, body)| message(body))
        .collect();
    match verb {
        "refuses" if refused.iter().any(|text| text.contains(rest)) => Ok(()),
        "refuses" => Err(format!("should be refused with {rest:?}")),
        "takes" if refused.is_empty() => Ok(()),
        "takes" => Err("should be taken".to_owned()),
        "drops" => {
            let pointer = format!("/{}", rest.replace('.', "/"));
            let kept = answers
                .iter()
                .any(|(_, body)| body.pointer(&pointer).is_some_and(|it| !it.is_null()));
            if refused.is_empty() && !kept {
                Ok(())
            } else {
                Err(format!("{rest} should be dropped"))
            }
        }
        other => Err(format!("{other:?} is none of refuses, takes, drops")),
    }
}

/// Sends each document as it is written, as kubectl does: unknown fields are refused. Nothing is kept.
async fn post(client: &kube::Client, text: &str) -> Outcome<Vec<(u16, Value)>> {
    let mut answers = Vec::new();
    let documents: Vec<&str> = text.split("\n---\n").collect();
    for document in documents {
        let field = |name: &str| {
            let line = document.lines().find_map(|line| {
                line.strip_prefix(name)
                    .or_else(|| line.trim_start().strip_prefix(&format!("\"{name}\"")))
            })?;
            Some(
                line.trim_start_matches(':')
                    .trim()
                    .trim_matches([',', '"', ' '])
                    .to_owned(),
            )
        };
        let (Some(version), Some(kind)) = (field("apiVersion"), field("kind")) else {
            continue;
        };
        let namespaced = ![
            "ResourceSlice",
            "DeviceClass",
            "DeviceTaintRule",
            "Namespace",
        ]
        .contains(&kind.as_str());
        let root = if version.contains('/') {
            format!("/apis/{version}")
        } else {
            format!("/api/{version}")
        };
        let place = if namespaced {
            "/namespaces/default"
        } else {
            ""
        };
        let plural = if kind.ends_with('s') && kind != "DeviceClass" {
            kind.to_lowercase()
        } else if kind == "DeviceClass" {
            "deviceclasses".to_owned()
        } else {
            format!("{}s", kind.to_lowercase())
        };
        // Objects of a namespace that is not there are posted to the one that is.
        let body = document.replace("namespace: team-a", "namespace: default");
        let kind_of = if document.trim_start().starts_with('{') {
            "application/json"
        } else {
            "application/yaml"
        };
        let request = http::Request::post(format!(
            "{root}{place}/{plural}?dryRun=All&fieldValidation=Strict"
        ))
        .header("content-type", kind_of)
        .header("accept", "application/json")
        .body(body.into_bytes())
        .map_err(|e| e.to_string())?;
        answers.push(match client.request_text(request).await {
            Ok(text) => (
                201,
                serde_json::from_str(&text).unwrap_or(Value::String(text)),
            ),
            Err(kube::Error::Api(status)) => (
                status.code,
                serde_json::json!({ "message": status.message }),
            ),
            Err(other) => return Err(other.to_string()),
        });
    }
    Ok(answers)
}
