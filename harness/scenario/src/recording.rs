//! Every change of a cluster's objects as it came in, for whoever has to know what was true when: a scenario that asserts at
//! each change, a bill. Not a judgement of any of them.
//! Data comes from watches that are taken up where they ended, and goes out as a file with one line of JSON for each change.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::TryStreamExt;
use jiff::Timestamp;
use kube::api::{Api, ApiResource, DynamicObject, WatchEvent, WatchParams};
use kube::core::GroupVersionKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// After a watch has ended.
const AGAIN: Duration = Duration::from_millis(100);

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Became {
    /// It is there: it came, or somebody looks for the first time.
    Added,
    /// It is another than before.
    Modified,
    /// It is gone; the object is what it was at its end.
    Deleted,
}

/// One change, as the API server told it: the words of a watch, and when it was received.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Change {
    /// When it was received, UTC.
    pub(crate) at: Timestamp,
    /// What became of it.
    #[serde(rename = "type")]
    pub(crate) became: Became,
    /// The whole object, less who manages which field of it.
    pub(crate) object: Value,
}

impl Change {
    /// Where the change stands among all changes of the cluster: etcd counts them, and each object carries the number of its last.
    pub(crate) fn version(&self) -> u64 {
        let version = self.object["metadata"]["resourceVersion"].as_str();
        version.and_then(|it| it.parse().ok()).unwrap_or(0)
    }

    pub(crate) fn kind(&self) -> &str {
        self.object["kind"].as_str().unwrap_or_default()
    }
}

/// A kind of objects to watch, in one namespace or in all.
#[derive(Debug, Clone)]
pub(crate) struct Watched<'a> {
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) namespace: Option<&'a str>,
}

#[derive(Debug, Default)]
struct Seen {
    changes: Vec<Change>,
    /// What was missed, where the API server could not tell all.
    missed: Vec<String>,
}

/// A recording that goes on.
#[derive(Debug)]
pub(crate) struct Recording {
    seen: Arc<Mutex<Seen>>,
    watches: Vec<tokio::task::JoinHandle<()>>,
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.watches.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

impl Recording {
    /// Begins to record.
    pub(crate) fn open(client: &kube::Client, kinds: &[Watched<'_>]) -> Self {
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let watches = kinds
            .iter()
            .map(|it| {
                let gvk = GroupVersionKind::gvk(it.group, it.version, it.kind);
                let resource = ApiResource::from_gvk(&gvk);
                let api: Api<DynamicObject> = match it.namespace {
                    Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
                    None => Api::all_with(client.clone(), &resource),
                };
                tokio::spawn(follow(api, resource, Arc::clone(&seen)))
            })
            .collect();
        Self { seen, watches }
    }

    /// How many changes have come.
    pub(crate) fn len(&self) -> usize {
        lock(&self.seen).changes.len()
    }

    /// All changes until now, in the order in which etcd took them.
    ///
    /// # Errors
    /// What was missed.
    pub(crate) fn changes(&self) -> Result<Vec<Change>, String> {
        let seen = lock(&self.seen);
        if let Some(missed) = seen.missed.first() {
            return Err(missed.clone());
        }
        let mut changes = seen.changes.clone();
        changes.sort_by_key(Change::version);
        Ok(changes)
    }
}

/// A line for each change.
pub(crate) fn write(changes: &[Change], file: &Path) -> std::io::Result<()> {
    let mut text = String::new();
    for change in changes {
        text.push_str(&serde_json::to_string(change)?);
        text.push('\n');
    }
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(file, text)
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Follows all objects of a kind until it is aborted, each watch from where the one before ended.
async fn follow(api: Api<DynamicObject>, resource: ApiResource, seen: Arc<Mutex<Seen>>) {
    let mut from = "0".to_owned();
    loop {
        if let Ok(events) = api.watch(&WatchParams::default(), &from).await {
            let mut events = std::pin::pin!(events);
            while let Ok(Some(event)) = events.try_next().await {
                let at = Timestamp::now();
                let (became, object) = match event {
                    WatchEvent::Added(it) => (Became::Added, it),
                    WatchEvent::Modified(it) => (Became::Modified, it),
                    WatchEvent::Deleted(it) => (Became::Deleted, it),
                    WatchEvent::Bookmark(it) => {
                        from = it.metadata.resource_version;
                        continue;
                    }
                    WatchEvent::Error(status) => {
                        // What happened between is not told any more.
                        let kind = &resource.kind;
                        let missed = format!("changes of {kind}s were missed: {}", status.message);
                        lock(&seen).missed.push(missed);
                        from = "0".to_owned();
                        break;
                    }
                };
                if let Some(version) = &object.metadata.resource_version {
                    from.clone_from(version);
                }
                let object = whole(object, &resource);
                lock(&seen).changes.push(Change { at, became, object });
            }
        }
        tokio::time::sleep(AGAIN).await;
    }
}

fn whole(mut object: DynamicObject, resource: &ApiResource) -> Value {
    object.metadata.managed_fields = None;
    let mut object = serde_json::to_value(object).unwrap_or_default();
    object["apiVersion"] = resource.api_version.clone().into();
    object["kind"] = resource.kind.clone().into();
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_holds_when_it_came_what_became_of_it_and_the_whole_object() {
        let change = Change {
            at: "2026-11-30T08:00:00.25Z".parse().expect("a time"),
            became: Became::Deleted,
            object: json!({"kind": "Pod", "metadata": {"name": "a", "resourceVersion": "41"}}),
        };
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("below/day.jsonl");
        write(&[change.clone(), change.clone()], &file).expect("written");
        let text = std::fs::read_to_string(&file).expect("text");
        let line = r#"{"at":"2026-11-30T08:00:00.25Z","type":"DELETED","object":{"kind":"Pod","metadata":{"name":"a","resourceVersion":"41"}}}"#;
        assert_eq!(text, format!("{line}\n{line}\n"));
        let back: Change = serde_json::from_str(line).expect("a change");
        assert_eq!((back.version(), back.kind()), (41, "Pod"));
        assert_eq!(back, change);
    }
}
