//! `fakegpu create`, and the options by which `run` makes a machine too.

use std::path::PathBuf;

use clap::Args;
use gpu_host::HostTree;
use gpu_model::{Catalog, Machine, NodeSpec, Options};

use crate::error::Error;

/// What a machine is to have.
#[derive(Debug, Args)]
pub(crate) struct Shape {
    /// GPUs: count and model, several with commas (2xA100-SXM4-40GB,1xL4). `fakegpu model list` names the models.
    #[arg(long, value_name = "GPUS")]
    pub(crate) node: Option<String>,
    /// Driver version that the machine reports.
    #[arg(long, value_name = "VERSION", default_value = Machine::DRIVER_VERSION)]
    driver_version: String,
    /// MIG mode on at boot, where a GPU has it.
    #[arg(long)]
    mig: bool,
    /// Further model files (YAML, as `fakegpu model check` takes them).
    #[arg(long, value_name = "FILE")]
    model_file: Vec<PathBuf>,
    /// All UUIDs and serial numbers are made from this name.
    #[arg(long, value_name = "NAME", default_value = "node")]
    name: String,
}

impl Shape {
    pub(crate) fn build(&self, node: &str) -> Result<Machine, Error> {
        let spec: NodeSpec = node.parse()?;
        let mut catalog = Catalog::builtin();
        for file in &self.model_file {
            catalog.add(crate::model::read(file)?);
        }
        let cards = spec.resolve(&catalog).map_err(Error::NodeModel)?;
        let numbers: Vec<&str> = self.driver_version.split('.').collect();
        if !(2..=4).contains(&numbers.len())
            || !numbers
                .iter()
                .all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        {
            return Err(Error::DriverVersion {
                given: self.driver_version.clone(),
            });
        }
        let options = Options {
            node: self.name.clone(),
            driver_version: self.driver_version.clone(),
            mig: self.mig,
            ..Options::default()
        };
        Ok(Machine::build(&cards, &options))
    }
}

/// Arguments of `create`.
#[derive(Debug, Args)]
pub(crate) struct Create {
    #[command(flatten)]
    shape: Shape,
    /// The folder; it is made. Without --node it gets one A100-SXM4-40GB. It holds a driver root, so that other tools can use it too.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

impl Create {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let machine = self
            .shape
            .build(self.shape.node.as_deref().unwrap_or("1xA100-SXM4-40GB"))?;
        let tree = lay_new(&self.dir, &machine)?;
        println!("{}", crate::show::summary(&machine));
        println!("state        {}", tree.state_path().display());
        println!("driver root  {}", tree.driver_root().display());
        println!(
            "try          fakegpu run --state {} -- nvidia-smi",
            self.dir.display()
        );
        Ok(())
    }
}

/// Lays a machine in a folder that holds none yet.
pub(crate) fn lay_new(dir: &std::path::Path, machine: &Machine) -> Result<HostTree, Error> {
    if let Ok(tree) = HostTree::open(dir) {
        match gpu_store::Store::open(tree.state_path()) {
            Ok(store) => {
                return Err(Error::Taken {
                    dir: dir.to_owned(),
                    holds: crate::show::cards(&store.read()?.machine),
                });
            }
            // Somebody has removed a damaged one, as its message says: the rest of the folder serves again.
            Err(gpu_store::Error::Missing { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(HostTree::lay(dir, machine)?)
}
