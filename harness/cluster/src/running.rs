//! A cluster that runs: its kubeconfig, client, nodes and end.
//! Not how it came up (`start`), how its nodes change (`shape`) or what is gathered from it (`evidence`).
//! Made by `Cluster::start`, which owns it, or by `Cluster::attach`, which only uses it.
use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

use kube::Client;
use serde::{Deserialize, Serialize};

use crate::{
    control_plane::environment,
    error::{Error, Result},
    features::Features,
    node::{config::NodeDir, host},
    owner::{self, Lifeline, RunFolder},
    programs::Programs,
    progress::Silent,
    rpc::{self, Launch, Output, Program},
    spec::NodeShape,
    start,
    wait::{Look, Waiter},
};

const API_SERVER: &str = "kube-apiserver";

/// The door: start a cluster, or use one that another process owns.
#[derive(Debug)]
pub struct Cluster;

/// What lies in `cluster.json`, so that other processes can use the cluster.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub version: u32,
    pub name: String,
    pub exe: PathBuf,
    pub programs: Programs,
    pub features: Features,
    /// The image archive; its folder until it is assembled.
    pub archive: PathBuf,
    pub nodes: Vec<NodeRecord>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NodeRecord {
    pub shape: NodeShape,
    pub index: u8,
}

/// Version of `cluster.json`.
pub(crate) const RECORD_VERSION: u32 = 2;

/// A cluster that runs. Dropping the one that started it ends it.
pub struct Running {
    pub(crate) dir: PathBuf,
    pub(crate) record: RwLock<Record>,
    pub(crate) client: Client,
    pub(crate) init: rpc::Client,
    pub(crate) owner: Mutex<Option<Owner>>,
}

/// What only the process that started the cluster has.
pub(crate) struct Owner {
    // The order is the order of the end: processes first, then their folder.
    pub lifeline: Lifeline,
    pub folder: Option<RunFolder>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.lifeline.cut();
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}

impl Cluster {
    /// Uses a cluster that another process owns.
    pub async fn attach(dir: &Path) -> Result<Running> {
        let record = read_record(dir)?;
        let client = client(&dir.join("kubeconfig")).await?;
        Ok(Running::new(dir, record, client, None))
    }
}

impl Running {
    pub(crate) fn new(dir: &Path, record: Record, client: Client, owner: Option<Owner>) -> Self {
        Running {
            dir: dir.into(),
            init: rpc::Client::new(dir.join("control.sock"), "the cluster"),
            record: RwLock::new(record),
            client,
            owner: Mutex::new(owner),
        }
    }

    /// The cluster's name.
    pub fn name(&self) -> String {
        self.record().name
    }

    /// The run folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// An admin's kubeconfig that works from outside, on loopback.
    pub fn kubeconfig(&self) -> PathBuf {
        self.dir.join("kubeconfig")
    }

    /// A client with the admin's rights.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The real programs that it runs.
    pub fn programs(&self) -> Programs {
        self.record().programs
    }

    /// All nodes, in the order of the spec.
    pub fn nodes(&self) -> Vec<Node> {
        self.record().nodes.iter().map(|n| self.handle(n)).collect()
    }

    /// One node.
    pub fn node(&self, name: &str) -> Result<Node> {
        let record = self.record();
        record
            .nodes
            .iter()
            .find(|n| n.shape.name == name)
            .map(|n| self.handle(n))
            .ok_or_else(|| Error::UnknownNode {
                asked: name.into(),
                known: record.nodes.iter().map(|n| n.shape.name.clone()).collect(),
            })
    }

    /// An error if a component has ended that nobody stopped.
    pub async fn check(&self) -> Result<()> {
        self.check_while("while the cluster ran").await
    }

    pub(crate) async fn check_while(&self, when: &'static str) -> Result<()> {
        if let Some(error) = self.owner().as_mut().and_then(|o| o.lifeline.ended()) {
            return Err(error);
        }
        first_ended(&self.init.programs().await?, "", when)?;
        for node in self.nodes() {
            if node.control.reachable() {
                first_ended(&node.control.programs().await?, &node.name, when)?;
            }
        }
        Ok(())
    }

    /// Its namespaces have ended.
    pub(crate) fn is_gone(&self) -> bool {
        self.owner()
            .as_mut()
            .is_some_and(|o| o.lifeline.ended().is_some())
    }

