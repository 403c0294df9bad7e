//! A cluster and claims from one YAML text, and the verdict as short lines that tests compare.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    dead_code,
    reason = "tests stop at the first surprise"
)]

use k8s_openapi::api::core::v1::Node as ApiNode;
use k8s_openapi::api::resource::v1 as api;
use oracle::objects::{Claim, Listed};
use oracle::{Answer, Gates, How, Setup, Variant, Verdict, World};

/// What a case file holds.
#[derive(serde::Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) slices: Vec<api::ResourceSlice>,
    pub(crate) classes: Vec<api::DeviceClass>,
    pub(crate) claims: Vec<api::ResourceClaim>,
    pub(crate) rules: Vec<api::DeviceTaintRule>,
    pub(crate) node: ApiNode,
    pub(crate) wanted: Vec<api::ResourceClaim>,
}

impl Case {
    /// Reads a case. `node` is `n1` and the class `any` admits everything, unless the text says otherwise.
    pub(crate) fn new(text: &str) -> Self {
        let mut case: Case =
            serde_yaml_ng::from_str(text).expect("a case is YAML of the API's objects");
        if case.node.metadata.name.is_none() {
            case.node.metadata.name = Some("n1".to_owned());
        }
        if case.classes.is_empty() {
            case.classes =
                vec![serde_yaml_ng::from_str("{metadata: {name: any}, spec: {}}").unwrap()];
        }
        case
    }

    pub(crate) fn world(&self, gates: &Gates, variant: Option<Variant>) -> World {
        let listed = Listed {
            slices: self.slices.clone(),
            classes: self.classes.clone(),
            claims: self.claims.clone(),
            nodes: vec![self.node.clone()],
            rules: self.rules.clone(),
        };
        let (setup, mistakes) = Setup::read(&listed, gates);
        assert_eq!(mistakes, [], "the case is right");
        World::new(setup, gates.clone(), variant)
    }

    pub(crate) fn wanted(&self, gates: &Gates) -> Vec<Claim> {
        self.wanted
            .iter()
            .map(|c| Claim::read(c, World::dialect(gates)).unwrap())
            .collect()
    }

    pub(crate) fn verdict(&self, gates: &Gates) -> Verdict {
        let world = self.world(gates, None);
        let wanted = self.wanted(gates);
        let wanted: Vec<&Claim> = wanted.iter().collect();
        oracle::allocate_on(&world, &wanted, &world.nodes()[0], How::default())
    }

    /// The answer in one line: `a=d/p/x b=d/p/y`, or the refusal.
    pub(crate) fn line(&self, gates: &Gates) -> String {
        line(&self.verdict(gates).answer)
    }
}

pub(crate) fn line(answer: &Answer) -> String {
    match answer {
        Answer::Allocated(allocations) => {
            let devices = allocations
                .iter()
                .flat_map(|allocation| &allocation.devices);
            let texts = devices.map(|given| {
                let consumed: Vec<String> = given
                    .consumed
                    .iter()
                    .map(|(name, amount)| format!("{name}:{amount}"))
                    .collect();
                let share = if given.share {
                    format!("[{}]", consumed.join(","))
                } else {
                    String::new()
                };
                format!(
                    "{}={}/{}{share}",
                    given.request, given.device.pool, given.device.device
                )
            });
            texts.collect::<Vec<_>>().join(" ")
        }
        Answer::Refused(refused) => format!("refused: {refused}"),
        Answer::Failed(failure) => format!("failed: {failure}"),
        Answer::GaveUp { steps } => format!("gave up after {steps} steps"),
    }
}

/// Why a device was not taken, by its name.
pub(crate) fn reason(verdict: &Verdict, device: &str) -> String {
    let look = verdict
        .looks
        .iter()
        .find(|look| &*look.device.device == device)
        .expect("the device was looked at");
    look.refusal
        .as_ref()
        .map_or_else(|| "taken".to_owned(), ToString::to_string)
}

/// A slice on n1: `slice("s1", "p", 1, "devices: ...")`.
pub(crate) fn slice(name: &str, pool: &str, count: i64, rest: &str) -> String {
    format!(
        "- {{metadata: {{name: {name}}}, spec: {{driver: d.example.com, nodeName: n1, \
         pool: {{name: {pool}, generation: 1, resourceSliceCount: {count}}}, {rest}}}}}\n"
    )
}

/// A claim with these requests and constraints.
pub(crate) fn claim(name: &str, requests: &str, rest: &str) -> String {
    let rest = if rest.is_empty() {
        String::new()
    } else {
        format!(", {rest}")
    };
    format!(
        "- {{metadata: {{name: {name}, namespace: ns}}, spec: {{devices: {{requests: [{requests}]{rest}}}}}}}\n"
    )
}

/// A claim that holds devices of driver d.example.com: `held("c", "{request: r, pool: p, device: a}")`.
pub(crate) fn held(name: &str, results: &str) -> String {
    let results = results.replace("{request", "{driver: d.example.com, request");
    format!(
        "- {{metadata: {{name: {name}, namespace: ns}}, spec: {{}}, status: {{allocation: {{devices: {{results: [{results}]}}}}}}}}\n"
    )
}
