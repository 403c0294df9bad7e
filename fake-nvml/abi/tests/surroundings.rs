//! What the library takes from its surroundings: where the state lies, which device nodes are there, what it prints.
#![allow(unsafe_code, reason = "the binding's functions are C functions")]

mod support;

use std::path::Path;
use std::process::{Command, Output};

use gpu_model::caps;
use nvml_wrapper_sys::bindings::*;
use support::{Node, ask, call};

const DRIVER_NOT_LOADED: u32 = 9;
const GPU_NOT_FOUND: u32 = 28;

/// Runs `as_a_client` in a process of its own, which tells the codes of init with and without NO_GPUS, then what it sees.
fn client(library: &Path, envs: &[(&str, &Path)]) -> Output {
    let mut client = Command::new(std::env::current_exe().expect("the test's own path"));
    client
        .args(["--exact", "as_a_client", "--ignored", "--nocapture"])
        .env("NVML_TEST_LIBRARY", library);
    client
        .env_remove("FAKEGPU_VISIBLE")
        .env_remove(gpu_store::STATE_ENV)
        .envs(envs.iter().copied());
    client.output().expect("the test runs again")
}

fn told(output: &Output) -> String {
    let all = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{all}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let told = all
        .lines()
        .filter_map(|line| line.split_once("TOLD ").map(|(_, told)| told));
    told.collect::<Vec<_>>().join("; ")
}

#[test]
#[ignore = "run by the others"]
fn as_a_client() {
    let library = std::env::var_os("NVML_TEST_LIBRARY").expect("run by another test");
    if let Some(nodes) = std::env::var_os("NVML_TEST_NODES") {
        fake_dev(&nodes.to_string_lossy());
    }
    // SAFETY: the library's constructors do nothing.
    let nvml = unsafe { NvmlLib::new(&library) }.expect("the library loads");
    let init = call!(nvml, nvmlInit_v2());
    println!("TOLD {init} {}", call!(nvml, nvmlInitWithFlags(1)));
    for index in 0..ask!(nvml, nvmlDeviceGetCount_v2() -> u32).unwrap_or(0) {
        let device =
            ask!(nvml, nvmlDeviceGetHandleByIndex_v2(index) -> nvmlDevice_t).expect("a GPU");
        let minor = ask!(nvml, nvmlDeviceGetMinorNumber(device) -> u32).expect("a minor");
        let migs: Vec<_> = (0..7)
            .filter_map(|place| {
                ask!(nvml, nvmlDeviceGetMigDeviceHandleByIndex(device, place) -> nvmlDevice_t).ok()
            })
            .map(|mig| ask!(nvml, nvmlDeviceGetGpuInstanceId(mig) -> u32).expect("an id"))
            .collect();
        println!("TOLD {index}: nvidia{minor} {migs:?}");
    }
}

/// Gives this process a /dev with these nodes alone: binds of /dev/null, as an ordinary user has them.
fn fake_dev(nodes: &str) {
    let mount = |from: &str, to: &str, kind: &str, flags| {
        let text = |text: &str| std::ffi::CString::new(text).expect("no NUL");
        let (from, to, kind) = (text(from), text(to), text(kind));
        // SAFETY: C strings that live during the call.
        let done = unsafe {
            libc::mount(
                from.as_ptr(),
                to.as_ptr(),
                kind.as_ptr(),
                flags,
                std::ptr::null(),
            )
        };
        assert_eq!(done, 0, "{to:?}: {}", std::io::Error::last_os_error());
    };
    // SAFETY: a number; the mounts of this thread become its own.
    let unshared = unsafe { libc::unshare(libc::CLONE_NEWNS) };
    assert_eq!(unshared, 0, "{}", std::io::Error::last_os_error());
    mount("none", "/", "", libc::MS_REC | libc::MS_PRIVATE);
    let real_null = std::env::temp_dir().join(format!("null-{}", std::process::id()));
    std::fs::write(&real_null, "").expect("a place for /dev/null");
    let real_null = real_null.to_str().expect("UTF-8");
    mount("/dev/null", real_null, "", libc::MS_BIND);
    mount("tmpfs", "/dev", "tmpfs", 0);
    std::fs::create_dir("/dev/nvidia-caps").expect("a folder");
    for node in nodes.split(',').filter(|node| !node.is_empty()) {
        // A name with a question mark is a plain file: no device.
        let (name, device) = node
            .strip_suffix('?')
            .map_or((node, true), |name| (name, false));
        std::fs::write(format!("/dev/{name}"), "").expect("a node");
        if device {
            mount(real_null, &format!("/dev/{name}"), "", libc::MS_BIND);
        }
    }
    // SAFETY: a C string that lives during the call.
    unsafe {
        libc::umount2(
            std::ffi::CString::new(real_null).expect("no NUL").as_ptr(),
            libc::MNT_DETACH,
        )
    };
    let _ = std::fs::remove_file(real_null);
}

