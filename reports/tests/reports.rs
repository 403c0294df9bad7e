//! One made-up run through every sink.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects"
)]

use std::sync::{Arc, Mutex, PoisonError};

use report::{
    Card, EVENT_SCHEMA, Emitter, Environment, EnvironmentKind, Event, Failure, FileSinks,
    Frequency, Log, NodePicture, Outcome, Partition, Picture, Plain, PlannedScenario, PlannedStep,
    Recorder, Results, RunEnd, RunStarted, Sink, Unplayed, Waiting, What,
};

fn planned(name: &str, steps: &[(&str, &str)]) -> PlannedScenario {
    PlannedScenario {
        id: format!("partitioning/seven::{name}"),
        feature: "An A100 cut in seven".to_owned(),
        about: "Seven small jobs <share> a card.".to_owned(),
        name: name.to_owned(),
        file: "scenarios/partitioning/seven.feature".to_owned(),
        line: 7,
        tags: vec!["@smoke".to_owned()],
        steps: steps
            .iter()
            .enumerate()
            .map(|(at, (keyword, text))| PlannedStep {
                keyword: (*keyword).to_owned(),
                text: (*text).to_owned(),
                block: None,
                line: 8 + at,
                background: at == 0,
            })
            .collect(),
    }
}

fn environment() -> Environment {
    Environment {
        kind: EnvironmentKind::Mock,
        backend: "process".to_owned(),
        sliceproof: "0.1.0".to_owned(),
        machine: [("kernel".to_owned(), "Linux 6.18".to_owned())].into(),
        components: [
            ("kubelet".to_owned(), "1.37.2".to_owned()),
            ("gpu-kubelet-plugin".to_owned(), "0.4.1".to_owned()),
        ]
        .into(),
    }
}

fn partition(start: u32, profile: &str, size: u32, pod: Option<&str>) -> Partition {
    Partition {
        profile: profile.to_owned(),
        start,
        size,
        gpu_instance: 7 + start,
        pod: pod.map(str::to_owned),
    }
}

fn picture(partitions: Vec<Partition>, waits: bool) -> Picture {
    let card = Card {
        index: 0,
        model: "A100-SXM4-40GB".to_owned(),
        uuid: "GPU-1".to_owned(),
        mig: true,
        memory_slices: 8,
        partitions,
        whole: None,
    };
    let waiting = Waiting {
        pod: "pod-3".to_owned(),
        asks: "4g.20gb".to_owned(),
        why: "1 cannot allocate all claims".to_owned(),
    };
    Picture {
        nodes: vec![NodePicture {
            node: "node-1".to_owned(),
            cards: vec![card],
        }],
        waiting: if waits { vec![waiting] } else { Vec::new() },
    }
}

