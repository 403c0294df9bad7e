//! How a bundle is fitted to a user namespace in which one id is mapped and no cgroup is ours. Pure.
//!
//! The spec stays an untyped JSON value on purpose: a field that a newer containerd adds passes through unharmed.
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::HOOK;
use super::surroundings::{DeviceKind, DeviceNumber, Surroundings};

/// Fits an OCI runtime spec (`config.json`) to the node. `bundle` is the folder that relative paths start from.
///
/// | what | why |
/// |---|---|
/// | `linux.cgroupsPath` empty, `linux.resources` and the cgroup mount out | no cgroup is delegated to us |
/// | `gid=`/`uid=` options of devpts, mqueue, sysfs, proc and tmpfs out | only id 0 is mapped |
/// | `linux.seccomp`, AppArmor and SELinux labels out | runc is built without libseccomp; profiles cannot be loaded from a user namespace |
/// | `net.ipv4.ping_group_range` out | its groups are not mapped |
/// | fake devices become binds of `/dev/null` | mknod is not allowed; a character device that opens is what NVML's clients need |
/// | our hook first among `createContainer` | NVIDIA's hooks read `/proc/driver/nvidia` in the container |
/// | and all of [`adapt_process`] | |
#[must_use]
pub(super) fn adapt(mut spec: Value, bundle: &Path, node: &Surroundings) -> Value {
    if let Some(process) = spec.get_mut("process") {
        let taken = process.take();
        *process = adapt_process(taken, node);
    }
    let fake = take_fake_devices(&mut spec, node);
    if let Some(linux) = spec.get_mut("linux").and_then(Value::as_object_mut) {
        linux.insert("cgroupsPath".into(), json!(""));
        for name in ["resources", "seccomp", "mountLabel", "intelRdt"] {
            linux.remove(name);
        }
        if let Some(sysctl) = linux.get_mut("sysctl").and_then(Value::as_object_mut) {
            sysctl.remove("net.ipv4.ping_group_range");
        }
    }
    adapt_mounts(&mut spec, fake);
    if let Some(hook) = &node.hook {
        add_hook(&mut spec, bundle, hook);
    }
    spec
}

/// Fits the process of a container, or the one of `exec --process`, to the node: user 0, no further groups, no OOM
/// score, no label that cannot be set, limits and capabilities no higher than those the node has.
#[must_use]
pub(super) fn adapt_process(mut process: Value, node: &Surroundings) -> Value {
    let Some(fields) = process.as_object_mut() else {
        return process;
    };
    for name in [
        "oomScoreAdj",
        "apparmorProfile",
        "selinuxLabel",
        "scheduler",
        "ioPriority",
    ] {
        fields.remove(name);
    }
    if let Some(user) = fields.get_mut("user").and_then(Value::as_object_mut) {
        user.insert("uid".into(), json!(0));
        user.insert("gid".into(), json!(0));
        user.remove("additionalGids");
    }
    if let Some(sets) = fields
        .get_mut("capabilities")
        .and_then(Value::as_object_mut)
    {
        for set in sets.values_mut().filter_map(Value::as_array_mut) {
            set.retain(|name| {
                name.as_str()
                    .is_some_and(|name| node.capabilities.contains(name))
            });
        }
    }
    for limit in fields
        .get_mut("rlimits")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let name = limit.get("type").and_then(Value::as_str);
        let Some(most) = name.and_then(|name| node.hard_limits.get(name)).copied() else {
            continue;
        };
        for bound in ["soft", "hard"] {
            if let Some(value) = limit
                .get_mut(bound)
                .filter(|value| value.as_u64().is_some_and(|value| value > most))
            {
                *value = json!(most);
            }
        }
    }
    process
}

/// The paths of all devices that the spec names, for [`Surroundings::observe`].
pub(super) fn device_paths(spec: &Value) -> Vec<PathBuf> {
    let devices = spec.pointer("/linux/devices").and_then(Value::as_array);
    devices
        .into_iter()
        .flatten()
        .filter_map(|device| Some(device.get("path")?.as_str()?.into()))
        .collect()
}

/// Takes the character devices out of the spec that the node does not really have, and returns their paths.
fn take_fake_devices(spec: &mut Value, node: &Surroundings) -> Vec<String> {
    let mut fake = Vec::new();
    if let Some(devices) = spec
        .pointer_mut("/linux/devices")
        .and_then(Value::as_array_mut)
    {
        devices.retain(|device| {
            let Some((path, wanted)) = character_device(device) else {
                return true;
            };
            // Capability nodes are there, but the store makes them, and those do not open.
            let real = node.devices.get(Path::new(path)) == Some(&wanted)
                && !path.starts_with("/dev/nvidia-caps/");
            if !real && !fake.iter().any(|known| known == path) {
                fake.push(path.to_owned());
            }
            real
        });
    }
    fake
}

fn character_device(device: &Value) -> Option<(&str, DeviceNumber)> {
    matches!(device.get("type")?.as_str()?, "c" | "u").then_some(())?;
    let number = |name| device.get(name).and_then(Value::as_u64).unwrap_or_default();
    let wanted = DeviceNumber {
        kind: DeviceKind::Character,
        major: number("major"),
        minor: number("minor"),
    };
    Some((device.get("path")?.as_str()?, wanted))
}

fn adapt_mounts(spec: &mut Value, fake_devices: Vec<String>) {
    let Some(fields) = spec.as_object_mut() else {
        return;
    };
    let Some(mounts) = fields
        .entry("mounts")
        .or_insert_with(|| json!([]))
        .as_array_mut()
    else {
        return;
    };
    mounts.retain(|mount| {
        !matches!(
            mount.get("type").and_then(Value::as_str),
            Some("cgroup" | "cgroup2")
        )
    });
    for mount in &mut *mounts {
        if !matches!(
            mount.get("type").and_then(Value::as_str),
            Some("devpts" | "mqueue" | "proc" | "sysfs" | "tmpfs")
        ) {
            continue;
        }
        if let Some(options) = mount.get_mut("options").and_then(Value::as_array_mut) {
            options.retain(|option| {
                let option = option.as_str().unwrap_or_default();
                !option.starts_with("gid=") && !option.starts_with("uid=")
            });
        }
    }
    // After the container's own /dev, whose mount comes earlier in the list.
    mounts.extend(fake_devices.into_iter().map(|path| {
        json!({"destination": path, "type": "bind", "source": "/dev/null", "options": ["bind"]})
    }));
}

fn add_hook(spec: &mut Value, bundle: &Path, program: &Path) {
    let Some(root) = spec
        .pointer("/root/path")
        .and_then(Value::as_str)
        .map(|path| bundle.join(path))
    else {
        return;
    };
    let hook = json!({
        "path": program,
        "args": [program, HOOK, root],
        "timeout": 30,
    });
    let Some(fields) = spec.as_object_mut() else {
        return;
    };
    let hooks = fields.entry("hooks").or_insert(Value::Null);
    if !hooks.is_object() {
        *hooks = Value::Object(Map::new());
    }
    if let Some(first) = hooks
        .as_object_mut()
        .map(|hooks| hooks.entry("createContainer").or_insert(Value::Null))
    {
        let mut all = vec![hook];
        if let Some(present) = first.as_array_mut() {
            all.append(present);
        }
        *first = Value::Array(all);
    }
}

#[cfg(test)]
#[path = "adapt_tests.rs"]
mod tests;
