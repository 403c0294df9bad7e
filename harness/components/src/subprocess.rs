//! Runs a build tool quietly: its lines are counted and the last ones kept.
//! Not a supervisor: one program at a time, run to its end. What outlives us is killed.
//! Lines come from the child; counts go to `progress`, last words into errors.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::error::{BuildFailure, is_disk_full};
use crate::host::Host;
use crate::progress::{Event, Progress};

/// Lines of output that an error carries.
const TAIL: usize = 25;
/// How often a running task is told of.
const TICK: Duration = Duration::from_millis(200);

/// Standard input is a pipe that we hold. When we die, whatever the signal, it ends, and the shell kills the whole process
/// group: no compiler works on for nobody. When the tool ends first, the waiting `read` is killed and the status passed on.
const GUARD: &str = r#"
exec 3<&0
"$@" </dev/null 3<&- & tool=$!
( read -r _ <&3; kill -KILL 0 ) >/dev/null 2>&1 & guard=$!
exec 3<&-
wait "$tool"; status=$?
kill -KILL "$guard" 2>/dev/null
exit "$status"
"#;

/// One run of one tool.
pub(crate) struct Job<'a> {
    pub(crate) host: &'a Host,
    pub(crate) program: &'a Path,
    pub(crate) args: Vec<OsString>,
    pub(crate) folder: &'a Path,
    /// Variables on top of the host's.
    pub(crate) env: Vec<(&'static str, OsString)>,
    /// Variables of the host that the tool does not see.
    pub(crate) unset: &'static [&'static str],
}

/// How it ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) tail: Vec<String>,
}

/// What a line of standard error is.
pub(crate) enum Line {
    /// A step done, such as a package compiled.
    Step,
    /// Replaces the note until the next step.
    Note(String),
    /// Anything else: kept for the error.
    Words,
}

impl Job<'_> {
    pub(crate) fn command_line(&self) -> String {
        let quote = |word: &OsStr| {
            let word = word.to_string_lossy();
            if !word.is_empty()
                && word
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-_=./:,@+".contains(&b))
            {
                word.into_owned()
            } else {
                format!("'{word}'")
            }
        };
        let env = self
            .env
            .iter()
            .map(|(name, value)| format!("{name}={}", quote(value)));
        env.chain([quote(self.program.as_os_str())])
            .chain(self.args.iter().map(|arg| quote(arg)))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Runs it to its end. `unit` is what a [`Line::Step`] counts, in the plural.
    pub(crate) fn run(
        &self,
        task: &str,
        unit: &str,
        progress: &dyn Progress,
        classify: &dyn Fn(&str) -> Line,
    ) -> std::io::Result<Ended> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", GUARD, "sh"])
            .arg(self.program)
            .args(&self.args)
            .current_dir(self.folder)
            .process_group(0);
        command
            .env_clear()
            .envs(self.host.vars())
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        for name in self.unset {
            command.env_remove(name);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let began = Instant::now();
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());

        let (sender, lines) = mpsc::channel();
        let words = std::thread::spawn(move || {
            for line in stderr
                .into_iter()
                .flat_map(|pipe| BufReader::new(pipe).split(b'\n'))
                .map_while(Result::ok)
            {
                if sender
                    .send(String::from_utf8_lossy(&line).trim_end().to_owned())
                    .is_err()
                {
                    return;
                }
            }
        });
        let output = std::thread::spawn(move || {
            let mut text = Vec::new();
            // What could be read before a fault is as good as it gets.
            let _ = stdout.map(|mut pipe| pipe.read_to_end(&mut text));
            String::from_utf8_lossy(&text).into_owned()
        });

        let (mut tail, mut steps, mut note) = (VecDeque::new(), 0usize, String::new());
        // A tool may die with a single word that looks like a step.
        let mut last_step = None;
        let mut told = began;
        loop {
            match lines.recv_timeout(TICK) {
                Ok(line) => match classify(&line) {
                    Line::Step => {
                        steps += 1;
                        note = format!("{steps} {unit}");
                        last_step = Some(line);
                    }
                    Line::Note(text) => note = text,
                    Line::Words => {
                        if tail.len() == TAIL {
                            tail.pop_front();
                        }
                        tail.push_back(line);
                    }
                },
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if told.elapsed() >= TICK {
                told = Instant::now();
                progress.on(Event::Running {
                    task,
                    note: &note,
                    elapsed: began.elapsed(),
                });
            }
        }
        let status = child.wait()?;
        drop(stdin);
        if tail.is_empty() {
            tail.extend(last_step);
        }
        // The threads end with the pipes and do not panic.
        let _ = words.join();
        Ok(Ended {
            status,
            stdout: output.join().unwrap_or_default(),
            tail: tail.into(),
        })
    }

    pub(crate) fn failure(&self, what: &str, ended: &Ended) -> BuildFailure {
        BuildFailure {
            what: what.to_owned(),
            command: self.command_line(),
            status: ended.status.to_string(),
            tail: ended.tail.clone(),
        }
    }
}

/// Runs `work` as one task of the progress.
pub(crate) fn task<T, E>(
    name: &str,
    progress: &dyn Progress,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let began = Instant::now();
    progress.on(Event::Started { task: name });
    let result = work();
    let elapsed = began.elapsed();
    progress.on(if result.is_ok() {
        Event::Finished {
            task: name,
            note: "",
            elapsed,
        }
    } else {
        Event::Failed {
            task: name,
            elapsed,
        }
    });
    result
}

/// The line that says that a disk is full.
pub(crate) fn disk_full_line(tail: &[String]) -> Option<&String> {
    tail.iter().find(|line| {
        ["no space left on device", "disk quota exceeded"]
            .iter()
            .any(|sign| line.to_ascii_lowercase().contains(sign))
    })
}

/// The line that says that a source cannot be reached.
pub(crate) fn network_line(tail: &[String]) -> Option<&String> {
    const SIGNS: [&str; 17] = [
        "dial tcp",
        "no such host",
        "connection refused",
        "connection reset",
        "network is unreachable",
        "i/o timeout",
        "tls handshake timeout",
        "temporary failure resolving",
        "could not resolve",
        "could not connect",
        "cannot initiate the connection",
        "unable to connect",
        "connection timed out",
        "disabled by goproxy=off",
        "temporary failure in name resolution",
        "name or service not known",
        "failed to establish a new connection",
    ];
    tail.iter().find(|line| {
        SIGNS
            .iter()
            .any(|sign| line.to_ascii_lowercase().contains(sign))
    })
}

/// Turns a failure to start or to read a tool into the words that a failing tool would have said.
pub(crate) fn could_not_run(error: &std::io::Error) -> String {
    if is_disk_full(error) {
        format!("no space left on device: {error}")
    } else {
        format!("cannot be started: {error}")
    }
}
