//! One real cluster, seen from inside its pods and nodes and from outside: what a claim shows, that nothing leaves, that nothing
//! of the machine is changed. Each check is a test; all of a process share the cluster, which starts with the first and ends after
//! the last. nextest has a process for each test, and so a cluster for each: `cargo test` is the cheaper way here.
#![forbid(unsafe_code)]

#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use cluster::{Cluster, ClusterSpec, NodeShape, Progress, Running};
use k8s_openapi::api::core::v1::{Pod, Secret};
use k8s_openapi::api::resource::v1::ResourceSlice;
use kube::api::{Api, ListParams, PostParams};
use kube::config::Kubeconfig;
use libtest_mimic::{Arguments, Trial};
use serde_json::json;
use support::{IMAGE, Outcome, Pods, ensure, programs, read};
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

fn main() -> ExitCode {
    cluster::dispatch();
    let arguments = Arguments::from_args();
    let trials = vec![
        trial("a_pod_sees_what_its_claim_gave_and_nothing_else", |w| {
            w.block_on(claim_view(w))
        }),
        trial("a_pod_without_a_claim_sees_the_driver_but_no_gpu", |w| {
            w.block_on(no_claim(w))
        }),
        trial("a_load_that_cannot_be_read_fails_its_container", |w| {
            w.block_on(bad_load(w))
        }),
        trial("an_image_that_is_not_there_fails_as_a_pull_does", |w| {
            w.block_on(missing_image(w))
        }),
        trial("nothing_reaches_out_of_the_cluster", |w| {
            w.block_on(no_uplink(w))
        }),
        trial("the_kubeconfig_points_at_loopback", kubeconfig),
        trial("logs_exec_and_a_failed_command_work", |w| {
            w.block_on(logs_and_exec(w))
        }),
        trial("a_privileged_pod_of_the_host_runs", |w| {
            w.block_on(privileged(w))
        }),
        trial("each_component_may_do_its_own_work_only", |w| {
            w.block_on(identities(w))
        }),
        trial("what_a_node_runs_ends_within_its_limit", |w| {
            w.block_on(limits(w))
        }),
        trial("evidence_is_gathered_whole", |w| w.block_on(evidence(w))),
        trial("the_machines_settings_are_as_before", settings),
    ];
    let conclusion = libtest_mimic::run(&arguments, trials);
    match end() {
        Ok(()) => conclusion.exit_code(),
        Err(left) => {
            eprintln!("{left}");
            ExitCode::FAILURE
        }
    }
}

fn trial(name: &str, check: fn(&World) -> Outcome) -> Trial {
    Trial::test(name, move || {
        let world = WORLD
            .get_or_init(World::start)
            .as_ref()
            .map_err(|e| format!("the cluster did not start: {e}"))?;
        check(world).map_err(Into::into)
    })
}

/// The cluster and what the machine was like before it.
struct World {
    runtime: Runtime,
    running: Mutex<Option<Running>>,
    client: kube::Client,
    kubeconfig: PathBuf,
    settings: Vec<(&'static str, String)>,
    cgroups: BTreeSet<PathBuf>,
    folder: Mutex<Option<tempfile::TempDir>>,
    evidence: PathBuf,
}

static WORLD: OnceLock<Outcome<World>> = OnceLock::new();

impl World {
    fn start() -> Outcome<World> {
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        let (settings, cgroups) = (machine_settings(), container_cgroups());
        let spec = ClusterSpec {
            name: "test".into(),
            dir: folder.path().join("run"),
            nodes: vec![NodeShape {
                name: "node-1".into(),
                gpus: "1xA100-SXM4-40GB"
                    .parse()
                    .map_err(|e: gpu_model::NodeSpecError| e.to_string())?,
                mig: true,
                cut: vec![],
                offer: cluster::Offer::default(),
                driver_gates: Default::default(),
            }],
            programs: programs()?,
            features: cluster::Features::default(),
            exe: None,
            image_cache: None,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|e| e.to_string())?;
        let say = |progress: Progress| eprintln!("{progress}");
        let running = runtime
            .block_on(Cluster::start(spec, &say))
            .map_err(|e| e.to_string())?;
        let (client, kubeconfig) = (running.client(), running.kubeconfig());
        let evidence = folder.path().join("evidence");
        Ok(World {
            runtime,
            running: Mutex::new(Some(running)),
            client,
            kubeconfig,
            settings,
            cgroups,
            folder: Mutex::new(Some(folder)),
            evidence,
        })
    }

