//! Clusters that outlive the command that started them: a detached process per cluster that holds it, and how to find,
//! list and end them by name.
//! Not the cluster itself (`running`). Everything is found through the run folders and their locks; there is no daemon.
use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    features::Features,
    owner,
    programs::Programs,
    progress::{Listener, Progress},
    running::{Cluster, Running, read_record},
    spec::{ClusterSpec, NodeShape, check_name},
};

/// The hidden role of a supervisor.
pub(crate) const ROLE: &str = "__supervisor";

/// How long a detached cluster lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Until {
    /// Until `down` (or SIGTERM or SIGINT to its supervisor).
    Signal,
    /// Until then, or until the process with this id ends.
    Exit(u32),
}

/// A cluster that `list` found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// Its run folder.
    pub dir: PathBuf,
    /// The supervisor's process id.
    pub pid: String,
    /// Its nodes; none while it starts.
    pub nodes: Vec<NodeShape>,
    /// Where its kubeconfig lies; `None` while it starts.
    pub kubeconfig: Option<PathBuf>,
}

/// What the starting command hands over.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    name: String,
    dir: PathBuf,
    nodes: Vec<NodeShape>,
    programs: Programs,
    features: Features,
    image_cache: Option<PathBuf>,
    until: Until,
}

/// What comes back while it starts, one JSON line each.
#[derive(Debug, Serialize, Deserialize)]
enum Report {
    Progress(Progress),
    Up,
    Failed { text: String, code: i32 },
}

/// Folder of all run folders: `$XDG_STATE_HOME/sliceproof/clusters`, by default in `~/.local/state`.
pub fn clusters_folder() -> Result<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .or_else(|| absolute("XDG_RUNTIME_DIR"))
        .ok_or_else(|| Error::Spec {
            what: "there is no place for a cluster's run folder: neither XDG_STATE_HOME, HOME nor XDG_RUNTIME_DIR is set".into(),
            remedy: "set XDG_STATE_HOME to a folder that you may write".into(),
        })?;
    Ok(state.join("sliceproof/clusters"))
}

/// The run folder of a cluster of this name.
pub fn run_folder(name: &str) -> Result<PathBuf> {
    check_name("cluster", name)?;
    Ok(clusters_folder()?.join(name))
}

/// Starts a cluster that a process of its own holds, and returns its run folder when its slices are published.
/// If the caller ends before that, so does the cluster.
pub async fn spawn(spec: ClusterSpec, until: Until, listener: &dyn Listener) -> Result<PathBuf> {
    spec.check()?;
    let (dir, exe) = (spec.dir.clone(), spec.exe()?);
    let order = Order {
        name: spec.name,
        dir: spec.dir,
        nodes: spec.nodes,
        programs: spec.programs,
        features: spec.features,
        image_cache: spec.image_cache,
        until,
    };
    let parent = dir.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).map_err(Error::io("make", parent))?;
    let mut child = Command::new(&exe)
        .arg(ROLE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // Whoever captures the output of `up` must not wait for the supervisor's end.
        .stderr(Stdio::null())
        .current_dir("/")
        .process_group(0)
        .spawn()
        .map_err(Error::io("start", &exe))?;
    let (Some(mut orders), Some(reports)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(lost("its pipes are missing"));
    };
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in BufReader::new(reports).lines().map_while(io::Result::ok) {
            if serde_json::from_str::<Report>(&line)
                .is_ok_and(|report| sender.send(report).is_err())
            {
                return;
            }
        }
    });
    let text = serde_json::to_string(&order).unwrap_or_default();
    writeln!(orders, "{text}").map_err(Error::io("talk to", &exe))?;
    while let Some(report) = receiver.recv().await {
        match report {
            Report::Progress(progress) => listener.on(progress),
            Report::Failed { text, code } => {
                let _ = tokio::task::spawn_blocking(move || child.wait()).await;
                return Err(Error::Supervisor { text, code });
            }
            Report::Up => {
                // From here on it stands on its own.
                writeln!(orders, "stay").map_err(Error::io("talk to", &exe))?;
                return Ok(dir);
            }
        }
    }
    let status = tokio::task::spawn_blocking(move || child.wait())
        .await
        .ok()
        .and_then(io::Result::ok);
    let mut error = lost(&status.map_or_else(|| "it is gone".to_owned(), |s| s.to_string()));
    if let (Ok(Some(cleaned)), Error::Supervisor { text, .. }) =
        (owner::remove_stale(&order.name, &dir), &mut error)
    {
        text.push_str(&format!("; removed {cleaned}"));
    }
    Err(error)
}

