//! Files and command lines of a node: kubelet, containerd, CNI, DRA driver.
//! Not when they start (`start`) nor what the GPUs are (gpu-store).
//! Pure but for the files that it writes below the node's folder: a layout in, launches out.
use std::{
    fs,
    net::{IpAddr, Ipv4Addr},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use serde_json::json;

use crate::{
    control_plane::{environment, path},
    error::{Error, Result},
    features::Features,
    images, kubeconfig, net,
    node::driver::DEVICE_PLUGIN,
    ns::root::{Root, machine_id},
    oci,
    pki::{Authority, Subject},
    programs::Programs,
    rpc::Launch,
};

/// containerd's socket, as the node sees it.
pub(crate) const CONTAINERD: &str = "/run/containerd/containerd.sock";
/// Where the driver leaves CDI files, as the node sees it.
const CDI: &str = "/run/cdi";

/// Folders of one node, outside and inside the same.
#[derive(Debug, Clone)]
pub(crate) struct NodeDir {
    pub name: String,
    pub index: u8,
    pub dir: PathBuf,
}

impl NodeDir {
    pub(crate) fn new(cluster: &Path, name: &str, index: u8) -> Self {
        NodeDir {
            name: name.into(),
            index,
            dir: cluster.join("nodes").join(name),
        }
    }

    pub(crate) fn control(&self) -> PathBuf {
        self.dir.join("control.sock")
    }

    /// gpu-host's tree.
    pub(crate) fn host(&self) -> PathBuf {
        self.dir.join("host")
    }

    pub(crate) fn log(&self, component: &str) -> PathBuf {
        self.dir.join("logs").join(format!("{component}.log"))
    }

    pub(crate) fn init_spec(&self) -> PathBuf {
        self.dir.join("init.json")
    }

    /// What the node's kernel says of its boot.
    pub(crate) fn boot_id(&self) -> PathBuf {
        self.dir.join("boot-id")
    }

    /// The node boots: its kernel has an id for that which no boot had before.
    pub(crate) fn new_boot_id(&self) -> Result<()> {
        let random = Path::new("/proc/sys/kernel/random/uuid");
        let id = fs::read_to_string(random).map_err(Error::io("read", random))?;
        let file = self.boot_id();
        fs::write(&file, id).map_err(Error::io("write", &file))
    }

    /// How a driver is started, for whoever restarts it.
    pub(crate) fn launch(&self, program: &str) -> PathBuf {
        self.dir.join(format!("{program}.json"))
    }

    /// Where the driver listens once it has read the cards.
    pub(crate) fn driver_socket(&self) -> PathBuf {
        self.var()
            .join("lib/kubelet/plugins/gpu.nvidia.com/dra.sock")
    }

    pub(crate) fn var(&self) -> PathBuf {
        self.dir.join("var")
    }

    pub(crate) fn address(&self) -> Ipv4Addr {
        net::node_address(self.index)
    }
}

/// What a node starts.
pub(crate) struct NodePrograms {
    pub containerd: Launch,
    /// `ctr images import`, to be run to its end once containerd listens.
    pub import: Vec<String>,
    pub kubelet: Launch,
    /// The drivers that the node may have; one at a time runs.
    pub drivers: Vec<Launch>,
    pub root: Root,
}

/// What all nodes of a cluster share.
pub(crate) struct Shared<'a> {
    pub cluster: &'a Path,
    pub exe: &'a Path,
    pub programs: &'a Programs,
    pub features: &'a Features,
    pub authority: &'a Authority,
    pub archive: &'a Path,
    /// The driver root below the host tree.
    pub driver_root: &'a Path,
}

