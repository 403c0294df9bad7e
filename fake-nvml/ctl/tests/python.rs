//! Programs in Python among fake GPUs, as root and as an ordinary user.
//! Reported as ignored, with the reason, where there is no Python to run them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};

use common::{Ended, fakegpu, good, open_folder, users};
use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let python = python();
    let trial = |name: &str, needs_pip: bool, test: fn(&str)| {
        let missing = match python {
            None => Some("there is no python3"),
            Some(_) if needs_pip && !runs("python3", &["-m", "pip", "--version"]) => {
                Some("python3 has no pip")
            }
            Some(_) => None,
        };
        let name = match missing {
            None => name.to_owned(),
            Some(why) => format!("{name} (not run: {why})"),
        };
        let python = python.unwrap_or("python3");
        Trial::test(name, move || {
            test(python);
            Ok(())
        })
        .with_ignored_flag(missing.is_some())
    };
    let trials = vec![
        trial(
            "python_finds_the_library_even_without_an_environment",
            false,
            python_finds_the_library_even_without_an_environment,
        ),
        trial(
            "pynvml_sees_and_changes_the_gpus",
            true,
            pynvml_sees_and_changes_the_gpus,
        ),
        trial(
            "what_is_injected_reaches_running_programs",
            false,
            what_is_injected_reaches_running_programs,
        ),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .output()
        .is_ok_and(|output| output.status.success())
}

/// The system's Python: one in root's home is no use to another user.
fn python() -> Option<&'static str> {
    ["/usr/bin/python3", "python3"]
        .into_iter()
        .find(|p| runs(p, &["--version"]))
}

fn python_finds_the_library_even_without_an_environment(python: &str) {
    let code = "import ctypes; l = ctypes.CDLL('libnvidia-ml.so.1'); n = ctypes.c_uint(); \
                assert l.nvmlInit_v2() == 0; l.nvmlDeviceGetCount_v2(ctypes.byref(n)); print(n.value)";
    for user in users() {
        let output = fakegpu(
            user,
            &[
                "run",
                "--node",
                "2xA100-SXM4-40GB",
                "--",
                "env",
                "-i",
                python,
                "-c",
                code,
            ],
        )
        .output()
        .unwrap();
        assert_eq!(good(&output), "2\n", "{user:?}");
    }
}

fn pynvml_sees_and_changes_the_gpus(python: &str) {
    let folder = std::env::var_os("CARGO_TARGET_TMPDIR")
        .map_or_else(
            || env!("CARGO_TARGET_TMPDIR").into(),
            std::path::PathBuf::from,
        )
        .join("pynvml");
    if !folder.join("pynvml.py").exists() {
        let pip = Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"])
            .arg(&folder)
            .arg("nvidia-ml-py==13.615.71")
            .output()
            .unwrap();
        assert!(pip.status.success(), "{pip:?}");
    }
    // Where every user can read it.
    let shared = open_folder();
    fs::copy(folder.join("pynvml.py"), shared.path().join("pynvml.py")).unwrap();
    let code = "
import pynvml as n
n.nvmlInit()
handles = [n.nvmlDeviceGetHandleByIndex(i) for i in range(n.nvmlDeviceGetCount())]
print([n.nvmlDeviceGetName(h) for h in handles])
print(n.nvmlDeviceGetMemoryInfo(handles[0]).total >> 20)
print(n.nvmlDeviceSetMigMode(handles[1], 1), n.nvmlDeviceGetMigMode(handles[1]))
profile = n.nvmlDeviceGetGpuInstanceProfileInfo(handles[1], n.NVML_GPU_INSTANCE_PROFILE_3_SLICE)
gi = n.nvmlDeviceCreateGpuInstance(handles[1], profile.id)
ci = n.nvmlGpuInstanceCreateComputeInstance(gi, n.nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, n.NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE, 0).id)
print(n.nvmlDeviceGetName(n.nvmlDeviceGetMigDeviceHandleByIndex(handles[1], 0)))
n.nvmlShutdown()
";
    for user in users() {
        let output = fakegpu(
            user,
            &[
                "run",
                "--node",
                "1xA100-SXM4-40GB,1xH100-SXM5-80GB",
                "--",
                python,
                "-c",
                code,
            ],
        )
        .env("PYTHONPATH", shared.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
        assert_eq!(
            good(&output),
            "['NVIDIA A100-SXM4-40GB', 'NVIDIA H100 80GB HBM3']\n40960\n0 [1, 1]\nNVIDIA H100 80GB HBM3 MIG 3g.40gb\n",
            "{user:?}: {output:?}"
        );
    }
}

/// A program that opened NVML before gets what is injected from outside: the event, and the loss of its GPU.
fn what_is_injected_reaches_running_programs(python: &str) {
    let code = "
import ctypes as c, time
class Event(c.Structure):
    _fields_ = [('device', c.c_void_p), ('type', c.c_uint64), ('data', c.c_uint64), ('gi', c.c_uint), ('ci', c.c_uint)]
l = c.CDLL('libnvidia-ml.so.1')
gpu, events, event, text = c.c_void_p(), c.c_void_p(), Event(), c.create_string_buffer(96)
assert l.nvmlInit_v2() == 0 and l.nvmlDeviceGetHandleByIndex_v2(0, c.byref(gpu)) == 0
assert l.nvmlEventSetCreate(c.byref(events)) == 0
assert l.nvmlDeviceRegisterEvents(gpu, c.c_uint64(8), events) == 0
print('ready', flush=True)
print(l.nvmlEventSetWait_v2(events, c.byref(event), 20000), event.data, flush=True)
end = time.time() + 20
while l.nvmlDeviceGetName(gpu, text, 96) == 0 and time.time() < end: time.sleep(0.01)
print(l.nvmlDeviceGetName(gpu, text, 96), flush=True)
";
    for user in users() {
        let folder = open_folder();
        let dir = folder.path().join("node");
        let dir = dir.to_str().unwrap();
        let mut running = Ended(
            fakegpu(
                user,
                &[
                    "run",
                    "--state",
                    dir,
                    "--node",
                    "1xA100-SXM4-40GB",
                    "--",
                    python,
                    "-c",
                    code,
                ],
            )
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
        );
        let mut lines = BufReader::new(running.0.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        assert_eq!(lines.next().as_deref(), Some("ready"));
        good(
            &fakegpu(user, &["inject", "--state", dir, "xid", "94"])
                .output()
                .unwrap(),
        );
        assert_eq!(lines.next().as_deref(), Some("0 94"));
        good(
            &fakegpu(user, &["inject", "--state", dir, "lost"])
                .output()
                .unwrap(),
        );
        assert_eq!(lines.next().as_deref(), Some("15"));
        assert!(running.0.wait().unwrap().success());
    }
}
