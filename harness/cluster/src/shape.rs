//! Changing the nodes of a cluster that runs: other cards, more nodes, fewer nodes, the same ones clean again or rebooted.
//! Not the first start (`start`). A node's driver is stopped, its cards are set, its driver starts as after a boot.
//! In: the shapes that shall be. Out: a cluster whose slices are published anew; nothing when it is so already.
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    time::Duration,
};

use gpu_model::{Machine, MigToggle};
use gpu_store::Store;
use k8s_openapi::api::{core::v1::Node as NodeObject, resource::v1::ResourceSlice};
use kube::api::{Api, DeleteParams, ListParams};

use crate::{
    error::{Error, Result},
    net,
    node::{config::NodeDir, driver::Started, host},
    owner,
    progress::{Listener, Silent},
    running::{Node, NodeRecord, Running},
    spec::{NodeShape, Offer, check_nodes},
    start,
    wait::Waiter,
};

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
                    if !self.made_so(&node, shape)? {
                        let started = self.reboot(&node, shape).await?;
                        waiter.reached(format!(
                            "node {} has {} and no trace of use",
                            shape.name, shape.gpus
                        ));
                        // With the shape that it has now: who offers its cards may be another.
                        changed.push((self.node(&shape.name)?, started));
                    }
                }
                Err(_) => changed.push(self.add_node(shape, &waiter).await?),
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
            start::takes_pods(self, &changed, &waiter).await?;
        }
        Ok(())
    }

    /// Whether a node has these cards as after a boot, where need be after wiping off what its driver does not look at.
    fn made_so(&self, node: &Node, shape: &NodeShape) -> Result<bool> {
        let (now, boot) = (node.machine()?, shape.machine(&self.name())?);
        let prepared = shape.offer == Offer::DraDriver && !node.has_no_claims();
        if node.shape() != shape || prepared {
            return Ok(false);
        }
        let Some(wiped) = wiped(&now, &boot) else {
            return Ok(false);
        };
        if wiped != now {
            Store::put(node.store()?.path(), &wiped).map_err(|e| Error::Gpu {
                doing: format!("wipe the cards of node {}", node.name()),
                message: e.to_string(),
            })?;
        }
        Ok(true)
    }

    async fn reboot(&self, node: &Node, shape: &NodeShape) -> Result<Started> {
        node.stop_driver().await?;
        self.delete_slices(node.name()).await?;
        host::lay(&node.at.host(), &shape.machine(&self.name())?)?;
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
        self.node(&shape.name)?.start_driver().await
    }

    /// Ends the driver of a node and starts it again with these feature gates instead of the cluster's. Returns when the kubelet
    /// has registered it anew.
    ///
    /// # Errors
    /// No such node, or the driver does not come up: it refuses some gates together.
    pub async fn regate_driver(&self, name: &str, gates: &BTreeMap<String, bool>) -> Result<()> {
        let node = self.node(name)?;
        node.stop_driver().await?;
        self.change_record(|record| {
            for known in record.nodes.iter_mut().filter(|n| n.shape.name == name) {
                known.shape.driver_gates = gates.clone();
            }
        })?;
        let (node, waiter) = (self.node(name)?, Waiter::new(&Silent));
        let started = node.start_driver().await?;
        node.driver_registered(started, &waiter).await
    }

    /// Ends every process of a node, its pods' too, and boots it again: what lies in /var stays, /run is empty, the boot has an id
    /// of its own, and the cards are as [`gpu_model::Machine::rebooted`] has them. Returns when the node takes pods.
    ///
    /// # Errors
    /// No such node, or it does not come up again.
    pub async fn reboot_node(&self, name: &str) -> Result<()> {
        let (node, waiter) = (self.node(name)?, Waiter::new(&Silent));
        self.end_node(&node).await?;
        let store = node.store()?;
        let rebooted = store.read().map(|snapshot| {
            let now = snapshot.machine.now(store.real());
            snapshot.machine.rebooted(now)
        });
        let rebooted = rebooted.map_err(|e| Error::Gpu {
            doing: format!("read the cards of node {name}"),
            message: e.to_string(),
        })?;
        // Nobody listens on it any more, and the new init cannot while it is there.
        let control = node.at.control();
        fs::remove_file(&control).map_err(Error::io("remove", &control))?;
        start::start_node(self, &node, &rebooted, &waiter).await?;
        let started = node.start_driver().await?;
        start::takes_pods(self, &[(node, started)], &waiter).await
    }

    /// Ends a node's init, and with it every process in its pid namespace.
    async fn end_node(&self, node: &Node) -> Result<()> {
        let init = format!("node-{}", node.name());
        self.init.stop(&init, Duration::ZERO).await
    }

    async fn add_node(&self, shape: &NodeShape, waiter: &Waiter<'_>) -> Result<(Node, Started)> {
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
        start::start_node(self, &node, &shape.machine(&self.name())?, waiter).await?;
        let started = node.start_driver().await?;
        Ok((node, started))
    }

    async fn remove_node(&self, node: &Node) -> Result<()> {
        node.stop_driver().await?;
        self.end_node(node).await?;
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

/// The machine with its cards as after a boot, if that takes no restart of the driver: the same cards in the same MIG mode, whole
/// and without an instance. Serial numbers of instances and events go on counting, since open handles are told apart by them.
fn wiped(now: &Machine, boot: &Machine) -> Option<Machine> {
    let same_host = (&now.id, &now.driver_version, &now.specs, now.gpus.len())
        == (&boot.id, &boot.driver_version, &boot.specs, boot.gpus.len());
    let mut wiped = now.clone();
    wiped.gpus = boot.gpus.clone();
    for (gpu, fresh) in now.gpus.iter().zip(&mut wiped.gpus) {
        // On cards that change MIG mode at once the driver switches it off and on as it likes.
        let toggle = now.spec(gpu).mig.as_ref().map(|mig| mig.toggle);
        if toggle == Some(MigToggle::Immediate) {
            (fresh.mig_current, fresh.mig_pending) = (gpu.mig_current, gpu.mig_pending);
        }
        let as_the_driver_saw_it = gpu.uuid == fresh.uuid
            && gpu.instances == fresh.instances
            && (gpu.mig_current, gpu.mig_pending) == (fresh.mig_current, fresh.mig_pending)
            && gpu.health == fresh.health
            && gpu.quirks == fresh.quirks;
        if !as_the_driver_saw_it {
            return None;
        }
    }
    same_host.then_some(wiped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot(gpus: &str, mig: bool) -> Machine {
        let shape = NodeShape {
            name: "n".into(),
            gpus: gpus.parse().expect("cards"),
            mig,
            cut: vec![],
            offer: Offer::default(),
            driver_gates: Default::default(),
        };
        shape.machine("t").expect("known model")
    }

    #[test]
    fn traces_that_the_driver_does_not_look_at_are_wiped_off() {
        let machine = boot("1xA100-SXM4-40GB", true);
        let mut used = machine.clone();
        used.gpus[0].persistence = !used.gpus[0].persistence;
        assert_eq!(wiped(&used, &machine).as_ref(), Some(&machine));
        assert_eq!(wiped(&machine, &machine).as_ref(), Some(&machine));
    }

    #[test]
    fn what_the_driver_has_seen_takes_a_boot() {
        let machine = boot("1xA100-SXM4-40GB", true);
        assert_eq!(
            wiped(&machine, &boot("1xA100-SXM4-40GB", false)),
            None,
            "MIG mode of an A100 is part of its shape"
        );
        assert_eq!(wiped(&machine, &boot("2xA100-SXM4-40GB", true)), None);
        let mut lost = machine.clone();
        lost.gpus[0].health.lost = true;
        assert_eq!(wiped(&lost, &machine), None);
    }

    #[test]
    fn the_driver_switches_mig_mode_of_hopper_at_will() {
        let (on, off) = (
            boot("1xH100-SXM5-80GB", true),
            boot("1xH100-SXM5-80GB", false),
        );
        assert_eq!(wiped(&on, &off), Some(on));
    }
}
