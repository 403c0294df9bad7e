//! What a pod is to the doctor: where it stands, and whether it uses a GPU.

use k8s_openapi::api::core::v1::Pod;

use crate::vendor;

/// The extended resource that every DeviceClass has begins so.
pub(crate) const IMPLICIT: &str = "deviceclass.resource.kubernetes.io/";

/// `NAMESPACE/NAME`.
pub(crate) fn name(pod: &Pod) -> String {
    let meta = &pod.metadata;
    format!(
        "{}/{}",
        meta.namespace.as_deref().unwrap_or_default(),
        meta.name.as_deref().unwrap_or_default()
    )
}

/// As kubectl takes it: `-n NAMESPACE NAME`.
pub(crate) fn named(pod: &Pod) -> String {
    let meta = &pod.metadata;
    format!(
        "-n {} {}",
        meta.namespace.as_deref().unwrap_or_default(),
        meta.name.as_deref().unwrap_or_default()
    )
}

fn phase(pod: &Pod) -> &str {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    phase.unwrap_or_default()
}

/// It runs or will run.
pub(crate) fn lives(pod: &Pod) -> bool {
    !matches!(phase(pod), "Succeeded" | "Failed") && pod.metadata.deletion_timestamp.is_none()
}

/// It has no node yet.
pub(crate) fn waits(pod: &Pod) -> bool {
    let placed = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    lives(pod) && phase(pod) == "Pending" && placed.is_none()
}

/// Why the scheduler lets it wait, in its words.
pub(crate) fn scheduler_says(pod: &Pod) -> Option<&str> {
    let conditions = pod
        .status
        .iter()
        .flat_map(|status| &status.conditions)
        .flatten();
    conditions
        .into_iter()
        .find(|condition| condition.type_ == "PodScheduled" && condition.status == "False")?
        .message
        .as_deref()
}

/// It claims devices or asks for an extended resource.
pub(crate) fn uses_a_gpu(pod: &Pod) -> bool {
    let Some(spec) = &pod.spec else {
        return false;
    };
    let claims = spec
        .resource_claims
        .as_ref()
        .is_some_and(|claims| !claims.is_empty());
    let containers = spec
        .containers
        .iter()
        .chain(spec.init_containers.iter().flatten());
    let mut asked = containers
        .filter_map(|container| container.resources.as_ref())
        .flat_map(|resources| resources.limits.iter().chain(&resources.requests))
        .flatten()
        .map(|(resource, _)| resource.as_str());
    claims
        || asked.any(|resource| {
            vendor::of_resource(resource).is_some() || resource.starts_with(IMPLICIT)
        })
}
