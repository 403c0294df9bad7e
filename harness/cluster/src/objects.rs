//! What an installer of the NVIDIA driver would have applied: device classes and the rights of its identity.
//! Not what the driver publishes (ResourceSlices) nor what scenarios create.
//! Written once per cluster through the admin's client, as the chart of driver 0.4.1 has it.
use kube::{
    Client,
    api::{Api, DynamicObject, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};

use crate::{
    control_plane::KUBELET_CLIENT,
    error::{Error, Result},
};

/// Group of the driver's identities, one user per node.
pub(crate) const DRIVER_GROUP: &str = "nvidia-dra-driver-gpu:kubelet-plugin";

/// Creates what is not there yet.
pub(crate) async fn create(client: &Client) -> Result<()> {
    futures::future::try_join_all(
        wanted()
            .into_iter()
            .map(|object| create_one(client, object)),
    )
    .await
    .map(drop)
}

async fn create_one(client: &Client, object: Value) -> Result<()> {
    let object: DynamicObject = serde_json::from_value(object).map_err(|e| Error::Kube {
        doing: "read one of our own objects".into(),
        source: Box::new(kube::Error::SerdeError(e)),
    })?;
    let (kind, name) = (
        object.types.clone().unwrap_or_default(),
        object.metadata.name.clone().unwrap_or_default(),
    );
    let gvk = GroupVersionKind::try_from(&kind).map_err(|e| Error::Init {
        doing: format!("create {name}"),
        message: e.to_string(),
    })?;
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&gvk));
    match api.create(&PostParams::default(), &object).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        other => other
            .map(drop)
            .map_err(Error::kube(format!("create {} {name}", kind.kind))),
    }
}

fn wanted() -> Vec<Value> {
    let class = |name: &str, kind: &str, extended: Option<&str>| {
        let expression = format!(
            "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == '{kind}'"
        );
        let mut spec = json!({"selectors": [{"cel": {"expression": expression}}]});
        if let Some(extended) = extended {
            spec["extendedResourceName"] = extended.into();
        }
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec})
    };
    let rbac = "rbac.authorization.k8s.io";
    vec![
        class("gpu.nvidia.com", "gpu", Some("nvidia.com/gpu")),
        class("mig.nvidia.com", "mig", None),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole",
            "metadata": {"name": "dra-driver-nvidia-gpu-clusterrole-kubeletplugin"},
            "rules": [
                {"apiGroups": ["resource.nvidia.com"], "resources": ["computedomains"], "verbs": ["get", "list", "watch"]},
                {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["get", "list", "watch"]},
                {"apiGroups": ["resource.k8s.io"], "resources": ["resourceslices"], "verbs": ["get", "list", "watch", "create", "update", "delete"]},
                {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "update"]},
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
                // Every user may read this by `system:discovery`, but the API server makes that role a second after it listens,
                // and the driver ends when it is refused.
                {"nonResourceURLs": ["/version"], "verbs": ["get"]},
            ],
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding",
            "metadata": {"name": "dra-driver-nvidia-gpu-clusterrole-binding-kubeletplugin"},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "dra-driver-nvidia-gpu-clusterrole-kubeletplugin"},
            "subjects": [{"apiGroup": rbac, "kind": "Group", "name": DRIVER_GROUP}],
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding",
            "metadata": {"name": "sliceproof-kubelet-client"},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "system:kubelet-api-admin"},
            "subjects": [{"apiGroup": rbac, "kind": "User", "name": KUBELET_CLIENT}],
        }),
    ]
}
