//! Each rule of the adaptation, on a spec as containerd 2.4 writes it.
use super::*;

fn node() -> Surroundings {
    let device = |major, minor| DeviceNumber {
        kind: DeviceKind::Character,
        major,
        minor,
    };
    Surroundings {
        capabilities: ["CAP_CHOWN", "CAP_KILL"].map(str::to_owned).into(),
        hard_limits: [("RLIMIT_NOFILE".to_owned(), 4096)].into(),
        devices: [
            ("/dev/fuse".into(), device(10, 229)),
            // The node's own /dev shows fake cards as binds of /dev/null.
            ("/dev/nvidia0".into(), device(1, 3)),
            // A partition's, as the store makes it: it does not open.
            ("/dev/nvidia-caps/nvidia-cap21".into(), device(510, 21)),
        ]
        .into(),
        hook: Some("/opt/sliceproof".into()),
    }
}

fn spec() -> Value {
    json!({
        "ociVersion": "1.3.0",
        "process": {
            "args": ["sh"],
            "user": {"uid": 1000, "gid": 1000, "additionalGids": [10, 1000], "umask": 18},
            "capabilities": {"bounding": ["CAP_CHOWN", "CAP_SYS_RESOURCE"], "effective": ["CAP_KILL"], "permitted": ["CAP_MKNOD"]},
            "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 1048576, "soft": 1024}, {"type": "RLIMIT_CORE", "hard": 7, "soft": 7}],
            "oomScoreAdj": 1000, "apparmorProfile": "cri-containerd.apparmor.d", "selinuxLabel": "x", "noNewPrivileges": true,
        },
        "root": {"path": "rootfs"},
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid"]},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=65536k"]},
            {"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": ["nosuid", "newinstance", "mode=0620", "gid=5"]},
            {"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup", "options": ["ro"]},
            {"destination": "/data", "type": "bind", "source": "/host", "options": ["rbind", "gid=5"]},
        ],
        "hooks": {"createContainer": [{"path": "/nvidia-cdi-hook", "args": ["nvidia-cdi-hook", "create-symlinks"]}]},
        "linux": {
            "cgroupsPath": "/k8s.io/abc", "resources": {"memory": {"limit": 1}}, "seccomp": {"defaultAction": "x"}, "mountLabel": "l",
            "sysctl": {"net.ipv4.ping_group_range": "0 2147483647", "net.ipv4.ip_unprivileged_port_start": "0"},
            "devices": [
                {"path": "/dev/fuse", "type": "c", "major": 10, "minor": 229},
                {"path": "/dev/nvidia0", "type": "c", "major": 195, "minor": 0, "fileMode": 438},
                {"path": "/dev/nvidia-caps/nvidia-cap21", "type": "c", "major": 510, "minor": 21},
                {"path": "/dev/nvidia0", "type": "c", "major": 195, "minor": 0},
                {"path": "/dev/sda", "type": "b", "major": 8, "minor": 0},
            ],
            "maskedPaths": ["/proc/kcore"], "readonlyPaths": ["/proc/bus"], "namespaces": [{"type": "pid"}],
        },
        "annotations": {"future.field": "kept"},
    })
}

fn adapted() -> Value {
    adapt(spec(), Path::new("/bundle"), &node())
}

#[test]
fn no_cgroup_is_asked_for() {
    let spec = adapted();
    assert_eq!(spec["linux"]["cgroupsPath"], "");
    assert!(spec["linux"].get("resources").is_none());
    let types: Vec<_> = spec["mounts"]
        .as_array()
        .expect("mounts")
        .iter()
        .map(|m| m["type"].clone())
        .collect();
    assert!(!types.contains(&json!("cgroup")), "{types:?}");
}

#[test]
fn unmapped_ids_go() {
    let spec = adapted();
    assert_eq!(
        spec["process"]["user"],
        json!({"uid": 0, "gid": 0, "umask": 18})
    );
    assert_eq!(
        spec["mounts"][2]["options"],
        json!(["nosuid", "newinstance", "mode=0620"])
    );
    assert_eq!(
        spec["mounts"][3]["options"],
        json!(["rbind", "gid=5"]),
        "a bind's options are nobody's business"
    );
    assert_eq!(
        spec["linux"]["sysctl"],
        json!({"net.ipv4.ip_unprivileged_port_start": "0"})
    );
}

