//! Command lines of etcd, the API server, the controller manager and the scheduler.
//! Not when they start (`start`) nor where they come from (`components`).
//! Pure but for the certificates that it has issued: a layout in, launches out.
use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
};

use crate::{
    error::Result,
    features::Features,
    kubeconfig, net,
    pki::{Authority, Subject},
    programs::Programs,
    rpc::Launch,
};

/// The API server's port, on all addresses of the cluster's namespace. 443, so that the Service `kubernetes` needs no translation.
pub(crate) const API_PORT: u16 = 443;

/// Where the controller manager and the scheduler tell their metrics, on loopback of the cluster's namespace.
pub(crate) const CONTROLLER_METRICS: u16 = 10257;
pub(crate) const SCHEDULER_METRICS: u16 = 10259;

/// The API server as seen from inside.
pub(crate) fn inner_server() -> String {
    format!("https://{}", net::GATEWAY)
}

/// Environment of every component.
pub(crate) fn environment() -> BTreeMap<String, String> {
    BTreeMap::from([
        (
            "PATH".into(),
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into(),
        ),
        ("HOME".into(), "/root".into()),
        ("TMPDIR".into(), "/tmp".into()),
    ])
}

/// The four programs, ready to start, in the order of their weight.
pub(crate) struct ControlPlane {
    pub etcd: Launch,
    pub apiserver: Launch,
    /// None where the program is not among those given.
    pub controller_manager: Option<Launch>,
    pub scheduler: Launch,
}

/// The user that the API server is towards kubelets.
pub(crate) const KUBELET_CLIENT: &str = "kube-apiserver-kubelet-client";

