//! The command line as a person meets it, where no cluster is needed: exit codes and first words.
#![allow(clippy::expect_used, reason = "a test says what it expects")]

use std::path::Path;
use std::process::{Command, Output};

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn sliceproof(folder: &Path, args: &[&str]) -> Ran {
    let state = tempfile::tempdir().expect("a folder");
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(env!("CARGO_BIN_EXE_sliceproof"))
        .args(args)
        .current_dir(folder)
        .env("XDG_STATE_HOME", state.path())
        .env_remove("RUST_LOG")
        .output()
        .expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Ran {
        code: status.code().expect("an exit code"),
        out: text(stdout),
        err: text(stderr),
    }
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn with_feature(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("scenarios")).expect("made");
    std::fs::write(folder.path().join("scenarios/a.feature"), text).expect("written");
    folder
}

const GOOD: &str =
    "@a\nFeature: f\n  Scenario: s\n    Given a node with 1 \"L4\"\n    Then 1 pod runs\n";

#[test]
fn a_mistake_is_exit_2_from_lint_and_from_test_and_starts_nothing() {
    let folder = with_feature(&GOOD.replace("Then 1 pod runs", "Then 1 pod flies"));
    for command in ["lint", "test", "matrix"] {
        let ran = sliceproof(folder.path(), &[command]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(
            ran.err
                .contains("scenarios/a.feature:5: no step is defined"),
            "{}",
            ran.err
        );
        assert!(ran.err.contains("the nearest known step is"), "{}", ran.err);
        assert!(ran.err.contains("nothing was started"), "{}", ran.err);
        assert!(ran.out.is_empty(), "{}", ran.out);
    }
    assert!(!folder.path().join("target").exists());
}

#[test]
fn paths_that_give_nothing_are_exit_2() {
    let folder = tempfile::tempdir().expect("a folder");
    for (args, says) in [
        (&["test"][..], "no folder scenarios/ here"),
        (
            &["test", "nowhere/"][..],
            "there is no file or folder nowhere/",
        ),
        (
            &["lint", "nowhere.feature"][..],
            "there is no file or folder nowhere.feature",
        ),
        (&["lint", "."][..], "holds no .feature file"),
    ] {
        let ran = sliceproof(folder.path(), args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(says), "{args:?}: {}", ran.err);
    }
}

#[test]
fn an_empty_selection_is_exit_4_and_a_wrong_one_exit_2() {
    let folder = with_feature(GOOD);
    for args in [
        &["test", "--tags", "@nope"][..],
        &["test", "--name", "nope"][..],
        &["matrix", "--tags", "@nope"][..],
        &["lint", "--tags", "not @a"][..],
    ] {
        let ran = sliceproof(folder.path(), args);
        assert_eq!(ran.code, 4, "{args:?}: {}", ran.err);
        assert!(ran.err.contains("nothing to run"), "{}", ran.err);
    }
    for args in [
        &["test", "--tags", "a b"][..],
        &["test", "--name", "("][..],
        &["test", "--nope"][..],
        &["test", "--gates", "beta"][..],
        &["matrix", "--gates", "ga,beta"][..],
        &["test", "--kubernetes", "1.33"][..],
        &["matrix", "--kubernetes", "1.33"][..],
        &["nope"][..],
    ] {
        let ran = sliceproof(folder.path(), args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
    }
}

#[test]
fn lists_go_to_standard_output() {
    let ran = sliceproof(
        root(),
        &["test", "scenarios/", "--list", "--tags", "@smoke"],
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out
            .contains("partitioning/seven-in-a-card::seven small jobs run"),
        "{}",
        ran.out
    );
    let ran = sliceproof(root(), &["lint", "scenarios/"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("nothing wrong"), "{}", ran.out);
    let ran = sliceproof(root(), &["steps"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.out.contains("claims, counters and the card agree"),
        "{}",
        ran.out
    );
    let ran = sliceproof(root(), &["--version"]);
    assert_eq!(ran.code, 0);
    for word in [
        "sliceproof",
        "kube-apiserver",
        "1.37.2",
        "gpu-kubelet-plugin",
        "0.4.1",
    ] {
        assert!(ran.out.contains(word), "{word} is missing in {}", ran.out);
    }
}

#[test]
fn cards_that_do_not_exist_and_clusters_that_do_not_run_are_said_before_anything_starts() {
    let folder = tempfile::tempdir().expect("a folder");
    for (args, says) in [
        (&["up", "--gpu", "A100-SXM-40GB"][..], "A100-SXM4-40GB"),
        (&["up", "--gpu", "L4*0"][..], "0"),
        (&["up", "--nodes", "0"][..], "0"),
        (
            &["up", "--name", "Not_A_Name"][..],
            "cannot be a cluster's name",
        ),
        (&["down", "nobody"][..], "no cluster named nobody"),
        (
            &["kubectl", "--name", "nobody", "get", "pods"][..],
            "no cluster named nobody",
        ),
        (
            &["explain", "claim", "--name", "nobody"][..],
            "no cluster named nobody",
        ),
        (
            &["inspect", "slices", "--kubeconfig", "nowhere"][..],
            "cannot use the kubeconfig nowhere",
        ),
        (
            &["explain", "c", "--name", "a", "--kubeconfig", "b"][..],
            "cannot be used with",
        ),
    ] {
        let ran = sliceproof(folder.path(), args);
        assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(says), "{args:?}: {}", ran.err);
    }
    let ran = sliceproof(folder.path(), &["status"]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("no cluster is running"), "{}", ran.out);
}
