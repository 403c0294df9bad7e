//! A pod's annotation becomes load on the cards that its container was given, as long as the container runs:
//! `fakegpu.sliceproof/load: "utilization=80,memory=2GiB"`; what it moves over links is said by `pcie-tx=1GB/s` and its like.
//!
//! Not a benchmark: nothing computes, NVML only says so. containerd hands the annotation on (its `pod_annotations`), the devices
//! stand in the bundle, and the load goes into the node's state file under the process id that the container's first process
//! has on the node, when runc starts it, and out of it when runc deletes the container.
use std::fs;
use std::path::{Path, PathBuf};

use gpu_model::{
    BadRate, CiId, GiId, Machine, MiB, MigMode, NewLoad, Now, Pid, Process, ProcessKind, Scope,
    Shape, Traffic, caps,
};
use gpu_store::Store;
use serde_json::Value;

use super::error::Error;

/// The annotation's name.
pub const ANNOTATION: &str = "fakegpu.sliceproof/load";

/// The annotation by which containerd tells a pod's sandbox from its containers.
const CONTAINER_TYPE: &str = "io.kubernetes.cri.container-type";

/// What an annotation can say.
const NAMES: &str = "utilization, memory, pcie-tx, pcie-rx, nvlink-tx, nvlink-rx";

/// What a container does to each of its devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Wish {
    /// How busy it keeps the device, in hundredths of a percent.
    level: u32,
    /// Memory that it holds.
    memory: MiB,
    /// What it moves over PCI Express and NVLink.
    traffic: Traffic,
}

/// Reads the annotation of a bundle, where it has one. A pod's sandbox has its pod's annotations and no device: its containers
/// are told, whose status then says what is wrong.
///
/// # Errors
/// [`Error::Load`] with what is wrong in it.
pub(super) fn wish(spec: &Value) -> Result<Option<Wish>, Error> {
    let annotation = |name| spec.get("annotations")?.get(name)?.as_str();
    if annotation(CONTAINER_TYPE) == Some("sandbox") {
        return Ok(None);
    }
    let text = annotation(ANNOTATION);
    text.map(|text| {
        parse(text).map_err(|problem| Error::Load {
            text: text.into(),
            problem,
        })
    })
    .transpose()
}

fn parse(text: &str) -> Result<Wish, String> {
    let mut wish = Wish::default();
    let mut said = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| format!("{part:?} is no NAME=VALUE"))?;
        let rate = || {
            value
                .parse()
                .map_err(|error: BadRate| format!("{name}: {error}"))
        };
        match name {
            "utilization" => {
                wish.level = Shape::level_of(value.trim_end_matches('%')).ok_or_else(|| {
                    format!("utilization is a percentage from 0 to 100, not {value:?}")
                })?;
            }
            "memory" => {
                wish.memory = memory(value).ok_or_else(|| {
                    format!("memory is a whole number of MiB or GiB, not {value:?}")
                })?;
            }
            "pcie-tx" => wish.traffic.pcie.sent = rate()?,
            "pcie-rx" => wish.traffic.pcie.received = rate()?,
            "nvlink-tx" => wish.traffic.nvlink.sent = rate()?,
            "nvlink-rx" => wish.traffic.nvlink.received = rate()?,
            other => {
                return Err(format!("{other:?} is not known; these are: {NAMES}"));
            }
        }
        if said.contains(&name) {
            return Err(format!("{name} is said twice"));
        }
        said.push(name);
    }
    Ok(wish)
}

fn memory(text: &str) -> Option<MiB> {
    let in_gib = text.strip_suffix("GiB").map(|number| (number, 1024));
    let (number, unit) = in_gib.or_else(|| Some((text.strip_suffix("MiB")?, 1)))?;
    Some(MiB(number.parse::<u64>().ok()?.checked_mul(unit)?))
}

/// Puts the load of a container that is about to start on its devices. One without an annotation or without a fake GPU has none.
///
/// # Errors
/// A state file or bundle that cannot be read; [`Error::LoadRefused`] when the card has no room for it.
pub(super) fn begin(state_file: &Path, container: &Path) -> Result<(), Error> {
    let Some((pid, bundle)) = first_process(container) else {
        return Ok(());
    };
    let Some(spec) = fs::read(bundle.join("config.json"))
        .ok()
        .and_then(|text| serde_json::from_slice::<Value>(&text).ok())
    else {
        return Ok(());
    };
    let Some(wish) = wish(&spec)? else {
        return Ok(());
    };
    let devices = devices(&spec);
    if devices.is_empty() {
        return Ok(());
    }
    let process = Process {
        pid,
        name: spec
            .pointer("/process/args/0")
            .and_then(Value::as_str)
            .unwrap_or("unknown")
            .to_owned(),
        kind: ProcessKind::Compute,
        real: false,
    };
    let refused = |why: String| Error::LoadRefused { why };
    let store = Store::open(state_file).map_err(|e| refused(e.to_string()))?;
    let real = store.real();
    store
        .update(|machine, _| {
            let now = machine.now(real);
            let mut next = machine.clone();
            for scope in scopes(machine, &devices) {
                let load = NewLoad {
                    scope,
                    process: Some(process.clone()),
                    memory: wish.memory,
                    shape: Shape::constant(wish.level),
                    traffic: wish.traffic,
                    since: None,
                    until: None,
                };
                next = next.with_load(load, now)?.0;
            }
            Ok((next, ()))
        })
        .map_err(|e: gpu_store::UpdateError<gpu_model::Refusal>| refused(e.to_string()))
}

