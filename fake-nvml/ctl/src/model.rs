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
        /// Its name, as A100-SXM4-40GB, or a model file (YAML).
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
                    println!("{}", line(model));
                }
                println!(
                    "\n* no layout is claimed of it: values that nobody has shown stand in for real ones (fakegpu model show NAME)"
                );
            }
            Self::Show { name } if Path::new(name).extension().is_some_and(|it| it == "yaml") => {
                print(&read(Path::new(name))?);
            }
            Self::Show { name } => print(catalog.model(name)?),
            Self::Check { file } => {
                let model = read(file)?;
                println!("{}: {} is a good model", file.display(), model.name());
                stand_ins(&model);
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

/// A model in the list.
fn line(model: &Model) -> String {
    let spec = model.spec();
    let mig = match &spec.mig {
        Some(mig) => format!("{} MIG profiles", mig.profiles.len()),
        None => "no MIG".to_owned(),
    };
    let mark = if spec.certifiable() { "" } else { "  *" };
    format!(
        "{:<34} {:<44} {:04X}:{:04X} {:>7} MiB  {mig}{mark}",
        model.name(),
        spec.name,
        spec.pci_device_id & 0xffff,
        spec.pci_device_id >> 16,
        spec.memory_total.0,
    )
}

fn print(model: &Model) {
    println!("{}", model.name());
    for note in model.notes() {
        println!("  note: {note}");
    }
    for row in model.facts() {
        let confidence = match row.is_stand_in() {
            true => "stand-in".to_owned(),
            false => row.confidence.to_string(),
        };
        let line = format!(
            "{:<52} {:<28} {confidence:<9} {}",
            row.path,
            row.value,
            row.sources.join(",")
        );
        println!("{}", line.trim_end());
    }
    println!();
    stand_ins(model);
    let cited: BTreeSet<&String> = model.facts().iter().flat_map(|row| &row.sources).collect();
    println!("\nsources");
    for id in cited {
        println!("{id:<4} {}", model.source(id).unwrap_or_default());
    }
}

/// What stands in for values that nobody has shown, and whether layouts rest on any of it.
fn stand_ins(model: &Model) {
    let spec = model.spec();
    if spec.stand_ins.is_empty() {
        println!("stand-ins: none");
        return;
    }
    println!("stand-ins for values that nobody has shown");
    for it in &spec.stand_ins {
        let mark = if it.weighs() { "*" } else { " " };
        println!("{mark} {}", spec.describe(*it));
    }
    match spec.certifiable() {
        true => println!("layouts do not rest on them"),
        false => println!(
            "* layouts rest on it: no layout claim and no certificate is made of this model"
        ),
    }
}
