//! A day of arrivals against the real components: jobs come by a seed, everything that changes is recorded, NVML is asked how
//! busy devices are. Not here: who comes when (`plan`), what must be so (`account`), how it is shown (`shown`).
//! Kubernetes keeps its own clock: a day is short because its jobs are.

mod account;
mod plan;
mod shown;
mod stock;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::resource::v1::ResourceClaim;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use report::Failure;
use tokio::time::{Instant, sleep, sleep_until};

use crate::allocation::{Named, PublishedPool, named};
use crate::recording::{self, Recording, Watched};
use crate::wait::Probe;
use crate::world::{World, api};

pub(crate) use account::{Day, Sample, Terms};
pub(crate) use plan::{Arrival, Stream, arrivals};
pub(crate) use shown::tables;

/// How often NVML is asked.
const EVERY: Duration = Duration::from_secs(1);
/// What the last jobs may take to end once no more come.
const DRAIN: Duration = Duration::from_secs(180);
/// What the objects of the day may take to go.
const GONE: Duration = Duration::from_secs(60);

/// What a day was like.
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) day: Day,
    pub(crate) terms: Terms,
    /// Jobs that came and did not end.
    pub(crate) lost: Vec<String>,
}

impl World {
    /// Lets the jobs of a day come, each at its time, and returns when the last one has ended and its objects are gone.
    pub(crate) async fn pass_day(
        &mut self,
        jobs: &[(Arrival, Job)],
        terms: Terms,
    ) -> Result<Passed, Failure> {
        let client = self.testbed().client();
        let own = Some(self.namespace());
        let watched = |group, version, kind, namespace| Watched {
            group,
            version,
            kind,
            namespace,
        };
        let recording = Recording::open(
            &client,
            &[
                watched("resource.k8s.io", "v1", "ResourceSlice", None),
                watched("", "v1", "Node", None),
                watched("resource.k8s.io", "v1", "ResourceClaim", own),
                watched("", "v1", "Pod", own),
                watched("kueue.x-k8s.io", "v1beta2", "Workload", own),
            ],
        );
        let recording = &recording;
        let start = Timestamp::now();
        let samples: RefCell<Vec<Sample>> = RefCell::default();
        let coming = async {
            self.come(jobs).await?;
            self.ended(jobs.len(), recording).await
        };
        let lost = tokio::select! {
            lost = coming => lost?,
            failure = self.look_at_cards(start, &samples) => return Err(failure),
        };
        let day_is_over = self.clear(recording).await;
        let changes = recording.changes().map_err(Failure::new)?;
        if let Some(file) = self.keeps("day.jsonl") {
            recording::write(&changes, &file).map_err(|error| {
                Failure::new(format!("cannot write {}: {error}", file.display()))
            })?;
        }
        day_is_over?;
        let day = account::day(&changes, &samples.into_inner(), terms.clone(), start);
        Ok(Passed { day, terms, lost })
    }

    /// Makes each job at its time.
    async fn come(&self, jobs: &[(Arrival, Job)]) -> Result<(), Failure> {
        let there: Api<Job> = Api::namespaced(self.testbed().client(), self.namespace());
        let start = Instant::now();
        for (arrival, job) in jobs {
            sleep_until(start + arrival.at).await;
            let made = there.create(&PostParams::default(), job).await;
            made.map_err(|error| api("create a job of the day", &error))?;
        }
        Ok(())
    }

    /// Waits until all jobs have ended; names those that do not.
    async fn ended(&self, wanted: usize, recording: &Recording) -> Result<Vec<String>, Failure> {
        let there: Api<Job> = Api::namespaced(self.testbed().client(), self.namespace());
        let left = RefCell::new(Vec::new());
        let what = format!("the {wanted} jobs of the day end");
        let waited = self.until(DRAIN, &what, async || {
            let all = there.list(&ListParams::default()).await;
            let all = all.map_err(|error| api("list the jobs", &error))?.items;
            let open = all.iter().filter(|it| !has_ended(it));
            let open: Vec<String> = open.filter_map(|it| it.metadata.name.clone()).collect();
            if open.is_empty() && all.len() == wanted {
                return Ok(Probe::Ready(()));
            }
            let state = format!(
                "{} of {wanted} came, {} are open, {} changes",
                all.len(),
                open.len(),
                recording.len()
            );
            left.replace(open);
            sleep(EVERY).await;
            Ok(Probe::NotYet(state))
        });
        match waited.await {
            Ok(()) => Ok(Vec::new()),
            Err(failure) if left.borrow().is_empty() => Err(failure),
            Err(_) => Ok(left.into_inner()),
        }
    }

