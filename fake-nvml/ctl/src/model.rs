//! `fakegpu model`: what is known of a GPU model, and how surely.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use gpu_model::{Catalog, Model};

use crate::error::Error;

/// Subcommands of `model`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// All models.
    List,
    /// Every value of a model with its confidence and sources.
    Show {
        /// Its name, as A100-SXM4-40GB.
        name: String,
    },
    /// Checks a model file of your own.
    Check {
        /// The file (YAML).
        file: PathBuf,
    },
}

impl Command {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let catalog = Catalog::builtin();
        match self {
            Self::List => {
                for model in catalog.models() {
                    let spec = model.spec();
                    let profiles = spec.mig.as_ref().map_or(0, |m| m.profiles.len());
                    let mig = if profiles == 0 {
                        "no MIG".to_owned()
                    } else {
                        format!("{profiles} MIG profiles")
                    };
                    println!(
                        "{:<18} {:<28} {:>6} MiB  {mig}",
                        model.name(),
                        spec.name,
                        spec.memory_total.0
                    );
                }
            }
            Self::Show { name } => print(catalog.model(name)?),
            Self::Check { file } => {
                let model = read(file)?;
                println!("{}: {} is a good model", file.display(), model.name());
            }
        }
        Ok(())
    }
}

/// Reads a model file.
pub(crate) fn read(file: &Path) -> Result<Model, Error> {
    let yaml = fs::read_to_string(file).map_err(|source| Error::File {
        what: "read",
        path: file.to_owned(),
        source,
    })?;
    Ok(Model::read(&file.display().to_string(), &yaml)?)
}

fn print(model: &Model) {
    println!("{}", model.name());
    for note in model.notes() {
        println!("  note: {note}");
    }
    for row in model.facts() {
        println!(
            "{:<52} {:<28} {:<9} {}",
            row.path,
            row.value,
            row.confidence.to_string(),
            row.sources.join(",")
        );
    }
    let cited: BTreeSet<&String> = model.facts().iter().flat_map(|row| &row.sources).collect();
    println!("\nsources");
    for id in cited {
        println!("{id:<4} {}", model.source(id).unwrap_or_default());
    }
}
