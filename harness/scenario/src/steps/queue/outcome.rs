//! What becomes of jobs in queues: admitted or waiting, charged and allocated, and quota given back.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use report::Failure;

use crate::allocation::quantity;
use crate::queues::{Account, Workload, conditions, job_of};
use crate::registry::{Args, BlockWish, Kind, Registry, StepResult};
use crate::sight::{PodSight, State};
use crate::wait::{Probe, in_vain};
use crate::world::{World, api};

/// How long Kueue has to judge a workload, and its pods to come up.
const UP: Duration = Duration::from_secs(45);

/// How long quota and devices have to come to rest.
const SETTLED: Duration = Duration::from_secs(15);

const DIFFERENCES: &str = "Then charge and devices differ:\n  | job | resource | charged | consumed |\n  | a   | gpu      | 2       | 1        |";

pub(super) fn register(steps: &mut Registry) {
    admission(steps);
    charges(steps);
    gap(steps);
}

fn admission(steps: &mut Registry) {
    steps
        .add(
            Kind::Then,
            "job(s) {names} is/are admitted",
            |world, args| Box::pin(admitted(world, args)),
        )
        .doc("Kueue has admitted these jobs and they hold quota.")
        .example("Then jobs \"a, b\" are admitted");
    steps
        .add(Kind::Then, "{count} jobs are admitted", |world, args| {
            Box::pin(count_admitted(world, args))
        })
        .doc("Kueue has looked at every job of the scenario, and exactly so many are admitted.")
        .example("Then 8 jobs are admitted");
    steps
        .add(
            Kind::Then,
            "job(s) {names} wait(s), and Kueue says {text}",
            |world, args| Box::pin(wait(world, args)),
        )
        .doc("These jobs hold no quota, and a condition of their Workloads holds this text.")
        .example("Then job \"b\" waits, and Kueue says \"insufficient unused quota\"");
    steps
        .add(Kind::Then, "{count} job(s) wait(s), and Kueue says {text}", |world, args| {
            Box::pin(count_waiting(world, args))
        })
        .doc("Exactly so many jobs hold no quota, and a condition of each of their Workloads holds this text.")
        .example("Then 1 job waits, and Kueue says \"insufficient unused quota\"");
    steps
        .add(Kind::Then, "job(s) {names} run(s)", |world, args| {
            Box::pin(run(world, args))
        })
        .doc("Every pod of these jobs is Running.")
        .example("Then job \"a\" runs");
    steps
        .add(Kind::Then, "{count} job(s) run(s)", |world, args| {
            Box::pin(count_running(world, args))
        })
        .doc("So many jobs have every pod Running.")
        .example("Then 7 jobs run");
    steps
        .add(
            Kind::Then,
            "the {kind} {name} says {text}",
            |world, args| Box::pin(says(world, args)),
        )
        .doc("A condition of this object of Kueue's holds this text.")
        .example("Then the ClusterQueue \"team-a\" says \"references missing ResourceFlavor\"");
}

fn charges(steps: &mut Registry) {
    steps
        .add(
            Kind::Then,
            "Kueue charges job {name} {quantity} of {text}",
            |world, args| Box::pin(charged(world, args)),
        )
        .doc("The admission of the job's Workload uses exactly this amount of the resource.")
        .example("Then Kueue charges job \"a\" \"4864Mi\" of \"gpu.memory\"");
    steps
        .add(Kind::Then, "each job is charged what its devices consume", |world, args| {
            Box::pin(equal(world, args))
        })
        .doc("For each job with quota and each resource of devices: what its Workload is charged equals what the devices that the scheduler allocated to its pods consume (count, counter or capacity). There is at least one such job.")
        .example("Then each job is charged what its devices consume");
    steps
        .add(Kind::Then, "charge and devices differ:", |world, args| Box::pin(differ(world, args)))
        .doc("Exactly these jobs are charged another amount than their devices consume, each with both amounts.")
        .block(BlockWish::Table(&[
            ("job", "text"),
            ("resource", "text"),
            ("charged", "quantity"),
            ("consumed", "quantity"),
        ]))
        .example(DIFFERENCES);
}

