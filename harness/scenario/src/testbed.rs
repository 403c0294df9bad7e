//! What scenarios need of a cluster. The real one is in `process`; the runner's own tests bring one of their own,
//! in memory, that can also be wrong on purpose.

use std::collections::BTreeMap;
use std::path::Path;

use futures::future::LocalBoxFuture;
use gpu_model::{ComputeMode, PlanFile, Timeslice};
use report::Failure;
use serde::{Deserialize, Serialize};

/// A node that a scenario asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeWish {
    /// Its name.
    pub name: String,
    /// Model and count of its cards, in index order.
    pub cards: Vec<(String, usize)>,
    /// MIG mode is on at boot, on the cards that have it.
    pub mig: bool,
    /// Profiles of the GPU instances that each card in MIG mode has from the boot on.
    #[serde(default)]
    pub cut: Vec<String>,
    /// Who offers the cards to Kubernetes.
    #[serde(default)]
    pub offer: cluster::Offer,
    /// Feature gates of the DRA driver, where they differ from those of the cluster.
    #[serde(default)]
    pub driver_gates: BTreeMap<String, bool>,
}

/// What NVML says on a node: the card itself, apart from everything that Kubernetes believes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeCards {
    /// Name of the node.
    pub node: String,
    /// Cards in index order.
    pub cards: Vec<CardState>,
}

/// One card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardState {
    /// Index on the node.
    pub index: u32,
    /// Minor number, by which the driver names devices.
    pub minor: u32,
    /// Model name of the catalogue.
    pub model: String,
    /// UUID.
    pub uuid: String,
    /// MIG mode is on.
    pub mig: bool,
    /// Memory slices; 0 where the card cannot be partitioned.
    pub memory_slices: u32,
    /// GPU instances, by id.
    pub instances: Vec<InstanceState>,
    /// How its time is cut between processes.
    #[serde(default)]
    pub timeslice: Timeslice,
    /// Who may work on it.
    #[serde(default)]
    pub compute_mode: ComputeMode,
}

/// One GPU instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceState {
    /// Its id.
    pub id: u32,
    /// Id of its profile.
    pub profile_id: u32,
    /// Name of its profile, as `1g.5gb`.
    pub profile: String,
    /// First memory slice.
    pub start: u32,
    /// Memory slices.
    pub size: u32,
    /// UUIDs of the MIG devices in it, one for each compute instance.
    pub mig_uuids: Vec<String>,
}

impl NodeCards {
    /// What the state of a node's fake GPUs says.
    #[must_use]
    pub fn of(node: &str, machine: &gpu_model::Machine) -> Self {
        let cards = machine
            .gpus
            .iter()
            .map(|gpu| {
                let spec = machine.spec(gpu);
                let instances = gpu.instances.iter().map(|instance| InstanceState {
                    id: instance.id.0,
                    profile_id: instance.profile.0,
                    profile: spec
                        .mig
                        .as_ref()
                        .and_then(|mig| mig.by_id(instance.profile))
                        .map_or_else(
                            || format!("profile {}", instance.profile),
                            |profile| profile.name.clone(),
                        ),
                    start: instance.placement.start,
                    size: instance.placement.size,
                    mig_uuids: instance
                        .compute
                        .iter()
                        .map(|compute| compute.uuid.to_string())
                        .collect(),
                });
                CardState {
                    index: gpu.index.0,
                    minor: gpu.minor.0,
                    model: spec.model.clone(),
                    uuid: gpu.uuid.to_string(),
                    mig: gpu.mig_current == gpu_model::MigMode::Enabled,
                    memory_slices: spec.mig.as_ref().map_or(0, |mig| mig.memory_slices.0),
                    instances: instances.collect(),
                    timeslice: gpu.timeslice,
                    compute_mode: gpu.compute_mode,
                }
            })
            .collect();
        Self {
            node: node.to_owned(),
            cards,
        }
    }
}

/// What befalls a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeEvent {
    /// Calls of NVML go wrong as this plan says, instead of the plan before.
    FaultsArmed(Box<PlanFile>),
    /// No call of NVML goes wrong any more.
    FaultsCleared,
    /// The driver is killed and stays dead.
    DriverKilled,
    /// The driver starts again, after it was killed.
    DriverRevived,
    /// The driver is ended and started again.
    DriverRestarted,
    /// The driver is ended and started again with these feature gates instead of the cluster's.
    DriverRegated(BTreeMap<String, bool>),
    /// Everything on the node ends, and it boots again.
    Rebooted,
    /// An Xid happens on a card, or on a part of it.
    Xid {
        /// Index of the card.
        gpu: u32,
        /// The GPU instance and its compute instance.
        part: Option<(u32, u32)>,
        /// Its number.
        xid: u32,
    },
    /// The kubelet is ended and started again; pods go on meanwhile.
    KubeletRestarted,
}

/// What befalls the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiServerEvent {
    /// It is killed and stays dead.
    Killed,
    /// It starts again, after it was killed, and is ready.
    Revived,
}

/// What a program in a pod printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecOutput {
    /// Exit code, where the API told it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl ExecOutput {
    /// What to say of a program that did not end well.
    pub(crate) fn failure(&self, what: &str) -> Failure {
        let code = self.code.unwrap_or(-1);
        Failure::new(what).versus(
            "exit code 0",
            format!("exit code {code}: {}{}", self.stdout, self.stderr),
        )
    }
}

