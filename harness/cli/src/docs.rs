//! `sliceproof docs`: the page of all scenarios.

use std::process::ExitCode;

use scenario::{page, registry};

use crate::args::{DocsArgs, SelectArgs};
use crate::{Error, lint};

pub(crate) fn run(args: &DocsArgs) -> Result<ExitCode, Error> {
    let select = SelectArgs::of(&args.paths);
    let plan = match lint::load(&registry(), &select)? {
        Ok(plan) => plan,
        Err(code) => return Ok(code),
    };
    crate::say(&page(&plan))?;
    Ok(ExitCode::SUCCESS)
}
