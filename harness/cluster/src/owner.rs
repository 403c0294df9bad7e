//! Owning a run folder: the lock that says it is in use, the processes that die with its owner, and its removal.
//! Not what is in it. Held by `Running` in the process that started the cluster; when that process is killed the
//! kernel drops the lock and the lifeline, and the next start removes what lies there.
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    net::TcpListener,
    os::{
        fd::OwnedFd,
        unix::{
            fs::{DirBuilderExt, PermissionsExt},
            process::CommandExt,
        },
    },
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg},
};

use crate::{
    error::{Error, Result},
    ns::Refused,
};

/// A locked run folder.
#[derive(Debug)]
pub(crate) struct RunFolder {
    dir: PathBuf,
    is_there: bool,
    _lock: Flock<File>,
}

fn lock_file(dir: &Path) -> PathBuf {
    // Beside the folder, not in it: the folder can then be removed while the lock is held.
    let mut name = dir.file_name().unwrap_or_default().to_os_string();
    name.push(".lock");
    dir.with_file_name(name)
}

/// The process that holds the folder, if one does.
pub(crate) fn holder(dir: &Path) -> Option<String> {
    let file = OpenOptions::new().read(true).open(lock_file(dir)).ok()?;
    match Flock::lock(file, FlockArg::LockSharedNonblock) {
        Ok(_) => None,
        Err((mut file, _)) => {
            let mut pid = String::new();
            let _ = file.read_to_string(&mut pid);
            Some(if pid.trim().is_empty() {
                "unknown".into()
            } else {
                pid.trim().into()
            })
        }
    }
}

/// Longer than [`holder`] has the lock while it asks, shorter than a person notices.
const ASKED: Duration = Duration::from_millis(100);

/// Locks the file at a path; `None` when somebody else has. A file that was removed in between is not the one.
fn lock(path: &Path) -> Result<Option<Flock<File>>> {
    use std::os::unix::fs::MetadataExt;
    let deadline = Instant::now() + ASKED;
    loop {
        let open = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path);
        let file = open.map_err(Error::io("open", path))?;
        let lock = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => lock,
            Err((_, Errno::EWOULDBLOCK)) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            }
            Err((_, Errno::EWOULDBLOCK)) => return Ok(None),
            Err((_, errno)) => return Err(Error::io("lock", path)(errno.into())),
        };
        let held = lock.metadata().map_err(Error::io("look at", path))?;
        if fs::metadata(path)
            .is_ok_and(|there| (there.dev(), there.ino()) == (held.dev(), held.ino()))
        {
            return Ok(Some(lock));
        }
    }
}

impl RunFolder {
    /// Takes the folder; `Some(text)` when something of a dead run had to be removed first.
    pub(crate) fn take(name: &str, dir: &Path) -> Result<(Self, Option<String>)> {
        if let Some(parent) = dir.parent() {
            fs::create_dir_all(parent).map_err(Error::io("make", parent))?;
        }
        let path = lock_file(dir);
        let mut lock = lock(&path)?.ok_or_else(|| Error::Busy {
            name: name.into(),
            pid: holder(dir).unwrap_or_else(|| "unknown".into()),
        })?;
        lock.set_len(0)
            .and_then(|()| write!(lock, "{}", std::process::id()))
            .map_err(Error::io("write", &path))?;
        let cleaned = if dir.exists() {
            let is_ours = dir.join(MARK).exists();
            let is_empty = fs::read_dir(dir)
                .map_err(Error::io("read", dir))?
                .next()
                .is_none();
            if !is_ours && !is_empty {
                return Err(Error::Spec {
                    what: format!(
                        "the run folder {} holds files that are not of a cluster",
                        dir.display()
                    ),
                    remedy: "choose an empty or a new folder".into(),
                });
            }
            remove_tree(dir)?;
            is_ours.then(|| {
                format!(
                    "{}: left behind by a cluster {name} whose supervisor was killed",
                    dir.display()
                )
            })
        } else {
            None
        };
        DirBuilder::new()
            .mode(0o700)
            .create(dir)
            .map_err(Error::io("make", dir))?;
        let mark = dir.join(MARK);
        fs::write(&mark, "").map_err(Error::io("write", &mark))?;
        Ok((
            RunFolder {
                dir: dir.into(),
                is_there: true,
                _lock: lock,
            },
            cleaned,
        ))
    }

    /// Removes the folder and lets go of it.
    pub(crate) fn remove(mut self) -> Result<()> {
        self.take_away()
    }

    fn take_away(&mut self) -> Result<()> {
        if std::mem::take(&mut self.is_there) {
            remove_tree(&self.dir)?;
            let _ = fs::remove_file(lock_file(&self.dir));
        }
        Ok(())
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // Nobody to tell: `remove` is the way to hear of it, and the next start tries again.
        let _ = self.take_away();
    }
}

