//! Bringing a cluster up, each part as early as it can be: what retries by itself is started before what it needs.
//! Not what the parts are (`control_plane`, `node::config`).
//! A spec in, a `Running` out; on any error everything made so far is gone again.
use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    path::PathBuf,
    time::Duration,
};

use gpu_model::Machine;
use k8s_openapi::api::{
    core::v1::{Node as NodeObject, ServiceAccount},
    resource::v1::ResourceSlice,
};
use kube::api::{Api, ListParams};

use crate::{
    control_plane::{ControlPlane, admin_kubeconfig, environment, path},
    error::{Error, Result},
    images,
    node::{
        config::{CONTAINERD, NodePrograms, Shared, make},
        driver::Started,
        host,
    },
    ns::root::{Root, machine_id},
    objects,
    owner::{Lifeline, RunFolder},
    pki::Authority,
    programs::Programs,
    progress::{Listener, Progress},
    roles::{InitSpec, Place},
    rpc::Launch,
    running::{Cluster, Node, NodeRecord, Owner, RECORD_VERSION, Record, Running, client},
    spec::{ClusterSpec, NodeShape, Offer},
    wait::{Look, Waiter},
};

/// How long a component may take; generous, since machines are slow and shared.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// While a cluster comes up.
pub(crate) const STARTING: &str = "while starting";

impl Cluster {
    /// Starts a cluster and returns when every node's driver has published its slices.
    pub async fn start(spec: ClusterSpec, listener: &dyn Listener) -> Result<Running> {
        let waiter = Waiter::new(listener);
        spec.check()?;
        let (running, later) = begin_in_folder(&spec, Programs::NEEDED, &waiter).await?;
        match bring_up(&running, later, &spec.nodes, &waiter).await {
            Ok(()) => Ok(running),
            Err(error) => Err(with_hint(error, &running)),
        }
    }
}

/// The programs are looked for, the folder is taken, and etcd and the API server are started.
pub(crate) async fn begin_in_folder(
    spec: &ClusterSpec,
    needed: &[&str],
    waiter: &Waiter<'_>,
) -> Result<(Running, Vec<Launch>)> {
    for name in needed {
        let at = spec.programs.path(name)?;
        fs::metadata(at).map_err(Error::io("find", at))?;
    }
    let (folder, cleaned) = RunFolder::take(&spec.name, &spec.dir)?;
    if let Some(what) = cleaned {
        waiter.listener.on(Progress::Cleaned { what });
    }
    match begin(spec, waiter).await {
        Err(error) => {
            // The reason counts; what cannot be removed the next start removes.
            drop(folder);
            Err(error)
        }
        Ok((running, later)) => {
            if let Some(owner) = running.owner().as_mut() {
                owner.folder = Some(folder);
            }
            Ok((running, later))
        }
    }
}

/// The logs go with the cluster: what they complain about must be said now.
pub(crate) fn with_hint(mut error: Error, running: &Running) -> Error {
    if let Error::TimedOut { hint, .. } = &mut error {
        *hint = running.complaints();
    }
    error
}

