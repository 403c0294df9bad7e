//! What a supervisor and an init say to each other: one JSON line each way over a Unix socket in the run folder.
//! Not a public protocol: both ends are this crate, in the same binary.
//! Requests come from `Running` and `Node`; `init` answers them.
use std::{
    collections::BTreeMap,
    fs, io,
    os::{fd::AsRawFd, unix::net::UnixListener},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::error::{Error, Result};

/// A program for an init to start and to keep in its table under a name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Launch {
    /// Name in the table and of the log file.
    pub name: String,
    pub argv: Vec<String>,
    /// The whole environment; nothing is inherited.
    pub env: BTreeMap<String, String>,
    /// Standard output and error go here, appended.
    pub log: PathBuf,
}

impl Launch {
    /// What was written down of how `program` is started.
    pub(crate) fn read(program: &str, file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => Error::MissingComponent {
                name: program.to_owned(),
            },
            _ => Error::io("read", file)(source),
        })?;
        serde_json::from_str(&text).map_err(|e| Error::Init {
            doing: format!("read {}", file.display()),
            message: e.to_string(),
        })
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Start a program under a name that is free or whose program has ended.
    Start(Launch),
    /// Ask a program to end (SIGTERM), after `grace_ms` make it (SIGKILL); answer when it has ended.
    Stop { name: String, grace_ms: u64 },
    /// The table of programs.
    Status,
    /// Run a program to its end and return what it printed.
    Run {
        argv: Vec<String>,
        env: BTreeMap<String, String>,
        stdin: String,
        limit_ms: u64,
    },
    /// Whether a path exists in here.
    Exists { path: PathBuf },
    /// Bring the fake host tree at this folder into place in the node's mount namespace.
    EnterHost { dir: PathBuf },
}

/// What an init may take to answer, beyond the time that the request itself allows: it forks and mounts, and may have to wait
/// for a processor.
const PATIENCE: Duration = Duration::from_secs(30);

impl Request {
    /// How long to wait for the answer.
    fn limit(&self) -> Duration {
        let own = match self {
            Self::Stop { grace_ms: ms, .. } | Self::Run { limit_ms: ms, .. } => *ms,
            Self::Start(_) | Self::Status | Self::Exists { .. } | Self::EnterHost { .. } => 0,
        };
        PATIENCE.saturating_add(Duration::from_millis(own))
    }
}

/// One row of an init's table.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Program {
    pub name: String,
    pub pid: i32,
    pub log: PathBuf,
    /// How it ended, in words; `None` while it runs.
    pub ended: Option<String>,
    /// It ended because `Stop` asked for it.
    pub stopped: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Reply {
    Done,
    Programs(Vec<Program>),
    Output(Output),
    Exists(bool),
    Refused(String),
}

/// What a program that ran to its end left.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct Output {
    /// Exit code; 128 + signal when a signal ended it.
    pub code: i32,
    /// Standard output, invalid UTF-8 replaced.
    pub stdout: String,
    /// Standard error, invalid UTF-8 replaced.
    pub stderr: String,
}

impl Output {
    /// It ended with code 0.
    pub fn ok(&self) -> bool {
        self.code == 0
    }
}

/// `sun_path` holds 107 bytes; going through the folder's descriptor lets the run folder lie as deep as it likes.
fn through_descriptor<T>(socket: &Path, f: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let (Some(dir), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "socket path without a folder",
        ));
    };
    let dir = std::fs::File::open(dir)?;
    f(&Path::new("/proc/self/fd")
        .join(dir.as_raw_fd().to_string())
        .join(name))
}

pub(crate) fn bind(socket: &Path) -> io::Result<UnixListener> {
    through_descriptor(socket, |short| UnixListener::bind(short))
}

/// The supervisor's end: one connection per request, so that a long one blocks nobody.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    socket: PathBuf,
    who: String,
}

impl Client {
    pub(crate) fn new(socket: PathBuf, who: impl Into<String>) -> Self {
        Client {
            socket,
            who: who.into(),
        }
    }

