//! A tree in a namespace, entered again after the node's shape has changed: what a node of the cluster lives through.
//! A namespace needs a process of one thread, so each case is this program started anew.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use gpu_host::{Enter, HostTree, Loader, namespace};
use gpu_model::{Catalog, Machine, NodeSpec, Options};
use gpu_store::Store;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some("__case") {
        let (name, dir) = (args.next().unwrap(), args.next().unwrap());
        return case(&name, Path::new(&dir));
    }
    let trials = [
        "reshape",
        "no_dev_of_its_own",
        "entered_twice",
        "cut_inside",
    ]
    .map(|name| Trial::test(name, move || in_a_process_of_its_own(name)));
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit();
}

fn in_a_process_of_its_own(name: &str) -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let output = Command::new(std::env::current_exe()?)
        .args(["__case", name])
        .arg(dir.path())
        .output()?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned().into())
    }
}

fn case(name: &str, dir: &Path) {
    namespace::unshare_private().unwrap();
    match name {
        "reshape" => reshape(dir),
        "no_dev_of_its_own" => on_a_dev_that_was_made_before(dir),
        "entered_twice" => entered_twice(dir),
        "cut_inside" => cut_inside(dir),
        other => panic!("no case {other}"),
    }
}

fn machine(node: &str) -> Machine {
    built(node, false)
}

fn mig(node: &str) -> Machine {
    built(node, true)
}

fn built(node: &str, mig: bool) -> Machine {
    let catalog = Catalog::builtin();
    let cards = node.parse::<NodeSpec>().unwrap().resolve(&catalog).unwrap();
    let options = Options {
        mig,
        ..Options::default()
    };
    Machine::build(&cards, &options)
}

fn is_device(path: &str) -> bool {
    fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_char_device())
}

fn mounts() -> usize {
    fs::read_to_string("/proc/self/mountinfo")
        .unwrap()
        .lines()
        .count()
}

fn names(path: &str) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(path)
        .unwrap()
        .flatten()
        .filter_map(|e| e.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

fn reshape(dir: &Path) {
    let shape = |node: &str| {
        let machine = machine(node);
        if let Ok(tree) = HostTree::open(dir) {
            Store::put(tree.state_path(), &machine).unwrap();
        }
        let tree = HostTree::lay(dir, &machine).unwrap();
        tree.enter(&Enter::default()).unwrap();
        tree
    };
    shape("2xA100-SXM4-40GB");
    assert!(is_device("/dev/nvidia1") && !Path::new("/dev/nvidia2").exists());
    let tree = shape("3xH100-SXM5-80GB");
    assert!(
        is_device("/dev/nvidia2")
            && is_device(tree.driver_root().join("dev/nvidia2").to_str().unwrap())
    );
    assert_eq!(names("/proc/driver/nvidia/gpus").len(), 3);
    let device = fs::read_to_string("/sys/bus/pci/devices/0000:17:00.0/device").unwrap();
    assert_eq!(device.trim(), "0x2330");
    around();
    let tree = shape("1xL4");
    assert!(is_device("/dev/nvidia0") && is_device("/dev/zero"));
    for gone in ["/dev/nvidia1", "/dev/nvidia2"] {
        assert!(fs::symlink_metadata(gone).is_err(), "{gone} is still there");
    }
    assert_eq!(names("/proc/driver/nvidia/gpus"), ["0000:07:00.0"]);
    assert!(!names("/sys/bus/pci/devices").contains(&"0000:0f:00.0".to_owned()));
    assert_eq!(
        Store::open(tree.state_path())
            .unwrap()
            .read()
            .unwrap()
            .machine
            .gpus
            .len(),
        1
    );
}

/// What readers of the host find: modules, device numbers, the driver of a card and its group.
fn around() {
    let read = |path: &str| fs::read_to_string(path).unwrap();
    assert_eq!(read("/sys/module/nvidia/initstate"), "live\n");
    assert_eq!(
        read("/sys/module/nvidia/version").trim(),
        Machine::DRIVER_VERSION
    );
    // A kernel without modules has no such file.
    if let Ok(modules) = fs::read_to_string("/proc/modules") {
        assert!(modules.lines().any(|l| l.starts_with("nvidia ")));
    }
    let device = Path::new("/sys/bus/pci/devices/0000:0f:00.0");
    let name = |link: &str| {
        let target = fs::canonicalize(device.join(link)).unwrap();
        target.file_name().unwrap().to_str().unwrap().to_owned()
    };
    assert_eq!(
        (name("driver"), name("iommu_group")),
        ("nvidia".into(), "31".into())
    );
    // A number where the kernel let us make the device, else that of the stand-in.
    let number = fs::metadata("/dev/nvidia1").unwrap().rdev();
    let major = nix::sys::stat::major(number);
    assert!(
        (major, nix::sys::stat::minor(number)) == (195, 1) || major == 1,
        "{major}"
    );
}

fn entered_twice(dir: &Path) {
    let tree = HostTree::lay(dir, &machine("2xL4")).unwrap();
    let how = Enter { loader: true };
    let loader = tree.enter(&how).unwrap();
    let (count, devices) = (mounts(), names("/dev"));
    assert_eq!(tree.enter(&how).unwrap(), loader);
    assert_eq!(mounts(), count, "a second time mounts nothing more");
    assert_eq!(names("/dev"), devices);
    if loader == Loader::Found {
        let out = Command::new("nvidia-smi").arg("-L").output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&out.stdout).lines().count(),
            2,
            "{out:?}"
        );
    }
}

