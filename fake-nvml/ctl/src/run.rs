//! `fakegpu run`: a program in a private world that has the GPUs.
//! No process of ours stays beside it: this process becomes the program, so its exit status, signals and terminal are its own,
//! and what was mounted, kept in memory, goes with it, however it ends.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process;

use clap::Args;
use gpu_host::{Enter, HostTree, Loader, Scratch, namespace};
use gpu_model::Machine;
use gpu_store::Store;

use crate::create::{Shape, lay_new};
use crate::error::Error;

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    shape: Shape,
    /// Use the machine in this folder, and keep what the program changes; with --node it is made first.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Keep the user id of the caller. Without it an ordinary user is shown as root inside, whom NVML lets change things.
    #[arg(long)]
    keep_user: bool,
    /// The program and its arguments.
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

impl Run {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let (machine, kept) = self.machine()?;
        let private = namespace::unshare_private()?;
        let scratch = Scratch::mount()?;
        let tree = HostTree::lay(scratch.dir(), &machine)?;
        if let Some(kept) = &kept {
            scratch.put(&kept.state_path(), &tree.state_path())?;
            for (kept, shown) in kept.following().iter().zip(&tree.following()) {
                scratch.put(kept, shown)?;
            }
        }
        let loader = tree.enter(&Enter { loader: true })?;
        let shown = scratch.finish()?;
        if self.keep_user {
            namespace::show_own_ids(private)?;
        }
        Err(self.exec(&loader, &tree, &shown))
    }

    fn machine(&self) -> Result<(Machine, Option<HostTree>), Error> {
        let Some(dir) = &self.state else {
            let node = self.shape.node.as_deref().ok_or(Error::NoMachine)?;
            return Ok((self.shape.build(node)?, None));
        };
        let tree = match &self.shape.node {
            Some(node) => lay_new(dir, &self.shape.build(node)?)?,
            None => HostTree::open(dir)?,
        };
        let machine = Store::open(tree.state_path())?.read()?.machine.clone();
        Ok((machine, Some(tree)))
    }

    /// Becomes the program; returns only if that fails.
    fn exec(&self, loader: &Loader, tree: &HostTree, shown: &Path) -> Error {
        let Some((program, args)) = self.program.split_first() else {
            return Error::NoMachine;
        };
        let mut command = process::Command::new(program);
        command.args(args);
        for name in [
            gpu_store::STATE_ENV,
            gpu_store::PROC_ENV,
            gpu_store::VISIBLE_ENV,
        ] {
            // They would lead the library to another machine.
            command.env_remove(name);
        }
        if let Loader::Variables {
            libraries,
            programs,
        } = loader
        {
            let moved = |path: &Path| {
                path.strip_prefix(tree.dir())
                    .map_or_else(|_| path.to_owned(), |p| shown.join(p))
            };
            command.env(
                "LD_LIBRARY_PATH",
                in_front("LD_LIBRARY_PATH", &moved(libraries)),
            );
            command.env("PATH", in_front("PATH", &moved(programs)));
        }
        Error::Exec {
            program: program.clone(),
            source: command.exec(),
        }
    }
}

fn in_front(variable: &str, folder: &Path) -> OsString {
    let mut value = OsString::from(folder);
    if let Some(old) = std::env::var_os(variable).filter(|v| !v.is_empty()) {
        value.push(":");
        value.push(old);
    }
    value
}
