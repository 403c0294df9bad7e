//! `sliceproof kubectl`: the cluster's own kubectl with the cluster's own kubeconfig.

use std::convert::Infallible;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use components::cli::CatalogArgs;

use crate::Error;
use crate::args::KubectlArgs;

pub(crate) fn run(args: &KubectlArgs) -> Result<ExitCode, Error> {
    let kubeconfig = kubeconfig(&args.name)?;
    let installed = CatalogArgs::default()
        .catalog()?
        .ensure(&["kubectl"], &*components::progress::auto())?;
    let program = installed.path("kubectl")?;
    become_it(
        Command::new(program)
            .args(&args.args)
            .env("KUBECONFIG", kubeconfig),
    )
    .map(|never| match never {})
}

/// The kubeconfig of a cluster of ours that runs.
pub(crate) fn kubeconfig(name: &str) -> Result<PathBuf, Error> {
    let gone = || cluster::Error::NotRunning {
        name: name.to_owned(),
    };
    let cluster = cluster::supervisor::list()?
        .into_iter()
        .find(|cluster| cluster.name == name)
        .ok_or_else(gone)?;
    Ok(cluster.kubeconfig.ok_or_else(gone)?)
}

fn become_it(command: &mut Command) -> Result<Infallible, Error> {
    let path = command.get_program().into();
    Err(Error::Io {
        doing: "run",
        path,
        source: command.exec(),
    })
}
