//! The program `sliceproof`: its command line, and how a run is put together from components, cluster and scenarios.
//! Not here: what a scenario means (`scenario`), how a cluster works (`cluster`), where programs come from (`components`).
//! Data comes from arguments and feature files; results go to the terminal, to the run folder and into the exit code.
#![forbid(unsafe_code)]

pub mod args;
mod bill;
mod docs;
mod doctor;
mod error;
mod explain;
mod fmt;
mod inspect;
mod kubectl;
mod lint;
mod live;
mod matrix;
pub mod meter;
mod new;
mod price;
pub mod run_folder;
pub mod session;
mod signals;
mod steps;
mod test;
mod up;
mod versions;

pub use error::Error;

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use args::{Cli, Command};

/// Runs the program. `cluster::dispatch()` must have been called before.
#[must_use]
pub fn main() -> ExitCode {
    let version: &'static str = Box::leak(versions::long().into_boxed_str());
    let matches = Cli::command().long_version(version).get_matches();
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    log();
    let code = match cli.command {
        Command::Test(args) => test::run(&args),
        Command::Lint(args) => lint::run(&args),
        Command::Matrix(args) => matrix::run(&args),
        Command::Fmt(args) => fmt::run(&args),
        Command::Steps(args) => steps::run(&args),
        Command::New(args) => new::run(&args),
        Command::Docs(args) => docs::run(&args),
        Command::Up(args) => up::up(&args),
        Command::Down(args) => up::down(&args),
        Command::Status => up::status(),
        Command::Kubectl(args) => kubectl::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Meter(args) => meter::run(&args),
        Command::Ledger(args) => meter::ledger(&args),
        Command::Reconcile(args) => meter::reconcile(&args),
        Command::Price(args) => price::run(&args),
        Command::Bill(args) => bill::run(&args),
        Command::Components(args) => components::cli::run(&args).map_err(Error::from),
    };
    code.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(error.exit_code())
    })
}

/// Diagnostics of the program itself: what went wrong, unless `RUST_LOG` asks for more or less.
fn log() {
    // The client writes down each refusal that it also returns, and some are expected, while a server comes up.
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| {
        tracing_subscriber::EnvFilter::new("error,scenario=warn,kube_client=off")
    });
    // A second call, in a test, changes nothing.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .try_init();
}

/// Writes to standard output; a reader that has seen enough, as `head`, is no error.
pub(crate) fn say(text: &str) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(source) if source.kind() != ErrorKind::BrokenPipe => Err(Error::Io {
            doing: "write to",
            path: "standard output".into(),
            source,
        }),
        _ => Ok(()),
    }
}

/// Whether standard output is a terminal that a person looks at.
pub(crate) fn is_live() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("CI").is_none()
}

/// Whether colours are wanted on standard output.
pub(crate) fn in_colour() -> bool {
    std::io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
