//! What `ensure` promises: built once, found ever after, safe against other runs and against a kill at any time.
#![forbid(unsafe_code)]

mod support;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use components::{Catalog, Host, Overrides, State};
use support::{Lab, Outcome, Told, read};

#[test]
fn each_group_is_one_build_with_the_modules_own_toolchain_and_flags() -> Outcome {
    let lab = Lab::new()?;
    let told = Told::default();
    let installed = lab.catalog()?.ensure_all(&told)?;

    assert_eq!(installed.components().count(), 6);
    assert_eq!(
        read(installed.path("beta")?),
        "program example.org/tools/cmd/beta\n"
    );
    let builds = lab.calls(&["go build"]);
    assert_eq!(builds.len(), 2, "{builds:#?}");
    for part in [
        "-trimpath",
        "-tags=no_x,no_y",
        "-ldflags=-s -X a.b=c",
        "/cmd/alpha example.org/tools/cmd/beta |",
        // The user's `local` and `-mod=mod` do not hold here, the user's proxy does.
        "GOTOOLCHAIN=go1.26.8",
        "GOFLAGS=-mod=readonly",
        "GOWORK=off",
        "CGO_ENABLED=0",
        "GOPROXY=https://proxy.example",
    ] {
        assert!(builds[0].contains(part), "{part:?} is not in {}", builds[0]);
    }
    assert!(
        builds[1].contains("/cmd/gamma |") && builds[1].contains("CGO_ENABLED=1"),
        "{}",
        builds[1]
    );
    assert!(
        told.has("building alpha and beta") && told.has("Finished"),
        "no progress"
    );
    assert_eq!(installed.get("box")?.origin, "deb box-static 1.2-3");
    assert_eq!(installed.get("alpha")?.origin, "go go1.26.8");
    assert!(lab.cached("work").is_empty());
    Ok(())
}

#[test]
fn the_second_run_needs_no_tool_and_does_no_work() -> Outcome {
    let lab = Lab::new()?;
    let first = lab.catalog()?.ensure_all(&Told::default())?;
    let calls = lab.calls(&[]).len();
    let began = Instant::now();
    let second = lab.bare_catalog()?.ensure_all(&Told::default())?;
    let took = began.elapsed();
    assert_eq!(first, second);
    assert_eq!(lab.calls(&[]).len(), calls);
    assert!(took < Duration::from_millis(200), "took {took:?}");
    Ok(())
}

#[test]
fn a_read_only_cache_serves_what_it_has() -> Outcome {
    use std::os::unix::fs::PermissionsExt;
    let lab = Lab::new()?;
    lab.catalog()?.ensure_all(&Told::default())?;
    let entries = lab.path("cache/sliceproof/components/entries");
    std::fs::set_permissions(&entries, std::fs::Permissions::from_mode(0o555))?;
    let again = lab.bare_catalog()?.ensure_all(&Told::default());
    std::fs::set_permissions(&entries, std::fs::Permissions::from_mode(0o755))?;
    assert_eq!(again?.components().count(), 6);
    Ok(())
}

#[test]
fn another_input_is_another_build() -> Outcome {
    let lab = Lab::new()?;
    let before = lab.catalog()?.ensure(&["alpha"], &Told::default())?;
    for (file, text) in [
        (
            "lock/go/tools/go.sum",
            "example.org/tools v1.2.3 h1:other=\n".to_owned(),
        ),
        (
            "lock/go/tools/go.mod",
            support::GO_MOD.replace("go1.26.8", "go1.26.9"),
        ),
        (
            "lock/components.lock",
            support::LOCK.replace("no_y", "no_z"),
        ),
    ] {
        lab.write(file, &text)?;
        let builds = lab.calls(&["go build"]).len();
        let after = lab.catalog()?.ensure(&["alpha"], &Told::default())?;
        assert_ne!(before.path("alpha")?, after.path("alpha")?, "{file}");
        assert_eq!(lab.calls(&["go build"]).len(), builds + 1, "{file}");
    }
    assert_eq!(lab.calls(&["go build", "GOTOOLCHAIN=go1.26.9"]).len(), 2);
    Ok(())
}

