//! What may befall the state file from outside: a full disk, a mount that can only be read, a clock that goes back, a creator
//! killed in the middle.
//! The disk and the mount need namespaces of their own; where there are none the test says that it was not run.
#![allow(unsafe_code)] // namespaces and mounts, to meet a full disk
mod common;

use common::*;
use gpu_model::{Code, Now, Outcome, Refusal};
use gpu_store::{Error, Mirrored, Store, UpdateError};
use std::{
    ffi::{CStr, CString},
    fs, io,
    io::Write,
    os::unix::{ffi::OsStrExt, process::CommandExt},
    path::Path,
};

/// Runs the test `name` again as a process that may mount what it likes, with `role`; without that right it is not run.
fn with_mounts(name: &str, state: &Path) {
    // SAFETY: numbers only.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    let maps = (uid != 0).then(|| (format!("0 {uid} 1"), format!("0 {gid} 1")));
    let mut command = command(name, "mounts", state);
    // SAFETY: between fork and exec only system calls are made: no lock, no memory is asked for.
    unsafe {
        command.pre_exec(move || {
            let flags = libc::CLONE_NEWNS | maps.as_ref().map_or(0, |_| libc::CLONE_NEWUSER);
            let mut ready = libc::unshare(flags) == 0;
            if let Some((uid, gid)) = &maps {
                ready = ready
                    && put(c"/proc/self/setgroups", b"deny")
                    && put(c"/proc/self/uid_map", uid.as_bytes())
                    && put(c"/proc/self/gid_map", gid.as_bytes());
            }
            if ready && mount(None, c"/", None, libc::MS_REC | libc::MS_PRIVATE, None) {
                return Ok(());
            }
            Err(io::Error::from_raw_os_error(libc::EPERM))
        });
    }
    match command.status() {
        Err(e) if e.raw_os_error() == Some(libc::EPERM) => eprintln!("not run: no mounts here"),
        status => assert!(status.expect("the test runs again").success()),
    }
}

/// Whether this is such a process.
fn may_mount() -> bool {
    role().is_some_and(|(role, _)| role == "mounts")
}

fn put(path: &CStr, text: &[u8]) -> bool {
    // SAFETY: a C string, a buffer with its length, and the descriptor that was just opened.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        let done = fd >= 0 && libc::write(fd, text.as_ptr().cast(), text.len()) >= 0;
        libc::close(fd);
        done
    }
}

fn mount(
    from: Option<&CStr>,
    to: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
    data: Option<&CStr>,
) -> bool {
    let text = |text: Option<&CStr>| text.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: C strings that live during the call, or NULL where mount(2) takes it.
    unsafe {
        libc::mount(
            text(from),
            to.as_ptr(),
            text(kind),
            flags,
            text(data).cast(),
        ) == 0
    }
}

/// A disk of so many KiB over `folder`.
fn disk(folder: &Path, kib: usize) {
    let to = CString::new(folder.as_os_str().as_bytes()).expect("no NUL");
    let size = CString::new(format!("size={kib}k,mode=755")).expect("no NUL");
    assert!(
        mount(Some(c"tmpfs"), &to, Some(c"tmpfs"), 0, Some(&size)),
        "{}",
        io::Error::last_os_error()
    );
}

/// Writes until nothing more goes in.
fn fill(folder: &Path) {
    let mut file = fs::File::create(folder.join("ballast")).expect("a file");
    for size in [64 * 1024, 4096, 1] {
        while file.write_all(&vec![7; size]).is_ok() {}
    }
    fs::write(folder.join("more"), "x").expect_err("the disk is full");
    let _ = fs::remove_file(folder.join("more"));
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

/// A state that does not fit is not made, one clear error says so, and nothing is left.
#[test]
fn a_full_disk_when_it_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    if !may_mount() {
        return with_mounts("a_full_disk_when_it_is_made", folder.path());
    }
    disk(folder.path(), 300);
    let path = folder.path().join("state");
    let error = Store::create(&path, &machine("full", &[("L4", 1)])).expect_err("no room");
    assert_eq!(
        error.to_string(),
        format!(
            "could not create {}: No space left on device (os error 28)",
            path.display()
        )
    );
    assert_eq!(names(folder.path()), [""; 0], "something was left");
    let error = Store::put(&path, &machine("full", &[("L4", 1)])).expect_err("no room");
    assert!(matches!(error, Error::Io { .. }), "{error}");
    assert_eq!(names(folder.path()), [""; 0], "something was left");
}