    /// Deletes the jobs of the day, and waits until nothing of them is left.
    async fn clear(&self, recording: &Recording) -> Result<(), Failure> {
        let client = self.testbed().client();
        let jobs: Api<Job> = Api::namespaced(client.clone(), self.namespace());
        let (everything, how) = (ListParams::default(), DeleteParams::background());
        let deleted = jobs.delete_collection(&how, &everything).await;
        deleted.map_err(|error| api("delete the jobs of the day", &error))?;
        let pods: Api<Pod> = Api::namespaced(client.clone(), self.namespace());
        let claims: Api<ResourceClaim> = Api::namespaced(client, self.namespace());
        self.until(GONE, "the jobs of the day go", async || {
            let (pods, claims) = tokio::join!(pods.list(&everything), claims.list(&everything));
            let pods = pods
                .map_err(|error| api("list the pods", &error))?
                .items
                .len();
            let claims = claims
                .map_err(|error| api("list the claims", &error))?
                .items
                .len();
            let workloads = self.workloads().await?.len();
            Ok(match pods + claims + workloads {
                0 => Probe::Ready(()),
                _ => Probe::NotYet(format!(
                    "{pods} pods, {claims} claims, {workloads} workloads, {} changes",
                    recording.len()
                )),
            })
        })
        .await
    }

    /// Asks NVML on each node again and again how busy its devices are. Returns only when that goes wrong.
    async fn look_at_cards(&self, start: Timestamp, samples: &RefCell<Vec<Sample>>) -> Failure {
        let published = match self.published().await {
            Ok(published) => published,
            Err(failure) => return failure,
        };
        loop {
            let next = Instant::now() + EVERY;
            match self.busy(&published).await {
                Ok(busy) => {
                    let at = Timestamp::now().duration_since(start).as_millis();
                    let at = u64::try_from(at).unwrap_or(0);
                    samples.borrow_mut().push(Sample { at, busy });
                }
                Err(failure) => return failure,
            }
            sleep_until(next).await;
        }
    }

    /// How busy each device is by what NVML says: a card by its utilisation, a partition, of which NVML tells none before
    /// Hopper, by whether a process is on it.
    async fn busy(
        &self,
        published: &[PublishedPool],
    ) -> Result<BTreeMap<(String, String), f64>, Failure> {
        let cards = self.cards().await?;
        let name = |node: &str, is: Named| {
            let pools = published.iter().filter(|it| it.pool == node);
            let mut devices = pools.flat_map(|it| &it.devices);
            let found = devices.find(|it| named(&it.name) == Some(is))?;
            Some((node.to_owned(), found.name.clone()))
        };
        let mut all = BTreeMap::new();
        for node in &cards {
            let text = self.on_node(&node.node, &["nvidia-smi"]).await?;
            let query = [
                "nvidia-smi",
                "--query-gpu=index,utilization.gpu",
                "--format=csv,noheader,nounits",
            ];
            let used = self.on_node(&node.node, &query).await?;
            let used: BTreeMap<u32, f64> = used.lines().filter_map(utilization).collect();
            let rows = crate::steps::load::rows(&text);
            for card in &node.cards {
                if !card.mig {
                    let part = used.get(&card.index).copied().unwrap_or(0.0);
                    let whole = name(&node.node, Named::Whole { minor: card.minor });
                    all.extend(whole.map(|it| (it, part)));
                }
                for instance in &card.instances {
                    let mine = |row: &&crate::steps::load::Row| {
                        row.gpu == card.index && row.part.is_some_and(|(gi, _)| gi == instance.id)
                    };
                    let works = rows.iter().any(|row| mine(&row));
                    let is = Named::Partition {
                        minor: card.minor,
                        profile_id: instance.profile_id,
                        start: instance.start,
                    };
                    let part = f64::from(u8::from(works));
                    all.extend(name(&node.node, is).map(|it| (it, part)));
                }
            }
        }
        Ok(all)
    }
}

/// `0, 80` → card 0 is busy for 0.8 of its time.
fn utilization(line: &str) -> Option<(u32, f64)> {
    let (index, percent) = line.split_once(',')?;
    let percent: u8 = percent.trim().parse().ok()?;
    Some((index.trim().parse().ok()?, f64::from(percent) / 100.0))
}

fn has_ended(job: &Job) -> bool {
    let conditions = job.status.as_ref().and_then(|it| it.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|it| matches!(it.type_.as_str(), "Complete" | "Failed") && it.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utilisation_is_read_and_what_is_not_told_is_nothing() {
        assert_eq!(utilization("3, 80"), Some((3, 0.8)));
        assert_eq!(utilization("0, [N/A]"), None);
    }
}
