//! What was read of the cluster, and what could not be.

use k8s_openapi::api::core::v1::{Pod, ResourceQuota};
use oracle::Gates;
use oracle::objects::Listed;
use serde_json::Value;

/// Objects, or why they could not be read.
pub type Readable<T> = Result<T, String>;

/// A cluster as it was seen.
#[derive(Debug)]
pub struct Seen {
    /// What the API server says of itself: `v1.37.2`.
    pub server: String,
    /// The gates that are on, and the version.
    pub gates: Gates,
    /// Where the gates are from: `gates as the API server's metrics say`.
    pub gates_from: String,
    /// Whether `resource.k8s.io/v1` is served; if not, nothing of it is in `listed`.
    pub served: bool,
    /// Slices, classes, claims, nodes and rules.
    pub listed: Listed,
    /// Pods of all namespaces.
    pub pods: Readable<Vec<Pod>>,
    /// ResourceQuotas of all namespaces.
    pub quotas: Readable<Vec<ResourceQuota>>,
    /// Objects of Cluster API, of a management cluster or from files; empty: there is no Cluster API here.
    pub machines: Readable<Vec<Value>>,
}
