//! Builds the NVML library and nvidia-smi for carrying, with a cargo and a target folder of their own.
//! Needed because cargo can not yet make one package's cdylib or program an input of another on stable.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Rooms whose change makes a new payload.
/// Not the catalogue: what is carried has no models in it, they come by the state file.
const SOURCES: [&str; 5] = ["model", "store", "abi", "smi", "client"];

fn main() {
    let manifest = PathBuf::from(var("CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(var("OUT_DIR"));
    let rooms = parent(&manifest);
    let workspace = parent(rooms);
    for room in SOURCES {
        for part in ["src", "build.rs", "Cargo.toml"] {
            rerun_if_changed(&rooms.join(room).join(part));
        }
    }
    for file in ["Cargo.lock", "Cargo.toml"] {
        rerun_if_changed(&workspace.join(file));
    }
    println!("cargo::rerun-if-env-changed=GPU_HOST_PAYLOAD");

    // A packager who builds for another machine hands the two files in.
    let built = match env::var_os("GPU_HOST_PAYLOAD") {
        Some(dir) => PathBuf::from(dir),
        None => build(workspace, &target_dir(&out)),
    };
    for (from, to) in [
        ("libnvidia_ml.so", "libnvidia-ml.so"),
        ("nvidia-smi", "nvidia-smi"),
        ("nvml-probe", "nvml-probe"),
    ] {
        let from = built.join(from);
        if let Err(e) = fs::copy(&from, out.join(to)) {
            fail(&format!("cannot copy {}: {e}", from.display()));
        }
    }
}

fn build(workspace: &Path, target: &Path) -> PathBuf {
    // The library alone and as a cdylib only: with an rlib beside it cargo leaves out link-time optimisation.
    let payload = ["--profile", "payload"];
    let library = ["--package", "nvml-abi", "--lib", "--crate-type", "cdylib"];
    let programs = [
        "--package",
        "nvidia-smi",
        "--package",
        "nvml-client",
        "--bins",
    ];
    cargo(
        workspace,
        target,
        &[&["rustc"], &payload[..], &library].concat(),
    );
    cargo(
        workspace,
        target,
        &[&["build"], &payload[..], &programs].concat(),
    );
    target.join("payload")
}

fn cargo(workspace: &Path, target: &Path, args: &[&str]) {
    let mut cargo = Command::new(var("CARGO"));
    cargo.current_dir(workspace).args(args);
    // Only what a person may have set for every build goes on; what this build set for its own compiler does not.
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(|name| !passed_on(name)) {
            cargo.env_remove(&name);
        }
    }
    cargo.env("CARGO_TARGET_DIR", target);
    let output = match cargo.output() {
        Ok(output) => output,
        Err(e) => fail(&format!("cannot run {cargo:?}: {e}")),
    };
    if !output.status.success() {
        fail(&format!(
            "building what gpu-host carries failed: {}\n{}\nRepeat it with: cargo {}",
            output.status,
            String::from_utf8_lossy(&output.stderr),
            args.join(" ")
        ));
    }
}

fn passed_on(name: &str) -> bool {
    const COMPILER: [&str; 12] = [
        "RUSTC",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTFLAGS",
        "RUSTDOC",
        "RUSTDOCFLAGS",
        "TARGET",
        "HOST",
        "PROFILE",
        "OPT_LEVEL",
        "DEBUG",
        "OUT_DIR",
        "NUM_JOBS",
    ];
    const SETTINGS: [&str; 6] = [
        "CARGO_NET_",
        // A quicker payload for someone who changes it every minute.
        "CARGO_PROFILE_PAYLOAD_",
        "CARGO_HTTP_",
        "CARGO_REGISTRIES_",
        "CARGO_REGISTRY_",
        "CARGO_SOURCE_",
    ];
    if ["CARGO_HOME", "CARGO_MAKEFLAGS"].contains(&name)
        || SETTINGS.iter().any(|prefix| name.starts_with(prefix))
    {
        return true;
    }
    !COMPILER.contains(&name)
        && !["CARGO", "DEP_", "CLIPPY_"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// One folder for all profiles and commands of the outer build, beside them: `<target>/carried`.
fn target_dir(out: &Path) -> PathBuf {
    // OUT_DIR is <target>/[<triple>/]<profile>/build/<package>-<hash>/out.
    out.ancestors()
        .find(|dir| dir.file_name().is_some_and(|name| name == "build"))
        .and_then(Path::parent)
        .and_then(Path::parent)
        .map_or_else(|| out.join("carried"), |target| target.join("carried"))
}

fn rerun_if_changed(path: &Path) {
    // A path that is not there would make cargo run this script each time.
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

fn parent(path: &Path) -> &Path {
    path.parent()
        .unwrap_or_else(|| fail(&format!("{} has no parent folder", path.display())))
}

fn var(name: &str) -> String {
    env::var(name).unwrap_or_else(|e| fail(&format!("{name}: {e}")))
}

fn fail(why: &str) -> ! {
    for line in why.lines() {
        println!("cargo::error={line}");
    }
    std::process::exit(1);
}
