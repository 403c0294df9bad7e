//! What each program shows of each node. The snapshots were read by a person before they were kept; where one changes, read it again.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

use programs::node::{A100, ALL, CUT, H100, L4, MIXED, Node, Shape};
use programs::redact::redact;
use programs::run::{have, run};
use programs::screen;

type Outcome = Result<(), Box<dyn Error>>;

const ENTER: &str = env!("CARGO_BIN_EXE_on-node");

/// Runs a program on a node; its standard output.
fn shown(shape: &Shape, program: &Path, args: &[&str]) -> Result<String, Box<dyn Error>> {
    let node = Node::lay(shape)?;
    Ok(run(Path::new(ENTER), &node, program, args)?.good(program, &node)?)
}

#[test]
fn gpustat() -> Outcome {
    let program = have("gpustat")?;
    for shape in &ALL {
        let text = shown(shape, &program, &["--show-all", "--no-color"])?;
        insta::assert_snapshot!(format!("gpustat__{}", shape.name), redact(&text));
    }
    Ok(())
}

#[test]
fn nvitop() -> Outcome {
    let program = have("nvitop")?;
    for shape in &ALL {
        let text = shown(shape, &program, &["--once"])?;
        insta::assert_snapshot!(format!("nvitop__{}", shape.name), redact(&text));
    }
    Ok(())
}

#[test]
fn nvtop() -> Outcome {
    let program = have("nvtop")?;
    for shape in [&A100, &CUT, &MIXED] {
        let node = Node::lay(shape)?;
        let cards = programs::node::machine(shape)?.gpus.len();
        let last = format!("Device {}", cards - 1);
        let screen = screen::of(Path::new(ENTER), &node, &program, &["-C", "-p"], |screen| {
            screen.contains(&last) && screen.contains("POW")
        })?;
        insta::assert_snapshot!(format!("nvtop__{}", shape.name), redact(&screen));
    }
    Ok(())
}

#[test]
fn go_nvml_and_go_nvlib() -> Outcome {
    let program = have("nvml-view")?;
    for shape in &ALL {
        let text = shown(shape, &program, &[])?;
        insta::assert_snapshot!(format!("nvml-view__{}", shape.name), compact(&text));
    }
    Ok(())
}

/// The innermost lists of a JSON text on one line each.
fn compact(json: &str) -> String {
    let mut text = String::new();
    for line in json.lines() {
        let inner = line.trim_start();
        if text.ends_with('[') || text.ends_with(',') && line.len() - inner.len() >= 5 {
            text.push_str(if text.ends_with('[') { "" } else { " " });
            text.push_str(inner);
        } else if line.len() - inner.len() >= 4 && inner.starts_with([']', '}']) {
            text.push_str(inner);
        } else {
            text.push('\n');
            text.push_str(line);
        }
    }
    text.trim_start().to_owned()
}

#[test]
fn nvml_wrapper() -> Outcome {
    let program = Path::new(env!("CARGO_BIN_EXE_nvml-wrapper-view"));
    for shape in &ALL {
        insta::assert_snapshot!(
            format!("nvml-wrapper__{}", shape.name),
            shown(shape, program, &[])?
        );
    }
    Ok(())
}

#[test]
fn nvidia_ctk_makes_cdi_files() -> Outcome {
    let program = have("nvidia-ctk")?;
    let hook = "--nvidia-cdi-hook-path=/usr/bin/nvidia-cdi-hook";
    for shape in [&A100, &CUT, &L4] {
        let text = shown(shape, &program, &["cdi", "generate", hook])?;
        insta::assert_snapshot!(format!("nvidia-ctk__{}", shape.name), text);
    }
    Ok(())
}

#[test]
fn gpu_feature_discoverys_labels() -> Outcome {
    let program = have("gpu-feature-discovery")?;
    // Of cards of several models it labels one, not always the same: it goes through a map.
    for shape in [&A100, &CUT, &H100] {
        for strategy in ["none", "single", "mixed"] {
            let node = Node::lay(shape)?;
            let (file, machine) = (node.dir().join("gfd"), node.dir().join("machine"));
            std::fs::write(&machine, "a fake node\n")?;
            let args = [
                "--oneshot",
                "--no-timestamp",
                "--mig-strategy",
                strategy,
                "--machine-type-file",
                &machine.to_string_lossy(),
                "--output-file",
                &file.to_string_lossy(),
            ];
            run(Path::new(ENTER), &node, &program, &args)?.good(&program, &node)?;
            let labels = std::fs::read_to_string(&file)?;
            let sorted: BTreeSet<&str> = labels.lines().collect();
            let sorted: Vec<&str> = sorted.into_iter().collect();
            insta::assert_snapshot!(
                format!("gfd__{}__{strategy}", shape.name),
                sorted.join("\n")
            );
        }
    }
    Ok(())
}
