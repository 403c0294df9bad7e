//! What is kept of a failure, taken before anything is torn down.

use std::path::Path;

use k8s_openapi::api::core::v1::{Event, Node, Pod};
use k8s_openapi::api::resource::v1::{
    DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice,
};
use kube::api::{Api, ListParams, LogParams};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::testbed::Testbed;

/// Writes all that can be had into `folder`. What cannot be had leaves a note in its place: evidence never fails a run.
pub(crate) async fn gather(testbed: &dyn Testbed, namespace: &str, folder: &Path) -> Vec<String> {
    if std::fs::create_dir_all(folder).is_err() {
        return Vec::new();
    }
    let client = testbed.client();
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let events: Api<Event> = Api::namespaced(client.clone(), namespace);
    objects(folder, "pods.yaml", &pods).await;
    objects(
        folder,
        "resourceclaims.yaml",
        &Api::<ResourceClaim>::all(client.clone()),
    )
    .await;
    objects(
        folder,
        "resourceclaimtemplates.yaml",
        &Api::<ResourceClaimTemplate>::namespaced(client.clone(), namespace),
    )
    .await;
    objects(
        folder,
        "resourceslices.yaml",
        &Api::<ResourceSlice>::all(client.clone()),
    )
    .await;
    objects(
        folder,
        "deviceclasses.yaml",
        &Api::<DeviceClass>::all(client.clone()),
    )
    .await;
    objects(folder, "nodes.yaml", &Api::<Node>::all(client)).await;
    write(folder, "events.txt", &event_lines(&events).await);
    match testbed.cards().await {
        Ok(cards) => write(
            folder,
            "nvml.json",
            &(serde_json::to_string_pretty(&cards).unwrap_or_default() + "\n"),
        ),
        Err(error) => write(folder, "nvml.json", &format!("could not be had: {error}\n")),
    }
    pod_logs(folder, &pods).await;
    if let Err(error) = testbed.evidence(&folder.join("components")).await {
        write(
            folder,
            "components.txt",
            &format!("could not be had: {error}\n"),
        );
    }
    let mut files = Vec::new();
    list(folder, folder, &mut files);
    files.sort();
    files
}

async fn objects<K>(folder: &Path, name: &str, api: &Api<K>)
where
    K: Clone + DeserializeOwned + Serialize + std::fmt::Debug,
{
    let text = match api.list(&ListParams::default()).await {
        Ok(list) => list
            .items
            .iter()
            .map(|item| {
                let mut value = serde_json::to_value(item).unwrap_or_default();
                if let Some(metadata) = value
                    .get_mut("metadata")
                    .and_then(|metadata| metadata.as_object_mut())
                {
                    metadata.remove("managedFields");
                }
                serde_yaml_ng::to_string(&value).unwrap_or_default()
            })
            .collect::<Vec<_>>()
            .join("---\n"),
        Err(error) => format!("# could not be had: {error}\n"),
    };
    write(folder, name, &text);
}

async fn event_lines(events: &Api<Event>) -> String {
    match events.list(&ListParams::default()).await {
        Ok(list) => list
            .items
            .iter()
            .map(|event| {
                format!(
                    "{} {} {} {}/{}: {}\n",
                    event
                        .last_timestamp
                        .as_ref()
                        .map(|time| time.0.to_string())
                        .unwrap_or_else(|| "-".to_owned()),
                    event.type_.as_deref().unwrap_or("-"),
                    event.reason.as_deref().unwrap_or("-"),
                    event.involved_object.kind.as_deref().unwrap_or("-"),
                    event.involved_object.name.as_deref().unwrap_or("-"),
                    event.message.as_deref().unwrap_or("-"),
                )
            })
            .collect(),
        Err(error) => format!("could not be had: {error}\n"),
    }
}

async fn pod_logs(folder: &Path, pods: &Api<Pod>) {
    let Ok(list) = pods.list(&ListParams::default()).await else {
        return;
    };
    for pod in list.items {
        let Some(name) = pod.metadata.name else {
            continue;
        };
        let params = LogParams {
            tail_lines: Some(500),
            ..LogParams::default()
        };
        if let Ok(text) = pods.logs(&name, &params).await
            && !text.is_empty()
        {
            write(folder, &format!("{name}.log"), &text);
        }
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    // A full disk must not hide the failure that the evidence is about.
    if let Err(error) = std::fs::write(folder.join(name), text) {
        tracing::warn!(name, %error, "evidence could not be written");
    }
}

fn list(root: &Path, folder: &Path, files: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            list(root, &path, files);
        } else if let Ok(name) = path.strip_prefix(root) {
            files.push(name.display().to_string());
        }
    }
}
