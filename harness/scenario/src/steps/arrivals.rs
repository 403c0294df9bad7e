//! A day of arrivals: jobs of several tenants come by a seed, and at every change what queues charge is held against what pods hold.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use kube::api::ListParams;
use report::Failure;
use serde_json::{Value, json};

use crate::allocation::quantity;
use crate::arrivals::{Arrival, Passed, Stream, Terms, arrivals, tables};
use crate::registry::{Args, BlockWish, Kind, Registry, StepResult};
use crate::world::{LABEL, World, api, pod_object};
use cluster::oci::LOAD_ANNOTATION;

/// A day takes an hour at most, and its end some minutes.
const DAY: Duration = Duration::from_secs(4200);
/// How many objections are told.
const TOLD: usize = 8;
/// How much memory the load of a job takes.
const MEMORY: &str = "1GiB";

const ARRIVALS: &str = "When a day of arrivals passes in 60 seconds, with seed 7:\n  | queue | jobs | hours | class        | works | busy |\n  | red   | 20   | 0-24  | mig-1g.5gb   | 3     | 80   |\n  | blue  | 10   | 9-17  | gpu.nvidia.com | 4     | 50   |";

pub(super) fn register(steps: &mut Registry) {
    steps
        .add(Kind::When, "a day of arrivals passes in {duration}, with seed {count}:", |world, args| {
            Box::pin(pass(world, args))
        })
        .doc("Jobs come to these queues, each row a Poisson process: so many on average between two hours of a day of this length, each for one device of the class, working so many seconds on average (exponential, 1 at least; real ones) and keeping its device so busy (%). NVML is asked each second; what changes is recorded in day.jsonl. Returns when all have ended and are gone.")
        .block(BlockWish::Table(&[
            ("queue", "text"),
            ("jobs", "count"),
            ("hours", "text"),
            ("class", "text"),
            ("works", "count"),
            ("busy", "count"),
        ]))
        .timeout(DAY)
        .example(ARRIVALS);
    steps
        .add(Kind::Then, "at every change the queues charged what their pods held", |world, args| {
            Box::pin(charged(world, args))
        })
        .doc("At each change of the day, in the order in which etcd took them: a job all of whose pods run is charged exactly the devices that it holds; one that comes or goes may be charged before it holds and, once no pod of it lives, hold after it is charged, and nothing else; no device has two holders; no more is charged than the quota of all. At the end nothing is charged or held.")
        .example("Then at every change the queues charged what their pods held");
    steps
        .add(Kind::Then, "no job of the day is lost", |world, args| {
            Box::pin(none_lost(world, args))
        })
        .doc("Every job that came was admitted, ran and ended.")
        .example("Then no job of the day is lost");
    steps
        .add(Kind::Then, "every tenant kept its devices busy by what NVML says", |world, args| {
            Box::pin(busy(world, args))
        })
        .doc("Each tenant's devices were busy for some of the time in which it held them, and for no more than that.")
        .example("Then every tenant kept its devices busy by what NVML says");
}

/// `9-17`
fn hours(text: &str) -> Option<(u32, u32)> {
    let (from, until) = text.split_once('-')?;
    let (from, until) = (from.trim().parse().ok()?, until.trim().parse().ok()?);
    (from < until && until <= 24).then_some((from, until))
}

fn streams(args: &Args) -> Result<Vec<Stream>, Failure> {
    let columns = ["queue", "jobs", "hours", "class", "works", "busy"].map(|it| args.column(it));
    let [queues, jobs, times, classes, works, busy] = &columns;
    let number = |text: &String| text.parse::<u32>().unwrap_or(1);
    (0..queues.len())
        .map(|at| {
            let hours = hours(&times[at]).ok_or_else(|| {
                Failure::new(format!("{:?} are no hours of a day", times[at]))
                    .help("write two whole hours, as `9-17` or `0-24`")
            })?;
            let busy = number(&busy[at]);
            if busy > 100 {
                return Err(
                    Failure::new(format!("no device is {busy} % busy")).help("100 is the most")
                );
            }
            Ok(Stream {
                tenant: queues[at].clone(),
                class: classes[at].clone(),
                jobs: number(&jobs[at]),
                hours,
                works: Duration::from_secs(number(&works[at]).into()),
                busy,
            })
        })
        .collect()
}

async fn pass(world: &mut World, args: &Args) -> StepResult {
    let streams = streams(args)?;
    let seed = u64::try_from(args.count()).unwrap_or_default();
    let terms = terms(world, &streams).await?;
    let mut classes: Vec<&str> = streams.iter().map(|it| it.class.as_str()).collect();
    classes.sort_unstable();
    classes.dedup();
    let templates: Vec<Value> = classes.iter().map(|class| template(class)).collect();
    world.apply(&templates).await?;
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut jobs = Vec::new();
    for arrival in arrivals(&streams, seed, args.duration()) {
        let number = numbers.entry(arrival.tenant.clone()).or_default();
        *number += 1;
        let object = job(&arrival, *number);
        let object: Job = serde_json::from_value(object)
            .map_err(|error| Failure::new(format!("a job of this program is wrong: {error}")))?;
        jobs.push((arrival, object));
    }
    if jobs.is_empty() {
        return Err(Failure::new("with this seed nobody comes").help("take another, or more jobs"));
    }
    let passed = world.pass_day(&jobs, terms).await?;
    world.tables.extend(tables(&passed));
    world.passed = Some(passed);
    Ok(())
}

