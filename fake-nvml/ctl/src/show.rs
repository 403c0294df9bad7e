//! `fakegpu show`: a machine as a table or as JSON.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use gpu_model::{Gpu, Machine, Now, Spec};
use serde::Serialize;

use crate::error::Error;
use crate::state;

/// Arguments of `show`.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// A folder made by `create`, or a state file; without it, the machine that this process runs in.
    #[arg(value_name = "DIR|STATE")]
    place: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let store = state::open(self.place.as_deref())?;
        let snapshot = store.current()?;
        let now = snapshot.machine.now(store.real());
        if self.json {
            let view = view(&snapshot.machine, snapshot.generation, now);
            // Strings, numbers and lists of them: this cannot fail, and an empty line would be no JSON.
            println!("{}", serde_json::to_string_pretty(&view).expect("JSON"));
        } else {
            print!("{}", table(&snapshot.machine, now));
        }
        Ok(())
    }
}

/// `2xA100-SXM4-40GB,1xL4`
pub(crate) fn cards(machine: &Machine) -> String {
    let mut cards: Vec<(&str, usize)> = Vec::new();
    for gpu in &machine.gpus {
        let model = machine.spec(gpu).model.as_str();
        match cards.last_mut() {
            Some((last, count)) if *last == model => *count += 1,
            _ => cards.push((model, 1)),
        }
    }
    let parts: Vec<String> = cards
        .iter()
        .map(|(model, count)| format!("{count}x{model}"))
        .collect();
    parts.join(",")
}

pub(crate) fn summary(machine: &Machine) -> String {
    format!(
        "machine      {} ({}), driver {}, CUDA {}.{}",
        cards(machine),
        machine.id,
        machine.driver_version,
        machine.cuda_version / 1000,
        machine.cuda_version % 1000 / 10
    )
}

fn table(machine: &Machine, now: Now) -> String {
    let mut text = summary(machine);
    text.push('\n');
    for gpu in &machine.gpus {
        let spec = machine.spec(gpu);
        let _ = writeln!(
            text,
            "GPU {}  {}  {}  {}  MIG {}",
            gpu.index,
            spec.name,
            gpu.uuid,
            gpu.pci,
            mig_words(machine, gpu)
        );
        for line in conditions(spec, gpu, now) {
            let _ = writeln!(text, "       {line}");
        }
        for gi in &gpu.instances {
            let name = spec
                .mig
                .as_ref()
                .and_then(|m| m.by_id(gi.profile))
                .map_or("?", |p| p.name.as_str());
            let _ = writeln!(
                text,
                "  GPU instance {:2}  {name}  at {}",
                gi.id, gi.placement
            );
            for mig in machine.mig_devices(gpu).filter(|m| m.gi.id == gi.id) {
                let _ = writeln!(
                    text,
                    "    compute instance {}  {}  {}",
                    mig.ci.id,
                    mig.profile_name(),
                    mig.ci.uuid
                );
            }
        }
    }
    text
}

fn mig_words(machine: &Machine, gpu: &Gpu) -> String {
    if machine.spec(gpu).mig.is_none() {
        return "none".into();
    }
    let (now, then) = (gpu.mig_current.word(), gpu.mig_pending.word());
    if now == then {
        now.into()
    } else {
        format!("{now}, {then} after a reset")
    }
}

fn conditions(spec: &Spec, gpu: &Gpu, now: Now) -> Vec<String> {
    let mut lines = Vec::new();
    let health = &gpu.health;
    if health.lost {
        lines.push("lost: it fell off the bus".to_owned());
    }
    if health.absent {
        lines.push("absent: an init does not find it".to_owned());
    }
    if health.reset_required {
        lines.push("must be reset before it can be used again".to_owned());
    }
    if !health.throttle.is_none() {
        lines.push(format!(
            "clocks held down, reasons {:#x}",
            health.throttle.0
        ));
    }
    if health.links_down != 0 {
        let down = (0..u32::BITS).filter(|&link| !health.link_up(link));
        let down: Vec<String> = down.map(|link| link.to_string()).collect();
        lines.push(format!("NVLinks down: {}", down.join(", ")));
    }
    if health.recovery.raw() != 0 {
        lines.push(format!("the driver asks for {:?}", health.recovery));
    }
    let remaps = health.remaps;
    if remaps != gpu_model::RowRemaps::default() {
        lines.push(format!(
            "rows remapped: {} corrected, {} uncorrected{}{}",
            remaps.corrected,
            remaps.uncorrected,
            if remaps.pending {
                ", one waits for a reset"
            } else {
                ""
            },
            if remaps.failed {
                ", one has failed"
            } else {
                ""
            }
        ));
    }
    if let Some(xid) = health.last_xid {
        lines.push(format!("last Xid {xid}"));
    }
    let ecc = &health.ecc_volatile;
    let (corrected, uncorrected) = (ecc.all_corrected(), ecc.all_uncorrected());
    if corrected + uncorrected > 0 {
        lines.push(format!(
            "ECC since reset: {corrected} corrected, {uncorrected} uncorrected"
        ));
    }
    if gpu.running(now).next().is_some() {
        let (busy, memory) = (gpu.busy(spec, None, None, now), gpu.memory_used(now));
        lines.push(format!("load {busy}, {memory}"));
    }
    lines
}