fn gap(steps: &mut Registry) {
    steps
        .add(Kind::Then, "{count} job(s) hold(s) quota and no device, and the scheduler says {text}", |world, args| {
            Box::pin(held_in_vain(world, args))
        })
        .doc("Exactly so many admitted jobs have no device allocated, while all others have; their pods wait, and this is what an operator finds there.")
        .example("Then 1 job holds quota and no device, and the scheduler says \"cannot allocate all claims\"");
    steps
        .add(Kind::Then, "within {duration} Kueue takes quota back, saying {text}", |world, args| {
            Box::pin(taken_back(world, args))
        })
        .doc("A job that held quota holds none any more, and its Workload's condition Evicted holds this text.")
        .timeout(Duration::from_secs(3700))
        .example("Then within 60 seconds Kueue takes quota back, saying \"PodsReady\"");
    steps
        .add(
            Kind::Then,
            "Kueue has taken the quota of job {name} back, saying {text}",
            |world, args| Box::pin(evicted(world, args)),
        )
        .doc("The job's Workload holds no quota, and a condition of it holds this text.")
        .example("Then Kueue has taken the quota of job \"b\" back, saying \"preempted\"");
    steps
        .add(Kind::Then, "a job has held quota without a device for {duration} or more", |world, args| {
            Box::pin(held_for(world, args))
        })
        .doc("By what was watched since Kueue started: some job has held quota for so long in all while no device was allocated to it.")
        .timeout(Duration::from_secs(3700))
        .example("Then a job has held quota without a device for 5 seconds or more");
}

/// Waits until the workloads are so.
async fn settle(
    world: &World,
    limit: Duration,
    what: &str,
    is: impl Fn(&[Workload]) -> bool,
) -> StepResult {
    world
        .until(limit, what, async || {
            let all = world.workloads().await?;
            Ok(match is(&all) {
                true => Probe::Ready(()),
                false => Probe::NotYet(lines(&all)),
            })
        })
        .await
}

fn lines(all: &[Workload]) -> String {
    let lines: Vec<String> = all.iter().map(Workload::line).collect();
    match lines.is_empty() {
        true => "there is no Workload".to_owned(),
        false => lines.join("\n"),
    }
}

fn every(all: &[Workload], names: &[&str], is: impl Fn(&Workload) -> bool) -> bool {
    let mut names = names.iter();
    names.all(|name| all.iter().any(|it| it.job == *name && is(it)))
}

async fn admitted(world: &mut World, args: &Args) -> StepResult {
    let names = args.list("names");
    settle(world, UP, "the jobs are admitted", |all| {
        every(all, &names, Workload::is_admitted)
    })
    .await
}

async fn count_admitted(world: &mut World, args: &Args) -> StepResult {
    let wanted = args.count();
    let what = format!("{wanted} jobs are admitted");
    settle(world, UP, &what, |all| {
        let admitted = all.iter().filter(|it| it.is_admitted()).count();
        admitted == wanted && all.iter().all(Workload::is_judged)
    })
    .await
}

fn waits(workload: &Workload, text: &str) -> bool {
    !workload.holds_quota() && workload.says(text)
}

async fn wait(world: &mut World, args: &Args) -> StepResult {
    let (names, text) = (args.list("names"), args.text("text"));
    let what = format!("the jobs wait, and Kueue says {text:?}");
    settle(world, UP, &what, |all| {
        every(all, &names, |it| waits(it, text))
    })
    .await
}

async fn count_waiting(world: &mut World, args: &Args) -> StepResult {
    let (wanted, text) = (args.count(), args.text("text"));
    let what = format!("{wanted} jobs wait, and Kueue says {text:?}");
    settle(world, UP, &what, |all| {
        let idle: Vec<&Workload> = all.iter().filter(|it| !it.holds_quota()).collect();
        idle.len() == wanted && idle.iter().all(|it| it.says(text))
    })
    .await
}

/// Pods of jobs, by job.
async fn pods(world: &World) -> Result<Vec<(String, PodSight)>, Failure> {
    let all = world.pods().list(&ListParams::default()).await;
    let all = all.map_err(|error| api("list the pods", &error))?;
    let of = |pod: &Pod| Some((job_of(&pod.metadata)?, PodSight::of(pod)));
    Ok(all.items.iter().filter_map(of).collect())
}

