//! When workloads held quota, when their devices were allocated, and when their pods ran: watched, not asked, so that nothing
//! falls between two looks. Not a judgement; a table comes out.
//! Data comes from watches of Workloads, ResourceClaims and Pods of one namespace, each change at the time at which it arrived.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::resource::v1::ResourceClaim;
use kube::api::{Api, DynamicObject, WatchEvent, WatchParams};

use super::{Workload, job_of, resource};

/// After a watch has ended.
const AGAIN: Duration = Duration::from_millis(200);

/// What happened to a workload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Course {
    /// When it came.
    pub(crate) created: Option<Instant>,
    /// When it was admitted first.
    pub(crate) admitted: Option<Instant>,
    /// When a device was allocated to it first.
    pub(crate) allocated: Option<Instant>,
    /// When a pod of it ran first.
    pub(crate) running: Option<Instant>,
    /// How often it got quota.
    pub(crate) times: usize,
    /// Holds quota since.
    held_since: Option<Instant>,
    /// Holds quota and no device since.
    idle_since: Option<Instant>,
    held: Duration,
    idle: Duration,
    /// Claims of it that are allocated.
    devices: BTreeSet<String>,
}

impl Course {
    /// How long it has held quota until now.
    pub(crate) fn held(&self, now: Instant) -> Duration {
        self.held + since(self.held_since, now)
    }

    /// How long of it without a device.
    pub(crate) fn idle(&self, now: Instant) -> Duration {
        self.idle + since(self.idle_since, now)
    }

    fn quota(&mut self, holds: bool, now: Instant) {
        match (holds, self.held_since) {
            (true, None) => {
                self.held_since = Some(now);
                self.times += 1;
            }
            (false, Some(from)) => {
                self.held += now.saturating_duration_since(from);
                self.held_since = None;
            }
            _ => {}
        }
        self.settle(now);
    }

    fn settle(&mut self, now: Instant) {
        let idle = self.held_since.is_some() && self.devices.is_empty();
        match (idle, self.idle_since) {
            (true, None) => self.idle_since = Some(now),
            (false, Some(from)) => {
                self.idle += now.saturating_duration_since(from);
                self.idle_since = None;
            }
            _ => {}
        }
    }
}

fn since(from: Option<Instant>, now: Instant) -> Duration {
    from.map_or(Duration::ZERO, |from| now.saturating_duration_since(from))
}

#[derive(Debug, Default)]
struct Seen {
    courses: BTreeMap<String, Course>,
    /// The job of each pod, kept beyond the pod's end.
    jobs: BTreeMap<String, String>,
    /// Allocated claims whose pod is not known yet.
    strays: BTreeMap<String, String>,
}

impl Seen {
    fn workload(&mut self, workload: &Workload, there: bool, now: Instant) {
        let course = self.courses.entry(workload.job.clone()).or_default();
        course.created.get_or_insert(now);
        if there && workload.is_admitted() {
            course.admitted.get_or_insert(now);
        }
        course.quota(there && workload.holds_quota(), now);
    }

    fn pod(&mut self, pod: &Pod, there: bool, now: Instant) {
        let (Some(name), Some(job)) = (&pod.metadata.name, job_of(&pod.metadata)) else {
            return;
        };
        self.jobs.insert(name.clone(), job.clone());
        let mine: Vec<String> = self
            .strays
            .iter()
            .filter(|(_, pod)| *pod == name)
            .map(|(claim, _)| claim.clone())
            .collect();
        for claim in mine {
            self.strays.remove(&claim);
            self.device(&job, &claim, true, now);
        }
        let phase = pod
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        if there && phase == Some("Running") {
            let course = self.courses.entry(job).or_default();
            course.running.get_or_insert(now);
        }
    }

    fn claim(&mut self, claim: &ResourceClaim, there: bool, now: Instant) {
        let owners = claim.metadata.owner_references.iter().flatten();
        let pod = owners
            .filter(|it| it.kind == "Pod")
            .map(|it| &it.name)
            .next();
        let (Some(name), Some(pod)) = (&claim.metadata.name, pod) else {
            return;
        };
        let status = claim.status.as_ref();
        let allocated = there && status.is_some_and(|status| status.allocation.is_some());
        match self.jobs.get(pod).cloned() {
            Some(job) => self.device(&job, name, allocated, now),
            None if allocated => drop(self.strays.insert(name.clone(), pod.clone())),
            None => drop(self.strays.remove(name)),
        }
    }

    fn device(&mut self, job: &str, claim: &str, allocated: bool, now: Instant) {
        let course = self.courses.entry(job.to_owned()).or_default();
        if allocated {
            course.allocated.get_or_insert(now);
            course.devices.insert(claim.to_owned());
        } else {
            course.devices.remove(claim);
        }
        course.settle(now);
    }
}