/// The machine for other programs: format 1.
#[derive(Debug, Serialize)]
struct MachineView {
    format: u32,
    generation: u64,
    id: String,
    driver_version: String,
    cuda_version: u32,
    gpus: Vec<GpuView>,
    events: Vec<EventView>,
}

#[derive(Debug, Serialize)]
struct GpuView {
    index: u32,
    model: String,
    name: String,
    uuid: String,
    pci: String,
    minor: u32,
    numa_node: u32,
    serial: String,
    memory_mib: u64,
    mig: Option<MigView>,
    persistence: bool,
    compute_mode: u32,
    timeslice: u32,
    lost: bool,
    last_xid: Option<u32>,
    ecc_corrected: u64,
    ecc_uncorrected: u64,
    load_percent: u32,
    load_memory_mib: u64,
}

#[derive(Debug, Serialize)]
struct MigView {
    current: &'static str,
    pending: &'static str,
    gpu_instances: Vec<GpuInstanceView>,
}

#[derive(Debug, Serialize)]
struct GpuInstanceView {
    id: u32,
    profile: String,
    profile_id: u32,
    start: u32,
    size: u32,
    compute_instances: Vec<ComputeInstanceView>,
}

#[derive(Debug, Serialize)]
struct ComputeInstanceView {
    id: u32,
    profile: String,
    profile_id: u32,
    start: u32,
    size: u32,
    uuid: String,
}

#[derive(Debug, Serialize)]
struct EventView {
    seq: u64,
    gpu: u32,
    kind: String,
}

fn view(machine: &Machine, generation: u64, now: Now) -> MachineView {
    MachineView {
        format: 1,
        generation,
        id: machine.id.to_string(),
        driver_version: machine.driver_version.clone(),
        cuda_version: machine.cuda_version,
        gpus: machine
            .gpus
            .iter()
            .map(|gpu| gpu_view(machine, gpu, now))
            .collect(),
        events: machine
            .events
            .all()
            .iter()
            .map(|e| EventView {
                seq: e.seq,
                gpu: e.gpu.0,
                kind: format!("{:?}", e.kind),
            })
            .collect(),
    }
}

fn gpu_view(machine: &Machine, gpu: &Gpu, now: Now) -> GpuView {
    let spec = machine.spec(gpu);
    let mig = spec.mig.as_ref().map(|mig| MigView {
        current: gpu.mig_current.word(),
        pending: gpu.mig_pending.word(),
        gpu_instances: gpu
            .instances
            .iter()
            .map(|gi| GpuInstanceView {
                id: gi.id.0,
                profile: mig
                    .by_id(gi.profile)
                    .map(|p| p.name.clone())
                    .unwrap_or_default(),
                profile_id: gi.profile.0,
                start: gi.placement.start,
                size: gi.placement.size,
                compute_instances: machine
                    .mig_devices(gpu)
                    .filter(|device| device.gi.id == gi.id)
                    .map(|device| ComputeInstanceView {
                        id: device.ci.id.0,
                        profile: device.profile_name().to_owned(),
                        profile_id: device.ci.profile.0,
                        start: device.ci.placement.start,
                        size: device.ci.placement.size,
                        uuid: device.ci.uuid.to_string(),
                    })
                    .collect(),
            })
            .collect(),
    });
    GpuView {
        index: gpu.index.0,
        model: spec.model.clone(),
        name: spec.name.clone(),
        uuid: gpu.uuid.to_string(),
        pci: gpu.pci.to_string(),
        minor: gpu.minor.0,
        numa_node: gpu.numa_node,
        serial: gpu.serial.clone(),
        memory_mib: spec.memory_total.0,
        mig,
        persistence: gpu.persistence,
        compute_mode: gpu.compute_mode.raw(),
        timeslice: gpu.timeslice.raw(),
        lost: gpu.health.lost,
        last_xid: gpu.health.last_xid,
        ecc_corrected: gpu.health.ecc_volatile.all_corrected(),
        ecc_uncorrected: gpu.health.ecc_volatile.all_uncorrected(),
        load_percent: gpu.busy(spec, None, None, now).0,
        load_memory_mib: gpu.memory_used(now).0,
    }
}
