//! What lies in each image.
use std::path::Path;
use std::process::{Command, Stdio};

use super::closure::SharedObject;
use super::error::Error;
use super::layout::Image;
use super::tree::Tree;
use super::{BUSYBOX, GPU_TEST, PAUSE};

/// Changes with the recipe, so that an archive of an older one is not taken for this one's.
pub(super) const VERSION: &str = "1";

/// What the sandbox runs as process 1: it ends on SIGTERM, and the shell's `wait` reaps whatever is handed to it.
const PAUSE_SCRIPT: &str = "trap 'exit 0' TERM INT; sleep 2147483647 & while :; do wait $!; done";

/// All images, over one shared layer.
pub(super) fn images(
    busybox: &[u8],
    applets: &[String],
    needed: &[SharedObject],
    programs: &[(&str, &[u8])],
) -> Vec<Image> {
    let base = base(busybox, applets);
    let shell = |name, layers| Image {
        name,
        layers,
        entrypoint: Vec::new(),
        command: vec!["sh".into()],
    };
    vec![
        shell(BUSYBOX, vec![base.clone()]),
        shell(GPU_TEST, vec![base.clone(), libraries(needed, programs)]),
        Image {
            name: PAUSE,
            layers: vec![base],
            entrypoint: ["/bin/sh", "-c", PAUSE_SCRIPT].map(str::to_owned).into(),
            command: Vec::new(),
        },
    ]
}

/// Asks busybox which programs it is, as paths without a leading slash.
pub(super) fn applets(busybox: &Path) -> Result<Vec<String>, Error> {
    let fail = |detail: String| Error::Busybox {
        path: busybox.into(),
        detail,
    };
    let output = Command::new(busybox)
        .arg("--list-full")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| fail(error.to_string()))?;
    let names: Vec<_> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| line.trim_matches('/').to_owned())
        .collect();
    if !output.status.success() || !names.iter().any(|name| name == "bin/sh") {
        return Err(fail(format!(
            "{}, {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        )));
    }
    Ok(names)
}

fn base(busybox: &[u8], applets: &[String]) -> Tree {
    let mut tree = Tree::default();
    for folder in [
        "dev", "etc", "home", "lib", "lib64", "mnt", "opt", "proc", "run", "sys", "usr/bin",
        "usr/lib", "usr/sbin", "var/log",
    ] {
        tree.folder(folder, 0o755);
    }
    for folder in ["tmp", "var/tmp"] {
        tree.folder(folder, 0o1777);
    }
    tree.folder("root", 0o700);
    tree.symlink("var/run", "/run");
    for applet in applets.iter().filter(|applet| !applet.is_empty()) {
        tree.symlink(applet, "/bin/busybox");
    }
    tree.file("bin/busybox", 0o755, busybox);
    tree.file(
        "etc/passwd",
        0o644,
        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    );
    tree.file("etc/group", 0o644, "root:x:0:\nnobody:x:65534:\n");
    tree.file(
        "etc/nsswitch.conf",
        0o644,
        "passwd: files\ngroup: files\nhosts: files dns\n",
    );
    tree.file(
        "etc/os-release",
        0o644,
        "ID=sliceproof\nNAME=sliceproof\nPRETTY_NAME=\"sliceproof test image\"\n",
    );
    tree
}

/// The C library and its loader where the loader looks for them, ready for NVIDIA's `update-ldcache` hook.
fn libraries(needed: &[SharedObject], programs: &[(&str, &[u8])]) -> Tree {
    let mut tree = Tree::default();
    for object in needed {
        tree.file(&object.path, 0o755, object.bytes.as_slice());
    }
    for (name, bytes) in programs {
        tree.file(&format!("usr/bin/{name}"), 0o755, *bytes);
    }
    tree.folder("etc/ld.so.conf.d", 0o755);
    tree.file(
        "etc/ld.so.conf",
        0o644,
        "include /etc/ld.so.conf.d/*.conf\n",
    );
    tree
}