/// The control plane's processes are started; nothing is waited for.
async fn begin(spec: &ClusterSpec, waiter: &Waiter<'_>) -> Result<(Running, Vec<Launch>)> {
    let dir = &spec.dir;
    let exe = spec.exe()?;
    for below in ["logs", "kubeconfigs", "root", "var", "nodes"] {
        make(&dir.join(below))?;
    }
    let authority = Authority::open(&dir.join("pki"))?;
    let control_plane = ControlPlane::lay(dir, &spec.programs, &spec.features, &authority)?;

    // Made out here, so it listens out here, also when its accepting process lives in another network namespace.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| Error::Environment {
        what: format!("cannot listen on 127.0.0.1: {e}"),
        remedy: "loopback must be up and a free port left".into(),
    })?;
    let port = listener
        .local_addr()
        .map_err(Error::io("ask for the port of", "the listener"))?
        .port();
    let kubeconfig = admin_kubeconfig(dir, &spec.name, &authority, port)?;

    let image_cache = spec
        .image_cache
        .clone()
        .unwrap_or_else(|| dir.join("images"));
    make(&image_cache)?;
    let mut programs = spec.programs.all();
    programs.extend([exe.clone(), image_cache.clone()]);
    let init_spec = InitSpec {
        root: Root {
            at: dir.join("root"),
            keep: vec![dir.clone()],
            programs,
            var: dir.join("var"),
            files: vec![],
            hostname: spec.name.clone(),
            machine_id: machine_id(&spec.name, ""),
        },
        control: dir.join("control.sock"),
        place: Place::Cluster,
    };
    let record = Record {
        version: RECORD_VERSION,
        name: spec.name.clone(),
        exe: exe.clone(),
        programs: spec.programs.clone(),
        features: spec.features.clone(),
        archive: image_cache,
        nodes: vec![],
    };
    let lifeline = Lifeline::start(
        &exe,
        &write_init(dir.join("init.json"), &init_spec)?,
        listener,
        &dir.join("logs/init.log"),
    )?;
    let client = client(&kubeconfig).await?;
    let running = Running::new(
        dir,
        record,
        client,
        Some(Owner {
            lifeline,
            folder: None,
        }),
    );
    waiter
        .until("the cluster's namespaces", LIMIT, async || {
            if running.init.reachable() {
                return Ok(Look::Is(()));
            }
            match running.owner().as_mut().and_then(|o| o.lifeline.ended()) {
                Some(error) => Err(error),
                None => Ok(Look::NotYet("its init is being set up".into())),
            }
        })
        .await?;
    waiter.reached("namespaces are there");
    running.init.start(control_plane.etcd).await?;
    running
        .keep_launch(&control_plane.apiserver)?
        .start(control_plane.apiserver)
        .await?;
    waiter.reached("control plane is started");
    // Before the API server listens these two can only wait, and they would do so at its cost.
    let mut later: Vec<Launch> = control_plane.controller_manager.into_iter().collect();
    later.push(control_plane.scheduler);
    Ok((running, later))
}

async fn bring_up(
    running: &Running,
    later: Vec<Launch>,
    shapes: &[NodeShape],
    waiter: &Waiter<'_>,
) -> Result<()> {
    let archive = assemble(running).await?;
    waiter.reached("images are assembled");
    running.change_record(|record| {
        record.archive = archive;
        record.nodes = shapes
            .iter()
            .zip(0..)
            .map(|(shape, index)| NodeRecord {
                shape: shape.clone(),
                index,
            })
            .collect();
    })?;
    let nodes = running.nodes();
    let all_nodes =
        futures::future::try_join_all(nodes.iter().map(|node| first_start(running, node, waiter)));
    futures::future::try_join(all_nodes, objects_created(running, waiter)).await?;
    let mut started = Vec::new();
    for node in &nodes {
        started.push((node.clone(), node.start_driver().await?));
    }
    waiter.reached("drivers are started");
    // The drivers are the longest way: let them get to where they wait for their informers.
    let listening = waiter.until(
        "the drivers to listen",
        Duration::from_secs(1),
        async || {
            let silent = nodes.iter().find(|node| {
                node.shape().offer == Offer::DraDriver && !node.at.driver_socket().exists()
            });
            Ok(silent.map_or(Look::Is(()), |node| {
                Look::NotYet(format!("that of node {} does not", node.name()))
            }))
        },
    );
    match listening.await {
        Ok(()) | Err(Error::TimedOut { .. }) => {}
        Err(error) => return Err(error),
    }
    for launch in later {
        running.init.start(launch).await?;
    }
    slices_published(running, &nodes, waiter).await?;
    waiter.reached("slices are published");
    takes_pods(running, &started, waiter).await
}