/// Once made it has all the room it will ever need: on a full disk changes go on, and instances are not lost when their files
/// cannot be written; those follow as soon as there is room.
#[test]
fn a_full_disk_when_it_is_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    if !may_mount() {
        return with_mounts("a_full_disk_when_it_is_changed", folder.path());
    }
    disk(folder.path(), 4096);
    let (path, proc) = (folder.path().join("state"), folder.path().join("proc"));
    let empty = machine("full", &[("A100-SXM4-40GB", 8)]);
    fs::create_dir(&proc).expect("a folder");
    gpu_store::write_marker(&proc, &empty).expect("a marker");
    let store = Store::create(&path, &empty)
        .expect("room")
        .with_proc_dir(&proc);
    fill(folder.path());
    for made in 1..=7 {
        let outcome = store.apply(create(19)).expect("a change needs no room");
        assert!(matches!(outcome, Outcome::GpuInstance { .. }));
        let seen = Store::open(&path)
            .expect("it opens")
            .read()
            .expect("it reads");
        assert_eq!(seen.machine.gpus[0].instances.len(), made);
    }
    assert!(store.mirror().is_err(), "the files cannot be there");
    fs::remove_file(folder.path().join("ballast")).expect("room again");
    assert!(matches!(
        store.mirror(),
        Ok(Mirrored::InLine { written: 1.., .. })
    ));
    let line = Mirrored::InLine {
        written: 0,
        removed: 0,
    };
    assert_eq!(store.mirror().expect("in line"), line);
    assert_eq!(whole_files(&proc), 7);
}

/// The capability files of GPU instances under `proc`, each of which must be whole.
fn whole_files(proc: &Path) -> usize {
    let mig = proc.join("capabilities/gpu0/mig");
    names(&mig)
        .iter()
        .filter(|gi| {
            let text = fs::read_to_string(mig.join(gi).join("access")).expect("a file");
            assert!(text.starts_with("DeviceFileMinor: "), "{gi}: {text:?}");
            true
        })
        .count()
}

/// Where the mount is read-only even root can only read.
#[test]
fn a_read_only_mount_is_read_and_never_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    if !may_mount() {
        return with_mounts("a_read_only_mount_is_read_and_never_changed", folder.path());
    }
    let path = folder.path().join("state");
    drop(Store::create(&path, &machine("ro", &[("A100-SXM4-40GB", 1)])).expect("a state file"));
    let to = CString::new(folder.path().as_os_str().as_bytes()).expect("no NUL");
    let bind = libc::MS_BIND;
    let read_only = bind | libc::MS_REMOUNT | libc::MS_RDONLY;
    let writer = Store::open(&path).expect("it opens");
    assert!(mount(Some(&to), &to, None, bind, None) && mount(None, &to, None, read_only, None));
    let store = Store::open(&path).expect("it opens");
    assert!(!store.writable());
    let seen = store.generation();
    match store.apply(create(19)) {
        Err(UpdateError::Store(error)) => assert_eq!(error.code(), Code::NoPermission),
        other => panic!("{other:?}"),
    }
    assert_eq!(store.generation(), seen);
    // Who opened it before writes on, and it is seen here.
    writer.apply(create(19)).expect("by the old mount");
    assert_eq!(
        store.read().expect("it reads").machine.gpus[0]
            .instances
            .len(),
        1
    );
    let error = Store::create(folder.path().join("new"), &machine("ro", &[("L4", 1)]));
    assert!(
        error
            .expect_err("read-only")
            .to_string()
            .contains("Read-only file system")
    );
}

