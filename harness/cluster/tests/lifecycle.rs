//! How clusters begin and end: whatever ends them, nothing of them stays; what forbids them is named; two do not meet.
//! Each test has clusters of its own. This binary is also the supervisor and the inits of those clusters.
#![forbid(unsafe_code)]

#[path = "support/mod.rs"]
mod support;

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

use cluster::{
    Cluster, ClusterSpec, Error, NodeShape, Programs, Progress, Silent,
    supervisor::{self, Until},
};
use libtest_mimic::{Arguments, Failed, Trial};
use support::programs;
use tokio::runtime::Runtime;

/// A hidden mode of this binary: start a cluster in a folder and print how that ended.
const TRY: &str = "--try-to-start";
/// Another: hold a cluster and say when it is up.
const HOLD: &str = "--hold";

fn main() -> ExitCode {
    cluster::dispatch();
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some(TRY) => return try_to_start(Path::new(&args[2])),
        Some(HOLD) => return hold(Path::new(&args[2]), args[3] == "panic"),
        _ => {}
    }
    let state = tempfile::tempdir().expect("a folder for run folders");
    let arguments = Arguments::from_args();
    let state_dir = state.path().to_path_buf();
    let trial = |name: &str, check: fn(&Path) -> Result<(), Failed>| {
        let state = state_dir.clone();
        Trial::test(name, move || check(&state))
    };
    let trials = vec![
        trial("a_component_that_dies_at_start_is_quoted", dies_at_start),
        trial(
            "a_program_that_cannot_be_started_is_named",
            cannot_be_started,
        ),
        trial(
            "forbidden_user_namespaces_name_the_setting",
            no_user_namespaces,
        ),
        trial(
            "missing_network_namespaces_are_named",
            no_network_namespaces,
        ),
        trial("a_masked_proc_is_named", masked_proc),
        trial("a_file_system_without_overlay_is_named", no_overlay),
        trial("a_folder_of_other_files_is_left_alone", foreign_folder),
        trial("a_panic_leaves_nothing", panic_leaves_nothing),
        trial("kill_9_leaves_a_folder_and_the_next_start_says_so", kill_9),
        trial(
            "detached_clusters_live_side_by_side_and_end_by_name",
            side_by_side,
        ),
        trial("a_cluster_ends_with_the_process_it_was_for", until_exit),
        trial("nodes_change_their_cards_come_and_go", shapes),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn shape(name: &str, gpus: &str, mig: bool) -> NodeShape {
    NodeShape {
        name: name.into(),
        gpus: gpus.parse().expect("cards"),
        mig,
        cut: vec![],
        offer: cluster::Offer::default(),
        driver_gates: Default::default(),
    }
}

fn spec(dir: &Path, programs: Programs) -> ClusterSpec {
    ClusterSpec {
        name: dir
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned(),
        dir: dir.into(),
        nodes: vec![shape("node-1", "1xA100-SXM4-40GB", true)],
        programs,
        features: cluster::Features::default(),
        exe: None,
        image_cache: None,
    }
}

fn runtime() -> Runtime {
    Runtime::new().expect("a runtime")
}

/// Processes whose command line or mounts know this folder.
fn processes(dir: &Path) -> Vec<String> {
    let needle = dir.to_string_lossy().into_owned();
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let pid = entry.file_name().to_string_lossy().into_owned();
        if pid == own || !pid.bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        let read = |file: &str| fs::read(entry.path().join(file)).unwrap_or_default();
        let command = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
        let mounts = String::from_utf8_lossy(&read("mountinfo")).into_owned();
        if command.contains(&needle) || mounts.contains(&needle) {
            found.push(format!("{pid} {command}"));
        }
    }
    found
}

fn nothing_left(dir: &Path) -> Result<(), Failed> {
    eventually("every process and the folder are gone", || {
        let left = processes(dir);
        if !left.is_empty() {
            return Err(format!("still there: {left:#?}"));
        }
        if dir.exists() {
            Err(format!("{} is still there", dir.display()))
        } else {
            Ok(())
        }
    })
}

