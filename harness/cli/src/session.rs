//! From arguments to a cluster: programs made sure of, a cluster started or found, both telling how far they are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cluster::supervisor::{self, Until};
use cluster::{Cluster, ClusterSpec, Programs};
use components::Installed;
use components::cli::CatalogArgs;
use oracle::Version;
use report::{Emitter, Environment, EnvironmentKind, Outcome, What};
use scenario::{End, NodeWish, ProcessCluster, Testbed};

use crate::Error;

/// Name of the phase in which programs are fetched and built.
const COMPONENTS: &str = "components";
/// Name of the phase in which the cluster starts.
const CLUSTER: &str = "cluster";

/// The Kubernetes that these programs are; the newest one known where the lock file builds none, since all are the user's own.
///
/// # Errors
/// A lock file that cannot be read, or whose Kubernetes nobody here knows the gates of.
pub fn version(args: &CatalogArgs) -> Result<Version, Error> {
    let catalog = args.catalog()?;
    match catalog.lock().kubernetes() {
        Some(minor) => minor.parse().map_err(Error::Version),
        None => Ok(Version::NEWEST),
    }
}

/// Makes sure of every program that a cluster needs, and of `more`.
///
/// # Errors
/// A program that cannot be had, with the remedy.
pub fn ensure(
    args: &CatalogArgs,
    more: &BTreeSet<&'static str>,
    emitter: &Emitter,
    live: bool,
) -> Result<Installed, Error> {
    let started = Instant::now();
    emitter.emit(What::PhaseStarted {
        phase: COMPONENTS.to_owned(),
    });
    let told = Told {
        emitter: emitter.clone(),
        every: if live {
            Duration::from_millis(400)
        } else {
            Duration::from_secs(30)
        },
        last: Mutex::default(),
    };
    let mut names: Vec<&str> = Programs::NEEDED.to_vec();
    names.extend(Programs::OPTIONAL);
    names.push("kubectl");
    names.extend(more);
    let result = args
        .catalog()
        .and_then(|catalog| catalog.ensure(&names, &told));
    let (outcome, detail) = match &result {
        Ok(installed) => (
            Outcome::Passed,
            format!("{} programs are there", installed.components().count()),
        ),
        Err(_) => (Outcome::Failed, "not all programs can be had".to_owned()),
    };
    emitter.emit(What::PhaseFinished {
        phase: COMPONENTS.to_owned(),
        outcome,
        detail,
        millis: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    });
    Ok(result?)
}

/// Turns what `components` tells into events, not more often than somebody can read.
struct Told {
    emitter: Emitter,
    every: Duration,
    last: Mutex<HashMap<String, Instant>>,
}

impl Told {
    fn say(&self, detail: String) {
        self.emitter.emit(What::PhaseProgress {
            phase: COMPONENTS.to_owned(),
            detail,
        });
    }
}

impl components::progress::Progress for Told {
    fn on(&self, event: components::progress::Event<'_>) {
        use components::progress::Event;
        let with = |task: &str, note: &str, elapsed: Duration| {
            let note = if note.is_empty() {
                String::new()
            } else {
                format!(", {note}")
            };
            format!(
                "{task}{note} ({})",
                report::human(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
            )
        };
        match event {
            Event::Started { task } => self.say(format!("{task} …")),
            Event::Running {
                task,
                note,
                elapsed,
            } => {
                let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
                let due = last.get(task).is_none_or(|at| at.elapsed() >= self.every);
                if due {
                    last.insert(task.to_owned(), Instant::now());
                    self.say(with(task, note, elapsed));
                }
            }
            Event::Finished {
                task,
                note,
                elapsed,
            } => self.say(format!("{}: done", with(task, note, elapsed))),
            Event::Failed { task, elapsed } => {
                self.say(format!("{}: failed", with(task, "", elapsed)))
            }
            Event::Note { text } => self.say(text.to_owned()),
            _ => {}
        }
    }
}

/// What a run on these programs runs on.
#[must_use]
pub fn environment(installed: Option<&Installed>) -> Environment {
    let components = installed
        .map(|installed| {
            installed
                .components()
                .map(|it| (it.name.clone(), it.version.clone()))
                .collect()
        })
        .unwrap_or_default();
    Environment {
        kind: EnvironmentKind::Mock,
        backend: "process".to_owned(),
        sliceproof: env!("CARGO_PKG_VERSION").to_owned(),
        machine: scenario::machine(),
        components,
    }
}

/// A cluster to start for scenarios.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// The programs.
    pub installed: Installed,
    /// What Kubernetes is told to be.
    pub features: cluster::Features,
    /// The binary that plays the hidden roles; `None` is the running one.
    pub exe: Option<PathBuf>,
}

/// How long the cluster lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// As long as this process, or until it is stopped.
    Mine,
    /// Until it is stopped; it outlives this process.
    Detached,
    /// Until the process with this id ends; others use it too.
    With(u32),
}

/// Starts a cluster with these nodes.
///
/// # Errors
/// What the cluster says.
pub async fn start(
    wanted: &Wanted,
    nodes: &[NodeWish],
    life: Life,
    emitter: &Emitter,
) -> Result<Arc<dyn Testbed>, cluster::Error> {
    let usual = [NodeWish {
        name: "node-1".to_owned(),
        cards: vec![("A100-SXM4-40GB".to_owned(), 1)],
        mig: true,
        cut: Vec::new(),
        offer: cluster::Offer::default(),
        driver_gates: BTreeMap::new(),
    }];
    let nodes = if nodes.is_empty() { &usual[..] } else { nodes };
    let shapes = nodes
        .iter()
        .map(|wish| {
            ProcessCluster::shape_of(wish).map_err(|error| cluster::Error::Spec {
                what: error.message,
                remedy: "ask for cards that exist".to_owned(),
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let spec = ClusterSpec {
        name: wanted.name.clone(),
        dir: supervisor::run_folder(&wanted.name)?,
        nodes: shapes,
        programs: Programs::from_installed(&wanted.installed)?,
        features: wanted.features.clone(),
        exe: wanted.exe.clone(),
        image_cache: None,
    };
    let progress = emitter.clone();
    let listener = move |said: cluster::Progress| {
        progress.emit(What::PhaseProgress {
            phase: CLUSTER.to_owned(),
            detail: said.to_string().trim().to_owned(),
        });
    };
    let (running, end) = match life {
        Life::Mine => (Cluster::start(spec, &listener).await?, End::Own),
        Life::Detached => {
            let dir = supervisor::spawn(spec, Until::Signal, &listener).await?;
            (
                Cluster::attach(&dir).await?,
                End::Detached(wanted.name.clone()),
            )
        }
        Life::With(pid) => {
            let dir = supervisor::spawn(spec, Until::Exit(pid), &listener).await?;
            (Cluster::attach(&dir).await?, End::Shared)
        }
    };
    Ok(testbed(running, end, &wanted.installed, emitter))
}

/// A cluster that runs, as scenarios see it.
#[must_use]
pub fn testbed(
    running: cluster::Running,
    end: End,
    installed: &Installed,
    emitter: &Emitter,
) -> Arc<dyn Testbed> {
    let emitter = emitter.clone();
    let progress = move |detail| {
        emitter.emit(What::PhaseProgress {
            phase: "nodes".to_owned(),
            detail,
        })
    };
    Arc::new(ProcessCluster::new(
        running,
        end,
        environment(Some(installed)),
        Box::new(progress),
    ))
}
