//! Objects written to a real API server as plain JSON, and what it says to them.

use std::fmt;

use http::{Method, Request};
use kube::Client;
use serde_json::Value;

/// The path of a kind's collection.
pub(crate) fn collection(kind: &str, namespace: &str) -> String {
    let resource = "/apis/resource.k8s.io/v1";
    match kind {
        "Namespace" => "/api/v1/namespaces".to_owned(),
        "Node" => "/api/v1/nodes".to_owned(),
        "Pod" => format!("/api/v1/namespaces/{namespace}/pods"),
        "ServiceAccount" => format!("/api/v1/namespaces/{namespace}/serviceaccounts"),
        "ResourceQuota" => format!("/api/v1/namespaces/{namespace}/resourcequotas"),
        "Event" => format!("/api/v1/namespaces/{namespace}/events"),
        "ResourceClaimTemplate" => {
            format!("{resource}/namespaces/{namespace}/resourceclaimtemplates")
        }
        "ResourceClaim" => format!("{resource}/namespaces/{namespace}/resourceclaims"),
        "DeviceClass" => format!("{resource}/deviceclasses"),
        "DeviceTaintRule" => format!("{resource}/devicetaintrules"),
        _ => format!("{resource}/resourceslices"),
    }
}

/// What the API server has against an object.
#[derive(Clone, Debug)]
pub(crate) struct No {
    pub(crate) code: u16,
    pub(crate) message: String,
    /// Field and message of each cause.
    pub(crate) causes: Vec<(String, String)>,
}

impl fmt::Display for No {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.message)
    }
}

/// One request. The inner error is the server's verdict, the outer one is that there was none.
pub(crate) async fn ask(
    client: &Client,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Result<Value, No>, String> {
    let request = Request::builder()
        .method(method.clone())
        .uri(path)
        .header("Content-Type", "application/json")
        .body(
            body.map(|body| body.to_string().into_bytes())
                .unwrap_or_default(),
        )
        .map_err(|error| error.to_string())?;
    match client.request::<Value>(request).await {
        Ok(mut object) => {
            if let Some(meta) = object["metadata"].as_object_mut() {
                meta.remove("managedFields");
            }
            Ok(Ok(object))
        }
        Err(kube::Error::Api(status)) => {
            let details = status.details.as_ref();
            let causes = details.into_iter().flat_map(|details| &details.causes);
            Ok(Err(No {
                code: status.code,
                causes: causes
                    .map(|cause| (cause.field.clone(), cause.message.clone()))
                    .collect(),
                message: status.message.clone(),
            }))
        }
        Err(error) => Err(format!("{method} {path}: {error}")),
    }
}

/// Creates an object and returns it as it is stored.
pub(crate) async fn create(
    client: &Client,
    kind: &str,
    object: &Value,
) -> Result<Result<Value, No>, String> {
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
    let mut object = object.clone();
    if let Value::Object(map) = &mut object {
        let group = match kind {
            "Namespace" | "Node" | "Pod" | "ServiceAccount" | "ResourceQuota" => "v1",
            _ => "resource.k8s.io/v1",
        };
        map.insert("apiVersion".to_owned(), group.into());
        map.insert("kind".to_owned(), kind.into());
    }
    ask(
        client,
        Method::POST,
        &collection(kind, namespace),
        Some(&object),
    )
    .await
}

/// Creates an object that must be taken.
pub(crate) async fn must_create(
    client: &Client,
    kind: &str,
    object: &Value,
) -> Result<Value, String> {
    create(client, kind, object)
        .await?
        .map_err(|no| format!("create {kind} {}: {no}", object["metadata"]["name"]))
}
