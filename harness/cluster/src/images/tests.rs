//! The archive as containerd would read it: names, digests, owners, times; and that a second assembly writes nothing.
use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::*;

/// A program that answers `--list-full` as busybox does.
fn stand_in(folder: &Path, script: &str) -> PathBuf {
    let path = folder.join("busybox");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    path
}

fn lists() -> &'static str {
    "printf 'bin/sh\\nbin/ls\\nusr/bin/env\\n'"
}

fn untar(bytes: &[u8]) -> BTreeMap<String, (tar::Header, Vec<u8>)> {
    let mut archive = tar::Archive::new(bytes);
    let entries = archive.entries().expect("a tar");
    entries
        .map(|entry| {
            let mut entry = entry.expect("an entry");
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("its bytes");
            let path = entry.path().expect("a path").to_string_lossy().into_owned();
            (path, (entry.header().clone(), bytes))
        })
        .collect()
}

fn blob(files: &BTreeMap<String, (tar::Header, Vec<u8>)>, described: &Value) -> Vec<u8> {
    let digest = described["digest"]
        .as_str()
        .expect("a digest")
        .trim_start_matches("sha256:");
    let (_, bytes) = &files[&format!("blobs/sha256/{digest}")];
    assert_eq!(tree::hex(&Sha256::digest(bytes)), digest);
    assert_eq!(described["size"], bytes.len());
    bytes.clone()
}

#[test]
fn the_archive_holds_three_images_whose_digests_agree() {
    let folder = tempfile::tempdir().expect("a folder");
    let busybox = stand_in(folder.path(), lists());
    let shell = fs::read("/bin/sh").expect("readable");
    let parts = Parts {
        busybox: &busybox,
        clients: &[("sh", &shell)],
        programs: &[],
    };
    let archive = assemble(&parts, &folder.path().join("cache")).expect("assembled");
    let files = untar(&fs::read(&archive.path).expect("readable"));
    let index: Value = serde_json::from_slice(&files["index.json"].1).expect("JSON");
    let mut names = Vec::new();
    for described in index["manifests"].as_array().expect("manifests") {
        let name = described["annotations"]["io.containerd.image.name"]
            .as_str()
            .expect("a name");
        names.push(name.to_owned());
        let manifest: Value = serde_json::from_slice(&blob(&files, described)).expect("JSON");
        let config: Value =
            serde_json::from_slice(&blob(&files, &manifest["config"])).expect("JSON");
        let layers = manifest["layers"].as_array().expect("layers");
        let mut paths = Vec::new();
        for (layer, diff_id) in layers
            .iter()
            .zip(config["rootfs"]["diff_ids"].as_array().expect("ids"))
        {
            assert_eq!(&layer["digest"], diff_id);
            for (path, (header, _)) in untar(&blob(&files, layer)) {
                assert_eq!(
                    (
                        header.uid().expect("uid"),
                        header.gid().expect("gid"),
                        header.mtime().expect("mtime")
                    ),
                    (0, 0, 0),
                    "{path}"
                );
                paths.push(path);
            }
        }
        let has = |end: &str| paths.iter().any(|path| path.ends_with(end));
        assert!(
            has("bin/busybox") && has("usr/bin/env") && has("etc/passwd"),
            "{name}: {paths:?}"
        );
        assert_eq!(has("libc.so.6"), name == GPU_TEST, "{name}: {paths:?}");
        assert_eq!(
            config["config"]["Entrypoint"][0] == "/bin/sh",
            name == PAUSE
        );
    }
    assert_eq!(names, archive.names);
}

#[test]
fn the_same_parts_give_the_same_bytes_and_the_second_time_none_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let busybox = stand_in(folder.path(), lists());
    let mut shell = fs::read("/bin/sh").expect("readable");
    let parts = Parts {
        busybox: &busybox,
        clients: &[],
        programs: &[("probe", &shell.clone())],
    };
    let first = assemble(&parts, &folder.path().join("a")).expect("assembled");
    let bytes = fs::read(&first.path).expect("readable");
    let elsewhere = assemble(&parts, &folder.path().join("b")).expect("assembled");
    assert!(
        bytes == fs::read(elsewhere.path).expect("readable"),
        "the same parts gave other bytes"
    );

    // Found by its key, without a look into it: what is there stays.
    fs::write(&first.path, "kept").expect("written");
    assert_eq!(
        assemble(&parts, &folder.path().join("a")).expect("found"),
        first
    );
    assert_eq!(fs::read_to_string(&first.path).expect("readable"), "kept");

    shell.push(0);
    let other = Parts {
        programs: &[("probe", &shell)],
        ..parts
    };
    assert_ne!(
        assemble(&other, &folder.path().join("a"))
            .expect("assembled")
            .key,
        first.key
    );
    assert_eq!(
        fs::read_dir(folder.path().join("a"))
            .expect("a folder")
            .count(),
        2,
        "no temporary file is left"
    );
}

#[test]
fn a_busybox_that_is_none_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    for script in ["exit 3", "echo nothing"] {
        let busybox = stand_in(folder.path(), script);
        let parts = Parts {
            busybox: &busybox,
            clients: &[],
            programs: &[],
        };
        let error = assemble(&parts, folder.path()).expect_err("no busybox");
        assert!(matches!(error, Error::Busybox { .. }), "{error}");
    }
    let parts = Parts {
        busybox: Path::new("/no/busybox"),
        clients: &[],
        programs: &[],
    };
    assert!(matches!(
        assemble(&parts, folder.path()),
        Err(Error::Read {
            what: "busybox",
            ..
        })
    ));
}

#[test]
fn an_unwritable_cache_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let busybox = stand_in(folder.path(), lists());
    let parts = Parts {
        busybox: &busybox,
        clients: &[],
        programs: &[],
    };
    let error = assemble(&parts, &busybox.join("below-a-file")).expect_err("no folder");
    assert!(error.to_string().contains("writing image cache"), "{error}");
}

#[test]
fn folders_come_before_what_lies_in_them() {
    let mut root = tree::Tree::default();
    root.file("/a/b/c", 0o644, "x");
    root.folder("a", 0o700);
    let names: Vec<_> = root.entries().keys().map(String::as_str).collect();
    assert_eq!(names, ["a", "a/b", "a/b/c"]);
}
