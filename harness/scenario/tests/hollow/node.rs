//! The node: the driver's second half, which cuts the card, and the kubelet, which starts pods.

use gpu_model::{GpuIndex, Machine, Now, Op, Outcome, Placement, ProfileId};
use serde_json::json;

use super::{Lie, State};

impl State {
    /// Allocates `device` to the pod, prepares it and starts the pod.
    pub(super) fn start(&mut self, namespace: &str, name: &str, node: &str, device: &str) {
        self.serial += 1;
        let claim = format!("{name}-gpu-{}", self.serial);
        let object = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": { "name": claim, "namespace": namespace },
            "spec": { "devices": {} },
            "status": {
                "allocation": { "devices": { "results": [{ "request": "gpu", "driver": "gpu.nvidia.com", "pool": node, "device": device }] } },
                "reservedFor": [{ "resource": "pods", "name": name, "uid": "x" }]
            }
        });
        self.objects.insert(
            ("resourceclaims".to_owned(), namespace.to_owned(), claim),
            object,
        );
        let pod = self
            .objects
            .get_mut(&("pods".to_owned(), namespace.to_owned(), name.to_owned()))
            .expect("the pod");
        pod["spec"]["nodeName"] = json!(node);
        let scheduled = json!([{ "type": "PodScheduled", "status": "True" }]);
        pod["status"] = match self.lie {
            Lie::NeverStarts | Lie::Dies => {
                json!({ "phase": "Pending", "conditions": scheduled, "containerStatuses": [
                container(json!({ "waiting": { "reason": "ContainerCreating" } })) ] })
            }
            Lie::NoImage => {
                json!({ "phase": "Pending", "conditions": scheduled, "containerStatuses": [
                container(json!({ "waiting": { "reason": "ErrImageNeverPull", "message": "no such image" } })) ] })
            }
            _ => {
                json!({ "phase": "Running", "conditions": scheduled, "containerStatuses": [ container(json!({ "running": {} })) ] })
            }
        };
        if self.lie != Lie::CutsNothing {
            self.cut(node, device);
        }
    }

    fn cut(&mut self, node: &str, device: &str) {
        let Some((minor, profile, start)) = partition(device) else {
            return;
        };
        let elsewhere = self.lie == Lie::CutsElsewhere;
        let Some((_, machine)) = self.nodes.iter_mut().find(|(wish, _)| wish.name == node) else {
            return;
        };
        let gpu = machine
            .gpus
            .iter()
            .find(|gpu| gpu.minor.0 == minor)
            .expect("the card");
        let (index, spec) = (gpu.index, machine.spec(gpu).clone());
        let mig = spec.mig.as_ref().expect("MIG");
        let size = mig.by_id(profile).expect("the profile").size.0;
        let placement = (!elsewhere).then_some(Placement { start, size });
        // The driver of the real node turns the mode on where it must.
        let on = Op::SetMigMode {
            gpu: index,
            mode: gpu_model::MigMode::Enabled,
        };
        if let Ok((next, _)) = machine.apply(on, Now(0)) {
            *machine = next;
        }
        let placement = placement.or_else(|| {
            let gpu = machine.gpu(index).expect("the card");
            let profile = mig.by_id(profile).expect("the profile");
            let free: Vec<Placement> = gpu.free_placements(profile).collect();
            free.into_iter().rev().find(|it| it.start != start)
        });
        let Ok((next, Outcome::GpuInstance { id, .. })) = machine.apply(
            Op::CreateGpuInstance {
                gpu: index,
                profile,
                placement,
            },
            Now(0),
        ) else {
            // A card that is full: only a scheduler that lies comes here.
            return;
        };
        let compute = mig
            .by_id(profile)
            .and_then(|profile| profile.full_compute())
            .expect("a compute profile")
            .id;
        let (next, _) = next
            .apply(
                Op::CreateComputeInstance {
                    gpu: index,
                    gi: id,
                    profile: compute,
                    placement: None,
                },
                Now(0),
            )
            .expect("a compute instance");
        *machine = next;
    }

    /// Frees what the pod held.
    pub(super) fn release(&mut self, namespace: &str, pod: &str) {
        let claims: Vec<_> = self
            .objects
            .iter()
            .filter(|((plural, ns, _), claim)| {
                plural == "resourceclaims"
                    && ns == namespace
                    && claim["status"]["reservedFor"][0]["name"] == pod
            })
            .map(|(key, claim)| {
                (
                    key.clone(),
                    claim["status"]["allocation"]["devices"]["results"][0].clone(),
                )
            })
            .collect();
        for (key, result) in claims {
            self.objects.remove(&key);
            if self.lie == Lie::Leaves && !self.left_one {
                self.left_one = true;
                continue;
            }
            let (node, device) = (
                result["pool"].as_str().expect("a pool"),
                result["device"].as_str().expect("a device"),
            );
            let Some((minor, profile, start)) = partition(device) else {
                continue;
            };
            let elsewhere = self.lie == Lie::CutsElsewhere;
            let Some((_, machine)) = self.nodes.iter_mut().find(|(wish, _)| wish.name == node)
            else {
                continue;
            };
            let gpu = machine
                .gpus
                .iter()
                .find(|gpu| gpu.minor.0 == minor)
                .expect("the card");
            let index = gpu.index;
            let instance = gpu
                .instances
                .iter()
                .find(|it| it.profile == profile && (elsewhere || it.placement.start == start));
            if let Some(instance) = instance.cloned() {
                destroy(machine, index, &instance);
            }
        }
    }

    /// What `nvidia-smi -L` prints in the pod.
    pub(super) fn listing(&self, namespace: &str, pod: &str) -> String {
        let mine = |name: &str| -> Vec<(String, String)> {
            self.objects
                .iter()
                .filter(|((plural, ns, _), claim)| {
                    plural == "resourceclaims"
                        && ns == namespace
                        && claim["status"]["reservedFor"][0]["name"] == name
                })
                .map(|(_, claim)| {
                    let result = &claim["status"]["allocation"]["devices"]["results"][0];
                    (
                        result["pool"].as_str().expect("a pool").to_owned(),
                        result["device"].as_str().expect("a device").to_owned(),
                    )
                })
                .collect()
        };
        let pod = if self.lie == Lie::ShowsTheFirst {
            self.order[0].1.clone()
        } else {
            pod.to_owned()
        };
        let mut text = String::new();
        for (node, device) in mine(&pod) {
            let Some((_, machine)) = self.nodes.iter().find(|(wish, _)| wish.name == node) else {
                continue;
            };
            let minor = partition(&device).map_or_else(
                || device["gpu-".len()..].parse().expect("a minor"),
                |it| it.0,
            );
            let gpu = machine
                .gpus
                .iter()
                .find(|gpu| gpu.minor.0 == minor)
                .expect("the card");
            text.push_str(&format!(
                "GPU 0: NVIDIA {} (UUID: {})\n",
                machine.spec(gpu).model,
                gpu.uuid
            ));
            let Some((_, profile, start)) = partition(&device) else {
                continue;
            };
            for (at, it) in machine.mig_devices(gpu).enumerate() {
                let own = it.gi.profile == profile && it.gi.placement.start == start;
                if self.lie != Lie::ShowsNone && (own || self.lie == Lie::ShowsAll) {
                    text.push_str(&format!(
                        "  MIG {}     Device  {at}: (UUID: {})\n",
                        it.profile_name(),
                        it.ci.uuid
                    ));
                }
            }
        }
        text
    }
}

fn container(state: serde_json::Value) -> serde_json::Value {
    json!({ "name": "main", "image": "x", "imageID": "", "ready": true, "restartCount": 0, "state": state })
}

fn destroy(machine: &mut Machine, gpu: GpuIndex, instance: &gpu_model::GpuInstance) {
    for compute in &instance.compute {
        let (next, _) = machine
            .apply(
                Op::DestroyComputeInstance {
                    gpu,
                    gi: instance.id,
                    ci: compute.id,
                },
                Now(0),
            )
            .expect("the compute instance ends");
        *machine = next;
    }
    let (next, _) = machine
        .apply(
            Op::DestroyGpuInstance {
                gpu,
                gi: instance.id,
            },
            Now(0),
        )
        .expect("the instance ends");
    *machine = next;
}

fn partition(device: &str) -> Option<(u32, ProfileId, u32)> {
    let (minor, rest) = device.strip_prefix("gpu-")?.split_once("-mig-")?;
    let mut parts = rest.rsplit('-');
    let start = parts.next()?.parse().ok()?;
    let profile = parts.next()?.parse().ok()?;
    Some((minor.parse().ok()?, ProfileId(profile), start))
}
