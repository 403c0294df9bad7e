//! A cluster of cards that can be cut, as API objects and as the oracle has them: what the benches ask about.
//! Cards are those of an A100 of 40 GB as the NVIDIA driver publishes them, each partition twice to make fifty.

#![allow(dead_code, reason = "each bench takes its own part")]

use std::process::ExitCode;

use k8s_openapi::api::resource::v1 as api;
use oracle::objects::{Claim, Class, Node, Slice};
use oracle::{Gates, Setup, World};
use serde_json::{Value, json};

/// Profile, compute slices, memory slices, and the memory slices that it can begin at.
const PROFILES: [(&str, u32, u32, &[u32]); 7] = [
    ("1g.10gb", 1, 2, &[0, 2, 4, 6]),
    ("1g.5gb", 1, 1, &[0, 1, 2, 3, 4, 5, 6]),
    ("1g.5gb+me", 1, 1, &[0, 1, 2, 3, 4, 5, 6]),
    ("2g.10gb", 2, 2, &[0, 2, 4]),
    ("3g.20gb", 3, 4, &[0, 4]),
    ("4g.20gb", 4, 4, &[0]),
    ("7g.40gb", 7, 8, &[0]),
];

/// Nodes, cards of each, and how often each of the 25 partitions of a card is published.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) nodes: usize,
    pub(crate) cards: usize,
    pub(crate) copies: usize,
}

impl Shape {
    /// Devices in all.
    pub(crate) fn devices(&self) -> usize {
        let places: usize = PROFILES.iter().map(|(_, _, _, starts)| starts.len()).sum();
        self.nodes * self.cards * self.copies * places
    }
}

fn counters(card: usize, compute: u32, from: u32, memory: u32) -> Value {
    let mut counters = json!({
        "multiprocessors": { "value": (compute * 14).to_string() },
        "copy-engines": { "value": compute.to_string() },
        "memory": { "value": format!("{}Mi", memory * 5040) },
    });
    for slice in from..from + memory {
        counters[format!("memory-slice-{slice}")] = json!({ "value": "1" });
    }
    json!({ "name": format!("gpu-{card}-counter-set"), "counters": counters })
}

/// The slices of a node, as JSON.
pub(crate) fn slices(node: &str, shape: &Shape) -> Vec<Value> {
    let slice = |at: usize, rest: Value| {
        let mut spec = json!({
            "driver": "gpu.nvidia.com",
            "nodeName": node,
            "pool": { "name": node, "generation": 1, "resourceSliceCount": shape.cards + 1 },
        });
        if let (Some(spec), Value::Object(rest)) = (spec.as_object_mut(), rest) {
            spec.extend(rest);
        }
        json!({ "metadata": { "name": format!("{at:05}-gpu.nvidia.com-{node}") }, "spec": spec })
    };
    let sets: Vec<Value> = (0..shape.cards)
        .map(|card| counters(card, 7, 0, 8))
        .collect();
    let mut all = vec![slice(0, json!({ "sharedCounters": sets }))];
    for card in 0..shape.cards {
        let mut devices = Vec::new();
        for (profile, compute, memory, starts) in PROFILES {
            for start in starts {
                for copy in 0..shape.copies {
                    let consumes = counters(card, compute, *start, memory);
                    devices.push(json!({
                        "name": format!("gpu-{card}-mig-{}-{start}-{copy}", profile.replace(['.', '+'], "")),
                        "attributes": {
                            "type": { "string": "mig" },
                            "profile": { "string": profile },
                            "parentUUID": { "string": format!("GPU-{node}-{card}") },
                            "productName": { "string": "NVIDIA A100-SXM4-40GB" },
                            "driverVersion": { "version": "580.95.5" },
                        },
                        "capacity": {
                            "memory": { "value": format!("{}Mi", memory * 5040) },
                            "multiprocessors": { "value": (compute * 14).to_string() },
                        },
                        "consumesCounters": [{ "counterSet": consumes["name"], "counters": consumes["counters"] }],
                    }));
                }
            }
        }
        all.push(slice(card + 1, json!({ "devices": devices })));
    }
    all
}

/// The class that admits every partition.
pub(crate) fn class() -> Value {
    let expression =
        "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'";
    json!({
        "metadata": { "name": "mig.nvidia.com" },
        "spec": { "selectors": [{ "cel": { "expression": expression } }] }
    })
}

