//! ResourceClaims and their templates: requests, constraints, configuration.

use std::collections::BTreeSet;

use oracle::limits;

use crate::catalogue::DRIVER;
use crate::limits::at_most;
use crate::names::{attribute_problem, is_subdomain, label, listed, nearest};
use crate::object::Object;
use crate::problem::Report;
use crate::selectors::{Candidate, World, Written, of_nvidia};
use crate::taint;
use crate::tree::{Node, Place};

/// What is asked of devices, and the name by which results and constraints call it.
pub(crate) struct Ask<'t> {
    pub(crate) request: &'t str,
    /// `gpu`, or `gpu/mig` for a subrequest.
    pub(crate) full: String,
    pub(crate) node: &'t Node,
}

/// Everything that a claim asks for, in order.
pub(crate) fn asks<'t>(devices: &'t Node, beta1: bool) -> Vec<Ask<'t>> {
    let mut asks = Vec::new();
    for request in devices.list("requests") {
        let name = request.text("name").unwrap_or_default();
        let subrequests = request.list("firstAvailable");
        let own = if beta1 {
            Some(request)
        } else {
            request.get("exactly")
        };
        if let Some(node) = own.filter(|_| subrequests.is_empty()) {
            asks.push(Ask {
                request: name,
                full: name.to_owned(),
                node,
            });
        }
        asks.extend(subrequests.iter().map(|node| Ask {
            request: name,
            full: format!("{name}/{}", node.text("name").unwrap_or_default()),
            node,
        }));
    }
    asks
}

/// The names that constraints, configuration and containers may use.
pub(crate) fn request_names(devices: &Node) -> BTreeSet<String> {
    let names = devices.list("requests").iter().flat_map(|request| {
        let name = request.text("name").unwrap_or_default().to_owned();
        let subrequests = request.list("firstAvailable").iter();
        let full: Vec<String> = subrequests
            .map(|it| format!("{name}/{}", it.text("name").unwrap_or_default()))
            .collect();
        std::iter::once(name).chain(full)
    });
    names.collect()
}

pub(crate) fn check<'t>(object: &Object<'t>, world: &World<'t>, report: &mut Report<'_>) {
    let Some(devices) = object.claim() else {
        if object.spec().is_some()
            && !report.has(object.file, object.root.at("spec"))
            && object.of.is_some()
        {
            let misplaced = object.spec().is_some_and(|spec| !spec.entries().is_empty());
            if !misplaced {
                report
                    .say(
                        object.file,
                        "no-request",
                        object.root.at("spec"),
                        format!("this {} asks for nothing", object.kind),
                    )
                    .help("write `devices: {requests: […]}`");
            }
        }
        return;
    };
    let file = object.file;
    for (key, help) in [
        ("requests", "split the claim"),
        (
            "constraints",
            "a constraint without `requests` speaks of all of them",
        ),
        (
            "config",
            "a configuration without `requests` is for all of them",
        ),
    ] {
        at_most(report, file, devices, key, limits::REQUESTS_PER_CLAIM, help);
    }
    if devices.list("requests").is_empty() {
        report
            .say(
                file,
                "no-request",
                devices.place,
                "this claim asks for nothing",
            )
            .help("write at least one entry in `requests`");
    }
    let mut seen = BTreeSet::new();
    for request in devices.list("requests") {
        one_of(object, request, report);
        let Some(node) = request.get("name") else {
            continue;
        };
        let name = node.as_text().unwrap_or_default();
        label(file, node, "a request", report);
        if !seen.insert(name) {
            report
                .say(
                    file,
                    "duplicate-name",
                    node.place,
                    format!("there are two requests {name:?}"),
                )
                .help("give each its own name");
        }
        at_most(
            report,
            file,
            request,
            "firstAvailable",
            limits::FIRST_AVAILABLE,
            "leave out the alternatives that matter least",
        );
        let mut inner = BTreeSet::new();
        for subrequest in request.list("firstAvailable") {
            let Some(node) = subrequest.get("name") else {
                continue;
            };
            label(file, node, "a subrequest", report);
            if !inner.insert(node.as_text().unwrap_or_default()) {
                report
                    .say(
                        file,
                        "duplicate-name",
                        node.place,
                        "two subrequests of a request have this name",
                    )
                    .help("give each its own name");
            }
        }
    }
    let asks = asks(devices, object.is_beta1());
    for ask in &asks {
        self::ask(file, ask, world, report);
    }
    alternatives(file, devices, report);
    total(file, devices, &asks, report);
    let names = request_names(devices);
    for constraint in devices.list("constraints") {
        named(file, constraint, &names, "constraint", report);
        self::constraint(file, constraint, &asks, world, report);
    }
    configs(file, devices, Some(&names), report);
}

