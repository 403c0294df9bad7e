//! Whole reports and queries of nvidia-smi on some models, as snapshots.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use common::{User, good, redact, shell};
use insta::assert_snapshot;

const MIG: &[&str] = &["--node", "1xA100-SXM4-40GB", "--mig"];

fn smi(options: &[&str], line: &str) -> String {
    redact(&good(&shell(User::Me, options, line)))
}

/// What varies with time is left out of reports.
fn report(options: &[&str], line: &str) -> String {
    const VARIES: [&str; 6] = [
        "Timestamp",
        "GPU Current Temp",
        "GPU T.Limit Temp",
        "Memory Current Temp",
        "Average Power Draw",
        "Instantaneous Power Draw",
    ];
    let mask = |line: &str| match line.split_once(": ") {
        Some((name, value)) if VARIES.contains(&name.trim()) && value != "N/A" => {
            format!("{name}: VARIES")
        }
        _ => line.to_owned(),
    };
    smi(options, line)
        .lines()
        .map(mask)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_report_of_an_a100_with_partitions() {
    assert_snapshot!(report(
        MIG,
        "nvidia-smi mig -cgi 9,14:2 -C >/dev/null; nvidia-smi -q"
    ));
}

#[test]
fn the_report_of_an_h100() {
    assert_snapshot!(report(&["--node", "1xH100-SXM5-80GB"], "nvidia-smi -q"));
}

#[test]
fn the_report_of_an_l4() {
    assert_snapshot!(report(&["--node", "1xL4"], "nvidia-smi -q"));
}

/// Every field that public programs ask for, a line each.
#[test]
fn every_field_of_an_h100_and_an_l4() {
    let fields: Vec<&str> = include_str!("../../smi/tests/data/query-gpu.txt")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .collect();
    let text = smi(
        &["--node", "1xH100-SXM5-80GB,1xL4"],
        &format!(
            "nvidia-smi --query-gpu={} --format=csv,noheader",
            fields.join(",")
        ),
    );
    let rows: Vec<Vec<&str>> = text.lines().map(|row| row.split(", ").collect()).collect();
    let lines: Vec<String> = fields
        .iter()
        .enumerate()
        .map(|(column, name)| {
            let values: Vec<&str> = rows.iter().map(|row| row[column]).collect();
            let varies = ["timestamp", "temperature", "power.draw"];
            if varies.iter().any(|v| name.starts_with(v)) && !values[0].contains("N/A") {
                format!("{name}: VARIES")
            } else {
                format!("{name}: {}", values.join(" | "))
            }
        })
        .collect();
    assert_snapshot!(lines.join("\n"));
}

#[test]
fn other_queries_topology_and_links() {
    let text = smi(
        &["--node", "2xH100-SXM5-80GB,1xL4"],
        "nvidia-smi --query-compute-apps=pid,used_memory --format=csv
         nvidia-smi --query-remapped-rows=gpu_bus_id,remapped_rows.failure,remapped_rows.histogram.max --format=csv
         nvidia-smi -i 2 --query-retired-pages=gpu_bus_id,retired_pages.address,retired_pages.cause --format=csv
         nvidia-smi -i 2 --query-supported-clocks=mem,gr --format=csv | head -3
         nvidia-smi topo -m; nvidia-smi nvlink -s; nvidia-smi nvlink -c -i 0 | head -7
         nvidia-smi --query-compute-apps=nonsense --format=csv; echo rc $?",
    );
    // The host's own processors and nodes.
    let text = text
        .lines()
        .map(|line| match line.split_once("\t") {
            Some((name, _)) if name.starts_with("GPU") => line
                .rsplitn(5, '\t')
                .last()
                .map(|start| format!("{start}\tAFFINITY"))
                .unwrap_or_default(),
            _ => line.to_owned(),
        })
        .collect::<Vec<_>>();
    assert_snapshot!(text.join("\n"));
}

/// Processes of every kind, on a card and on its partitions, in each place that shows processes.
#[test]
fn processes_of_a_card_and_of_partitions() {
    use gpu_model::{CiId, GiId, GpuIndex, MiB, NewLoad, Pid, Process, ProcessKind, Scope, Shape};
    let folder = common::open_folder();
    let dir = folder.path().join("machine");
    let node = "1xA100-SXM4-40GB,1xL4";
    let create = ["create", "--node", node, "--mig", dir.to_str().unwrap()];
    good(&common::fakegpu(User::Me, &create).output().unwrap());
    let state = ["--state", dir.to_str().unwrap()];
    good(&shell(User::Me, &state, "nvidia-smi mig -i 0 -cgi 9:4 -C"));

    let tree = gpu_host::HostTree::open(&dir).unwrap();
    let store = gpu_store::Store::open(tree.state_path()).unwrap();
    let now = store.real();
    let partition = Scope {
        gpu: GpuIndex(0),
        gi: Some(GiId(2)),
        ci: Some(CiId(0)),
    };
    for (scope, pid, name, kind) in [
        (
            partition,
            4_000_001,
            "/usr/bin/trainer",
            ProcessKind::Compute,
        ),
        (
            Scope::gpu(GpuIndex(1)),
            4_000_002,
            "/usr/bin/server",
            ProcessKind::Mps,
        ),
        (
            Scope::gpu(GpuIndex(1)),
            4_000_003,
            "/usr/lib/xorg/Xorg",
            ProcessKind::Graphics,
        ),
        (
            Scope::gpu(GpuIndex(1)),
            4_000_004,
            "player",
            ProcessKind::Compute,
        ),
        (
            Scope::gpu(GpuIndex(1)),
            4_000_004,
            "player",
            ProcessKind::Graphics,
        ),
    ] {
        let load = NewLoad {
            scope,
            process: Some(Process {
                pid: Pid(pid),
                name: name.into(),
                kind,
                real: false,
            }),
            memory: MiB(700),
            shape: Shape::constant(Shape::FULL / 2),
            traffic: gpu_model::Traffic::default(),
            since: None,
            until: None,
        };
        store
            .update(|machine, _| machine.with_load(load.clone(), now))
            .unwrap();
    }
    assert_snapshot!(smi(
        &state,
        "nvidia-smi | sed -n '/Processes/,$p'; nvidia-smi -i 1 -q -d PIDS | tail -n +8
         nvidia-smi -i 0 -q -x | grep -A8 '<process_info>'; nvidia-smi pmon -c 1 -s um
         nvidia-smi --query-compute-apps=gpu_bus_id,pid,process_name,used_memory --format=csv"
    ));
}
