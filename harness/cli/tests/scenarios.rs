//! Every scenario of this repository as a test of its own: `cargo test -p sliceproof --test scenarios` lists, filters
//! and runs them, and so does nextest. Those that are not tagged `@smoke` are ignored tests, as cargo has it: `-- --include-ignored`
//! plays them too, and `sliceproof test` plays all. Those of a run share one cluster, which is started when the first one needs it.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use cluster::supervisor;
use components::Installed;
use components::cli::CatalogArgs;
use libtest_mimic::{Arguments, Failed, Trial};
use report::{Emitter, Event, FileSinks, RunEnd, RunStarted, Sink, What};
use scenario::{
    Asks, End, Filter, LoadError, Options, Plan, PlannedScenario, Runner, Testbed, Verdict,
    registry, render,
};
use sliceproof::run_folder::RunFolder;
use sliceproof::session::{self, Life, Wanted};
use tokio::sync::watch;

fn main() -> ExitCode {
    // This binary is also the init of its nodes.
    cluster::dispatch();
    let mut arguments = Arguments::from_args();
    // Scenarios share the cards: one after another, in the order of the files.
    arguments.test_threads = Some(1);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if let Err(error) = root.canonicalize().and_then(std::env::set_current_dir) {
        eprintln!("error: cannot go to the root of the workspace: {error}");
        return ExitCode::from(2);
    }
    let plan = match load() {
        Ok(plan) => plan,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::from(2);
        }
    };
    let worker: Arc<Mutex<Option<Worker>>> = Arc::default();
    let trials = plan
        .scenarios
        .iter()
        .enumerate()
        .map(|(index, planned)| {
            let worker = Arc::clone(&worker);
            let lacking = missing(planned);
            Trial::test(planned.scenario.id.clone(), move || {
                let mut worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
                worker.get_or_insert_with(Worker::spawn).run(index)
            })
            .with_ignored_flag(lacking.is_some() || !quick(planned))
        })
        .collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let Some(worker) = worker.lock().unwrap_or_else(PoisonError::into_inner).take() {
        worker.end();
    }
    conclusion.exit_code()
}

/// Why the clusters of this run, those of the lock, cannot play it.
fn missing(planned: &PlannedScenario) -> Option<String> {
    let Options { gates, version, .. } = Options::default();
    planned.missing(gates, version)
}

/// Ending of a cluster's name: those of one run of nextest that were asked for different things are there at once.
fn suffix(asks: &Asks) -> String {
    if asks.is_empty() {
        return String::new();
    }
    let mut hasher = DefaultHasher::new();
    asks.hash(&mut hasher);
    format!("-{:04x}", hasher.finish() & 0xffff)
}

/// Whether it belongs to the quick set.
fn quick(planned: &PlannedScenario) -> bool {
    planned.scenario.tags.iter().any(|tag| tag == "@smoke")
}

fn load() -> Result<Plan, String> {
    Plan::load(
        &registry(),
        &[PathBuf::from("scenarios")],
        &Filter::default(),
    )
    .map_err(|error| match error {
        LoadError::Findings(findings) => render(&findings, false),
        other => format!("error: {other}"),
    })
}

/// The thread that owns cluster and runner. Scenarios come to it one at a time.
struct Worker {
    orders: mpsc::Sender<(usize, mpsc::Sender<Result<(), String>>)>,
    thread: std::thread::JoinHandle<()>,
}

impl Worker {
    fn spawn() -> Self {
        let (orders, inbox) = mpsc::channel::<(usize, mpsc::Sender<Result<(), String>>)>();
        let thread = std::thread::spawn(move || {
            let mut bench = Bench::start();
            for (index, reply) in inbox {
                let result = match &mut bench {
                    Ok(bench) => bench.run(index),
                    Err(error) => Err(error.clone()),
                };
                // A trial that is gone asks for nothing.
                let _ = reply.send(result);
            }
            if let Ok(bench) = bench {
                bench.end();
            }
        });
        Self { orders, thread }
    }

