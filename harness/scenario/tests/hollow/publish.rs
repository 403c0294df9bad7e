//! The driver's first half: what it publishes, in the order and under the names of the real one.

use gpu_model::{Catalog, Gpu, Machine, MigMode, MigToggle, Options};
use scenario::{NodeWish, TestbedError};
use serde_json::{Map, Value, json};

use super::{Lie, State};

impl State {
    pub(super) fn shape(&mut self, nodes: &[NodeWish]) -> Result<(), TestbedError> {
        let same = self.nodes.iter().map(|(wish, _)| wish).eq(nodes);
        let clean = self
            .nodes
            .iter()
            .all(|(_, machine)| machine.gpus.iter().all(|gpu| gpu.instances.is_empty()));
        if same && clean {
            return Ok(());
        }
        let catalog = Catalog::builtin();
        self.nodes.clear();
        self.left_one = false;
        for wish in nodes {
            let mut cards = Vec::new();
            for (model, count) in &wish.cards {
                cards.push((
                    catalog
                        .model(model)
                        .map_err(|error| TestbedError::new(error.to_string()))?,
                    *count,
                ));
            }
            let options = Options {
                node: wish.name.clone(),
                mig: wish.mig,
                ..Options::default()
            };
            self.nodes
                .push((wish.clone(), Machine::build(&cards, &options)));
        }
        self.generation += 1;
        self.objects
            .retain(|(plural, _, _), _| plural != "resourceslices");
        for (wish, machine) in self.nodes.clone() {
            for (at, spec) in slices(&wish.name, &machine, self.generation, self.lie)
                .into_iter()
                .enumerate()
            {
                let name = format!("{at:05}-gpu.nvidia.com-{}", wish.name);
                let object = json!({ "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": { "name": name }, "spec": spec });
                self.objects
                    .insert(("resourceslices".to_owned(), String::new(), name), object);
            }
        }
        Ok(())
    }
}

fn slices(node: &str, machine: &Machine, generation: i64, lie: Lie) -> Vec<Value> {
    let count = machine.gpus.len() + 1;
    let pool = json!({ "name": node, "generation": generation, "resourceSliceCount": count });
    let sets: Vec<Value> = machine
        .gpus
        .iter()
        .filter_map(|gpu| set(machine, gpu))
        .collect();
    let head = json!({ "driver": "gpu.nvidia.com", "nodeName": node, "pool": pool, "sharedCounters": sets });
    let cards = machine.gpus.iter().map(|gpu| {
        json!({ "driver": "gpu.nvidia.com", "nodeName": node, "pool": pool, "devices": devices(machine, gpu, lie) })
    });
    std::iter::once(head).chain(cards).collect()
}

fn set_name(gpu: &Gpu) -> String {
    format!("gpu-{}-counter-set", gpu.minor)
}

fn counters(multiprocessors: u32, memory: u64, slices: std::ops::Range<u32>) -> Value {
    let mut all = Map::new();
    all.insert(
        "multiprocessors".to_owned(),
        json!({ "value": multiprocessors.to_string() }),
    );
    all.insert(
        "memory".to_owned(),
        json!({ "value": format!("{memory}Mi") }),
    );
    for slice in slices {
        all.insert(format!("memory-slice-{slice}"), json!({ "value": "1" }));
    }
    Value::Object(all)
}

fn set(machine: &Machine, gpu: &Gpu) -> Option<Value> {
    let mig = machine.spec(gpu).mig.as_ref()?;
    let multiprocessors = mig
        .profiles
        .iter()
        .map(|profile| profile.multiprocessors)
        .max()?;
    let memory = mig.profiles.iter().map(|profile| profile.memory.0).max()?;
    Some(
        json!({ "name": set_name(gpu), "counters": counters(multiprocessors, memory, 0..mig.memory_slices.0) }),
    )
}

fn devices(machine: &Machine, gpu: &Gpu, lie: Lie) -> Vec<Value> {
    let spec = machine.spec(gpu);
    let mut devices: Vec<(String, Value)> = Vec::new();
    let ampere = spec
        .mig
        .as_ref()
        .is_some_and(|mig| mig.toggle == MigToggle::NeedsReset);
    let on = gpu.mig_current == MigMode::Enabled;
    let whole = !(ampere && on) || lie == Lie::OffersBoth;
    let cut = spec.mig.is_some() && (on || !ampere);
    if whole {
        let name = format!("gpu-{}", gpu.minor);
        let consumes = match (&spec.mig, cut && lie != Lie::OffersBoth) {
            (Some(_), true) => set(machine, gpu)
                .map(|set| json!([{ "counterSet": set_name(gpu), "counters": set["counters"] }])),
            _ => None,
        };
        devices.push((name.clone(), device(&name, "gpu", None, consumes)));
    }
    for profile in spec
        .mig
        .iter()
        .filter(|_| cut)
        .flat_map(|mig| &mig.profiles)
    {
        for placement in profile.placements() {
            let name = format!(
                "gpu-{}-mig-{}-{}-{}",
                gpu.minor,
                profile.name.replace('.', "").replace('+', "-"),
                profile.id,
                placement.start
            );
            let taken = counters(
                profile.multiprocessors,
                profile.memory.0,
                placement.start..placement.start + placement.size,
            );
            let consumes = Some(json!([{ "counterSet": set_name(gpu), "counters": taken }]));
            devices.push((
                name.clone(),
                device(&name, "mig", Some(&profile.name), consumes),
            ));
        }
    }
    devices.sort_by(|a, b| a.0.cmp(&b.0));
    devices.into_iter().map(|(_, device)| device).collect()
}

fn device(name: &str, kind: &str, profile: Option<&str>, consumes: Option<Value>) -> Value {
    let mut attributes = json!({ "type": { "string": kind } });
    if let Some(profile) = profile {
        attributes["profile"] = json!({ "string": profile });
    }
    let mut device = json!({ "name": name, "attributes": attributes });
    if let Some(consumes) = consumes {
        device["consumesCounters"] = consumes;
    }
    device
}
