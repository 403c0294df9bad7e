//! nvidia-smi: the calls that drivers, installers and people make, over any `libnvidia-ml.so.1`.
//! Not a reader of our state: it asks NVML. Only the time slice and the reset, for which NVML has no call, go to the state file.
//! In: arguments. Out: the texts and exit codes of NVIDIA's tool (driver 580).
#![forbid(unsafe_code)]

mod args;
mod clock;
mod failure;
mod help;
mod list;
mod mig;
mod monitor;
mod policy;
mod processes;
mod query;
mod report;
mod select;
mod set;
mod side;
mod table;
mod topo;
mod value;
mod version;

use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;

use args::{Command, Invocation};
use failure::{Failure, Output};
use nvml_client::Nvml;

fn main() -> ExitCode {
    // A word that is not UTF-8 is no option and no name of a GPU: it is refused like any other unknown word.
    let words = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    match Invocation::parse(words).and_then(|call| run(&call)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = io::stdout().lock().write_all(failure.text.as_bytes());
            ExitCode::from(failure.code)
        }
    }
}

fn run(call: &Invocation) -> Result<(), Failure> {
    let mut to = target(call.file.as_deref())?;
    let mut out = Output::new();
    match &call.command {
        Command::Help(topic) => out.extend_from_slice(help::text(*topic).as_bytes()),
        Command::Fields(subject) => query::help(*subject, &mut out),
        _ => return repeat(call, &mut to),
    }
    let _ = to.write_all(&out);
    Ok(())
}

fn target(file: Option<&str>) -> Result<Box<dyn Write>, Failure> {
    match file {
        None => Ok(Box::new(io::stdout())),
        Some(name) => match File::create(name) {
            Ok(file) => Ok(Box::new(file)),
            Err(e) => Err(Failure::usage(format!("Failed to open file {name}: {e}"))),
        },
    }
}

/// Carries the command out, once or again and again, and shows each round at once.
fn repeat(call: &Invocation, to: &mut dyn Write) -> Result<(), Failure> {
    let nvml = Nvml::init().map_err(|e| Failure::init(&e))?;
    let mut round = 0;
    loop {
        let mut out = Output::new();
        let answer = once(&nvml, call, round == 0, &mut out);
        // A reader that closed the pipe (`nvidia-smi | head -1`) is no failure of ours, and the end of a loop.
        let shown = to.write_all(&out).and_then(|()| to.flush());
        answer?;
        round += 1;
        let last = call.repeat.times.is_some_and(|times| round >= times);
        match call.repeat.every {
            Some(every) if !last && shown.is_ok() => std::thread::sleep(every),
            _ => return Ok(()),
        }
    }
}

fn once(nvml: &Nvml, call: &Invocation, first: bool, out: &mut Output) -> Result<(), Failure> {
    let gpus = call.selection();
    match &call.command {
        // They need no library: `run` has shown them.
        Command::Help(_) | Command::Fields(_) => Ok(()),
        Command::Table => table::print(nvml, gpus, out),
        Command::List => list::print(nvml, gpus, out),
        Command::Version => version::print(nvml, out),
        Command::Query(query) => query::print(nvml, gpus, query, first, out),
        Command::Report(report) => report::print(nvml, gpus, report, out),
        Command::Matrix => topo::matrix(nvml, gpus, out),
        Command::Links(what) => topo::links(nvml, gpus, *what, out),
        Command::Monitor(monitor) => monitor::round(nvml, gpus, monitor, first, out),
        Command::Mig(command) => mig::run(nvml, gpus, command, out),
        Command::Set(change) => set::run(nvml, gpus, *change, out),
        Command::Policy(policy) => policy::run(nvml, gpus, *policy, out),
    }
}
