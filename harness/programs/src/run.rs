//! Runs a program on a node and gives what it said.
//! Not a supervisor: one program, run to its end or to its limit; then its whole group is ended.
//! Programs come from `components`; the node is entered by `on-node`, which becomes the program.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use components::{Catalog, progress};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::node::Node;

/// No program here works for long; one that hangs is a finding.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// What goes wrong around a program.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be had: the text has the remedy.
    #[error("NOT RUN: {0}")]
    NotThere(#[from] components::Error),
    /// It cannot be started.
    #[error("{program} cannot be started: {source}")]
    Start {
        /// Which.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// It does not end.
    #[error("{program} has not ended after {} s; so far it said:\n{said}", LIMIT.as_secs())]
    Hangs {
        /// Which.
        program: String,
        /// What it said.
        said: String,
    },
    /// It ended badly.
    #[error("{program} on node {node} ended with {status}:\n{said}")]
    Failed {
        /// Which.
        program: String,
        /// Where.
        node: String,
        /// How.
        status: ExitStatus,
        /// What it said.
        said: String,
    },
}

/// A program that is there, through its own package manager.
///
/// # Errors
/// What is missing, with the remedy.
pub fn have(name: &str) -> Result<PathBuf, Error> {
    let catalog = Catalog::embedded()?;
    Ok(catalog
        .ensure(&[name], &*progress::auto())?
        .path(name)?
        .to_owned())
}

/// What a program said.
#[derive(Debug)]
pub struct Said {
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// How it ended.
    pub status: ExitStatus,
}

impl Said {
    /// Standard output of a program that must have ended well.
    ///
    /// # Errors
    /// What it said instead.
    pub fn good(self, program: &Path, node: &Node) -> Result<String, Error> {
        if self.status.success() {
            return Ok(self.out);
        }
        Err(Error::Failed {
            program: program.display().to_string(),
            node: node.name.to_owned(),
            status: self.status,
            said: format!("{}{}", self.out, self.err),
        })
    }
}

/// The command that becomes `program` on a node. Nothing of the caller's terminal, language or settings reaches it.
#[must_use]
pub fn command(enter: &Path, node: &Node, program: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(enter);
    command.arg(node.dir()).arg(program).args(args);
    command
        .env_clear()
        .envs([
            (
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            ),
            ("LC_ALL", "C.UTF-8"),
            ("TZ", "UTC"),
            ("TERM", "xterm"),
            ("COLUMNS", "120"),
            ("LINES", "50"),
        ])
        .env("HOME", node.dir());
    command
}

/// Runs a program to its end.
///
/// # Errors
/// It cannot be started, or does not end.
pub fn run(enter: &Path, node: &Node, program: &Path, args: &[&str]) -> Result<Said, Error> {
    let name = program.display().to_string();
    let start = |source| Error::Start {
        program: name.clone(),
        source,
    };
    let mut child = command(enter, node, program, args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(start)?;
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    let (out, err) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(start)? {
            break Some(status);
        }
        if began.elapsed() > LIMIT {
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    // Whatever it left behind, and the program itself when it hangs.
    let _ = killpg(group, Signal::SIGKILL);
    let (out, err) = (
        out.join().unwrap_or_default(),
        err.join().unwrap_or_default(),
    );
    match status {
        Some(status) => Ok(Said { out, err, status }),
        None => {
            let _ = child.wait();
            Err(Error::Hangs {
                program: name,
                said: format!("{out}{err}"),
            })
        }
    }
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        // What could be read before a fault is as good as it gets.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut text));
        String::from_utf8_lossy(&text).into_owned()
    })
}
