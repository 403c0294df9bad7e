//! Locks on the state file that the kernel drops with whoever holds them.
//! Not here: what the locks mean (`store`: writers; `hold`: open clients).
//!
//! These are open file description locks (`F_OFD_SETLK`), on byte ranges. A process with a read-only description can not
//! take a write lock; by sitting on a shared one it can make the node's writers wait, and then they say so (`Busy`). Each use opens a description of its own: threads
//! of one process, a process and its forked child, and several copies of the library in one process exclude each other.
use crate::error::Error;
use std::{
    fs::{File, OpenOptions},
    io,
    os::{
        fd::{AsRawFd, RawFd},
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    path::Path,
    time::{Duration, Instant},
};

/// The byte that writers lock.
pub(crate) const WRITERS: Range = Range { start: 0, len: 1 };
/// How long one waits for a holder that does not let go. While holders come and go one waits on: it is only a matter of turns.
const PATIENCE: Duration = Duration::from_secs(10);
/// What counts as having waited for long.
const LONG: Duration = Duration::from_millis(50);

/// A range of bytes; it need not lie within the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) start: i64,
    pub(crate) len: i64,
}

/// Shared or exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Shared,
    Exclusive,
}

/// A lock; it ends when this is dropped, at the latest when the process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    range: Range,
}

/// A new description of the file that `file` is open on.
pub(crate) fn reopen(file: &File, path: &Path, write: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(write)
        .custom_flags(libc::O_CLOEXEC);
    // By descriptor first: the path may lead elsewhere by now (another mount namespace, a new root).
    let by_fd = options.open(format!("/proc/self/fd/{}", file.as_raw_fd()));
    match by_fd {
        Ok(again) if same(file, &again)? => Ok(again),
        Err(e) if crate::file::is_read_only(&e) => Err(e),
        _ => {
            let again = options.open(path)?;
            match same(file, &again)? {
                true => Ok(again),
                false => Err(io::Error::other("the file was replaced by another one")),
            }
        }
    }
}

fn same(a: &File, b: &File) -> io::Result<bool> {
    let (a, b) = (a.metadata()?, b.metadata()?);
    Ok(a.dev() == b.dev() && a.ino() == b.ino())
}

impl Lock {
    /// Takes the lock or gives the file back at once.
    pub(crate) fn try_take(
        file: File,
        range: Range,
        kind: Kind,
    ) -> Result<Lock, (File, io::Error)> {
        let mut arg = range.flock(match kind {
            Kind::Shared => libc::F_RDLCK,
            Kind::Exclusive => libc::F_WRLCK,
        });
        match fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &mut arg) {
            Ok(()) => Ok(Lock { file, range }),
            Err(e) => Err((file, e)),
        }
    }

    /// Leaves the lock's description open across `exec`.
    pub(crate) fn inherit(&self) -> io::Result<()> {
        // SAFETY: the descriptor is open as long as `self`; F_SETFD takes a number.
        match unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_SETFD, 0) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Takes the lock, waiting for others as long as `turns` tells that they take turns, and for a while after.
    pub(crate) fn take(
        file: File,
        path: &Path,
        range: Range,
        kind: Kind,
        turns: impl Fn() -> u64,
    ) -> Result<Lock, Error> {
        let started = Instant::now();
        let (mut seen, mut moved) = (turns(), started);
        let mut pause = Duration::from_micros(20);
        let mut file = file;
        loop {
            match Self::try_take(file, range, kind) {
                Ok(lock) => return Ok(lock),
                Err((_, e)) if !is_taken(&e) => {
                    return Err(Error::Io {
                        doing: "lock",
                        path: path.to_owned(),
                        source: e,
                    });
                }
                Err((back, _)) => file = back,
            }
            let now = turns();
            if now != seen {
                (seen, moved) = (now, Instant::now());
            } else if moved.elapsed() > PATIENCE {
                return Err(Error::Busy {
                    path: path.to_owned(),
                    seconds: PATIENCE.as_secs(),
                });
            }
            std::thread::sleep(pause);
            // Who has waited for long asks more often than who has just come, or it would wait for ever among many.
            pause = match started.elapsed() > LONG {
                true => Duration::from_micros(300),
                false => (pause * 2).min(Duration::from_millis(2)),
            };
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing drops the lock too, but not while a forked child still shares the description.
        let mut arg = self.range.flock(libc::F_UNLCK);
        let _ = fcntl(self.file.as_raw_fd(), libc::F_OFD_SETLK, &mut arg);
    }
}

fn is_taken(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EAGAIN | libc::EACCES | libc::EINTR)
    )
}

impl Range {
    fn flock(self, kind: libc::c_int) -> libc::flock {
        libc::flock {
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: self.start,
            l_len: self.len,
            l_pid: 0,
        }
    }
}

/// All locked ranges within `range`, as others hold them.
pub(crate) fn taken(file: &File, range: Range) -> io::Result<Vec<Range>> {
    let mut found = Vec::new();
    let mut todo = vec![range];
    // The kernel names any one lock that is in the way, not the first: split around it and ask again.
    while let Some(range) = todo.pop() {
        let mut arg = range.flock(libc::F_WRLCK);
        fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &mut arg)?;
        if i32::from(arg.l_type) == libc::F_UNLCK {
            continue;
        }
        let end = range.start + range.len;
        let (start, stop) = (
            arg.l_start.max(range.start),
            (arg.l_start + arg.l_len).min(end),
        );
        found.push(Range {
            start,
            len: stop - start,
        });
        for part in [
            Range {
                start: range.start,
                len: start - range.start,
            },
            Range {
                start: stop,
                len: end - stop,
            },
        ] {
            if part.len > 0 {
                todo.push(part);
            }
        }
    }
    Ok(found)
}

fn fcntl(fd: RawFd, command: libc::c_int, arg: &mut libc::flock) -> io::Result<()> {
    // SAFETY: `fd` is open (its owner is borrowed by the caller), the command is one of the F_OFD_* commands, and `arg`
    // is a valid `flock` that the kernel reads and may fill in.
    let rc = unsafe { libc::fcntl(fd, command, std::ptr::from_mut(arg)) };
    match rc {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
