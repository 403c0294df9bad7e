//! Files that are not what they should be, and what one says about them; the capability files; the format.
mod common;

use common::*;
use gpu_model::{CiId, GiId, Op, Outcome, ProfileId};
use gpu_store::{Error, FORMAT, Mirrored, Store};
use std::{fs, os::unix::fs::FileExt, path::Path};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn message(path: &Path) -> String {
    let text = Store::open(path).expect_err("it must not open").to_string();
    text.replace(&path.display().to_string(), "FILE")
}

#[test]
fn wrong_files_get_one_clear_error_each() {
    let folder = folder();
    let path = folder.path().join("state");
    assert_eq!(
        message(&path),
        "there is no state file at FILE: make a machine (fakegpu create --node 1xA100-SXM4-40GB DIR), or set FAKEGPU_STATE to the state file of one"
    );
    assert_eq!(
        message(folder.path()),
        "FILE is not a state file of ours (a folder): check the path; nothing was changed"
    );
    for (content, found) in [
        ("", "it is empty"),
        (
            "#!/bin/sh\necho hello to you all\n",
            "it does not begin as one",
        ),
    ] {
        fs::write(&path, content).expect("a file");
        let expected = format!(
            "FILE is not a state file of ours ({found}): check the path; nothing was changed"
        );
        assert_eq!(message(&path), expected);
        assert_eq!(fs::read_to_string(&path).expect("it"), content, "untouched");
    }
    fs::remove_file(&path).expect("gone");
    drop(Store::create(&path, &machine("bad", &[("L4", 1)])).expect("a state file"));
    let good = fs::read(&path).expect("its bytes");

    for cut in [3, 12, 100, 5000, good.len() - 1] {
        fs::write(&path, &good[..cut]).expect("a file");
        let expected = format!(
            "the state file FILE has {cut} bytes, expected {}: it was truncated or copied in part; remove it and make it anew (fakegpu create)",
            good.len()
        );
        assert_eq!(message(&path), expected);
    }
    fs::write(&path, [good.as_slice(), b"more"].concat()).expect("a file");
    assert!(message(&path).contains(&format!("has {} bytes", good.len() + 4)));

    let mut other = good.clone();
    other[8] = 77;
    fs::write(&path, &other).expect("a file");
    assert_eq!(
        message(&path),
        format!(
            "the state file FILE has format 77, this program writes {FORMAT}: make it anew with this program (fakegpu create), or use the program that made it"
        )
    );

    // Generation 1 lies in the second slot.
    let mut damaged = good.clone();
    let payload = SECOND_SLOT + 64;
    damaged[payload + 40] ^= 1;
    fs::write(&path, &damaged).expect("a file");
    assert_eq!(
        message(&path),
        "the state file FILE is damaged (the checksum does not fit): remove it and make it anew (fakegpu create)"
    );
    let mut damaged = good;
    damaged[64] = 2;
    fs::write(&path, &damaged).expect("a file");
    assert!(message(&path).contains("generation 2 points to a slot of generation 0"));
}

#[test]
fn creating_never_overwrites_and_putting_does_so_in_place() {
    use std::os::unix::fs::MetadataExt;
    let folder = folder();
    let path = folder.path().join("state");
    let first = Store::put(&path, &machine("put", &[("L4", 1)])).expect("made");
    let inode = fs::metadata(&path).expect("it").ino();
    assert!(matches!(
        Store::create(&path, &machine("put", &[("L4", 2)])),
        Err(Error::Exists { .. })
    ));
    let again = Store::put(&path, &machine("put", &[("A100-SXM4-40GB", 3)])).expect("set");
    assert_eq!(again.generation(), 2);
    assert_eq!(
        first
            .read()
            .expect("seen by who had it open")
            .machine
            .gpus
            .len(),
        3
    );
    assert_eq!(fs::metadata(&path).expect("it").ino(), inode);
    let left: Vec<_> = fs::read_dir(folder.path()).expect("the folder").collect();
    assert_eq!(left.len(), 1, "no file was left aside");
    fs::write(folder.path().join("mine"), "precious").expect("a file");
    assert!(matches!(
        Store::put(folder.path().join("mine"), &machine("put", &[("L4", 1)])),
        Err(Error::NotOurs { .. })
    ));
}

#[test]
fn an_update_that_changes_nothing_writes_nothing() {
    let folder = folder();
    let store =
        Store::create(folder.path().join("state"), &machine("same", &[("L4", 1)])).expect("made");
    let on = Op::SetPersistence { gpu: GPU, on: true };
    store.apply(on).expect("set");
    assert_eq!(store.generation(), 2);
    store.apply(on).expect("set again");
    assert_eq!(store.generation(), 2);
    store.apply(mig_off()).expect_err("L4 has no MIG");
    assert_eq!(store.generation(), 2);
}

