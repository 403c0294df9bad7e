//! Each node with GPUs has one who hands them out: a DRA driver or a device plugin, never both unawares.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Node;

use oracle::counted;

use crate::finding::{Check, Examined, Found, few};
use crate::seen::Seen;
use crate::vendor;

pub(crate) fn examine(seen: &Seen) -> Examined {
    let (nodes, slices) = (&seen.listed.nodes, &seen.listed.slices);
    let mut found = Found::default();
    let mut drivers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for slice in slices {
        if let Some(node) = &slice.spec.node_name {
            drivers.entry(node).or_default().insert(&slice.spec.driver);
        }
    }
    let (mut with_driver, mut with_plugin) = (0, 0);
    for node in nodes {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        let about = format!("node {name}");
        let here = drivers.remove(name).unwrap_or_default();
        let offered: Vec<(&str, &str)> = vendor::offered(node).collect();
        with_driver += usize::from(!here.is_empty());
        with_plugin += usize::from(!offered.is_empty());
        for driver in &here {
            let twice: Vec<&str> = offered
                .iter()
                .filter(|(resource, _)| {
                    vendor::of_resource(resource) == Some(vendor::of_driver(driver))
                })
                .map(|(resource, _)| *resource)
                .collect();
            if !twice.is_empty() {
                found.problem(
                    &about,
                    format!(
                        "the DRA driver {driver} publishes its devices and a device plugin offers {}: neither knows what the other hands out, so one card can go to two pods",
                        few(twice)
                    ),
                    "keep one of them off the node (nodeSelector or affinity of its DaemonSet); pods that ask for the resource are served by DRA when a DeviceClass has it as extendedResourceName",
                );
            }
        }
        for (owner, label) in vendor::labelled(node) {
            let served = here.iter().any(|driver| vendor::of_driver(driver) == owner)
                || offered
                    .iter()
                    .any(|(resource, _)| vendor::of_resource(resource) == Some(owner));
            if !served {
                found.problem(
                    &about,
                    format!(
                        "the label {label} says that it has a GPU of {owner}, yet neither a DRA driver nor a device plugin offers one"
                    ),
                    "look at the driver's pods on this node: the DaemonSet must select the node, tolerate its taints, and find the vendor's driver installed",
                );
            }
        }
        if !here.is_empty() && !ready(node) {
            found.warning(
                &about,
                "it publishes devices and is not Ready: claims wait for it or land nowhere",
                "mend the node, or drain it and delete it so that its slices go",
            );
        }
    }
    for (node, drivers) in drivers {
        found.problem(
            format!("node {node}"),
            format!(
                "there is no such node, yet there are slices of it by {}",
                few(drivers)
            ),
            format!(
                "delete them: kubectl delete resourceslices --field-selector spec.nodeName={node}"
            ),
        );
    }
    Examined::new(
        Check::Nodes,
        format!(
            "{}: {with_driver} with a DRA driver, {with_plugin} with a device plugin",
            counted(nodes.len(), "node")
        ),
        found.0,
    )
}

fn ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| &status.conditions);
    conditions
        .flatten()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}
