//! The claim that is made for a pod's extended resources: which requests, of which class, for which containers, on which node.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod cases;

use cases::{Case, line, slice};
use oracle::objects::Pod;
use oracle::{Gate, Gates, How, Version, World, allocate_pod};

const CLASSES: &str = "classes:
- {metadata: {name: gpu, creationTimestamp: '2026-01-01T00:00:00Z'}, spec: {extendedResourceName: example.com/gpu}}
- {metadata: {name: nic}, spec: {}}
";

fn world(classes: &str, allocatable: &str, version: Version) -> World {
    let devices = slice(
        "s",
        "p",
        1,
        "devices: [{name: a}, {name: b}, {name: c}, {name: d}]",
    );
    let node =
        format!("node: {{metadata: {{name: n1}}, status: {{allocatable: {{{allocatable}}}}}}}\n");
    Case::new(&format!("slices:\n{devices}{classes}{node}wanted: []\n"))
        .world(&Gates::all_of(version), None)
}

/// A pod with these containers: name, and what it requests.
fn pod(first: &[&str], others: &[&str]) -> Pod {
    let list = |containers: &[&str]| containers.join(", ");
    let text = format!(
        "{{metadata: {{name: it, namespace: ns}}, spec: {{initContainers: [{}], containers: [{}]}}}}",
        list(first),
        list(others)
    );
    Pod::read(&serde_yaml_ng::from_str(&text).unwrap()).unwrap()
}

fn container(name: &str, requests: &str) -> String {
    format!("{{name: {name}, resources: {{requests: {{{requests}}}}}}}")
}

fn sidecar(name: &str, requests: &str) -> String {
    container(name, requests).replace("{name", "{restartPolicy: Always, name")
}

/// `request=count class` of each request, then `container>request` of each mapping.
fn made(world: &World, pod: &Pod) -> String {
    let Some(made) = world.extended(pod, &world.nodes()[0]).unwrap() else {
        return "nothing".to_owned();
    };
    let requests = made.claim.requests.iter().flat_map(|request| {
        request.asks().iter().map(|ask| match ask.mode {
            oracle::objects::Mode::Exact(count) => {
                format!("{}={count} {}", request.name, ask.class)
            }
            oracle::objects::Mode::All => unreachable!("extended resources are counted"),
        })
    });
    let short = |text: String| text.replace("container-", "").replace("-request-", ".");
    let mappings = made
        .mappings
        .iter()
        .map(|it| format!("{}>{}", it.container, it.request));
    short(requests.chain(mappings).collect::<Vec<_>>().join(", "))
}

#[test]
fn each_container_that_stays_has_a_request_named_by_places() {
    let world = world(CLASSES, "", Version::V1_37);
    let both = "cpu: '1', example.com/gpu: '2', deviceclass.resource.kubernetes.io/nic: '1'";
    let one = "example.com/gpu: '1'";
    assert_eq!(
        made(
            &world,
            &pod(&[], &[&container("m", both), &container("n", one)])
        ),
        // By name `cpu` is first, then the class of the network card.
        "0.1=1 nic, 0.2=2 gpu, 1.0=1 gpu, m>0.1, m>0.2, n>1.0"
    );
    // In the order of their names, not of the containers.
    let many: Vec<String> = (0..11)
        .map(|at| {
            container(
                &format!("c{at}"),
                if at == 2 || at == 10 { one } else { "" },
            )
        })
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(
        made(&world, &pod(&[], &many)),
        "10.0=1 gpu, 2.0=1 gpu, c2>2.0, c10>10.0"
    );
}

#[test]
fn containers_that_end_take_of_later_ones_and_share_what_they_lack() {
    let gpus = |count: u32| format!("example.com/gpu: '{count}'");
    let first = [
        container("a", &gpus(3)),
        sidecar("s", &gpus(1)),
        container("b", &gpus(4)),
        container("c", &gpus(1)),
    ];
    let first: Vec<&str> = first.iter().map(String::as_str).collect();
    let it = pod(&first, &[&container("m", &gpus(2))]);
    // `a` has s and m after it: 3; `b` only m: it lacks 2; `c` lacks nothing.
    assert_eq!(
        made(&world(CLASSES, "", Version::V1_37), &it),
        "1.0=1 gpu, 2.0=2 gpu, 4.0=2 gpu, s>1.0, m>4.0, a>1.0, a>4.0, b>4.0, b>2.0, c>4.0"
    );
    let first = [
        container("a", &gpus(3)),
        container("b", &gpus(5)),
        container("c", &gpus(5)),
    ];
    let first: Vec<&str> = first.iter().map(String::as_str).collect();
    let it = pod(&first, &[&container("m", &gpus(2))]);
    assert_eq!(
        made(&world(CLASSES, "", Version::V1_37), &it),
        "1.0=3 gpu, 3.0=2 gpu, m>3.0, a>3.0, a>1.0, b>3.0, b>1.0, c>3.0, c>1.0"
    );
    // The first alpha had no such thing.
    assert_eq!(
        made(&world(CLASSES, "", Version::V1_34), &it),
        "0.0=3 gpu, 1.0=5 gpu, 2.0=5 gpu, 3.0=2 gpu, a>0.0, b>1.0, c>2.0, m>3.0"
    );
}

