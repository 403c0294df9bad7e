//! Asking a library: in a process of its own, with a time limit for each call.
//! Not what is asked (`walk`) and not the calls themselves (`worker`, in that process).
//! A driver that hangs or crashes costs one answer: the process is left alone and another one goes on.
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::Duration,
};

/// One call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The function.
    pub function: String,
    /// On what, as [`crate::Target`] is written.
    pub on: String,
    /// Its arguments after the handle.
    pub args: Vec<Wire>,
}

/// An argument on its way to the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// A number.
    Number(u64),
    /// The handle of the GPU of this index.
    Gpu(u64),
    /// Bytes whose address is passed, in hexadecimal.
    Bytes(String),
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// A code, and the bytes of each [`Wire::Bytes`].
    Returned {
        /// `nvmlReturn_t`.
        code: u32,
        /// As the function left them, in hexadecimal.
        bytes: Vec<String>,
    },
    /// The library has no such function.
    Absent,
    /// The target could not be opened; this is what it said.
    NoTarget(u32),
    /// It wrote beyond its buffers.
    Overrun(u32),
    /// No answer within the limit.
    TimedOut,
    /// The process died of it.
    Died(String),
}

/// A worker's process, started anew as often as it must.
#[derive(Debug)]
pub struct Process {
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    limit: Duration,
    running: Option<Running>,
    started: u32,
}

#[derive(Debug)]
struct Running {
    child: Child,
    input: ChildStdin,
    answers: Receiver<String>,
}

/// Starts before it is given up: a library on which every call dies is no use.
const STARTS: u32 = 200;

impl Process {
    /// `program args` is to call [`crate::work`].
    pub fn new(program: PathBuf, args: Vec<OsString>, limit: Duration) -> Self {
        Self {
            program,
            args,
            env: Vec::new(),
            limit,
            running: None,
            started: 0,
        }
    }

    /// With this in its environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    fn start(&mut self) -> std::io::Result<Running> {
        self.started += 1;
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::Error::other("no pipes"));
        };
        let (send, answers) = channel();
        // Ends with the process, at the latest with this one.
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Running {
            child,
            input,
            answers,
        })
    }

    /// Makes one call.
    pub fn ask(&mut self, request: &Request) -> Reply {
        if self.running.is_none() {
            if self.started >= STARTS {
                return Reply::Died(format!("not asked: the worker has ended {STARTS} times"));
            }
            match self.start() {
                Ok(running) => self.running = Some(running),
                Err(e) => {
                    return Reply::Died(format!("cannot start {}: {e}", self.program.display()));
                }
            }
        }
        let Some(running) = &mut self.running else {
            return Reply::Died("not started".to_owned());
        };
        let line = serde_json::to_string(request).unwrap_or_default();
        let sent = writeln!(running.input, "{line}").and_then(|()| running.input.flush());
        let answer = match sent {
            Ok(()) => running.answers.recv_timeout(self.limit),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        };
        match answer {
            Ok(line) => serde_json::from_str(&line)
                .unwrap_or_else(|e| Reply::Died(format!("not understood: {e}: {line}"))),
            Err(RecvTimeoutError::Timeout) => {
                // A process that hangs in the kernel does not end by a signal: it is not waited for.
                if let Some(mut running) = self.running.take() {
                    let _ = running.child.kill();
                    std::thread::spawn(move || running.child.wait());
                }
                Reply::TimedOut
            }
            Err(RecvTimeoutError::Disconnected) => {
                let how = self.running.take().map(|mut running| running.child.wait());
                Reply::Died(match how {
                    Some(Ok(status)) => status.to_string(),
                    _ => "it is gone".to_owned(),
                })
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            // The end of its input is the end of the worker; one that hangs is ended.
            drop(running.input);
            let end = std::time::Instant::now() + Duration::from_secs(2);
            while std::time::Instant::now() < end {
                match running.child.try_wait() {
                    Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                    _ => return,
                }
            }
            let _ = running.child.kill();
            std::thread::spawn(move || running.child.wait());
        }
    }
}