impl ControlPlane {
    pub(crate) fn lay(
        dir: &Path,
        programs: &Programs,
        features: &Features,
        authority: &Authority,
    ) -> Result<Self> {
        let ca = path(&authority.certificate());
        let localhost: IpAddr = Ipv4Addr::LOCALHOST.into();
        let logs = dir.join("logs");
        let launch = |name: &str, args: Vec<String>| -> Result<Launch> {
            let mut argv = vec![path(programs.path(name)?)];
            argv.extend(args);
            Ok(Launch {
                name: name.into(),
                argv,
                env: environment(),
                log: logs.join(format!("{name}.log")),
            })
        };

        let etcd_serving =
            authority.issue(&Subject::user("etcd", "etcd").serves(&["localhost"], &[localhost]))?;
        let etcd_client =
            authority.issue(&Subject::user("apiserver-etcd-client", "kube-apiserver"))?;
        let etcd = launch(
            "etcd",
            vec![
                "--name=etcd".into(),
                format!("--data-dir={}", path(&dir.join("etcd"))),
                "--unsafe-no-fsync".into(),
                "--listen-client-urls=https://127.0.0.1:2379".into(),
                "--advertise-client-urls=https://127.0.0.1:2379".into(),
                "--listen-peer-urls=https://127.0.0.1:2380".into(),
                "--initial-advertise-peer-urls=https://127.0.0.1:2380".into(),
                "--initial-cluster=etcd=https://127.0.0.1:2380".into(),
                format!("--cert-file={}", path(&etcd_serving.certificate)),
                format!("--key-file={}", path(&etcd_serving.key)),
                format!("--trusted-ca-file={ca}"),
                "--client-cert-auth".into(),
                format!("--peer-cert-file={}", path(&etcd_serving.certificate)),
                format!("--peer-key-file={}", path(&etcd_serving.key)),
                format!("--peer-trusted-ca-file={ca}"),
                "--peer-client-cert-auth".into(),
                "--log-level=warn".into(),
            ],
        )?;

        let serving = authority.issue(&Subject::user("apiserver", "kube-apiserver").serves(
            &[
                "kubernetes",
                "kubernetes.default",
                "kubernetes.default.svc",
                "kubernetes.default.svc.cluster.local",
                "localhost",
            ],
            &[
                localhost,
                net::GATEWAY.into(),
                net::KUBERNETES_SERVICE.into(),
            ],
        ))?;
        let kubelet_client =
            authority.issue(&Subject::user("apiserver-kubelet-client", KUBELET_CLIENT))?;
        let (sa_key, sa_pub) = authority.service_account_keys()?;
        let apiserver = launch(
            "kube-apiserver",
            vec![
                "--etcd-servers=https://127.0.0.1:2379".into(),
                format!("--etcd-cafile={ca}"),
                format!("--etcd-certfile={}", path(&etcd_client.certificate)),
                format!("--etcd-keyfile={}", path(&etcd_client.key)),
                format!("--secure-port={API_PORT}"),
                format!("--advertise-address={}", net::GATEWAY),
                format!("--tls-cert-file={}", path(&serving.certificate)),
                format!("--tls-private-key-file={}", path(&serving.key)),
                format!("--client-ca-file={ca}"),
                format!("--kubelet-certificate-authority={ca}"),
                format!(
                    "--kubelet-client-certificate={}",
                    path(&kubelet_client.certificate)
                ),
                format!("--kubelet-client-key={}", path(&kubelet_client.key)),
                "--kubelet-preferred-address-types=InternalIP".into(),
                "--service-account-issuer=https://kubernetes.default.svc.cluster.local".into(),
                format!("--service-account-signing-key-file={}", path(&sa_key)),
                format!("--service-account-key-file={}", path(&sa_pub)),
                format!("--service-cluster-ip-range={}", net::SERVICES),
                "--authorization-mode=Node,RBAC".into(),
                "--enable-admission-plugins=NodeRestriction".into(),
                "--allow-privileged=true".into(),
                "--profiling=false".into(),
            ],
        )?;

        let kubeconfig = |file: &str, user: &str| -> Result<String> {
            let identity = authority.issue(&Subject::user(file, user))?;
            let config = dir.join("kubeconfigs").join(file);
            kubeconfig::by_path(&config, authority, &identity)?;
            Ok(path(&config))
        };
        // Whoever is in here may read their metrics: there is nobody else.
        let metrics = |file: &str, port: u16| -> Result<[String; 5]> {
            let subject = Subject::user(file, file).serves(&["localhost"], &[localhost]);
            let identity = authority.issue(&subject)?;
            Ok([
                format!("--secure-port={port}"),
                "--bind-address=127.0.0.1".into(),
                format!("--tls-cert-file={}", path(&identity.certificate)),
                format!("--tls-private-key-file={}", path(&identity.key)),
                "--authorization-always-allow-paths=/metrics,/healthz,/readyz,/livez".into(),
            ])
        };
        let controller_manager = match programs.path("kube-controller-manager") {
            Err(_) => None,
            Ok(_) => Some(launch(
                "kube-controller-manager",
                vec![
                    format!(
                        "--kubeconfig={}",
                        kubeconfig("controller-manager", "system:kube-controller-manager")?
                    ),
                    format!("--root-ca-file={ca}"),
                    format!("--service-account-private-key-file={}", path(&sa_key)),
                    "--use-service-account-credentials=true".into(),
                    "--leader-elect=false".into(),
                    // A quota that was added up before its claims were seen stays wrong until the next time: five minutes.
                    "--resource-quota-sync-period=10s".into(),
                    // The client-side limits (20 and 50 a second) alone cost seconds of a start.
                    "--kube-api-qps=1000".into(),
                    "--kube-api-burst=2000".into(),
                    // It looks every 15 s by default, and every step that waits for it would.
                    "--horizontal-pod-autoscaler-sync-period=2s".into(),
                    "--profiling=false".into(),
                ]
                .into_iter()
                .chain(metrics("controller-manager-metrics", CONTROLLER_METRICS)?)
                .collect(),
            )?),
        };
        let scheduler = launch(
            "kube-scheduler",
            vec![
                format!(
                    "--kubeconfig={}",
                    kubeconfig("scheduler", "system:kube-scheduler")?
                ),
                "--leader-elect=false".into(),
                // The client-side limits (20 and 50 a second) alone cost seconds of a start.
                "--kube-api-qps=1000".into(),
                "--kube-api-burst=2000".into(),
                "--profiling=false".into(),
            ]
            .into_iter()
            .chain(metrics("scheduler-metrics", SCHEDULER_METRICS)?)
            .collect(),
        )?;
        let mut plane = ControlPlane {
            etcd,
            apiserver,
            controller_manager,
            scheduler,
        };
        let kubernetes = [&mut plane.apiserver, &mut plane.scheduler];
        for program in kubernetes.into_iter().chain(&mut plane.controller_manager) {
            program.argv.extend(features.gates_flag());
        }
        plane.apiserver.argv.extend(features.apis_flag());
        Ok(plane)
    }
}

/// A path for a command line. Ours are UTF-8 (`spec` refuses others).
pub(crate) fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The kubeconfig for people, with the loopback listener's address.
pub(crate) fn admin_kubeconfig(
    dir: &Path,
    name: &str,
    authority: &Authority,
    port: u16,
) -> Result<PathBuf> {
    let admin =
        authority.issue(&Subject::user("admin", "kubernetes-admin").group("system:masters"))?;
    let file = dir.join("kubeconfig");
    kubeconfig::embedded(
        &file,
        &format!("https://127.0.0.1:{port}"),
        &authority.certificate(),
        &admin,
        &format!("sliceproof-{name}"),
    )?;
    Ok(file)
}
