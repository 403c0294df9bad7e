//! `on-node DIR PROGRAM ARGS…`: enters the node that lies in DIR and becomes the program.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use gpu_host::{Enter, HostTree, Loader, namespace};

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [dir, program, rest @ ..] = args.as_slice() else {
        eprintln!("usage: on-node DIR PROGRAM [ARGUMENT…]");
        return ExitCode::from(2);
    };
    let error = match enter(Path::new(dir)) {
        Ok(loader) => {
            let mut command = Command::new(program);
            command.args(rest);
            if let Loader::Variables {
                libraries,
                programs,
            } = loader
            {
                let path = std::env::var_os("PATH").unwrap_or_default();
                let mut first = OsString::from(programs);
                first.push(":");
                first.push(path);
                command.env("LD_LIBRARY_PATH", libraries).env("PATH", first);
            }
            format!("{}: {}", Path::new(program).display(), command.exec())
        }
        Err(error) => error.to_string(),
    };
    eprintln!("on-node: {error}");
    ExitCode::from(2)
}

fn enter(dir: &Path) -> Result<Loader, gpu_host::Error> {
    let tree = HostTree::open(dir)?;
    namespace::unshare_private()?;
    tree.enter(&Enter { loader: true })
}