/// Takes the load of a container that is over off the cards. What cannot be read has left none.
pub(super) fn end(state_file: &Path, container: &Path) {
    let (Some((pid, _)), Ok(store)) = (first_process(container), Store::open(state_file)) else {
        return;
    };
    let of_it = |machine: &Machine| {
        let loads = machine.gpus.iter().flat_map(|gpu| &gpu.loads);
        loads
            .filter_map(|load| load.process.as_ref())
            .any(|process| process.pid == pid)
    };
    if !store.read().is_ok_and(|snapshot| of_it(&snapshot.machine)) {
        return;
    }
    let real = store.real();
    // The container ends whatever the card says.
    let _ = store.update(|machine, _| {
        let now: Now = machine.now(real);
        machine
            .without_loads(now, |load, _| {
                load.process
                    .as_ref()
                    .is_some_and(|process| process.pid == pid)
            })
            .map(|next| (next, ()))
    });
}

/// The first process of a container, as the node counts, and its bundle, from the state that runc keeps in `container`.
fn first_process(container: &Path) -> Option<(Pid, PathBuf)> {
    let state: Value =
        serde_json::from_slice(&fs::read(container.join("state.json")).ok()?).ok()?;
    let pid = u32::try_from(state.get("init_process_pid")?.as_u64()?).ok()?;
    let labels = state.pointer("/config/labels")?.as_array()?;
    let bundle = labels
        .iter()
        .filter_map(Value::as_str)
        .find_map(|label| label.strip_prefix("bundle="))?;
    Some((Pid(pid), bundle.into()))
}

/// Numbers of the fake device nodes that a container has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Devices {
    /// N of `/dev/nvidiaN`.
    cards: Vec<u32>,
    /// N of `/dev/nvidia-caps/nvidia-capN`.
    caps: Vec<u32>,
}

impl Devices {
    fn is_empty(&self) -> bool {
        self.cards.is_empty()
    }
}

fn devices(spec: &Value) -> Devices {
    let paths = |list: &str, field: &str| -> Vec<String> {
        let entries = spec.pointer(list).and_then(Value::as_array);
        entries
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.get(field)?.as_str()?.to_owned()))
            .collect()
    };
    let mut all = Devices::default();
    for path in paths("/linux/devices", "path")
        .into_iter()
        .chain(paths("/mounts", "destination"))
    {
        let number = |prefix: &str| path.strip_prefix(prefix)?.parse::<u32>().ok();
        all.cards.extend(number("/dev/nvidia"));
        all.caps.extend(number("/dev/nvidia-caps/nvidia-cap"));
    }
    all
}

/// What the nodes stand for: compute instances on a card in MIG mode, else the card.
fn scopes(machine: &Machine, devices: &Devices) -> Vec<Scope> {
    let mut found = Vec::new();
    for gpu in &machine.gpus {
        if !devices.cards.contains(&gpu.minor.0) {
            continue;
        }
        if gpu.mig_current != MigMode::Enabled {
            found.push(Scope::gpu(gpu.index));
            continue;
        }
        let has = |gi: GiId, ci: CiId| devices.caps.contains(&caps::ci(gpu.minor, gi, ci).0);
        for gi in &gpu.instances {
            let own = gi.compute.iter().filter(|ci| has(gi.id, ci.id));
            found.extend(own.map(|ci| Scope::ci(gpu.index, gi.id, ci.id)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_model::{Flow, Rate};
    use serde_json::json;

    #[test]
    fn the_annotation_is_read_or_what_is_wrong_is_said() {
        let read = |text: &str| wish(&json!({"annotations": {ANNOTATION: text}}));
        assert_eq!(
            read("utilization=80, memory=2GiB").expect("good"),
            Some(Wish {
                level: 8_000,
                memory: MiB(2048),
                ..Wish::default()
            })
        );
        assert_eq!(
            read("memory=512MiB").expect("good"),
            Some(Wish {
                memory: MiB(512),
                ..Wish::default()
            })
        );
        let flow = |sent, received| Flow {
            sent: Rate(sent),
            received: Rate(received),
        };
        let traffic = Traffic {
            pcie: flow(1_500_000_000, 0),
            nvlink: flow(0, 2 << 30),
        };
        assert_eq!(
            read("pcie-tx=1.5GB/s,nvlink-rx=2GiB/s").expect("good"),
            Some(Wish {
                traffic,
                ..Wish::default()
            })
        );
        assert_eq!(wish(&json!({})).expect("good"), None);
        let sandbox = json!({"annotations": {ANNOTATION: "?", CONTAINER_TYPE: "sandbox"}});
        assert_eq!(wish(&sandbox).expect("not its business"), None);
        for (text, says) in [
            ("utilization=101", "from 0 to 100"),
            ("memory=2GB", "MiB or GiB, not \"2GB\""),
            ("memory=99999999999999999999GiB", "MiB or GiB"),
            ("power=3", "\"power\" is not known"),
            ("pcie-tx=fast", "pcie-tx: `fast` is no rate"),
            ("utilization", "no NAME=VALUE"),
            ("memory=1GiB,memory=2GiB", "said twice"),
            ("", "no NAME=VALUE"),
        ] {
            let error = read(text).expect_err(text).to_string();
            let (problem, _) = error.split_once(ANNOTATION).expect("which one");
            assert!(problem.contains(says), "{error}");
        }
    }

    #[test]
    fn devices_are_found_as_nodes_and_as_binds() {
        let spec = json!({
            "linux": {"devices": [{"path": "/dev/nvidia1"}, {"path": "/dev/nvidiactl"}]},
            "mounts": [
                {"destination": "/dev/nvidia-caps/nvidia-cap21"},
                {"destination": "/dev/nvidia0"},
                {"destination": "/dev/nvidia-uvm"},
            ],
        });
        assert_eq!(
            devices(&spec),
            Devices {
                cards: vec![1, 0],
                caps: vec![21]
            }
        );
    }
}
