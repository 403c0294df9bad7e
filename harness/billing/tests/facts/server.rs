//! A real PostgreSQL that belongs to one test: of the system, or of Debian's package, unpacked and not installed.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use billing::Place;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Gid, Pid, Uid, chown};

/// Whom the server runs as where the test is root, which PostgreSQL refuses.
const NOBODY: u32 = 65534;

pub(crate) struct Server {
    folder: tempfile::TempDir,
    programs: PathBuf,
    child: Option<Child>,
}

impl Server {
    /// Starts one; `None`, with the reason on standard error, where it cannot be had.
    pub(crate) fn start() -> Option<Server> {
        match Self::try_start() {
            Ok(server) => Some(server),
            Err(why) => {
                eprintln!("NOT RUN: ledger in PostgreSQL: {why}");
                None
            }
        }
    }

    fn try_start() -> Result<Server, String> {
        let folder = tempfile::Builder::new()
            .prefix("sliceproof-pg-")
            .tempdir_in("/tmp")
            .map_err(|error| error.to_string())?;
        let programs = match installed() {
            Some(programs) => programs,
            None => unpacked(folder.path())?,
        };
        if Uid::current().is_root() {
            chown(
                folder.path(),
                Some(Uid::from_raw(NOBODY)),
                Some(Gid::from_raw(NOBODY)),
            )
            .map_err(|error| error.to_string())?;
        }
        let mut server = Server {
            folder,
            programs,
            child: None,
        };
        let made = server
            .program("initdb")
            .args([
                "--auth=trust",
                "--username=biller",
                "--no-sync",
                "--encoding=UTF8",
                "--locale=C",
                "-D",
            ])
            .arg(server.data())
            .output();
        let made = made.map_err(|error| format!("initdb: {error}"))?;
        if !made.status.success() {
            return Err(format!("initdb: {}", String::from_utf8_lossy(&made.stderr)));
        }
        server.up()?;
        Ok(server)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command
            .current_dir(self.folder.path())
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        if let Some(libraries) = self
            .programs
            .ancestors()
            .nth(3)
            .map(|usr| usr.join("x86_64-linux-gnu"))
        {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        if Uid::current().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Starts the server, and waits until it answers.
    pub(crate) fn up(&mut self) -> Result<(), String> {
        let log =
            fs::File::create(self.folder.path().join("log")).map_err(|error| error.to_string())?;
        let mut command = self.program("postgres");
        // Only a socket in its own folder: no port, and nobody else.
        command
            .arg("-D")
            .arg(self.data())
            .arg("-k")
            .arg(self.folder.path())
            .args(["-c", "listen_addresses="]);
        let child = command
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|error| format!("postgres: {error}"))?;
        self.child = Some(child);
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let error = match self.place().open() {
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            if Instant::now() > until {
                let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                return Err(format!("no answer within 60 s: {error}\n{log}"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Ends the server at once, as a power cut would.
    pub(crate) fn down(&mut self) {
        if let Some(mut child) = self.child.take() {
            let pid = Pid::from_raw(child.id().try_into().expect("a pid"));
            let _ = kill(pid, Signal::SIGQUIT);
            let _ = child.wait();
        }
    }

    pub(crate) fn url(&self) -> String {
        let socket = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://biller@{socket}/postgres")
    }

    pub(crate) fn place(&self) -> Place {
        self.url().parse().expect("a place")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.down();
    }
}

fn installed() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<PathBuf> = versions
        .flatten()
        .map(|it| it.path().join("bin"))
        .filter(|it| it.join("initdb").exists())
        .collect();
    found.sort();
    found.pop()
}

/// Debian's package and the library of its client, unpacked: the server finds its files by where its program lies.
fn unpacked(folder: &Path) -> Result<PathBuf, String> {
    let run = |program: &str, args: &[&str]| {
        let output = Command::new(program)
            .args(args)
            .current_dir(folder)
            .output()
            .map_err(|error| format!("{program}: {error}"))?;
        output.status.success().then_some(()).ok_or_else(|| {
            format!(
                "{program}: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            )
        })
    };
    let mut last = String::new();
    for version in [15, 17, 16, 14] {
        match run(
            "apt-get",
            &[
                "-q",
                "-o",
                "APT::Sandbox::User=",
                "download",
                &format!("postgresql-{version}"),
                "libpq5",
            ],
        ) {
            Err(error) => last = error,
            Ok(()) => {
                let files = fs::read_dir(folder)
                    .map_err(|error| error.to_string())?
                    .flatten()
                    .map(|it| it.path());
                for package in files.filter(|it| it.extension().is_some_and(|it| it == "deb")) {
                    run("dpkg-deb", &["-x", &package.display().to_string(), "."])?;
                }
                return Ok(folder.join(format!("usr/lib/postgresql/{version}/bin")));
            }
        }
    }
    Err(format!(
        "it is not installed, and {last}. Install it (Debian: `apt-get install postgresql`)"
    ))
}
