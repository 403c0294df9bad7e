//! What a cluster shall be: name, folder, nodes with their GPUs, programs.
//! Not what it is now (`Running`). Checked once, before anything is made.
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use gpu_model::{Catalog, GpuIndex, Machine, MigMode, NodeSpec, Now, Options};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    features::Features,
    net,
    programs::Programs,
};

/// A cluster to start.
#[derive(Debug, Clone)]
pub struct ClusterSpec {
    /// Lower-case letters, digits and dashes; part of messages and of the kubeconfig's context.
    pub name: String,
    /// The run folder. Everything of the cluster lies in it, and `stop` removes it.
    pub dir: PathBuf,
    /// At least one; none for a control plane alone.
    pub nodes: Vec<NodeShape>,
    /// The real programs.
    pub programs: Programs,
    /// What Kubernetes is told to be.
    pub features: Features,
    /// The binary that plays the hidden roles; `None` is the running one. It must call [`crate::dispatch`] first.
    pub exe: Option<PathBuf>,
    /// Folder for image archives that outlive a cluster; `None` is `images` in the run folder.
    pub image_cache: Option<PathBuf>,
}

/// A node and its cards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeShape {
    /// Name of the Node object and host name.
    pub name: String,
    /// The cards, `2xA100-SXM4-40GB,1xL4`.
    #[serde(with = "as_text")]
    pub gpus: NodeSpec,
    /// MIG mode is on when the node boots, on the cards that have it.
    pub mig: bool,
    /// Profiles of the GPU instances that each card in MIG mode has from the boot on, in order, each with one compute instance.
    #[serde(default)]
    pub cut: Vec<String>,
    /// Who offers the cards to Kubernetes.
    #[serde(default)]
    pub offer: Offer,
    /// Feature gates of the DRA driver on this node, where they differ from those of the cluster.
    #[serde(default)]
    pub driver_gates: BTreeMap<String, bool>,
}

/// Who offers a node's cards to Kubernetes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offer {
    /// The DRA driver: ResourceSlices and claims.
    #[default]
    DraDriver,
    /// The device plugin: extended resources of the node.
    DevicePlugin(MigStrategy),
}

/// How the device plugin names MIG devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MigStrategy {
    /// Cards only, in MIG mode or not.
    None,
    /// MIG devices of one kind, under the name of whole cards.
    Single,
    /// Each kind under a name of its own.
    Mixed,
}

impl MigStrategy {
    /// All of them.
    pub const ALL: [MigStrategy; 3] = [MigStrategy::None, MigStrategy::Single, MigStrategy::Mixed];

    /// As NVIDIA's programs call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            MigStrategy::None => "none",
            MigStrategy::Single => "single",
            MigStrategy::Mixed => "mixed",
        }
    }
}

impl NodeShape {
    /// The machine that the shape means, as it stands after a boot. The same names give the same UUIDs.
    pub(crate) fn machine(&self, cluster: &str) -> Result<Machine> {
        let catalog = Catalog::builtin();
        let cards = self.gpus.resolve(&catalog).map_err(|unknown| {
            spec(
                format!("node {}: {unknown}", self.name),
                "`fakegpu model list` shows the models",
            )
        })?;
        let options = Options {
            node: format!("{cluster}/{}", self.name),
            mig: self.mig,
            ..Options::default()
        };
        let booted = Machine::build(&cards, &options);
        cut(booted, &self.cut).map_err(|problem| {
            spec(
                format!("node {}: {problem}", self.name),
                "`fakegpu model show MODEL` shows what a card can be cut into",
            )
        })
    }
}

/// Gives each card in MIG mode these GPU instances, each with a compute instance that has all of it.
fn cut(mut machine: Machine, profiles: &[String]) -> std::result::Result<Machine, String> {
    let cards: Vec<GpuIndex> = machine
        .gpus
        .iter()
        .filter(|gpu| gpu.mig_current == MigMode::Enabled)
        .map(|gpu| gpu.index)
        .collect();
    if cards.is_empty() && !profiles.is_empty() {
        return Err("no card is in MIG mode, so none can be cut".into());
    }
    for gpu in cards {
        for profile in profiles {
            // Before anything else happens on the machine: no time has gone by.
            let cut = machine.cut(gpu, profile, Now::default());
            machine = cut.map_err(|error| error.to_string())?.0;
        }
    }
    Ok(machine)
}