    /// Ends every process of the cluster and removes its folder. The one that only attached does nothing.
    pub async fn stop(self) -> Result<()> {
        let Some(mut owner) = self.owner().take() else {
            return Ok(());
        };
        let end = move || {
            owner.lifeline.cut();
            owner.folder.take().map_or(Ok(()), RunFolder::remove)
        };
        tokio::task::spawn_blocking(end)
            .await
            .map_err(|e| Error::Init {
                doing: "end the cluster".into(),
                message: e.to_string(),
            })?
    }

    /// Kills the API server, as the kernel does with a process that has no memory left.
    pub async fn kill_api_server(&self) -> Result<()> {
        self.init.stop(API_SERVER, Duration::ZERO).await
    }

    /// Starts an API server that was killed, and returns when it says that it is ready.
    pub async fn revive_api_server(&self) -> Result<()> {
        let launch = Launch::read(API_SERVER, &self.launch(API_SERVER))?;
        self.init.start(launch).await?;
        let waiter = Waiter::new(&Silent);
        waiter
            .until("the API server", start::LIMIT, async || {
                self.check().await?;
                Ok(match start::is_ready(self).await {
                    Ok(()) => Look::Is(()),
                    Err(why) => Look::NotYet(why),
                })
            })
            .await
    }

    /// Writes down how a program of the control plane is started, for whoever restarts it.
    pub(crate) fn keep_launch(&self, launch: &Launch) -> Result<&rpc::Client> {
        let file = self.launch(&launch.name);
        let text = serde_json::to_string_pretty(launch).unwrap_or_default();
        fs::write(&file, text).map_err(Error::io("write", &file))?;
        Ok(&self.init)
    }

    fn launch(&self, program: &str) -> PathBuf {
        self.dir.join(format!("{program}.json"))
    }

    /// The last complaint in each component's log, for an error whose cause is somewhere in there.
    pub(crate) fn complaints(&self) -> String {
        let mut logs = vec![self.dir.join("logs")];
        logs.extend(self.nodes().iter().map(|n| n.at.dir.join("logs")));
        let mut text = String::new();
        for file in logs
            .iter()
            .filter_map(|dir| fs::read_dir(dir).ok())
            .flatten()
            .flatten()
        {
            let log = owner::read_log(&file.path());
            if let Some(line) = log.lines().rev().find(|l| is_complaint(l)) {
                let short: String = line.chars().take(300).collect();
                text.push_str(&format!("\n  {}: {short}", file.path().display()));
            }
        }
        if text.is_empty() {
            text
        } else {
            format!("; last complaints in the logs:{text}")
        }
    }

    /// Log file of a component of the control plane.
    pub fn log(&self, component: &str) -> PathBuf {
        self.dir.join("logs").join(format!("{component}.log"))
    }

