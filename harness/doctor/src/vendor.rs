//! Whose GPUs: a DRA driver's name and an extended resource's name both begin with their owner's domain.

use k8s_openapi::api::core::v1::Node;

/// Labels by which feature discovery says that a GPU is there, and the domain of its vendor.
/// The numbers are PCI vendor ids.
const LABELS: [(&str, &str); 4] = [
    ("nvidia.com/gpu.present", "nvidia.com"),
    ("feature.node.kubernetes.io/pci-10de.present", "nvidia.com"),
    ("feature.node.kubernetes.io/pci-1002.present", "amd.com"),
    ("feature.node.kubernetes.io/pci-8086.present", "intel.com"),
];

/// The domain of a driver's owner: `nvidia.com` of `gpu.nvidia.com`.
pub(crate) fn of_driver(driver: &str) -> &str {
    let mut dots = driver.rmatch_indices('.').map(|(at, _)| at + 1);
    dots.nth(1).map_or(driver, |from| &driver[from..])
}

/// The domain of an extended resource's owner: `nvidia.com` of `nvidia.com/gpu`; none for what Kubernetes itself counts.
pub(crate) fn of_resource(resource: &str) -> Option<&str> {
    let (domain, _) = resource.split_once('/')?;
    let own = domain == "kubernetes.io" || domain.ends_with(".kubernetes.io");
    (!own).then(|| of_driver(domain))
}

/// Extended resources that a node offers, as (resource, quantity), without those of which it has none.
pub(crate) fn offered(node: &Node) -> impl Iterator<Item = (&str, &str)> {
    let allocatable = node.status.iter().flat_map(|status| &status.allocatable);
    allocatable
        .flatten()
        .filter(|(name, quantity)| of_resource(name).is_some() && quantity.0 != "0")
        .map(|(name, quantity)| (name.as_str(), quantity.0.as_str()))
}

/// Vendors whose GPUs a node is labelled to have, with the label.
pub(crate) fn labelled(node: &Node) -> impl Iterator<Item = (&'static str, &'static str)> {
    let labels = node.metadata.labels.as_ref();
    LABELS
        .into_iter()
        .filter(move |(label, _)| {
            labels.is_some_and(|labels| labels.get(*label).is_some_and(|value| value == "true"))
        })
        .map(|(label, vendor)| (vendor, label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_the_last_two_labels_of_a_domain() {
        assert_eq!(of_driver("gpu.nvidia.com"), "nvidia.com");
        assert_eq!(of_driver("nvidia.com"), "nvidia.com");
        assert_eq!(of_driver("local"), "local");
        assert_eq!(of_resource("nvidia.com/mig-1g.5gb"), Some("nvidia.com"));
        assert_eq!(of_resource("gpu.intel.com/i915"), Some("intel.com"));
        assert_eq!(of_resource("cpu"), None);
        assert_eq!(of_resource("deviceclass.resource.kubernetes.io/gpu"), None);
    }
}
