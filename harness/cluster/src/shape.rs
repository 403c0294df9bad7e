//! Changing the nodes of a cluster that runs: other cards, more nodes, fewer nodes, or the same ones clean again.
//! Not the first start (`start`). A node's driver is stopped, its cards are set, its driver starts as after a boot.
//! In: the shapes that shall be. Out: a cluster whose slices are published anew; nothing when it is so already.
use std::{collections::BTreeSet, time::Duration};

use gpu_model::{Machine, MigToggle};
use k8s_openapi::api::{core::v1::Node as NodeObject, resource::v1::ResourceSlice};
use kube::api::{Api, DeleteParams, ListParams};

use crate::{
    error::{Error, Result},
    net,
    node::{config::NodeDir, host},
    owner,
    progress::Listener,
    running::{Node, NodeRecord, Running},
    spec::{NodeShape, check_nodes},
    start,
    wait::Waiter,
};

/// What the driver may take to end.
const GRACE: Duration = Duration::from_secs(5);

const DRIVER: &str = "gpu-kubelet-plugin";

impl Running {
    /// Gives the cluster these nodes with these cards, as after a boot. Returns when the slices are published.
    /// Does nothing where a node has its cards already and no trace of use is on them.
    pub async fn shape(&self, wanted: &[NodeShape], listener: &dyn Listener) -> Result<()> {
        let waiter = Waiter::new(listener);
        self.reload()?;
        check_nodes(&self.name(), wanted)?;
        for node in self.nodes() {
            if !wanted.iter().any(|w| w.name == node.name()) {
                self.remove_node(&node).await?;
                waiter.reached(format!("node {} is removed", node.name()));
            }
        }
        let mut changed = Vec::new();
        for shape in wanted {
            match self.node(shape.name.as_str()) {
                Ok(node) => {
                    if !self.is_so(&node, shape)? {
                        self.reboot(&node, shape).await?;
                        waiter.reached(format!(
                            "node {} has {} and no trace of use",
                            shape.name, shape.gpus
                        ));
                        changed.push(shape.name.clone());
                    }
                }
                Err(_) => {
                    self.add_node(shape, &waiter).await?;
                    changed.push(shape.name.clone());
                }
            }
        }
        self.change_record(|record| {
            record
                .nodes
                .sort_by_key(|n| wanted.iter().position(|w| w.name == n.shape.name));
        })?;
        if !changed.is_empty() {
            start::slices_published(self, &self.nodes(), &waiter).await?;
            waiter.reached("slices are published");
            start::takes_pods(self, &waiter).await?;
        }
        Ok(())
    }

    fn is_so(&self, node: &Node, shape: &NodeShape) -> Result<bool> {
        Ok(node.shape() == shape
            && is_untouched(&node.machine()?, &host::machine(&self.name(), shape)?))
    }

    async fn reboot(&self, node: &Node, shape: &NodeShape) -> Result<()> {
        node.control.stop(DRIVER, GRACE).await?;
        self.delete_slices(node.name()).await?;
        host::lay(&node.at.host(), &host::machine(&self.name(), shape)?)?;
        node.control.enter_host(&node.at.host()).await?;
        node.forget_claims().await?;
        self.change_record(|record| {
            for known in record
                .nodes
                .iter_mut()
                .filter(|n| n.shape.name == shape.name)
            {
                known.shape = shape.clone();
            }
        })?;
        node.start_driver().await
    }

    async fn add_node(&self, shape: &NodeShape, waiter: &Waiter<'_>) -> Result<()> {
        let taken: BTreeSet<u8> = self.record().nodes.iter().map(|n| n.index).collect();
        let index = (0..net::MAX_NODES)
            .find(|i| !taken.contains(i))
            .ok_or_else(|| Error::Spec {
                what: "there is no address left for another node".into(),
                remedy: format!("a cluster holds {} nodes", net::MAX_NODES),
            })?;
        self.change_record(|record| {
            record.nodes.push(NodeRecord {
                shape: shape.clone(),
                index,
            })
        })?;
        let node = self.node(&shape.name)?;
        start::start_node(self, &node, waiter).await?;
        node.start_driver().await
    }