#[test]
fn the_state_is_named_by_the_environment_or_lies_beside_the_library() {
    let (one, two) = (Node::new("1xL4"), Node::new("2xL4"));
    let all = ("FAKEGPU_VISIBLE", Path::new("all"));
    assert_eq!(told(&client(&one.library(), &[all])), "0 0; 0: nvidia0 []");
    assert_eq!(
        told(&client(
            &one.library(),
            &[all, (gpu_store::STATE_ENV, two.store().path())]
        )),
        "0 0; 0: nvidia0 []; 1: nvidia1 []"
    );
    // A link to the library elsewhere: the state lies beside the file itself.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let link = elsewhere.path().join("libnvidia-ml.so.1");
    std::os::unix::fs::symlink(two.library(), &link).expect("a link");
    assert_eq!(
        told(&client(&link, &[all])),
        "0 0; 0: nvidia0 []; 1: nvidia1 []"
    );
    let alone = elsewhere.path().join("libnvidia-ml.so");
    std::fs::copy(one.library(), &alone).expect("a copy");
    let none = format!("{DRIVER_NOT_LOADED} {DRIVER_NOT_LOADED}");
    assert_eq!(told(&client(&alone, &[all])), none);
    assert_eq!(
        told(&client(
            &one.library(),
            &[all, (gpu_store::STATE_ENV, &elsewhere.path().join("none"))]
        )),
        none
    );
}

#[test]
fn only_what_has_device_nodes_is_seen() {
    let node = Node::mig("2xA100-SXM4-40GB");
    let nvml = node.init();
    for _ in 0..3 {
        let gi = ask!(nvml, nvmlDeviceCreateGpuInstance(nvml.device(1), 19) -> nvmlGpuInstance_t)
            .expect("a GPU instance");
        ask!(nvml, nvmlGpuInstanceCreateComputeInstance(gi, 0) -> nvmlComputeInstance_t)
            .expect("a compute instance");
    }
    let machine = node.machine();
    let gpu = &machine.gpus[1];
    let ids: Vec<_> = gpu.instances.iter().map(|gi| gi.id.0).collect();
    let [first, middle, last] = ids.as_slice() else {
        panic!("three instances")
    };
    let cap = |minor: gpu_model::Minor| format!("nvidia-caps/nvidia-cap{minor}");
    let gi = cap(caps::gi(gpu.minor, gpu.instances[1].id));
    let ci = cap(caps::ci(gpu.minor, gpu.instances[1].id, gpu_model::CiId(0)));
    let sees = |nodes: &str| {
        told(&client(
            &node.library(),
            &[("NVML_TEST_NODES", Path::new(nodes))],
        ))
    };

    assert_eq!(
        sees(""),
        format!("{GPU_NOT_FOUND} 0"),
        "no GPU is an error unless the caller can do without"
    );
    assert_eq!(sees("nvidia0"), "0 0; 0: nvidia0 []");
    assert_eq!(
        sees("nvidia0?,nvidia1"),
        "0 0; 0: nvidia1 []",
        "a plain file is no device, and the index counts what is seen"
    );
    assert_eq!(
        sees(&format!("nvidia1,{gi},{ci}")),
        format!("0 0; 0: nvidia1 [{middle}]"),
        "a container with a partition"
    );
    assert_eq!(
        sees(&format!("nvidia1,{gi}")),
        "0 0; 0: nvidia1 []",
        "it takes both nodes"
    );
    for all in [caps::CONFIG, caps::MONITOR] {
        let everything = format!("0 0; 0: nvidia0 []; 1: nvidia1 [{first}, {middle}, {last}]");
        assert_eq!(
            sees(&format!("nvidia0,nvidia1,{}", cap(all))),
            everything,
            "the node itself"
        );
    }
}

#[test]
fn nothing_is_printed() {
    let node = Node::new("1xL4");
    let library = node.library();
    // From here on this process must not read the state: it has mapped what is cut off now.
    std::fs::write(node.store().path(), "no state").expect("written");
    let output = client(&library, &[]);
    let ours = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let harness = [
            "TOLD",
            "running 1 test",
            "test as_a_client ... ",
            "test result: ",
            "ok",
        ];
        text.lines()
            .filter(|line| !line.is_empty() && !harness.iter().any(|known| line.starts_with(known)))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (ours(&output.stdout), ours(&output.stderr)),
        (vec![], vec![])
    );
}