    pub(crate) fn reachable(&self) -> bool {
        through_descriptor(&self.socket, |short| {
            std::os::unix::net::UnixStream::connect(short)
        })
        .is_ok()
    }

    async fn call(&self, doing: &str, request: &Request) -> Result<Reply> {
        let talk = async {
            let stream = through_descriptor(&self.socket, |short| {
                std::os::unix::net::UnixStream::connect(short)
            })?;
            stream.set_nonblocking(true)?;
            let mut stream = BufReader::new(tokio::net::UnixStream::from_std(stream)?);
            let mut line = serde_json::to_string(request)?;
            line.push('\n');
            stream.get_mut().write_all(line.as_bytes()).await?;
            let mut answer = String::new();
            if stream.read_line(&mut answer).await? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            Ok::<Reply, io::Error>(serde_json::from_str(&answer)?)
        };
        let refused = |message: String| Error::Init {
            doing: format!("{doing} ({})", self.who),
            message,
        };
        let limit = request.limit();
        match tokio::time::timeout(limit, talk).await {
            Ok(Ok(Reply::Refused(message))) => Err(refused(message)),
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(e)) => Err(refused(format!("its init does not answer: {e}"))),
            Err(_) => Err(refused(format!(
                "its init has not answered within {} seconds",
                limit.as_secs()
            ))),
        }
    }

    pub(crate) async fn start(&self, launch: Launch) -> Result<()> {
        let doing = format!("start {}", launch.name);
        self.call(&doing, &Request::Start(launch)).await.map(drop)
    }

    pub(crate) async fn stop(&self, name: &str, grace: Duration) -> Result<()> {
        let request = Request::Stop {
            name: name.into(),
            grace_ms: grace.as_millis() as u64,
        };
        self.call(&format!("stop {name}"), &request).await.map(drop)
    }

    pub(crate) async fn programs(&self) -> Result<Vec<Program>> {
        match self
            .call("ask for the table of programs", &Request::Status)
            .await?
        {
            Reply::Programs(programs) => Ok(programs),
            other => Err(self.odd(other)),
        }
    }

    pub(crate) async fn run(
        &self,
        argv: &[String],
        env: BTreeMap<String, String>,
        stdin: &str,
        limit: Duration,
    ) -> Result<Output> {
        let request = Request::Run {
            argv: argv.to_vec(),
            env,
            stdin: stdin.into(),
            limit_ms: limit.as_millis() as u64,
        };
        match self
            .call(&format!("run {}", argv.join(" ")), &request)
            .await?
        {
            Reply::Output(output) => Ok(output),
            other => Err(self.odd(other)),
        }
    }

    pub(crate) async fn exists(&self, path: &str) -> Result<bool> {
        match self
            .call("look for a file", &Request::Exists { path: path.into() })
            .await?
        {
            Reply::Exists(yes) => Ok(yes),
            other => Err(self.odd(other)),
        }
    }

    pub(crate) async fn enter_host(&self, dir: &Path) -> Result<()> {
        self.call(
            "put the fake host in place",
            &Request::EnterHost { dir: dir.into() },
        )
        .await
        .map(drop)
    }

    fn odd(&self, reply: Reply) -> Error {
        Error::Init {
            doing: format!("talk to {}", self.who),
            message: format!("unexpected answer {reply:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_init_that_is_silent_does_not_hold_up_for_ever() {
        let dir = tempfile::tempdir().expect("a folder");
        let socket = dir.path().join("init.sock");
        // Connections are taken by the kernel and nobody reads them.
        let _silent = bind(&socket).expect("bind");
        let client = Client::new(socket, "node-1");
        let grace = Duration::from_secs(5);
        let limit = PATIENCE + grace;
        let begun = tokio::time::Instant::now();
        let error = client.stop("kubelet", grace).await.expect_err("no answer");
        let text = error.to_string();
        assert!(text.contains("stop kubelet (node-1)"), "{text}");
        let said = format!("has not answered within {} seconds", limit.as_secs());
        assert!(text.contains(&said), "{text}");
        assert_eq!(begun.elapsed().as_secs(), limit.as_secs());
    }
}