    fn block_on<T>(&self, check: impl Future<Output = T>) -> T {
        self.runtime.block_on(check)
    }

    /// A client of the same API with a component's certificate, or with none.
    async fn client_as(&self, component: Option<&str>) -> Outcome<kube::Client> {
        self.client_at(component, None).await
    }

    /// The same of another server of this cluster, given by URL and by the name in its certificate.
    async fn client_at(
        &self,
        component: Option<&str>,
        server: Option<(&str, &str)>,
    ) -> Outcome<kube::Client> {
        let mut config = Kubeconfig::read_from(&self.kubeconfig).map_err(|e| e.to_string())?;
        if let Some((url, name)) = server {
            for cluster in config
                .clusters
                .iter_mut()
                .filter_map(|named| named.cluster.as_mut())
            {
                cluster.server = Some(url.to_owned());
                cluster.tls_server_name = Some(name.to_owned());
            }
        }
        let pki = self.kubeconfig.with_file_name("pki");
        let file = |ending: &str| {
            component.map(|name| pki.join(format!("{name}.{ending}")).display().to_string())
        };
        for user in &mut config.auth_infos {
            user.auth_info = Some(kube::config::AuthInfo {
                client_certificate: file("crt"),
                client_key: file("key"),
                ..Default::default()
            });
        }
        let config = kube::Config::from_custom_kubeconfig(config, &Default::default()).await;
        kube::Client::try_from(config.map_err(|e| e.to_string())?).map_err(|e| e.to_string())
    }

    fn pods(&self) -> Pods {
        Pods::new(&self.client)
    }