#[test]
fn the_largest_node_fits() {
    let folder = folder();
    let path = folder.path().join("state");
    let mut node = machine("large", &[("H100-SXM5-80GB", 32), ("A100-SXM4-40GB", 32)]);
    for gpu in 0..64 {
        for _ in 0..7 {
            let gpu = gpu_model::GpuIndex(gpu);
            let op = Op::CreateGpuInstance {
                gpu,
                profile: ProfileId(19),
                placement: None,
            };
            let (next, outcome) = node.apply(op, gpu_model::Now(u64::MAX / 2)).expect("room");
            let Outcome::GpuInstance { id, .. } = outcome else {
                panic!("{outcome:?}")
            };
            let op = Op::CreateComputeInstance {
                gpu,
                gi: id,
                profile: ProfileId(0),
                placement: None,
            };
            node = next
                .apply(op, gpu_model::Now(u64::MAX / 2))
                .expect("room")
                .0;
        }
    }
    let store = Store::create(&path, &node).expect("it fits");
    assert_eq!(store.read().expect("it").machine, node);
}

#[test]
fn capability_files_follow_the_instances() {
    let folder = folder();
    let proc = folder.path().join("proc");
    fs::create_dir(&proc).expect("a folder");
    let node = machine("caps", &[("A100-SXM4-40GB", 2), ("L4", 1)]);
    let store = Store::create(folder.path().join("state"), &node)
        .expect("made")
        .with_proc_dir(&proc);
    let tree = || {
        let mut files: Vec<String> = walk(&proc);
        files.retain(|f| f.contains("mig/"));
        files.sort();
        files
    };

    // Without a marker, or with another machine's, nothing is touched.
    store.apply(create(9)).expect("room");
    assert_eq!(store.mirror().expect("no error"), Mirrored::NotOurs);
    gpu_store::write_marker(&proc, &machine("another", &[("L4", 1)])).expect("a marker");
    assert_eq!(store.mirror().expect("no error"), Mirrored::NotOurs);
    assert_eq!(tree(), [""; 0]);

    // With ours, it is brought in line at once and after each change.
    gpu_store::write_marker(&proc, &node).expect("a marker");
    assert_eq!(
        store.mirror().expect("ours"),
        Mirrored::InLine {
            written: 1,
            removed: 0
        }
    );
    store
        .apply(Op::CreateComputeInstance {
            gpu: GPU,
            gi: GiId(2),
            profile: ProfileId(0),
            placement: None,
        })
        .expect("room");
    assert_eq!(
        tree(),
        [
            "capabilities/gpu0/mig/gi2/access",
            "capabilities/gpu0/mig/gi2/ci0/access"
        ]
    );
    let text = fs::read_to_string(proc.join("capabilities/gpu0/mig/gi2/ci0/access")).expect("it");
    assert_eq!(
        text,
        "DeviceFileMinor: 22\nDeviceFileMode: 292\nDeviceFileModify: 1\n"
    );

    // Whatever somebody left there, the next writer mends it.
    fs::remove_dir_all(proc.join("capabilities/gpu0/mig/gi2/ci0")).expect("gone");
    fs::create_dir_all(proc.join("capabilities/gpu1/mig/gi7/ci3")).expect("stray");
    fs::write(
        proc.join("capabilities/gpu0/mig/config"),
        "not ours to touch",
    )
    .expect("a file");
    store
        .apply(Op::SetPersistence { gpu: GPU, on: true })
        .expect("any update");
    assert_eq!(
        tree(),
        [
            "capabilities/gpu0/mig/config",
            "capabilities/gpu0/mig/gi2/access",
            "capabilities/gpu0/mig/gi2/ci0/access"
        ]
    );
    assert!(!proc.join("capabilities/gpu1/mig/gi7").exists());

    store
        .apply(Op::DestroyComputeInstance {
            gpu: GPU,
            gi: GiId(2),
            ci: CiId(0),
        })
        .expect("gone");
    store
        .apply(Op::DestroyGpuInstance {
            gpu: GPU,
            gi: GiId(2),
        })
        .expect("gone");
    assert_eq!(tree(), ["capabilities/gpu0/mig/config"]);
}

fn walk(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(path) = todo.pop() {
        for entry in fs::read_dir(&path).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => todo.push(path),
                false => found.push(
                    path.strip_prefix(folder)
                        .expect("below")
                        .display()
                        .to_string(),
                ),
            }
        }
    }
    found
}

/// The bytes of a state, as a number. If this fails because a type inside `Machine` has changed: raise `FORMAT` and put
/// the new number here. If only a value of the catalogue has changed, the new number is enough.
#[test]
fn format_is_raised_when_the_state_changes() {
    let mut node = machine(
        "format",
        &[("A100-SXM4-40GB", 1), ("H100-SXM5-80GB", 1), ("L4", 1)],
    );
    for op in [
        create(9),
        Op::CreateComputeInstance {
            gpu: GPU,
            gi: GiId(2),
            profile: ProfileId(2),
            placement: None,
        },
    ] {
        node = node.apply(op, gpu_model::Now(1)).expect("room").0;
    }
    let folder = folder();
    let path = folder.path().join("state");
    drop(Store::create(&path, &node).expect("made"));
    let bytes = fs::read(&path).expect("its bytes");
    let mut checksum = [0u8; 8];
    fs::File::open(&path)
        .and_then(|file| file.read_exact_at(&mut checksum, SECOND_SLOT as u64 + 16))
        .expect("its checksum");
    assert_eq!(
        (FORMAT, u64::from_le_bytes(checksum)),
        (7, FINGERPRINT),
        "{} bytes",
        bytes.len()
    );
}

const FINGERPRINT: u64 = 831_896_016;

/// Where generation 1 lies: behind the header, the counters and the first slot.
const SECOND_SLOT: usize = 2 * 4096 + 512 * 1024;
