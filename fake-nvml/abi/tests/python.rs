//! The library under NVIDIA's own Python binding, nvidia-ml-py.
//! Reported as ignored, with the reason, where there is no Python to run it.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Trial};
use support::Node;

const BINDING: &str = "nvidia-ml-py==13.615.71";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let unable = unable();
    let trial = |name: &str, test: fn() -> Result<(), libtest_mimic::Failed>| match unable {
        None => Trial::test(name, test),
        Some(why) => Trial::test(format!("{name} (not run: {why})"), test).with_ignored_flag(true),
    };
    let trials = vec![
        trial("nvidia_ml_py_works_over_the_library", works),
        trial("layouts_are_those_of_nvidia_ml_py", layouts),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Why there is no Python to run the binding.
fn unable() -> Option<&'static str> {
    let runs = |arguments: &[&str]| {
        Command::new("python3")
            .args(arguments)
            .output()
            .is_ok_and(|output| output.status.success())
    };
    if !runs(&["--version"]) {
        Some("there is no python3")
    } else if !runs(&["-m", "pip", "--version"]) {
        Some("python3 has no pip")
    } else {
        None
    }
}

/// The binding's folder, filled by the first run.
fn binding() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(BINDING.replace("==", "-"));
    if folder.join("pynvml.py").exists() {
        return Ok(folder);
    }
    let fresh = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).map_err(|e| e.to_string())?;
    run(Command::new("python3")
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--disable-pip-version-check",
            "--target",
        ])
        .arg(fresh.path())
        .arg(BINDING))?;
    // Two runs at once make the same folder: the one that comes second leaves it as it is.
    let _ = std::fs::rename(fresh.path(), &folder);
    Ok(folder)
}

fn works() -> Result<(), libtest_mimic::Failed> {
    let node = Node::new("1xA100-SXM4-40GB,1xH100-SXM5-80GB,1xL4");
    std::os::unix::fs::symlink(node.library(), node.folder().join("libnvidia-ml.so.1"))?;
    let said = run(Command::new("python3")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python.py"))
        .env("PYTHONPATH", binding()?)
        .env("LD_LIBRARY_PATH", node.folder())
        .env("FAKEGPU_VISIBLE", "all"))?;
    if said.trim() != "all as it should be" {
        return Err(format!("it said: {said}").into());
    }
    Ok(())
}

/// The table that our structs are compared with says what ctypes makes of the binding.
fn layouts() -> Result<(), libtest_mimic::Failed> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let now = run(Command::new("python3")
        .arg(data.join("derive.py"))
        .arg("--python-layouts")
        .arg(binding()?.join("pynvml.py")))?;
    let kept = std::fs::read_to_string(data.join("layouts-nvidia-ml-py.tsv"))?;
    let rows = |text: &str| -> Vec<String> {
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        rows.map(str::to_owned).collect()
    };
    if rows(&now) != rows(&kept) {
        return Err("data/layouts-nvidia-ml-py.tsv is out of step: run data/derive.py".into());
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(said(&output.stdout))
    } else {
        Err(format!(
            "{command:?}: {}\n{}{}",
            output.status,
            said(&output.stdout),
            said(&output.stderr)
        ))
    }
}