/// A node's cards are written as people write them.
mod as_text {
    use gpu_model::NodeSpec;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(gpus: &NodeSpec, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(gpus)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<NodeSpec, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// Longest run folder that still fits into the mount calls of containerd with room for its own names.
const MAX_DIR: usize = 1500;

impl ClusterSpec {
    pub(crate) fn check(&self) -> Result<()> {
        check_name("cluster", &self.name)?;
        check_nodes(&self.name, &self.nodes)?;
        check_dir(&self.dir)
    }

    /// The check of a cluster that shall have a control plane and nothing else.
    pub(crate) fn check_without_nodes(&self) -> Result<()> {
        check_name("cluster", &self.name)?;
        if !self.nodes.is_empty() {
            return Err(spec(
                "a control plane alone was asked for, and nodes with it",
                "leave the nodes out, or start a whole cluster",
            ));
        }
        check_dir(&self.dir)
    }

    pub(crate) fn exe(&self) -> Result<PathBuf> {
        match &self.exe {
            Some(exe) => Ok(exe.clone()),
            None => std::env::current_exe().map_err(Error::io("find", "/proc/self/exe")),
        }
    }
}

/// Names that Kubernetes takes, each once, and cards that the catalogue knows.
pub(crate) fn check_nodes(cluster: &str, nodes: &[NodeShape]) -> Result<()> {
    if nodes.is_empty() {
        return Err(spec(
            "a cluster of no nodes was asked for",
            "ask for at least one",
        ));
    }
    if nodes.len() > usize::from(net::MAX_NODES) {
        return Err(spec(
            format!("{} nodes were asked for", nodes.len()),
            format!("the address plan holds {}", net::MAX_NODES),
        ));
    }
    for (at, node) in nodes.iter().enumerate() {
        check_name("node", &node.name)?;
        node.machine(cluster)?;
        if nodes[..at].iter().any(|n| n.name == node.name) {
            return Err(spec(
                format!("two nodes are named {}", node.name),
                "give each its own name",
            ));
        }
    }
    Ok(())
}

fn check_dir(dir: &Path) -> Result<()> {
    if !dir.is_absolute() {
        return Err(spec(
            format!("the run folder {} is not absolute", dir.display()),
            "give it from the root on",
        ));
    }
    let Some(text) = dir.to_str() else {
        return Err(spec(
            format!("the run folder {} is not UTF-8", dir.display()),
            "choose a folder with a UTF-8 name",
        ));
    };
    // These would have to be escaped in mount options and configuration files of other programs.
    if let Some(odd) = text
        .chars()
        .find(|c| c.is_control() || ",:\"'\\".contains(*c) || c.is_whitespace())
    {
        return Err(spec(
            format!("the run folder {text:?} holds {odd:?}"),
            "choose a folder whose path has no white space, comma, colon, quote or backslash",
        ));
    }
    if text.len() > MAX_DIR {
        return Err(spec(
            format!(
                "the path of the run folder is too long: {} bytes, {MAX_DIR} at most",
                text.len()
            ),
            "set XDG_STATE_HOME (or the folder given) to a shorter path",
        ));
    }
    Ok(())
}

/// DNS label, as Kubernetes wants for a node; 40 to leave room in derived names.
pub(crate) fn check_name(kind: &str, name: &str) -> Result<()> {
    let fits = !name.is_empty()
        && name.len() <= 40
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && !name.starts_with('-')
        && !name.ends_with('-');
    if fits {
        return Ok(());
    }
    Err(spec(
        format!("{name:?} cannot be a {kind}'s name"),
        "use 1 to 40 lower-case letters, digits and dashes, no dash first or last",
    ))
}

fn spec(what: impl Into<String>, remedy: impl Into<String>) -> Error {
    Error::Spec {
        what: what.into(),
        remedy: remedy.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpus(text: &str) -> NodeSpec {
        text.parse().expect("a node's cards")
    }

    fn with(dir: &str, nodes: &[&str]) -> ClusterSpec {
        with_model(dir, nodes, "1xA100-SXM4-40GB")
    }

    fn with_model(dir: &str, nodes: &[&str], model: &str) -> ClusterSpec {
        ClusterSpec {
            name: "t".into(),
            dir: dir.into(),
            nodes: nodes
                .iter()
                .map(|n| NodeShape {
                    name: (*n).into(),
                    gpus: gpus(model),
                    mig: false,
                    cut: vec![],
                    offer: Offer::default(),
                    driver_gates: BTreeMap::new(),
                })
                .collect(),
            programs: Programs::default(),
            features: Features::default(),
            exe: None,
            image_cache: None,
        }
    }

    #[test]
    fn cards_are_cut_as_asked_or_the_reason_is_said() {
        let shape = |cut: &[&str], mig| NodeShape {
            name: "n".into(),
            gpus: gpus("2xA100-SXM4-40GB"),
            mig,
            cut: cut.iter().map(|p| (*p).to_owned()).collect(),
            offer: Offer::DevicePlugin(MigStrategy::Mixed),
            driver_gates: BTreeMap::new(),
        };
        let machine = shape(&["3g.20gb", "1g.5gb"], true)
            .machine("t")
            .expect("it fits");
        for gpu in &machine.gpus {
            assert_eq!(gpu.instances.len(), 2);
            assert!(gpu.instances.iter().all(|gi| gi.compute.len() == 1));
        }
        for (shape, says) in [
            (shape(&["7g.40gb", "1g.5gb"], true), "1g.5gb on GPU 0"),
            (shape(&["9g.5gb"], true), "no such profile"),
            (shape(&["1g.5gb"], false), "no card is in MIG mode"),
        ] {
            let text = shape.machine("t").expect_err("refused").to_string();
            assert!(text.contains(says), "{text}");
        }
    }

    #[test]
    fn a_spec_that_cannot_work_is_refused_with_the_reason() {
        let long = format!("/{}", "d".repeat(2000));
        for (spec, says) in [
            (with("/tmp/x", &[]), "no nodes"),
            (with("/tmp/x", &["a", "a"]), "two nodes"),
            (with("/tmp/x", &["A"]), "cannot be a node's name"),
            (with("x", &["a"]), "not absolute"),
            (with("/tmp/a b", &["a"]), "white space"),
            (with(&long, &["a"]), "too long: 2001 bytes"),
            (
                with_model("/tmp/x", &["a"], "1xA100-SMX4-40GB"),
                "did you mean `A100-SXM4-40GB`",
            ),
        ] {
            let text = spec.check().expect_err("refused").to_string();
            assert!(text.contains(says), "{text}");
        }
        assert!(with("/tmp/x", &["node-1", "node-2"]).check().is_ok());
    }
}
