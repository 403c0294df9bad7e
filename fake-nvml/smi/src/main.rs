//! nvidia-smi: the calls that drivers, installers and people make, over any `libnvidia-ml.so.1`.
//! Not a reader of our state: it asks NVML. Only the time slice and the reset, for which NVML has no call, go to the state file.
//! In: arguments. Out: the texts and exit codes of NVIDIA's tool (driver 580).
#![forbid(unsafe_code)]

mod args;
mod failure;
mod help;
mod list;
mod mig;
mod policy;
mod query;
mod select;
mod set;
mod side;
mod table;
mod version;

use std::io::{self, Write};
use std::process::ExitCode;

use args::{Command, Invocation};
use failure::{Failure, Output};

fn main() -> ExitCode {
    let mut out = Vec::new();
    // A word that is not UTF-8 is no option and no name of a GPU: it is refused like any other unknown word.
    let words = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let result = Invocation::parse(words).and_then(|call| run(&call, &mut out));
    let code = match result {
        Ok(()) => 0,
        Err(failure) => {
            out.extend_from_slice(failure.text.as_bytes());
            failure.code
        }
    };
    // A reader that closed the pipe (`nvidia-smi | head -1`) is no failure of ours.
    let _ = io::stdout().lock().write_all(&out);
    ExitCode::from(code)
}

fn run(call: &Invocation, out: &mut Output) -> Result<(), Failure> {
    if let Command::Help(topic) = &call.command {
        out.extend_from_slice(help::text(*topic).as_bytes());
        return Ok(());
    }
    let nvml = nvml_client::Nvml::init().map_err(|e| Failure::init(&e))?;
    match &call.command {
        Command::Help(_) => Ok(()),
        Command::Table => table::print(&nvml, call.selection(), out),
        Command::List => list::print(&nvml, call.selection(), out),
        Command::Version => version::print(&nvml, out),
        Command::Query(query) => query::print(&nvml, call.selection(), query, out),
        Command::Mig(command) => mig::run(&nvml, call.selection(), command, out),
        Command::Set(change) => set::run(&nvml, call.selection(), *change, out),
        Command::Policy(policy) => policy::run(&nvml, call.selection(), *policy, out),
    }
}
