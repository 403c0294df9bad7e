//! The container hook in a mount namespace of its own, with a stand-in for a container's root.
//! A program of its own, because only a process with one thread may enter a user namespace.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use cluster::oci;
use libtest_mimic::{Arguments, Failed, Trial};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

const INSIDE: &str = "__inside";

fn main() -> ExitCode {
    if let Some(folder) = std::env::args()
        .skip_while(|argument| argument != INSIDE)
        .nth(1)
    {
        inside(Path::new(&folder));
        return ExitCode::SUCCESS;
    }
    let trials = vec![Trial::test(
        "a_container_sees_the_nodes_files_and_cannot_write_them",
        outside,
    )];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn outside() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let output = Command::new(std::env::current_exe()?)
        .arg(INSIDE)
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

fn inside(folder: &Path) {
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
