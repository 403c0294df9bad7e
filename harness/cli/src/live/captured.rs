//! A cluster from a file of API objects, for tests.

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::resource::v1 as api;
use oracle::objects::Listed;
use oracle::{Gates, Version};

use super::{GatesFrom, Server};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    slices: Vec<api::ResourceSlice>,
    classes: Vec<api::DeviceClass>,
    claims: Vec<api::ResourceClaim>,
    nodes: Vec<Node>,
    rules: Vec<api::DeviceTaintRule>,
    pods: Vec<Pod>,
}

/// Objects of a cluster of 1.37 with one A100 of 40 GB: what the real driver, scheduler and controllers wrote, without
/// what nobody asks for here, and without a second card.
pub(crate) fn a100() -> (Listed, Vec<Pod>) {
    let text = include_str!("../../tests/objects/a100.json");
    let file: File = serde_json::from_str(text).expect("API objects");
    let listed = Listed {
        slices: file.slices,
        classes: file.classes,
        claims: file.claims,
        nodes: file.nodes,
        rules: file.rules,
    };
    (listed, file.pods)
}

/// An API server of 1.37 that says its gates.
pub(crate) fn server() -> Server {
    Server {
        version: "v1.37.2".to_owned(),
        gates: Gates::default_of(Version::V1_37),
        gates_from: GatesFrom::Metrics,
    }
}