fn shown(pods: &[(String, PodSight)]) -> String {
    let lines: Vec<String> = pods.iter().map(|(_, pod)| pod.line()).collect();
    match lines.is_empty() {
        true => "there is no pod".to_owned(),
        false => lines.join("\n"),
    }
}

/// Jobs all of whose pods run.
fn running(pods: &[(String, PodSight)]) -> Vec<&str> {
    let mut jobs: Vec<&str> = pods.iter().map(|(job, _)| job.as_str()).collect();
    jobs.sort_unstable();
    jobs.dedup();
    jobs.retain(|job| {
        let mut mine = pods.iter().filter(|(of, _)| of == job);
        mine.all(|(_, pod)| pod.runs())
    });
    jobs
}

async fn all_run(world: &World, what: &str, is: impl Fn(&[&str]) -> bool) -> StepResult {
    world
        .until(UP, what, async || {
            let pods = pods(world).await?;
            Ok(match is(&running(&pods)) {
                true => Probe::Ready(()),
                false => Probe::NotYet(shown(&pods)),
            })
        })
        .await
}

async fn run(world: &mut World, args: &Args) -> StepResult {
    let names = args.list("names");
    all_run(world, "the jobs run", |run| {
        names.iter().all(|name| run.contains(name))
    })
    .await
}

async fn count_running(world: &mut World, args: &Args) -> StepResult {
    let wanted = args.count();
    let what = format!("{wanted} jobs run");
    all_run(world, &what, |run| run.len() == wanted).await
}

async fn says(world: &mut World, args: &Args) -> StepResult {
    let kind = args
        .named()
        .find(|(name, _)| *name == "kind")
        .map_or("", |(_, value)| value);
    let (name, text) = (args.text("name"), args.text("text"));
    let own = matches!(kind, "LocalQueue" | "Workload");
    let what = format!("the {kind} {name:?} says {text:?}");
    world
        .until(UP, &what, async || {
            let object = world.of_kueue(kind, own).get(name).await;
            let object =
                object.map_err(|error| api(&format!("get the {kind} {name:?}"), &error))?;
            let all = conditions(&object);
            if all.iter().any(|it| it.message.contains(text)) {
                return Ok(Probe::Ready(()));
            }
            let lines: Vec<String> = all
                .iter()
                .map(|it| format!("{}={} {}: {}", it.kind, it.holds, it.reason, it.message))
                .collect();
            Ok(Probe::NotYet(lines.join("\n")))
        })
        .await
}

async fn charged(world: &mut World, args: &Args) -> StepResult {
    let (job, resource) = (args.text("name"), args.text("text"));
    let wanted = quantity(args.text("quantity")).unwrap_or(0);
    let all = world.workloads().await?;
    let found = all.iter().find(|it| it.job == job && it.holds_quota());
    let Some(found) = found else {
        return Err(Failure::new(format!("job {job} holds no quota")).last(lines(&all)));
    };
    let charge = found.charged.get(resource).copied().unwrap_or(0);
    if i128::try_from(wanted).is_ok_and(|wanted| wanted == i128::from(charge)) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "Kueue charges job {job} another amount of {resource}"
    ))
    .versus(wanted.to_string(), charge.to_string()))
}

/// The accounts when every admitted job has what it can have.
async fn accounts(world: &World) -> Result<Vec<Account>, Failure> {
    let all = world.accounts().await?;
    if all.is_empty() {
        return Err(Failure::new("no job holds quota of a resource of devices")
            .help("let jobs be admitted and run before"));
    }
    Ok(all)
}

fn told(all: &[Account]) -> String {
    let lines: Vec<String> = all.iter().map(Account::line).collect();
    lines.join("\n")
}

async fn equal(world: &mut World, _: &Args) -> StepResult {
    let what = "each job is charged what its devices consume";
    let is = |all: &[Account]| all.iter().all(|it| it.charged == it.consumed);
    let seen = settled(world, what, is).await;
    seen.map_err(|failure| {
        in_vain(failure, |seen| {
            Failure::new("jobs are charged something else than their devices consume")
                .versus("charged = consumed for each job", seen)
        })
    })
}

/// Waits until the accounts are so: quota and devices come and go one after the other.
async fn settled(world: &World, what: &str, is: impl Fn(&[Account]) -> bool) -> StepResult {
    world
        .until(SETTLED, what, async || {
            let all = accounts(world).await?;
            Ok(match is(&all) {
                true => Probe::Ready(()),
                false => Probe::NotYet(told(&all)),
            })
        })
        .await
}

