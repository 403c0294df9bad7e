//! Process 1 of a cluster or of a node: starts programs when it is asked to, keeps a table of them, reaps orphans,
//! and ends when its supervisor does; the kernel then ends everything else in its pid namespace.
//! Knows no component by name. Requests come over the control socket (`rpc`), the lifeline is standard input.
use std::{
    collections::{BTreeMap, HashMap},
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    os::{
        fd::AsFd,
        unix::net::{UnixListener, UnixStream},
    },
    path::Path,
    process::{ChildStderr, ChildStdout, Command, Stdio},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        mpsc::{self, Receiver},
    },
    thread,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    sys::{
        signal::{Signal, kill},
        wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid},
    },
    unistd::Pid,
};

use crate::rpc::{Launch, Output, Program, Reply, Request};

/// Ends this process when the one that started it ends.
pub(crate) fn die_with_parent() {
    // Where it fails, or the parent is gone already, a cluster's init has its lifeline, and a node's ends with the cluster's.
    let _ = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL);
}

#[derive(Default)]
struct Table {
    programs: BTreeMap<String, Program>,
    /// Children that are not programs of the table (`Run`): pid to status.
    loose: HashMap<i32, Option<WaitStatus>>,
}

/// The children of this process.
#[derive(Default)]
pub(crate) struct Children {
    table: Mutex<Table>,
    ended: Condvar,
}

impl Children {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reaps for ever. The only place that waits for children.
    fn reap(&self) {
        loop {
            // Only look first: std waits itself for a child whose exec failed, and does so with the table locked.
            match waitid(Id::All, WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {
                Ok(status) => {
                    let Some(pid) = status.pid() else { continue };
                    let mut table = self.lock();
                    let Ok(status) = waitpid(pid, Some(WaitPidFlag::WNOHANG)) else {
                        continue;
                    };
                    if let Some(slot) = table.loose.get_mut(&pid.as_raw()) {
                        *slot = Some(status);
                    } else if let Some(program) = table
                        .programs
                        .values_mut()
                        .find(|p| p.pid == pid.as_raw() && p.ended.is_none())
                    {
                        program.ended = Some(in_words(status));
                    }
                    self.ended.notify_all();
                }
                Err(Errno::ECHILD) => {
                    // No child at all: wait until there may be one.
                    let table = self.lock();
                    drop(self.ended.wait_timeout(table, Duration::from_millis(50)));
                }
                Err(_) => {}
            }
        }
    }

    fn start(&self, launch: Launch) -> Result<(), String> {
        let mut table = self.lock();
        if table
            .programs
            .get(&launch.name)
            .is_some_and(|p| p.ended.is_none())
        {
            return Err(format!("{} is running already", launch.name));
        }
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&launch.log)
            .map_err(|e| format!("cannot open {}: {e}", launch.log.display()))?;
        let errors = log.try_clone().map_err(|e| e.to_string())?;
        let child = command(&launch.argv, &launch.env)?
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(|e| format!("cannot start {}: {e}", launch.argv[0]))?;
        let program = Program {
            name: launch.name.clone(),
            pid: child.id() as i32,
            log: launch.log,
            ended: None,
            stopped: false,
        };
        table.programs.insert(launch.name, program);
        self.ended.notify_all();
        Ok(())
    }

