//! A tree on disk: what is written, what a second writing changes, what is refused. No namespace is needed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use gpu_host::{Entry, Error, HostFacts, HostTree, Kind, plan};
use gpu_model::{Catalog, CiId, GiId, GpuIndex, Machine, Minor, NodeSpec, Now, Op, Options, caps};
use gpu_store::Store;

fn machine(node: &str, driver_version: &str) -> Machine {
    let catalog = Catalog::builtin();
    let cards = node.parse::<NodeSpec>().unwrap().resolve(&catalog).unwrap();
    let options = Options {
        driver_version: driver_version.into(),
        mig: true,
        ..Options::default()
    };
    Machine::build(&cards, &options)
}

fn ab(node: &str) -> Machine {
    machine(node, Machine::DRIVER_VERSION)
}

#[test]
fn the_plan_of_a_node() {
    let facts = HostFacts {
        devices: "Character devices:\n  1 mem\n\nBlock devices:\n  7 loop\n".into(),
        modules: Some("ext4 1 0 - Live 0x0\n".into()),
        pci_roots: BTreeSet::from(["pci0000:00".into(), "pci0000:07".into()]),
        cpus: "0-7".into(),
        real_driver: false,
    };
    let lines: Vec<String> = plan(&ab("1xA100-SXM4-40GB,1xL4"), &facts)
        .expect("a plan")
        .into_iter()
        .map(|entry| {
            let kind = match entry.kind {
                Kind::Folder => "folder".to_owned(),
                Kind::Text(text) => {
                    format!("text of {} lines", text.split(|b| *b == b'\n').count() - 1)
                }
                Kind::Program(_) => "program".to_owned(),
                Kind::Link(to) => format!("-> {}", to.display()),
                Kind::Node(Some(number)) => format!("device {}:{}", number.major, number.minor),
                Kind::Node(None) => "stand-in".to_owned(),
            };
            format!("{} {kind}", entry.path.display())
        })
        .filter(|line| !line.contains("/config "))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

/// As many GPUs as a node can have, of several models: nothing collides, and each has what readers look for.
#[test]
fn sixty_four_mixed_gpus() {
    let machine = ab("24xA100-SXM4-40GB,24xH100-SXM5-80GB,16xL4");
    let plan = plan(&machine, &HostFacts::default()).expect("a plan");
    let mut paths = BTreeSet::new();
    for entry in &plan {
        let folder = matches!(entry.kind, Kind::Folder);
        assert!(
            paths.insert(entry.path.clone()) || folder,
            "twice: {}",
            entry.path.display()
        );
    }
    let text = |path: String| match plan.iter().find(|e| e.path.to_str() == Some(&path)) {
        Some(Entry {
            kind: Kind::Text(text),
            ..
        }) => text.clone(),
        other => panic!("{path}: {other:?}"),
    };
    let links = plan.iter().filter(|e| matches!(e.kind, Kind::Link(_)));
    let mut roots = BTreeSet::new();
    for link in links.filter(|e| e.path.starts_with("sys/bus/pci/devices")) {
        let Kind::Link(target) = &link.kind else {
            continue;
        };
        assert!(roots.insert(target.parent().unwrap().to_owned()));
    }
    assert_eq!(roots.len(), 64, "each GPU has a root of its own");
    let minors = String::from_utf8(text("proc/driver/nvidia-caps/mig-minors".into())).unwrap();
    assert!(
        minors.ends_with("gpu63/gi14/ci7/access 8642\n"),
        "{minors:.40}"
    );
    let numbers: BTreeSet<&str> = minors.lines().filter_map(|l| l.split(' ').nth(1)).collect();
    assert_eq!(numbers.len(), minors.lines().count(), "no number twice");
    let mut windows = Vec::new();
    for gpu in &machine.gpus {
        let device = format!(
            "sys/devices/pci{:04x}:{:02x}/{:#}",
            gpu.pci.domain, gpu.pci.bus, gpu.pci
        );
        let config = text(format!("{device}/config"));
        let id = u32::from_le_bytes(config[..4].try_into().unwrap());
        assert_eq!(id, machine.spec(gpu).pci_device_id);
        let resource = String::from_utf8(text(format!("{device}/resource"))).unwrap();
        assert_eq!(resource.lines().count(), 13);
        for line in resource.lines() {
            let bounds: Vec<u64> = line
                .split(' ')
                .map(|n| u64::from_str_radix(n.trim_start_matches("0x"), 16).unwrap())
                .collect();
            if bounds[1] > 0 {
                windows.push((bounds[0], bounds[1]));
            }
        }
    }
    windows.sort_unstable();
    for pair in windows.windows(2) {
        assert!(pair[0].1 < pair[1].0, "{pair:x?} overlap");
    }
}

/// A bar in configuration space is where `resource` says it is.
#[test]
fn configuration_space_agrees_with_the_resources() {
    let plan = plan(&ab("1xH100-SXM5-80GB"), &HostFacts::default()).expect("a plan");
    let bytes = |name: &str| {
        plan.iter()
            .find_map(|e| match &e.kind {
                Kind::Text(text) if e.path.starts_with("sys") && e.path.ends_with(name) => {
                    Some(text.clone())
                }
                _ => None,
            })
            .unwrap()
    };
    let (config, resource) = (
        bytes("config"),
        String::from_utf8(bytes("resource")).unwrap(),
    );
    let word = |at: usize| u32::from_le_bytes(config[at..at + 4].try_into().unwrap());
    let start = |line: usize| {
        let text = resource
            .lines()
            .nth(line)
            .unwrap()
            .split(' ')
            .next()
            .unwrap();
        u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
    };
    assert_eq!(u64::from(word(0x10)), start(0));
    let wide = |at| u64::from(word(at + 4)) << 32 | u64::from(word(at) & !0xf);
    assert_eq!((wide(0x14), wide(0x1c)), (start(1), start(3)));
    let capability = usize::from(config[0x34]);
    assert_eq!(config[capability], 0x10, "PCI Express");
    assert_eq!(
        word(capability + 0x0c) & 0x3ff,
        16 << 4 | 5,
        "16 lanes of generation 5"
    );
}

#[test]
fn a_second_writing_changes_what_changed_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let tree = HostTree::lay(dir.path(), &ab("2xA100-SXM4-40GB")).unwrap();
    let inode = |path: &str| {
        fs::metadata(tree.dir().join(path))
            .map(|m| (m.ino(), m.mtime_nsec()))
            .ok()
    };
    let library = |tree: &HostTree| fs::metadata(tree.library()).unwrap().ino();
    let before = (inode("proc/devices"), library(&tree));
    HostTree::lay(dir.path(), &ab("2xA100-SXM4-40GB")).unwrap();
    assert_eq!((inode("proc/devices"), library(&tree)), before);

    let smaller = HostTree::lay(dir.path(), &ab("1xL4")).unwrap();
    assert!(smaller.dir().join("dev/nvidia0").exists());
    for gone in [
        "dev/nvidia1",
        "driver-root/dev/nvidia1",
        "proc/driver/nvidia/gpus/0000:0f:00.0",
        "sys/bus/pci/devices/0000:0f:00.0",
    ] {
        assert!(
            fs::symlink_metadata(smaller.dir().join(gone)).is_err(),
            "{gone} is still there"
        );
    }
    assert_eq!(library(&smaller), before.1);
}