async fn differ(world: &mut World, args: &Args) -> StepResult {
    let (jobs, resources) = (args.column("job"), args.column("resource"));
    let (charged, consumed) = (args.column("charged"), args.column("consumed"));
    let amount = |text: &String| quantity(text).and_then(|it| i64::try_from(it).ok());
    let mut wanted: Vec<(String, String, Option<i64>, Option<i64>)> = (0..jobs.len())
        .map(|at| {
            (
                jobs[at].clone(),
                resources[at].clone(),
                amount(&charged[at]),
                amount(&consumed[at]),
            )
        })
        .collect();
    wanted.sort();
    let is = |all: &[Account]| {
        let different = all.iter().filter(|it| it.charged != it.consumed);
        let mut found: Vec<_> = different
            .map(|it| {
                let (job, resource) = (it.job.clone(), it.resource.clone());
                (job, resource, Some(it.charged), Some(it.consumed))
            })
            .collect();
        found.sort();
        found == wanted
    };
    let seen = settled(world, "charge and devices differ so", is).await;
    let lines: Vec<String> = wanted
        .iter()
        .map(|(job, resource, charged, consumed)| {
            format!(
                "{job}: {resource} charged {}, consumed {}",
                charged.unwrap_or(0),
                consumed.unwrap_or(0)
            )
        })
        .collect();
    seen.map_err(|failure| {
        in_vain(failure, |seen| {
            Failure::new("charge and devices do not differ so").versus(lines.join("\n"), seen)
        })
    })
}

async fn held_in_vain(world: &mut World, args: &Args) -> StepResult {
    let (wanted, text) = (args.count(), args.text("text"));
    let what = format!("{wanted} jobs hold quota and no device");
    world
        .until(UP, &what, async || {
            let accounts = world.accounts().await?;
            let pods = pods(world).await?;
            let mut idle: Vec<&str> = accounts
                .iter()
                .filter(|it| it.devices.is_empty())
                .map(|it| it.job.as_str())
                .collect();
            idle.sort_unstable();
            idle.dedup();
            let refused = |job: &str| {
                let mut mine = pods.iter().filter(|(of, _)| of == job);
                mine.any(|(_, pod)| matches!(&pod.state, State::Waiting(why) if why.contains(text)))
            };
            Ok(
                match idle.len() == wanted && idle.iter().all(|job| refused(job)) {
                    true => Probe::Ready(()),
                    false => Probe::NotYet(format!("{}\n{}", told(&accounts), shown(&pods))),
                },
            )
        })
        .await
}

async fn taken_back(world: &mut World, args: &Args) -> StepResult {
    let text = args.text("text");
    let what = format!("Kueue takes quota back, saying {text:?}");
    settle(world, args.duration(), &what, |all| {
        all.iter().any(|it| {
            let mut said = it.conditions.iter();
            !it.holds_quota() && said.any(|it| it.kind == "Evicted" && it.message.contains(text))
        })
    })
    .await
}

async fn evicted(world: &mut World, args: &Args) -> StepResult {
    let (name, text) = (args.text("name"), args.text("text"));
    let what = format!("Kueue takes the quota of job {name} back, saying {text:?}");
    settle(world, UP, &what, |all| {
        every(all, &[name], |it| waits(it, text))
    })
    .await
}

async fn held_for(world: &mut World, args: &Args) -> StepResult {
    let wanted = args.duration();
    let what = format!(
        "a job has held quota without a device for {} s",
        wanted.as_secs()
    );
    world
        .until(wanted + UP, &what, async || {
            let Some(queues) = &world.queues else {
                return Err(Failure::new("no step before has started Kueue"));
            };
            let now = Instant::now();
            let courses = queues.ledger.courses();
            let longest = courses.iter().max_by_key(|(_, it)| it.idle(now));
            Ok(match longest {
                Some((_, course)) if course.idle(now) >= wanted => Probe::Ready(()),
                Some((job, course)) => Probe::NotYet(format!(
                    "the longest is {job} with {} s",
                    course.idle(now).as_secs()
                )),
                None => Probe::NotYet("there is no Workload".to_owned()),
            })
        })
        .await
}
