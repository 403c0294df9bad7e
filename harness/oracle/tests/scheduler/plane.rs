//! A control plane of Kubernetes 1.37 with the gates of a test, and the programs that it needs.

use std::future::Future;

use cluster::{Cluster, ClusterSpec, Features, Programs, Running, Silent};
use libtest_mimic::{Completion, Failed, Trial};
use oracle::{Gate, Gates, Stage};
use tokio::runtime::Runtime;

pub(crate) struct Plane {
    runtime: Runtime,
    running: Option<Running>,
    client: kube::Client,
    folder: Option<tempfile::TempDir>,
}

/// The programs, with `others` besides, if they are there; nothing is built.
pub(crate) fn programs(others: &[&str]) -> Result<Programs, String> {
    let catalog = components::Catalog::embedded().map_err(|error| error.to_string())?;
    let path = |name: &&str| {
        let path = catalog.path(name).map_err(|error| error.to_string())?;
        Ok(((*name).to_owned(), path))
    };
    let paths: Vec<_> = Programs::CONTROL_PLANE
        .iter()
        .chain(others)
        .map(path)
        .collect::<Result<_, String>>()?;
    Ok(Programs::new(paths))
}

/// Starts a control plane with the gates of a test.
pub(crate) type Start<'a> = &'a dyn Fn(&Gates) -> Result<Plane, String>;

/// A test on control planes with `others` besides. Where a program is not there it is not run, or fails if `ORACLE_REQUIRED` is set.
pub(crate) fn trial(
    name: &'static str,
    others: &'static [&'static str],
    check: fn(Start<'_>) -> Result<(), String>,
) -> Trial {
    Trial::ignorable_test(name, move || {
        let programs = match programs(others) {
            Ok(programs) => programs,
            Err(missing) => {
                let why = format!("{name}: not run: {missing}");
                if std::env::var_os("ORACLE_REQUIRED").is_some() {
                    return Err(Failed::from(why));
                }
                println!("{why}");
                return Ok(Completion::ignored_with(missing));
            }
        };
        check(&|gates| Plane::start(&programs, gates))?;
        Ok(Completion::Completed)
    })
}

/// What the programs are told, where it is not their default. Gates that are locked cannot be named.
fn features(gates: &Gates) -> Features {
    let version = gates.version();
    let differs = |gate: &Gate| {
        let stage = gate.stage(version);
        stage != Stage::Absent && stage.on_by_default() != gates.has(*gate)
    };
    let named = Gate::ALL.iter().copied().filter(differs);
    Features {
        gates: named
            .map(|gate| (gate.name().to_owned(), gates.has(gate)))
            .collect(),
        ..Features::default()
    }
}

impl Plane {
    pub(crate) fn start(programs: &Programs, gates: &Gates) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        let spec = ClusterSpec {
            name: "oracle".into(),
            dir: folder.path().join("run"),
            nodes: vec![],
            programs: programs.clone(),
            features: features(gates),
            exe: None,
            image_cache: None,
        };
        let running = runtime
            .block_on(Cluster::start_control_plane(spec, &Silent))
            .map_err(|error| error.to_string())?;
        Ok(Plane {
            client: running.client(),
            runtime,
            running: Some(running),
            folder: Some(folder),
        })
    }

    pub(crate) fn client(&self) -> &kube::Client {
        &self.client
    }

    pub(crate) fn block_on<T>(&self, what: impl Future<Output = T>) -> T {
        self.runtime.block_on(what)
    }

    /// An error if a program has ended by itself.
    pub(crate) async fn check(&self) -> Result<(), String> {
        match &self.running {
            Some(running) => running.check().await.map_err(|error| error.to_string()),
            None => Err("the control plane was stopped".to_owned()),
        }
    }

    pub(crate) fn stop(mut self) -> Result<(), String> {
        let Some(running) = self.running.take() else {
            return Ok(());
        };
        self.runtime
            .block_on(async {
                running.check().await?;
                running.stop().await
            })
            .map_err(|error| error.to_string())?;
        let folder = self.folder.take();
        folder
            .map_or(Ok(()), tempfile::TempDir::close)
            .map_err(|error| error.to_string())
    }
}
