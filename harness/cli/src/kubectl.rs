//! `sliceproof kubectl`: the cluster's own kubectl with the cluster's own kubeconfig.

use std::convert::Infallible;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use components::cli::CatalogArgs;

use crate::Error;
use crate::args::KubectlArgs;

pub(crate) fn run(args: &KubectlArgs) -> Result<ExitCode, Error> {
    let cluster = cluster::supervisor::list()?
        .into_iter()
        .find(|cluster| cluster.name == args.name)
        .ok_or_else(|| cluster::Error::NotRunning {
            name: args.name.clone(),
        })?;
    let kubeconfig = cluster
        .kubeconfig
        .ok_or_else(|| cluster::Error::NotRunning {
            name: args.name.clone(),
        })?;
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

fn become_it(command: &mut Command) -> Result<Infallible, Error> {
    let path = command.get_program().into();
    Err(Error::Io {
        doing: "run",
        path,
        source: command.exec(),
    })
}
