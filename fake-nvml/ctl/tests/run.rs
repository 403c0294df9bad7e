//! `fakegpu run`: programs see the GPUs, as root and as an ordinary user, and nothing is left.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Ended, User, fakegpu, good, open_folder, shell, users};

const TWO: &[&str] = &["--node", "2xA100-SXM4-40GB"];

#[test]
fn nvidia_smi_lists_the_gpus() {
    for user in users() {
        let text = good(
            &fakegpu(
                user,
                &[
                    "run",
                    "--node",
                    "2xA100-SXM4-40GB,1xL4",
                    "--",
                    "nvidia-smi",
                    "-L",
                ],
            )
            .output()
            .unwrap(),
        );
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{user:?}: {text}");
        assert!(
            lines[0].starts_with("GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-"),
            "{text}"
        );
        assert!(
            lines[2].starts_with("GPU 2: NVIDIA L4 (UUID: GPU-"),
            "{text}"
        );
    }
}

#[test]
fn the_host_around_the_gpus_is_there() {
    let line = "
ls -l /dev/nvidia0 /dev/nvidia1 /dev/nvidiactl /dev/nvidia-uvm /dev/nvidia-caps/nvidia-cap1 | cut -c1 | tr -d '\\n'; echo
[ -e /dev/nvidia2 ] && echo there is a third
echo kept > /dev/null && ls -d /dev/shm /dev/pts /dev/zero | tr '\\n' ' '; echo
grep -c ' nvidia-caps$' /proc/devices
cat /sys/bus/pci/devices/0000:07:00.0/vendor /sys/bus/pci/devices/0000:07:00.0/device /sys/bus/pci/devices/0000:07:00.0/numa_node
basename $(readlink -f /sys/bus/pci/devices/0000:07:00.0/driver)
readlink /sys/bus/pci/devices/0000:07:00.0 | grep -c '^../../../devices/pci0000:.*/0000:07:00.0$'
ls /proc/driver/nvidia/gpus
grep 'Device Minor' /proc/driver/nvidia/gpus/0000:0f:00.0/information
grep -c . /proc/driver/nvidia-caps/mig-minors
grep 'gpu6/gi11/ci5/' /proc/driver/nvidia-caps/mig-minors
";
    for user in users() {
        let text = good(&shell(user, TWO, line));
        let expected = format!(
            "ccccc\n/dev/pts /dev/shm /dev/zero \n1\n0x10de\n0x20b0\n0\nnvidia\n1\n0000:07:00.0\n0000:0f:00.0\nDevice Minor: \t 1\n{}\ngpu6/gi11/ci5/access 918\n",
            2 + 32 * 15 * 9
        );
        assert_eq!(text, expected, "{user:?}");
    }
}

#[test]
fn what_the_host_has_is_still_there() {
    let names = |path: &str| -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(path)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|e| e.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    };
    for user in users() {
        for path in [
            "/dev",
            "/sys/devices",
            "/sys/bus/pci/devices",
            "/proc/driver",
        ] {
            let inside = good(&shell(user, TWO, &format!("ls -A {path}")));
            for name in names(path) {
                assert!(
                    inside.lines().any(|l| l == name),
                    "{user:?}: {path}/{name} is gone"
                );
            }
        }
        assert_eq!(
            good(&shell(user, TWO, "cat /sys/devices/system/cpu/online")),
            fs::read_to_string("/sys/devices/system/cpu/online").unwrap()
        );
    }
}

#[test]
fn the_program_ends_as_it_would_alone() {
    for user in users() {
        assert_eq!(shell(user, TWO, "exit 42").status.code(), Some(42));
        assert_eq!(shell(user, TWO, "kill -TERM $$").status.signal(), Some(15));
        let missing = fakegpu(user, &["run", "--node", "1xL4", "--", "no-such-program"])
            .output()
            .unwrap();
        assert_eq!(missing.status.code(), Some(127));
        assert!(
            String::from_utf8_lossy(&missing.stderr).contains("cannot run no-such-program"),
            "{missing:?}"
        );
    }
}

#[test]
fn an_ordinary_user_is_root_inside_unless_told_otherwise() {
    let Some(user) = users().into_iter().next_back() else {
        return;
    };
    assert_eq!(
        good(&shell(user, TWO, "id -u; nvidia-smi -i 0 -c PROHIBITED")),
        "0\nSet compute mode to PROHIBITED for GPU 00000000:07:00.0.\nAll done.\n"
    );
    if user == User::Nobody {
        let output = shell(
            user,
            &["--node", "1xL4", "--keep-user"],
            "id -u; nvidia-smi -c PROHIBITED",
        );
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            text.starts_with("65534\nUnable to set the compute mode"),
            "{text}"
        );
    }
}

/// Mounts of this process and entries of the folder for temporary files.
fn traces() -> (String, Vec<String>) {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let mut names: Vec<_> = fs::read_dir(std::env::temp_dir())
        .unwrap()
        .flatten()
        .filter_map(|e| e.file_name().into_string().ok())
        .filter(|n| n.contains("fakegpu"))
        .collect();
    names.sort();
    (mounts, names)
}