fn lost(why: &str) -> Error {
    Error::Supervisor {
        text: format!("the cluster's supervisor ended before the cluster was up: {why}"),
        code: 1,
    }
}

/// The supervisor's `main`.
pub(crate) fn main() -> i32 {
    let mut line = String::new();
    let mut orders = BufReader::new(io::stdin());
    let order: Option<Order> = orders
        .read_line(&mut line)
        .ok()
        .and_then(|_| serde_json::from_str(&line).ok());
    let Some(order) = order else {
        eprintln!("{ROLE} is started by `sliceproof up`");
        return 2;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(supervise(order, orders)),
        Err(e) => {
            say(&Report::Failed {
                text: format!("cannot start a runtime: {e}"),
                code: 1,
            });
            1
        }
    }
}

async fn supervise(order: Order, mut orders: BufReader<io::Stdin>) -> i32 {
    let mut end = Box::pin(asked_to_end(order.until));
    let spec = ClusterSpec {
        name: order.name,
        dir: order.dir,
        nodes: order.nodes,
        programs: order.programs,
        features: order.features,
        exe: None,
        image_cache: order.image_cache,
    };
    let (gone, starter_is_gone) = tokio::sync::oneshot::channel();
    let (stay, told_to_stay) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        match orders.read_line(&mut line) {
            Ok(n) if n > 0 && line.trim() == "stay" => drop(stay.send(())),
            _ => drop(gone.send(())),
        }
    });
    let listener = |progress: Progress| say(&Report::Progress(progress));
    let mut starter_is_gone = Box::pin(starter_is_gone);
    let started = tokio::select! {
        started = Cluster::start(spec, &listener) => started,
        () = &mut end => return 0,
        Ok(()) = &mut starter_is_gone => return 0,
    };
    let running = match started {
        Ok(running) => running,
        Err(error) => {
            let code = error.exit_code();
            say(&Report::Failed {
                text: error.to_string(),
                code,
            });
            return code;
        }
    };
    say(&Report::Up);
    tokio::select! {
        Ok(()) = told_to_stay => hold(running, end).await,
        Ok(()) = starter_is_gone => finish(running).await,
    }
}

async fn hold(running: Running, mut end: impl Future<Output = ()> + Unpin) -> i32 {
    let mut look = tokio::time::interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            () = &mut end => return finish(running).await,
            _ = look.tick() => {
                // Without its namespaces there is nothing to hold.
                if running.is_gone() {
                    return finish(running).await;
                }
            }
        }
    }
}

async fn finish(running: Running) -> i32 {
    match running.stop().await {
        Ok(()) => 0,
        Err(error) => error.exit_code(),
    }
}

async fn asked_to_end(until: Until) {
    use tokio::signal::unix::{SignalKind, signal};
    let (term, int) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    );
    let signals = async {
        match (term, int) {
            (Ok(mut term), Ok(mut int)) => {
                tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
            }
            _ => std::future::pending().await,
        }
    };
    let exit = async {
        let Until::Exit(pid) = until else {
            return std::future::pending().await;
        };
        let born = birth(pid);
        while birth(pid).is_some_and(|b| Some(b) == born) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::select! { () = signals => {}, () = exit => {} }
}

/// When a process was started, in clock ticks since boot; tells it from another that got its id. `None` when it has ended.
fn birth(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    (fields.next()? != "Z").then_some(())?;
    fields.nth(18)?.parse().ok()
}