/// The cluster could not do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct TestbedError {
    /// What was tried, on what, and what to do next.
    pub message: String,
    /// The run cannot go on: a component died, the machine lacks something.
    pub fatal: bool,
}

impl TestbedError {
    /// An error after which the run can go on.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            fatal: false,
        }
    }

    /// An error after which it cannot.
    #[must_use]
    pub fn fatal(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            fatal: true,
        }
    }
}

/// A cluster as scenarios see it.
pub trait Testbed: Send + Sync {
    /// A client of its API with all rights.
    fn client(&self) -> kube::Client;

    /// Gives the cluster exactly these nodes, clean, and returns when their devices are published. Does nothing where
    /// they are so already.
    fn shape<'a>(&'a self, nodes: &'a [NodeWish]) -> LocalBoxFuture<'a, Result<(), TestbedError>>;

    /// What NVML says on each node now.
    fn cards(&self) -> LocalBoxFuture<'_, Result<Vec<NodeCards>, TestbedError>>;

    /// Runs a program in a container of a pod, the only one where none is named, through the kubelet.
    fn exec<'a>(
        &'a self,
        namespace: &'a str,
        pod: &'a str,
        container: Option<&'a str>,
        argv: &'a [&'a str],
    ) -> LocalBoxFuture<'a, Result<ExecOutput, TestbedError>>;

    /// Runs a program on a node, beside its kubelet: one of the node's own, or a component by its name.
    fn on_node<'a>(
        &'a self,
        node: &'a str,
        argv: &'a [&'a str],
    ) -> LocalBoxFuture<'a, Result<ExecOutput, TestbedError>>;

    /// Lets something befall a node, and returns when it is over.
    fn befall<'a>(
        &'a self,
        node: &'a str,
        event: NodeEvent,
    ) -> LocalBoxFuture<'a, Result<(), TestbedError>>;

    /// Starts a scheduler beside Kubernetes' own under this name, anew where it runs, or ends it. Returns when it leads, or is gone.
    fn scheduler<'a>(
        &'a self,
        name: &'a str,
        start: Option<cluster::Scheduler<'a>>,
    ) -> LocalBoxFuture<'a, Result<(), TestbedError>> {
        let _ = start;
        let refusal = TestbedError::new(format!("this cluster cannot have the scheduler {name}"));
        Box::pin(async move { Err(refusal) })
    }

    /// Starts Kueue with this configuration, anew where it runs, or ends it; returns when it answers, or is gone.
    fn queues<'a>(
        &'a self,
        configuration: Option<&'a serde_json::Value>,
    ) -> LocalBoxFuture<'a, Result<(), TestbedError>> {
        let there = configuration.is_none();
        Box::pin(async move {
            there
                .then_some(())
                .ok_or_else(|| TestbedError::new("this cluster has no Kueue"))
        })
    }

    /// Starts Prometheus with these files of rules, by name and text, anew where it runs, or ends it.
    fn prometheus<'a>(
        &'a self,
        rules: Option<&'a [(&'a str, String)]>,
    ) -> LocalBoxFuture<'a, Result<(), TestbedError>> {
        let there = rules.is_none();
        Box::pin(async move {
            there
                .then_some(())
                .ok_or_else(|| TestbedError::new("this cluster has no Prometheus"))
        })
    }

    /// What Prometheus says under this path of its API.
    fn ask_prometheus<'a>(
        &'a self,
        path: &'a str,
    ) -> LocalBoxFuture<'a, Result<serde_json::Value, TestbedError>> {
        let refusal = TestbedError::new(format!("nobody here answers {path}"));
        Box::pin(async move { Err(refusal) })
    }

    /// Runs promtool on files, by name and text, that lie together in a folder.
    fn promtool<'a>(
        &'a self,
        args: &'a [&'a str],
        files: &'a [(&'a str, String)],
    ) -> LocalBoxFuture<'a, Result<ExecOutput, TestbedError>> {
        let refusal = TestbedError::new(format!("no promtool to run {args:?} on {}", files.len()));
        Box::pin(async move { Err(refusal) })
    }

    /// Says these numbers as external metrics from now on, or nothing any more.
    fn metrics<'a>(
        &'a self,
        values: Option<&'a BTreeMap<String, i64>>,
    ) -> LocalBoxFuture<'a, Result<(), TestbedError>> {
        let there = values.is_none();
        Box::pin(async move {
            there
                .then_some(())
                .ok_or_else(|| TestbedError::new("this cluster tells no external metrics"))
        })
    }

    /// Whether something befell the cluster that its parts take minutes to get over: it goes on, and the next scenario
    /// gets another one.
    fn worn(&self) -> bool {
        false
    }

    /// Lets something befall the API server, and returns when it is over. Whoever listens to it comes back one by one, so
    /// the cluster is worn after it.
    fn api_server(&self, event: ApiServerEvent) -> LocalBoxFuture<'_, Result<(), TestbedError>>;

    /// Writes what is known below the API (component logs, driver state) into `folder`.
    fn evidence<'a>(&'a self, folder: &'a Path) -> LocalBoxFuture<'a, Result<(), TestbedError>>;

    /// An error where a part of the cluster has died.
    fn check(&self) -> LocalBoxFuture<'_, Result<(), TestbedError>>;

    /// What the cluster is made of.
    fn environment(&self) -> report::Environment;

    /// How a person reaches a cluster that was kept.
    fn how_to_reach(&self) -> String;

    /// Ends the cluster; nothing of it is left.
    fn stop(&self) -> LocalBoxFuture<'_, Result<(), TestbedError>>;
}