    async fn node(&self) -> Outcome<cluster::Node> {
        let running = self.running.lock().await;
        running
            .as_ref()
            .ok_or("ended")?
            .node("node-1")
            .map_err(|e| e.to_string())
    }
}

/// Stops the cluster, if it was started, and looks for what it left behind.
fn end() -> Outcome {
    let Some(Ok(world)) = WORLD.get() else {
        return Ok(());
    };
    let running = world.running.blocking_lock().take();
    if let Some(running) = running {
        let dir = running.dir().to_path_buf();
        world
            .runtime
            .block_on(running.stop())
            .map_err(|e| e.to_string())?;
        ensure(!dir.exists(), || {
            format!("the cluster left its folder {}", dir.display())
        })?;
    }
    // A static is never dropped.
    if let Some(folder) = world.folder.blocking_lock().take() {
        folder
            .close()
            .map_err(|e| format!("the test's folder: {e}"))?;
    }
    let left: Vec<_> = container_cgroups()
        .difference(&world.cgroups)
        .cloned()
        .collect();
    ensure(left.is_empty(), || {
        format!("the cluster left cgroups: {left:?}")
    })
}

async fn claim_view(world: &World) -> Outcome {
    let pods = world.pods();
    let template = pods.template("1g.5gb").await?;
    for name in ["one", "other"] {
        pods.create(name, Some(&template), |_| ()).await?;
    }
    let mut seen = BTreeSet::new();
    for name in ["one", "other"] {
        pods.running(name).await?;
        let (list, _) = pods.exec(name, "nvidia-smi -L").await?;
        let lines: Vec<_> = list.lines().collect();
        ensure(
            matches!(lines[..], [gpu, mig] if gpu.starts_with("GPU 0: ") && mig.trim_start().starts_with("MIG 1g.5gb")),
            || format!("{name} should see one GPU and one MIG 1g.5gb:\n{list}"),
        )?;
        let uuid = list
            .split("UUID: MIG-")
            .nth(1)
            .and_then(|rest| rest.split(')').next())
            .unwrap_or_default();
        seen.insert(format!("MIG-{uuid}"));
        let (nodes, _) = pods
            .exec(name, "ls /dev/nvidia-caps; ls -d /dev/nvidia[0-9]*")
            .await?;
        ensure(
            nodes
                .lines()
                .filter(|line| line.starts_with("nvidia-cap"))
                .count()
                == 2,
            || nodes.clone(),
        )?;
        ensure(
            !nodes
                .lines()
                .any(|line| line == "nvidia-cap1" || line == "nvidia-cap2"),
            || nodes.clone(),
        )?;
        let (opened, opens) = pods
            .exec(
                name,
                "for d in /dev/nvidia0 /dev/nvidia-caps/*; do echo > $d || exit; done",
            )
            .await?;
        ensure(opens, || format!("the devices do not open: {opened}"))?;
        let (written, wrote) = pods.exec(name, "nvidia-smi -pm 1").await?;
        ensure(!wrote, || {
            format!("a container could change the card: {written}")
        })?;
    }
    let machine = world.node().await?.machine().map_err(|e| e.to_string())?;
    let on_card: BTreeSet<String> = machine
        .gpus
        .iter()
        .flat_map(|gpu| {
            machine
                .mig_devices(gpu)
                .map(|device| device.ci.uuid.to_string())
                .collect::<Vec<_>>()
        })
        .collect();
    ensure(seen.len() == 2 && seen == on_card, || {
        format!("pods see {seen:?}, the card has {on_card:?}")
    })?;
    // The driver made the partitions after the node was laid: their capability nodes are there all the same, and go with them.
    let nodes = async || {
        let list = "cd /dev/nvidia-caps && for cap in *; do test -c $cap && echo $cap; done";
        let said = world.node().await?.exec(&["sh", "-c", list]).await;
        Ok::<_, String>(said.map_err(|e| e.to_string())?.stdout)
    };
    let with = nodes().await?;
    ensure(with.lines().count() == 2 + 2 * 2, || {
        format!("the node has {with}")
    })?;
    pods.delete(&["one", "other"]).await?;
    let without = nodes().await?;
    ensure(without == "nvidia-cap1\nnvidia-cap2\n", || {
        format!("the node still has {without}")
    })?;
    let machine = world.node().await?.machine().map_err(|e| e.to_string())?;
    ensure(
        machine.gpus.iter().all(|gpu| gpu.instances.is_empty()),
        || "a GPU instance is left on the card".into(),
    )
}

async fn no_claim(world: &World) -> Outcome {
    let pods = world.pods();
    pods.create("plain", None, |_| ()).await?;
    pods.running("plain").await?;
    let (version, there) = pods
        .exec(
            "plain",
            "cat /proc/driver/nvidia/version && grep nvidia-caps /proc/devices && cat /sys/module/nvidia/version",
        )
        .await?;
    ensure(there && version.contains("NVRM version"), || {
        format!("the node's /proc and /sys are not shown: {version}")
    })?;
    let (devices, there) = pods.exec("plain", "ls /dev/nvidia*").await?;
    ensure(!there, || format!("a pod without a claim has {devices}"))?;
    for file in ["/proc/driver/nvidia/version", "/sys/module/nvidia/version"] {
        let (written, wrote) = pods.exec("plain", &format!("echo x > {file}")).await?;
        ensure(!wrote && written.contains("Read-only"), || {
            format!("the node's {file} can be written: {written}")
        })?;
    }
    pods.delete(&["plain"]).await
}

async fn bad_load(world: &World) -> Outcome {
    let pods = world.pods();
    pods.create("loud", None, |pod| {
        pod["metadata"]["annotations"] =
            json!({(cluster::oci::LOAD_ANNOTATION): "utilization=101"});
    })
    .await?;
    let message = pods
        .wait("loud", "refused", |status| {
            let ended = &status["containerStatuses"][0]["state"]["terminated"];
            (ended["reason"] == "StartError").then(|| ended["message"].to_string())
        })
        .await?;
    // As much of it as the reports of scenarios show.
    let shown: String = message.chars().take(300).collect();
    ensure(shown.contains("from 0 to 100, not \\\"101\\\""), || {
        message.clone()
    })?;
    pods.delete(&["loud"]).await
}

async fn missing_image(world: &World) -> Outcome {
    let pods = world.pods();
    let image = "sliceproof.local/not-there:1";
    pods.create("pull", None, |pod| {
        pod["spec"]["containers"][0]["image"] = json!(image)
    })
    .await?;
    let message = pods
        .wait("pull", "in ErrImagePull", |status| {
            let waiting = &status["containerStatuses"][0]["state"]["waiting"];
            (waiting["reason"] == "ErrImagePull").then(|| waiting["message"].to_string())
        })
        .await?;
    ensure(
        message.contains(image) && message.contains("connection refused"),
        || message.clone(),
    )?;
    pods.wait("pull", "in ImagePullBackOff", |status| {
        (status["containerStatuses"][0]["state"]["waiting"]["reason"] == "ImagePullBackOff")
            .then_some(())
    })
    .await?;
    pods.delete(&["pull"]).await
}

async fn no_uplink(world: &World) -> Outcome {
    let listener = TcpListener::bind("0.0.0.0:0").map_err(|e| e.to_string())?;
    let port = listener.local_addr().map_err(|e| e.to_string())?.port();
    let mut targets = vec![IpAddr::from([127, 0, 0, 1])];
    targets.extend(own_address());
    for target in &targets {
        // That it works from here is what makes the rest mean something.
        TcpStream::connect(SocketAddr::new(*target, port))
            .map_err(|e| format!("{target}:{port}: {e}"))?;
        listener.accept().map_err(|e| e.to_string())?;
    }
    listener.set_nonblocking(true).map_err(|e| e.to_string())?;
    // An address of documentation that is nobody's, and a name.
    let mut reach: Vec<_> = targets
        .iter()
        .map(|target| format!("nc -w 2 {target} {port}"))
        .collect();
    reach.push("nc -w 2 192.0.2.1 80".into());
    reach.push("ping -c 1 -W 1 192.0.2.1".into());
    reach.push("timeout 3 nslookup kubernetes.io".into());

    let pods = world.pods();
    pods.create("inside", None, |_| ()).await?;
    pods.create("on-node", None, |pod| {
        pod["spec"]["hostNetwork"] = json!(true)
    })
    .await?;
    for name in ["inside", "on-node"] {
        pods.running(name).await?;
        // A program that is not there would reach nobody either.
        let (missing, there) = pods
            .exec(
                name,
                "for p in nc ping nslookup timeout; do command -v $p || exit; done",
            )
            .await?;
        ensure(there, || format!("{name} lacks a program: {missing}"))?;
        for command in &reach {
            let (output, reached) = pods
                .exec(name, &format!("timeout 5 {command} </dev/null"))
                .await?;
            ensure(!reached, || {
                format!("{name} reached out with `{command}`: {output}")
            })?;
        }
    }
    ensure(listener.accept().is_err(), || {
        "somebody reached the machine's own listener".into()
    })?;
    // No interface but loopback, the node's end of its cable and one per pod.
    let (links, _) = pods.exec("on-node", "ls /sys/class/net").await?;
    let odd = links
        .split_whitespace()
        .find(|link| *link != "lo" && *link != "eth0" && !link.starts_with("veth"));
    ensure(odd.is_none(), || {
        format!("the node has the interface {odd:?}: {links}")
    })?;
    // Pods and nodes do reach each other.
    let address = pods
        .wait("inside", "addressed", |status| {
            status["podIP"].as_str().map(str::to_owned)
        })
        .await?;
    let (output, reached) = pods
        .exec("on-node", &format!("ping -c 1 -W 2 {address}"))
        .await?;
    ensure(reached, || {
        format!("the node does not reach its pod: {output}")
    })?;
    pods.delete(&["inside", "on-node"]).await
}

/// This machine's address on its way out, if it has one; asking for it sends nothing.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}

fn kubeconfig(world: &World) -> Outcome {
    let config = Kubeconfig::read_from(&world.kubeconfig).map_err(|e| e.to_string())?;
    let servers: Vec<_> = config
        .clusters
        .iter()
        .filter_map(|named| named.cluster.as_ref()?.server.clone())
        .collect();
    ensure(
        matches!(&servers[..], [one] if one.starts_with("https://127.0.0.1:")),
        || format!("{servers:?}"),
    )
}

async fn logs_and_exec(world: &World) -> Outcome {
    let pods = world.pods();
    pods.create("talks", None, |pod| {
        pod["spec"]["containers"][0]["command"] = json!(["sh", "-c", "echo said; exit 7"]);
    })
    .await?;
    let code = pods
        .wait("talks", "ended", |status| {
            status["containerStatuses"][0]["state"]["terminated"]["exitCode"].as_i64()
        })
        .await?;
    ensure(code == 7, || format!("exit code {code}"))?;
    let logs = pods.logs("talks").await?;
    ensure(logs == "said\n", || format!("{logs:?}"))?;
    pods.create("stays", None, |_| ()).await?;
    pods.running("stays").await?;
    let (output, succeeded) = pods.exec("stays", "id -u; exit 3").await?;
    ensure(output == "0\n" && !succeeded, || {
        format!("{output:?}, {succeeded}")
    })?;
    pods.delete(&["talks", "stays"]).await
}

async fn privileged(world: &World) -> Outcome {
    let pods = world.pods();
    pods.create("host", None, |pod| {
        for field in ["hostNetwork", "hostIPC", "hostPID"] {
            pod["spec"][field] = json!(true);
        }
        pod["spec"]["containers"][0]["securityContext"] = json!({"privileged": true});
    })
    .await?;
    pods.running("host").await?;
    // As on a real node: privileged means all of the node's devices, and so all of its cards.
    let (devices, there) = pods.exec("host", "ls /dev/nvidia0 && hostname").await?;
    ensure(there && devices.contains("node-1"), || devices.clone())?;
    // All but the disks, which are the machine's own.
    let (opened, refused) = pods
        .exec(
            "host",
            "for d in $(find /dev -type b); do ! head -c 1 $d || exit; done",
        )
        .await?;
    ensure(refused, || format!("a disk can be read: {opened}"))?;
    pods.delete(&["host"]).await
}

async fn limits(world: &World) -> Outcome {
    let node = world.node().await?;
    let limit = Duration::from_secs(1);
    for (script, says) in [
        ("exec sleep 60", "did not end within 1 s"),
        ("sleep 60 & echo hi", "holds its output open"),
    ] {
        let begun = Instant::now();
        let text = match node.exec_with(&["sh", "-c", script], "", limit).await {
            Ok(output) => format!("{output:?}"),
            Err(error) => error.to_string(),
        };
        ensure(text.contains(says), || format!("{script}: {text}"))?;
        ensure(begun.elapsed() < 5 * limit, || {
            format!("{script} took {:?}", begun.elapsed())
        })?;
    }
    Ok(())
}

const DRIVER: &str = "gpu-kubelet-plugin-node-1";

async fn identities(world: &World) -> Outcome {
    let driver = world.client_as(Some(DRIVER)).await?;
    let kubelet = world.client_as(Some("kubelet-node-1")).await?;
    let anonymous = world.client_as(None).await?;
    let secrets: Api<Secret> = Api::default_namespaced(world.client.clone());
    for name in ["bound", "unbound"] {
        let secret: Secret = serde_json::from_value(json!({"metadata": {"name": name}}))
            .map_err(|e| e.to_string())?;
        secrets
            .create(&PostParams::default(), &secret)
            .await
            .map_err(|e| e.to_string())?;
    }
    let pods = world.pods();
    pods.create("keeps", None, |pod| {
        pod["spec"]["volumes"] = json!([{"name": "secret", "secret": {"secretName": "bound"}}]);
    })
    .await?;
    pods.running("keeps").await?;

    let all = ListParams::default();
    let as_driver: Api<Secret> = Api::default_namespaced(driver.clone());
    let as_kubelet: Api<Secret> = Api::default_namespaced(kubelet.clone());
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "smuggled"}, "spec": {"containers": [{"name": "c", "image": IMAGE}]},
    }))
    .map_err(|e| e.to_string())?;
    allowed(
        "the driver lists slices",
        Api::<ResourceSlice>::all(driver.clone()).list(&all).await,
    )?;
    forbidden("the driver lists secrets", as_driver.list(&all).await)?;
    forbidden(
        "the driver creates a pod",
        Api::default_namespaced(driver)
            .create(&PostParams::default(), &pod)
            .await,
    )?;
    allowed(
        "the kubelet reads the secret of its pod",
        as_kubelet.get("bound").await,
    )?;
    forbidden(
        "the kubelet reads a secret that no pod of its node has",
        as_kubelet.get("unbound").await,
    )?;
    let request = |path: &str| {
        let request = http::Request::get(path)
            .body(Vec::new())
            .map_err(|e| e.to_string());
        request.map(|request| anonymous.request_text(request))
    };
    allowed(
        "anybody asks whether the API is ready",
        request("/readyz")?.await,
    )?;
    forbidden("anybody lists pods", request("/api/v1/pods")?.await)?;

    // The kubelet's own port, through a pod in the node's network.
    pods.create("door", None, |pod| {
        pod["spec"]["hostNetwork"] = json!(true);
    })
    .await?;
    pods.running("door").await?;
    let server = format!("https://{}", forward(&pods, "door", 10250).await?);
    let ask = async |component: Option<&str>| {
        let at = Some((server.as_str(), "node-1"));
        let client = world.client_at(component, at).await?;
        let request = http::Request::get("/pods")
            .body(Vec::new())
            .map_err(|e| e.to_string())?;
        Ok::<_, String>(client.request_text(request).await)
    };
    allowed(
        "the API server asks the kubelet",
        ask(Some("apiserver-kubelet-client")).await?,
    )?;
    forbidden("anybody asks the kubelet", ask(None).await?)?;
    forbidden("the driver asks the kubelet", ask(Some(DRIVER)).await?)?;
    pods.delete(&["keeps", "door"]).await
}

