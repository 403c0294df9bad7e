//! Runs a plan: a cluster for all scenarios that ask for the same one, a namespace for each scenario, cards clean in between. Emits events and decides nothing
//! about how they are shown.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::LocalBoxFuture;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{Api, DeleteParams, ListParams};
use report::{Emitter, Failure, Frequency, Outcome, RunEnd, What};
use tokio::sync::watch;

use crate::asks::Asks;
use crate::expectation::{self, Expectation};
use crate::gates::GateSet;
use crate::plan::{Plan, PlannedScenario};
use crate::registry::{Kind, Registry};
use crate::steps::card::leftovers;
use crate::steps::nodes_of;
use crate::testbed::{ApiServerEvent, NodeCards, NodeEvent, NodeWish, Testbed, TestbedError};
use crate::wait::{Probe, in_vain, until};
use crate::world::World;
use crate::{evidence, picture};

/// Starts a cluster that has what its scenarios ask for, with these nodes where the first one is known to want them.
pub type Launch<'a> = Box<
    dyn Fn(Vec<NodeWish>, Asks) -> LocalBoxFuture<'a, Result<Arc<dyn Testbed>, TestbedError>> + 'a,
>;

/// How the scenarios of one cluster ended.
enum Ended {
    /// All were played, and none is red.
    Well,
    /// One is red. The others were played.
    Failed,
    /// Nothing more is to be played.
    Stop(RunEnd),
}

/// How a run goes on after a failure.
#[derive(Debug, Clone)]
pub struct Options {
    /// Stop at the first scenario that fails.
    pub fail_fast: bool,
    /// Stop at the first scenario that fails, and leave everything as it is.
    pub keep_on_failure: bool,
    /// Ending of namespaces, where several programs share a cluster.
    pub suffix: String,
    /// The feature gates of the run: a scenario that needs another one is not run.
    pub gates: GateSet,
    /// The Kubernetes of the run.
    pub version: oracle::Version,
    /// How often a scenario that is not deterministic is tried.
    pub tries: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fail_fast: false,
            keep_on_failure: false,
            suffix: String::new(),
            gates: GateSet::Default,
            version: oracle::Version::NEWEST,
            tries: 3,
        }
    }
}

/// Runs scenarios of one run.
pub struct Runner {
    registry: Rc<Registry>,
    emitter: Emitter,
    folder: PathBuf,
    options: Options,
}

/// How one scenario ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// As specified.
    Passed,
    /// Not as specified.
    Failed(Failure),
    /// Not as specified, and expected to be so.
    FailedAsExpected,
    /// Tried several times, without judgement.
    Varied(Frequency),
    /// Somebody stopped it.
    Interrupted,
    /// The cluster is gone; no scenario after it can run.
    Broken(String),
}

/// How one try ended, the failure that no step has, and whether what failed is an assertion that may be expected to.
struct Tried(Verdict, Option<Failure>, bool);

/// How long a tear-down may take.
const TEARDOWN: Duration = Duration::from_secs(60);
/// The same after a failure: what could not be cleaned up then stays so, and the next scenario gets the node anew.
const TEARDOWN_IN_VAIN: Duration = Duration::from_secs(10);
/// How long evidence may take.
const EVIDENCE: Duration = Duration::from_secs(30);
/// How long a picture may take.
const PICTURE: Duration = Duration::from_secs(3);

impl Runner {
    /// A runner that emits into `emitter` and keeps evidence under `folder`.
    #[must_use]
    pub fn new(
        registry: Rc<Registry>,
        emitter: Emitter,
        folder: PathBuf,
        options: Options,
    ) -> Self {
        Self {
            registry,
            emitter,
            folder,
            options,
        }
    }

