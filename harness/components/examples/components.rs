//! `sliceproof components` on its own, for work on this crate: `cargo run -p components --example components -- list`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use components::cli::{self, ComponentsArgs};

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    components: ComponentsArgs,
}

fn main() -> ExitCode {
    cli::run(&Arguments::parse().components).unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(error.exit_code())
    })
}