#[test]
fn the_state_is_made_once_and_then_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let machine = ab("1xA100-SXM4-40GB");
    let tree = HostTree::lay(dir.path(), &machine).unwrap();
    let store = Store::open(tree.state_path())
        .unwrap()
        .with_proc_dir(tree.proc_driver());
    let profile = machine.specs[0]
        .mig
        .as_ref()
        .unwrap()
        .by_name("1g.5gb")
        .unwrap()
        .id;
    store
        .apply(Op::CreateGpuInstance {
            gpu: gpu_model::GpuIndex(0),
            profile,
            placement: None,
        })
        .unwrap();
    let access = tree.proc_driver().join("capabilities/gpu0/mig/gi13/access");
    assert!(
        access.exists(),
        "the writer keeps the capability files in line"
    );

    fs::remove_file(&access).unwrap();
    HostTree::lay(dir.path(), &machine).unwrap();
    assert_eq!(
        Store::open(tree.state_path())
            .unwrap()
            .read()
            .unwrap()
            .machine
            .gpus[0]
            .instances
            .len(),
        1
    );
    assert!(
        access.exists(),
        "whoever lays the tree brings them in line with the state"
    );
}

/// The nodes of partitions come and go with them, without a daemon: whoever writes the state brings them in line.
#[test]
fn capability_nodes_follow_the_instances() {
    let dir = tempfile::tempdir().unwrap();
    let machine = ab("2xA100-SXM4-40GB");
    let tree = HostTree::lay(dir.path(), &machine).unwrap();
    let nodes = || {
        let [_, ours, drivers] = tree.following().map(|folder| {
            let mut numbers: Vec<u32> = fs::read_dir(folder)
                .unwrap()
                .filter_map(|entry| caps::named(entry.unwrap().file_name().to_str()?))
                .map(|minor| minor.0)
                .collect();
            numbers.sort_unstable();
            numbers
        });
        assert_eq!(ours, drivers);
        ours
    };
    let store = Store::open(tree.state_path())
        .unwrap()
        .with_proc_dir(tree.proc_driver());
    let change = |change: &dyn Fn(&Machine) -> Machine| {
        store
            .update(|machine, _| Ok::<_, std::convert::Infallible>((change(machine), ())))
            .unwrap();
    };
    let gpu = GpuIndex(1);
    let cut = |profile: &'static str| {
        move |machine: &Machine| machine.cut(gpu, profile, Now(0)).unwrap().0
    };
    assert_eq!(nodes(), [1, 2]);
    change(&cut("3g.20gb"));
    change(&cut("1g.5gb"));
    let parts = store.read().unwrap().machine.gpus[1].instances.clone();
    let both = |gi: GiId| [caps::gi(Minor(1), gi).0, caps::ci(Minor(1), gi, CiId(0)).0];
    let mut wanted = vec![1, 2];
    wanted.extend(parts.iter().flat_map(|gi| both(gi.id)));
    wanted.sort_unstable();
    assert_eq!((nodes(), wanted.len()), (wanted, 6));

    // With its number where this process may make such a thing, else one that everybody may make.
    let minor = caps::gi(Minor(1), parts[0].id);
    let node = fs::symlink_metadata(tree.dir().join("dev").join(caps::node(minor))).unwrap();
    let seen = (
        nix::sys::stat::major(node.rdev()),
        nix::sys::stat::minor(node.rdev()),
    );
    assert!(node.file_type().is_char_device(), "{node:?}");
    assert!(seen == (0, 0) || seen.1 == u64::from(minor.0), "{seen:?}");

    // A stranger's folder is left alone.
    let mark = tree.following()[2].join(gpu_store::MARKER);
    fs::rename(&mark, mark.with_extension("away")).unwrap();
    fs::remove_file(tree.following()[2].join("nvidia-cap1")).unwrap();
    change(&|_| machine.clone());
    let count = |folder: &Path| fs::read_dir(folder).unwrap().count();
    assert_eq!(
        count(&tree.following()[2]),
        6,
        "5 nodes and the mark that was moved away"
    );

    HostTree::lay(dir.path(), &machine).unwrap();
    assert_eq!(nodes(), [1, 2]);
}