/// The events of a run of four scenarios: one passes, one fails, one is not reached, one cannot be run.
fn events() -> Vec<Event> {
    let step = |scenario, step, outcome, millis, failure| What::StepFinished {
        scenario,
        step,
        outcome,
        millis,
        failure,
    };
    let failure = Failure::new("another number of pods runs")
        .versus("7 running", "6 running\npod-7: Pending <x>")
        .help("look at the events");
    let pods = |upto: u32| {
        (0..upto)
            .map(|at| partition(at, "1g.5gb", 1, Some(&format!("pod-{}", at + 1))))
            .collect()
    };
    let all = vec![
        What::RunStarted(RunStarted {
            run: "2026-01-01T00-00-00-abcd".to_owned(),
            command: "sliceproof test scenarios/".to_owned(),
            environment: environment(),
            scenarios: vec![
                planned(
                    "seven run",
                    &[
                        ("Given", "a node"),
                        ("When", "8 pods each claim one \"1g.5gb\""),
                        ("Then", "7 pods run"),
                    ],
                ),
                planned(
                    "it fails",
                    &[
                        ("Given", "a node"),
                        ("Then", "7 pods run"),
                        ("And", "the card is whole"),
                    ],
                ),
                planned(
                    "not reached",
                    &[("Given", "a node"), ("Then", "7 pods run")],
                ),
                planned("left out", &[("Given", "a node"), ("Then", "7 pods run")]),
                PlannedScenario {
                    tags: vec!["@expected-fail:kubernetes-140802".to_owned()],
                    ..planned("wrong upstream", &[("Then", "7 pods run")])
                },
                planned("now and then", &[("Then", "7 pods run")]),
            ],
            unselected: 2,
            unplayed: vec![Unplayed {
                number: "kubernetes-1".to_owned(),
                title: "something <else>".to_owned(),
                reason: "it takes hardware".to_owned(),
            }],
        }),
        What::PhaseStarted {
            phase: "cluster".to_owned(),
        },
        What::PhaseProgress {
            phase: "cluster".to_owned(),
            detail: "API server is ready".to_owned(),
        },
        What::PhaseFinished {
            phase: "cluster".to_owned(),
            outcome: Outcome::Passed,
            detail: "up".to_owned(),
            millis: 6200,
        },
        What::EnvironmentKnown(environment()),
        What::ScenarioStarted { scenario: 0 },
        What::StepStarted {
            scenario: 0,
            step: 0,
        },
        step(0, 0, Outcome::Passed, 900, None),
        What::PictureTaken {
            scenario: 0,
            step: 0,
            picture: picture(Vec::new(), false),
        },
        What::StepStarted {
            scenario: 0,
            step: 1,
        },
        What::StepWaiting {
            scenario: 0,
            step: 1,
            state: "3 run".to_owned(),
        },
        step(0, 1, Outcome::Passed, 1200, None),
        What::PictureTaken {
            scenario: 0,
            step: 1,
            picture: picture(pods(3), false),
        },
        step(0, 2, Outcome::Passed, 300, None),
        What::PictureTaken {
            scenario: 0,
            step: 2,
            picture: picture(pods(7), true),
        },
        What::ScenarioFinished {
            scenario: 0,
            outcome: Outcome::Passed,
            millis: 2600,
            failure: None,
            frequency: None,
        },
        What::ScenarioStarted { scenario: 1 },
        step(1, 0, Outcome::Passed, 100, None),
        What::PictureTaken {
            scenario: 1,
            step: 0,
            picture: picture(
                vec![
                    partition(0, "3g.20gb", 4, Some("pod-1")),
                    partition(4, "2g.10gb", 2, None),
                ],
                true,
            ),
        },
        step(1, 1, Outcome::Failed, 15_000, Some(failure)),
        step(1, 2, Outcome::NotRun, 0, None),
        What::EvidenceKept {
            scenario: 1,
            folder: "evidence/02-it-fails".to_owned(),
            files: vec!["events.txt".to_owned()],
        },
        What::ScenarioFinished {
            scenario: 1,
            outcome: Outcome::Failed,
            millis: 15_900,
            failure: None,
            frequency: None,
        },
        What::ScenarioStarted { scenario: 4 },
        step(4, 0, Outcome::Failed, 30, Some(Failure::new("as reported"))),
        What::ScenarioFinished {
            scenario: 4,
            outcome: Outcome::ExpectedFailure,
            millis: 40,
            failure: None,
            frequency: None,
        },
        What::ScenarioStarted { scenario: 5 },
        step(5, 0, Outcome::Failed, 30, Some(Failure::new("this time"))),
        What::ScenarioStarted { scenario: 5 },
        step(5, 0, Outcome::Passed, 30, None),
        What::ScenarioFinished {
            scenario: 5,
            outcome: Outcome::Varied,
            millis: 80,
            failure: None,
            frequency: Some(Frequency { held: 2, tries: 3 }),
        },
        What::ScenarioLeftOut {
            scenario: 3,
            reason: "needs DRAX, which is alpha and off in this Kubernetes 1.35".to_owned(),
        },
        What::Notice {
            text: "the cluster is kept".to_owned(),
        },
        What::RunFinished {
            end: RunEnd::Failed,
            exit_code: 1,
            millis: 125_000,
        },
    ];
    all.into_iter()
        .enumerate()
        .map(|(at, what)| Event {
            schema: EVENT_SCHEMA,
            seq: at as u64,
            at: jiff::Timestamp::from_second(1_767_225_600 + at as i64).expect("a time"),
            elapsed_ms: at as u64 * 1000,
            what,
        })
        .collect()
}