    /// Components that scenarios which this run can play start beyond those that every cluster has.
    #[must_use]
    pub fn needs(&self, plan: &Plan) -> BTreeSet<&'static str> {
        let Options { gates, version, .. } = self.options;
        let played = plan.scenarios.iter();
        let played = played.filter(|it| it.missing(gates, version).is_none());
        let of = |it: &PlannedScenario| {
            let by_tags: Vec<&'static str> = it.asks().components().collect();
            let steps = it
                .bound
                .iter()
                .filter_map(|(at, _)| self.registry.steps().get(*at));
            let by_steps: Vec<&'static str> = steps.flat_map(|def| def.needs).copied().collect();
            by_tags.into_iter().chain(by_steps)
        };
        played.flat_map(of).collect()
    }

    /// The nodes that the first step of a scenario asks for: a cluster can start in that shape.
    #[must_use]
    pub fn nodes_of(&self, planned: &PlannedScenario) -> Vec<NodeWish> {
        planned
            .bound
            .first()
            .and_then(|(def, args)| nodes_of(self.registry.steps().get(*def)?.expression, args))
            .unwrap_or_default()
    }

    /// Runs the whole plan. `stop` turns true when somebody wants to end it. Each cluster is stopped at its end, unless
    /// a failure is to be kept; then how to reach it is in a notice.
    pub async fn run(
        &self,
        plan: &Plan,
        launch: Launch<'_>,
        stop: watch::Receiver<bool>,
    ) -> RunEnd {
        let clusters = self.clusters(plan);
        if clusters.is_empty() {
            return RunEnd::NothingRan;
        }
        let mut end = RunEnd::Passed;
        for (asks, scenarios) in clusters {
            let scenarios: Vec<(usize, &PlannedScenario)> = scenarios
                .into_iter()
                .filter_map(|index| Some((index, plan.scenarios.get(index)?)))
                .collect();
            let mut rest = scenarios.as_slice();
            while !rest.is_empty() {
                let (ended, played) = self.on_one(asks.clone(), rest, &launch, &stop).await;
                match ended {
                    Ended::Well => {}
                    Ended::Failed if self.options.fail_fast => return RunEnd::Failed,
                    Ended::Failed => end = RunEnd::Failed,
                    Ended::Stop(end) => return end,
                }
                rest = rest.get(played..).unwrap_or_default();
            }
        }
        end
    }

    /// The clusters that the plan takes, each with its scenarios; the one that nobody asks anything of first. Says of
    /// scenarios that cannot run that they are left out.
    fn clusters(&self, plan: &Plan) -> Vec<(Asks, Vec<usize>)> {
        let Options { gates, version, .. } = self.options;
        let mut clusters: Vec<(Asks, Vec<usize>)> = vec![(Asks::default(), Vec::new())];
        for (index, planned) in plan.scenarios.iter().enumerate() {
            if self.leave_out(index, planned) {
                continue;
            }
            let asks = planned.asks();
            let fits = |(have, _): &&mut (Asks, _)| have.share(&asks, gates, version);
            match clusters.iter_mut().find(fits) {
                Some((_, scenarios)) => scenarios.push(index),
                None => clusters.push((asks, vec![index])),
            }
        }
        clusters.retain(|(_, scenarios)| !scenarios.is_empty());
        clusters
    }

    /// Runs scenarios on one cluster until it is worn, and says how many it has run.
    async fn on_one(
        &self,
        asks: Asks,
        scenarios: &[(usize, &PlannedScenario)],
        launch: &Launch<'_>,
        stop: &watch::Receiver<bool>,
    ) -> (Ended, usize) {
        let first = scenarios.first().map(|(_, planned)| self.nodes_of(planned));
        let up = if asks.is_empty() {
            "up".to_owned()
        } else {
            format!("up, with {asks}")
        };
        let started = Instant::now();
        self.emitter.emit(What::PhaseStarted {
            phase: "cluster".to_owned(),
        });
        let launched = tokio::select! {
            launched = launch(first.unwrap_or_default(), asks) => launched,
            () = stopped(stop.clone()) => {
                self.phase("cluster", Outcome::NotRun, "interrupted while starting", started);
                return (Ended::Stop(RunEnd::Interrupted), 0);
            }
        };
        let testbed = match launched {
            Ok(testbed) => testbed,
            Err(error) => {
                self.phase("cluster", Outcome::Failed, "did not start", started);
                let message = error.message;
                return (Ended::Stop(RunEnd::Broken { message }), 0);
            }
        };
        self.phase("cluster", Outcome::Passed, &up, started);
        self.emitter
            .emit(What::EnvironmentKnown(testbed.environment()));
        let mut ended = Ended::Well;
        let mut played = 0;
        for (index, planned) in scenarios {
            if testbed.worn() {
                break;
            }
            played += 1;
            match self.scenario(*index, planned, &testbed, stop.clone()).await {
                Verdict::Passed | Verdict::FailedAsExpected | Verdict::Varied(_) => {}
                Verdict::Failed(_) => {
                    ended = Ended::Failed;
                    if self.options.fail_fast || self.options.keep_on_failure {
                        break;
                    }
                }
                Verdict::Interrupted => {
                    ended = Ended::Stop(RunEnd::Interrupted);
                    break;
                }
                Verdict::Broken(message) => {
                    ended = Ended::Stop(RunEnd::Broken { message });
                    break;
                }
            }
        }
        if matches!(ended, Ended::Failed) && self.options.keep_on_failure {
            self.emitter.emit(What::Notice {
                text: format!("the cluster is kept: {}", testbed.how_to_reach()),
            });
            return (Ended::Stop(RunEnd::Failed), played);
        }
        let started = Instant::now();
        self.emitter.emit(What::PhaseStarted {
            phase: "tear-down".to_owned(),
        });
        match testbed.stop().await {
            Ok(()) => self.phase("tear-down", Outcome::Passed, "nothing is left", started),
            Err(error) => {
                self.phase("tear-down", Outcome::Failed, &error.message, started);
                if matches!(ended, Ended::Well) {
                    ended = Ended::Stop(RunEnd::Broken {
                        message: error.message,
                    });
                }
            }
        }
        (ended, played)
    }

    fn phase(&self, phase: &str, outcome: Outcome, detail: &str, started: Instant) {
        self.emitter.emit(What::PhaseFinished {
            phase: phase.to_owned(),
            outcome,
            detail: detail.to_owned(),
            millis: millis(started),
        });
    }

    /// Says so where a scenario cannot run.
    fn leave_out(&self, index: usize, planned: &PlannedScenario) -> bool {
        let Options { gates, version, .. } = self.options;
        let reason = planned.missing(gates, version);
        let left_out = reason.is_some();
        if let Some(reason) = reason {
            self.emitter.emit(What::ScenarioLeftOut {
                scenario: index,
                reason,
            });
        }
        left_out
    }

    /// Runs one scenario on a cluster that is up, as often as its tags say.
    pub async fn scenario(
        &self,
        index: usize,
        planned: &PlannedScenario,
        testbed: &Arc<dyn Testbed>,
        stop: watch::Receiver<bool>,
    ) -> Verdict {
        let started = Instant::now();
        let mut often = Frequency { held: 0, tries: 0 };
        let (verdict, own_failure) = loop {
            let suffix = match often.tries {
                0 => self.options.suffix.clone(),
                n => format!("-{}{}", n + 1, self.options.suffix),
            };
            let namespace = namespace_of(index, &planned.scenario.name, &suffix);
            let tried = self
                .attempt(index, planned, testbed, namespace, stop.clone())
                .await;
            let varies = expectation::of(&planned.scenario.tags) == Expectation::Varies;
            match &tried.0 {
                Verdict::Passed if varies => often.held += 1,
                Verdict::Failed(_) if varies => {}
                _ => break self.judge(planned, tried),
            }
            often.tries += 1;
            if often.tries >= self.options.tries.max(1) {
                break (Verdict::Varied(often), None);
            }
        };
        let (outcome, frequency) = match &verdict {
            Verdict::Passed => (Outcome::Passed, None),
            Verdict::Failed(_) | Verdict::Broken(_) => (Outcome::Failed, None),
            Verdict::FailedAsExpected => (Outcome::ExpectedFailure, None),
            Verdict::Varied(often) => (Outcome::Varied, Some(*often)),
            Verdict::Interrupted => (Outcome::NotRun, None),
        };
        self.emitter.emit(What::ScenarioFinished {
            scenario: index,
            outcome,
            millis: millis(started),
            failure: own_failure,
            frequency,
        });
        verdict
    }

    /// What a try means for a scenario that must fail.
    fn judge(&self, planned: &PlannedScenario, tried: Tried) -> (Verdict, Option<Failure>) {
        let Expectation::Fails(number) = expectation::of(&planned.scenario.tags) else {
            return (tried.0, tried.1);
        };
        match tried {
            // Only what it asserts is expected to be wrong: not that a node comes up, nor that what was reported could be
            // brought about, nor that nothing is left.
            Tried(Verdict::Failed(_), None, true) => (Verdict::FailedAsExpected, None),
            Tried(Verdict::Passed, _, _) => {
                let mended = Failure::new(format!(
                    "mended upstream: take the tag @expected-fail:{number} away"
                ))
                .versus("a failure, as reported", "every step passed");
                (Verdict::Failed(mended.clone()), Some(mended))
            }
            Tried(verdict, failure, _) => (verdict, failure),
        }
    }

    /// Runs a scenario once.
    async fn attempt(
        &self,
        index: usize,
        planned: &PlannedScenario,
        testbed: &Arc<dyn Testbed>,
        namespace: String,
        stop: watch::Receiver<bool>,
    ) -> Tried {
        let mut asserted = false;
        let kinds: Vec<Option<Kind>> = planned
            .bound
            .iter()
            .map(|(def, _)| self.registry.steps().get(*def).map(|def| def.kind))
            .collect();
        self.emitter.emit(What::ScenarioStarted { scenario: index });
        let step_now = Rc::new(std::cell::Cell::new(0));
        let tell: Rc<dyn Fn(&str)> = {
            let (emitter, step_now) = (self.emitter.clone(), Rc::clone(&step_now));
            Rc::new(move |state: &str| {
                let state = state
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .chars()
                    .take(160)
                    .collect();
                emitter.emit(What::StepWaiting {
                    scenario: index,
                    step: step_now.get(),
                    state,
                });
            })
        };
        let mut world = World::new(Arc::clone(testbed), namespace, tell);
        let name = format!("{:02}-{}", index + 1, slug(&planned.scenario.name, 48));
        world.keep = Some(self.folder.join("recordings").join(name));
        let (mut verdict, mut own_failure) = (Verdict::Passed, None);
        if let Err(failure) = world.open().await {
            verdict = Verdict::Failed(failure.clone());
            own_failure = Some(failure);
        }
        for (step, (def, args)) in planned.bound.iter().enumerate() {
            if verdict != Verdict::Passed {
                self.step_finished(index, step, Outcome::NotRun, 0, None);
                continue;
            }
            step_now.set(step);
            self.emitter.emit(What::StepStarted {
                scenario: index,
                step,
            });
            let at = Instant::now();
            let Some(def) = self.registry.steps().get(*def) else {
                continue;
            };
            let result = tokio::select! {
                result = tokio::time::timeout(def.timeout, (def.run)(&mut world, args)) => Some(result),
                () = stopped(stop.clone()) => None,
            };
            let result = match result {
                None => {
                    verdict = Verdict::Interrupted;
                    self.step_finished(index, step, Outcome::NotRun, millis(at), None);
                    continue;
                }
                Some(Ok(result)) => result,
                Some(Err(_)) => {
                    let last = world
                        .look()
                        .await
                        .map_or_else(|failure| failure.summary, |sight| sight.lines());
                    Err(Failure::new(format!(
                        "the step was not done within {} s",
                        def.timeout.as_secs()
                    ))
                    .last(last))
                }
            };
            let took = millis(at);
            if let Ok(Some(picture)) = tokio::time::timeout(PICTURE, picture::take(&world)).await {
                self.emitter.emit(What::PictureTaken {
                    scenario: index,
                    step,
                    picture,
                });
            }
            match result {
                Ok(()) => self.step_finished(index, step, Outcome::Passed, took, None),
                Err(failure) => {
                    self.step_finished(index, step, Outcome::Failed, took, Some(failure.clone()));
                    asserted = expectation::may_fail(&kinds, step);
                    verdict = Verdict::Failed(failure);
                }
            }
        }
        let courses = world.admission_table();
        for table in std::mem::take(&mut world.tables).into_iter().chain(courses) {
            let scenario = index;
            self.emitter.emit(What::TableKept { scenario, table });
        }
        if matches!(verdict, Verdict::Failed(_)) {
            self.keep_evidence(index, planned, testbed.as_ref(), world.namespace())
                .await;
        }
        let mut broken = world.broken();
        if broken.is_none() && matches!(verdict, Verdict::Failed(_)) {
            broken = testbed.check().await.err().map(|error| error.message);
        }
        if let Some(message) = broken {
            return Tried(Verdict::Broken(message), own_failure, false);
        }
        let keep = self.options.keep_on_failure && matches!(verdict, Verdict::Failed(_));
        let limit = match verdict {
            Verdict::Passed => TEARDOWN,
            _ => TEARDOWN_IN_VAIN,
        };
        if !keep
            && verdict != Verdict::Interrupted
            && let Err(failure) = teardown(testbed.as_ref(), &mut world, limit).await
            // A scenario that failed before has said what matters; one that passed has left something behind.
            && verdict == Verdict::Passed
        {
            self.keep_evidence(index, planned, testbed.as_ref(), world.namespace())
                .await;
            verdict = Verdict::Failed(failure.clone());
            own_failure = Some(failure);
        }
        Tried(verdict, own_failure, asserted)
    }

    fn step_finished(
        &self,
        scenario: usize,
        step: usize,
        outcome: Outcome,
        millis: u64,
        failure: Option<Failure>,
    ) {
        self.emitter.emit(What::StepFinished {
            scenario,
            step,
            outcome,
            millis,
            failure,
        });
    }

    async fn keep_evidence(
        &self,
        index: usize,
        planned: &PlannedScenario,
        testbed: &dyn Testbed,
        namespace: &str,
    ) {
        let folder = format!(
            "evidence/{:02}-{}",
            index + 1,
            slug(&planned.scenario.name, 48)
        );
        let gathered = tokio::time::timeout(
            EVIDENCE,
            evidence::gather(testbed, namespace, &self.folder.join(&folder)),
        )
        .await;
        self.emitter.emit(What::EvidenceKept {
            scenario: index,
            folder,
            files: gathered.unwrap_or_default(),
        });
    }
}

