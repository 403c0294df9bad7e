//! What the tests of the store share: machines, and this test program run again as another process.
#![allow(dead_code)] // each test program uses a part

use gpu_model::{Catalog, GpuIndex, Machine, MigMode, Op, Options, ProfileId};
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

pub(crate) const GPU: GpuIndex = GpuIndex(0);

/// A machine of these cards with MIG mode on.
pub(crate) fn machine(node: &str, cards: &[(&str, usize)]) -> Machine {
    let catalog = Catalog::builtin();
    let cards: Vec<_> = cards
        .iter()
        .map(|(name, count)| (catalog.model(name).expect("a known model"), *count))
        .collect();
    let options = Options {
        node: node.to_owned(),
        mig: true,
        ..Options::default()
    };
    Machine::build(&cards, &options)
}

pub(crate) fn create(profile: u32) -> Op {
    Op::CreateGpuInstance {
        gpu: GPU,
        profile: ProfileId(profile),
        placement: None,
    }
}

pub(crate) fn mig_off() -> Op {
    Op::SetMigMode {
        gpu: GPU,
        mode: MigMode::Disabled,
    }
}

/// Runs the test `name` of this very program as another process, with `role` and the state's path in its environment.
pub(crate) fn spawn(name: &str, role: &str, state: &Path) -> Child {
    command(name, role, state)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("another process")
}

/// The same, not yet started.
pub(crate) fn command(name: &str, role: &str, state: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env("STORE_ROLE", role)
        .env("STORE_STATE", state)
        .env("FAKEGPU_PROC", state.with_file_name("proc"));
    command
}

/// The role of this process, if it is such another one.
pub(crate) fn role() -> Option<(String, std::path::PathBuf)> {
    let role = std::env::var("STORE_ROLE").ok()?;
    Some((role, std::env::var_os("STORE_STATE")?.into()))
}

/// Waits for a line that the other process prints.
pub(crate) fn wait_for(child: &mut Child, line: &str) {
    let stdout = child.stdout.as_mut().expect("its output");
    for seen in BufReader::new(stdout).lines() {
        // The test runner prints its own words before ours on the same line.
        if seen.expect("a line").ends_with(line) {
            return;
        }
    }
    panic!("the other process ended without saying `{line}`");
}