    fn run(&self, index: usize) -> Result<(), Failed> {
        let (reply, result) = mpsc::channel();
        self.orders
            .send((index, reply))
            .map_err(|_| Failed::from("the runner is gone"))?;
        result
            .recv()
            .map_err(|_| Failed::from("the runner is gone"))?
            .map_err(Failed::from)
    }

    fn end(self) {
        drop(self.orders);
        let _ = self.thread.join();
    }
}

/// Says what takes time, on standard error: standard output belongs to the list of tests.
struct Stderr;

impl Sink for Stderr {
    fn on(&mut self, event: &Event) {
        match &event.what {
            What::PhaseProgress { detail, .. } => eprintln!("    {detail}"),
            What::PhaseFinished {
                phase,
                detail,
                millis,
                ..
            } => eprintln!("  {phase}: {detail} ({})", report::human(*millis)),
            _ => {}
        }
    }
}

struct Bench {
    runtime: tokio::runtime::Runtime,
    plan: Plan,
    runner: Runner,
    emitter: Emitter,
    wanted: Wanted,
    folder: RunFolder,
    testbed: Option<(Asks, Arc<dyn Testbed>)>,
    /// Held while a scenario runs, where several processes share the cluster.
    shared: Option<Shared>,
    started: Instant,
    failed: bool,
    never: watch::Receiver<bool>,
    _keep: watch::Sender<bool>,
}

/// The programs of every cluster, and `more`.
fn ensure(more: &BTreeSet<&'static str>, emitter: &Emitter) -> Result<Installed, String> {
    session::ensure(&CatalogArgs::default(), more, emitter, false)
        .map_err(|error| error.to_string())
}

/// One run of nextest: a process for each test, one cluster for all of them.
struct Shared {
    lock: PathBuf,
    parent: u32,
}