    pub(crate) fn owner(&self) -> MutexGuard<'_, Option<Owner>> {
        self.owner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn record(&self) -> Record {
        self.record
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Takes up what another process changed.
    pub(crate) fn reload(&self) -> Result<()> {
        let fresh = read_record(&self.dir)?;
        *self.record.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    pub(crate) fn change_record(&self, change: impl FnOnce(&mut Record)) -> Result<()> {
        let mut record = self.record.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut record);
        write_record(&self.dir, &record)
    }

    fn handle(&self, node: &NodeRecord) -> Node {
        Node::new(
            NodeDir::new(&self.dir, &node.shape.name, node.index),
            node.shape.clone(),
        )
    }
}

pub(crate) fn read_record(dir: &Path) -> Result<Record> {
    let file = dir.join("cluster.json");
    let text = fs::read_to_string(&file).map_err(Error::io("read", &file))?;
    let record: Record = serde_json::from_str(&text).map_err(|e| Error::Io {
        doing: "read",
        path: file.clone(),
        source: std::io::Error::new(std::io::ErrorKind::InvalidData, e),
    })?;
    if record.version != RECORD_VERSION {
        return Err(Error::Spec {
            what: format!(
                "{} has version {}, this program writes {RECORD_VERSION}",
                file.display(),
                record.version
            ),
            remedy: "use the sliceproof that started the cluster, or start it anew".into(),
        });
    }
    Ok(record)
}

/// klog's and containerd's ways to say that something is wrong.
fn is_complaint(line: &str) -> bool {
    let klog = line.starts_with(['E', 'F'])
        && line
            .get(1..5)
            .is_some_and(|d| d.bytes().all(|b| b.is_ascii_digit()));
    klog || line.contains("level=error")
        || line.contains("level=fatal")
        || line.contains("\"level\":\"error\"")
}

/// Whole or not at all: other processes read it.
pub(crate) fn write_record(dir: &Path, record: &Record) -> Result<()> {
    let (file, new) = (dir.join("cluster.json"), dir.join("cluster.json.new"));
    let text = serde_json::to_string_pretty(record).unwrap_or_default();
    fs::write(&new, text)
        .and_then(|()| fs::rename(&new, &file))
        .map_err(Error::io("write", &file))
}

pub(crate) fn first_ended(programs: &[Program], node: &str, when: &'static str) -> Result<()> {
    let Some((program, status)) = programs
        .iter()
        .filter(|p| !p.stopped)
        .find_map(|p| p.ended.as_ref().map(|status| (p, status)))
    else {
        return Ok(());
    };
    let text = owner::read_log(&program.log);
    if let Some(refusal) = owner::refusal(&text) {
        return Err(refusal);
    }
    let component = if node.is_empty() {
        program.name.clone()
    } else {
        format!("{} of node {node}", program.name)
    };
    Err(Error::ComponentEnded {
        component,
        when,
        status: status.clone(),
        log: program.log.clone(),
        tail: owner::tail(&text, 12),
    })
}

pub(crate) async fn client(kubeconfig: &Path) -> Result<Client> {
    let refused = |message: String| Error::Init {
        doing: format!("read {}", kubeconfig.display()),
        message,
    };
    let config =
        kube::config::Kubeconfig::read_from(kubeconfig).map_err(|e| refused(e.to_string()))?;
    let config =
        kube::Config::from_custom_kubeconfig(config, &kube::config::KubeConfigOptions::default())
            .await
            .map_err(|e| refused(e.to_string()))?;
    Client::try_from(config).map_err(Error::kube("make a client"))
}

/// One node of a running cluster.
#[derive(Debug, Clone)]
pub struct Node {
    name: String,
    shape: NodeShape,
    pub(crate) at: NodeDir,
    pub(crate) control: rpc::Client,
}

impl Node {
    pub(crate) fn new(at: NodeDir, shape: NodeShape) -> Self {
        Node {
            name: at.name.clone(),
            shape,
            control: rpc::Client::new(at.control(), format!("node {}", at.name)),
            at,
        }
    }

    /// Name of the Node object.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cards it was given.
    pub fn shape(&self) -> &NodeShape {
        &self.shape
    }

    /// Runs a program inside the node's namespaces, as its root, to its end.
    /// `nvidia-smi` and the fake library are on its path.
    pub async fn exec(&self, argv: &[&str]) -> Result<Output> {
        self.exec_with(argv, "", Duration::from_secs(60)).await
    }

    /// Like [`Node::exec`], with standard input and a limit.
    pub async fn exec_with(&self, argv: &[&str], stdin: &str, limit: Duration) -> Result<Output> {
        let argv: Vec<String> = argv.iter().map(|a| (*a).to_owned()).collect();
        self.control
            .run(&argv, self.environment(), stdin, limit)
            .await
    }

    /// Log file of a component of this node.
    pub fn log(&self, component: &str) -> PathBuf {
        self.at.log(component)
    }

    /// The state file of the node's cards; what is changed through it the driver and all pods see at once.
    pub fn store(&self) -> Result<gpu_store::Store> {
        host::store(&self.at.host())
    }

    /// The node's cards as they stand now.
    pub fn machine(&self) -> Result<gpu_model::Machine> {
        let snapshot = self.store()?.read().map_err(|e| Error::Gpu {
            doing: format!("read the cards of node {}", self.name),
            message: e.to_string(),
        })?;
        Ok(snapshot.machine.clone())
    }

    fn environment(&self) -> BTreeMap<String, String> {
        let mut env = environment();
        let root = self.at.host().join("driver-root");
        let path = format!(
            "{}:{}:{}",
            root.join("usr/bin").display(),
            self.at.dir.join("bin").display(),
            env["PATH"]
        );
        env.insert("PATH".into(), path);
        env.insert(
            "LD_LIBRARY_PATH".into(),
            root.join("usr/lib/x86_64-linux-gnu").display().to_string(),
        );
        env.insert(
            "CONTAINERD_ADDRESS".into(),
            "/run/containerd/containerd.sock".into(),
        );
        env.insert("CONTAINERD_NAMESPACE".into(), "k8s.io".into());
        env
    }
}
