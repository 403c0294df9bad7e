//! Settings with which the official Cucumber extension (its language server) completes and checks steps: where features
//! are, the parameters, and the steps as a script that it can read. The script is never run.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use scenario::{Kind, parameters, registry};
use serde_json::{Map, Value, json};

use super::create;
use crate::Error;

const SETTINGS: &str = ".vscode/settings.json";
const STEPS: &str = ".vscode/sliceproof.steps.js";

pub(super) fn write(steps_only: bool) -> Result<ExitCode, Error> {
    if steps_only {
        // Made by this program and by nobody else: it may be made anew.
        let io = |source| Error::Io {
            doing: "write",
            path: STEPS.into(),
            source,
        };
        std::fs::create_dir_all(".vscode").map_err(io)?;
        std::fs::write(STEPS, script()).map_err(io)?;
        println!("wrote {STEPS}");
        return Ok(ExitCode::SUCCESS);
    }
    create(
        Path::new(SETTINGS),
        &settings(),
        "put what `cucumber.…` keys you want there by hand (they are printed by `sliceproof new settings` in an empty folder), and write the steps with --steps-only",
    )?;
    create(
        Path::new(STEPS),
        &script(),
        "write it anew with --steps-only",
    )?;
    println!("wrote {SETTINGS} and {STEPS}");
    println!(
        "install the extension CucumberOpen.cucumber-official; after an update of sliceproof: `sliceproof new settings --steps-only`"
    );
    Ok(ExitCode::SUCCESS)
}

/// `cucumber.features`, `cucumber.glue` and `cucumber.parameterTypes`.
fn settings() -> String {
    let types: Vec<Value> = parameters()
        .iter()
        .map(|it| json!({ "name": it.name, "regexp": it.pattern }))
        .collect();
    let mut all = Map::new();
    all.insert(
        "cucumber.features".to_owned(),
        json!(["scenarios/**/*.feature"]),
    );
    all.insert("cucumber.glue".to_owned(), json!([STEPS]));
    all.insert("cucumber.parameterTypes".to_owned(), json!(types));
    format!("{:#}\n", Value::Object(all))
}

/// A definition for each step, with what it does and an example above it.
fn script() -> String {
    let mut text = "// The steps of sliceproof for the Cucumber extension, made by `sliceproof new settings`. Not run by anything.\n".to_owned();
    let registry = registry();
    for kind in [Kind::Given, Kind::When, Kind::Then] {
        for def in registry.steps().iter().filter(|def| def.kind == kind) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "\n// {}", def.doc.replace('\n', "\n// "));
            for line in def.example.lines() {
                let _ = writeln!(text, "//   {line}");
            }
            let _ = writeln!(text, "{kind}({}, () => {{}})", Value::from(def.expression));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_and_parameter_is_there() {
        let (script, settings) = (script(), settings());
        for def in registry().steps() {
            assert!(
                script.contains(&format!("{}({}, ", def.kind, Value::from(def.expression))),
                "{}",
                def.expression
            );
        }
        let settings: Value = serde_json::from_str(&settings).expect("JSON");
        let types = settings["cucumber.parameterTypes"]
            .as_array()
            .expect("a list");
        assert_eq!(types.len(), parameters().len());
        assert_eq!(settings["cucumber.glue"][0], STEPS);
    }
}
