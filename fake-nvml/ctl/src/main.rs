//! fakegpu: makes fake GPUs, shows them, changes them, and runs programs that see them.
//! Not the GPUs themselves (`gpu-model`, `gpu-store`) and not the host around them (`gpu-host`): this is their command line.
//! In: arguments. Out: texts, JSON, or the program that was asked for. Exit codes: 0 done, 1 failed, 2 usage or environment.
#![forbid(unsafe_code)]

mod clock;
mod compare;
mod coverage;
mod create;
mod error;
mod fault;
mod inject;
mod load;
mod log;
mod model;
mod record;
mod run;
mod show;
mod state;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Fake NVIDIA GPUs for programs that use NVML.
#[derive(Debug, Parser)]
#[command(name = "fakegpu", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a machine in a folder, to be shared by programs and to be kept.
    Create(create::Create),
    /// Show a machine: GPUs, partitions, condition.
    Show(show::Show),
    /// Change a machine from outside: an Xid, ECC errors, a lost GPU, load, MIG mode. Running programs see it at once.
    Inject(inject::Inject),
    /// Faults by plan: calls that fail, wait, hang or kill, cards that break at a time.
    #[command(subcommand)]
    Fault(fault::Command),
    /// Work on a card: memory, use over time, as a process of its own or of nobody.
    Load(load::Load),
    /// The time of a machine: stop it, step it, let it run.
    Clock(clock::Clock),
    /// The calls that programs make: who, what, with which result, when.
    Log(log::Log),
    /// Run a program that sees fake GPUs: no root, no container needed; nothing is left when it ends.
    Run(run::Run),
    /// Write down what NVML says on this machine, and a model file of its GPUs. Only reads: nothing is changed.
    Record(record::Record),
    /// Say where the fake differs from a recorded machine, field by field. Exit 1 if it does.
    Compare(compare::Compare),
    /// The GPU models that are known.
    #[command(subcommand)]
    Model(model::Command),
    /// What the library does: each function of nvml.h, since when it is there, and what it answers.
    Coverage(coverage::Coverage),
}

fn main() -> ExitCode {
    if let Some(code) = record::worker() {
        return code;
    }
    let result = match Cli::parse().command {
        Command::Create(create) => create.run(),
        Command::Show(show) => show.run(),
        Command::Inject(inject) => inject.run(),
        Command::Fault(fault) => fault.run(),
        Command::Load(load) => load.run(),
        Command::Clock(clock) => clock.run(),
        Command::Log(log) => log.run(),
        Command::Run(run) => run.run(),
        Command::Record(record) => record.run(),
        Command::Compare(compare) => compare.run(),
        Command::Model(command) => command.run(),
        Command::Coverage(coverage) => coverage.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A plan's problems come with their places, drawn already.
            match &error {
                error::Error::Plan(report) => eprint!("{report}"),
                _ => eprintln!("fakegpu: {error}"),
            }
            ExitCode::from(error.exit_code())
        }
    }
}
