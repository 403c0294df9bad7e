//! The cluster of plain processes as scenarios see it.
//! Not how it is started: that is for the command line, which knows where programs and folders are.
//! Data comes from crate `cluster`, from its API through the real client, and from the nodes' NVML state.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use cluster::{NodeShape, Running};
use futures::FutureExt;
use futures::future::LocalBoxFuture;
use gpu_model::{CiId, GiId, GpuIndex, Injection, NodeSpec, Op, PlanFile, Refusal};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, AttachParams, AttachedProcess};
use report::Environment;
use tokio::io::AsyncReadExt;
use tokio::sync::RwLock;

use crate::testbed::{
    ApiServerEvent, ExecOutput, NodeCards, NodeEvent, NodeWish, Testbed, TestbedError,
};

/// What `stop` does to the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// This process started it and ends it.
    Own,
    /// A supervisor holds it under this name; end it by name.
    Detached(String),
    /// Others use it, too: leave it.
    Shared,
}

/// Hears what the cluster says while its nodes change.
pub type Progress = Box<dyn Fn(String) + Send + Sync>;

/// A cluster of crate `cluster`.
pub struct ProcessCluster {
    client: kube::Client,
    running: RwLock<Option<Running>>,
    kubeconfig: String,
    name: String,
    environment: Environment,
    end: End,
    progress: Progress,
    worn: AtomicBool,
}

impl ProcessCluster {
    /// A cluster that runs.
    #[must_use]
    pub fn new(running: Running, end: End, environment: Environment, progress: Progress) -> Self {
        Self {
            client: running.client(),
            kubeconfig: running.kubeconfig().display().to_string(),
            name: running.name(),
            running: RwLock::new(Some(running)),
            environment,
            end,
            progress,
            worn: AtomicBool::new(false),
        }
    }

    /// The shape that a wish is.
    ///
    /// # Errors
    /// Cards that cannot be had.
    pub fn shape_of(wish: &NodeWish) -> Result<NodeShape, TestbedError> {
        let gpus = NodeSpec::new(wish.cards.clone())
            .map_err(|error| TestbedError::new(error.to_string()))?;
        Ok(NodeShape {
            name: wish.name.clone(),
            gpus,
            mig: wish.mig,
            cut: wish.cut.clone(),
            offer: wish.offer,
            driver_gates: wish.driver_gates.clone(),
        })
    }
}

impl Testbed for ProcessCluster {
    fn client(&self) -> kube::Client {
        self.client.clone()
    }

    fn shape<'a>(&'a self, nodes: &'a [NodeWish]) -> LocalBoxFuture<'a, Result<(), TestbedError>> {
        async move {
            let shapes = nodes
                .iter()
                .map(Self::shape_of)
                .collect::<Result<Vec<_>, _>>()?;
            let listener = |progress: cluster::Progress| {
                (self.progress)(progress.to_string().trim().to_owned())
            };
            let running = self.running.read().await;
            let running = running.as_ref().ok_or_else(gone)?;
            running
                .shape(&shapes, &listener)
                .await
                .map_err(|error| wrapped(&error))
        }
        .boxed_local()
    }

