//! containerd's configuration, as far as images and the runtime are concerned, as text. Pure.
use std::path::PathBuf;

use super::PAUSE;
use crate::oci::LOAD_ANNOTATION;

/// Where containerd finds and keeps its things, as the node sees them.
#[derive(Debug, Clone)]
pub(crate) struct ContainerdPaths {
    /// Images and snapshots; on a real disk.
    pub root: PathBuf,
    /// State of running containers; on a tmpfs.
    pub state: PathBuf,
    /// The socket.
    pub socket: PathBuf,
    /// The OCI wrapper, from [`crate::oci::install`].
    pub runtime_binary: PathBuf,
    /// Folder of the CNI plugins.
    pub cni_bin: PathBuf,
    /// Folder of the CNI conflists.
    pub cni_conf: PathBuf,
    /// Folder in which the DRA driver leaves its CDI files.
    pub cdi_dir: PathBuf,
    /// Folder whose `_default/hosts.toml` is [`registry_config`].
    pub registry_dir: PathBuf,
}

/// The configuration file, version 3, for containerd 2.4.
#[must_use]
pub(crate) fn containerd_config(paths: &ContainerdPaths) -> String {
    let quote =
        |path: &PathBuf| toml::Value::String(path.to_string_lossy().into_owned()).to_string();
    format!(
        r#"version = 3
root = {root}
state = {state}
oom_score = 0
# What a node of plain processes does not use, and what would only cost time at start.
disabled_plugins = [
  "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.erofs", "io.containerd.snapshotter.v1.native",
  "io.containerd.differ.v1.erofs", "io.containerd.nri.v1.nri", "io.containerd.tracing.processor.v1.otlp",
  "io.containerd.internal.v1.tracing", "io.containerd.image-verifier.v1.bindir", "io.containerd.monitor.task.v1.cgroups",
  "io.containerd.internal.v1.restart",
]

[grpc]
  address = {socket}
[ttrpc]
  address = ""

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  disable_snapshot_annotations = true
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{PAUSE}"
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = {registry}

[plugins."io.containerd.cri.v1.runtime"]
  enable_selinux = false
  disable_apparmor = true
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
  restrict_oom_score_adj = true
  enable_unprivileged_ports = false
  enable_unprivileged_icmp = false
  cdi_spec_dirs = [{cdi}]
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = [{cni_bin}]
    conf_dir = {cni_conf}
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      # Pods' wishes for load on their fake cards, for the wrapper.
      pod_annotations = ["{LOAD_ANNOTATION}"]
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        BinaryName = {binary}
        SystemdCgroup = false

[plugins."io.containerd.cri.v1.streaming"]
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
"#,
        root = quote(&paths.root),
        state = quote(&paths.state),
        socket = quote(&paths.socket),
        registry = quote(&paths.registry_dir),
        cdi = quote(&paths.cdi_dir),
        cni_bin = quote(&paths.cni_bin),
        cni_conf = quote(&paths.cni_conf),
        binary = quote(&paths.runtime_binary),
    )
}

/// `hosts.toml` for every registry: pulls go to a port of this node's own loopback on which nothing listens, so an image that
/// is not there fails at once, as a pull from a dead registry does, and no name is asked for and no packet sent.
#[must_use]
pub(crate) fn registry_config() -> &'static str {
    "server = \"http://127.0.0.1:9\"\n\n[host.\"http://127.0.0.1:9\"]\n  capabilities = [\"pull\", \"resolve\"]\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_and_the_text_is_toml() {
        let path = |name: &str| PathBuf::from(format!("/a \"b\"/{name}"));
        let config = containerd_config(&ContainerdPaths {
            root: path("root"),
            state: path("state"),
            socket: path("sock"),
            runtime_binary: path("bin"),
            cni_bin: path("cni"),
            cni_conf: path("net.d"),
            cdi_dir: path("cdi"),
            registry_dir: path("certs.d"),
        });
        let config: toml::Table = config.parse().expect("TOML");
        let runtime = &config["plugins"]["io.containerd.cri.v1.runtime"];
        assert_eq!(runtime["cdi_spec_dirs"][0].as_str(), Some("/a \"b\"/cdi"));
        assert_eq!(
            runtime["containerd"]["runtimes"]["runc"]["options"]["BinaryName"].as_str(),
            Some("/a \"b\"/bin")
        );
        assert_eq!(
            config["plugins"]["io.containerd.cri.v1.images"]["pinned_images"]["sandbox"].as_str(),
            Some(PAUSE)
        );
        assert!(registry_config().parse::<toml::Table>().is_ok());
    }
}
