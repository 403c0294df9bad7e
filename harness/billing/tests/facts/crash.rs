//! A meter that is killed at any moment loses nothing and keeps nothing twice; a full disk keeps all or nothing.

use std::io::Read;
use std::process::{Command, Stdio};

use billing::{LedgerError, Place};

use super::fixture::*;
use super::ledger::{cursor, read};

const CHILD: &str = "BILLING_TEST_LEDGER";

/// Run by the tests below in a process of its own: goes on where the cursor stands, for ever.
#[test]
fn child() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let mut ledger = path
        .to_str()
        .expect("text")
        .parse::<Place>()
        .expect("a place")
        .open()
        .expect("opened");
    loop {
        let at = ledger
            .cursors("cluster")
            .expect("read")
            .first()
            .map_or(0, |it| it.version.parse().expect("a number"));
        let facts: Vec<_> = (at..at + 7)
            .map(|it: u64| holds(&format!("c{it}"), it, it.cast_signed(), "gpu-0"))
            .collect();
        let next = at + 7;
        match ledger.append(&facts, &[cursor(&next.to_string(), next.cast_signed())]) {
            Ok(_) => println!("kept {next}"),
            Err(LedgerError::Full { .. }) => {
                println!("full at {at}");
                return;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn run(path: &std::path::Path, wrap: &[&str]) -> Command {
    let this = std::env::current_exe().expect("this program");
    let mut words = wrap
        .iter()
        .map(std::ffi::OsString::from)
        .chain([this.into_os_string()]);
    let mut command = Command::new(words.next().expect("a program"));
    command
        .args(words)
        .args(["--exact", "crash::child", "--nocapture", "--test-threads=1"])
        .env(CHILD, path)
        .stdout(Stdio::piped());
    command
}

#[test]
fn killed_at_any_moment_it_loses_nothing_and_keeps_nothing_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.db");
    let mut said = 0;
    for round in 0..12_u64 {
        let mut child = run(&path, &[]).spawn().expect("started");
        let mut out = child.stdout.take().expect("piped");
        // Killed after it has said so much, somewhere in what it does next.
        let mut text = vec![0; 60 + 37 * round as usize];
        out.read_exact(&mut text).expect("it goes on");
        child.kill().expect("killed");
        child.wait().expect("waited for");
        let mut rest = String::new();
        out.read_to_string(&mut rest).expect("text");
        let text = String::from_utf8(text).expect("text") + &rest;
        let last = text
            .lines()
            .filter(|line| text.contains(&format!("{line}\n")))
            .filter_map(|line| line.strip_prefix("kept ")?.parse::<u64>().ok())
            .max();
        said = last.unwrap_or(said);
        let mut ledger = Place::File(path.clone()).open().expect("opened");
        let cursor: u64 = ledger.cursors("cluster").expect("read")[0]
            .version
            .parse()
            .expect("a number");
        assert!(
            cursor >= said,
            "it said {said} and the cursor is at {cursor}"
        );
        let verified = ledger.verify().expect("unbroken");
        assert_eq!(verified.rows, cursor);
        let versions: Vec<u64> = read(&mut ledger).iter().map(|fact| fact.version).collect();
        assert_eq!(versions, (0..cursor).collect::<Vec<_>>());
    }
    assert!(said > 0);
}

#[test]
fn a_full_disk_keeps_all_or_nothing_and_room_mends_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let small = folder.path().join("small");
    std::fs::create_dir(&small).expect("made");
    let outside = folder.path().join("ledger.db");
    // A file system of two MiB of its own, in a namespace that any user can make; what is left of the ledger is copied out.
    let script = format!(
        "mount -t tmpfs -o size=2m none {0} && \"$0\" \"$@\"; code=$?; cp {0}/ledger.db* {1}/; exit $code",
        small.display(),
        folder.path().display()
    );
    let inside = small.join("ledger.db");
    let output = run(
        &inside,
        &[
            "unshare",
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            &script,
        ],
    )
    .output();
    let output = output.expect("unshare");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !text.contains("full at ") && !text.contains("kept ") {
        eprintln!(
            "NOT RUN: a file system of its own for a full disk: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        return;
    }
    let full: u64 = text
        .lines()
        .find_map(|line| line.strip_prefix("full at ")?.parse().ok())
        .expect("it filled up");
    let mut ledger = Place::File(outside).open().expect("opened");
    assert_eq!(ledger.verify().expect("unbroken").rows, full);
    assert_eq!(
        ledger.cursors("cluster").expect("read")[0].version,
        full.to_string()
    );
    let more: Vec<_> = (full..full + 7)
        .map(|it| holds(&format!("c{it}"), it, it.cast_signed(), "gpu-0"))
        .collect();
    assert_eq!(ledger.append(&more, &[]).expect("there is room").new, 7);
}
