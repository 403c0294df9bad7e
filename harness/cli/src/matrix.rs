//! `sliceproof matrix`: the same scenarios on several Kubernetes minors and gate sets, a run of `sliceproof test` each.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use report::Results;
use report::matrix::Matrix;
use scenario::{Exit, GateSet, registry};
use tokio::sync::watch;

use crate::args::MatrixArgs;
use crate::run_folder::RunFolder;
use crate::{Error, lint};

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
    // What is wrong with the scenarios is wrong in every run: it is said once, before the first.
    let plan = match lint::load(&registry(), &args.select)? {
        Ok(plan) => plan,
        Err(code) => return Ok(code),
    };
    if plan.scenarios.is_empty() {
        return Ok(lint::nothing(&plan));
    }
    let catalog = args.catalog.catalog()?;
    let minors = match args.catalog.kubernetes.as_deref() {
        Some(minor) => vec![minor],
        None => catalog.lock().minors(),
    };
    let sets = args.gates.as_slice();
    let wanted: Vec<Wanted> = minors
        .into_iter()
        .flat_map(|minor| sets.iter().map(move |gates| (minor, *gates)))
        .map(|(minor, gates)| Wanted {
            minor: minor.to_owned(),
            gates,
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
    for (at, run) in wanted.iter().enumerate() {
        let name = run.name();
        println!("== {} of {}: Kubernetes {name}", at + 1, wanted.len());
        let out = folder.path.join(format!("{}-{}", run.minor, run.gates));
        forget(&out)?;
        let status = runtime.block_on(child(&test(args, run, &out), &mut stop))?;
        runs.push((name, results(&out)?));
        // One that a signal has ended (out of memory, kill -9) left no exit code.
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        let code = code.unwrap_or(Exit::Broken.code());
        if *stop.borrow() || code == Exit::Interrupted.code() {
            worst = Exit::Interrupted.code();
            break;
        }
        // That nothing could run on one of several is said in the table, and is no failure.
        if code != Exit::NothingRan.code() {
            worst = worst.max(code);
        }
    }
    let matrix = Matrix::of(&runs);
    let mut cells = matrix.rows.iter().flat_map(|row| &row.cells);
    let nothing = cells.all(|cell| cell.outcome == report::Outcome::NotRun);
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

/// The results of a run.
fn file(out: &Path) -> PathBuf {
    out.join("results.json")
}

/// Removes what an earlier run left in this folder: a run that does not come so far must not show it as its own.
fn forget(out: &Path) -> Result<(), Error> {
    found("remove", file(out), |path| std::fs::remove_file(path)).map(|_| ())
}

/// What the run wrote; `None` where it did not come so far.
fn results(out: &Path) -> Result<Option<Results>, Error> {
    let text = found("read", file(out), |path| std::fs::read_to_string(path))?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// `None` where there is no such file.
fn found<T>(
    doing: &'static str,
    path: PathBuf,
    act: impl FnOnce(&Path) -> std::io::Result<T>,
) -> Result<Option<T>, Error> {
    match act(&path) {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Io {
            doing,
            path,
            source,
        }),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|source| Error::Io {
        doing: "write",
        path: path.to_owned(),
        source,
    })
}
