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

const CLAIM: &str = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\nspec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}\n";

#[test]
fn manifests_are_linted_beside_features_and_without_them() {
    let folder = with_feature(GOOD);
    let write =
        |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    write(
        "good.yaml",
        &format!("{CLAIM}---\napiVersion: v1\nkind: Service\nmetadata: {{name: s}}\n"),
    );
    write("bad.yml", &CLAIM.replace("exactly", "exactyl"));
    let ran = sliceproof(folder.path(), &["lint", "good.yaml"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out
            .starts_with("1 manifest with 1 object for Kubernetes 1.37, nothing wrong"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("1 Service"), "{}", ran.out);
    let ran = sliceproof(
        folder.path(),
        &["lint", "scenarios", "good.yaml", "--kubernetes", "1.34"],
    );
    assert!(
        ran.out
            .starts_with("1 scenario and 1 manifest with 1 object for Kubernetes 1.34"),
        "{}{}",
        ran.out,
        ran.err
    );
    let ran = sliceproof(
        folder.path(),
        &["lint", "scenarios", "good.yaml", "bad.yml"],
    );
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("bad.yml:4:41: "), "{}", ran.err);
    assert!(ran.err.contains("did you mean `exactly`?"), "{}", ran.err);
    write(
        "taints.json",
        "{\"apiVersion\": \"resource.k8s.io/v1\", \"kind\": \"DeviceTaintRule\", \"metadata\": {\"name\": \"r\"}, \"spec\": {\"deviceSelector\": {\"driver\": \"a.b\"}, \"taint\": {\"key\": \"a\", \"effect\": \"NoSchedule\"}}}",
    );
    for (args, code) in [
        (&["--kubernetes", "1.37"][..], 0),
        (&["--kubernetes", "1.36"][..], 2),
        (&["--kubernetes", "1.33"][..], 2),
        (&["--gates", "ga"][..], 0),
    ] {
        let ran = sliceproof(
            folder.path(),
            &[&["lint", "taints.json"][..], args].concat(),
        );
        assert_eq!(ran.code, code, "{args:?}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn what_is_no_manifest_is_one_clear_error_and_exit_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(name), bytes).expect("written")
    };
    write("empty.yaml", b"");
    write("broken.yaml", b"a: [1\nb: 2\n");
    write("bytes.yaml", b"kind: Pod\nname: \xff\xfe\n");
    write("other.yaml", b"services: {web: {image: x}}\n");
    std::fs::create_dir(folder.path().join("folder.yaml")).expect("made");
    for (name, says) in [
        ("nowhere.yaml", "there is no manifest nowhere.yaml"),
        ("empty.yaml", "holds no object"),
        ("broken.yaml", "this is not YAML"),
        ("bytes.yaml", "byte 16 is not UTF-8"),
        ("other.yaml", "has no apiVersion and kind"),
        ("folder.yaml", "is a folder"),
    ] {
        let ran = sliceproof(folder.path(), &["lint", name]);
        assert_eq!(ran.code, 2, "{name}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(says), "{name}: {}", ran.err);
        assert!(
            ran.err.matches(name).count() <= 2,
            "more than one word about {name}: {}",
            ran.err
        );
    }
}

#[test]
fn features_are_brought_into_form_and_said_to_be_when_they_are() {
    let folder =
        with_feature("Feature: f\nScenario: s\n  Given a node with 1 \"L4\"\n  Then 1 pod runs");
    let path = folder.path().join("scenarios/a.feature");
    let before = std::fs::read_to_string(&path).expect("read");
    let ran = sliceproof(folder.path(), &["fmt", "--check"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (1, "scenarios/a.feature is not in form\n"),
        "{}",
        ran.err
    );
    assert_eq!(std::fs::read_to_string(&path).expect("read"), before);
    let ran = sliceproof(folder.path(), &["fmt"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(
        std::fs::read_to_string(&path).expect("read"),
        "Feature: f\n\n  Scenario: s\n    Given a node with 1 \"L4\"\n    Then 1 pod runs\n"
    );
    let ran = sliceproof(folder.path(), &["fmt", "--check", "scenarios/a.feature"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    std::fs::write(&path, "Feature: f\n  Scenario: s\n    Thne 1 pod runs\n").expect("written");
    for args in [&["fmt"][..], &["fmt", "nowhere"][..], &["fmt", "."][..]] {
        let ran = sliceproof(folder.path(), args);
        assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
    }
    assert!(
        std::fs::read_to_string(&path)
            .expect("read")
            .contains("Thne")
    );
}

#[test]
fn a_new_scenario_lints_clean_is_in_form_and_overwrites_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let ran = sliceproof(folder.path(), &["new", "scenario", "layouts/my-first"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("scenarios/layouts/my-first.feature"),
        "{}",
        ran.out
    );
    for args in [&["lint"][..], &["fmt", "--check"][..]] {
        let ran = sliceproof(folder.path(), args);
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.out, ran.err);
    }
    let path = folder.path().join("scenarios/layouts/my-first.feature");
    std::fs::write(&path, "mine").expect("written");
    for args in [
        &["new", "scenario", "layouts/my-first"][..],
        &["new", "scenario", "../out"][..],
        &["new", "scenario", ""][..],
    ] {
        let ran = sliceproof(folder.path(), args);
        assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
    }
    assert_eq!(std::fs::read_to_string(&path).expect("read"), "mine");
    let ran = sliceproof(folder.path(), &["new", "settings"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    std::fs::write(folder.path().join(".vscode/settings.json"), "mine").expect("written");
    assert_eq!(sliceproof(folder.path(), &["new", "settings"]).code, 2);
    assert_eq!(
        sliceproof(folder.path(), &["new", "settings", "--steps-only"]).code,
        0
    );
    assert_eq!(
        std::fs::read_to_string(folder.path().join(".vscode/settings.json")).expect("read"),
        "mine"
    );
}

#[test]
fn steps_that_nobody_uses_are_listed() {
    let folder = with_feature(GOOD);
    let ran = sliceproof(folder.path(), &["steps", "--unused"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        !ran.out.contains("Given a node with {count} {model}  "),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("claims, counters and the card agree"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("steps are not used by 1 scenarios"),
        "{}",
        ran.out
    );
    assert_eq!(sliceproof(folder.path(), &["steps", "nowhere"]).code, 2);
    assert_eq!(
        sliceproof(folder.path(), &["steps", "--unused", "nowhere"]).code,
        2
    );
}

#[test]
fn every_feature_is_in_form_and_on_the_page() {
    let ran = sliceproof(root(), &["fmt", "--check"]);
    assert_eq!(ran.code, 0, "cargo sliceproof fmt\n{}{}", ran.out, ran.err);
    let ran = sliceproof(root(), &["docs"]);
    let page = std::fs::read_to_string(root().join("docs/scenarios.md")).expect("the page");
    assert!(ran.out == page, "cargo sliceproof docs > docs/scenarios.md");
}
