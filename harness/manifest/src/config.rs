//! Configuration of clusters that switches device allocation on: kind and kubeadm.

use oracle::{Gate, Gates, Stage, Version};

use crate::names::nearest;
use crate::object::Object;
use crate::problem::Report;
use crate::tree::{Node, Value};

/// Gates of gang scheduling that became part of another (KEP-4671, KEP-5710).
const MERGED: [&str; 2] = ["GangScheduling", "WorkloadAwarePreemption"];

pub(crate) fn check(object: &Object<'_>, gates: &Gates, report: &mut Report<'_>) {
    let file = object.file;
    let version = gates.version();
    for (key, _) in object.root.map("featureGates") {
        gate(file, &key.name, key.place, version, report);
    }
    for (key, _) in object.root.map("runtimeConfig") {
        if key.name == "scheduling.k8s.io/v1alpha2" && version >= Version::V1_37 {
            report
                .say(
                    file,
                    "api-version",
                    key.place,
                    "Kubernetes 1.37 has no scheduling.k8s.io/v1alpha2",
                )
                .help("write `scheduling.k8s.io/v1beta1`, or `v1alpha3`");
        }
    }
    if object.kind == "ClusterConfiguration" {
        for part in ["apiServer", "controllerManager", "scheduler"] {
            let Some(arguments) = object.root.path(&[part, "extraArgs"]) else {
                continue;
            };
            arguments_form(file, object, arguments, report);
            let flags = arguments
                .entries()
                .iter()
                .map(|(key, value)| (key.name.as_str(), value));
            let listed = arguments
                .items()
                .iter()
                .filter_map(|it| Some((it.text("name")?, it.get("value")?)));
            for (_, value) in flags
                .chain(listed)
                .filter(|(name, _)| *name == "feature-gates")
            {
                for gate_name in value
                    .as_text()
                    .unwrap_or_default()
                    .split(',')
                    .filter_map(|it| it.split('=').next())
                {
                    gate(file, gate_name.trim(), value.place, version, report);
                }
            }
        }
    }
}

fn arguments_form(file: usize, object: &Object<'_>, arguments: &Node, report: &mut Report<'_>) {
    let beta4 = object.api_version.ends_with("/v1beta4");
    let (wrong, help) = match (&arguments.value, beta4) {
        (Value::Map(_), true) => (
            true,
            "v1beta4 wants a list: `extraArgs: [{name: feature-gates, value: …}]`",
        ),
        (Value::List(_), false) => (
            true,
            "before v1beta4 it is a map: `extraArgs: {feature-gates: …}`",
        ),
        _ => (false, ""),
    };
    if wrong {
        report
            .say(
                file,
                "wrong-type",
                arguments.place,
                format!(
                    "`extraArgs` is {} in {}",
                    arguments.kind(),
                    object.api_version
                ),
            )
            .help(help);
    }
}

/// A component that is told of a gate that it does not know stops.
fn gate(
    file: usize,
    name: &str,
    place: crate::tree::Place,
    version: Version,
    report: &mut Report<'_>,
) {
    if MERGED.contains(&name) && version >= Version::V1_37 {
        report
            .say(file, "unknown-gate", place, format!("Kubernetes {version} has no feature gate {name}: its programs stop when they are told of it"))
            .help("it is part of GenericWorkload now");
        return;
    }
    let known = Gate::ALL.iter().find(|gate| gate.name() == name);
    match known.map(|gate| gate.stage(version)) {
        Some(Stage::Absent) => report
            .say(file, "unknown-gate", place, format!("Kubernetes {version} has no feature gate {name} yet: its programs stop when they are told of it"))
            .help("leave it out, or lint for another `--kubernetes`"),
        None if name.starts_with("DRA") => {
            if let Some(near) = nearest(name, Gate::ALL.iter().map(|gate| gate.name())) {
                report.say(file, "unknown-gate", place, format!("{name} is no feature gate")).help(format!("did you mean `{near}`?"));
            }
        }
        _ => {}
    }
}
