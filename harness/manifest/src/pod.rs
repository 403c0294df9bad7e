//! Pods and what makes pods: the claims that they declare, and that their containers use.

use std::collections::BTreeSet;

use crate::claim::request_names;
use crate::names::{is_label, listed, nearest};
use crate::object::Object;
use crate::problem::Report;
use crate::tree::Node;

/// The pod in an object, if it makes any.
fn pod_of<'t>(object: &Object<'t>) -> Option<&'t Node> {
    let path: &[&str] = match object.kind {
        "Pod" => &["spec"],
        "PodTemplate" => &["template", "spec"],
        "Deployment"
        | "ReplicaSet"
        | "StatefulSet"
        | "DaemonSet"
        | "Job"
        | "ReplicationController" => &["spec", "template", "spec"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template", "spec"],
        _ => return None,
    };
    object.of?;
    object.root.path(path)
}

pub(crate) fn check(object: &Object<'_>, objects: &[Object<'_>], report: &mut Report<'_>) {
    let file = object.file;
    if object.kind == "PodGroup" {
        for entry in object
            .root
            .path(&["spec"])
            .map_or(&[][..], |spec| spec.list("resourceClaims"))
        {
            source(object, entry, objects, report);
        }
    }
    let Some(pod) = pod_of(object) else { return };
    let mut declared: Vec<(&str, &Node)> = Vec::new();
    for entry in pod.list("resourceClaims") {
        source(object, entry, objects, report);
        let Some(name) = entry.get("name") else {
            continue;
        };
        let text = name.as_text().unwrap_or_default();
        if !is_label(text) {
            report
                .say(
                    file,
                    "name",
                    name.place,
                    format!("{text:?} cannot name a claim in a pod"),
                )
                .help("lower-case letters, digits and `-`, at most 63, no `-` at the ends");
        }
        if declared.iter().any(|(known, _)| *known == text) {
            report
                .say(
                    file,
                    "duplicate-name",
                    name.place,
                    format!("the pod declares two claims {text:?}"),
                )
                .help("give each its own name");
        }
        declared.push((text, entry));
    }
    let mut used: BTreeSet<&str> = BTreeSet::new();
    let containers = ["initContainers", "containers", "ephemeralContainers"]
        .into_iter()
        .flat_map(|key| pod.list(key));
    for container in containers {
        let claims = container
            .get("resources")
            .map_or(&[][..], |resources| resources.list("claims"));
        let mut seen = BTreeSet::new();
        for claim in claims {
            let Some(name) = claim.get("name") else {
                continue;
            };
            let text = name.as_text().unwrap_or_default();
            used.insert(text);
            if !seen.insert((text, claim.text("request"))) {
                report
                    .say(
                        file,
                        "duplicate-name",
                        name.place,
                        format!("the container uses {text:?} twice"),
                    )
                    .help("name each claim once, or different requests of it");
            }
            let Some((_, entry)) = declared.iter().find(|(known, _)| *known == text) else {
                let near = nearest(text, declared.iter().map(|(name, _)| *name));
                let help = match (near, declared.is_empty()) {
                    (Some(near), _) => format!("did you mean {near:?}?"),
                    (None, true) => format!(
                        "declare it in the pod: `resourceClaims: [{{name: {text}, resourceClaimTemplateName: …}}]`"
                    ),
                    (None, false) => format!(
                        "the pod declares {}",
                        listed(declared.iter().map(|(name, _)| *name))
                    ),
                };
                report
                    .say(
                        file,
                        "undeclared-claim",
                        name.place,
                        format!(
                            "the container uses a claim {text:?} that the pod does not declare"
                        ),
                    )
                    .help(help);
                continue;
            };
            request(object, entry, claim, objects, report);
        }
        limits(file, container, report);
    }
    for (name, entry) in declared.iter().filter(|(name, _)| !used.contains(name)) {
        report
            .say(file, "unused-claim", entry.at("name"), format!("no container uses the claim {name:?}: the device is taken and nobody sees it"))
            .help(format!("write `resources: {{claims: [{{name: {name}}}]}}` in a container, or drop the claim"));
    }
    tolerations(file, pod, objects, report);
}