fn results() -> Results {
    let mut recorder = Recorder::default();
    for event in events() {
        recorder.on(&event);
    }
    recorder.results().clone()
}

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Buffer {
    fn text(&self) -> String {
        String::from_utf8(
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
        )
        .expect("UTF-8")
    }
}

#[test]
fn plain_lines() {
    let buffer = Buffer::default();
    let mut sink = Plain::new(buffer.clone(), "target/runs/x");
    events().iter().for_each(|event| sink.on(event));
    insta::assert_snapshot!(buffer.text());
}

#[test]
fn the_log_has_every_wait_and_every_component() {
    let buffer = Buffer::default();
    let mut sink = Log::new(buffer.clone());
    events().iter().for_each(|event| sink.on(event));
    let text = buffer.text();
    for word in [
        "waits: 3 run",
        "component gpu-kubelet-plugin 0.4.1",
        "cluster: API server is ready",
        "evidence events.txt",
    ] {
        assert!(text.contains(word), "{word:?} is missing in:\n{text}");
    }
    assert!(
        text.lines()
            .all(|line| line.starts_with("2026-01-01T00:00:")),
        "each line has its time"
    );
}

#[test]
fn the_results_count_and_keep_what_was() {
    let results = results();
    assert_eq!(
        (
            results.totals.passed,
            results.totals.failed,
            results.totals.not_run,
            results.totals.unselected
        ),
        (1, 1, 2, 2)
    );
    assert_eq!(
        (results.totals.expected_failures, results.totals.varied),
        (1, 1)
    );
    assert_eq!(
        results.scenarios[4].note().as_deref(),
        Some("kubernetes-140802")
    );
    assert_eq!(
        results.scenarios[5].note().as_deref(),
        Some("held in 2 of 3 tries")
    );
    // What an earlier try saw is gone.
    assert_eq!(results.scenarios[5].steps[0].failure, None);
    assert_eq!(results.unplayed.len(), 1);
    assert_eq!(results.end, RunEnd::Failed);
    assert_eq!(results.scenarios[1].steps[2].outcome, Outcome::NotRun);
    let back: Results = serde_json::from_str(&serde_json::to_string(&results).expect("JSON"))
        .expect("the same again");
    assert_eq!(back, results);
}

#[test]
fn events_survive_their_format() {
    for event in events() {
        let line = serde_json::to_string(&event).expect("JSON");
        let back: Event = serde_json::from_str(&line).expect(&line);
        assert_eq!(back, event);
    }
}

/// The schema beside the crate is the one that the types give; `SCHEMA_UPDATE=1` writes it anew.
#[test]
fn the_schema_of_the_results_is_up_to_date() {
    let schema =
        serde_json::to_string_pretty(&schemars::schema_for!(Results)).expect("JSON") + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/results.schema.json");
    if std::env::var_os("SCHEMA_UPDATE").is_some() {
        std::fs::write(path, &schema).expect("written");
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(
        kept, schema,
        "run the tests with SCHEMA_UPDATE=1 and raise RESULTS_SCHEMA if an old reader would stumble"
    );
}

#[test]
fn the_files_of_a_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sink = FileSinks::open(folder.path()).expect("opened");
    events().iter().for_each(|event| sink.on(event));
    sink.finish().expect("written");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
    insta::assert_snapshot!("junit", read("junit.xml"));
    let html = read("report.html");
    for foreign in [
        "http:", "https:", "src=", "<script", "@import", "url(", "<link",
    ] {
        assert!(
            !html.contains(foreign),
            "{foreign:?} in the report: it must stand alone"
        );
    }
    for word in [
        "Mock environment",
        "pod-7: Pending &lt;x&gt;",
        "7 running",
        "gpu-kubelet-plugin",
        "evidence&#x2f;02-it-fails",
        "<svg",
        "4g.20gb",
        "held by nobody",
        "not run",
        "Not run: needs DRAX",
        "Seven small jobs &lt;share&gt;",
        "Expected failure: kubernetes-140802",
        "Varied: held in 2 of 3 tries",
        "something &lt;else&gt;",
        "it takes hardware",
    ] {
        assert!(html.contains(word), "{word:?} is missing in the report");
    }
    // A partition that stays is one block over its columns: three of the seven pods were there a step earlier.
    assert_eq!(html.matches("class=\"g1\"").count(), 7);
    assert_eq!(read("events.ndjson").lines().count(), events().len());
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .expect("listed")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "e2e.log",
            "events.ndjson",
            "junit.xml",
            "report.html",
            "results.json"
        ]
    );
    if let Some(keep) = std::env::var_os("REPORT_SAMPLE") {
        std::fs::write(keep, html).expect("written");
    }
}