/// Exactly one of `exactly` and `firstAvailable`.
fn one_of(object: &Object<'_>, request: &Node, report: &mut Report<'_>) {
    let file = object.file;
    let first = request.get("firstAvailable");
    if object.is_beta1() {
        if let (Some(_), Some(_)) = (first, request.get("deviceClassName")) {
            report
                .say(
                    file,
                    "one-of",
                    request.at("deviceClassName"),
                    "a request has either `firstAvailable` or fields of its own",
                )
                .help("keep one of the two");
        }
        return;
    }
    match (request.get("exactly"), first) {
        (Some(_), Some(_)) => report
            .say(file, "one-of", request.at("firstAvailable"), "a request has either `exactly` or `firstAvailable`, this one has both")
            .help("keep `firstAvailable` and make what stands under `exactly` its first entry, or drop it"),
        (None, None) => {
            // Fields of v1beta1 have been told of, and what they mean is what is missing here.
            let beta = request.entries().iter().any(|(key, _)| report.has(file, key.place));
            if !beta {
                report
                    .say(file, "one-of", request.place, "a request needs `exactly` or `firstAvailable`")
                    .help("write `exactly: {deviceClassName: …}`");
            }
        }
        (None, Some(list)) if list.items().is_empty() => report
            .say(file, "one-of", request.at("firstAvailable"), "`firstAvailable` is empty")
            .help("write at least one entry with `name` and `deviceClassName`"),
        _ => {}
    }
}