/// Where a declared claim comes from.
fn source(object: &Object<'_>, entry: &Node, objects: &[Object<'_>], report: &mut Report<'_>) {
    let file = object.file;
    let claim = entry.get("resourceClaimName");
    let template = entry.get("resourceClaimTemplateName");
    let (kind, node) = match (claim, template) {
        (Some(node), None) => ("ResourceClaim", node),
        (None, Some(node)) => ("ResourceClaimTemplate", node),
        (Some(_), Some(_)) => {
            report
                .say(file, "one-of", entry.at("resourceClaimTemplateName"), "a pod's claim comes from a claim or from a template, this one from both")
                .help("keep one: the claim is shared by all pods that name it, of a template each pod gets its own");
            return;
        }
        (None, None) => {
            if entry
                .entries()
                .iter()
                .all(|(key, _)| !report.has(file, key.place))
            {
                report
                    .say(file, "one-of", entry.place, "this claim comes from nowhere")
                    .help("write `resourceClaimTemplateName: …` for a claim of each pod's own, or `resourceClaimName: …` for one that is shared");
            }
            return;
        }
    };
    let name = node.as_text().unwrap_or_default();
    let all: Vec<&Object<'_>> = objects
        .iter()
        .filter(|it| it.namespace() == object.namespace())
        .collect();
    if all.iter().any(|it| it.kind == kind && it.name() == name) {
        return;
    }
    let other = if kind == "ResourceClaim" {
        "ResourceClaimTemplate"
    } else {
        "ResourceClaim"
    };
    if all.iter().any(|it| it.kind == other && it.name() == name) {
        let field = if other == "ResourceClaim" {
            "resourceClaimName"
        } else {
            "resourceClaimTemplateName"
        };
        report
            .say(
                file,
                "unknown-claim",
                node.place,
                format!("{name:?} is a {other}, not a {kind}"),
            )
            .help(format!("write `{field}: {name}`"));
        return;
    }
    let elsewhere = objects.iter().find(|it| {
        it.kind == kind
            && it.name() == name
            && !it.namespace().is_empty()
            && !object.namespace().is_empty()
    });
    if let Some(elsewhere) = elsewhere {
        report
            .say(
                file,
                "unknown-claim",
                node.place,
                format!(
                    "the {kind} {name:?} is in the namespace {:?}, the pod in {:?}",
                    elsewhere.namespace(),
                    object.namespace()
                ),
            )
            .help("a pod uses claims and templates of its own namespace");
        return;
    }
    // It may be in the cluster already; only a name that is nearly right is a mistake for sure.
    if let Some(near) = nearest(
        name,
        all.iter().filter(|it| it.kind == kind).map(|it| it.name()),
    ) {
        report
            .say(
                file,
                "unknown-claim",
                node.place,
                format!("there is no {kind} {name:?} here"),
            )
            .help(format!("did you mean {near:?}?"));
    }
}

/// The request that a container names exists in the claim, where that is at hand.
fn request(
    object: &Object<'_>,
    entry: &Node,
    claim: &Node,
    objects: &[Object<'_>],
    report: &mut Report<'_>,
) {
    let Some(node) = claim.get("request") else {
        return;
    };
    let name = node.as_text().unwrap_or_default();
    let (kind, source) = match (
        entry.text("resourceClaimName"),
        entry.text("resourceClaimTemplateName"),
    ) {
        (Some(name), None) => ("ResourceClaim", name),
        (None, Some(name)) => ("ResourceClaimTemplate", name),
        _ => return,
    };
    let found = objects
        .iter()
        .find(|it| it.kind == kind && it.name() == source && it.namespace() == object.namespace());
    let Some(devices) = found.and_then(Object::claim) else {
        return;
    };
    // A container names a request, never one of its alternatives.
    let names: BTreeSet<String> = request_names(devices)
        .into_iter()
        .filter(|name| !name.contains('/'))
        .collect();
    if !names.contains(name) {
        let near = nearest(
            name.split('/').next().unwrap_or(name),
            names.iter().map(String::as_str),
        );
        let help = near.map_or_else(
            || {
                format!(
                    "its requests are {}",
                    listed(names.iter().map(String::as_str))
                )
            },
            |near| format!("did you mean {near:?}?"),
        );
        report
            .say(
                object.file,
                "unknown-request",
                node.place,
                format!("the {kind} {source:?} has no request {name:?}"),
            )
            .help(help);
    }
}

/// Extended resources cannot be overcommitted.
fn limits(file: usize, container: &Node, report: &mut Report<'_>) {
    let Some(resources) = container.get("resources") else {
        return;
    };
    let text = |key: &str, name: &str| {
        resources
            .map(key)
            .iter()
            .find(|(it, _)| it.name == name)
            .and_then(|(_, it)| it.written())
    };
    for (key, value) in resources
        .map("requests")
        .iter()
        .filter(|(key, _)| key.name.contains('/') && !key.name.starts_with("kubernetes.io/"))
    {
        let limit = text("limits", &key.name);
        if limit != value.written() {
            report
                .say(
                    file,
                    "extended-resource",
                    key.place,
                    format!("{:?} needs a limit that equals the request", key.name),
                )
                .help(format!(
                    "write it under `limits` too: `{}: {}`; the request then may be left out",
                    key.name,
                    value.written().unwrap_or_default()
                ));
        }
    }
}

/// Tolerations of a pod are for taints of nodes.
fn tolerations(file: usize, pod: &Node, objects: &[Object<'_>], report: &mut Report<'_>) {
    let taints = objects
        .iter()
        .filter_map(|it| Some((it.kind, it.spec()?)))
        .flat_map(|(kind, spec)| -> Vec<&Node> {
            match kind {
                "DeviceTaintRule" => spec.get("taint").into_iter().collect(),
                "ResourceSlice" => spec
                    .list("devices")
                    .iter()
                    .flat_map(|it| it.get("basic").unwrap_or(it).list("taints"))
                    .collect(),
                _ => Vec::new(),
            }
        });
    let keys: BTreeSet<&str> = taints.filter_map(|taint| taint.text("key")).collect();
    for toleration in pod.list("tolerations") {
        if let Some(key) = toleration.get("key")
            && let Some(text) = key.as_text()
            && keys.contains(text)
        {
            report
                .say(file, "toleration-level", key.place, format!("{text:?} taints a device, and the pod's tolerations are for taints of nodes"))
                .help("write the toleration into the claim's request: `exactly: {tolerations: […]}`");
        }
    }
}