#[test]
fn what_a_device_plugin_publishes_is_not_asked_of_devices() {
    let it = pod(
        &[],
        &[&container(
            "m",
            "example.com/gpu: '2', deviceclass.resource.kubernetes.io/nic: '1'",
        )],
    );
    let on = |allocatable: &str| {
        let world = world(CLASSES, allocatable, Version::V1_37);
        line(&allocate_pod(&world, &[], &it, How::default())[0].answer)
    };
    let [nic, gpu] = ["container-0-request-0=p", "container-0-request-1=p"];
    assert_eq!(on(""), format!("{nic}/a {gpu}/b {gpu}/c"));
    assert_eq!(on("example.com/gpu: '8'"), format!("{nic}/a"));
    // A plugin that has gone leaves a zero behind.
    assert_eq!(
        on("example.com/gpu: '0'"),
        format!("{nic}/a {gpu}/b {gpu}/c")
    );
    assert!(
        on("example.com/gpu: '1'")
            .contains("2 of example.com/gpu are wanted, and the device plugin publishes 1")
    );
    let other = pod(&[], &[&container("m", "example.com/other: '1'")]);
    let world = world(CLASSES, "", Version::V1_37);
    assert!(!world.has_extended(&other) && world.has_extended(&it));
    let refused = line(&allocate_pod(&world, &[], &other, How::default())[0].answer);
    assert!(
        refused.contains("no DeviceClass stands for it"),
        "{refused}"
    );
}

#[test]
fn of_two_classes_the_newest_stands_for_the_resource_and_then_the_first_by_name() {
    let class = |name: &str, year: u32| {
        format!(
            "- {{metadata: {{name: {name}, creationTimestamp: '{year}-01-01T00:00:00Z'}}, spec: {{extendedResourceName: example.com/gpu}}}}\n"
        )
    };
    let winner = |classes: &[String]| {
        let world = world(
            &format!("classes:\n{}", classes.concat()),
            "",
            Version::V1_37,
        );
        world
            .class_for("example.com/gpu")
            .map(|class| class.name.to_string())
    };
    assert_eq!(
        winner(&[class("a", 2025), class("b", 2026)]).as_deref(),
        Some("b")
    );
    assert_eq!(
        winner(&[class("b", 2026), class("a", 2026)]).as_deref(),
        Some("a")
    );
    let world = world(
        &format!("classes:\n{}{}", class("a", 2025), class("b", 2026)),
        "",
        Version::V1_37,
    );
    let implicit = world
        .class_for("deviceclass.resource.kubernetes.io/a")
        .map(|class| class.name.to_string());
    assert_eq!(
        implicit.as_deref(),
        Some("a"),
        "the implicit name is always its own"
    );
}

#[test]
fn without_the_gate_no_class_stands_for_anything() {
    let gates = Gates::default_of(Version::V1_36);
    let off = gates.clone().without(Gate::ExtendedResource);
    let case = Case::new(&format!("slices: []\n{CLASSES}wanted: []\n"));
    let named = |gates: &Gates| {
        case.world(gates, None)
            .class_for("example.com/gpu")
            .is_some()
    };
    assert!(named(&gates) && !named(&off));
}

#[test]
fn an_amount_that_is_no_whole_number_is_a_mistake() {
    let text = "{metadata: {name: it, namespace: ns}, spec: {containers: [{name: m, resources: {limits: {example.com/gpu: '1500m'}}}]}}";
    let mistake = Pod::read(&serde_yaml_ng::from_str(text).unwrap()).unwrap_err();
    assert_eq!(
        mistake.field,
        "spec.containers[0].resources.requests[example.com/gpu]"
    );
}
