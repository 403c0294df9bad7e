//! Bad input: one clear error, exit 2, nothing left.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::fs;
use std::process::Command;

use common::{User, fakegpu, good, open_folder, program};

/// The one line that a bad call prints.
fn refusal(args: &[&str]) -> String {
    let output = fakegpu(User::Me, args).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
    assert!(output.stdout.is_empty(), "{args:?}: {output:?}");
    let text = String::from_utf8_lossy(&output.stderr)
        .trim_end()
        .to_owned();
    assert_eq!(text.lines().count(), 1, "{args:?}: {text}");
    text
}

#[test]
fn nodes_that_cannot_be() {
    for (node, expected) in [
        ("2xA100-SXM4-40G", "A100-SXM4-40GB"),
        ("0xL4", "0 GPUs"),
        ("L4*0", "0 GPUs"),
        ("", "empty"),
        ("2xA100-SXM4-40GB,,1xL4", "no count and model"),
        ("65xL4", "at most 64"),
    ] {
        let text = refusal(&["run", "--node", node, "--", "true"]);
        assert!(
            text.starts_with("fakegpu: --node: ") && text.contains(expected),
            "{node}: {text}"
        );
    }
    assert!(
        refusal(&[
            "run",
            "--node",
            "1xL4",
            "--driver-version",
            "new",
            "--",
            "true"
        ])
        .contains("580.95.05")
    );
    assert!(refusal(&["run", "--", "true"]).contains("--state"));
}

#[test]
fn states_that_are_not_ours() {
    let folder = open_folder();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    assert!(refusal(&["show", &at("nothing")]).contains("there is no state file"));
    fs::write(at("text"), "hello").unwrap();
    assert!(refusal(&["show", &at("text")]).contains("not a state file of ours"));
    assert!(
        refusal(&[
            "run",
            "--state",
            folder.path().to_str().unwrap(),
            "--",
            "true"
        ])
        .contains("not a host tree of ours")
    );
    assert!(refusal(&["show"]).contains("FAKEGPU_STATE"));

    good(
        &fakegpu(User::Me, &["create", "--node", "1xL4", &at("node")])
            .output()
            .unwrap(),
    );
    let state = fs::read_dir(folder.path().join("node/driver-root/usr/lib"))
        .unwrap()
        .flatten()
        .find_map(|d| {
            fs::read_dir(d.path())
                .ok()?
                .flatten()
                .map(|e| e.path())
                .find(|p| p.to_string_lossy().contains("libfakegpu-state"))
        })
        .unwrap();
    let whole = fs::read(&state).unwrap();
    fs::write(at("short"), &whole[..whole.len() / 2]).unwrap();
    assert!(refusal(&["show", &at("short")]).contains("truncated"));
    // The state that is there is neither replaced nor changed.
    assert!(
        refusal(&["create", "--node", "2xL4", &at("node")])
            .contains("holds a machine already (1xL4)")
    );
    assert!(
        refusal(&[
            "run",
            "--state",
            &at("node"),
            "--node",
            "2xL4",
            "--",
            "true"
        ])
        .contains("leave out --node")
    );
    assert!(good(&fakegpu(User::Me, &["show", &at("node")]).output().unwrap()).contains("1xL4"));
    // What the message of a damaged one says helps: remove it, make it anew.
    fs::write(&state, &whole[..100]).unwrap();
    assert!(refusal(&["show", &at("node")]).contains("remove it and make it anew"));
    fs::remove_file(&state).unwrap();
    good(
        &fakegpu(User::Me, &["create", "--node", "2xL4", &at("node")])
            .output()
            .unwrap(),
    );
    assert!(good(&fakegpu(User::Me, &["show", &at("node")]).output().unwrap()).contains("2xL4"));
}

#[test]
fn what_cannot_be_injected_is_refused() {
    let folder = open_folder();
    let dir = folder.path().join("node");
    let dir = dir.to_str().unwrap();
    good(
        &fakegpu(User::Me, &["create", "--node", "1xL4", dir])
            .output()
            .unwrap(),
    );
    for (args, expected) in [
        (["-i", "5", "lost"].as_slice(), "there is no GPU 5"),
        (&["mig", "on"], "has no MIG"),
        (
            &["xid", "94", "--gi", "5"],
            "no GPU instance 5: it has none",
        ),
    ] {
        let mut all = vec!["inject", "--state", dir];
        all.extend(args);
        let output = fakegpu(User::Me, &all).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains(expected),
            "{output:?}"
        );
    }
}

#[test]
fn forbidden_user_namespaces_are_named() {
    // A user namespace of our own in which no further one may be made stands for a host that forbids them.
    let inner = format!(
        "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set -all --inh-caps -all --no-new-privs {} run --node 1xL4 -- true",
        program().display()
    );
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "sh", "-c", &inner])
        .current_dir("/")
        .output();
    let output = output.expect("unshare of util-linux");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("user.max_user_namespaces is 0"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}
