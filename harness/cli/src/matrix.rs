//! `sliceproof matrix`: the same scenarios on several Kubernetes minors and gate sets, a run of `sliceproof test` each.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use report::Results;
use report::matrix::Matrix;
use scenario::{Exit, GateSet};
use tokio::sync::watch;

use crate::Error;
use crate::args::MatrixArgs;
use crate::run_folder::RunFolder;

/// One run to make.
struct Wanted {
    minor: String,
    gates: GateSet,
}

impl Wanted {
    fn name(&self) -> String {
        format!("{} {}", self.minor, self.gates)
    }
}

pub(crate) fn run(args: &MatrixArgs) -> Result<ExitCode, Error> {
    let catalog = args.catalog.catalog()?;
    let minors = match &args.catalog.kubernetes {
        Some(minor) => vec![minor.clone()],
        None => catalog
            .lock()
            .minors()
            .into_iter()
            .map(str::to_owned)
            .collect(),
    };
    let wanted: Vec<Wanted> = minors
        .iter()
        .flat_map(|minor| {
            args.gates.iter().map(|word| Wanted {
                minor: minor.clone(),
                gates: GateSet::from(*word),
            })
        })
        .collect();
    let folder = RunFolder::make(args.out.as_deref())?;
    let runtime = tokio::runtime::Runtime::new().map_err(Error::Runtime)?;
    let mut stop = {
        let _inside = runtime.enter();
        crate::signals::watch_signals()
    };
    let mut runs: Vec<(String, Option<Results>)> = Vec::new();
    let mut worst = Exit::Passed.code();
    for (at, wanted) in wanted.iter().enumerate() {
        println!(
            "== {} of {}: Kubernetes {}",
            at + 1,
            minors.len() * args.gates.len(),
            wanted.name()
        );
        let out = folder
            .path
            .join(format!("{}-{}", wanted.minor, wanted.gates));
        let status = runtime.block_on(child(&test(args, wanted, &out), &mut stop))?;
        let code = status
            .code()
            .map_or(Exit::Broken.code(), |code| u8::try_from(code).unwrap_or(1));
        // A run that a signal ended without a word (OOM, kill -9) is no result either.
        if *stop.borrow() || code == Exit::Interrupted.code() || status.signal().is_some() {
            return Ok(ExitCode::from(Exit::Interrupted.code()));
        }
        // That nothing could run on one of several is said in the table, and is no failure.
        if code != Exit::NothingRan.code() {
            worst = worst.max(code);
        }
        runs.push((wanted.name(), results(&out)?));
    }
    let matrix = Matrix::of(&runs);
    let nothing = matrix
        .rows
        .iter()
        .flat_map(|row| &row.cells)
        .all(|cell| cell.outcome == report::Outcome::NotRun);
    let text = matrix.markdown();
    write(&folder.path.join("matrix.md"), &text)?;
    let json = serde_json::to_string_pretty(&matrix).unwrap_or_default();
    write(&folder.path.join("matrix.json"), &(json + "\n"))?;
    println!(
        "\n{text}\ntable: {}/matrix.md, and a run folder for each column beside it",
        folder.shown
    );
    Ok(ExitCode::from(match worst {
        0 if nothing => Exit::NothingRan.code(),
        worst => worst,
    }))
}

/// The arguments of the run.
fn test(args: &MatrixArgs, wanted: &Wanted, out: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["test".into()];
    words.extend(
        args.select
            .paths
            .iter()
            .map(|path| path.clone().into_os_string()),
    );
    let mut option = |name: &str, value: OsString| words.extend([name.into(), value]);
    option("--kubernetes", wanted.minor.clone().into());
    option("--gates", wanted.gates.name().into());
    option("--out", out.as_os_str().to_owned());
    for (name, value) in [("--tags", &args.select.tags), ("--name", &args.select.name)] {
        if let Some(value) = value {
            option(name, value.into());
        }
    }
    for own in &args.catalog.component {
        option("--component", own.into());
    }
    if let Some(lock) = &args.catalog.components_lock {
        option("--components-lock", lock.into());
    }
    words
}

/// Runs it to its end. It has a process group of its own, so that a Ctrl-C reaches it once: through us.
async fn child(words: &[OsString], stop: &mut watch::Receiver<bool>) -> Result<ExitStatus, Error> {
    let exe = PathBuf::from("/proc/self/exe");
    let failed = |doing| {
        let path = exe.clone();
        move |source| Error::Io {
            doing,
            path,
            source,
        }
    };
    let mut child = tokio::process::Command::new(&exe)
        .args(words)
        .process_group(0)
        .spawn()
        .map_err(failed("start"))?;
    tokio::select! {
        status = child.wait() => return status.map_err(failed("wait for")),
        _ = stop.wait_for(|stop| *stop) => {}
    }
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
    if let Some(pid) = pid {
        // Where it has just ended by itself there is nobody to tell.
        let _ = kill(Pid::from_raw(pid), Signal::SIGINT);
    }
    child.wait().await.map_err(failed("wait for"))
}

/// What the run wrote; `None` where it did not come so far.
fn results(out: &Path) -> Result<Option<Results>, Error> {
    let path = out.join("results.json");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            return Err(Error::Io {
                doing: "read",
                path,
                source,
            });
        }
    };
    Ok(serde_json::from_str(&text).ok())
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|source| Error::Io {
        doing: "write",
        path: path.to_owned(),
        source,
    })
}