/// Listens on loopback and passes connections on to a port of a pod, as `kubectl port-forward` does.
async fn forward(pods: &Pods, pod: &'static str, port: u16) -> Outcome<SocketAddr> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .map_err(|e| e.to_string())?;
    let address = listener.local_addr().map_err(|e| e.to_string())?;
    let api = pods.pods.clone();
    tokio::spawn(async move {
        while let Ok((mut outside, _)) = listener.accept().await {
            let Ok(mut forwarder) = api.portforward(pod, &[port]).await else {
                return;
            };
            if let Some(mut inside) = forwarder.take_stream(port) {
                tokio::spawn(async move {
                    // Either end may hang up at any time.
                    let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
                    drop(forwarder);
                });
            }
        }
    });
    Ok(address)
}

fn allowed<T>(what: &str, answer: kube::Result<T>) -> Outcome {
    answer.map(drop).map_err(|e| format!("{what}: {e}"))
}

fn forbidden<T>(what: &str, answer: kube::Result<T>) -> Outcome {
    match answer {
        Err(kube::Error::Api(status)) if [401, 403].contains(&status.code) => Ok(()),
        Err(other) => Err(format!("{what}: {other}")),
        Ok(_) => Err(format!("{what}, and may")),
    }
}

async fn evidence(world: &World) -> Outcome {
    let pods = world.pods();
    let template = pods.template("1g.5gb").await?;
    pods.create("claims", Some(&template), |_| ()).await?;
    pods.running("claims").await?;
    let dir = &world.evidence;
    let running = world.running.lock().await;
    running
        .as_ref()
        .ok_or("ended")?
        .evidence(dir)
        .await
        .map_err(|e| e.to_string())?;
    drop(running);
    let missing = fs::read_to_string(dir.join("missing.txt")).unwrap_or_default();
    ensure(missing.is_empty(), || {
        format!("not all was gathered: {missing}")
    })?;
    for (file, holds) in [
        ("logs/kube-apiserver.log", ""),
        ("objects/pods.yaml", "name: claims"),
        ("objects/resourceclaims.yaml", "kind: ResourceClaim"),
        ("objects/resourceslices.yaml", "gpu.nvidia.com"),
        ("nodes/node-1/logs/kubelet.log", ""),
        ("nodes/node-1/logs/gpu-kubelet-plugin.log", ""),
        ("nodes/node-1/cdi.yaml", "nvidia-cap"),
        ("nodes/node-1/driver-checkpoint.json", "PrepareCompleted"),
        ("nodes/node-1/machine.yaml", "uuid"),
        ("nodes/node-1/nvidia-smi-L.txt", "MIG 1g.5gb"),
        ("nodes/node-1/containers.txt", IMAGE),
        ("nodes/node-1/processes.txt", "kubelet"),
    ] {
        let text = read(dir.join(file))?;
        ensure(!text.is_empty() && text.contains(holds), || {
            format!("{file} lacks {holds:?}:\n{text:.2000}")
        })?;
    }
    pods.delete(&["claims"]).await
}