    fn cards(&self) -> LocalBoxFuture<'_, Result<Vec<NodeCards>, TestbedError>> {
        async move {
            let running = self.running.read().await;
            let nodes = running.as_ref().ok_or_else(gone)?.nodes();
            nodes
                .iter()
                .map(|node| {
                    let machine = node.machine().map_err(|error| wrapped(&error))?;
                    Ok(NodeCards::of(node.name(), &machine))
                })
                .collect()
        }
        .boxed_local()
    }

    fn exec<'a>(
        &'a self,
        namespace: &'a str,
        pod: &'a str,
        container: Option<&'a str>,
        argv: &'a [&'a str],
    ) -> LocalBoxFuture<'a, Result<ExecOutput, TestbedError>> {
        async move {
            let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
            let mut params = AttachParams::default()
                .stdin(false)
                .stdout(true)
                .stderr(true);
            params.container = container.map(str::to_owned);
            let attached = pods
                .exec(pod, argv.iter().copied(), &params)
                .await
                .map_err(|error| TestbedError::new(format!("kubectl exec {pod}: {error}")))?;
            collect(attached)
                .await
                .map_err(|error| TestbedError::new(format!("kubectl exec {pod}: {error}")))
        }
        .boxed_local()
    }

    fn on_node<'a>(
        &'a self,
        node: &'a str,
        argv: &'a [&'a str],
    ) -> LocalBoxFuture<'a, Result<ExecOutput, TestbedError>> {
        async move {
            let running = self.running.read().await;
            let running = running.as_ref().ok_or_else(gone)?;
            let programs = running.programs();
            let mut words: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            if let Some(first) = words.first_mut()
                && let Ok(path) = programs.path(first)
            {
                *first = path.display().to_string();
            }
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let output = running
                .node(node)
                .map_err(|error| wrapped(&error))?
                .exec(&words)
                .await
                .map_err(|error| wrapped(&error))?;
            Ok(ExecOutput {
                code: Some(output.code),
                stdout: output.stdout,
                stderr: output.stderr,
            })
        }
        .boxed_local()
    }

    fn befall<'a>(
        &'a self,
        node: &'a str,
        event: NodeEvent,
    ) -> LocalBoxFuture<'a, Result<(), TestbedError>> {
        async move {
            let running = self.running.read().await;
            let running = running.as_ref().ok_or_else(gone)?;
            let node = running.node(node).map_err(|error| wrapped(&error))?;
            let done = match event {
                NodeEvent::FaultsArmed(plan) => return arm(&node, Some(&plan)),
                NodeEvent::FaultsCleared => return arm(&node, None),
                NodeEvent::DriverKilled => node.kill_driver().await,
                NodeEvent::DriverRevived => node.revive_driver().await,
                NodeEvent::DriverRestarted => node.restart_driver().await,
                NodeEvent::DriverRegated(gates) => running.regate_driver(node.name(), &gates).await,
                NodeEvent::Rebooted => running.reboot_node(node.name()).await,
                NodeEvent::Xid { gpu, part, xid } => return strike(&node, gpu, part, xid),
                NodeEvent::KubeletRestarted => node.restart_kubelet().await,
            };
            done.map_err(|error| wrapped(&error))
        }
        .boxed_local()
    }

    fn scheduler<'a>(
        &'a self,
        name: &'a str,
        start: Option<cluster::Scheduler<'a>>,
    ) -> LocalBoxFuture<'a, Result<(), TestbedError>> {
        async move {
            let running = self.running.read().await;
            let running = running.as_ref().ok_or_else(gone)?;
            let done = match start {
                Some(scheduler) => running.start_scheduler(name, scheduler).await,
                None => running.stop_scheduler(name).await,
            };
            // It is no part of the cluster, which goes on without it.
            done.map_err(|error| TestbedError::new(error.to_string()))
        }
        .boxed_local()
    }

    fn queues<'a>(
        &'a self,
        configuration: Option<&'a serde_json::Value>,
    ) -> LocalBoxFuture<'a, Result<(), TestbedError>> {
        async move {
            let running = self.running.read().await;
            let running = running.as_ref().ok_or_else(gone)?;
            let done = match configuration {
                Some(configuration) => running.start_kueue(configuration).await,
                None => running.stop_kueue().await,
            };
            // What is wrong with a configuration is the scenario's fault, and the cluster goes on.
            done.map_err(|error| TestbedError::new(error.to_string()))
        }
        .boxed_local()
    }

    fn worn(&self) -> bool {
        self.worn.load(Ordering::Relaxed)
    }

    fn prometheus<'a>(
        &'a self,
        rules: Option<&'a [(&'a str, String)]>,
    ) -> LocalBoxFuture<'a, Result<(), TestbedError>> {
        async move {
            let running = self.running.read().await;
            let running = running.as_ref().ok_or_else(gone)?;
            let done = match rules {
                Some(rules) => running.start_prometheus(rules).await,
                None => running.stop_prometheus().await,
            };
            // It looks on, and the cluster goes on without it.
            done.map_err(|error| TestbedError::new(error.to_string()))
        }
        .boxed_local()
    }

    fn ask_prometheus<'a>(
        &'a self,
        path: &'a str,
    ) -> LocalBoxFuture<'a, Result<serde_json::Value, TestbedError>> {
        async move {
            let running = self.running.read().await;
            let running = running.as_ref().ok_or_else(gone)?;
            let answer = running.ask_prometheus(path).await;
            answer.map_err(|error| TestbedError::new(error.to_string()))
        }
        .boxed_local()
    }

    fn promtool<'a>(
        &'a self,
        args: &'a [&'a str],
        files: &'a [(&'a str, String)],
    ) -> LocalBoxFuture<'a, Result<ExecOutput, TestbedError>> {
        async move {
            let running = self.running.read().await;
            let running = running.as_ref().ok_or_else(gone)?;
            let output = running.promtool(args, files).await;
            let output = output.map_err(|error| TestbedError::new(error.to_string()))?;
            Ok(ExecOutput {
                code: Some(output.code),
                stdout: output.stdout,
                stderr: output.stderr,
            })
        }
        .boxed_local()
    }

    fn metrics<'a>(
        &'a self,
        values: Option<&'a BTreeMap<String, i64>>,
    ) -> LocalBoxFuture<'a, Result<(), TestbedError>> {
        async move {
            let running = self.running.read().await;
            let running = running.as_ref().ok_or_else(gone)?;
            let done = match values {
                Some(values) => running.say_metrics(values).await,
                None => running.stop_metrics().await,
            };
            done.map_err(|error| TestbedError::new(error.to_string()))
        }
        .boxed_local()
    }

    fn api_server(&self, event: ApiServerEvent) -> LocalBoxFuture<'_, Result<(), TestbedError>> {
        self.worn.store(true, Ordering::Relaxed);
        async move {
            let running = self.running.read().await;
            let running = running.as_ref().ok_or_else(gone)?;
            let done = match event {
                ApiServerEvent::Killed => running.kill_api_server().await,
                ApiServerEvent::Revived => running.revive_api_server().await,
            };
            done.map_err(|error| wrapped(&error))
        }
        .boxed_local()
    }

    fn evidence<'a>(&'a self, folder: &'a Path) -> LocalBoxFuture<'a, Result<(), TestbedError>> {
        async move {
            let running = self.running.read().await;
            running
                .as_ref()
                .ok_or_else(gone)?
                .evidence(folder)
                .await
                .map(|_| ())
                .map_err(|error| wrapped(&error))
        }
        .boxed_local()
    }

    fn check(&self) -> LocalBoxFuture<'_, Result<(), TestbedError>> {
        async move {
            let running = self.running.read().await;
            running
                .as_ref()
                .ok_or_else(gone)?
                .check()
                .await
                .map_err(|error| TestbedError::fatal(error.to_string()))
        }
        .boxed_local()
    }

    fn environment(&self) -> Environment {
        self.environment.clone()
    }

    fn how_to_reach(&self) -> String {
        format!(
            "export KUBECONFIG={} and look around with kubectl (or `sliceproof kubectl --name {}`); `sliceproof down {}` ends it",
            self.kubeconfig, self.name, self.name
        )
    }

    fn stop(&self) -> LocalBoxFuture<'_, Result<(), TestbedError>> {
        async move {
            let Some(running) = self.running.write().await.take() else {
                return Ok(());
            };
            match &self.end {
                End::Own => running.stop().await.map_err(|error| wrapped(&error)),
                End::Shared => Ok(()),
                End::Detached(name) => {
                    let name = name.clone();
                    let down =
                        tokio::task::spawn_blocking(move || cluster::supervisor::down(&name)).await;
                    match down {
                        Ok(result) => result.map(|_| ()).map_err(|error| wrapped(&error)),
                        Err(error) => Err(TestbedError::new(format!(
                            "cannot end the cluster: {error}"
                        ))),
                    }
                }
            }
        }
        .boxed_local()
    }
}

