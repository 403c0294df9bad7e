//! An API server of a script: lists and watches of objects that a test puts there, with a history that it can forget.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use http::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

#[derive(Default)]
struct State {
    version: u64,
    /// By path of the collection and UID.
    objects: BTreeMap<(String, String), Value>,
    /// Version, collection, and the event.
    history: Vec<(u64, String, Value)>,
    forgotten: u64,
    away: bool,
}

/// The server.
#[derive(Clone, Default)]
pub(crate) struct Api(Arc<Mutex<State>>);

const CLAIMS: &str = "/apis/resource.k8s.io/v1/resourceclaims";
const SLICES: &str = "/apis/resource.k8s.io/v1/resourceslices";
const COLLECTIONS: [&str; 5] = [
    CLAIMS,
    SLICES,
    "/apis/resource.k8s.io/v1/devicetaintrules",
    "/api/v1/pods",
    "/api/v1/nodes",
];

impl Api {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().expect("no panic")
    }

    fn put(&self, collection: &str, uid: &str, mut object: Value) {
        let mut state = self.state();
        state.version += 1;
        let version = state.version;
        object["metadata"]["uid"] = uid.into();
        object["metadata"]["name"] = uid.into();
        object["metadata"]["resourceVersion"] = version.to_string().into();
        let key = (collection.to_owned(), uid.to_owned());
        let kind = if state.objects.contains_key(&key) {
            "MODIFIED"
        } else {
            "ADDED"
        };
        state.history.push((
            version,
            collection.to_owned(),
            json!({ "type": kind, "object": object }),
        ));
        state.objects.insert(key, object);
    }

    /// Objects are gone.
    pub(crate) fn remove(&self, uid: &str) {
        let mut state = self.state();
        let key = state
            .objects
            .keys()
            .find(|key| key.1 == uid)
            .cloned()
            .expect("it is there");
        let mut object = state.objects.remove(&key).expect("it is there");
        state.version += 1;
        let version = state.version;
        object["metadata"]["resourceVersion"] = version.to_string().into();
        state.history.push((
            version,
            key.0,
            json!({ "type": "DELETED", "object": object }),
        ));
    }

    /// A claim holds a device since a second, as the scheduler wrote.
    pub(crate) fn claim(&self, uid: &str, device: &str, at: i64) {
        let at = super::fixture::second(at).to_string();
        let wrote = json!([{ "manager": "kube-scheduler", "operation": "Update", "subresource": "status", "time": at, "fieldsType": "FieldsV1",
            "fieldsV1": { "f:status": { "f:allocation": {} } } }]);
        self.put(CLAIMS, uid, json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": { "namespace": "team", "creationTimestamp": at, "managedFields": wrote },
            "spec": {},
            "status": { "allocation": { "devices": { "results": [{ "request": "gpu", "driver": super::fixture::DRIVER, "pool": "n", "device": device }] } } },
        }));
    }

    /// A node's pool of whole cards is published since a second.
    pub(crate) fn pool(&self, cards: usize, at: i64) {
        let devices: Vec<Value> = (0..cards)
            .map(|card| json!({ "name": format!("gpu-{card}"), "attributes": { "type": { "string": "gpu" }, "uuid": { "string": format!("GPU-{card}") } } }))
            .collect();
        self.put(SLICES, "slice", json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
            "metadata": { "creationTimestamp": super::fixture::second(at).to_string() },
            "spec": { "driver": super::fixture::DRIVER, "nodeName": "n", "pool": { "name": "n", "generation": 1, "resourceSliceCount": 1 }, "devices": devices },
        }));
    }

    /// Everything before now is forgotten: a watch from there expires.
    pub(crate) fn forget(&self) {
        let mut state = self.state();
        state.forgotten = state.version;
        state.history.clear();
    }

    pub(crate) fn away(&self, away: bool) {
        self.state().away = away;
    }

    pub(crate) fn client(&self) -> Client {
        let api = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let api = api.clone();
            let uri = request.uri().clone();
            async move { Ok::<_, std::io::Error>(api.when_there_is_an_answer(&uri).await) }
        });
        Client::new(service, "default")
    }

    /// A watch is answered when there is something to tell, as a server holds it open.
    async fn when_there_is_an_answer(&self, uri: &http::Uri) -> Response<Body> {
        let is_watch = uri
            .query()
            .is_some_and(|query| query.contains("watch=true"));
        loop {
            let answer = self.answer(uri);
            let empty = answer.headers().contains_key("empty");
            if !is_watch || !empty {
                return answer;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }

    fn answer(&self, uri: &http::Uri) -> Response<Body> {
        let state = self.state();
        let path = uri.path();
        let query = uri.query().unwrap_or_default();
        let parameter = |name: &str| {
            query
                .split('&')
                .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
        };
        let refuse = |code: u16, reason: &str| {
            let body = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": reason, "reason": reason, "code": code });
            say(code, body.to_string())
        };
        if state.away {
            return refuse(503, "the server is away");
        }
        if path == "/api/v1/namespaces/kube-system" {
            return say(
                200,
                json!({ "metadata": { "name": "kube-system", "uid": "cluster" } }).to_string(),
            );
        }
        if !COLLECTIONS.contains(&path) {
            return refuse(404, "NotFound");
        }
        if parameter("watch") == Some("true") {
            let from: u64 = parameter("resourceVersion")
                .and_then(|it| it.parse().ok())
                .unwrap_or(0);
            if from < state.forgotten {
                return refuse(410, "Expired");
            }
            let events = state
                .history
                .iter()
                .filter(|(version, collection, _)| *version > from && collection == path);
            let lines: String = events.map(|(_, _, event)| format!("{event}\n")).collect();
            let empty = lines.is_empty();
            let mut answer = say(200, lines);
            if empty {
                answer
                    .headers_mut()
                    .insert("empty", http::HeaderValue::from_static("true"));
            }
            return answer;
        }
        let items: Vec<&Value> = state
            .objects
            .iter()
            .filter(|(key, _)| key.0 == path)
            .map(|(_, object)| object)
            .collect();
        let list = json!({ "kind": "List", "apiVersion": "v1", "metadata": { "resourceVersion": state.version.to_string() }, "items": items });
        say(200, list.to_string())
    }
}

fn say(code: u16, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body.into_bytes()));
    *response.status_mut() = StatusCode::from_u16(code).expect("a code");
    response
}
