//! `sliceproof explain`: what a claim is given, and why, by the oracle.
//! Not here: how a cluster is asked (`live`) and how devices are allocated (crate `oracle`).
//! Objects come from the API server; a text or JSON goes to standard output.

mod account;
mod asked;
mod json;
mod text;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

use crate::Error;
use crate::args::{ExplainArgs, Format};
use crate::live::Live;

pub(crate) fn run(args: &ExplainArgs) -> Result<ExitCode, Error> {
    if args.claim == "charge" && args.uid.is_some() {
        return crate::bill::explain(args.uid.as_deref(), args.invoice.as_deref());
    }
    let runtime = tokio::runtime::Runtime::new().map_err(Error::Runtime)?;
    let (server, listed, pods, name) = runtime.block_on(async {
        let live = Live::open(&args.show.live).await?;
        let (server, listed, pods) =
            tokio::try_join!(live.server(), live.listed(), live.pods(&args.namespace))?;
        Ok::<_, Error>((server, listed, pods, live.name))
    })?;
    let asked = asked::find(&args.claim, &args.namespace, &name, &listed, &pods)?;
    let account = account::account(&listed, &server, asked)?;
    let text = match args.show.output {
        Format::Text => text::render(&account, args.all),
        Format::Json => format!("{:#}\n", json::value(&account)),
    };
    crate::say(&text)?;
    Ok(ExitCode::SUCCESS)
}
