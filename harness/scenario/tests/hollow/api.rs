//! The API server: create, get, list, delete, on JSON.

use std::sync::{Arc, Mutex, PoisonError};

use http::{Method, Request, Response, StatusCode};
use kube::client::Body;
use serde_json::{Value, json};

use super::State;

pub(super) async fn answer(
    state: Arc<Mutex<State>>,
    request: Request<Body>,
) -> Result<Response<Body>, kube::Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect_bytes().await?;
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let (code, value) = state.handle(&parts.method, parts.uri.path(), body);
    let bytes = serde_json::to_vec(&value).expect("JSON");
    Ok(Response::builder()
        .status(code)
        .body(Body::from(bytes))
        .expect("a response"))
}

impl State {
    fn handle(&mut self, method: &Method, path: &str, body: Value) -> (StatusCode, Value) {
        let rest = path
            .strip_prefix("/api/v1/")
            .or_else(|| path.strip_prefix("/apis/resource.k8s.io/v1/"))
            .expect("a known group");
        let parts: Vec<&str> = rest.split('/').collect();
        let (namespace, plural, name) = match parts.as_slice() {
            ["namespaces"] => ("", "namespaces", None),
            ["namespaces", name] => ("", "namespaces", Some(*name)),
            ["namespaces", namespace, plural] => (*namespace, *plural, None),
            ["namespaces", namespace, plural, name] => (*namespace, *plural, Some(*name)),
            [plural] => ("", *plural, None),
            _ => return status(StatusCode::NOT_FOUND, rest),
        };
        match (method.as_str(), name) {
            ("GET", None) => (StatusCode::OK, self.list(namespace, plural)),
            ("POST", None) => self.create(namespace, plural, body),
            ("DELETE", Some(name)) => self.delete(namespace, plural, name),
            _ => status(StatusCode::NOT_FOUND, rest),
        }
    }

    fn list(&self, namespace: &str, plural: &str) -> Value {
        let items: Vec<&Value> = self
            .objects
            .iter()
            .filter(|((kind, ns, _), _)| {
                kind == plural && (namespace.is_empty() || ns == namespace)
            })
            .map(|(_, value)| value)
            .collect();
        json!({ "kind": "List", "apiVersion": "v1", "metadata": { "resourceVersion": self.serial.to_string() }, "items": items })
    }

    fn create(&mut self, namespace: &str, plural: &str, mut body: Value) -> (StatusCode, Value) {
        let name = body["metadata"]["name"]
            .as_str()
            .expect("a name")
            .to_owned();
        let key = (plural.to_owned(), namespace.to_owned(), name.clone());
        if self.objects.contains_key(&key) {
            return status(StatusCode::CONFLICT, &name);
        }
        self.serial += 1;
        body["metadata"]["uid"] = json!(format!("uid-{}", self.serial));
        if !namespace.is_empty() {
            body["metadata"]["namespace"] = json!(namespace);
        }
        self.objects.insert(key, body.clone());
        if plural == "pods" {
            self.order.push((namespace.to_owned(), name));
            self.schedule(true);
        }
        (StatusCode::CREATED, body)
    }

    fn delete(&mut self, namespace: &str, plural: &str, name: &str) -> (StatusCode, Value) {
        let key = (plural.to_owned(), namespace.to_owned(), name.to_owned());
        if self.objects.remove(&key).is_none() {
            return status(StatusCode::NOT_FOUND, name);
        }
        if plural == "pods" {
            self.order
                .retain(|it| *it != (namespace.to_owned(), name.to_owned()));
            self.release(namespace, name);
            self.schedule(false);
        }
        if plural == "namespaces" {
            self.objects.retain(|(_, ns, _), _| ns != name);
        }
        (
            StatusCode::OK,
            json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success" }),
        )
    }
}

fn status(code: StatusCode, what: &str) -> (StatusCode, Value) {
    let reason = if code == StatusCode::CONFLICT {
        "AlreadyExists"
    } else {
        "NotFound"
    };
    (
        code,
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": reason,
                "message": format!("{what}: {reason}"), "code": code.as_u16() }),
    )
}
