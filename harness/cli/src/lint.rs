//! `sliceproof lint`, and how `test` says what the lint found.

use std::io::IsTerminal;
use std::process::ExitCode;

use scenario::{Exit, Filter, LoadError, Plan, Registry, registry, render};

use crate::Error;
use crate::args::{LintArgs, SelectArgs};

pub(crate) fn run(args: &LintArgs) -> Result<ExitCode, Error> {
    let plan = match load(&registry(), &args.select)? {
        Ok(plan) => plan,
        Err(code) => return Ok(code),
    };
    if plan.scenarios.is_empty() {
        return Ok(nothing(&plan));
    }
    println!("{} scenarios, nothing wrong", plan.scenarios.len());
    Ok(ExitCode::SUCCESS)
}

/// The plan; or, after everything that is wrong has been said, the exit code.
pub(crate) fn load(
    registry: &Registry,
    select: &SelectArgs,
) -> Result<Result<Plan, ExitCode>, Error> {
    let filter = Filter::parse(select.tags.as_deref(), select.name.as_deref())?
        .only_expected_failures(select.expected_fail);
    Ok(
        Plan::load(registry, &select.paths()?, &filter).map_err(|error| {
            match error {
                LoadError::Source(errors) => {
                    errors.iter().for_each(|error| eprintln!("error: {error}"))
                }
                LoadError::Findings(findings) => {
                    let colour =
                        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
                    eprint!("{}", render(&findings, colour));
                }
            }
            ExitCode::from(Exit::Broken.code())
        }),
    )
}

/// Says that the selection is empty.
pub(crate) fn nothing(plan: &Plan) -> ExitCode {
    eprintln!(
        "nothing to run: none of {} scenarios is selected; `sliceproof test --list` without --tags and --name shows them",
        plan.unselected
    );
    ExitCode::from(Exit::NothingRan.code())
}
