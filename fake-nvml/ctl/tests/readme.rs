//! The commands of fake-nvml/README.md, run as they stand, in order, in one empty folder.
mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{blocks, program};

const README: &str = include_str!("../../README.md");

#[test]
fn every_command_of_the_readme_works() {
    let folder = tempfile::tempdir().expect("a folder");
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).expect("a folder");
    std::os::unix::fs::symlink(program(), bin.join("fakegpu")).expect("a link");
    let path = format!(
        "{}:{}",
        bin.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let (mut ran, mut commands) = (String::new(), 0);
    for (kind, block) in blocks(README) {
        match kind.as_str() {
            "c" => fs::write(folder.path().join("first.c"), block).expect("written"),
            "yaml" => fs::write(folder.path().join("plan.yaml"), block).expect("written"),
            "sh install" => installs(&block),
            "sh" => {
                let output = Command::new("sh")
                    .args(["-ec", &block])
                    .current_dir(folder.path())
                    .env("PATH", &path)
                    .env_remove("FAKEGPU_STATE")
                    .output()
                    .expect("a shell");
                assert!(output.status.success(), "{block}\n{output:?}");
                ran += &String::from_utf8_lossy(&output.stdout);
                commands += block.lines().count();
            }
            other => panic!("what is a block of `{other}`?"),
        }
    }
    assert!(commands >= 20, "only {commands} commands were found");
    for said in [
        "GPU 2: NVIDIA L4 (UUID: GPU-",
        "  MIG 3g.40gb     Device  0: (UUID: MIG-",
        "GPU 7: NVIDIA A100-SXM4-40GB",
        "\nNVIDIA L4\n",
        " equal, 0 differ;",
        "A100-SXM4-40GB is a good model",
    ] {
        assert!(ran.contains(said), "`{said}` in:\n{ran}");
    }
}

/// Building it anew takes minutes: here, that what is named is a package with the program `fakegpu`, and the script is there.
fn installs(block: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (_, place) = block
        .split_once("cargo install --locked --path ")
        .expect("an install");
    let manifest =
        fs::read_to_string(root.join(place.trim()).join("Cargo.toml")).expect("a package");
    assert!(manifest.contains("name = \"fakegpu\""), "{manifest}");
    assert!(README.contains("fake-nvml/release.sh"));
    assert!(root.join("fake-nvml/release.sh").exists());
}