impl NodePrograms {
    pub(crate) fn lay(node: &NodeDir, shared: &Shared<'_>) -> Result<Self> {
        for dir in [
            "root",
            "logs",
            "bin",
            "var/lib/kubelet/plugins_registry",
            "var/lib/kubelet/device-plugins",
            "var/lib/containerd",
            "var/log",
            "var/tmp",
        ] {
            make(&node.dir.join(dir))?;
        }
        link("/run", &node.var().join("run"))?;
        let state = gpu_host::HostTree::open(&node.host())
            .map(|tree| tree.state_path())
            .map_err(|e| Error::Gpu {
                doing: format!("find the state file of node {}", node.name),
                message: e.to_string(),
            })?;
        let runc = own_runc(shared)?;
        let wrapper = oci::install(&node.dir.join("bin"), &runc, shared.exe, Some(&state))
            .map_err(|e| Error::Images(e.to_string()))?;
        let bin = node.dir.join("bin");
        let cni_bin = node.dir.join("bin/cni");
        make(&cni_bin)?;
        for (name, plugin) in [
            ("ptp", "cni-ptp"),
            ("host-local", "cni-host-local"),
            ("loopback", "cni-loopback"),
        ] {
            link(shared.programs.path(plugin)?, &cni_bin.join(name))?;
        }
        for name in ["containerd-shim-runc-v2", "ctr"] {
            link(shared.programs.path(name)?, &bin.join(name))?;
        }
        let mut env = environment();
        env.insert("PATH".into(), format!("{}:{}", path(&bin), env["PATH"]));

        let containerd = Launch {
            name: "containerd".into(),
            argv: vec![
                path(shared.programs.path("containerd")?),
                "--config=/etc/containerd/config.toml".into(),
            ],
            // runc takes its rootless cgroup manager when it is root of a user namespace and USER is not root.
            env: env
                .clone()
                .into_iter()
                .chain([("USER".into(), "sliceproof".into())])
                .collect(),
            log: node.log("containerd"),
        };
        let import = vec![
            path(shared.programs.path("ctr")?),
            format!("--address={CONTAINERD}"),
            "--namespace=k8s.io".into(),
            "images".into(),
            "import".into(),
            "--local".into(),
            path(shared.archive),
        ];
        let kubelet = Launch {
            name: "kubelet".into(),
            argv: vec![
                path(shared.programs.path("kubelet")?),
                "--config=/etc/kubernetes/kubelet.json".into(),
                format!("--kubeconfig={}", path(&kubelet_kubeconfig(node, shared)?)),
                format!("--hostname-override={}", node.name),
                format!("--node-ip={}", node.address()),
                "--cert-dir=/var/lib/kubelet/pki".into(),
                // At 3 it says when it registers and unregisters the driver (see `node::driver`).
                "-v=3".into(),
            ],
            env: env.clone(),
            log: node.log("kubelet"),
        };
        let driver = Launch {
            name: "gpu-kubelet-plugin".into(),
            argv: vec![
                path(shared.programs.path("gpu-kubelet-plugin")?),
                format!("--node-name={}", node.name),
                "--namespace=nvidia-dra-driver-gpu".into(),
                // Only MPS would run an image.
                "--image-name=none".into(),
                format!("--cdi-root={CDI}"),
                format!("--nvidia-driver-root={}", path(shared.driver_root)),
                format!("--container-driver-root={}", path(shared.driver_root)),
                format!(
                    "--nvidia-cdi-hook-path={}",
                    path(shared.programs.path("nvidia-cdi-hook")?)
                ),
                format!("--kubeconfig={}", path(&driver_kubeconfig(node, shared)?)),
                format!("--feature-gates=DynamicMIG={}", shared.features.dynamic_mig),
                "--kube-api-qps=50".into(),
                "--kube-api-burst=100".into(),
                "-v=4".into(),
            ],
            env: env.clone(),
            log: node.log("gpu-kubelet-plugin"),
        };
        let mut drivers = vec![driver];
        // Not every cluster has it; who asks for it then is told that it is missing.
        if let Ok(plugin) = shared.programs.path(DEVICE_PLUGIN) {
            drivers.push(Launch {
                name: DEVICE_PLUGIN.into(),
                argv: vec![
                    path(plugin),
                    format!("--nvidia-driver-root={}", path(shared.driver_root)),
                    format!("--driver-root-ctr-path={}", path(shared.driver_root)),
                    "--device-discovery-strategy=nvml".into(),
                    // The runtime puts devices and libraries into containers by CDI: no runtime of NVIDIA's is needed.
                    "--device-list-strategy=cdi-cri".into(),
                    format!(
                        "--nvidia-cdi-hook-path={}",
                        path(shared.programs.path("nvidia-cdi-hook")?)
                    ),
                ],
                // It asks the loader for the library before it looks into the driver root.
                env: env
                    .into_iter()
                    .chain([(
                        "LD_LIBRARY_PATH".into(),
                        path(&node.host().join(gpu_host::LIBRARIES)),
                    )])
                    .collect(),
                log: node.log(DEVICE_PLUGIN),
            });
        }
        Ok(NodePrograms {
            containerd,
            import,
            kubelet,
            drivers,
            root: root(node, shared, &wrapper, &cni_bin)?,
        })
    }
}

