//! The container hook and the wrapper's killing, in namespaces of their own, with a stand-in for a container's root.
//! A program of its own, because only a process with one thread may enter a user namespace.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use cluster::oci;
use libtest_mimic::{Arguments, Failed, Trial};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

const HOOK: &str = "__test-hook";
const KILL: &str = "__test-kill";
const SLEEPER: &str = "__test-sleeper";

fn main() -> ExitCode {
    cluster::dispatch();
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, folder] = &arguments[..] {
        let role: Option<fn(&Path)> = match role.as_str() {
            HOOK => Some(hook),
            KILL => Some(killed),
            SLEEPER => Some(sleeper),
            _ => None,
        };
        if let Some(role) = role {
            role(Path::new(folder));
            return ExitCode::SUCCESS;
        }
    }
    let trials = vec![
        Trial::test(
            "a_container_sees_the_nodes_files_and_cannot_write_them",
            || in_namespaces(HOOK),
        ),
        Trial::test(
            "kill_takes_what_has_the_containers_root_and_nothing_else",
            || in_namespaces(KILL),
        ),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn in_namespaces(role: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let output = Command::new(std::env::current_exe()?)
        .arg(role)
        .arg(folder.path())
        .output()?;
    if !output.status.success() {
        return Err(format!(
            "{}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )
        .into());
    }
    Ok(())
}

fn killed(folder: &Path) {
    enter_namespaces();
    let root = folder.join("bundle/rootfs");
    fs::create_dir_all(&root).expect("made");
    mount(
        Some("tmpfs"),
        &root,
        Some("tmpfs"),
        MsFlags::empty(),
        None::<&str>,
    )
    .expect("mounted");
    let state = |own_pids: bool| {
        let shared = if own_pids { "" } else { "/proc/1/ns/pid" };
        let state = serde_json::json!({"config": {
            "rootfs": root, "namespaces": [{"type": "NEWPID", "path": shared}],
        }});
        fs::create_dir_all(folder.join("c1")).expect("made");
        fs::write(folder.join("c1/state.json"), state.to_string()).expect("written");
    };
    let program = std::env::current_exe().expect("this program");
    let wrapper = oci::install(folder, Path::new("/bin/true"), &program, None).expect("laid");
    let kill = |signal: &str| {
        let call = ["kill", "--all", "c1", signal];
        let done = Command::new(&wrapper)
            .arg("--root")
            .arg(folder)
            .args(call)
            .status();
        assert!(done.expect("started").success());
    };
    let (mut inside, mut other) = (start_sleeper(&root), start_sleeper(Path::new("/")));
    let alive = |child: &mut Child| child.try_wait().expect("waited").is_none();

    state(false);
    kill("15");
    assert!(alive(&mut inside), "only SIGKILL is ours");
    state(true);
    kill("9");
    assert!(
        alive(&mut inside),
        "the kernel kills what is in a PID namespace of its own"
    );
    state(false);
    kill("9");
    let status = inside.wait().expect("waited");
    assert!(status.to_string().contains("9"), "{status}");
    std::thread::sleep(Duration::from_millis(50));
    assert!(alive(&mut other), "a process of another root was killed");
    other.kill().expect("killed");
    other.wait().expect("waited");
}

/// A process with this root, when it has it.
fn start_sleeper(root: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .arg(SLEEPER)
        .arg(root)
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut ready = [0];
    child
        .stdout
        .as_mut()
        .expect("piped")
        .read_exact(&mut ready)
        .expect("ready");
    child
}

fn sleeper(root: &Path) {
    nix::unistd::chroot(root).expect("chroot");
    print!("1");
    std::io::Write::flush(&mut std::io::stdout()).expect("written");
    std::thread::sleep(Duration::from_secs(30));
}

fn hook(folder: &Path) {
    enter_namespaces();
    let node = folder.join("node");
    let root = folder.join("rootfs");
    // The node covers /proc/driver and /proc/devices, and neither /proc/modules nor /sys/bus/pci/devices.
    lay(&node, &["driver/nvidia/version", "devices"], "fake");
    bind(&node.join("driver"), Path::new("/proc/driver"));
    bind(&node.join("devices"), Path::new("/proc/devices"));
    lay(
        &root,
        &[
            "proc/driver/rtc",
            "proc/devices",
            "proc/modules",
            "sys/bus/pci/devices/own",
        ],
        "kernel",
    );

    let call: Vec<OsString> = vec!["sliceproof".into(), oci::HOOK.into(), root.clone().into()];
    assert_eq!(oci::hook_main(&call), 0);

    let read = |path: &str| {
        fs::read_to_string(root.join(path)).unwrap_or_else(|error| format!("{path}: {error}"))
    };
    assert_eq!(read("proc/driver/nvidia/version"), "fake");
    assert_eq!(read("proc/devices"), "fake");
    assert_eq!(read("proc/modules"), "kernel");
    assert_eq!(read("sys/bus/pci/devices/own"), "kernel");
    // What the driver writes later shows at once; what the container writes is refused.
    lay(
        &node,
        &["driver/nvidia/capabilities/gpu0/mig/gi1/access"],
        "later",
    );
    assert_eq!(
        read("proc/driver/nvidia/capabilities/gpu0/mig/gi1/access"),
        "later"
    );
    for path in ["proc/driver/nvidia/version", "proc/devices"] {
        let refused = fs::write(root.join(path), "broken").expect_err("writable");
        assert_eq!(
            refused.raw_os_error(),
            Some(nix::errno::Errno::EROFS as i32),
            "{path}"
        );
    }
    // A root without /proc (an image may be as bare as that) is left alone.
    assert_eq!(
        oci::hook_main(&[call[0].clone(), call[1].clone(), folder.join("bare").into()]),
        0
    );
}

/// A user namespace in which this process is 0, so that the test runs as any user, and a private mount namespace.
fn enter_namespaces() {
    let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS).expect("namespaces");
    for (file, text) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("0 {uid} 1")),
        ("gid_map", format!("0 {gid} 1")),
    ] {
        fs::write(format!("/proc/self/{file}"), text).expect(file);
    }
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, "/", None::<&str>, private, None::<&str>).expect("private");
}

fn lay(below: &Path, files: &[&str], text: &str) {
    for file in files.iter().map(|file| below.join(file)) {
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        fs::write(file, text).expect("written");
    }
}

fn bind(from: &Path, to: &Path) {
    mount(Some(from), to, None::<&str>, MsFlags::MS_BIND, None::<&str>).expect("bound");
}
