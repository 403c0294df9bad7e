//! A day gone through change by change: who was charged what, who held which device, and what must be so at each of them.
//! Pure: a recording and the queues' terms in, accounts and objections out.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::resource::v1::{ResourceClaim, ResourceSlice};
use kube::api::DynamicObject;
use serde_json::Value;

use super::stock::Stock;
use crate::allocation;
use crate::queues::Workload;
use crate::recording::{Became, Change};

/// What the queues were told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    /// Under which resource each DeviceClass is charged, one for a device.
    pub(crate) charged_as: BTreeMap<String, String>,
    /// Quota by queue and resource; all queues are of one cohort and borrow of each other.
    pub(crate) quota: BTreeMap<(String, String), i64>,
}

/// What devices were seen to do at a time: how busy each was, from 0 to 1.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    /// Milliseconds after the start.
    pub(crate) at: u64,
    /// By pool and device.
    pub(crate) busy: BTreeMap<(String, String), f64>,
}

/// A tenant's day. Seconds of cards are weighed: a partition counts for its part of the card's memory slices.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tenant {
    pub(crate) came: usize,
    pub(crate) done: usize,
    /// Seconds from coming to where it was first seen to run, or to have run.
    pub(crate) waited: Vec<f64>,
    /// Card seconds held.
    pub(crate) held: f64,
    /// Device seconds charged while no device was held.
    pub(crate) charged_in_vain: f64,
    /// Device seconds held that nothing was charged for.
    pub(crate) free_of_charge: f64,
    /// Device seconds held, and those of them in which NVML said that the device worked.
    pub(crate) seconds: f64,
    pub(crate) busy: f64,
}

/// What holds between two changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Moment {
    /// Milliseconds after the start.
    pub(crate) at: u64,
    /// Cards held, by tenant.
    pub(crate) held: BTreeMap<String, f64>,
    pub(crate) charged: i64,
    pub(crate) devices: i64,
    /// The part of the free memory slices that is of no use to whoever wants the largest partition that the free ones could be.
    pub(crate) stranded: f64,
}

/// The whole day.
#[derive(Debug, Default)]
pub(crate) struct Day {
    pub(crate) tenants: BTreeMap<String, Tenant>,
    pub(crate) moments: Vec<Moment>,
    /// Changes at which each workload was charged exactly what it held, and all changes.
    pub(crate) equal: usize,
    pub(crate) changes: usize,
    /// What must never be and was.
    pub(crate) wrong: Vec<String>,
    /// What is left at the end: charges and devices.
    pub(crate) left: Vec<String>,
    /// Mean over time of the stranded part, and its most.
    pub(crate) stranded: (f64, f64),
}

#[derive(Debug, Default)]
struct Job {
    tenant: String,
    pods: i64,
    charged: BTreeMap<String, i64>,
    came: u64,
    ran: bool,
    finished: bool,
}

#[derive(Debug)]
struct Pod {
    job: String,
    /// It has a container that runs, and nobody has told it to end.
    runs: bool,
    /// It will run, or does.
    lives: bool,
}

#[derive(Debug)]
struct Claim {
    pod: String,
    /// Resource, pool and device.
    devices: Vec<(String, String, String)>,
}

#[derive(Default)]
struct State<'a> {
    terms: Terms,
    jobs: BTreeMap<String, Job>,
    pods: BTreeMap<String, Pod>,
    claims: BTreeMap<String, Claim>,
    holder: BTreeMap<(String, String), String>,
    slices: BTreeMap<String, ResourceSlice>,
    stock: Stock,
    stranded: f64,
    samples: &'a [Sample],
    busy: BTreeMap<(String, String), f64>,
    day: Day,
}

/// Goes through a day. `start` is when it began; changes are in the order in which etcd took them.
pub(crate) fn day(
    changes: &[Change],
    samples: &[Sample],
    terms: Terms,
    start: jiff::Timestamp,
) -> Day {
    let mut state = State {
        terms,
        samples,
        ..State::default()
    };
    let mut now = 0;
    for change in changes {
        let at = u64::try_from(change.at.duration_since(start).as_millis()).unwrap_or(0);
        // Watches are told apart from each other: what was received later may have happened before.
        let at = at.max(now);
        state.pass(now, at);
        now = at;
        state.take(change, now);
        state.check(now);
    }
    state.close(now)
}