fn settings(world: &World) -> Outcome {
    // The kubelet has run for a while by now: it sets some of these on a node that it owns.
    let now = machine_settings();
    ensure(now == world.settings, || {
        format!("before {:?}, now {now:?}", world.settings)
    })
}

/// What a kubelet or a CNI plugin likes to change.
fn machine_settings() -> Vec<(&'static str, String)> {
    [
        "vm/overcommit_memory",
        "vm/panic_on_oom",
        "kernel/panic",
        "kernel/panic_on_oops",
        "kernel/keys/root_maxkeys",
        "kernel/keys/root_maxbytes",
        "net/ipv4/ip_forward",
        "net/ipv4/conf/all/route_localnet",
        "net/ipv4/conf/all/forwarding",
        "net/netfilter/nf_conntrack_max",
    ]
    .into_iter()
    .map(|name| {
        (
            name,
            fs::read_to_string(Path::new("/proc/sys").join(name)).unwrap_or_default(),
        )
    })
    .collect()
}

/// Cgroups that look like a container's or a kubelet's, in any hierarchy.
fn container_cgroups() -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let name = entry.file_name().to_string_lossy().into_owned();
                let id = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
                if id || name.contains("kubepods") || name.contains("k8s.io") {
                    found.insert(entry.path());
                }
                folders.push(entry.path());
            }
        }
    }
    found
}
