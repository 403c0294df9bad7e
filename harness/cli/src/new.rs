//! `sliceproof new`: files to begin with. Nothing that is there is overwritten.

mod settings;

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::Error;
use crate::args::{NewArgs, NewCommand};

pub(crate) fn run(args: &NewArgs) -> Result<ExitCode, Error> {
    match &args.what {
        NewCommand::Scenario { name } => scenario(name),
        NewCommand::Settings { steps_only } => settings::write(*steps_only),
    }
}

fn scenario(name: &str) -> Result<ExitCode, Error> {
    let path = path_of(name)?;
    create(
        &path,
        &feature(name),
        "give another NAME, or edit that file",
    )?;
    println!("wrote {}", path.display());
    println!(
        "`sliceproof test {}` plays it; `sliceproof steps` lists what else it can say",
        path.display()
    );
    Ok(ExitCode::SUCCESS)
}

/// `my-layout` → `scenarios/my-layout.feature`
fn path_of(name: &str) -> Result<PathBuf, Error> {
    let bare = name.strip_suffix(".feature").unwrap_or(name);
    let bare = bare.strip_prefix("scenarios/").unwrap_or(bare);
    let part = |part: &str| {
        let ok = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !part.is_empty() && part.chars().all(ok)
    };
    if !bare.split('/').all(part) {
        return Err(Error::ScenarioName {
            asked: name.to_owned(),
        });
    }
    Ok(Path::new("scenarios").join(format!("{bare}.feature")))
}

/// A feature that lints clean, is in form and passes as it is.
fn feature(name: &str) -> String {
    let bare = name.strip_suffix(".feature").unwrap_or(name);
    let words = bare
        .rsplit('/')
        .next()
        .unwrap_or(bare)
        .replace(['-', '_'], " ");
    let mut title = words.chars();
    let title: String = title
        .next()
        .map(|c| c.to_ascii_uppercase())
        .into_iter()
        .chain(title)
        .collect();
    format!(
        r#"@needs:DRAPartitionableDevices
Feature: {title}
  Say here what this shows, and why somebody should care.

  Background:
    Given a node with 1 "A100-SXM4-40GB" in MIG mode

  Scenario: {words}, two small jobs share a card
    When 2 pods each claim one "1g.5gb"
    Then 2 pods run, each on a partition of its own
    And claims, counters and the card agree
    When all pods end
    Then the card is whole again
"#
    )
}

/// Writes a file that is not there yet, with the folders above it.
fn create(path: &Path, text: &str, remedy: &'static str) -> Result<(), Error> {
    let io = |doing, path: &Path, source| Error::Io {
        doing,
        path: path.to_owned(),
        source,
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| io("make", folder, error))?;
    }
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    match file {
        Ok(mut file) => file
            .write_all(text.as_bytes())
            .map_err(|error| io("write", path, error)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(Error::Exists {
            path: path.to_owned(),
            remedy,
        }),
        Err(error) => Err(io("write", path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_below_the_folder() {
        assert_eq!(
            path_of("a/b-c").ok(),
            Some(PathBuf::from("scenarios/a/b-c.feature"))
        );
        assert_eq!(
            path_of("scenarios/x.feature").ok(),
            Some(PathBuf::from("scenarios/x.feature"))
        );
        for name in ["", "../x", "/x", "a//b", "a b", "x.y", "ä"] {
            assert!(path_of(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn the_first_scenario_is_in_form() {
        let text = feature("partitioning/my-layout");
        assert!(text.contains("Feature: My layout"), "{text}");
        assert_eq!(scenario::format(&text), text);
    }
}