/// The clock is set back by a year between two changes: both happen, numbers go up all the same, and nothing fails.
#[test]
fn a_clock_that_goes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state");
    let store = Store::create(&path, &machine("clock", &[("A100-SXM4-40GB", 1)])).expect("a file");
    let year = 365 * 86_400 * 1_000_000u64;
    let mut births = Vec::new();
    for now in [2 * year, year, 0, 2 * year, 1] {
        let made = store
            .update(|m, clients| m.apply_among(create(19), Now(now), clients))
            .expect("room");
        let Outcome::GpuInstance { birth, .. } = made else {
            panic!("{made:?}")
        };
        births.push(birth.0);
        store
            .update(|m, clients| m.apply_among(xid(), Now(now), clients))
            .expect("an Xid");
    }
    assert!(births.is_sorted_by(|a, b| a < b), "{births:?}");
    let machine = &store.read().expect("it reads").machine;
    let numbers: Vec<u64> = machine.events.all().iter().map(|event| event.seq).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    assert!(numbers.len() >= 5, "{numbers:?}");
}

fn xid() -> gpu_model::Op {
    gpu_model::Op::Inject {
        gpu: GPU,
        what: gpu_model::Injection::Xid {
            xid: 79,
            gi: None,
            ci: None,
        },
    }
}

/// Creators are killed at every moment; whoever comes next makes the state, and no creator finds half of one.
#[test]
fn a_killed_creator_is_in_nobodys_way() {
    if let Some((role, path)) = role() {
        assert_eq!(role, "create");
        println!("ready");
        for _ in 0.. {
            let _ = Store::create(&path, &machine("killed", &[("L4", 1)]));
            let _ = fs::remove_file(&path);
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state");
    let mut halves = 0;
    for round in 0u64..20 {
        let mut child = spawn("a_killed_creator_is_in_nobodys_way", "create", &path);
        wait_for(&mut child, "ready");
        std::thread::sleep(std::time::Duration::from_micros((round * 7919) % 3000));
        child.kill().expect("SIGKILL");
        child.wait().expect("its end");
        match Store::open(&path) {
            Ok(store) => drop(store.read().expect("a whole state")),
            Err(error) => assert!(matches!(error, Error::Missing { .. }), "{error}"),
        }
        let _ = fs::remove_file(&path);
        halves += names(folder.path()).len();
    }
    assert_eq!(halves, 0, "killed creators left something");
}

/// Two programs with the same process id (of two containers) make a state in one folder at once: one does, the other hears.
#[test]
fn of_two_creators_one_wins() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state");
    let made = std::thread::scope(|scope| {
        let creators: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| Store::create(&path, &machine("race", &[("L4", 2)])).map(drop)))
            .collect();
        creators
            .into_iter()
            .map(|c| c.join().expect("it ends"))
            .collect::<Vec<_>>()
    });
    let won = made.iter().filter(|made| made.is_ok()).count();
    assert_eq!(won, 1, "{made:?}");
    let others = made.iter().filter_map(|made| made.as_ref().err());
    assert!(
        others
            .clone()
            .all(|error| matches!(error, Error::Exists { .. })),
        "{made:?}"
    );
    assert_eq!(names(folder.path()), ["state"]);
}

/// A refusal inside of an update, and a panic inside of it, leave the state and the lock as they were.
#[test]
fn a_panic_within_a_change_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state");
    let store = Store::create(&path, &machine("panic", &[("A100-SXM4-40GB", 1)])).expect("a file");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ =
            store.update(|_, _| -> Result<(gpu_model::Machine, ()), Refusal> { panic!("within") });
    }));
    assert!(panicked.is_err());
    assert_eq!(store.generation(), 1);
    store.apply(create(19)).expect("the lock is free");
}