async fn assemble(running: &Running) -> Result<PathBuf> {
    let record = running.record();
    // Until here the record names the folder.
    let cache = record.archive.clone();
    let busybox = record.programs.path("busybox")?.to_path_buf();
    let job = move || {
        // The test image gets the C library that these need; CDI mounts them themselves into a pod.
        let clients = [
            ("libnvidia-ml.so", gpu_host::payload::NVML),
            ("nvidia-smi", gpu_host::payload::NVIDIA_SMI),
        ];
        let programs = [("nvml-probe", gpu_host::payload::NVML_PROBE)];
        let parts = images::Parts {
            busybox: &busybox,
            clients: &clients,
            programs: &programs,
        };
        images::assemble(&parts, &cache)
            .map(|a| a.path)
            .map_err(|e| Error::Images(e.to_string()))
    };
    tokio::task::spawn_blocking(job)
        .await
        .map_err(|e| Error::Images(e.to_string()))?
}

/// Starts a node with the cards of its shape.
async fn first_start(running: &Running, node: &Node, waiter: &Waiter<'_>) -> Result<()> {
    let machine = node.shape().machine(&running.name())?;
    start_node(running, node, &machine, waiter).await
}

/// Brings up a node's namespaces, containerd, images and kubelet; the driver is laid out and not yet started.
pub(crate) async fn start_node(
    running: &Running,
    node: &Node,
    machine: &Machine,
    waiter: &Waiter<'_>,
) -> Result<()> {
    let record = running.record();
    let tree = host::lay(&node.at.host(), machine)?;
    node.at.new_boot_id()?;
    let driver_root = tree.driver_root();
    let authority = Authority::open(&running.dir.join("pki"))?;
    let shared = Shared {
        cluster: &running.dir,
        exe: &record.exe,
        programs: &record.programs,
        features: &record.features,
        authority: &authority,
        archive: &record.archive,
        driver_root: &driver_root,
    };
    let programs = NodePrograms::lay(&node.at, &shared)?;
    for program in programs.drivers.iter().chain([&programs.kubelet]) {
        let file = node.at.launch(&program.name);
        let text = serde_json::to_string_pretty(program).unwrap_or_default();
        fs::write(&file, text).map_err(Error::io("write", &file))?;
    }
    let init_spec = InitSpec {
        root: programs.root,
        control: node.at.control(),
        place: Place::Node {
            index: node.at.index,
            host: node.at.host(),
            boot_id: node.at.boot_id(),
        },
    };
    let file = write_init(node.at.init_spec(), &init_spec)?;
    let launch = Launch {
        name: format!("node-{}", node.name()),
        argv: vec![path(&record.exe), "__node-ns".into(), path(&file)],
        env: environment(),
        log: node.log("init"),
    };
    running.init.start(launch).await?;
    waiter
        .until(
            &format!("the namespaces of node {}", node.name()),
            LIMIT,
            async || {
                if node.control.reachable() {
                    return Ok(Look::Is(()));
                }
                running.check_while(STARTING).await?;
                Ok(Look::NotYet("its init is being set up".into()))
            },
        )
        .await?;
    node.control.start(programs.containerd).await?;
    waiter
        .until(
            &format!("containerd on node {}", node.name()),
            LIMIT,
            async || {
                if node.control.exists(CONTAINERD).await? {
                    return Ok(Look::Is(()));
                }
                running.check_while(STARTING).await?;
                Ok(Look::NotYet("its socket is not there".into()))
            },
        )
        .await?;
    let imported = node
        .control
        .run(&programs.import, environment(), "", LIMIT)
        .await;
    if !imported.as_ref().is_ok_and(|o| o.ok()) {
        running.check_while(STARTING).await?;
        return Err(Error::Init {
            doing: format!("import the images into node {}", node.name()),
            message: imported.map_or_else(|e| e.to_string(), |o| o.stderr),
        });
    }
    waiter.reached(format!("node {}: containerd has its images", node.name()));
    node.control.start(programs.kubelet).await
}

/// Device classes and rights are there. The admin may write as soon as the API server listens, well before it says that it is
/// ready, and the driver needs no more than this.
async fn objects_created(running: &Running, waiter: &Waiter<'_>) -> Result<()> {
    waiter
        .until("the API server", LIMIT, async || {
            running.check_while(STARTING).await?;
            Ok(match objects::create(&running.client).await {
                Ok(()) => Look::Is(()),
                Err(error) => Look::NotYet(error.to_string()),
            })
        })
        .await?;
    waiter.reached("API server takes objects");
    Ok(())
}