fn eventually(what: &str, mut look: impl FnMut() -> Result<(), String>) -> Result<(), Failed> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        match look() {
            Ok(()) => return Ok(()),
            Err(seen) if Instant::now() > deadline => return Err(format!("{what}: {seen}").into()),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn ensure(condition: bool, text: impl FnOnce() -> String) -> Result<(), Failed> {
    if condition {
        Ok(())
    } else {
        Err(text().into())
    }
}

fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
    fs::create_dir_all(folder).expect("a folder");
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("an executable script");
    path
}

fn dies_at_start(state: &Path) -> Result<(), Failed> {
    let dir = state.join("dies");
    let broken = script(
        &state.join("bin"),
        "etcd",
        "echo 'no space for dragons' >&2; exit 7",
    );
    let failed = runtime().block_on(Cluster::start(
        spec(&dir, programs()?.with("etcd", broken)),
        &Silent,
    ));
    let Err(error) = failed else {
        return Err("it started without etcd".into());
    };
    let text = error.to_string();
    for part in [
        "etcd ended while starting",
        "exit status 7",
        "no space for dragons",
    ] {
        ensure(text.contains(part), || {
            format!("{part:?} is not in: {text}")
        })?;
    }
    ensure(error.exit_code() == 2, || {
        format!("exit code {}", error.exit_code())
    })?;
    nothing_left(&dir)
}

fn cannot_be_started(state: &Path) -> Result<(), Failed> {
    let dir = state.join("no-program");
    let failed = runtime().block_on(Cluster::start(
        spec(&dir, programs()?.with("etcd", "/no/such/etcd")),
        &Silent,
    ));
    let Err(error) = failed else {
        return Err("it started without etcd".into());
    };
    ensure(error.to_string().contains("/no/such/etcd"), || {
        error.to_string()
    })?;
    nothing_left(&dir)
}

/// Runs this binary's `TRY` below a wrapper that has taken something away, and returns what it said.
fn start_under(state: &Path, name: &str, wrapper: &str) -> Result<String, Failed> {
    let dir = state.join(name);
    let exe = std::env::current_exe()?;
    let output = Command::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            wrapper,
            "sh",
        ])
        .arg(&exe)
        .arg(TRY)
        .arg(&dir)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    ensure(output.status.code() == Some(2), || {
        format!("exit status {:?}: {text}", output.status)
    })?;
    nothing_left(&dir)?;
    Ok(text)
}

fn says(text: &str, parts: &[&str]) -> Result<(), Failed> {
    match parts.iter().find(|p| !text.contains(**p)) {
        None => Ok(()),
        Some(part) => Err(format!("{part:?} is not in: {text}").into()),
    }
}

fn no_user_namespaces(state: &Path) -> Result<(), Failed> {
    let text = start_under(
        state,
        "no-user",
        r#"echo 0 > /proc/sys/user/max_user_namespaces && exec "$@""#,
    )?;
    says(
        &text,
        &[
            "user namespace is forbidden",
            "user.max_user_namespaces is 0",
            "sysctl -w user.max_user_namespaces",
        ],
    )
}

fn no_network_namespaces(state: &Path) -> Result<(), Failed> {
    let text = start_under(
        state,
        "no-net",
        r#"echo 0 > /proc/sys/user/max_net_namespaces && exec "$@""#,
    )?;
    says(&text, &["network namespace", "user.max_net_namespaces"])
}

fn masked_proc(state: &Path) -> Result<(), Failed> {
    // As container runtimes do: something lies over a part of /proc.
    let text = start_under(
        state,
        "masked",
        r#"mount -t tmpfs none /proc/irq && exec "$@""#,
    )?;
    says(&text, &["mounting /proc", "systempaths=unconfined"])
}

fn no_overlay(state: &Path) -> Result<(), Failed> {
    // An overlay cannot be the upper layer of another.
    let at = state.join("no-overlay");
    fs::create_dir_all(&at)?;
    let wrapper = format!(
        r#"cd {} && mkdir -p l u w m && mount -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w,userxattr m && exec "$1" "$2" "$PWD/m/run""#,
        at.display()
    );
    let text = start_under(state, "no-overlay/m/run", &wrapper)?;
    says(&text, &["overlayfs cannot be mounted", "ext4"])
}

