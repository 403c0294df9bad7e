//! Where each real program lies. Not how it got there: `components` finds, builds and caches them.
//! A table of names and absolute paths, taken from `components::Installed`.
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Names as in `ci/components.lock` to absolute paths.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Programs(BTreeMap<String, PathBuf>);

impl Programs {
    /// What a one-node cluster starts, directly or through the kubelet.
    pub const NEEDED: &[&str] = &[
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kubelet",
        "containerd",
        "containerd-shim-runc-v2",
        "ctr",
        "runc",
        "cni-ptp",
        "cni-host-local",
        "cni-loopback",
        "gpu-kubelet-plugin",
        "nvidia-cdi-hook",
        "busybox",
    ];

    /// What a control plane without nodes starts.
    pub const CONTROL_PLANE: &[&str] = &["etcd", "kube-apiserver", "kube-scheduler"];

    /// What some nodes and scenarios start besides.
    pub const OPTIONAL: &[&str] = &["nvidia-device-plugin", "gpu-feature-discovery"];

    /// What scenarios start that say so, each some minutes of building that nobody else needs.
    pub const ON_REQUEST: &[&str] = &[
        "coscheduling",
        "kueue",
        "kueue-manifests",
        "prometheus",
        "promtool",
    ];

    /// From pairs of name and path.
    pub fn new(paths: impl IntoIterator<Item = (String, PathBuf)>) -> Self {
        Programs(paths.into_iter().collect())
    }

    /// From what `components` has installed.
    pub fn from_installed(installed: &components::Installed) -> Result<Self> {
        let path = |name: &&str| match installed.path(name) {
            Ok(path) => Ok(((*name).to_owned(), path.to_path_buf())),
            Err(_) => Err(Error::MissingComponent {
                name: (*name).to_owned(),
            }),
        };
        let optional = Self::OPTIONAL
            .iter()
            .chain(Self::ON_REQUEST)
            .filter_map(|name| path(name).ok());
        let needed: Vec<_> = Self::NEEDED.iter().map(path).collect::<Result<_>>()?;
        Ok(Programs(needed.into_iter().chain(optional).collect()))
    }

    /// Adds or replaces one.
    pub fn with(mut self, name: &str, path: impl Into<PathBuf>) -> Self {
        self.0.insert(name.into(), path.into());
        self
    }

    /// The path of one.
    pub fn path(&self, name: &str) -> Result<&Path> {
        self.0
            .get(name)
            .map(PathBuf::as_path)
            .ok_or_else(|| Error::MissingComponent { name: name.into() })
    }

    /// All paths, symbolic links resolved, so that they can be bound into a namespace.
    pub(crate) fn all(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = self
            .0
            .values()
            .flat_map(|p| [p.canonicalize().ok(), Some(p.clone())])
            .flatten()
            .collect();
        all.sort();
        all.dedup();
        all
    }
}
