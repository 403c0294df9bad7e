//! Nodes with GPUs are for pods that use them: a taint keeps the others away, and a toleration lets the right ones in.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Node, Pod, Taint, Toleration};

use oracle::counted;

use crate::finding::{Check, Examined, Found, few};
use crate::pods;
use crate::seen::Seen;
use crate::vendor;

pub(crate) fn examine(seen: &Seen) -> Examined {
    let (nodes, slices) = (&seen.listed.nodes, &seen.listed.slices);
    let all = match &seen.pods {
        Ok(all) => all,
        Err(why) => return Examined::left_out(Check::Access, why),
    };
    let mut found = Found::default();
    let local: BTreeSet<&str> = slices
        .iter()
        .filter_map(|slice| slice.spec.node_name.as_deref())
        .collect();
    let gpu_nodes: Vec<&Node> = nodes
        .iter()
        .filter(|node| local.contains(name(node)) || vendor::offered(node).next().is_some())
        .collect();
    let everywhere = gpu_nodes.len() == nodes.len();
    for node in &gpu_nodes {
        let about = format!("node {}", name(node));
        let taints: Vec<&Taint> = repelling(node).collect();
        let ordinary: Vec<&Pod> = all
            .iter()
            .filter(|pod| {
                on(pod, node)
                    && pods::lives(pod)
                    && !is_the_nodes_own(pod)
                    && !pods::uses_a_gpu(pod)
            })
            .collect();
        if taints.is_empty() && !everywhere {
            let already = match ordinary.len() {
                0 => "any pod can take its processors and memory".to_owned(),
                _ => format!(
                    "pods without a GPU land on it: {}",
                    few(ordinary.iter().map(|pod| pods::name(pod)))
                ),
            };
            found.warning(
                &about,
                format!("it has GPUs and no taint: {already}"),
                format!(
                    "kubectl taint node {} nvidia.com/gpu=present:NoSchedule, and a toleration for it in the pods that use GPUs",
                    name(node)
                ),
            );
        }
        for pod in &ordinary {
            if let Some(taint) = taints.iter().find(|taint| !tolerates(pod, taint)) {
                found.problem(
                    &about,
                    format!(
                        "the pod {} runs on it without a GPU and does not tolerate its taint {}: it was there before the taint, or it was put there by hand",
                        pods::name(pod),
                        shown(taint)
                    ),
                    format!("kubectl delete pod {}", pods::named(pod)),
                );
            } else if !taints.is_empty() {
                found.warning(
                    &about,
                    format!(
                        "the pod {} tolerates its taint {} and uses no GPU",
                        pods::name(pod),
                        taints.first().map_or_else(String::new, |taint| shown(taint))
                    ),
                    "take the toleration out of its template, or away from all that should not run there",
                );
            }
        }
    }
    // A pod that wants a GPU and is let in nowhere.
    for pod in all
        .iter()
        .filter(|pod| pods::waits(pod) && pods::uses_a_gpu(pod))
    {
        let kept_out = |node: &&&Node| repelling(node).any(|taint| !tolerates(pod, taint));
        let first = gpu_nodes.iter().find(kept_out);
        if let Some(node) = first
            && gpu_nodes.iter().all(|node| kept_out(&node))
        {
            let taint = repelling(node).find(|taint| !tolerates(pod, taint));
            found.problem(
                format!("pod {}", pods::name(pod)),
                format!(
                    "it wants a GPU and tolerates the taints of no node that has one, as {} of {}",
                    taint.map_or_else(String::new, shown),
                    name(node)
                ),
                "add the toleration to the pod's template",
            );
        }
    }
    Examined::new(
        Check::Access,
        format!(
            "{} with GPUs, {}",
            counted(gpu_nodes.len(), "node"),
            counted(all.len(), "pod")
        ),
        found.0,
    )
}

fn name(node: &Node) -> &str {
    node.metadata.name.as_deref().unwrap_or_default()
}

/// Taints that keep pods away.
fn repelling(node: &Node) -> impl Iterator<Item = &Taint> {
    let taints = node.spec.iter().flat_map(|spec| &spec.taints).flatten();
    // Those of node.kubernetes.io come and go with the node's condition.
    taints.filter(|taint| {
        taint.effect != "PreferNoSchedule" && !taint.key.starts_with("node.kubernetes.io/")
    })
}

fn on(pod: &Pod, node: &Node) -> bool {
    pod.spec
        .as_ref()
        .is_some_and(|spec| spec.node_name.as_deref() == Some(name(node)))
}

/// Pods of DaemonSets and static pods belong to the node.
fn is_the_nodes_own(pod: &Pod) -> bool {
    let mut owners = pod.metadata.owner_references.iter().flatten();
    owners.any(|owner| matches!(owner.kind.as_str(), "DaemonSet" | "Node"))
}

fn tolerates(pod: &Pod, taint: &Taint) -> bool {
    let tolerations = pod.spec.iter().flat_map(|spec| &spec.tolerations).flatten();
    tolerations
        .into_iter()
        .any(|toleration| covers(toleration, taint))
}

/// The rule of core/v1: an empty key with Exists covers every taint, an empty effect every effect.
fn covers(toleration: &Toleration, taint: &Taint) -> bool {
    let exists = toleration.operator.as_deref() == Some("Exists");
    let key = toleration.key.as_deref().unwrap_or_default();
    let effect = toleration.effect.as_deref().unwrap_or_default();
    let of_key = (key.is_empty() && exists) || key == taint.key;
    let of_value = exists
        || toleration.value.as_deref().unwrap_or_default()
            == taint.value.as_deref().unwrap_or_default();
    of_key && of_value && (effect.is_empty() || effect == taint.effect)
}

fn shown(taint: &Taint) -> String {
    match taint.value.as_deref() {
        None | Some("") => format!("{}:{}", taint.key, taint.effect),
        Some(value) => format!("{}={value}:{}", taint.key, taint.effect),
    }
}