/// What the queues of these streams were told.
async fn terms(world: &World, streams: &[Stream]) -> Result<Terms, Failure> {
    let charged_as = world.charged_as();
    if let Some(other) = streams
        .iter()
        .find(|it| !charged_as.contains_key(&it.class))
    {
        return Err(
            Failure::new(format!("nobody charges for the class {}", other.class))
                .help("give it a line with `devices` in `Given Kueue charges:`"),
        );
    }
    let queues = world.of_kueue("ClusterQueue", false);
    let queues = queues.list(&ListParams::default()).await;
    let queues = queues
        .map_err(|error| api("list the ClusterQueues", &error))?
        .items;
    let mut quota = BTreeMap::new();
    for queue in &queues {
        let name = queue.metadata.name.clone().unwrap_or_default();
        let groups = queue.data["spec"]["resourceGroups"].as_array();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        for resource in groups
            .into_iter()
            .flatten()
            .flat_map(|group| list(&group["flavors"]))
            .flat_map(|flavor| list(&flavor["resources"]))
        {
            let named = resource["name"].as_str().unwrap_or_default().to_owned();
            let amount = resource["nominalQuota"].as_str().and_then(quantity);
            let amount = amount.and_then(|it| i64::try_from(it).ok()).unwrap_or(0);
            *quota.entry((name.clone(), named)).or_default() += amount;
        }
    }
    if let Some(other) = streams
        .iter()
        .find(|it| !quota.keys().any(|(queue, _)| *queue == it.tenant))
    {
        return Err(
            Failure::new(format!("there is no queue {:?}", other.tenant))
                .help("write `Given queue … of cohort … holds:` before"),
        );
    }
    Ok(Terms { charged_as, quota })
}

fn named(class: &str) -> String {
    format!("one-{}", class.replace('.', "-"))
}

fn template(class: &str) -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
        "metadata": {"name": named(class)},
        "spec": {"spec": {"devices": {"requests": [
            {"name": "gpu", "exactly": {"deviceClassName": class}}]}}}
    })
}

/// A job that works for its time and ends.
fn job(arrival: &Arrival, number: usize) -> Value {
    let works = format!(
        "trap 'exit 0' TERM; sleep {:.3} & wait $!",
        arrival.works.as_secs_f64()
    );
    let claims = json!([{"name": "gpu", "resourceClaimTemplateName": named(&arrival.class)}]);
    let mut pod = pod_object("job", &claims);
    pod["spec"]["containers"][0]["command"] = json!(["sh", "-c", works]);
    let load = format!("utilization={},memory={MEMORY}", arrival.busy);
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "name": format!("{}-{number}", arrival.tenant),
            "labels": {"kueue.x-k8s.io/queue-name": arrival.tenant}
        },
        "spec": {
            "suspend": true, "parallelism": 1, "completions": 1, "backoffLimit": 0,
            "template": {
                "metadata": {"labels": {LABEL: "yes"}, "annotations": {LOAD_ANNOTATION: load}},
                "spec": pod["spec"]
            }
        }
    })
}

fn passed(world: &World) -> Result<&Passed, Failure> {
    world.passed.as_ref().ok_or_else(|| {
        Failure::new("no day has passed").help("write `When a day of arrivals passes in …` before")
    })
}

async fn charged(world: &mut World, _: &Args) -> StepResult {
    let day = &passed(world)?.day;
    let wrong: Vec<&String> = day.wrong.iter().chain(&day.left).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    let mut lines: Vec<String> = wrong.iter().take(TOLD).map(|it| (*it).clone()).collect();
    if wrong.len() > TOLD {
        lines.push(format!("and {} more", wrong.len() - TOLD));
    }
    Err(
        Failure::new("what is charged and what is held do not agree").versus(
            "at each change charged = held, or on the way there",
            lines.join("\n"),
        ),
    )
}

async fn none_lost(world: &mut World, _: &Args) -> StepResult {
    let Passed { day, lost, .. } = passed(world)?;
    let mut wrong: Vec<String> = lost
        .iter()
        .map(|it| format!("{it} has not ended"))
        .collect();
    for (name, tenant) in &day.tenants {
        let (came, done, ran) = (tenant.came, tenant.done, tenant.waited.len());
        if done != came || ran != came {
            wrong.push(format!("{name}: {came} came, {ran} ran, {done} finished"));
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::new("jobs were lost").versus("each job ran and finished", wrong.join("\n")))
}

async fn busy(world: &mut World, _: &Args) -> StepResult {
    let day = &passed(world)?.day;
    let wrong: Vec<String> = day
        .tenants
        .iter()
        .filter(|(_, it)| it.busy <= 0.0 || it.busy > it.seconds + 1e-6)
        .map(|(name, it)| format!("{name}: busy for {:.1} of {:.1} s", it.busy, it.seconds))
        .collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(
        Failure::new("NVML says something else of who works").versus(
            "some of what each tenant held, and no more",
            wrong.join("\n"),
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_two_and_in_order() {
        assert_eq!(hours("9-17"), Some((9, 17)));
        assert_eq!(hours("0 - 24"), Some((0, 24)));
        for odd in ["9", "17-9", "0-25", "-1-3", "a-b"] {
            assert_eq!(hours(odd), None, "{odd}");
        }
    }
}
