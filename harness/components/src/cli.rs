//! `sliceproof components ensure | list | path NAME`, ready to be mounted into a clap program.
//! Not the place where anything is found or built: that is [`crate::Catalog`].
//! Arguments come from clap; lists and paths go to standard output, progress to standard error.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::catalog::{Catalog, Listed, State};
use crate::error::Result;
use crate::overrides::Overrides;
use crate::progress;

/// Where programs come from; flattened into every command that starts some.
#[derive(Debug, Clone, Default, Args)]
pub struct CatalogArgs {
    /// Use a program of your own in place of the lock file's, as NAME=PATH; may be given several times
    /// (`SLICEPROOF_COMPONENT_<NAME>` does the same)
    #[arg(long = "component", value_name = "NAME=PATH", global = true)]
    pub component: Vec<String>,
    /// Another lock file, with its Go module files beside it, in place of the one inside
    #[arg(
        long = "components-lock",
        value_name = "FILE",
        env = "SLICEPROOF_COMPONENTS_LOCK",
        global = true
    )]
    pub components_lock: Option<PathBuf>,
    /// Kubernetes in another minor of the lock file, as 1.36
    #[arg(long, value_name = "MINOR", global = true)]
    pub kubernetes: Option<String>,
}

impl CatalogArgs {
    /// The catalogue that these arguments describe.
    pub fn catalog(&self) -> Result<Catalog> {
        let catalog = match &self.components_lock {
            Some(file) => Catalog::open(file)?,
            None => Catalog::embedded()?,
        };
        let catalog = match &self.kubernetes {
            Some(minor) => catalog.with_kubernetes(minor)?,
            None => catalog,
        };
        catalog.with_overrides(Overrides::from_args(&self.component)?)
    }
}

/// Arguments of `sliceproof components`.
#[derive(Debug, Clone, Args)]
pub struct ComponentsArgs {
    /// Where programs come from.
    #[command(flatten)]
    pub catalog: CatalogArgs,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do with components.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Fetch and build what is missing; without names, everything
    Ensure {
        /// Components to make sure of
        names: Vec<String>,
    },
    /// Show every component with version, source and state
    List {
        /// Read each program and compare its digest with the one taken when it was made
        #[arg(long)]
        verify: bool,
    },
    /// Print where the program of a component is
    Path {
        /// The component
        name: String,
    },
}

/// Runs `sliceproof components`. The caller prints an error and ends with its exit code.
pub fn run(args: &ComponentsArgs) -> Result<ExitCode> {
    let catalog = args.catalog.catalog()?;
    match &args.command {
        Command::Ensure { names } => {
            let progress = progress::auto();
            let began = std::time::Instant::now();
            let installed = if names.is_empty() {
                catalog.ensure_all(&*progress)?
            } else {
                catalog.ensure(names, &*progress)?
            };
            let count = installed.components().count();
            print(&format!(
                "{count} components ready after {:.1} s\n",
                began.elapsed().as_secs_f64()
            ));
        }
        Command::List { verify } => {
            let listed = catalog.list(*verify)?;
            print(&table(&listed));
            if listed
                .iter()
                .any(|line| matches!(line.state, State::Unusable(_)))
            {
                return Ok(ExitCode::from(2));
            }
        }
        Command::Path { name } => print(&format!("{}\n", catalog.path(name)?.display())),
    }
    Ok(ExitCode::SUCCESS)
}

fn print(text: &str) {
    // A closed pipe (`| head`) is no failure.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn table(listed: &[Listed]) -> String {
    let state = |line: &Listed| match &line.state {
        State::Present => "present",
        State::Missing => "missing",
        State::Damaged(_) => "damaged",
        State::Unusable(_) => "unusable",
    };
    let mut rows =
        vec![["NAME", "VERSION", "STATE", "SIZE", "SHA-256", "SOURCE"].map(str::to_owned)];
    rows.extend(listed.iter().map(|line| {
        let size = line.size.map_or("-".to_owned(), |bytes| {
            format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
        });
        let sha256 = line
            .sha256
            .as_ref()
            .map_or("-".to_owned(), |sha256| sha256[..12].to_owned());
        [
            line.name.clone(),
            line.version.clone(),
            state(line).to_owned(),
            size,
            sha256,
            line.source.clone(),
        ]
    }));
    let widths: Vec<usize> = (0..6)
        .map(|column| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    for line in listed {
        if let State::Damaged(why) | State::Unusable(why) = &line.state {
            text.push_str(&format!("\n{}: {why}\n", line.name));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        components: ComponentsArgs,
    }

    #[test]
    fn arguments_are_sound_and_options_may_follow_the_subcommand() -> Result<(), Box<dyn Error>> {
        Program::command().debug_assert();
        let words = [
            "x",
            "ensure",
            "etcd",
            "--component",
            "kubelet=/a",
            "--component",
            "etcd=/b",
        ];
        let args = Program::try_parse_from(words)?.components;
        assert_eq!(args.catalog.component, ["kubelet=/a", "etcd=/b"]);
        assert!(matches!(args.command, Command::Ensure { names } if names == ["etcd"]));
        Ok(())
    }

    #[test]
    fn a_table_has_one_line_per_component_and_the_reasons_below() {
        let line = |name: &str, state| Listed {
            name: name.to_owned(),
            version: "1".to_owned(),
            purpose: String::new(),
            source: "go a.io/b".to_owned(),
            state,
            sha256: Some("0123456789abcdef".to_owned()),
            size: Some(3 << 19),
            path: None,
        };
        let listed = [
            line("short", State::Present),
            line("a-longer-name", State::Damaged("it is cut".to_owned())),
        ];
        let wanted = "\
NAME           VERSION  STATE    SIZE     SHA-256       SOURCE
short          1        present  1.5 MiB  0123456789ab  go a.io/b
a-longer-name  1        damaged  1.5 MiB  0123456789ab  go a.io/b

a-longer-name: it is cut
";
        assert_eq!(table(&listed), wanted);
    }
}
