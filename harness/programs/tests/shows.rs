//! What each program shows of each node. The snapshots were read by a person before they were kept; where one changes, read it again.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::process::{Child, Command};

use programs::node::{A100, ALL, CUT, H100, L4, MIXED, Node, Shape};
use programs::redact::{of_process, redact};
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

/// A real process for the viewers to look at: they take its user, times and command from the kernel.
struct Sleeper(Child);

impl Sleeper {
    fn start() -> std::io::Result<Self> {
        Command::new("sleep").arg("600").spawn().map(Self)
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn viewers_show_a_process_at_work() -> Outcome {
    let sleeper = Sleeper::start()?;
    let pid = sleeper.0.id();
    let node = Node::at_work(pid, "sleep")?;
    let enter = Path::new(ENTER);
    let said = |program: &Path, args: &[&str]| -> Result<String, Box<dyn Error>> {
        let text = run(enter, &node, program, args)?.good(program, &node)?;
        Ok(redact(&of_process(&text, pid)))
    };
    let gpustat = said(&have("gpustat")?, &["--show-all", "--no-color"])?;
    insta::assert_snapshot!("gpustat__at-work", gpustat);
    insta::assert_snapshot!("nvitop__at-work", said(&have("nvitop")?, &["--once"])?);
    let view = said(&have("nvml-view")?, &[])?;
    insta::assert_snapshot!("nvml-view__at-work", compact(&view));
    insta::assert_snapshot!("nvidia-smi__at-work", said(&node.nvidia_smi(), &[])?);
    let text = pid.to_string();
    let nvtop = screen::of(enter, &node, &have("nvtop")?, &["-C", "-p"], |screen| {
        screen.matches(&text).count() == 2
    })?;
    insta::assert_snapshot!("nvtop__at-work", redact(&of_process(&nvtop, pid)));
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
