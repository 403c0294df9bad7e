//! The runner and the steps against a cluster in memory: an honest one passes every scenario of this repository, and
//! each way of being wrong is caught by the scenario that is there to catch it.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects"
)]

mod hollow;

use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use hollow::{Hollow, Lie};
use report::{Emitter, Event, Outcome, Recorder, Results, RunEnd, RunStarted, Sink, What};
use scenario::{Filter, GateSet, NodeEvent, Options, Plan, Runner, SourceFile, Testbed, registry};
use tokio::sync::watch;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Recorder>>);

impl Sink for Kept {
    fn on(&mut self, event: &Event) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .on(event);
    }
}

impl Kept {
    fn results(&self) -> Results {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .results()
            .clone()
    }
}

fn ours(name: Option<&str>) -> Plan {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    // What a hollow cluster knows: pods that claim one partition or card each. Of gates it says nothing.
    let hollow = "(@partitioning or @allocation) and not (@own-claims or @misallocation)";
    let filter = Filter::parse(Some(hollow), name).expect("a filter");
    Plan::load(&registry(), &[root], &filter).expect("a plan")
}

fn text(feature: &str) -> Plan {
    Plan::of(
        &registry(),
        &[SourceFile::new("own.feature", feature)],
        &Filter::default(),
    )
    .expect("a plan")
}