/// A program that cuts a card through the library finds the partition's files and nodes at once, and no longer when it is gone.
fn cut_inside(dir: &Path) {
    let tree = HostTree::lay(dir, &mig("1xA100-SXM4-40GB")).unwrap();
    // A file system that knows no such nodes has files in their place.
    let files = tree.following().map(|folder| folder.join("nvidia-cap900"));
    for file in &files[1..] {
        fs::write(file, "").unwrap();
    }
    tree.enter(&Enter::default()).unwrap();
    let stand_ins = ["/dev/nvidia-caps/nvidia-cap900", files[2].to_str().unwrap()];
    assert!(stand_ins.iter().all(|node| is_device(node)));
    let smi = |args: &str| {
        let out = Command::new(tree.programs().join("nvidia-smi"))
            .args(args.split(' '))
            .env("LD_LIBRARY_PATH", tree.libraries())
            .output()
            .unwrap();
        assert!(out.status.success(), "{args}: {out:?}");
    };
    let seen = || {
        ["/dev".into(), tree.driver_root().join("dev")].map(|dev: PathBuf| {
            let (gi, ci) = ("nvidia-caps/nvidia-cap120", "nvidia-caps/nvidia-cap121");
            [gi, ci].map(|node| is_device(dev.join(node).to_str().unwrap()))
        })
    };
    let access = Path::new("/proc/driver/nvidia/capabilities/gpu0/mig/gi13/ci0/access");
    smi("mig -cgi 19");
    assert_eq!((seen(), access.exists()), ([[true, false]; 2], false));
    // No partition has that number.
    for gone in stand_ins {
        assert!(fs::symlink_metadata(gone).is_err(), "{gone} is still there");
    }
    smi("mig -cci");
    assert_eq!((seen(), access.exists()), ([[true, true]; 2], true));
    let text = fs::read_to_string(access).unwrap();
    assert!(text.starts_with("DeviceFileMinor: 121\n"), "{text}");
    smi("mig -dci");
    smi("mig -dgi");
    assert_eq!((seen(), access.exists()), ([[false, false]; 2], false));
    assert!(is_device("/dev/nvidia-caps/nvidia-cap1"));
}

/// The node of the cluster has a `/dev` of its own before: an empty one here, but for what it must have.
fn on_a_dev_that_was_made_before(dir: &Path) {
    let dev = dir.join("own-dev");
    fs::create_dir(&dev).unwrap();
    fs::write(dev.join("null"), "").unwrap();
    let bind = |from: &Path, to: &Path| {
        nix::mount::mount(
            Some(from),
            to,
            None::<&str>,
            nix::mount::MsFlags::MS_BIND,
            None::<&str>,
        )
        .unwrap();
    };
    bind(Path::new("/dev/null"), &dev.join("null"));
    nix::mount::mount(
        Some(&dev),
        "/dev",
        None::<&str>,
        nix::mount::MsFlags::MS_BIND | nix::mount::MsFlags::MS_REC,
        None::<&str>,
    )
    .unwrap();
    HostTree::lay(&dir.join("tree"), &machine("1xL4"))
        .unwrap()
        .enter(&Enter::default())
        .unwrap();
    assert_eq!(
        names("/dev"),
        [
            "null",
            "nvidia-caps",
            "nvidia-modeset",
            "nvidia-uvm",
            "nvidia-uvm-tools",
            "nvidia0",
            "nvidiactl"
        ]
    );
    assert!(
        is_device("/dev/null")
            && is_device("/dev/nvidia0")
            && is_device("/dev/nvidia-caps/nvidia-cap1")
    );
}