/// The same run, but it could not go on.
fn broken(message: &str) -> Vec<Event> {
    events()
        .into_iter()
        .map(|event| match event.what {
            What::RunFinished { .. } => Event {
                what: What::RunFinished {
                    end: RunEnd::Broken {
                        message: message.to_owned(),
                    },
                    exit_code: 2,
                    millis: 1,
                },
                ..event
            },
            _ => event,
        })
        .collect()
}

#[test]
fn a_broken_run_is_red_in_junit() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sink = FileSinks::open(folder.path()).expect("opened");
    broken("etcd ended").iter().for_each(|event| sink.on(event));
    sink.finish().expect("written");
    let junit = std::fs::read_to_string(folder.path().join("junit.xml")).expect("read");
    assert!(
        junit.contains("errors=\"1\"") && junit.contains("etcd ended"),
        "{junit}"
    );
    // Only what this cluster could not run at all is a skip, and what came to no judgement.
    assert!(junit.contains("skipped=\"3\""), "{junit}");
    assert!(!junit.contains("the run stopped before"), "{junit}");
}

#[test]
fn nothing_is_glued_to_the_reason_of_a_broken_run() {
    let buffer = Buffer::default();
    let mut sink = Plain::new(buffer.clone(), "target/runs/x");
    broken("no `go` on PATH\nInstall Go")
        .iter()
        .for_each(|event| sink.on(event));
    let text = buffer.text();
    assert!(text.lines().any(|line| line == "Install Go"), "{text}");
}

#[test]
fn a_report_that_cannot_be_written_is_an_error_with_a_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = FileSinks::open(&folder.path().join("gone"))
        .err()
        .expect("an error");
    assert!(error.to_string().contains("--out"), "{error}");
}

#[test]
fn the_stream_is_numbered_and_every_sink_gets_all_of_it() {
    struct Numbers(Arc<Mutex<Vec<u64>>>);
    impl Sink for Numbers {
        fn on(&mut self, event: &Event) {
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(event.seq);
        }
    }
    let (a, b) = (Arc::default(), Arc::default());
    let emitter = Emitter::new(vec![
        Box::new(Numbers(Arc::clone(&a))),
        Box::new(Numbers(Arc::clone(&b))),
    ]);
    for _ in 0..3 {
        emitter.clone().emit(What::Notice {
            text: "x".to_owned(),
        });
    }
    assert!(emitter.finish().is_empty());
    for numbers in [a, b] {
        assert_eq!(
            *numbers.lock().unwrap_or_else(PoisonError::into_inner),
            [0, 1, 2]
        );
    }
}

#[test]
fn several_runs_give_one_table() {
    let mut other = results();
    other.scenarios.truncate(2);
    other.scenarios[1].outcome = Outcome::Passed;
    let runs = [
        ("1.35 default".to_owned(), Some(results())),
        ("1.36 default".to_owned(), None),
        ("1.37 default".to_owned(), Some(other)),
    ];
    let matrix = report::matrix::Matrix::of(&runs);
    insta::assert_snapshot!("matrix", matrix.markdown());
    assert_eq!(matrix.columns[0].components["kubelet"], "1.37.2");
    assert_eq!(matrix.columns[1].end, None);
}
