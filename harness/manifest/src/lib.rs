//! Lint of Kubernetes manifests that publish devices, ask for them or use them: what the API server would refuse, what
//! it would drop without a word, and what it would take although it can never work.
//! Not here: files and terminals; whether a claim is allocated (`oracle`). In: texts and feature gates. Out: findings.
#![forbid(unsafe_code)]

mod catalogue;
mod claim;
mod config;
mod expression;
mod fields;
mod limits;
mod names;
mod object;
mod pod;
mod pool;
mod problem;
mod quota;
mod schema;
mod selectors;
mod slice;
mod taint;
pub mod tree;

use std::collections::BTreeMap;

use oracle::Gates;

pub use catalogue::{PublishedDevice, published};
pub use problem::Problem;

use object::Object;
use problem::Report;

/// What a lint found and what it looked at.
#[derive(Clone, Debug, Default)]
pub struct Linted {
    /// What is wrong, by file and place.
    pub problems: Vec<Problem>,
    /// Objects that were looked at.
    pub objects: usize,
    /// Kinds that were passed over because they have nothing to do with devices.
    pub passed_over: BTreeMap<String, usize>,
}

/// Looks at the objects of all texts together: a pod of one may use a claim of another.
#[must_use]
pub fn lint(texts: &[&str], gates: &Gates) -> Linted {
    let mut report = Report::new(texts);
    let documents: Vec<Vec<tree::Node>> = texts
        .iter()
        .enumerate()
        .map(|(file, text)| {
            let (documents, broken) = tree::read(text);
            let readable = broken.iter().all(|it| it.rule != "yaml");
            for it in broken {
                report.say(file, it.rule, it.place, it.message).help(it.help);
            }
            let empty = documents.iter().all(|node| matches!(node.value, tree::Value::Null));
            if empty && readable {
                report
                    .say(file, "empty-file", (0, 1), "this file holds no object")
                    .help("write a manifest with `apiVersion`, `kind` and `metadata`, or leave the file out");
            }
            documents
        })
        .collect();
    let mut passed_over = BTreeMap::new();
    let mut objects: Vec<Object<'_>> = Vec::new();
    for (file, documents) in documents.iter().enumerate() {
        for document in documents {
            object::open(
                file,
                document,
                gates,
                &mut report,
                &mut objects,
                &mut passed_over,
            );
        }
    }
    for it in &objects {
        fields::check(it, gates, &mut report);
    }
    let world = selectors::World::of(&objects, gates);
    for it in &objects {
        match it.kind {
            "ResourceSlice" => slice::check(it, gates, &mut report),
            "DeviceClass" => selectors::class(it, &world, &mut report),
            "ResourceClaim" | "ResourceClaimTemplate" => claim::check(it, &world, &mut report),
            "DeviceTaintRule" => taint::rule(it, &objects, &mut report),
            "ResourceQuota" => quota::check(it, gates, &mut report),
            "Cluster" | "ClusterConfiguration" => config::check(it, gates, &mut report),
            _ => {}
        }
        pod::check(it, &objects, &mut report);
    }
    pool::check(&objects, gates, &mut report);
    object::twice(&objects, &mut report);
    let mut problems = report.done();
    problems.retain(|it| !allowed(texts.get(it.file).copied().unwrap_or_default(), it.rule));
    Linted {
        problems,
        objects: objects.len(),
        passed_over,
    }
}

/// Whether the text says that a rule does not count in it: `# lint: allow slice-count, gate-off`.
fn allowed(text: &str, rule: &str) -> bool {
    let lines = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("# lint: allow "));
    lines
        .flat_map(|rules| rules.split([',', ' ']))
        .any(|it| it == rule)
}
