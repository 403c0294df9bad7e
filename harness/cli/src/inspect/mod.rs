//! `sliceproof inspect slices`: what a cluster has to give, who has it, and what is left.
//! Not here: how a cluster is asked (`live`) and who could have what (crate `oracle`).
//! Objects come from the API server; tables, pictures or JSON go to standard output.

mod json;
mod menu;
mod picture;
mod table;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

use crate::Error;
use crate::args::{Format, Inspect, InspectArgs, SlicesArgs};
use crate::live::Live;

pub(crate) fn run(args: &InspectArgs) -> Result<ExitCode, Error> {
    match &args.what {
        Inspect::Slices(args) => slices(args),
    }
}

fn slices(args: &SlicesArgs) -> Result<ExitCode, Error> {
    let runtime = tokio::runtime::Runtime::new().map_err(Error::Runtime)?;
    let (server, listed) = runtime.block_on(async {
        let live = Live::open(&args.show.live).await?;
        tokio::try_join!(live.server(), live.listed())
    })?;
    let menu = menu::menu(&listed, &server);
    let text = match args.show.output {
        Format::Text => table::render(&menu, args.all) + &picture::render(&menu),
        Format::Json => format!("{:#}\n", json::value(&menu)),
    };
    crate::say(&text)?;
    Ok(ExitCode::SUCCESS)
}
