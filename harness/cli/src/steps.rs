//! `sliceproof steps`: every step with what it does and an example.

use std::fmt::Write as _;
use std::process::ExitCode;

use scenario::{Kind, parameters, registry};

use crate::args::{SelectArgs, StepsArgs};
use crate::{Error, lint};

pub(crate) fn run(args: &StepsArgs) -> Result<ExitCode, Error> {
    if args.unused {
        return unused(args);
    }
    crate::say(&text())?;
    Ok(ExitCode::SUCCESS)
}

/// Steps that no scenario of these paths uses; there may be good ones among them, so it is no failure.
fn unused(args: &StepsArgs) -> Result<ExitCode, Error> {
    let registry = registry();
    let select = SelectArgs::of(&args.paths);
    let plan = match lint::load(&registry, &select)? {
        Ok(plan) => plan,
        Err(code) => return Ok(code),
    };
    let used = plan.used();
    let all = registry.steps();
    let mut text = String::new();
    let mut count = 0;
    for (_, def) in all.iter().enumerate().filter(|(at, _)| !used.contains(at)) {
        count += 1;
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{} {}   ({}:{})",
            def.kind, def.expression, def.file, def.line
        );
    }
    let _ = writeln!(
        text,
        "{count} of {} steps are not used by {} scenarios",
        all.len(),
        plan.scenarios.len()
    );
    crate::say(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn text() -> String {
    let registry = registry();
    let mut text = String::new();
    for kind in [Kind::Given, Kind::When, Kind::Then] {
        for def in registry.steps().iter().filter(|def| def.kind == kind) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{kind} {}", def.expression);
            let _ = writeln!(text, "    {}", def.doc);
            let mut lines = def.example.lines();
            let _ = writeln!(text, "    example: {}", lines.next().unwrap_or_default());
            for line in lines {
                let _ = writeln!(text, "             {line}");
            }
            let _ = writeln!(text);
        }
    }
    let _ = writeln!(text, "Parameters");
    for parameter in parameters() {
        let _ = writeln!(
            text,
            "    {{{}}}{} {}",
            parameter.name,
            " ".repeat(10_usize.saturating_sub(parameter.name.len())),
            parameter.about
        );
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_step_and_every_parameter_is_listed() {
        let text = super::text();
        for def in scenario::registry().steps() {
            assert!(
                text.contains(def.expression) && text.contains(def.doc),
                "{}",
                def.expression
            );
        }
        for parameter in scenario::parameters() {
            assert!(text.contains(parameter.about), "{}", parameter.name);
        }
    }
}