fn foreign_folder(state: &Path) -> Result<(), Failed> {
    let dir = state.join("mine");
    fs::create_dir_all(&dir)?;
    fs::write(dir.join("thesis.tex"), "precious")?;
    let failed = runtime().block_on(Cluster::start(spec(&dir, programs()?), &Silent));
    ensure(matches!(failed, Err(Error::Spec { .. })), || {
        format!("{failed:?}")
    })?;
    ensure(
        fs::read_to_string(dir.join("thesis.tex"))? == "precious",
        || "it is gone".into(),
    )
}

fn try_to_start(dir: &Path) -> ExitCode {
    let programs = programs().expect("programs");
    let result = runtime().block_on(Cluster::start(spec(dir, programs), &Silent));
    match result {
        Ok(_) => {
            println!("it started");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{error}");
            ExitCode::from(error.exit_code() as u8)
        }
    }
}

/// Starts a cluster, says so, and then panics or waits to be killed.
fn hold(dir: &Path, panics: bool) -> ExitCode {
    let runtime = runtime();
    let programs = programs().expect("programs");
    let running = runtime
        .block_on(Cluster::start(spec(dir, programs), &Silent))
        .expect("a cluster");
    println!("up");
    std::io::stdout().flush().expect("stdout");
    if panics {
        panic!("on purpose, with {running:?} in hand");
    }
    loop {
        std::thread::park();
    }
}

fn held(dir: &Path, how: &str) -> Result<std::process::Child, Failed> {
    use std::io::BufRead;
    let mut child = Command::new(std::env::current_exe()?)
        .args([HOLD, &dir.to_string_lossy(), how])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        std::io::BufReader::new(out).read_line(&mut line)?;
    }
    ensure(line.trim() == "up", || format!("it said {line:?}"))?;
    Ok(child)
}

fn panic_leaves_nothing(state: &Path) -> Result<(), Failed> {
    let dir = state.join("panic");
    held(&dir, "panic")?.wait()?;
    nothing_left(&dir)
}

fn kill_9(state: &Path) -> Result<(), Failed> {
    let dir = state.join("killed");
    let mut child = held(&dir, "wait")?;
    ensure(!processes(&dir).is_empty(), || {
        "the test does not see the cluster's processes".into()
    })?;
    child.kill()?;
    child.wait()?;
    eventually("every process is gone", || {
        let left = processes(&dir);
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("{left:#?}"))
        }
    })?;
    ensure(dir.exists(), || {
        "there is nothing for the next start to find".into()
    })?;
    let said = Mutex::new(Vec::new());
    let listener = |progress: Progress| said.lock().expect("no panic").push(progress);
    let runtime = runtime();
    let running = runtime.block_on(Cluster::start(spec(&dir, programs()?), &listener))?;
    runtime.block_on(running.stop())?;
    let said = said.into_inner().expect("no panic");
    ensure(
        said.iter().any(|p| matches!(p, Progress::Cleaned { .. })),
        || format!("{said:?}"),
    )?;
    nothing_left(&dir)
}

fn side_by_side(state: &Path) -> Result<(), Failed> {
    let (one, two) = (state.join("one"), state.join("two"));
    let runtime = runtime();
    let (spec_one, spec_two) = (spec(&one, programs()?), spec(&two, programs()?));
    let started = runtime.block_on(async {
        tokio::try_join!(
            supervisor::spawn(spec_one, Until::Signal, &Silent),
            supervisor::spawn(spec_two, Until::Signal, &Silent),
        )
    })?;
    ensure(started == (one.clone(), two.clone()), || {
        format!("{started:?}")
    })?;
    runtime.block_on(async {
        let (a, b) = tokio::try_join!(Cluster::attach(&one), Cluster::attach(&two))?;
        let (a_id, b_id) = (
            a.node("node-1")?.machine()?.id,
            b.node("node-1")?.machine()?.id,
        );
        ensure(a_id != b_id, || "two clusters have the same cards".into())?;
        let again = supervisor::spawn(spec(&one, programs()?), Until::Signal, &Silent).await;
        let text = again.err().map(|e| e.to_string()).unwrap_or_default();
        ensure(text.contains("already running"), || {
            format!("a second cluster of the name: {text:?}")
        })?;
        // Attached only: its end is not the cluster's.
        a.stop().await?;
        b.check().await?;
        Ok::<_, Failed>(())
    })?;
    supervisor::end(&one)?;
    nothing_left(&one)?;
    runtime.block_on(async { Cluster::attach(&two).await?.check().await })?;
    supervisor::end(&two)?;
    nothing_left(&two)
}

