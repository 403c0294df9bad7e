//! Taints, tolerations and DeviceTaintRules.

use crate::claim::driver_name;
use crate::names::{is_subdomain, listed, nearest};
use crate::object::Object;
use crate::problem::Report;
use crate::tree::Node;

const EFFECTS: [&str; 3] = ["NoSchedule", "NoExecute", "None"];

fn effect(file: usize, node: &Node, report: &mut Report<'_>) {
    let Some(text) = node.as_text().filter(|text| !EFFECTS.contains(text)) else {
        return;
    };
    let help = match text {
        "PreferNoSchedule" => {
            "devices have no PreferNoSchedule; write NoSchedule, NoExecute or None".to_owned()
        }
        _ => nearest(text, EFFECTS).map_or_else(
            || format!("write {}", listed(EFFECTS)),
            |near| format!("did you mean `{near}`?"),
        ),
    };
    report
        .say(
            file,
            "taint-effect",
            node.place,
            format!("{text:?} is no effect of a device taint"),
        )
        .help(help);
}

/// `domain/name` or `name`, as keys of labels are.
fn key(file: usize, node: &Node, report: &mut Report<'_>) {
    let Some(text) = node.as_text() else { return };
    let (domain, id) = text
        .split_once('/')
        .map_or((None, text), |(domain, id)| (Some(domain), id));
    let ok = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let ends = |id: &str| {
        id.starts_with(|c: char| c.is_ascii_alphanumeric())
            && id.ends_with(|c: char| c.is_ascii_alphanumeric())
    };
    let fine = !id.is_empty()
        && id.len() <= 63
        && id.chars().all(ok)
        && ends(id)
        && domain.is_none_or(|domain| is_subdomain(domain, 253));
    if !fine {
        report
            .say(
                file,
                "taint-key",
                node.place,
                format!("{text:?} cannot be the key of a taint"),
            )
            .help("write it like the key of a label, as gpu.example.com/unhealthy");
    }
}

pub(crate) fn taint(file: usize, taint: &Node, report: &mut Report<'_>) {
    if let Some(node) = taint.get("key") {
        key(file, node, report);
    }
    if let Some(node) = taint.get("effect") {
        effect(file, node, report);
    }
}

/// A toleration of a request.
pub(crate) fn toleration(file: usize, toleration: &Node, report: &mut Report<'_>) {
    if let Some(node) = toleration
        .get("key")
        .filter(|node| node.as_text() != Some(""))
    {
        key(file, node, report);
    }
    if let Some(node) = toleration
        .get("effect")
        .filter(|node| node.as_text() != Some(""))
    {
        effect(file, node, report);
    }
    let operator = toleration.get("operator");
    match operator.and_then(Node::as_text) {
        Some("Exists")
            if toleration
                .text("value")
                .is_some_and(|value| !value.is_empty()) =>
        {
            report
                .say(
                    file,
                    "toleration",
                    toleration.at("value"),
                    "`Exists` looks at no value",
                )
                .help("drop `value`, or write `operator: Equal`");
        }
        Some("Exists") => {}
        Some("Equal" | "") | None => {
            let keyless = toleration.text("key").unwrap_or_default().is_empty();
            if keyless {
                report
                    .say(file, "toleration", toleration.place, "this tolerates no taint: `Equal`, which is the default, compares the key, and there is none")
                    .help("write `operator: Exists` to tolerate every taint, or give a key");
            }
        }
        Some(other) => {
            let help = nearest(other, ["Equal", "Exists"]).map_or_else(
                || "write `Equal` or `Exists`".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            let place = operator.map_or(toleration.place, |node| node.place);
            report
                .say(
                    file,
                    "toleration",
                    place,
                    format!("{other:?} is no operator of a toleration"),
                )
                .help(help);
        }
    }
    if toleration.get("tolerationSeconds").is_some()
        && toleration
            .text("effect")
            .is_some_and(|effect| effect != "NoExecute" && !effect.is_empty())
    {
        report
            .say(
                file,
                "toleration",
                toleration.at("tolerationSeconds"),
                "`tolerationSeconds` counts for NoExecute only",
            )
            .help("write `effect: NoExecute`, or drop the seconds");
    }
}

/// A DeviceTaintRule.
pub(crate) fn rule(object: &Object<'_>, objects: &[Object<'_>], report: &mut Report<'_>) {
    let Some(spec) = object.spec() else { return };
    let file = object.file;
    if let Some(taint) = spec.get("taint") {
        self::taint(file, taint, report);
    }
    let effect = spec
        .path(&["taint", "effect"])
        .and_then(Node::as_text)
        .unwrap_or_default();
    let fields = ["driver", "pool", "device", "deviceClassName", "selectors"];
    match spec.get("deviceSelector") {
        None => {
            report
                .say(file, "taint-rule-selector", spec.place, "this rule chooses no device")
                .help("write `deviceSelector: {driver: …, pool: …, device: …}`; Kubernetes 1.37.0 takes a missing selector with NoSchedule for every device (kubernetes #141620)");
        }
        Some(selector) if !fields.iter().any(|name| selector.get(name).is_some()) => {
            let does = if effect == "NoExecute" {
                "ends the pods of every device of the cluster"
            } else {
                "keeps every device of the cluster from being allocated"
            };
            report
                .say(
                    file,
                    "taint-rule-selector",
                    spec.at("deviceSelector"),
                    format!("an empty selector chooses every device: this rule {does}"),
                )
                .help("choose by `driver`, `pool` and `device`");
        }
        Some(selector) => {
            if let Some(driver) = selector.get("driver") {
                driver_name(file, driver, report);
            }
            exists(file, selector, objects, report);
        }
    }
}

/// A rule for a device of a pool that is at hand must name one that is there.
fn exists(file: usize, selector: &Node, objects: &[Object<'_>], report: &mut Report<'_>) {
    let (Some(pool), Some(device)) = (selector.text("pool"), selector.get("device")) else {
        return;
    };
    let in_pool = objects
        .iter()
        .filter(|it| it.kind == "ResourceSlice")
        .filter_map(Object::spec)
        .filter(|spec| spec.path(&["pool", "name"]).and_then(Node::as_text) == Some(pool));
    let names: Vec<&str> = in_pool
        .flat_map(|spec| spec.list("devices"))
        .filter_map(|it| it.text("name"))
        .collect();
    let name = device.as_text().unwrap_or_default();
    if !names.is_empty() && !names.contains(&name) {
        let help = nearest(name, names.iter().copied()).map_or_else(
            || format!("it has {}", listed(names.iter().copied().take(12))),
            |near| format!("did you mean {near:?}?"),
        );
        report
            .say(
                file,
                "unknown-device",
                device.place,
                format!("the pool {pool:?} has no device {name:?}"),
            )
            .help(help);
    }
}