/// What the watches of a namespace have seen.
#[derive(Debug)]
pub(crate) struct Ledger {
    seen: Arc<Mutex<Seen>>,
    watches: Vec<tokio::task::JoinHandle<()>>,
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.watches.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

impl Ledger {
    /// Begins to watch.
    pub(crate) fn open(client: kube::Client, namespace: &str) -> Self {
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let workloads: Api<DynamicObject> =
            Api::namespaced_with(client.clone(), namespace, &resource("Workload"));
        let claims: Api<ResourceClaim> = Api::namespaced(client.clone(), namespace);
        let pods: Api<Pod> = Api::namespaced(client, namespace);
        let watches = vec![
            follow(workloads, Arc::clone(&seen), |seen, object, there, now| {
                seen.workload(&Workload::of(object), there, now);
            }),
            follow(claims, Arc::clone(&seen), Seen::claim),
            follow(pods, Arc::clone(&seen), Seen::pod),
        ];
        Self { seen, watches }
    }

    /// What happened to each workload so far.
    pub(crate) fn courses(&self) -> BTreeMap<String, Course> {
        lock(&self.seen).courses.clone()
    }
}

/// The courses as a table, in seconds: when each thing came after the workload itself, and how long quota was held.
pub(crate) fn table(courses: &BTreeMap<String, Course>, now: Instant) -> report::Table {
    let seconds = |time: Duration| format!("{:.1}", time.as_secs_f64());
    let rows = courses.iter().map(|(job, course)| {
        let created = course.created.unwrap_or(now);
        let after = |at: Option<Instant>| match at {
            Some(at) => seconds(at.saturating_duration_since(created)),
            None => "never".to_owned(),
        };
        vec![
            job.clone(),
            after(course.admitted),
            after(course.allocated),
            after(course.running),
            seconds(course.held(now)),
            seconds(course.idle(now)),
            course.times.to_string(),
        ]
    });
    let columns = [
        "workload",
        "admitted (s)",
        "allocated (s)",
        "running (s)",
        "held quota (s)",
        "of it without a device (s)",
        "times",
    ];
    report::Table {
        title: "From quota to device, in seconds after each workload came".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.collect(),
        chart: None,
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Follows all objects of a kind until it is aborted. Whatever arrives twice changes nothing.
fn follow<K>(
    api: Api<K>,
    seen: Arc<Mutex<Seen>>,
    on: fn(&mut Seen, &K, bool, Instant),
) -> tokio::task::JoinHandle<()>
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + Sync + 'static,
{
    tokio::spawn(async move {
        loop {
            if let Ok(events) = api.watch(&WatchParams::default(), "0").await {
                let mut events = std::pin::pin!(events);
                while let Ok(Some(event)) = events.try_next().await {
                    let now = Instant::now();
                    match event {
                        WatchEvent::Added(it) | WatchEvent::Modified(it) => {
                            on(&mut lock(&seen), &it, true, now);
                        }
                        WatchEvent::Deleted(it) => on(&mut lock(&seen), &it, false, now),
                        WatchEvent::Bookmark(_) => {}
                        WatchEvent::Error(_) => break,
                    }
                }
            }
            tokio::time::sleep(AGAIN).await;
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).expect("an object")
    }

    fn workload(holds: bool) -> Workload {
        let status = if holds { "True" } else { "False" };
        Workload::of(&object(json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
            "metadata": {"name": "w", "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "a", "uid": "1"}]},
            "status": {"conditions": [{"type": "QuotaReserved", "status": status}]}
        })))
    }

    fn pod() -> Pod {
        object(
            json!({"metadata": {"name": "a-1", "labels": {"batch.kubernetes.io/job-name": "a"}},
            "status": {"phase": "Running"}}),
        )
    }

    fn claim(allocated: bool) -> ResourceClaim {
        let status = if allocated {
            json!({"allocation": {}})
        } else {
            json!({})
        };
        object(json!({"metadata": {"name": "c", "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": "a-1", "uid": "2"}]},
            "spec": {"devices": {}}, "status": status}))
    }

    #[test]
    fn quota_without_a_device_is_told_apart_from_quota_with_one() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut seen = Seen::default();
        seen.workload(&workload(true), true, at(0));
        // The claim is seen before the pod that it belongs to.
        seen.claim(&claim(true), true, at(2));
        seen.pod(&pod(), true, at(3));
        seen.claim(&claim(false), true, at(5));
        seen.workload(&workload(false), true, at(9));
        seen.workload(&workload(true), true, at(20));
        let course = &seen.courses["a"];
        assert_eq!(course.held(at(21)), Duration::from_secs(10));
        assert_eq!(course.idle(at(21)), Duration::from_secs(3 + 4 + 1));
        assert_eq!((course.times, course.running), (2, Some(at(3))));
        seen.workload(&workload(true), false, at(22));
        assert_eq!(seen.courses["a"].held(at(99)), Duration::from_secs(11));
        let table = table(&seen.courses, at(99));
        let row = ["a", "never", "3.0", "3.0", "11.0", "9.0", "2"];
        assert_eq!(table.rows, [row.map(str::to_owned).to_vec()]);
    }
}