/// Removes what a dead run left in a folder, if that is what it holds. Says what it removed.
pub(crate) fn remove_stale(name: &str, dir: &Path) -> Result<Option<String>> {
    if !dir.join(MARK).exists() || holder(dir).is_some() {
        return Ok(None);
    }
    match RunFolder::take(name, dir) {
        Ok((folder, cleaned)) => folder.remove().map(|()| cleaned),
        // Another process removes it or starts anew in it: then nothing of it is stale.
        Err(Error::Busy { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// File that marks a folder as a cluster's run folder.
const MARK: &str = ".sliceproof-cluster";

/// Like `remove_dir_all`, but opens folders that their owner may not enter (overlayfs leaves such) and is patient
/// with processes that are just being killed.
pub(crate) fn remove_tree(dir: &Path) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match fs::remove_dir_all(dir) {
            Ok(()) => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(_) if Instant::now() < deadline => {
                open_up(dir);
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(e) => return Err(Error::io("remove", dir)(e)),
        }
    }
}

fn open_up(dir: &Path) {
    let _ = fs::set_permissions(dir, fs::Permissions::from_mode(0o700));
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            open_up(&entry.path());
        }
    }
}

/// The cluster's first process, outside of its pid namespace. Dropping it ends the cluster.
#[derive(Debug)]
pub(crate) struct Lifeline {
    child: Child,
    pipe: Option<ChildStdin>,
    log: PathBuf,
}

impl Lifeline {
    /// Starts the process that makes the namespaces. `listener` becomes the cluster's loopback listener.
    pub(crate) fn start(
        exe: &Path,
        spec: &Path,
        listener: TcpListener,
        log: &Path,
    ) -> Result<Self> {
        let file = File::create(log).map_err(Error::io("write", log))?;
        let mut child = Command::new(exe)
            .arg("__cluster-ns")
            .arg(spec)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::from(OwnedFd::from(listener)))
            .stderr(file)
            .current_dir("/")
            // Ctrl-C at the terminal is for the supervisor.
            .process_group(0)
            .spawn()
            .map_err(Error::io("start", exe))?;
        let pipe = child.stdin.take();
        Ok(Lifeline {
            child,
            pipe,
            log: log.into(),
        })
    }

    /// Why the namespaces are gone, if they are.
    pub(crate) fn ended(&mut self) -> Option<Error> {
        let status = self.child.try_wait().ok()??;
        let text = read_log(&self.log);
        Some(refusal(&text).unwrap_or_else(|| Error::ComponentEnded {
            component: "the cluster's init".into(),
            when: "while the cluster ran",
            status: status.to_string(),
            log: self.log.clone(),
            tail: tail(&text, 10),
        }))
    }

    /// Ends the cluster and waits until the kernel has ended every process of it.
    pub(crate) fn cut(&mut self) {
        self.pipe.take();
        let deadline = Instant::now() + Duration::from_secs(10);
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        self.cut();
    }
}

/// The refusal that an init wrote, if it wrote one.
pub(crate) fn refusal(log: &str) -> Option<Error> {
    let Refused { what, remedy } = Refused::last_in(log)?;
    Some(Error::Environment { what, remedy })
}

/// A log as text: what programs write need not be UTF-8. Empty when it cannot be read.
pub(crate) fn read_log(file: &Path) -> String {
    String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned()
}

/// The last lines of a text.
pub(crate) fn tail(text: &str, lines: usize) -> String {
    if text.trim().is_empty() {
        return "  it wrote nothing".into();
    }
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..]
        .iter()
        .map(|l| format!("  {l}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_held_private_and_gone_afterwards() {
        let state = tempfile::tempdir().expect("a folder");
        let dir = state.path().join("c");
        let (folder, cleaned) = RunFolder::take("c", &dir).expect("taken");
        assert_eq!(cleaned, None);
        let mode = fs::metadata(&dir).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert_eq!(holder(&dir), Some(std::process::id().to_string()));
        assert!(matches!(
            RunFolder::take("c", &dir),
            Err(Error::Busy { .. })
        ));
        assert_eq!(remove_stale("c", &dir).expect("left alone"), None);
        folder.remove().expect("removed");
        assert_eq!(fs::read_dir(state.path()).expect("there").count(), 0);
    }

    #[test]
    fn who_only_asks_for_the_holder_keeps_nobody_from_starting() {
        let state = tempfile::tempdir().expect("a folder");
        let dir = state.path().join("c");
        let file = File::create(lock_file(&dir)).expect("made");
        let asking = Flock::lock(file, FlockArg::LockSharedNonblock).expect("free");
        let asked = std::thread::spawn(move || {
            std::thread::sleep(ASKED / 4);
            drop(asking);
        });
        RunFolder::take("c", &dir).expect("taken");
        asked.join().expect("no panic");
    }

    #[test]
    fn an_empty_log_is_said_to_be_empty() {
        assert_eq!(tail("\n", 3), "  it wrote nothing");
        assert_eq!(tail("a\nb\nc\n", 2), "  b\n  c");
    }
}