    fn stop(&self, name: &str, grace: Duration) -> Result<(), String> {
        let pid = {
            let mut table = self.lock();
            let Some(program) = table.programs.get_mut(name) else {
                return Ok(());
            };
            // Also one that has ended by itself: whoever ends it knows of it.
            program.stopped = true;
            if program.ended.is_some() {
                return Ok(());
            }
            Pid::from_raw(program.pid)
        };
        let gone = |limit: Duration| {
            let deadline = Instant::now() + limit;
            let mut table = self.lock();
            while table.programs.get(name).is_some_and(|p| p.ended.is_none()) {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return false;
                }
                table = self
                    .ended
                    .wait_timeout(table, left)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
            }
            true
        };
        // With the table locked nobody reaps: the id is still its own.
        let signal = |signal| {
            let table = self.lock();
            if table.programs.get(name).is_some_and(|p| p.ended.is_none()) {
                let _ = kill(pid, signal);
            }
        };
        signal(Signal::SIGTERM);
        if gone(grace) {
            return Ok(());
        }
        signal(Signal::SIGKILL);
        if gone(Duration::from_secs(10)) {
            Ok(())
        } else {
            Err(format!("{name} (pid {pid}) does not end"))
        }
    }

    fn run(
        &self,
        argv: &[String],
        env: &BTreeMap<String, String>,
        stdin: &str,
        limit: Duration,
    ) -> Result<Output, String> {
        let mut child = {
            let mut table = self.lock();
            let child = command(argv, env)?
                .stdin(if stdin.is_empty() {
                    Stdio::null()
                } else {
                    Stdio::piped()
                })
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .map_err(|e| format!("cannot start {}: {e}", argv[0]))?;
            table.loose.insert(child.id() as i32, None);
            self.ended.notify_all();
            child
        };
        let pid = child.id() as i32;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        // Threads, and none is joined: a program may not read its input, and what it leaves behind may hold its output open.
        let out = in_thread(move || out.map(slurp::<ChildStdout>).unwrap_or_default());
        let err = in_thread(move || err.map(slurp::<ChildStderr>).unwrap_or_default());
        if let Some(mut pipe) = child.stdin.take() {
            let input = stdin.to_owned();
            thread::spawn(move || pipe.write_all(input.as_bytes()));
        }
        let deadline = Instant::now() + limit;
        let mut table = self.lock();
        let status = loop {
            if let Some(Some(status)) = table.loose.get(&pid) {
                break Some(*status);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break None;
            }
            table = self
                .ended
                .wait_timeout(table, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        };
        table.loose.remove(&pid);
        if status.is_none() {
            // With the table locked nobody reaps: the id is still its own.
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        drop(table);
        let Some(status) = status else {
            return Err(format!(
                "{} did not end within {} s",
                argv[0],
                limit.as_secs()
            ));
        };
        let code = match status {
            WaitStatus::Exited(_, code) => code,
            WaitStatus::Signaled(_, signal, _) => 128 + signal as i32,
            _ => 255,
        };
        let whole = |pipe: Receiver<String>| {
            let left = deadline.saturating_duration_since(Instant::now());
            pipe.recv_timeout(left.max(LAST_WORDS)).map_err(|_| {
                format!(
                    "{} ended, but something that it started holds its output open; redirect the output of what shall stay",
                    argv[0]
                )
            })
        };
        Ok(Output {
            code,
            stdout: whole(out)?,
            stderr: whole(err)?,
        })
    }

    fn programs(&self) -> Vec<Program> {
        self.lock().programs.values().cloned().collect()
    }

    fn answer(&self, request: Request) -> Reply {
        let result = match request {
            Request::Start(launch) => self.start(launch).map(|()| Reply::Done),
            Request::Stop { name, grace_ms } => self
                .stop(&name, Duration::from_millis(grace_ms))
                .map(|()| Reply::Done),
            Request::Status => Ok(Reply::Programs(self.programs())),
            Request::Run {
                argv,
                env,
                stdin,
                limit_ms,
            } => self
                .run(&argv, &env, &stdin, Duration::from_millis(limit_ms))
                .map(Reply::Output),
            Request::Exists { path } => Ok(Reply::Exists(path.exists())),
            Request::EnterHost { dir } => crate::node::host::enter(&dir).map(|()| Reply::Done),
        };
        result.unwrap_or_else(Reply::Refused)
    }
}

fn command(argv: &[String], env: &BTreeMap<String, String>) -> Result<Command, String> {
    let Some((program, args)) = argv.split_first() else {
        return Err("nothing to start".into());
    };
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(env);
    Ok(command)
}

/// What reading may take after a program has ended, also at the end of a limit.
const LAST_WORDS: Duration = Duration::from_secs(1);

fn in_thread(read: impl FnOnce() -> String + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    // Nobody may be waiting any more.
    thread::spawn(move || drop(sender.send(read())));
    receiver
}

fn slurp<R: Read>(mut pipe: R) -> String {
    let mut bytes = Vec::new();
    let _ = pipe.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn in_words(status: WaitStatus) -> String {
    match status {
        WaitStatus::Exited(_, code) => format!("exit status {code}"),
        WaitStatus::Signaled(_, signal, _) => format!("signal {signal}"),
        other => format!("{other:?}"),
    }
}

/// Serves until the lifeline breaks; then the process ends, and with it the pid namespace.
/// A node's init has none: it lies in the cluster's pid namespace and ends with that, or with its parent.
pub(crate) fn serve(control: UnixListener, has_lifeline: bool) -> ! {
    let children = Arc::new(Children::default());
    let reaper = children.clone();
    thread::spawn(move || reaper.reap());
    thread::spawn(move || {
        for connection in control.incoming().flatten() {
            let children = children.clone();
            thread::spawn(move || converse(connection, &children));
        }
    });
    if has_lifeline {
        wait_for_end_of_lifeline();
    } else {
        loop {
            thread::park();
        }
    }
    std::process::exit(0)
}

fn converse(connection: UnixStream, children: &Children) -> Option<()> {
    let mut lines = BufReader::new(connection.try_clone().ok()?);
    let mut writer = connection;
    let mut line = String::new();
    while lines.read_line(&mut line).ok()? > 0 {
        let reply = match serde_json::from_str(&line) {
            Ok(request) => children.answer(request),
            Err(e) => Reply::Refused(format!("not a request: {e}")),
        };
        line.clear();
        let mut text = serde_json::to_string(&reply).ok()?;
        text.push('\n');
        writer.write_all(text.as_bytes()).ok()?;
    }
    Some(())
}

/// Standard input is a pipe whose other end only the supervisor holds.
fn wait_for_end_of_lifeline() {
    let mut nothing = [0; 64];
    loop {
        match io::stdin().read(&mut nothing) {
            Ok(0) => return,
            Err(e) if e.kind() != io::ErrorKind::Interrupted => return,
            _ => {}
        }
    }
}

/// Accepts on the listener that standard output is (made outside, so it listens outside) and carries each
/// connection to an address in here.
pub(crate) fn carry_connections(to: std::net::SocketAddr) -> io::Result<()> {
    let listener = std::net::TcpListener::from(io::stdout().as_fd().try_clone_to_owned()?);
    listener.set_nonblocking(true)?;
    thread::Builder::new().name("carry".into()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async move {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                return;
            };
            loop {
                let Ok((mut near, _)) = listener.accept().await else {
                    // Out of descriptors, for example: trying at once would take a core and help nobody.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                tokio::spawn(async move {
                    if let Ok(mut far) = tokio::net::TcpStream::connect(to).await {
                        let _ = near.set_nodelay(true);
                        let _ = far.set_nodelay(true);
                        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                    }
                });
            }
        });
    })?;
    Ok(())
}

/// The first process of a set of namespaces: waits for the init it started and ends as that ends.
pub(crate) fn stand_by(argv0: &str, role: &str, rest: &[&Path]) -> i32 {
    use std::os::unix::process::CommandExt;
    let child = Command::new("/proc/self/exe")
        .arg0(argv0)
        .arg(role)
        .args(rest)
        .spawn();
    match child.and_then(|mut child| child.wait()) {
        Ok(status) => status.code().unwrap_or(137),
        Err(e) => {
            eprintln!("cannot start an init: {e}");
            1
        }
    }
}