#[test]
fn what_a_user_namespace_cannot_set_goes_and_the_rest_stays() {
    let spec = adapted();
    let process = spec["process"].as_object().expect("an object");
    for gone in ["oomScoreAdj", "apparmorProfile", "selinuxLabel"] {
        assert!(!process.contains_key(gone), "{gone}");
    }
    for gone in ["seccomp", "mountLabel"] {
        assert!(spec["linux"].get(gone).is_none(), "{gone}");
    }
    assert_eq!(process["noNewPrivileges"], true);
    assert_eq!(process["args"], json!(["sh"]));
    for kept in ["maskedPaths", "readonlyPaths", "namespaces"] {
        assert_eq!(spec["linux"][kept], super::tests::spec()["linux"][kept]);
    }
    assert_eq!(spec["annotations"]["future.field"], "kept");
}

#[test]
fn limits_and_capabilities_are_no_higher_than_the_nodes() {
    let process = adapt_process(spec()["process"].take(), &node());
    assert_eq!(
        process["capabilities"],
        json!({"bounding": ["CAP_CHOWN"], "effective": ["CAP_KILL"], "permitted": []})
    );
    assert_eq!(
        process["rlimits"][0],
        json!({"type": "RLIMIT_NOFILE", "hard": 4096, "soft": 1024})
    );
    assert_eq!(
        process["rlimits"][1],
        json!({"type": "RLIMIT_CORE", "hard": 7, "soft": 7}),
        "an unknown limit is left alone"
    );
}

#[test]
fn fake_devices_become_binds_of_dev_null_once_each_after_dev() {
    let spec = adapted();
    let kept: Vec<_> = spec["linux"]["devices"]
        .as_array()
        .expect("devices")
        .iter()
        .map(|d| d["path"].clone())
        .collect();
    assert_eq!(kept, ["/dev/fuse", "/dev/sda"]);
    let mounts = spec["mounts"].as_array().expect("mounts");
    let null = |path| json!({"destination": path, "type": "bind", "source": "/dev/null", "options": ["bind"]});
    assert_eq!(
        mounts[4..],
        [null("/dev/nvidia0"), null("/dev/nvidia-caps/nvidia-cap21")]
    );
}

#[test]
fn our_hook_runs_before_nvidias() {
    let hooks = &adapted()["hooks"]["createContainer"];
    assert_eq!(
        hooks[0]["args"],
        json!(["/opt/sliceproof", "__container-hook", "/bundle/rootfs"])
    );
    assert_eq!(hooks[1]["path"], "/nvidia-cdi-hook");
    for without in [
        json!({"root": {"path": "/abs"}}),
        json!({"root": {"path": "/abs"}, "hooks": null}),
    ] {
        let spec = adapt(without, Path::new("/bundle"), &node());
        assert_eq!(spec["hooks"]["createContainer"][0]["args"][2], "/abs");
    }
    let no_hook = Surroundings {
        hook: None,
        ..node()
    };
    assert_eq!(
        adapt(spec(), Path::new("/b"), &no_hook)["hooks"],
        spec()["hooks"]
    );
}

#[test]
fn adapting_twice_changes_nothing_more_but_the_hook() {
    let node = Surroundings {
        hook: None,
        ..node()
    };
    let once = adapt(spec(), Path::new("/b"), &node);
    assert_eq!(adapt(once.clone(), Path::new("/b"), &node), once);
}

#[test]
fn odd_specs_pass() {
    for odd in [
        json!({}),
        json!({"linux": null, "process": null}),
        json!({"process": {"user": 3, "rlimits": {}}}),
    ] {
        let _ = adapt(odd, Path::new("/b"), &node());
    }
    assert_eq!(device_paths(&spec()).len(), 5);
    assert!(device_paths(&json!({})).is_empty());
}