    async fn remove_node(&self, node: &Node) -> Result<()> {
        node.control.stop(DRIVER, GRACE).await?;
        self.init
            .stop(&format!("node-{}", node.name()), Duration::ZERO)
            .await?;
        let nodes: Api<NodeObject> = Api::all(self.client.clone());
        match nodes.delete(node.name(), &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            other => drop(other.map_err(Error::kube(format!("delete node {}", node.name())))?),
        }
        self.delete_slices(node.name()).await?;
        self.change_record(|record| record.nodes.retain(|n| n.shape.name != node.name()))?;
        let dir = NodeDir::new(&self.dir, node.name(), node.at.index).dir;
        tokio::task::spawn_blocking(move || owner::remove_tree(&dir))
            .await
            .map_err(|e| Error::Init {
                doing: "remove a node's folder".into(),
                message: e.to_string(),
            })?
    }

    /// The driver's slices of a node: what is published afterwards is new.
    async fn delete_slices(&self, node: &str) -> Result<()> {
        let api: Api<ResourceSlice> = Api::all(self.client.clone());
        let of_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
        api.delete_collection(&DeleteParams::default(), &of_node)
            .await
            .map(drop)
            .map_err(Error::kube(format!(
                "delete the ResourceSlices of node {node}"
            )))
    }
}

impl Node {
    /// Ends the driver and starts it again on the cards as they are, as a restart of its pod would.
    pub async fn restart_driver(&self) -> Result<()> {
        self.control.stop(DRIVER, GRACE).await?;
        self.start_driver().await
    }

    pub(crate) async fn start_driver(&self) -> Result<()> {
        let file = self.at.driver_launch();
        let text = std::fs::read_to_string(&file).map_err(Error::io("read", &file))?;
        let launch = serde_json::from_str(&text).map_err(|e| Error::Init {
            doing: format!("read {}", file.display()),
            message: e.to_string(),
        })?;
        self.control.start(launch).await
    }

    /// What the driver keeps about claims that it prepared: a boot empties it.
    async fn forget_claims(&self) -> Result<()> {
        let script = "rm -f /var/lib/kubelet/plugins/gpu.nvidia.com/checkpoint.json /run/cdi/k8s.gpu.nvidia.com-claim_*";
        let output = self.exec(&["sh", "-c", script]).await?;
        if output.ok() {
            return Ok(());
        }
        Err(Error::Init {
            doing: format!("empty the driver's checkpoint on node {}", self.name()),
            message: output.stderr,
        })
    }
}

/// Whether a machine is as it was after its boot. On cards that change MIG mode at once the driver switches it off and on.
fn is_untouched(now: &Machine, boot: &Machine) -> bool {
    let mut boot = boot.clone();
    if now.gpus.len() != boot.gpus.len() {
        return false;
    }
    for (gpu, was) in now.gpus.iter().zip(&mut boot.gpus) {
        if now
            .spec(gpu)
            .mig
            .as_ref()
            .is_some_and(|mig| mig.toggle == MigToggle::Immediate)
        {
            (was.mig_current, was.mig_pending) = (gpu.mig_current, gpu.mig_pending);
        }
    }
    (&now.id, &now.driver_version, &now.specs, &now.gpus)
        == (&boot.id, &boot.driver_version, &boot.specs, &boot.gpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot(gpus: &str, mig: bool) -> Machine {
        let shape = NodeShape {
            name: "n".into(),
            gpus: gpus.parse().expect("cards"),
            mig,
        };
        host::machine("t", &shape).expect("known model")
    }

    #[test]
    fn a_card_that_was_used_is_told_from_one_after_a_boot() {
        let machine = boot("1xA100-SXM4-40GB", true);
        assert!(is_untouched(&machine, &machine));
        assert!(
            !is_untouched(&machine, &boot("1xA100-SXM4-40GB", false)),
            "MIG mode of an A100 is part of its shape"
        );
        let mut renamed = machine.clone();
        renamed.gpus[0].persistence = !renamed.gpus[0].persistence;
        assert!(!is_untouched(&renamed, &machine));
    }

    #[test]
    fn the_driver_switches_mig_mode_of_hopper_at_will() {
        assert!(is_untouched(
            &boot("1xH100-SXM5-80GB", true),
            &boot("1xH100-SXM5-80GB", false)
        ));
    }
}