fn until_exit(state: &Path) -> Result<(), Failed> {
    // Deeper than a Unix socket's path may be long.
    let dir = state
        .join("deep".repeat(30))
        .join("down".repeat(30))
        .join("until");
    let mut child = Command::new("sleep").arg("1000").spawn()?;
    runtime().block_on(supervisor::spawn(
        spec(&dir, programs()?),
        Until::Exit(child.id()),
        &Silent,
    ))?;
    ensure(dir.exists(), || "it ended too early".into())?;
    child.kill()?;
    child.wait()?;
    nothing_left(&dir)
}

fn shapes(state: &Path) -> Result<(), Failed> {
    let dir = state.join("shapes");
    let runtime = runtime();
    runtime.block_on(async {
        let running = Cluster::start(spec(&dir, programs()?), &Silent).await?;
        let devices = async || -> Result<Vec<String>, Failed> {
            use k8s_openapi::api::resource::v1::ResourceSlice;
            let slices = kube::Api::<ResourceSlice>::all(running.client())
                .list(&Default::default())
                .await?;
            let of = |s: &ResourceSlice| {
                s.spec
                    .devices
                    .iter()
                    .flatten()
                    .map(|d| d.name.clone())
                    .collect::<Vec<_>>()
            };
            Ok(slices.iter().flat_map(of).collect())
        };
        let before = Instant::now();
        running
            .shape(&[shape("node-1", "1xA100-SXM4-40GB", true)], &Silent)
            .await?;
        ensure(before.elapsed() < Duration::from_secs(1), || {
            format!("no change took {:?}", before.elapsed())
        })?;

        let two = [
            shape("node-1", "2xH100-SXM5-80GB", false),
            shape("node-2", "1xL4", false),
        ];
        running.shape(&two, &Silent).await?;
        let names = devices().await?;
        ensure(
            names
                .iter()
                .filter(|n| n.starts_with("gpu-") && !n.contains("mig"))
                .count()
                == 3,
            || format!("{names:?}"),
        )?;
        ensure(names.iter().any(|n| n.contains("1g10gb")), || {
            format!("{names:?}")
        })?;
        let listed = running.node("node-1")?.exec(&["nvidia-smi", "-L"]).await?;
        ensure(listed.stdout.matches("H100").count() == 2, || {
            format!("{listed:?}")
        })?;

        // The kubelet knows the driver again at once.
        let pods = support::Pods::new(&running.client());
        let template = pods.template("1g.10gb").await?;
        pods.create("after-the-change", Some(&template), |_| {})
            .await?;
        let created = Instant::now();
        pods.running("after-the-change").await?;
        ensure(created.elapsed() < Duration::from_secs(15), || {
            format!("a pod right after a change took {:?}", created.elapsed())
        })?;
        pods.delete(&["after-the-change"]).await?;

        running
            .shape(&[shape("node-2", "1xL4", false)], &Silent)
            .await?;
        ensure(devices().await?.len() == 1, || {
            "node-1 is still published".into()
        })?;
        ensure(running.nodes().len() == 1, || {
            "node-1 is still there".into()
        })?;
        running.node("node-2")?.restart_driver().await?;
        running.check().await?;
        running.stop().await?;
        Ok::<_, Failed>(())
    })?;
    nothing_left(&dir)
}
