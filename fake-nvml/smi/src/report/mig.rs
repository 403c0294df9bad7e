//! MIG devices and processes of a GPU.

use nvml_client::{Device, Memory, Nvml, Result};

use super::tree::{Look, Node};
use super::{Dialect, Section, Topic, accounts};
use crate::processes;
use crate::value::{mib, number, part};

pub(super) fn devices(gpu: &Device<'_>, dialect: Dialect, all: &mut Vec<Section>) {
    let on = gpu.mig_mode().is_ok_and(|(now, _)| now);
    let found = if on {
        gpu.mig_devices().unwrap_or_default()
    } else {
        Vec::new()
    };
    let look = if found.is_empty() {
        Look::OrNone
    } else {
        Look::Spread
    };
    let nodes: Vec<Node> = found.iter().map(|mig| device(mig, dialect)).collect();
    // The text says nothing of devices where there are none.
    let name = if nodes.is_empty() { "" } else { "MIG Device" };
    all.push((None, Node::look(name, "mig_devices", look, nodes)));
}

fn device(mig: &Device<'_>, dialect: Dialect) -> Node {
    // As a capture of 610.43 words it; one of 580.105 has the words of a whole card.
    let (memory_name, bar1_name) = if dialect.since(610) {
        ("Shared FB Memory Usage", "Shared BAR1 Memory")
    } else {
        ("FB Memory Usage", "BAR1 Memory Usage")
    };
    let has = mig.attributes();
    let count = |pick: fn(&nvml_client::Attributes) -> u32| part(&has, |a| pick(a).to_string());
    Node::group(
        "MIG Device",
        "mig_device",
        vec![
            Node::value("Index", "index", number(mig.index())),
            Node::value(
                "GPU Instance ID",
                "gpu_instance_id",
                number(mig.gpu_instance_id()),
            ),
            Node::value(
                "Compute Instance ID",
                "compute_instance_id",
                number(mig.compute_instance_id()),
            ),
            Node::group(
                "Device Attributes",
                "device_attributes",
                vec![Node::group(
                    "Shared",
                    "shared",
                    vec![
                        Node::value(
                            "Multiprocessor count",
                            "multiprocessor_count",
                            count(|a| a.multiprocessors),
                        ),
                        Node::value(
                            "Copy Engine count",
                            "copy_engine_count",
                            count(|a| a.copy_engines),
                        ),
                        Node::value("Encoder count", "encoder_count", count(|a| a.encoders)),
                        Node::value("Decoder count", "decoder_count", count(|a| a.decoders)),
                        Node::value("OFA count", "ofa_count", count(|a| a.ofa)),
                        Node::value("JPG count", "jpg_count", count(|a| a.jpeg)),
                    ],
                )],
            ),
            Node::group(
                "ECC Errors",
                "ecc_error_count",
                vec![Node::group(
                    "Volatile",
                    "volatile_count",
                    vec![Node::value(
                        "SRAM Uncorrectable",
                        "sram_uncorrectable",
                        mig.ecc_errors(true, false)
                            .map_or_else(|_| "0".into(), |n| n.to_string()),
                    )],
                )],
            ),
            memory(memory_name, "fb_memory_usage", mig.memory(), true),
            memory(bar1_name, "bar1_memory_usage", mig.bar1(), false),
        ],
    )
}

/// A block of sizes in MiB.
pub(super) fn memory(
    text: &'static str,
    xml: &'static str,
    memory: Result<Memory>,
    reserved: bool,
) -> Node {
    let show = |pick: fn(&Memory) -> u64| part(&memory, |m| format!("{} MiB", mib(pick(m))));
    let mut nodes = vec![Node::value("Total", "total", show(|m| m.total))];
    if reserved {
        nodes.push(Node::value(
            "Reserved",
            "reserved",
            show(|m| m.reserved.unwrap_or(0)),
        ));
    }
    nodes.push(Node::value("Used", "used", show(|m| m.used)));
    nodes.push(Node::value("Free", "free", show(|m| m.free)));
    Node::group(text, xml, nodes)
}

pub(super) fn processes(nvml: &Nvml, gpu: &Device<'_>, all: &mut Vec<Section>) {
    let running = processes::of(nvml, gpu);
    let id = |id: Option<u32>| id.map_or_else(|| "N/A".into(), |i| i.to_string());
    let nodes = running
        .iter()
        .map(|p| {
            let memory = p
                .memory
                .map_or_else(|| "N/A".into(), |m| format!("{} MiB", mib(m)));
            Node::look(
                "Process",
                "process_info",
                Look::Narrow,
                vec![
                    Node::value("GPU instance ID", "gpu_instance_id", id(p.gpu_instance)),
                    Node::value(
                        "Compute instance ID",
                        "compute_instance_id",
                        id(p.compute_instance),
                    ),
                    Node::value("Process ID", "pid", p.pid.to_string()),
                    Node::value("    Type", "type", p.kind),
                    Node::value("    Name", "process_name", p.name.clone()),
                    Node::value("    Used GPU Memory", "used_memory", memory),
                ],
            )
        })
        .collect::<Vec<_>>();
    // Text says None, XML leaves the element empty.
    let name = if nodes.is_empty() {
        all.push((Some(Topic::Pids), Node::value("Processes", "", "None")));
        ""
    } else {
        "Processes"
    };
    all.push((Some(Topic::Pids), Node::group(name, "processes", nodes)));
    all.push((Some(Topic::Accounting), accounts::xml(gpu)));
    all.push((
        None,
        Node::group(
            "Capabilities",
            "capabilities",
            vec![Node::value("EGM", "egm", "disabled")],
        ),
    ));
}