impl State<'_> {
    /// Time goes by, and nothing changes but what NVML says.
    fn pass(&mut self, mut from: u64, until: u64) {
        while let Some((sample, later)) = self.samples.split_first()
            && sample.at <= until
        {
            self.samples = later;
            let at = sample.at.max(from);
            self.add(at - from);
            from = at;
            self.busy.clone_from(&sample.busy);
        }
        self.add(until - from);
    }

    fn add(&mut self, millis: u64) {
        if millis == 0 {
            return;
        }
        let time = Duration::from_millis(millis).as_secs_f64();
        for claim in self.claims.values() {
            let Some((job, tenant)) = self.of(&claim.pod) else {
                continue;
            };
            let tenant = self.day.tenants.entry(tenant).or_default();
            let paid = self.jobs.get(&job);
            for (resource, pool, device) in &claim.devices {
                let key = (pool.clone(), device.clone());
                tenant.held += time * self.stock.weight(&key);
                tenant.seconds += time;
                tenant.busy += time * self.busy.get(&key).copied().unwrap_or(0.0);
                if paid.is_none_or(|it| !it.charged.contains_key(resource)) {
                    tenant.free_of_charge += time;
                }
            }
        }
        let held = self.held();
        let mut idle: BTreeMap<String, i64> = BTreeMap::new();
        for (name, job) in &self.jobs {
            for (resource, charged) in &job.charged {
                let holds = held.get(&(name.as_str(), resource.as_str()));
                let more = charged - holds.copied().unwrap_or(0);
                *idle.entry(job.tenant.clone()).or_default() += more.max(0);
            }
        }
        for (tenant, devices) in idle {
            let tenant = self.day.tenants.entry(tenant).or_default();
            tenant.charged_in_vain += time * real(devices);
        }
        self.day.stranded.0 += time * self.stranded;
    }

    /// The job and tenant of a pod.
    fn of(&self, pod: &str) -> Option<(String, String)> {
        let job = self.pods.get(pod)?.job.clone();
        let tenant = self.jobs.get(&job)?.tenant.clone();
        Some((job, tenant))
    }

    /// Devices in hand by job and resource.
    fn held(&self) -> BTreeMap<(&str, &str), i64> {
        let mut all = BTreeMap::new();
        for claim in self.claims.values() {
            let Some(pod) = self.pods.get(&claim.pod) else {
                continue;
            };
            for (resource, _, _) in &claim.devices {
                *all.entry((pod.job.as_str(), resource.as_str()))
                    .or_default() += 1;
            }
        }
        all
    }

    fn take(&mut self, change: &Change, now: u64) {
        let there = change.became != Became::Deleted;
        match change.kind() {
            "Workload" => self.workload(&change.object, there, now),
            "Pod" => self.pod(&change.object, there, now),
            "ResourceClaim" => self.claim(&change.object, there),
            "ResourceSlice" => self.slice(&change.object, there),
            _ => {}
        }
    }

    fn workload(&mut self, object: &Value, there: bool, now: u64) {
        let Ok(dynamic) = serde_json::from_value::<DynamicObject>(object.clone()) else {
            return;
        };
        let workload = Workload::of(&dynamic);
        let tenant = object["spec"]["queueName"].as_str().unwrap_or_default();
        let sets = object["spec"]["podSets"].as_array();
        let pods = sets.into_iter().flatten();
        let pods = pods.map(|it| it["count"].as_i64().unwrap_or(1)).sum();
        let new = !self.jobs.contains_key(&workload.job);
        let job = self.jobs.entry(workload.job.clone()).or_default();
        if new {
            job.tenant = tenant.to_owned();
            job.came = now;
        }
        job.pods = pods;
        let account = self.day.tenants.entry(job.tenant.clone()).or_default();
        account.came += usize::from(new);
        job.charged = match there && workload.holds_quota() {
            true => workload.charged.clone(),
            false => BTreeMap::new(),
        };
        if workload.is_finished() && !job.finished {
            job.finished = true;
            account.done += 1;
        }
    }

    fn pod(&mut self, object: &Value, there: bool, now: u64) {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = word(&object["metadata"]["name"]);
        let job = word(&object["metadata"]["labels"]["batch.kubernetes.io/job-name"]);
        let phase = word(&object["status"]["phase"]);
        let told = !object["metadata"]["deletionTimestamp"].is_null();
        if job.is_empty() {
            return;
        }
        // One that works for a second may have ended before anybody saw it run.
        let has_run = there && matches!(phase.as_str(), "Running" | "Succeeded");
        let runs = there && phase == "Running" && !told;
        let lives = there && !told && matches!(phase.as_str(), "Pending" | "Running");
        if has_run
            && let Some(job) = self.jobs.get_mut(&job)
            && !job.ran
        {
            job.ran = true;
            let waited = Duration::from_millis(now - job.came).as_secs_f64();
            let tenant = self.day.tenants.entry(job.tenant.clone()).or_default();
            tenant.waited.push(waited);
        }
        // Kept beyond its end: its claims may outlive it.
        self.pods.insert(name, Pod { job, runs, lives });
    }

    fn claim(&mut self, object: &Value, there: bool) {
        let Ok(claim) = serde_json::from_value::<ResourceClaim>(object.clone()) else {
            return;
        };
        let uid = claim.metadata.uid.clone().unwrap_or_default();
        self.holder.retain(|_, holder| *holder != uid);
        let owners = claim.metadata.owner_references.iter().flatten();
        let mut pod = owners.filter(|it| it.kind == "Pod").map(|it| &it.name);
        let Some(pod) = pod.next().cloned() else {
            return;
        };
        let class = |request: &str| {
            let devices = claim.spec.as_ref().and_then(|it| it.devices.as_ref());
            let mut all = devices.iter().flat_map(|it| it.requests.iter().flatten());
            let found = all.find(|it| it.name == request)?;
            Some(found.exactly.as_ref()?.device_class_name.clone())
        };
        let results = claim.status.as_ref().and_then(|it| it.allocation.as_ref());
        let results = results.and_then(|it| it.devices.as_ref()?.results.as_ref());
        let results = results.into_iter().flatten().filter(|_| there);
        let devices: Vec<(String, String, String)> = results
            .map(|it| {
                let class = class(&it.request).unwrap_or_default();
                let resource = self.terms.charged_as.get(&class).cloned();
                (
                    resource.unwrap_or(class),
                    it.pool.clone(),
                    it.device.clone(),
                )
            })
            .collect();
        for (_, pool, device) in &devices {
            let key = (pool.clone(), device.clone());
            if let Some(other) = self.holder.insert(key, uid.clone()) {
                self.day.wrong.push(format!(
                    "{pool}/{device} is held by the claims {other} and {uid}"
                ));
            }
        }
        match devices.is_empty() {
            true => drop(self.claims.remove(&uid)),
            false => drop(self.claims.insert(uid, Claim { pod, devices })),
        }
        self.counted();
    }

    fn slice(&mut self, object: &Value, there: bool) {
        let Ok(slice) = serde_json::from_value::<ResourceSlice>(object.clone()) else {
            return;
        };
        let name = slice.metadata.name.clone().unwrap_or_default();
        match there {
            true => drop(self.slices.insert(name, slice)),
            false => drop(self.slices.remove(&name)),
        }
        // Of a pool that is not whole yet nobody can say what is free.
        let whole = |slice: &&ResourceSlice| {
            let pool = &slice.spec.pool;
            let same = |it: &&ResourceSlice| {
                let other = &it.spec.pool;
                it.spec.driver == slice.spec.driver
                    && (&other.name, other.generation) == (&pool.name, pool.generation)
            };
            let there = self.slices.values().filter(same).count();
            i64::try_from(there).is_ok_and(|there| there == pool.resource_slice_count)
        };
        let slices: Vec<ResourceSlice> = self.slices.values().filter(whole).cloned().collect();
        // What somebody holds keeps its weight when its slice goes.
        self.stock.publish(allocation::pools(&slices));
        self.counted();
    }

    fn counted(&mut self) {
        let held: BTreeSet<&(String, String)> = self.holder.keys().collect();
        self.stranded = self.stock.stranded(&held);
        self.day.stranded.1 = self.day.stranded.1.max(self.stranded);
    }

    /// What must be so now.
    fn check(&mut self, now: u64) {
        let held = self.held();
        let mut wrong = Vec::new();
        let mut equal = true;
        let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
        let holding: BTreeSet<&str> = held.keys().map(|(job, _)| *job).collect();
        let open = |(name, job): &(&String, &Job)| {
            !job.charged.is_empty() || holding.contains(name.as_str())
        };
        for (name, job) in self.jobs.iter().filter(open) {
            let mine: Vec<&Pod> = self.pods.values().filter(|it| it.job == *name).collect();
            let running = mine.iter().filter(|it| it.runs).count();
            let all_run = i64::try_from(running).is_ok_and(|it| it == job.pods);
            let resources: BTreeSet<&str> = held
                .keys()
                .filter(|(of, _)| of == name)
                .map(|(_, resource)| *resource)
                .chain(job.charged.keys().map(String::as_str))
                .filter(|it| self.terms.charged_as.values().any(|known| known == it))
                .collect();
            for resource in resources {
                let charged = job.charged.get(resource).copied().unwrap_or(0);
                let holds = held.get(&(name.as_str(), resource)).copied().unwrap_or(0);
                *sums.entry(resource).or_default() += charged;
                equal &= charged == holds;
                // Between quota and device a workload is charged more, and on its way out it may hold more. In between nothing differs.
                let excused = charged > holds && !all_run;
                let leaves = charged < holds && !mine.iter().any(|it| it.lives);
                if charged != holds && !excused && !leaves {
                    wrong.push(format!(
                        "after {now} ms {name} is charged {charged} of {resource} and holds {holds}, with {running} of {} pods running",
                        job.pods
                    ));
                }
            }
        }
        for (resource, sum) in sums {
            let quota = self.terms.quota.iter();
            let quota = quota.filter(|((_, it), _)| it == resource);
            let quota: i64 = quota.map(|(_, amount)| amount).sum();
            if sum > quota {
                wrong.push(format!(
                    "after {now} ms {sum} of {resource} are charged, and the quota of all is {quota}"
                ));
            }
        }
        let devices: i64 = held.values().sum();
        self.day.changes += 1;
        self.day.equal += usize::from(equal);
        self.day.wrong.extend(wrong);
        self.moment(now, devices);
    }

    fn moment(&mut self, at: u64, devices: i64) {
        let mut held: BTreeMap<String, f64> = BTreeMap::new();
        for claim in self.claims.values() {
            if let Some((_, tenant)) = self.of(&claim.pod) {
                let keys = claim.devices.iter();
                let keys = keys.map(|(_, pool, device)| (pool.clone(), device.clone()));
                let weight: f64 = keys.map(|it| self.stock.weight(&it)).sum();
                *held.entry(tenant).or_default() += weight;
            }
        }
        let charged = self.jobs.values().flat_map(|it| &it.charged);
        let charged = charged
            .filter(|(resource, _)| self.terms.charged_as.values().any(|it| it == *resource))
            .map(|(_, amount)| amount)
            .sum();
        let moment = Moment {
            at,
            held,
            charged,
            devices,
            stranded: self.stranded,
        };
        let moments = &mut self.day.moments;
        // Of changes in one millisecond the last is what lasted.
        if moments.last().is_some_and(|last| last.at == at) {
            moments.pop();
        }
        moments.push(moment);
    }

    fn close(mut self, end: u64) -> Day {
        for (name, job) in &self.jobs {
            if !job.charged.is_empty() {
                self.day.left.push(format!("{name} is still charged"));
            }
        }
        for (pool, device) in self.holder.keys() {
            self.day.left.push(format!("{pool}/{device} is still held"));
        }
        let time = Duration::from_millis(end).as_secs_f64();
        if time > 0.0 {
            self.day.stranded.0 /= time;
        }
        self.day
    }
}

/// Counts of devices are small.
#[allow(clippy::cast_precision_loss, reason = "a count of devices")]
fn real(count: i64) -> f64 {
    count as f64
}

#[cfg(test)]
#[path = "account_tests.rs"]
mod tests;