fn root(node: &NodeDir, shared: &Shared<'_>, wrapper: &Path, cni_bin: &Path) -> Result<Root> {
    let containerd = images::containerd_config(&images::ContainerdPaths {
        root: "/var/lib/containerd".into(),
        state: "/run/containerd".into(),
        socket: CONTAINERD.into(),
        runtime_binary: wrapper.into(),
        cni_bin: cni_bin.into(),
        cni_conf: "/etc/cni/net.d".into(),
        cdi_dir: CDI.into(),
        registry_dir: "/etc/containerd/certs.d".into(),
    });
    let serving = shared.authority.issue(
        &Subject::user(
            format!("kubelet-serving-{}", node.name),
            format!("system:node:{}", node.name),
        )
        .group("system:nodes")
        .serves(&[&node.name], &[IpAddr::from(node.address())]),
    )?;
    // It lives in a user namespace, whatever else it is told.
    let mut gates = shared.features.gates.clone();
    gates.insert("KubeletInUserNamespace".into(), true);
    let kubelet = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "featureGates": gates,
        "address": "0.0.0.0",
        "healthzPort": 0,
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": shared.authority.certificate()},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": serving.certificate,
        "tlsPrivateKeyFile": serving.key,
        "containerRuntimeEndpoint": format!("unix://{CONTAINERD}"),
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": false,
        "enforceNodeAllocatable": [],
        "failCgroupV1": false,
        "failSwapOn": false,
        "localStorageCapacityIsolation": false,
        "evictionHard": {"memory.available": "1Mi", "nodefs.available": "1Mi", "nodefs.inodesFree": "1", "imagefs.available": "1Mi"},
        "imageGCHighThresholdPercent": 100,
        "imageMaximumGCAge": "0s",
        "maxPods": 250,
        "clusterDomain": "cluster.local",
        "clusterDNS": [net::DNS_SERVICE],
        "resolvConf": "/etc/resolv.conf",
        // A claim that could not be prepared at first (the Node authoriser lags a moment behind the binding) is tried again only
        // when the pod is synced next; a minute, the default, is long in a test.
        "syncFrequency": "2s",
        "serializeImagePulls": false,
        "registryPullQPS": 0,
        "kubeAPIQPS": 100,
        "kubeAPIBurst": 200,
        "eventRecordQPS": 0,
        "shutdownGracePeriod": "0s",
    });
    let cni = json!({
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [{
            "type": "ptp",
            "ipMasq": false,
            "ipam": {
                "type": "host-local",
                "dataDir": "/run/cni/networks",
                "ranges": [[{"subnet": format!("{}/24", net::pod_network(node.index))}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }],
    });
    let mut programs = shared.programs.all();
    programs.push(shared.exe.to_path_buf());
    programs.push(shared.archive.to_path_buf());
    Ok(Root {
        at: node.dir.join("root"),
        keep: vec![shared.cluster.to_path_buf()],
        programs,
        var: node.var(),
        files: vec![
            ("/etc/containerd/config.toml".into(), containerd),
            (
                "/etc/containerd/certs.d/_default/hosts.toml".into(),
                images::registry_config().into(),
            ),
            (
                "/etc/kubernetes/kubelet.json".into(),
                format!("{kubelet:#}\n"),
            ),
            (
                "/etc/cni/net.d/10-pods.conflist".into(),
                format!("{cni:#}\n"),
            ),
        ],
        hostname: node.name.clone(),
        machine_id: machine_id(&shared.cluster.to_string_lossy(), &node.name),
    })
}

fn kubelet_kubeconfig(node: &NodeDir, shared: &Shared<'_>) -> Result<PathBuf> {
    let file = format!("kubelet-{}", node.name);
    let identity = shared
        .authority
        .issue(&Subject::user(&file, format!("system:node:{}", node.name)).group("system:nodes"))?;
    write_kubeconfig(shared, &file, &identity)
}

fn driver_kubeconfig(node: &NodeDir, shared: &Shared<'_>) -> Result<PathBuf> {
    let file = format!("gpu-kubelet-plugin-{}", node.name);
    let identity = shared.authority.issue(
        &Subject::user(
            &file,
            format!("{}:{}", crate::objects::DRIVER_GROUP, node.name),
        )
        .group(crate::objects::DRIVER_GROUP),
    )?;
    write_kubeconfig(shared, &file, &identity)
}

fn write_kubeconfig(
    shared: &Shared<'_>,
    file: &str,
    identity: &crate::pki::Identity,
) -> Result<PathBuf> {
    let config = shared.cluster.join("kubeconfigs").join(file);
    kubeconfig::by_path(&config, shared.authority, identity)?;
    Ok(config)
}

/// runc seals its own binary by an overlay over its folder, in which a file that is only bound there is an empty one.
fn own_runc(shared: &Shared<'_>) -> Result<PathBuf> {
    let (from, to) = (
        shared.programs.path("runc")?,
        shared.cluster.join("bin/runc"),
    );
    make(&shared.cluster.join("bin"))?;
    if !to.exists() {
        fs::copy(from, &to).map_err(Error::io("copy runc to", &to))?;
    }
    Ok(to)
}

pub(crate) fn make(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).map_err(Error::io("make", dir))
}

fn link(target: impl AsRef<Path>, at: &Path) -> Result<()> {
    match symlink(&target, at) {
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => fs::remove_file(at)
            .and_then(|()| symlink(&target, at))
            .map_err(Error::io("link", at)),
        other => other.map_err(Error::io("link", at)),
    }
}