/// A claim of one partition of a profile, or of several requests for that with a constraint over them.
pub(crate) fn claim(
    name: &str,
    profile: &str,
    requests: usize,
    constraint: Option<Value>,
) -> Value {
    let expression = format!("device.attributes['gpu.nvidia.com'].profile == '{profile}'");
    let request = |at: usize| {
        json!({
            "name": format!("r{at}"),
            "exactly": {
                "deviceClassName": "mig.nvidia.com",
                "allocationMode": "ExactCount",
                "count": 1,
                "selectors": [{ "cel": { "expression": expression } }]
            }
        })
    };
    let mut devices = json!({ "requests": (0..requests).map(request).collect::<Vec<_>>() });
    if let Some(constraint) = constraint {
        devices["constraints"] = json!([constraint]);
    }
    json!({
        "metadata": { "name": name, "namespace": "team" },
        "spec": { "devices": devices }
    })
}

/// A value of the API from its JSON.
pub(crate) fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    read(serde_json::from_value(value))
}

/// An object of the bench, which is right.
pub(crate) fn read<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("an object of this bench is wrong: {error}"))
}

/// The names of the nodes.
pub(crate) fn node(at: usize) -> String {
    format!("node-{at}")
}

/// API objects of the slices of every node. A template is read once; a node's copy is renamed.
pub(crate) fn api_slices(shape: &Shape) -> impl Iterator<Item = api::ResourceSlice> {
    let template: Vec<api::ResourceSlice> = slices("node", shape).into_iter().map(object).collect();
    (0..shape.nodes).flat_map(move |at| {
        let name = node(at);
        let renamed = |slice: &api::ResourceSlice| {
            let mut slice = slice.clone();
            slice.metadata.name = slice
                .metadata
                .name
                .map(|it| it.replace("-node", &format!("-{name}")));
            slice.spec.node_name = Some(name.clone());
            slice.spec.pool.name.clone_from(&name);
            slice
        };
        template.iter().map(renamed).collect::<Vec<_>>()
    })
}

/// The cluster as the oracle takes it.
pub(crate) fn setup(shape: &Shape, gates: &Gates) -> Setup {
    let dialect = World::dialect(gates);
    Setup {
        slices: api_slices(shape)
            .map(|slice| read(Slice::read(&slice)))
            .collect(),
        classes: vec![read(Class::read(&object(class()), dialect))],
        nodes: (0..shape.nodes)
            .map(|at| Node::read(&object(json!({ "metadata": { "name": node(at) } }))))
            .collect(),
        ..Setup::default()
    }
}

/// A claim as the oracle takes it.
pub(crate) fn wanted(value: Value, gates: &Gates) -> Claim {
    read(Claim::read(&object(value), World::dialect(gates)))
}

/// Whether times are as they should be.
#[derive(Default)]
pub(crate) struct Goals {
    missed: bool,
    unknown: Vec<&'static str>,
}

impl Goals {
    pub(crate) fn met(&mut self, met: bool) {
        self.missed |= !met;
    }

    /// A goal that nothing was held against.
    pub(crate) fn unknown(&mut self, which: &'static str) {
        if !self.unknown.contains(&which) {
            self.unknown.push(which);
        }
    }
}

/// The last line of a bench. Goals are said; only wrong answers make it fail.
pub(crate) fn end(goals: &Goals, right: bool) -> ExitCode {
    let met = if goals.missed {
        "not all goals met"
    } else {
        "all goals met"
    };
    if goals.unknown.is_empty() {
        println!("{met}");
    } else {
        println!("{met}, but for {}", goals.unknown.join(", "));
    }
    if right {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Time that this thread has had a processor, so that other programs of the machine do not count; wall time where the kernel
/// does not say.
#[derive(Clone, Copy)]
pub(crate) struct Clock(Option<u64>, std::time::Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Clock(on_processor(), std::time::Instant::now())
    }

    pub(crate) fn elapsed(&self) -> std::time::Duration {
        match (self.0, on_processor()) {
            (Some(then), Some(now)) => std::time::Duration::from_nanos(now - then),
            _ => self.1.elapsed(),
        }
    }
}

fn on_processor() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}
