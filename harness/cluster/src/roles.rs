//! The hidden roles of the binary: the first and second process of each set of namespaces, the OCI wrapper, the hook.
//! Not the command line for people. `dispatch` is called first in every `main` that links this crate, before any thread.
use std::{
    ffi::OsString,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    control_plane::API_PORT,
    external_metrics, init, net, node,
    ns::{
        Refused, enter,
        mounts::{bind, io_refused},
        root::Root,
    },
    oci, prometheus, rpc, supervisor,
};

/// What an init needs to know. Written by the supervisor, read once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct InitSpec {
    pub root: Root,
    /// Where it listens for requests.
    pub control: PathBuf,
    pub place: Place,
}

/// Which init it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Place {
    Cluster,
    Node {
        index: u8,
        /// gpu-host's tree.
        host: PathBuf,
        /// The file that is shown as the kernel's id of the boot.
        boot_id: PathBuf,
    },
}

/// Where programs look whether the machine was booted since they last ran.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Exit status of an init that the kernel refused something.
const EXIT_REFUSED: i32 = 2;

/// Plays a hidden role and does not come back, or returns at once when the command line asks for none.
pub fn dispatch() {
    let argv: Vec<OsString> = std::env::args_os().collect();
    if argv
        .first()
        .is_some_and(|name| name.as_encoded_bytes().ends_with(oci::WRAPPER.as_bytes()))
    {
        std::process::exit(oci::wrapper_main(&argv));
    }
    let Some(role) = argv.get(1).and_then(|a| a.to_str()) else {
        return;
    };
    let file = || PathBuf::from(argv.get(2).cloned().unwrap_or_default());
    let code = match role {
        oci::HOOK => oci::hook_main(&argv),
        "__cluster-ns" => first_process(&file(), "__cluster-init"),
        "__node-ns" => first_process(&file(), "__node-init"),
        "__cluster-init" | "__node-init" => second_process(&file()),
        external_metrics::ROLE => external_metrics::main(&file()),
        prometheus::ROLE => prometheus::main(&argv),
        supervisor::ROLE => supervisor::main(),
        _ => return,
    };
    std::process::exit(code)
}

fn first_process(file: &Path, next: &str) -> i32 {
    let done = read(file).and_then(|spec| match spec.place {
        Place::Cluster => enter::cluster(),
        Place::Node { index, .. } => enter::node().and_then(|()| net::node(index)),
    });
    match done {
        Ok(()) => init::stand_by("sliceproof", next, &[file]),
        Err(refused) => give_up(&refused),
    }
}

fn second_process(file: &Path) -> i32 {
    init::die_with_parent();
    match read(file).and_then(|spec| move_in(&spec).map(|control| (spec, control))) {
        Ok((spec, control)) => init::serve(control, matches!(spec.place, Place::Cluster)),
        Err(refused) => give_up(&refused),
    }
}

fn move_in(spec: &InitSpec) -> Result<std::os::unix::net::UnixListener, Refused> {
    spec.root.enter()?;
    match &spec.place {
        Place::Cluster => {
            net::cluster()?;
            let to = SocketAddr::from(([127, 0, 0, 1], API_PORT));
            init::carry_connections(to).map_err(|e| {
                Refused::unexpected(format!("cannot serve the loopback listener: {e}"))
            })?;
        }
        Place::Node { host, boot_id, .. } => {
            bind(boot_id, Path::new(BOOT_ID))?;
            net::forward()?;
            overlay_works(Path::new("/var/lib/containerd"))?;
            node::host::enter(host).map_err(|e| {
                Refused::unexpected(format!("cannot put the fake host in place: {e}"))
            })?;
        }
    }
    rpc::bind(&spec.control).map_err(io_refused("listen on", &spec.control))
}

/// Without overlayfs every container would fail later, one by one and less clearly.
fn overlay_works(below: &Path) -> Result<(), Refused> {
    use nix::mount::{MntFlags, MsFlags, mount, umount2};
    let probe = below.join(".probe");
    let dirs = ["lower", "upper", "work", "merged"].map(|d| probe.join(d));
    for dir in &dirs {
        fs::create_dir_all(dir).map_err(io_refused("make", dir))?;
    }
    let [lower, upper, work, merged] = dirs.map(|d| d.display().to_string());
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    let userxattr = format!("{options},userxattr");
    let try_with = |data: &str| {
        mount(
            Some("overlay"),
            Path::new(&merged),
            Some("overlay"),
            MsFlags::empty(),
            Some(data),
        )
    };
    try_with(&userxattr).or_else(|_| try_with(&options)).map_err(|e| {
        Refused::new(
            format!("overlayfs cannot be mounted on the file system of the run folder: {}", e.desc()),
            "put the run folder on ext4, xfs, btrfs or tmpfs (set XDG_STATE_HOME), not on an overlay; a kernel of 5.11 or later with CONFIG_OVERLAY_FS is needed",
        )
    })?;
    let _ = umount2(Path::new(&merged), MntFlags::MNT_DETACH);
    let _ = fs::remove_dir_all(&probe);
    Ok(())
}

fn read(file: &Path) -> Result<InitSpec, Refused> {
    let text = fs::read_to_string(file).map_err(io_refused("read", file))?;
    serde_json::from_str(&text).map_err(|e| io_refused("read", file)(e.into()))
}

fn give_up(refused: &Refused) -> i32 {
    eprintln!("{}", refused.line());
    EXIT_REFUSED
}