#[test]
fn a_new_driver_takes_the_place_of_the_old_one() {
    let dir = tempfile::tempdir().unwrap();
    let old = HostTree::lay(dir.path(), &machine("1xL4", "570.1.2")).unwrap();
    let new = HostTree::lay(dir.path(), &machine("1xL4", "580.3.4")).unwrap();
    assert!(!old.library().exists() && !old.state_path().exists());
    assert!(new.library().ends_with("libnvidia-ml.so.580.3.4"));
    assert_eq!(
        fs::canonicalize(new.libraries().join("libnvidia-ml.so.1")).unwrap(),
        new.library()
    );
    assert_eq!(
        HostTree::open(dir.path()).unwrap().state_path(),
        new.state_path()
    );
}

#[test]
fn other_folders_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(
        HostTree::open(dir.path()),
        Err(Error::NotATree { .. })
    ));
    fs::write(
        dir.path().join("manifest.json"),
        r#"{"format":99,"driver_version":"1","entries":[]}"#,
    )
    .unwrap();
    let text = HostTree::open(dir.path()).unwrap_err().to_string();
    assert!(text.contains("format 99"), "{text}");
    fs::write(dir.path().join("file"), "").unwrap();
    assert!(matches!(
        HostTree::lay(&dir.path().join("file"), &ab("1xL4")),
        Err(Error::File { .. })
    ));
}

#[test]
fn an_older_driver_lacks_the_names_of_later_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    for (driver, lacks) in [
        ("535.161.08", 107),
        ("580.95.05", 38),
        ("615.71.05", 8),
        ("616.1", 0),
    ] {
        let tree =
            HostTree::lay(&folder.path().join(driver), &machine("1xL4", driver)).expect("laid");
        let library = std::fs::read(tree.library()).expect("the library");
        let names = library
            .windows(5)
            .filter(|bytes| *bytes == b"\0nvml")
            .count();
        let whole = gpu_host::payload::NVML
            .windows(5)
            .filter(|bytes| *bytes == b"\0nvml")
            .count();
        assert_eq!(whole - names, lacks, "{driver}");
    }
}
