//! `sliceproof docs`: the page of all scenarios.

use std::process::ExitCode;

use scenario::{page, registry};

use crate::args::{DocsArgs, SelectArgs};
use crate::{Error, lint};

pub(crate) fn run(args: &DocsArgs) -> Result<ExitCode, Error> {
    let select = SelectArgs {
        paths: args.paths.clone(),
        ..SelectArgs::default()
    };
    let plan = match lint::load(&registry(), &select)? {
        Ok(plan) => plan,
        Err(code) => return Ok(code),
    };
    // A reader such as `head` may have gone.
    let _ = std::io::Write::write_all(&mut std::io::stdout(), page(&plan).as_bytes());
    Ok(ExitCode::SUCCESS)
}