/// Lets an Xid happen.
fn strike(
    node: &cluster::Node,
    gpu: u32,
    part: Option<(u32, u32)>,
    xid: u32,
) -> Result<(), TestbedError> {
    let store = node.store().map_err(|error| wrapped(&error))?;
    let real = store.real();
    let what = Injection::Xid {
        xid,
        gi: part.map(|(gi, _)| GiId(gi)),
        ci: part.map(|(_, ci)| CiId(ci)),
    };
    let done = store.update(|machine, _| {
        let gpu = GpuIndex(gpu);
        let (next, _) = machine.apply(Op::Inject { gpu, what }, machine.now(real))?;
        Ok::<_, Refusal>((next, ()))
    });
    done.map_err(|error| {
        TestbedError::new(format!("no Xid can happen on {}: {error}", node.name()))
    })
}

/// Arms a plan of faults on the node's cards, or none.
fn arm(node: &cluster::Node, plan: Option<&PlanFile>) -> Result<(), TestbedError> {
    let store = node.store().map_err(|error| wrapped(&error))?;
    let real = store.real();
    let done = store.update(|machine, _| {
        let next = match plan {
            Some(plan) => machine.with_plan(plan, machine.now(real))?,
            None => machine.disarmed(machine.now(real)),
        };
        Ok::<_, Refusal>((next, ()))
    });
    done.map_err(|error| {
        TestbedError::new(format!("cannot arm faults on {}: {error}", node.name()))
    })
}