/// The lock of the lab with a component that is files of a module.
fn with_files(lab: &Lab, files: &str) -> std::io::Result<()> {
    let component = format!(
        "[component.papers]\nversion = \"1.2.3\"\npurpose = \"files\"\ngo = {{ module = \"tools\", package = \"example.org/tools\", files = {files} }}\n"
    );
    lab.write(
        "lock/components.lock",
        &format!("{}{component}", support::LOCK),
    )?;
    lab.write("modcache/crd/b.yaml", "kind: B\n")?;
    lab.write("modcache/crd/a.yaml", "kind: A\n\n")?;
    lab.write("modcache/hook.yaml", "kind: Hook")
}

#[test]
fn files_of_a_module_are_one_component_and_nothing_is_built_for_them() -> Outcome {
    let lab = Lab::new()?;
    with_files(&lab, r#"["crd", "hook.yaml"]"#)?;
    let installed = lab.catalog()?.ensure(&["papers"], &Told::default())?;
    assert_eq!(
        read(installed.path("papers")?),
        "---\nkind: A\n---\nkind: B\n---\nkind: Hook\n"
    );
    assert!(lab.calls(&["go build"]).is_empty());
    assert_eq!(
        lab.calls(&["go mod download", "GOFLAGS=-mod=readonly"])
            .len(),
        1
    );
    // Beside a program of the same module, and another list of files is another component.
    with_files(&lab, r#"["hook.yaml"]"#)?;
    let again = lab
        .catalog()?
        .ensure(&["papers", "alpha"], &Told::default())?;
    assert_eq!(read(again.path("papers")?), "---\nkind: Hook\n");
    let builds = lab.calls(&["go build"]);
    assert!(
        builds.len() == 1 && builds[0].contains("/cmd/alpha |"),
        "{builds:#?}"
    );
    Ok(())
}

#[test]
fn a_file_that_the_module_lacks_is_named() -> Outcome {
    let lab = Lab::new()?;
    with_files(&lab, r#"["crd", "gone.yaml"]"#)?;
    let refused = lab.catalog()?.ensure(&["papers"], &Told::default());
    let text = refused.err().map(|error| error.to_string());
    assert!(
        text.as_deref()
            .is_some_and(|it| it.contains("papers") && it.contains("gone.yaml")),
        "{text:?}"
    );
    Ok(())
}

#[test]
fn only_what_is_missing_is_built() -> Outcome {
    let lab = Lab::new()?;
    lab.catalog()?.ensure(&["alpha"], &Told::default())?;
    lab.catalog()?
        .ensure(&["alpha", "beta"], &Told::default())?;
    let builds = lab.calls(&["go build"]);
    assert!(
        builds.len() == 2 && !builds[1].contains("/cmd/alpha"),
        "{builds:#?}"
    );
    Ok(())
}

#[test]
fn a_damaged_program_is_never_given_out() -> Outcome {
    let lab = Lab::new()?;
    let installed = lab.catalog()?.ensure(&["alpha"], &Told::default())?;
    std::fs::write(installed.path("alpha")?, "prog")?;
    assert!(lab.catalog()?.path("alpha").is_err());
    let told = Told::default();
    let again = lab.catalog()?.ensure(&["alpha"], &told)?;
    assert_eq!(
        read(again.path("alpha")?),
        "program example.org/tools/cmd/alpha\n"
    );
    assert!(told.has("alpha: the cached program is damaged (its program has 4 bytes, not 36)"));
    Ok(())
}

#[test]
fn ones_own_programs_take_the_place_of_the_locks() -> Outcome {
    let lab = Lab::new()?;
    lab.program("mine", "#!/bin/sh\n")?;
    let mine = lab.path("mine").canonicalize()?;
    let catalog = lab
        .bare_catalog()?
        .with_overrides(Overrides::from_args([format!("alpha={}", mine.display())])?)?;
    let installed = catalog.ensure(&["alpha", "own"], &Told::default())?;
    assert_eq!(installed.path("alpha")?, mine);
    assert_eq!(installed.get("alpha")?.version, "own");
    assert_eq!(installed.path("own")?, lab.path("lock/own").canonicalize()?);
    assert_eq!(installed.get("own")?.version, "7");

    let vars = lab
        .vars()
        .into_iter()
        .chain([("SLICEPROOF_COMPONENT_BETA", mine.clone().into())]);
    let catalog = Catalog::open_on(&lab.path("lock/components.lock"), Host::with_vars(vars))?;
    assert_eq!(catalog.path("beta")?, mine);
    Ok(())
}

#[test]
fn runs_at_the_same_time_build_once() -> Outcome {
    let lab = Lab::new()?;
    lab.write("build.sh", "sleep 0.4\n")?;
    let runs = (0..4)
        .map(|_| other_run(&lab))
        .collect::<std::io::Result<Vec<_>>>()?;
    for mut run in runs {
        assert!(run.wait()?.success());
    }
    let builds = lab.calls(&["go build"]);
    assert_eq!(builds.len(), 2, "{builds:#?}");
    assert_eq!(lab.calls(&["apt-get", "download"]).len(), 1);
    assert_eq!(
        lab.bare_catalog()?
            .ensure_all(&Told::default())?
            .components()
            .count(),
        6
    );
    assert!(lab.cached("work").is_empty());
    Ok(())
}

#[test]
fn a_run_killed_in_the_middle_leaves_nothing_that_is_used_or_goes_on() -> Outcome {
    let lab = Lab::new()?;
    // Half of a program lies in the output folder when the kill comes.
    lab.write("build.sh", "echo $$ > \"$LAB/pid\"\nfor last in \"$@\"; do :; done\necho half > ../out/${last##*/}\ntouch \"$LAB/begun\"\nsleep 60\n")?;
    let mut run = other_run(&lab)?;
    until("the build began", || lab.path("begun").exists())?;
    run.kill()?;
    run.wait()?;

    let pid = read(&lab.path("pid")).trim().to_owned();
    until("the killed run's build ended", || {
        !std::path::Path::new("/proc").join(&pid).exists()
    })?;
    assert_eq!(
        lab.cached("entries").len(),
        2,
        "only box and snake were whole: {:?}",
        lab.cached("entries")
    );
    assert!(lab.bare_catalog()?.path("alpha").is_err());
    assert_eq!(lab.cached("work").len(), 2, "the half build and its lock");

    lab.remove("build.sh")?;
    let installed = lab.catalog()?.ensure_all(&Told::default())?;
    assert_eq!(
        read(installed.path("beta")?),
        "program example.org/tools/cmd/beta\n"
    );
    assert!(
        lab.cached("work").is_empty(),
        "what the killed run left is swept"
    );
    Ok(())
}

/// Not a test of its own: the other process of the tests above, which start this very program again.
#[test]
fn other_process() -> Outcome {
    if std::env::var_os("OTHER_RUN").is_some() {
        let lock = std::path::PathBuf::from(std::env::var("LAB")?).join("lock/components.lock");
        Catalog::open(&lock)?.ensure_all(&Told::default())?;
    }
    Ok(())
}

fn other_run(lab: &Lab) -> std::io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(["--exact", "other_process"])
        .env_clear()
        .envs(lab.vars())
        .env("OTHER_RUN", "1")
        .stdout(Stdio::null())
        .spawn()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) -> Outcome {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > Duration::from_secs(10) {
            return Err(format!("not after 10 s: {what}").into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

#[test]
fn a_python_program_finds_its_environment_and_misses_it() -> Outcome {
    let lab = Lab::new()?;
    let path = lab
        .catalog()?
        .ensure(&["snake"], &Told::default())?
        .path("snake")?
        .to_owned();
    // A second run asks no tool.
    let calls = lab.calls(&["python3"]).len();
    lab.bare_catalog()?.ensure(&["snake"], &Told::default())?;
    assert_eq!(lab.calls(&["python3"]).len(), calls);
    // Wherever the cache is moved, the program starts the Python beside itself.
    let python = path.with_file_name("venv").join("bin/python3");
    assert!(read(&path).contains("exec \"${0%/*}/venv/bin/python3\" -I -m snake \"$@\""));
    // The Python of the system was removed: the environment is made anew.
    std::fs::remove_file(&python)?;
    let told = Told::default();
    lab.catalog()?.ensure(&["snake"], &told)?;
    assert!(told.has("venv/bin/python3 is gone") && python.exists());
    // An edited package shows when every byte is read.
    std::fs::write(&python, "edited")?;
    let listed = lab.catalog()?.list(true)?;
    let snake = listed.iter().find(|listed| listed.name == "snake");
    assert!(
        snake.is_some_and(|snake| matches!(&snake.state, State::Damaged(why) if why.contains("not as it was put there"))),
        "{snake:?}"
    );
    Ok(())
}