impl Bench {
    fn start() -> Result<Self, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let plan = load()?;
        let folder = RunFolder::make(None).map_err(|error| text(&error))?;
        let files = FileSinks::open(&folder.path).map_err(|error| text(&error))?;
        let emitter = Emitter::new(vec![Box::new(Stderr), Box::new(files)]);
        emitter.emit(What::RunStarted(RunStarted {
            run: folder.run.clone(),
            command: "cargo test".to_owned(),
            environment: session::environment(None),
            scenarios: plan
                .scenarios
                .iter()
                .map(PlannedScenario::for_report)
                .collect(),
            unplayed: Vec::new(),
            unselected: plan.unselected,
        }));
        let (name, shared) = match std::env::var("NEXTEST_RUN_ID") {
            Ok(run) => {
                let short: String = run
                    .chars()
                    .filter(char::is_ascii_alphanumeric)
                    .take(12)
                    .collect();
                let name = format!("nextest-{}", short.to_lowercase());
                // Beside the run folders: it stays, one for all runs, and nobody has to clean it up.
                let lock = folder.path.with_file_name("nextest.lock");
                (
                    name,
                    Some(Shared {
                        lock,
                        parent: std::os::unix::process::parent_id(),
                    }),
                )
            }
            Err(_) => (format!("test-{}", folder.run), None),
        };
        let suffix = shared
            .as_ref()
            .map(|_| format!("-{}", std::process::id()))
            .unwrap_or_default();
        let options = Options {
            suffix,
            ..Options::default()
        };
        let runner = Runner::new(
            Rc::new(registry()),
            emitter.clone(),
            folder.path.clone(),
            options,
        );
        let installed = ensure(&BTreeSet::new(), &emitter)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| text(&error))?;
        let (keep, never) = watch::channel(false);
        let wanted = Wanted {
            name,
            installed,
            features: Options::default()
                .gates
                .features(Options::default().version, &Asks::default()),
            exe: None,
        };
        let started = Instant::now();
        Ok(Self {
            runtime,
            plan,
            runner,
            emitter,
            wanted,
            folder,
            testbed: None,
            shared,
            started,
            failed: false,
            never,
            _keep: keep,
        })
    }

    fn run(&mut self, index: usize) -> Result<(), String> {
        let lock = match &self.shared {
            Some(shared) => {
                let file = File::create(&shared.lock)
                    .map_err(|error| format!("cannot make {}: {error}", shared.lock.display()))?;
                file.lock()
                    .map_err(|error| format!("cannot lock {}: {error}", shared.lock.display()))?;
                Some(file)
            }
            None => None,
        };
        let testbed = self.testbed(index)?;
        let planned = self
            .plan
            .scenarios
            .get(index)
            .ok_or("there is no such scenario")?;
        let verdict = self.runtime.block_on(self.runner.scenario(
            index,
            planned,
            &testbed,
            self.never.clone(),
        ));
        drop(lock);
        let red = !matches!(
            verdict,
            Verdict::Passed | Verdict::FailedAsExpected | Verdict::Varied(_)
        );
        self.failed |= red;
        match verdict {
            Verdict::Passed | Verdict::FailedAsExpected | Verdict::Varied(_) => Ok(()),
            Verdict::Failed(failure) => Err(format!(
                "{}\nreport: {}/report.html",
                failure.lines().join("\n"),
                self.folder.shown
            )),
            Verdict::Interrupted => Err("interrupted".to_owned()),
            Verdict::Broken(message) => {
                self.testbed = None;
                Err(message)
            }
        }
    }

    /// The cluster of this run: found, or started in the shape that the scenario wants.
    fn testbed(&mut self, index: usize) -> Result<Arc<dyn Testbed>, String> {
        let planned = self
            .plan
            .scenarios
            .get(index)
            .ok_or("there is no such scenario")?;
        let Options { gates, version, .. } = Options::default();
        let asks = planned.asks();
        let installed = &self.wanted.installed;
        let more: BTreeSet<&'static str> = asks
            .components()
            .filter(|name| installed.path(name).is_err())
            .collect();
        match self.testbed.take() {
            Some((has, testbed)) if has.share(&asks, gates, version) && more.is_empty() => {
                self.testbed = Some((has, Arc::clone(&testbed)));
                return Ok(testbed);
            }
            Some((_, testbed)) => self
                .runtime
                .block_on(testbed.stop())
                .map_err(|error| error.to_string())?,
            None => {}
        }
        let nodes = self.runner.nodes_of(planned);
        if !more.is_empty() {
            self.wanted.installed = ensure(&more, &self.emitter)?;
        }
        let wanted = Wanted {
            name: format!("{}{}", self.wanted.name, suffix(&asks)),
            features: gates.features(version, &asks),
            ..self.wanted.clone()
        };
        let began = Instant::now();
        let work = async {
            let Some(shared) = &self.shared else {
                return session::start(&wanted, &nodes, Life::Mine, &self.emitter).await;
            };
            let found = supervisor::list()?
                .into_iter()
                .find(|it| it.name == wanted.name && it.kubeconfig.is_some());
            match found {
                Some(found) => {
                    let running = cluster::Cluster::attach(&found.dir).await?;
                    Ok(session::testbed(
                        running,
                        End::Shared,
                        &wanted.installed,
                        &self.emitter,
                    ))
                }
                None => {
                    session::start(&wanted, &nodes, Life::With(shared.parent), &self.emitter).await
                }
            }
        };
        let testbed = self
            .runtime
            .block_on(work)
            .map_err(|error| error.to_string())?;
        self.emitter.emit(What::PhaseFinished {
            phase: "cluster".to_owned(),
            outcome: report::Outcome::Passed,
            detail: "up".to_owned(),
            millis: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        self.emitter
            .emit(What::EnvironmentKnown(testbed.environment()));
        self.testbed = Some((asks, Arc::clone(&testbed)));
        Ok(testbed)
    }

    fn end(self) {
        if let Some((_, testbed)) = &self.testbed
            && let Err(error) = self.runtime.block_on(testbed.stop())
        {
            eprintln!("error: {error}");
        }
        let end = if self.failed {
            RunEnd::Failed
        } else {
            RunEnd::Passed
        };
        self.emitter.emit(What::RunFinished {
            end,
            exit_code: u8::from(self.failed),
            millis: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        for error in self.emitter.finish() {
            eprintln!("error: {error}");
        }
        eprintln!("  report: {}/report.html", self.folder.shown);
    }
}