async fn collect(mut attached: AttachedProcess) -> Result<ExecOutput, String> {
    let (mut out, mut err) = (attached.stdout(), attached.stderr());
    let status = attached.take_status();
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let read_out = async {
        if let Some(stream) = out.as_mut() {
            stream.read_to_end(&mut stdout).await.map(|_| ())
        } else {
            Ok(())
        }
    };
    let read_err = async {
        if let Some(stream) = err.as_mut() {
            stream.read_to_end(&mut stderr).await.map(|_| ())
        } else {
            Ok(())
        }
    };
    let (a, b) = tokio::join!(read_out, read_err);
    a.and(b).map_err(|error| error.to_string())?;
    let status = match status {
        Some(status) => status.await,
        None => None,
    };
    attached.join().await.map_err(|error| error.to_string())?;
    let code = status.and_then(|status| match status.status.as_deref() {
        Some("Success") => Some(0),
        _ => status
            .details
            .and_then(|details| details.causes)
            .into_iter()
            .flatten()
            .find(|cause| cause.reason.as_deref() == Some("ExitCode"))
            .and_then(|cause| cause.message?.parse().ok())
            .or(Some(1)),
    });
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(ExecOutput {
        code,
        stdout: text(stdout),
        stderr: text(stderr),
    })
}

fn gone() -> TestbedError {
    TestbedError::fatal("the cluster has been stopped")
}

fn wrapped(error: &cluster::Error) -> TestbedError {
    TestbedError {
        message: error.to_string(),
        fatal: error.exit_code() == 2,
    }
}

/// What is known of this machine, for reports: no host name, no path.
#[must_use]
pub fn machine() -> BTreeMap<String, String> {
    let first_line = |path: &str| {
        std::fs::read_to_string(path)
            .ok()
            .map(|text| text.trim().to_owned())
    };
    let mut facts = BTreeMap::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            facts.insert(name.to_owned(), value);
        }
    };
    put(
        "kernel",
        first_line("/proc/sys/kernel/osrelease").map(|release| format!("Linux {release}")),
    );
    put("architecture", Some(std::env::consts::ARCH.to_owned()));
    put(
        "processors",
        std::thread::available_parallelism()
            .ok()
            .map(|count| count.to_string()),
    );
    let memory = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let kib: u64 = text
                .lines()
                .find_map(|line| line.strip_prefix("MemTotal:"))?
                .split_whitespace()
                .next()?
                .parse()
                .ok()?;
            Some(format!("{} GiB", kib >> 20))
        });
    put("memory", memory);
    let system = std::fs::read_to_string("/etc/os-release")
        .ok()
        .and_then(|text| {
            let name = text
                .lines()
                .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
            Some(name.trim_matches('"').to_owned())
        });
    put("system", system);
    facts
}
