//! How long a cluster takes to come up, against the longest chain of its programs that cannot be avoided:
//! etcd and API server until they take objects, alone on the machine, then the driver until its slices are there.
//! Also the time of a pod with a MIG claim and what the whole cluster occupies. Prints figures and ratios beside their limits.
#![forbid(unsafe_code)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::Mutex,
    time::{Duration, Instant},
};

use cluster::{Cluster, ClusterSpec, NodeShape, Programs, Progress, Running};
use support::{Pods, programs};

const ROUNDS: usize = 3;
/// `up` to published slices, over the chain.
const CHAIN_RATIO: f64 = 1.2;
const POD_SECONDS: f64 = 1.5;
const RESIDENT_MIB: u64 = 1024;

fn main() {
    cluster::dispatch();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let (mut ups, mut chains, mut pods, mut resident) = (vec![], vec![], vec![], vec![]);
    for round in 0..ROUNDS {
        let dir = folder.path().join(format!("round-{round}"));
        let api = runtime.block_on(api_alone(&dir));
        let times = Times::default();
        let running = runtime
            .block_on(Cluster::start(
                spec(&dir, programs().expect("programs")),
                &|p: Progress| times.take(p),
            ))
            .expect("a cluster");
        let up = times.of("slices are published");
        resident.push(resident_mib(&dir));
        pods.extend(runtime.block_on(pod_times(&running)));
        let driver = runtime.block_on(driver_alone(&running));
        runtime.block_on(running.stop()).expect("an end");
        println!("round {round}: up {up:.2} s; API server alone {api:.2} s + driver {driver:.2} s");
        ups.push(up);
        chains.push(api + driver);
    }
    let (up, chain, pod) = (median(&mut ups), median(&mut chains), median(&mut pods));
    let resident = resident.into_iter().max().unwrap_or(0);
    println!(
        "up to published slices      {up:6.2} s   {:.2}x the chain of {chain:.2} s (limit {CHAIN_RATIO}x)",
        up / chain
    );
    println!(
        "pod with a MIG claim        {pod:6.2} s   created to Running, median of {} (limit {POD_SECONDS} s)",
        pods.len()
    );
    println!("whole cluster of one node   {resident:6} MiB (limit {RESIDENT_MIB} MiB)");
    if up / chain <= CHAIN_RATIO && pod <= POD_SECONDS && resident <= RESIDENT_MIB {
        println!("within all limits");
    } else {
        // Said, not judged: a time on a machine that others use too proves nothing about the code.
        println!("over a limit");
    }
}

fn shape(gpus: &str) -> NodeShape {
    NodeShape {
        name: "node-1".into(),
        gpus: gpus.parse().expect("cards"),
        mig: true,
        cut: vec![],
        offer: cluster::Offer::default(),
        driver_gates: Default::default(),
    }
}

fn spec(dir: &Path, programs: Programs) -> ClusterSpec {
    ClusterSpec {
        name: "bench".into(),
        dir: dir.into(),
        nodes: vec![shape("1xA100-SXM4-40GB")],
        programs,
        features: cluster::Features::default(),
        exe: None,
        image_cache: dir.parent().map(|p| p.join("images")),
    }
}

/// Milestones by their text, in seconds since the start.
#[derive(Default)]
struct Times(Mutex<Vec<(f64, String)>>);

impl Times {
    fn take(&self, progress: Progress) {
        if let Progress::Reached { at, what } = progress {
            self.0
                .lock()
                .expect("no panic")
                .push((at.as_secs_f64(), what));
        }
    }

    fn find(&self, what: &str) -> Option<f64> {
        self.0
            .lock()
            .expect("no panic")
            .iter()
            .find(|(_, w)| w == what)
            .map(|(at, _)| *at)
    }

    fn of(&self, what: &str) -> f64 {
        self.find(what)
            .unwrap_or_else(|| panic!("never reached: {what}"))
    }
}

/// etcd and the API server without anything beside them, until the API server takes objects.
async fn api_alone(dir: &Path) -> f64 {
    let idle = dir.with_extension("idle");
    fs::write(&idle, "#!/bin/sh\nexec sleep 1000\n").expect("a script");
    fs::set_permissions(&idle, fs::Permissions::from_mode(0o755)).expect("an executable script");
    let mut programs = programs().expect("programs");
    for name in [
        "kube-controller-manager",
        "kube-scheduler",
        "kubelet",
        "containerd",
        "gpu-kubelet-plugin",
    ] {
        programs = programs.with(name, &idle);
    }
    let times = Times::default();
    let listener = |p: Progress| times.take(p);
    let start = Cluster::start(spec(dir, programs), &listener);
    let reached = async {
        while times.find("API server takes objects").is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        result = start => panic!("it cannot be up: {result:?}"),
        () = reached => {}
    }
    times.of("API server takes objects") - times.of("control plane is started")
}

/// The driver from its start to its slices, on a cluster that waits for nothing else.
async fn driver_alone(running: &Running) -> f64 {
    let times = Times::default();
    running
        .shape(&[shape("2xA100-SXM4-40GB")], &|p: Progress| times.take(p))
        .await
        .expect("other cards");
    times.of("slices are published")
        - times.of("node node-1 has 2xA100-SXM4-40GB and no trace of use")
}

async fn pod_times(running: &Running) -> Vec<f64> {
    let pods = Pods::new(&running.client());
    let template = pods.template("1g.5gb").await.expect("a template");
    let mut times = vec![];
    for round in 0..5 {
        let name = format!("pod-{round}");
        let begun = Instant::now();
        pods.create(&name, Some(&template), |_| {})
            .await
            .expect("a pod");
        pods.running(&name).await.expect("it runs");
        times.push(begun.elapsed().as_secs_f64());
        pods.delete(&[&name]).await.expect("an end");
    }
    times
}

/// Memory that only the cluster's processes hold, with their share of what they hold together.
fn resident_mib(dir: &Path) -> u64 {
    let needle = dir.to_string_lossy().into_owned();
    let own = std::process::id().to_string();
    let kib: u64 = fs::read_dir("/proc")
        .expect("/proc")
        .flatten()
        .filter(|e| e.file_name().to_string_lossy() != own)
        .filter(|e| {
            fs::read_to_string(e.path().join("mountinfo")).is_ok_and(|m| m.contains(&needle))
        })
        .filter_map(|e| fs::read_to_string(e.path().join("smaps_rollup")).ok())
        .filter_map(|text| {
            text.lines()
                .find(|l| l.starts_with("Pss:"))?
                .split_whitespace()
                .nth(1)?
                .parse::<u64>()
                .ok()
        })
        .sum();
    kib / 1024
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