fn ask<'t>(file: usize, ask: &Ask<'t>, world: &World<'t>, report: &mut Report<'_>) {
    let node = ask.node;
    let class = node.get("deviceClassName");
    let class_name = class.and_then(Node::as_text).unwrap_or_default();
    if let Some(class) = class
        && world.class(class_name).is_none()
        && let Some(meant) = world.meant_class(class_name)
    {
        report
            .say(file, "unknown-class", class.place, format!("there is no DeviceClass {class_name:?} here, nor does the NVIDIA driver bring it"))
            .help(format!("did you mean {meant:?}?"));
    }
    let mode = node.get("allocationMode");
    let count = node.get("count");
    match (mode.and_then(Node::as_text), count.and_then(Node::as_int)) {
        (Some("All"), Some(_)) => {
            report
                .say(
                    file,
                    "count",
                    node.at("count"),
                    "`allocationMode: All` takes no count",
                )
                .help("drop `count`, or write `allocationMode: ExactCount`");
        }
        (Some("ExactCount") | None, Some(number)) if number < 1 => {
            report
                .say(
                    file,
                    "count",
                    node.at("count"),
                    format!("a count of {number} asks for nothing"),
                )
                .help("write a number from 1 on");
        }
        (Some(mode_text), _) if !["All", "ExactCount"].contains(&mode_text) => {
            let help = nearest(mode_text, ["All", "ExactCount"]).map_or_else(
                || "write `ExactCount` or `All`".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            let place = mode.map_or(node.place, |it| it.place);
            report
                .say(
                    file,
                    "allocation-mode",
                    place,
                    format!("{mode_text:?} is no way to allocate"),
                )
                .help(help);
        }
        _ => {}
    }
    world.check(file, node, report);
    let own = world.written(file, node);
    let of_class: Vec<Written<'t>> = world.class(class_name).unwrap_or_default().to_vec();
    world.reach(&of_class, &own, (file, node.place), report);
    for derived in node.list("derivedAttributes") {
        if let Some(expression) = derived.get("expression") {
            world.expression(file, expression, report);
        }
        if let Some(name) = derived.get("name") {
            qualified(file, name, report);
        }
    }
    for toleration in node.list("tolerations") {
        taint::toleration(file, toleration, report);
    }
    if let Some(requests) = node.path(&["capacity", "requests"]) {
        let admitted = admitted(ask, world);
        for (key, _) in requests.entries() {
            capacity(file, &key.name, key.place, admitted.as_deref(), report);
        }
    }
}

/// The devices that an ask can get; `None` where nobody here knows.
fn admitted<'w, 't>(ask: &Ask<'t>, world: &'w World<'t>) -> Option<Vec<&'w Candidate>> {
    let class = world.class(ask.node.text("deviceClassName").unwrap_or_default())?;
    // What the request asks beyond its class may be the machine's: the class alone says enough.
    world.admitted(&class.iter().collect::<Vec<_>>())
}

fn capacity(
    file: usize,
    name: &str,
    place: Place,
    admitted: Option<&[&Candidate]>,
    report: &mut Report<'_>,
) {
    if let Some(problem) = attribute_problem(name, false) {
        report
            .say(
                file,
                "name",
                place,
                format!("this is no name of a capacity: {problem}"),
            )
            .help("write it as the driver publishes it, as `memory` or `gpu.example.com/memory`");
        return;
    }
    let Some(admitted) = admitted.filter(|it| !it.is_empty()) else {
        return;
    };
    let bare = |facts: &oracle::Facts, name: &str| match name.split_once('/') {
        Some((domain, id)) if domain == &*facts.driver => id.to_owned(),
        _ => name.to_owned(),
    };
    if admitted.iter().any(|it| {
        it.facts
            .capacity
            .keys()
            .any(|have| bare(&it.facts, have) == bare(&it.facts, name))
    }) {
        return;
    }
    let attribute = admitted.iter().any(|it| {
        it.facts
            .attributes
            .keys()
            .any(|have| bare(&it.facts, have) == bare(&it.facts, name))
    });
    let names: BTreeSet<&str> = admitted
        .iter()
        .flat_map(|it| it.facts.capacity.keys().map(|name| &**name))
        .collect();
    let (rule, help) = match nearest(name, names.iter().copied()) {
        _ if attribute => (
            "attribute-as-capacity",
            "it is an attribute: ask for it in a selector".to_owned(),
        ),
        Some(near) => ("unknown-capacity", format!("did you mean `{near}`?")),
        None => (
            "unknown-capacity",
            format!("published are {}", listed(names.iter().copied())),
        ),
    };
    report
        .say(
            file,
            rule,
            place,
            format!("no device of this class has a capacity {name:?}"),
        )
        .help(help);
}

/// An alternative after one that is always at least as easy to have is never taken.
fn alternatives(file: usize, devices: &Node, report: &mut Report<'_>) {
    let named: Vec<&str> = devices
        .list("constraints")
        .iter()
        .flat_map(|it| it.list("requests"))
        .filter_map(Node::as_text)
        .collect();
    for request in devices.list("requests") {
        // A constraint on one alternative alone can make it harder to have.
        let name = request.text("name").unwrap_or_default();
        let apart = |it: &&str| it.split_once('/').is_some_and(|(of, _)| of == name);
        if named.iter().any(apart) {
            continue;
        }
        let mut before: Vec<&Node> = Vec::new();
        for subrequest in request.list("firstAvailable") {
            let class = subrequest.text("deviceClassName").unwrap_or_default();
            let count = |node: &Node| node.int("count").unwrap_or(1);
            let hides = before.iter().find(|first| {
                first.text("deviceClassName") == Some(class)
                    && first.list("selectors").is_empty()
                    && first.text("allocationMode").unwrap_or("ExactCount") == "ExactCount"
                    && subrequest.text("allocationMode").unwrap_or("ExactCount") == "ExactCount"
                    && first.get("capacity").is_none()
                    && first.get("tolerations").is_none()
                    && subrequest.get("tolerations").is_none()
                    && count(first) <= count(subrequest)
            });
            if let Some(first) = hides {
                let name = first.text("name").unwrap_or_default();
                report
                    .say(file, "never-taken", subrequest.at("name"), format!("this alternative is never taken: {name:?} before it takes any device of the class"))
                    .help("put the narrower wish first, or give the first a selector");
            }
            before.push(subrequest);
        }
    }
}

/// More devices than one claim can hold.
fn total(file: usize, devices: &Node, asks: &[Ask<'_>], report: &mut Report<'_>) {
    let count = |ask: &Ask<'_>| match ask.node.text("allocationMode") {
        Some("All") => 1,
        _ => ask
            .node
            .int("count")
            .and_then(|count| u64::try_from(count).ok())
            .unwrap_or(1),
    };
    // Of the alternatives of a request the least counts.
    let mut least: Vec<(&str, u64)> = Vec::new();
    for ask in asks {
        match least.iter_mut().find(|(name, _)| *name == ask.request) {
            Some((_, have)) => *have = (*have).min(count(ask)),
            None => least.push((ask.request, count(ask))),
        }
    }
    let sum: u64 = least
        .iter()
        .map(|(_, count)| count)
        .fold(0, |sum, count| sum.saturating_add(*count));
    if sum > limits::RESULTS_PER_CLAIM {
        let largest = asks.iter().max_by_key(|ask| count(ask));
        let place = largest.map_or(devices.place, |ask| ask.node.at("count"));
        report
            .say(
                file,
                "never-fits",
                place,
                format!(
                    "the claim asks for {sum} devices; one claim holds at most {}",
                    limits::RESULTS_PER_CLAIM
                ),
            )
            .help("split it into several claims");
    }
}

fn qualified(file: usize, node: &Node, report: &mut Report<'_>) -> bool {
    let name = node.as_text().unwrap_or_default();
    let Some(problem) = attribute_problem(name, true) else {
        return true;
    };
    let help = if name.contains('/') {
        "write DOMAIN/NAME, as gpu.nvidia.com/parentUUID".to_owned()
    } else {
        format!("write the driver before it, as `{DRIVER}/{name}`")
    };
    report
        .say(
            file,
            "attribute-name",
            node.place,
            format!("this attribute is not fully qualified: {problem}"),
        )
        .help(help);
    false
}

fn constraint<'t>(
    file: usize,
    constraint: &'t Node,
    asks: &[Ask<'t>],
    world: &World<'t>,
    report: &mut Report<'_>,
) {
    let found: Vec<(&str, &Node)> = ["matchAttribute", "distinctAttribute"]
        .into_iter()
        .filter_map(|name| Some((name, constraint.get(name)?)))
        .collect();
    let (kind, node) = match found.as_slice() {
        [only] => *only,
        [] => {
            report
                .say(
                    file,
                    "one-of",
                    constraint.place,
                    "a constraint needs `matchAttribute` or `distinctAttribute`",
                )
                .help(format!(
                    "write `matchAttribute: {DRIVER}/parentUUID`, or what the devices shall share"
                ));
            return;
        }
        [_, (name, _), ..] => {
            report
                .say(file, "one-of", constraint.at(name), "a constraint has either `matchAttribute` or `distinctAttribute`, this one has both")
                .help("write two constraints");
            return;
        }
    };
    if !qualified(file, node, report) {
        return;
    }
    let name = node.as_text().unwrap_or_default();
    let requests: Vec<&str> = constraint
        .list("requests")
        .iter()
        .filter_map(Node::as_text)
        .collect();
    for ask in asks {
        let concerned = requests.is_empty()
            || requests
                .iter()
                .any(|it| *it == ask.request || *it == ask.full);
        let Some(admitted) = admitted(ask, world).filter(|it| concerned && !it.is_empty()) else {
            continue;
        };
        if admitted.iter().any(|it| it.facts.attribute(name).is_some()) {
            continue;
        }
        let capacity = name
            .split_once('/')
            .is_some_and(|(_, id)| admitted.iter().any(|it| it.facts.capacity.contains_key(id)));
        let names: BTreeSet<String> = admitted
            .iter()
            .flat_map(|it| {
                it.facts.attributes.keys().map(|name| {
                    if name.contains('/') {
                        name.to_string()
                    } else {
                        format!("{}/{name}", it.facts.driver)
                    }
                })
            })
            .collect();
        let near = nearest(name, names.iter().map(String::as_str));
        let (rule, help) = match near {
            _ if capacity => (
                "capacity-as-attribute",
                "it is a capacity; constraints speak of attributes".to_owned(),
            ),
            Some(near) => ("never-matches", format!("did you mean `{near}`?")),
            None => (
                "never-matches",
                format!(
                    "devices of this class have {}",
                    listed(names.iter().map(String::as_str))
                ),
            ),
        };
        let of = if of_nvidia(&admitted) {
            " of the NVIDIA driver"
        } else {
            ""
        };
        report
            .say(
                file,
                rule,
                node.place,
                format!(
                    "no device{of} that request {:?} can get has {name}: this {kind} never holds",
                    ask.full
                ),
            )
            .help(help);
        return;
    }
}

/// The requests that a constraint or configuration names exist, each once.
fn named(file: usize, node: &Node, names: &BTreeSet<String>, what: &str, report: &mut Report<'_>) {
    at_most(
        report,
        file,
        node,
        "requests",
        limits::REQUESTS_PER_CLAIM,
        "no `requests` at all stands for every one",
    );
    let mut seen = BTreeSet::new();
    for it in node.list("requests") {
        let Some(name) = it.as_text() else { continue };
        if !names.contains(name) {
            let near = nearest(name, names.iter().map(String::as_str));
            let help = near.map_or_else(
                || {
                    format!(
                        "the claim's requests are {}",
                        listed(names.iter().map(String::as_str))
                    )
                },
                |near| format!("did you mean {near:?}?"),
            );
            report
                .say(
                    file,
                    "unknown-request",
                    it.place,
                    format!("this {what} names a request {name:?} that the claim does not have"),
                )
                .help(help);
        }
        if !seen.insert(name) {
            report
                .say(
                    file,
                    "duplicate-name",
                    it.place,
                    format!("{name:?} stands here twice"),
                )
                .help("name each request once");
        }
    }
}

/// Configuration of a claim (whose requests it may name) or of a class.
pub(crate) fn configs(
    file: usize,
    of: &Node,
    names: Option<&BTreeSet<String>>,
    report: &mut Report<'_>,
) {
    for config in of.list("config") {
        if let Some(names) = names {
            named(file, config, names, "configuration", report);
        }
        let Some(opaque) = config.get("opaque") else {
            report
                .say(
                    file,
                    "one-of",
                    config.place,
                    "a configuration needs `opaque`",
                )
                .help("write `opaque: {driver: …, parameters: {…}}`");
            continue;
        };
        if let Some(driver) = opaque.get("driver") {
            driver_name(file, driver, report);
        }
        let parameters = opaque.get("parameters");
        if let Some(parameters) = parameters.filter(|_| opaque.text("driver") == Some(DRIVER)) {
            nvidia(file, parameters, report);
        }
    }
}

/// Kinds of configuration that the NVIDIA driver reads (`api/nvidia.com/resource/v1beta1`).
const NVIDIA_KINDS: [&str; 3] = ["GpuConfig", "MigDeviceConfig", "VfioDeviceConfig"];
const NVIDIA_API: &str = "resource.nvidia.com/v1beta1";

fn nvidia(file: usize, parameters: &Node, report: &mut Report<'_>) {
    match parameters.get("apiVersion") {
        Some(version) if version.as_text() == Some(NVIDIA_API) => {}
        other => {
            let place = other.map_or(parameters.place, |it| it.place);
            report
                .say(
                    file,
                    "driver-config",
                    place,
                    "the NVIDIA driver does not read this configuration",
                )
                .help(format!("write `apiVersion: {NVIDIA_API}`"));
            return;
        }
    }
    let kind = parameters.text("kind").unwrap_or_default();
    if !NVIDIA_KINDS.contains(&kind) {
        let place = parameters
            .get("kind")
            .map_or(parameters.place, |it| it.place);
        let help = nearest(kind, NVIDIA_KINDS).map_or_else(
            || format!("it reads {}", listed(NVIDIA_KINDS)),
            |near| format!("did you mean `{near}`?"),
        );
        report
            .say(
                file,
                "driver-config",
                place,
                format!("the NVIDIA driver knows no configuration {kind:?}"),
            )
            .help(help);
    }
}

pub(crate) fn driver_name(file: usize, node: &Node, report: &mut Report<'_>) {
    let Some(name) = node.as_text() else { return };
    if is_subdomain(name, limits::DRIVER_BYTES) {
        return;
    }
    let help = match name.split_once('/') {
        Some((domain, id)) => format!("a driver's name has no slash; `{id}.{domain}` would be one"),
        None => format!(
            "lower-case words joined by dots, at most {} characters, as gpu.nvidia.com",
            limits::DRIVER_BYTES
        ),
    };
    report
        .say(
            file,
            "driver-name",
            node.place,
            format!("{name:?} cannot be the name of a driver"),
        )
        .help(help);
}