/// Ends all pods of the namespace, waits until their devices are free and the cards are clean, and drops the namespace.
async fn teardown(
    testbed: &dyn Testbed,
    world: &mut World,
    limit: Duration,
) -> Result<(), Failure> {
    if std::mem::take(&mut world.without_api) {
        let back = testbed.api_server(ApiServerEvent::Revived).await;
        back.map_err(|error| Failure::new(error.message))?;
    }
    // First, since a Deployment would make its pods anew and a taint would keep them away from whoever comes next.
    let mut first = world.take_all_back().await;
    first = first.and(world.end_schedulers().await);
    first = first.and(world.end_queues().await);
    first = first.and(world.end_watch().await);
    // Nothing can be cleaned up while calls go wrong, or the driver is not there or another one than before.
    let mut mended: Vec<(String, NodeEvent)> = Vec::new();
    for node in std::mem::take(&mut world.faulty) {
        mended.push((node, NodeEvent::FaultsCleared));
    }
    let regated = std::mem::take(&mut world.regated);
    for node in std::mem::take(&mut world.driverless) {
        if !regated.contains(&node) {
            mended.push((node, NodeEvent::DriverRevived));
        }
    }
    for node in regated {
        let wish = world.nodes.iter().find(|wish| wish.name == node);
        let gates = wish.map(|wish| wish.driver_gates.clone());
        mended.push((node, NodeEvent::DriverRegated(gates.unwrap_or_default())));
    }
    for (node, event) in mended {
        let done = testbed.befall(&node, event).await;
        first = first.and(done.map_err(|error| Failure::new(error.message)));
    }
    let (namespace, nodes) = (world.namespace(), &world.nodes);
    let pods: Api<Pod> = Api::namespaced(testbed.client(), namespace);
    let api = |what: &str, error: &kube::Error| {
        Failure::new(format!("tear-down: cannot {what}: {error}"))
    };
    let running = pods
        .list(&ListParams::default())
        .await
        .map_err(|error| api("list the pods", &error))?;
    for name in running
        .items
        .into_iter()
        .filter_map(|pod| pod.metadata.name)
    {
        match pods.delete(&name, &DeleteParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(api(&format!("delete {name}"), &error)),
        }
    }
    let clean = until(
        limit,
        "the scenario leaves the cards as it found them",
        |_| {},
        async || {
            let left = pods
                .list(&ListParams::default())
                .await
                .map_err(|error| api("list the pods", &error))?;
            let mut lines: Vec<String> = left
                .items
                .iter()
                .map(|pod| {
                    format!(
                        "the pod {}",
                        pod.metadata.name.as_deref().unwrap_or_default()
                    )
                })
                .collect();
            let claims: Api<k8s_openapi::api::resource::v1::ResourceClaim> =
                Api::all(testbed.client());
            let claims = claims
                .list(&ListParams::default())
                .await
                .map_err(|error| api("list the claims", &error))?;
            let cards = testbed
                .cards()
                .await
                .map_err(|error| Failure::new(error.message))?;
            // What a node was cut into at its boot is no trace of the scenario.
            let cut = |node: &NodeCards| {
                let wish = nodes.iter().find(|wish| wish.name == node.node);
                wish.is_some_and(|wish| !wish.cut.is_empty())
            };
            let cards: Vec<NodeCards> = cards.into_iter().filter(|node| !cut(node)).collect();
            lines.extend(leftovers(&crate::allocation::held(&claims.items), &cards));
            Ok(if lines.is_empty() {
                Probe::Ready(())
            } else {
                Probe::NotYet(lines.join("\n"))
            })
        },
    )
    .await;
    let namespaces: Api<Namespace> = Api::all(testbed.client());
    // Not waited for: nothing of a scenario is in it any more, and the controller takes seconds.
    let _ = namespaces
        .delete(namespace, &DeleteParams::background())
        .await;
    clean.map_err(|failure| {
        in_vain(failure, |seen| {
            Failure::new("the scenario leaves something behind")
                .versus("no pod, no allocated device, no GPU instance", seen)
        })
    })?;
    first
}

/// Returns once somebody wants to stop; never where nobody can.
async fn stopped(mut stop: watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn namespace_of(index: usize, name: &str, suffix: &str) -> String {
    format!("s{}-{}{suffix}", index + 1, slug(name, 40))
}

/// `Seven small jobs run!` → `seven-small-jobs-run`.
fn slug(name: &str, limit: usize) -> String {
    let mut slug = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
        if slug.len() >= limit {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        "scenario".to_owned()
    } else {
        slug.to_owned()
    }
}