#[test]
fn nothing_is_left_even_when_it_is_killed() {
    for user in users() {
        let before = traces();
        let mut child = Ended(
            fakegpu(
                user,
                &["run", "--node", "2xA100-SXM4-40GB", "--", "sleep", "600"],
            )
            .stdout(Stdio::null())
            .spawn()
            .unwrap(),
        );
        // It has become the program itself: there is no second process that could be left.
        let deadline = Instant::now() + Duration::from_secs(20);
        while fs::read_to_string(format!("/proc/{}/comm", child.0.id()))
            .unwrap()
            .trim()
            != "sleep"
        {
            assert!(Instant::now() < deadline, "it never became the program");
            sleep(Duration::from_millis(5));
        }
        // Made where the kernel allows it, a bind where not: there in both cases.
        let inside = fs::read_to_string(format!("/proc/{}/mounts", child.0.id())).unwrap();
        let device = format!("/proc/{}/root/dev/nvidia0", child.0.id());
        assert!(fs::symlink_metadata(device).is_ok(), "{inside}");
        child.0.kill().unwrap();
        assert_eq!(child.0.wait().unwrap().signal(), Some(9));
        assert_eq!(traces(), before, "{user:?}");
    }
}

#[test]
fn a_kept_machine_is_shared_and_changes_are_seen_at_once() {
    for user in users() {
        let folder = open_folder();
        let dir = folder.path().join("node");
        let dir = dir.to_str().unwrap();
        good(
            &fakegpu(user, &["create", "--node", "1xH100-SXM5-80GB", dir])
                .output()
                .unwrap(),
        );
        good(&shell(
            user,
            &["--state", dir],
            "nvidia-smi -mig 1 && nvidia-smi mig -cgi 9 -C",
        ));
        // Another run sees the partition, its capability file and its nodes.
        let text = good(&shell(
            user,
            &["--state", dir],
            "nvidia-smi -L | wc -l; ls /proc/driver/nvidia/capabilities/gpu0/mig/gi*/ci0/access | wc -l
            cd /dev/nvidia-caps; for cap in *; do test -c $cap && echo $cap; done",
        ));
        let (files, nodes) = text.split_at(4);
        assert_eq!(files, "2\n1\n", "{user:?}");
        let nodes: Vec<&str> = nodes.lines().collect();
        assert!(
            nodes.len() == 4 && nodes.contains(&"nvidia-cap2"),
            "{user:?}: {nodes:?}"
        );
        // Without a partition they are gone, also where a run is in the middle.
        let text = good(&shell(
            user,
            &["--state", dir],
            "nvidia-smi mig -dci >/dev/null && nvidia-smi mig -dgi >/dev/null && ls /dev/nvidia-caps && nvidia-smi mig -cgi 9 -C >/dev/null",
        ));
        assert_eq!(text, "nvidia-cap1\nnvidia-cap2\n", "{user:?}");
        good(
            &fakegpu(user, &["inject", "--state", dir, "lost"])
                .output()
                .unwrap(),
        );
        let lost = shell(user, &["--state", dir], "nvidia-smi -L");
        assert_eq!(lost.status.code(), Some(15), "{lost:?}");
        assert!(
            String::from_utf8_lossy(&lost.stdout).contains("GPU0: GPU is lost"),
            "{lost:?}"
        );
        let shown = good(&fakegpu(user, &["show", dir]).output().unwrap());
        assert!(
            shown.contains("lost: it fell off the bus") && shown.contains("3g.40gb"),
            "{shown}"
        );
        let json = good(&fakegpu(user, &["show", "--json", dir]).output().unwrap());
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            json["gpus"][0]["mig"]["gpu_instances"][0]["compute_instances"][0]["profile"],
            "3g.40gb"
        );
    }
}

#[test]
fn a_machine_can_be_shown_and_changed_from_inside() {
    let program = common::program().to_str().unwrap();
    for user in users() {
        let line = format!(
            "{program} inject mig on && {program} show && nvidia-smi --query-gpu=mig.mode.current --format=csv,noheader"
        );
        let text = good(&shell(user, &["--node", "1xH100-SXM5-80GB"], &line));
        assert!(
            text.contains("MIG Enabled") && text.ends_with("\nEnabled\n"),
            "{user:?}: {text}"
        );
    }
}

/// The driver's init container runs nvidia-smi so: without an environment, the library preloaded, no namespace of ours.
#[test]
fn a_driver_root_works_by_itself() {
    let folder = open_folder();
    let dir = folder.path().join("node");
    good(
        &fakegpu(
            User::Me,
            &["create", "--node", "1xL4", dir.to_str().unwrap()],
        )
        .output()
        .unwrap(),
    );
    let root = dir.join("driver-root/usr");
    let library = fs::read_dir(root.join("lib"))
        .unwrap()
        .flatten()
        .next()
        .unwrap()
        .path()
        .join("libnvidia-ml.so.1");
    for preload in [true, false] {
        let mut smi = Command::new(root.join("bin/nvidia-smi"));
        smi.arg("--version").env_clear();
        if preload {
            smi.env("LD_PRELOAD", &library);
        }
        assert!(
            good(&smi.output().unwrap()).starts_with("NVIDIA-SMI version  : 580.95.05\n"),
            "preload {preload}"
        );
    }
}

/// The kernel lays two folders over another, not three: the third level finds the library by variables instead.
#[test]
fn where_no_folder_can_be_laid_over_another_variables_lead_to_the_library() {
    let program = common::program().to_str().unwrap();
    for user in users() {
        let mut args = vec![
            "run", "--node", "1xL4", "--", program, "run", "--node", "2xL4", "--", program,
        ];
        args.extend([
            "run",
            "--node",
            "3xL4",
            "--",
            "sh",
            "-c",
            "nvidia-smi -L | wc -l; echo $LD_LIBRARY_PATH | cut -d: -f1",
        ]);
        let text = good(&fakegpu(user, &args).output().unwrap());
        let (count, variable) = text.split_once('\n').unwrap();
        assert_eq!(count, "3", "{user:?}: {text}");
        assert!(
            variable.starts_with("/dev/.fakegpu/driver-root/usr/lib/"),
            "{user:?}: {text}"
        );
    }
}