pub(crate) async fn is_ready(running: &Running) -> Result<(), String> {
    let request = http::Request::get("/readyz")
        .body(vec![])
        .unwrap_or_default();
    match running.client.request_text(request).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err(status
            .message
            .lines()
            .find(|l| l.starts_with("[-]"))
            .unwrap_or("it says it is not ready")
            .to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Every node with cards has all slices of its newest pool generation.
pub(crate) async fn slices_published(
    running: &Running,
    nodes: &[Node],
    waiter: &Waiter<'_>,
) -> Result<()> {
    let api: Api<ResourceSlice> = Api::all(running.client.clone());
    waiter
        .until("the driver's ResourceSlices", LIMIT, async || {
            running.check_while(STARTING).await?;
            let slices = api
                .list(&ListParams::default())
                .await
                .map_err(Error::kube("list ResourceSlices"))?
                .items;
            // What a device plugin offers stands in the Node, and is there with its registration.
            let by_slices = |node: &&Node| node.shape().offer == Offer::DraDriver;
            for node in nodes.iter().filter(by_slices) {
                let newest = slices
                    .iter()
                    .filter(|s| s.spec.node_name.as_deref() == Some(node.name()));
                let generation = newest.clone().map(|s| s.spec.pool.generation).max();
                let Some(generation) = generation else {
                    return Ok(Look::NotYet(format!("node {} has none", node.name())));
                };
                let newest: Vec<_> = newest
                    .filter(|s| s.spec.pool.generation == generation)
                    .collect();
                let wanted = newest[0].spec.pool.resource_slice_count;
                if (newest.len() as i64) < wanted {
                    return Ok(Look::NotYet(format!(
                        "node {} has {} of {wanted}",
                        node.name(),
                        newest.len()
                    )));
                }
            }
            Ok(Look::Is(()))
        })
        .await
}

/// Every node is Ready, has its driver registered, and pods can be created. Mostly so already when the slices are there.
pub(crate) async fn takes_pods(
    running: &Running,
    started: &[(Node, Started)],
    waiter: &Waiter<'_>,
) -> Result<()> {
    for (node, started) in started {
        node.driver_registered(*started, waiter).await?;
    }
    let nodes: Api<NodeObject> = Api::all(running.client.clone());
    let accounts: Api<ServiceAccount> = Api::namespaced(running.client.clone(), "default");
    let names: Vec<String> = running
        .nodes()
        .iter()
        .map(|n| n.name().to_owned())
        .collect();
    waiter
        .until("the nodes to take pods", LIMIT, async || {
            running.check_while(STARTING).await?;
            let list = nodes
                .list(&ListParams::default())
                .await
                .map_err(Error::kube("list nodes"))?
                .items;
            for name in &names {
                let Some(node) = list
                    .iter()
                    .find(|n| n.metadata.name.as_deref() == Some(name))
                else {
                    return Ok(Look::NotYet(format!("{name} is not registered")));
                };
                if let Some(taint) = node
                    .spec
                    .iter()
                    .flat_map(|s| s.taints.iter().flatten())
                    .next()
                {
                    return Ok(Look::NotYet(format!("{name} has the taint {}", taint.key)));
                }
            }
            if let Err(why) = is_ready(running).await {
                return Ok(Look::NotYet(format!("the API server: {why}")));
            }
            match accounts
                .get_opt("default")
                .await
                .map_err(Error::kube("get the default service account"))?
            {
                Some(_) => Ok(Look::Is(())),
                None => Ok(Look::NotYet(
                    "the namespace default has no service account yet".into(),
                )),
            }
        })
        .await?;
    waiter.reached("nodes take pods");
    Ok(())
}

pub(crate) fn write_init(file: PathBuf, spec: &InitSpec) -> Result<PathBuf> {
    let text = serde_json::to_string_pretty(spec).unwrap_or_default();
    fs::write(&file, text).map_err(Error::io("write", &file))?;
    Ok(file)
}