/// Runs `plan` on a hollow cluster, in simulated time.
fn run(
    plan: &Plan,
    hollow: &Arc<Hollow>,
    options: Options,
    stop: &watch::Receiver<bool>,
) -> (RunEnd, Results) {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = Kept::default();
    let emitter = Emitter::new(vec![Box::new(kept.clone())]);
    emitter.emit(What::RunStarted(RunStarted {
        run: "test".to_owned(),
        command: "test".to_owned(),
        environment: hollow.environment(),
        scenarios: plan
            .scenarios
            .iter()
            .map(scenario::PlannedScenario::for_report)
            .collect(),
        unselected: plan.unselected,
        unplayed: plan.unplayed.clone(),
    }));
    let runner = Runner::new(
        Rc::new(registry()),
        emitter,
        folder.path().to_owned(),
        options,
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let end = runtime.block_on(runner.run(
        plan,
        Box::new(|_, asks| {
            hollow.launch(asks);
            let testbed: Arc<dyn Testbed> = Arc::<Hollow>::clone(hollow);
            async { Ok(testbed) }.boxed_local()
        }),
        stop.clone(),
    ));
    (end, kept.results())
}

fn never() -> watch::Receiver<bool> {
    watch::channel(false).1
}

#[test]
fn an_honest_cluster_passes_everything() {
    let hollow = Hollow::new(Lie::Nothing);
    let (end, results) = run(&ours(None), &hollow, Options::default(), &never());
    let failed: Vec<String> = results
        .scenarios
        .iter()
        .filter(|it| it.outcome != Outcome::Passed)
        .map(|it| format!("{}: {:?}", it.id, it.why()))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!(end, RunEnd::Passed);
    assert_eq!(hollow.count("pods"), 0, "nothing is left");
    assert_eq!(hollow.count("namespaces"), 0, "nothing is left");
    let pictured = results
        .scenarios
        .iter()
        .flat_map(|it| &it.steps)
        .filter(|step| step.picture.is_some())
        .count();
    assert!(pictured > 20, "pictures were taken: {pictured}");
}

/// What `lie` makes of the scenarios whose id matches `name`: the first failure, as text.
fn caught(lie: Lie, name: &str) -> String {
    let (end, results) = run(
        &ours(Some(name)),
        &Hollow::new(lie),
        Options::default(),
        &never(),
    );
    assert_eq!(end, RunEnd::Failed, "{lie:?} went through");
    let failed = results
        .scenarios
        .iter()
        .find(|it| it.outcome == Outcome::Failed)
        .expect("a failed scenario");
    let (step, failure) = failed.why().expect("a reason");
    assert!(failed.evidence.is_some(), "evidence was kept");
    let place = step.map_or_else(|| "tear-down".to_owned(), |step| step.text.clone());
    format!("{place}\n{}", failure.lines().join("\n"))
}

#[test]
fn every_lie_is_caught() {
    let seven = "eighth waits";
    let cases: [(Lie, &str, &[&str]); 16] = [
        (
            Lie::GivesTwice,
            seven,
            &["7 pods run", "expected:   7 running", "8 running"],
        ),
        (Lie::GivesOneLess, seven, &["7 pods run", "6 running"]),
        (
            Lie::IgnoresCounters,
            "largest first",
            &["3 pods run", "4 running"],
        ),
        (
            Lie::LastMatch,
            "second card",
            &["first device", "gpu-0-mig-4g20gb-5-0", "published order"],
        ),
        (
            Lie::OtherReason,
            seven,
            &["another reason", "untolerated taint"],
        ),
        (
            Lie::ForgetsWaiting,
            seven,
            &["not within 30 seconds", "pod-8: Pending"],
        ),
        (
            Lie::WrongProfile,
            "keeps an H100",
            &["asked for 1g.10gb and holds"],
        ),
        (
            Lie::CutsNothing,
            seven,
            &["each running pod sees", "not on the card"],
        ),
        (
            Lie::CutsNothing,
            "largest first",
            &[
                "claims, counters and the card agree",
                "is allocated and not on the card",
            ],
        ),
        (
            Lie::CutsElsewhere,
            "largest first",
            &["belongs to no claim"],
        ),
        (
            Lie::Leaves,
            "largest first",
            &["tear-down", "leaves something behind", "GPU instance"],
        ),
        (
            Lie::OffersBoth,
            "in partitions and only",
            &["the node offers", "1 whole cards"],
        ),
        (
            Lie::ShowsAll,
            seven,
            &["each running pod sees", "7 MIG devices", "is seen by"],
        ),
        (Lie::ShowsTheFirst, seven, &["is seen by"]),
        (Lie::ShowsNone, seven, &["0 MIG devices", "it sees nothing"]),
        (Lie::NoImage, seven, &["will not run", "ErrImageNeverPull"]),
    ];
    for (lie, name, words) in cases {
        let text = caught(lie, name);
        for word in words {
            assert!(
                text.contains(word),
                "{lie:?}: {word:?} is missing in:\n{text}"
            );
        }
    }
    let stuck = caught(Lie::NeverStarts, seven);
    assert!(
        stuck.contains("not within 45 seconds") && stuck.contains("ContainerCreating"),
        "{stuck}"
    );
}

const ONE: &str =
    "Feature: f\n  Background:\n    Given a node with 1 \"A100-SXM4-40GB\" in MIG mode\n";

#[test]
fn a_leak_fails_the_scenario_that_left_it_and_not_the_next() {
    let feature = format!(
        "{ONE}\n  Scenario: leaves\n    When a pod claims one \"1g.5gb\"\n    Then 1 pod runs\n\n  Scenario: clean\n    When a pod claims one \"1g.5gb\"\n    Then 1 pod runs\n    And claims, counters and the card agree\n"
    );
    let (end, results) = run(
        &text(&feature),
        &Hollow::new(Lie::Leaves),
        Options::default(),
        &never(),
    );
    assert_eq!(end, RunEnd::Failed);
    assert!(
        results.scenarios[0]
            .steps
            .iter()
            .all(|step| step.outcome == Outcome::Passed)
    );
    let failure = results.scenarios[0].failure.as_ref().expect("the leak");
    assert_eq!(failure.summary, "the scenario leaves something behind");
    assert!(
        failure
            .seen
            .as_deref()
            .is_some_and(|seen| seen.contains("GPU instance")),
        "{failure:?}"
    );
    assert!(results.scenarios[0].evidence.is_some());
}

#[test]
fn fail_fast_stops_and_keep_on_failure_tears_nothing_down() {
    let feature = format!(
        "{ONE}\n  Scenario: wrong\n    When a pod claims one \"1g.5gb\"\n    Then 2 pods run\n\n  Scenario: right\n    When a pod claims one \"1g.5gb\"\n    Then 1 pod runs\n"
    );
    let hollow = Hollow::new(Lie::Nothing);
    let (end, results) = run(&text(&feature), &hollow, Options::default(), &never());
    assert_eq!(
        (end, results.totals.passed, results.totals.failed),
        (RunEnd::Failed, 1, 1)
    );
    assert_eq!(hollow.count("pods"), 0);

    let options = Options {
        fail_fast: true,
        ..Options::default()
    };
    let (end, results) = run(&text(&feature), &hollow, options, &never());
    assert_eq!(
        (end, results.totals.not_run, results.totals.failed),
        (RunEnd::Failed, 1, 1)
    );
    assert_eq!(hollow.count("pods"), 0);

    let options = Options {
        keep_on_failure: true,
        ..Options::default()
    };
    let (end, results) = run(&text(&feature), &hollow, options, &never());
    assert_eq!((end, results.totals.not_run), (RunEnd::Failed, 1));
    assert_eq!(
        hollow.count("pods"),
        1,
        "the pod of the failed scenario is still there"
    );
    assert!(
        results.notices.iter().any(|text| text.contains("kept")),
        "{:?}",
        results.notices
    );
}

#[test]
fn what_needs_another_gate_is_left_out_with_the_reason_and_the_rest_runs() {
    let needs = "@needs:DRAPartitionableDevices";
    let scenario = |tag: &str, name: &str| {
        format!(
            "\n  {tag}\n  Scenario: {name}\n    When a pod claims a whole card\n    Then 1 pod runs\n"
        )
    };
    let head = "Feature: f\n  Background:\n    Given a node with 1 \"A100-SXM4-40GB\"\n";
    let options = || Options {
        gates: GateSet::Ga,
        ..Options::default()
    };
    let hollow = Hollow::new(Lie::Nothing);
    let both = text(&format!(
        "{head}{}{}",
        scenario(needs, "cut"),
        scenario("@a", "whole")
    ));
    let (end, results) = run(&both, &hollow, options(), &never());
    assert_eq!(
        (end, results.totals.passed, results.totals.not_run),
        (RunEnd::Passed, 1, 1)
    );
    let why = results.scenarios[0].left_out.as_deref().unwrap_or_default();
    assert!(why.contains("needs DRAPartitionableDevices"), "{why}");
    assert_eq!(results.scenarios[1].left_out, None);

    // Nothing is started for nothing, and that is no success.
    let one = text(&format!("{head}{}", scenario(needs, "cut")));
    let (end, results) = run(&one, &hollow, options(), &never());
    assert_eq!((end, results.totals.not_run), (RunEnd::NothingRan, 1));
    assert!(results.phases.is_empty(), "{:?}", results.phases);
    assert!(results.scenarios[0].left_out.is_some());

    let (end, _) = run(&both, &hollow, Options::default(), &never());
    assert_eq!(end, RunEnd::Passed);
}

#[test]
fn who_asks_for_the_same_shares_a_cluster_and_who_asks_for_nothing_is_first() {
    let scenario = |tags: &str, name: &str| {
        format!(
            "\n  {tags}\n  Scenario: {name}\n    When a pod claims a whole card\n    Then 1 pod runs\n"
        )
    };
    let head = "Feature: f\n  Background:\n    Given a node with 1 \"A100-SXM4-40GB\"\n";
    let gang = "@gates:GenericWorkload";
    let plan = text(&format!(
        "{head}{}{}{}{}{}",
        scenario(gang, "gang"),
        scenario("@a", "plain"),
        // On in this Kubernetes anyway.
        scenario("@gates:DRAPartitionableDevices", "on anyway"),
        scenario(&format!("{gang} @gates:DRAPartitionableDevices"), "both"),
        scenario(
            "@gates:DRADerivedAttributes @needs:DRADerivedAttributes",
            "alpha"
        ),
    ));
    let hollow = Hollow::new(Lie::Nothing);
    let (end, results) = run(&plan, &hollow, Options::default(), &never());
    assert_eq!((end, results.totals.passed), (RunEnd::Passed, 5));
    assert_eq!(
        hollow.launched(),
        ["", "GenericWorkload", "DRADerivedAttributes"]
    );
    let up: Vec<&str> = results
        .phases
        .iter()
        .filter(|phase| phase.phase == "cluster")
        .map(|phase| phase.detail.as_str())
        .collect();
    assert_eq!(up[1], "up, with GenericWorkload");

    let older = Options {
        version: oracle::Version::V1_34,
        ..Options::default()
    };
    let (_, results) = run(&plan, &Hollow::new(Lie::Nothing), older, &never());
    let why = results.scenarios[0].left_out.as_deref().unwrap_or_default();
    assert!(
        why.contains("does not exist in this Kubernetes 1.34"),
        "{why}"
    );
    assert_eq!(
        results.totals.passed, 2,
        "partitions can be turned on there"
    );
}

#[test]
fn who_comes_after_the_death_of_an_api_server_gets_another_cluster() {
    let plays = "    When a pod claims one \"1g.5gb\"\n    Then 1 pod runs\n";
    let feature = format!(
        "{ONE}\n  Scenario: first\n{plays}\n  Scenario: dies\n    When the API server is killed\n    Then 1 pod runs\n\n  Scenario: after\n{plays}\n  Scenario: last\n{plays}"
    );
    let hollow = Hollow::new(Lie::Nothing);
    let (end, results) = run(&text(&feature), &hollow, Options::default(), &never());
    assert_eq!(end, RunEnd::Failed);
    assert_eq!((results.totals.passed, results.totals.failed), (3, 1));
    assert_eq!(hollow.launched().len(), 2);

    let one = Options {
        fail_fast: true,
        ..Options::default()
    };
    let hollow = Hollow::new(Lie::Nothing);
    let (_, results) = run(&text(&feature), &hollow, one, &never());
    assert_eq!((results.totals.passed, hollow.launched().len()), (1, 1));
}

#[test]
fn what_must_fail_is_not_red_and_what_no_longer_fails_is() {
    let scenario = |name: &str, last: &str| {
        format!(
            "\n  @expected-fail:kubernetes-1\n  Scenario: {name}\n    When a pod claims one \"1g.5gb\"\n    {last}\n"
        )
    };
    let play = |feature: &str, lie: Lie| {
        run(
            &text(feature),
            &Hollow::new(lie),
            Options::default(),
            &never(),
        )
    };
    let wrong = format!("{ONE}{}", scenario("wrong", "Then 2 pods run"));
    let (end, results) = play(&wrong, Lie::Nothing);
    assert_eq!((end, results.totals.expected_failures), (RunEnd::Passed, 1));
    assert_eq!(results.scenarios[0].note().as_deref(), Some("kubernetes-1"));
    let unreported = wrong.replace("kubernetes-1", "kubernetes-unreported");
    let (_, results) = play(&unreported, Lie::Nothing);
    let note = results.scenarios[0].note().unwrap_or_default();
    assert_eq!(note, "kubernetes, in no public report that is known");

    let mended = format!("{ONE}{}", scenario("mended", "Then 1 pod runs"));
    let (end, results) = play(&mended, Lie::Nothing);
    assert_eq!((end, results.totals.failed), (RunEnd::Failed, 1));
    let (_, failure) = results.scenarios[0].why().expect("a reason");
    assert!(failure.summary.contains("mended upstream"), "{failure:?}");

    // What it does before it asserts must hold, and it may leave nothing behind.
    let early = format!(
        "{ONE}\n  @expected-fail:kubernetes-1\n  Scenario: early\n    When the driver on the node is killed\n    Then 1 pod runs\n"
    );
    let (end, results) = play(&early, Lie::Nothing);
    assert_eq!((end, results.totals.failed), (RunEnd::Failed, 1));
    let (end, _) = play(&mended, Lie::Leaves);
    assert_eq!(end, RunEnd::Failed);
    // The first assertions say that what is reported could be brought about, where others follow.
    let then = |first: u32, second: u32| {
        let last = format!(
            "Then {first} pods run\n    When a pod claims one \"1g.5gb\"\n    Then {second} pods run"
        );
        let (end, results) = play(&format!("{ONE}{}", scenario("two", &last)), Lie::Nothing);
        (end, results.totals.expected_failures)
    };
    assert_eq!(then(1, 3), (RunEnd::Passed, 1));
    assert_eq!(then(2, 2), (RunEnd::Failed, 0));
}

#[test]
fn the_tear_down_revives_the_driver_and_goes_on_where_that_fails() {
    let feature = format!(
        "{ONE}\n  Scenario: dies\n    When a pod claims one \"1g.5gb\"\n    And the driver on the node is killed\n    Then 1 pod runs\n"
    );
    let hollow = Hollow::new(Lie::Nothing);
    let (end, _) = run(&text(&feature), &hollow, Options::default(), &never());
    assert_eq!(end, RunEnd::Failed);
    assert_eq!(
        hollow.befallen(),
        [NodeEvent::DriverKilled, NodeEvent::DriverRevived]
    );
    assert_eq!((hollow.count("pods"), hollow.count("namespaces")), (0, 0));
}

#[test]
fn the_tear_down_gives_the_driver_the_gates_that_its_node_was_made_with() {
    let step =
        "When the driver on the node is restarted with the feature gates \"DynamicMIG=false\"";
    let feature = format!("{ONE}\n  Scenario: other gates\n    {step}\n    Then 1 pod runs\n");
    let hollow = Hollow::new(Lie::Nothing);
    let (end, _) = run(&text(&feature), &hollow, Options::default(), &never());
    assert_eq!(end, RunEnd::Failed);
    let gates = |gates: &[(&str, bool)]| {
        let gates = gates.iter().map(|(name, on)| ((*name).to_owned(), *on));
        NodeEvent::DriverRegated(gates.collect())
    };
    assert_eq!(
        hollow.befallen(),
        [gates(&[("DynamicMIG", false)]), gates(&[])]
    );
}

#[test]
fn what_is_not_deterministic_is_tried_and_never_red() {
    let feature = format!(
        "{ONE}\n  @nondeterministic\n  Scenario: racy\n    When a pod claims one \"1g.5gb\"\n    Then 1 pod runs\n"
    );
    let options = || Options {
        tries: 2,
        ..Options::default()
    };
    let often = |lie: Lie| {
        let hollow = Hollow::new(lie);
        let (end, results) = run(&text(&feature), &hollow, options(), &never());
        assert_eq!(end, RunEnd::Passed, "{lie:?}");
        assert_eq!(results.totals.varied, 1, "{lie:?}");
        assert_eq!(hollow.count("namespaces"), 0, "nothing is left");
        let often = results.scenarios[0].frequency.expect("a frequency");
        (often.held, often.tries)
    };
    assert_eq!(often(Lie::Nothing), (2, 2));
    // One partition is left once; the card is made anew, and the second try is clean.
    assert_eq!(often(Lie::Leaves), (0, 2));
    assert_eq!(often(Lie::NoImage), (0, 2));
}

#[test]
fn steps_that_name_a_pod_are_about_that_pod() {
    let play = |steps: &str, lie: Lie| {
        let feature = format!("{ONE}\n  Scenario: named\n{steps}");
        let (end, results) = run(
            &text(&feature),
            &Hollow::new(lie),
            Options::default(),
            &never(),
        );
        let why = results.scenarios[0]
            .why()
            .map(|(_, failure)| failure.lines().join("\n"));
        assert_eq!(end == RunEnd::Passed, why.is_none());
        why.unwrap_or_default()
    };
    let one = "    When a pod claims one \"1g.5gb\"\n";
    let gets = format!(
        "{one}    Then pod \"pod-1\" runs\n    And pod \"pod-1\" gets \"gpu-0-mig-1g5gb-19-0\"\n    And pod \"pod-1\" keeps running for 2 seconds\n"
    );
    assert_eq!(play(&gets, Lie::Nothing), "");
    let last = play(&gets, Lie::LastMatch);
    assert!(
        last.contains("has got something else") && last.contains("node-1/gpu-0-mig-1g5gb-19-6"),
        "{last}"
    );
    assert!(play(&gets, Lie::NoImage).contains("will not run"));
    let pooled = gets.replace("\"gpu-0-mig", "\"node-1/gpu-0-mig");
    assert_eq!(play(&pooled, Lie::Nothing), "");
    assert!(play(&pooled.replace("node-1/", "node-2/"), Lie::Nothing).contains("something else"));
    let waits = format!("{one}    Then pod \"pod-1\" waits\n");
    assert!(play(&waits, Lie::Nothing).contains("does not wait"));
    let other = "    When 8 pods each claim one \"1g.5gb\"\n    Then pod \"pod-8\" waits, and the scheduler says it \"cannot allocate all claims\"\n";
    assert_eq!(play(other, Lie::Nothing), "");
    assert!(play(other, Lie::OtherReason).contains("does not wait as it should"));
    let absent = format!("{one}    Then pod \"pod-2\" runs\n");
    assert!(play(&absent, Lie::Nothing).contains("there is no such pod"));
    for step in [
        "Then pod \"pod-2\" is gone within 1 second",
        "Then pod \"pod-2\" is evicted within 1 second",
        "When pod \"pod-2\" ends\n    Then 1 pod runs",
    ] {
        let never_was = play(&format!("{one}    {step}\n"), Lie::Nothing);
        assert!(never_was.contains("made no pod \"pod-2\""), "{never_was}");
    }
}

#[test]
fn a_dead_component_ends_the_run_as_broken_and_is_named() {
    let (end, results) = run(
        &ours(None),
        &Hollow::new(Lie::Dies),
        Options::default(),
        &never(),
    );
    assert_eq!(
        end,
        RunEnd::Broken {
            message: "etcd ended".to_owned()
        }
    );
    assert_eq!(results.totals.failed, 1);
    assert_eq!(results.totals.not_run, results.scenarios.len() - 1);
}

#[test]
fn an_interrupt_ends_the_run_and_nothing_counts_as_passed() {
    let (sender, stop) = watch::channel(false);
    sender.send(true).expect("a receiver");
    let (end, results) = run(
        &ours(None),
        &Hollow::new(Lie::Nothing),
        Options::default(),
        &stop,
    );
    assert_eq!(end, RunEnd::Interrupted);
    assert_eq!(results.totals.passed, 0);
    assert_eq!(results.totals.not_run, results.scenarios.len());
}

#[test]
fn an_empty_plan_runs_nothing() {
    let plan = ours(Some("there is no such scenario"));
    let (end, _) = run(
        &plan,
        &Hollow::new(Lie::Nothing),
        Options::default(),
        &never(),
    );
    assert_eq!(end, RunEnd::NothingRan);
}