fn say(report: &Report) {
    let text = serde_json::to_string(report).unwrap_or_default();
    // Nobody may be listening any more.
    let _ = writeln!(io::stdout(), "{text}");
}

/// What an orderly end may take.
const ON_SIGTERM: Duration = Duration::from_secs(20);

/// What the kernel may take to end a supervisor.
const ON_SIGKILL: Duration = Duration::from_secs(10);

/// Ends the cluster of this name and waits until nothing of it is left. The text says if only remains were found.
pub fn down(name: &str) -> Result<Option<String>> {
    end(&run_folder(name)?)
}

/// Like [`down`], by run folder.
pub fn end(dir: &Path) -> Result<Option<String>> {
    let name = &*dir.file_name().unwrap_or_default().to_string_lossy();
    let Some(pid) = owner::holder(dir) else {
        return match owner::remove_stale(name, dir)? {
            Some(cleaned) => Ok(Some(cleaned)),
            None => Err(Error::NotRunning { name: name.into() }),
        };
    };
    let pid = pid.parse().map(Pid::from_raw).map_err(|_| Error::Busy {
        name: name.into(),
        pid,
    })?;
    let ended = |limit: Duration| {
        let deadline = Instant::now() + limit;
        while owner::holder(dir).is_some() {
            if Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    };
    let _ = kill(pid, Signal::SIGTERM);
    if !ended(ON_SIGTERM) {
        let killed = kill(pid, Signal::SIGKILL);
        if !ended(ON_SIGKILL) {
            return Err(Error::TimedOut {
                waiting_for: format!("the supervisor of cluster {name} to end"),
                limit: ON_SIGTERM + ON_SIGKILL,
                last_seen: format!("process {pid} holds {}", dir.display()),
                hint: killed.err().map_or_else(String::new, |e| {
                    format!("; it cannot be killed from here: {}", e.desc())
                }),
            });
        }
    }
    owner::remove_stale(name, dir)
}

/// All clusters of this user that run or start.
pub fn list() -> Result<Vec<Status>> {
    let mut found = Vec::new();
    for (name, dir) in folders()? {
        let Some(pid) = owner::holder(&dir) else {
            continue;
        };
        let record = read_record(&dir).ok();
        let kubeconfig = record.as_ref().map(|_| dir.join("kubeconfig"));
        let nodes = record
            .map(|r| r.nodes.into_iter().map(|n| n.shape).collect())
            .unwrap_or_default();
        found.push(Status {
            name,
            dir,
            pid,
            nodes,
            kubeconfig,
        });
    }
    Ok(found)
}

/// Removes what clusters left behind whose supervisor was killed; returns what was removed.
pub fn sweep() -> Result<Vec<String>> {
    let mut cleaned = Vec::new();
    for (name, dir) in folders()? {
        cleaned.extend(owner::remove_stale(&name, &dir)?);
    }
    Ok(cleaned)
}

fn folders() -> Result<Vec<(String, PathBuf)>> {
    let all = clusters_folder()?;
    let entries = match fs::read_dir(&all) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        Err(e) => return Err(Error::io("read", all)(e)),
    };
    let mut found: Vec<(String, PathBuf)> = entries
        .flatten()
        .filter(|e| e.file_type().is_ok_and(|t| t.is_dir()))
        .map(|e| (e.file_name().to_string_lossy().into_owned(), e.path()))
        .collect();
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_from_one_that_has_ended() {
        let mut child = Command::new("sleep").arg("100").spawn().expect("sleep");
        assert!(birth(child.id()).is_some());
        child.kill().expect("kill");
        let deadline = Instant::now() + Duration::from_secs(5);
        while birth(child.id()).is_some() {
            assert!(
                Instant::now() < deadline,
                "a killed process that nobody has waited for still counts as alive"
            );
        }
        child.wait().expect("wait");
        assert_eq!(birth(child.id()), None);
    }
}
