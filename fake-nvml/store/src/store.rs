//! The door to the state file: open, read, update, hold, wait.
//! Not here: the bytes (`file`, `layout`), the locks (`lock`), the rules of a GPU (`gpu-model`).
//! In: a path. Out: snapshots that stay valid as long as they are kept.
use crate::{
    PROC_DIR, PROC_ENV, counters, create,
    error::{Error, UpdateError},
    file::{Mapped, Torn, is_read_only},
    futex,
    hold::{self, Hold},
    layout::CAPACITY,
    lock::{Kind, Lock, WRITERS, reopen},
    log::{self, Entry, Read},
    mirror::{self, Mirrored},
};
use arc_swap::ArcSwapOption;
use gpu_model::{Clients, Machine, Now, Op, Outcome, Refusal, Scope};
use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

/// An open state file. Share one per process; all methods take `&self` and may be called from any thread, and from the
/// child of a fork. No lock of this type outlives a call, and none is a process-local mutex.
///
/// The file is mapped: whoever cuts it short while it is open makes its readers die of SIGBUS, as with any mapped file.
pub struct Store {
    path: PathBuf,
    mapped: Mapped,
    cache: ArcSwapOption<Snapshot>,
    proc_dir: PathBuf,
    own_counters: counters::Own,
    /// The latest reading of the system's clock.
    latest: AtomicU64,
}

/// A machine as it stood at one generation.
#[derive(Debug)]
pub struct Snapshot {
    /// Counts up with every change of the file.
    pub generation: u64,
    /// The machine.
    pub machine: Machine,
}

impl Store {
    /// Makes a new state file that holds `machine`, and opens it.
    ///
    /// # Errors
    /// [`Error::Exists`] if anything is there; [`Error::TooLarge`]; [`Error::Io`].
    pub fn create(path: impl AsRef<Path>, machine: &Machine) -> Result<Self, Error> {
        let path = path.as_ref();
        let image = Mapped::image(&encode(path, machine)?);
        match create::whole(path, &image) {
            Ok(()) => Self::open(path),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(Error::Exists {
                path: path.to_owned(),
            }),
            Err(source) => Err(Error::Io {
                doing: "create",
                path: path.to_owned(),
                source,
            }),
        }
    }

    /// Opens the state file if it is there and sets it, in place, to `machine`; else makes it. Plans of faults go on being counted
    /// where those before stood, so that none takes an earlier one's calls for its own.
    ///
    /// # Errors
    /// As [`Store::open`] and [`Store::create`].
    pub fn put(path: impl AsRef<Path>, machine: &Machine) -> Result<Self, Error> {
        match Self::open(path.as_ref()) {
            Ok(store) => {
                let set = store.update(|before, _| {
                    Ok::<_, std::convert::Infallible>((machine.clone().following(before), ()))
                });
                match set {
                    Ok(()) => Ok(store),
                    Err(UpdateError::Store(error)) => Err(error),
                    Err(UpdateError::Refused(never)) => match never {},
                }
            }
            Err(Error::Missing { .. }) => Self::create(path, machine),
            Err(error) => Err(error),
        }
    }

    /// Opens a state file; for reading only if that is all the caller may.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::NotOurs`], [`Error::WrongSize`], [`Error::OtherVersion`], [`Error::Damaged`],
    /// [`Error::Io`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let mapped = Mapped::open(path)?;
        let store = Self {
            path: path.to_owned(),
            mapped,
            cache: ArcSwapOption::empty(),
            own_counters: counters::Own::default(),
            latest: AtomicU64::new(0),
            proc_dir: std::env::var_os(PROC_ENV).map_or_else(|| PROC_DIR.into(), PathBuf::from),
        };
        store.read()?;
        Ok(store)
    }

    /// The same store, with this folder as its `/proc/driver/nvidia` instead of `FAKEGPU_PROC` or the real place.
    #[must_use]
    pub fn with_proc_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.proc_dir = folder.into();
        self
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it can be changed from here.
    pub fn writable(&self) -> bool {
        self.mapped.writable
    }

    /// The generation that stands: one atomic load, no lock.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.mapped.generation()
    }

    /// The state that stands. Decodes only if the generation has moved since the last call.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Busy`].
    pub fn read(&self) -> Result<Arc<Snapshot>, Error> {
        let generation = self.generation();
        if let Some(cached) = &*self.cache.load()
            && cached.generation == generation
        {
            return Ok(Arc::clone(cached));
        }
        self.decode()
    }

    #[cold]
    fn decode(&self) -> Result<Arc<Snapshot>, Error> {
        for _ in 0..100 {
            match self.mapped.copy() {
                Ok(copied) => return self.keep(copied.generation, &copied.bytes),
                Err(Torn::Damaged(what)) => return Err(self.damaged(what)),
                Err(Torn::Moved) => std::hint::spin_loop(),
            }
        }
        // Writers were faster a hundred times: ask them to wait.
        let _lock = self.lock(Kind::Shared)?;
        match self.mapped.copy() {
            Ok(copied) => self.keep(copied.generation, &copied.bytes),
            Err(Torn::Damaged(what)) => Err(self.damaged(what)),
            Err(Torn::Moved) => Err(self.damaged("it changes while it is locked".to_owned())),
        }
    }

    fn keep(&self, generation: u64, bytes: &[u8]) -> Result<Arc<Snapshot>, Error> {
        let machine = postcard::from_bytes(bytes).map_err(|e| self.damaged(e.to_string()))?;
        let snapshot = Arc::new(Snapshot {
            generation,
            machine,
        });
        self.cache.store(Some(Arc::clone(&snapshot)));
        Ok(snapshot)
    }

    fn damaged(&self, what: String) -> Error {
        Error::Damaged {
            path: self.path.clone(),
            what,
        }
    }

    fn lock(&self, kind: Kind) -> Result<Lock, Error> {
        let write = kind == Kind::Exclusive;
        let file = reopen(&self.mapped.file, &self.path, write).map_err(|source| match source {
            e if write && is_read_only(&e) => Error::ReadOnly {
                path: self.path.clone(),
            },
            source => Error::Io {
                doing: "open again",
                path: self.path.clone(),
                source,
            },
        })?;
        let lock = Lock::take(file, &self.path, WRITERS, kind, || self.mapped.turns())?;
        if write {
            self.mapped.note_turn();
        }
        Ok(lock)
    }

    /// Changes the state: `change` gets the machine and the open clients, and gives the next machine and an answer.
    ///
    /// One writer at a time, over all processes. A machine that equals the old one writes nothing. Afterwards, still
    /// under the lock, capability files and nodes are brought in line (see [`Store::mirror`]).
    ///
    /// # Errors
    /// [`UpdateError::Refused`] with what `change` says; [`UpdateError::Store`], among it [`Error::ReadOnly`].
    pub fn update<T, E>(
        &self,
        change: impl FnOnce(&Machine, &Clients) -> Result<(Machine, T), E>,
    ) -> Result<T, UpdateError<E>> {
        if !self.mapped.writable {
            return Err(Error::ReadOnly {
                path: self.path.clone(),
            }
            .into());
        }
        let _lock = self.lock(Kind::Exclusive)?;
        let clients = self.clients()?;
        let now = self.read()?;
        let (next, answer) = change(&now.machine, &clients).map_err(UpdateError::Refused)?;
        if next != now.machine {
            let next = next.stamped(self.real());
            let payload = encode(&self.path, &next)?;
            let generation = self.mapped.commit(&payload);
            futex::wake(self.mapped.generation_low());
            self.cache.store(Some(Arc::new(Snapshot {
                generation,
                machine: next,
            })));
        }
        // The change stands; that a folder can not be written must not make it look refused.
        let _ = mirror::mirror(&self.proc_dir, &self.path, &self.read()?.machine);
        Ok(answer)
    }

    /// Applies an operation, at the time of the machine's clock, among the clients that are open now.
    ///
    /// # Errors
    /// [`UpdateError::Refused`] with the refusal; [`UpdateError::Store`].
    pub fn apply(&self, op: Op) -> Result<Outcome, UpdateError<Refusal>> {
        let real = self.real();
        self.update(|machine, clients| machine.apply_among(op, machine.now(real), clients))
    }

    /// What the system's clock shows; never less than it has shown this process before, should somebody set it back.
    pub fn real(&self) -> Now {
        self.not_before(Now::from(SystemTime::now()))
    }

    /// The latest of this reading of the system's clock (by a cheaper clock than [`Store::real`] reads) and those before.
    #[inline]
    pub fn not_before(&self, reading: Now) -> Now {
        let latest = self.latest.load(Ordering::Relaxed);
        if reading.0 <= latest {
            return Now(latest);
        }
        self.latest.fetch_max(reading.0, Ordering::Relaxed);
        reading
    }

    /// The state as of now by the machine's clock: with the faults done whose time has come, and without the loads of processes
    /// that have ended. The same as [`Store::read`], at its price, where none of the two is there.
    ///
    /// # Errors
    /// As [`Store::read`]; [`Error::Io`].
    pub fn current(&self) -> Result<Arc<Snapshot>, Error> {
        let snapshot = self.read()?;
        let machine = &snapshot.machine;
        if machine.next_due().is_none() && !machine.has_real_loads() {
            return Ok(snapshot);
        }
        let now = machine.now(self.real());
        let due = machine.next_due().is_some_and(|due| due <= now);
        // Asked once: who is gone is gone for all that follows.
        let clients = match machine.has_real_loads() {
            true => self.clients()?,
            false => Clients::default(),
        };
        let gone = machine.ended(&clients).next().is_some();
        if !due && !gone {
            return Ok(snapshot);
        }
        let machine = machine.at(now).into_owned();
        let machine = match gone {
            true => machine.without_ended(now, &clients),
            false => machine,
        };
        Ok(Arc::new(Snapshot {
            generation: snapshot.generation,
            machine,
        }))
    }

    /// Counts a call that a rule of the armed plan fits: its number, from 1, over all processes that can write the file (one that
    /// can not counts for itself).
    pub fn count(&self, plan: u64, rule: usize) -> u64 {
        counters::count(&self.mapped, &self.own_counters, plan, rule)
    }

    /// How many calls a rule has counted.
    pub fn counted(&self, plan: u64, rule: usize) -> u64 {
        counters::peek(&self.mapped, &self.own_counters, plan, rule)
    }

    /// Puts a call into the log, without a lock; says whether the file can be written.
    pub fn log(&self, entry: &Entry<'_>) -> bool {
        log::append(&self.mapped, entry)
    }

    /// The calls in the log from this number on, at most `most`.
    pub fn logged(&self, from: u64, most: usize) -> Read {
        log::since(&self.mapped, from, most)
    }

    /// The number of the last call in the log; 0 before the first.
    pub fn last_logged(&self) -> u64 {
        log::last(&self.mapped)
    }

    /// Waits until the generation differs from `seen` or the time is over; says whether it differs.
    pub fn wait_change(&self, seen: u64, timeout: Duration) -> bool {
        let started = Instant::now();
        loop {
            if self.generation() != seen {
                return true;
            }
            let Some(left) = timeout
                .checked_sub(started.elapsed())
                .filter(|t| !t.is_zero())
            else {
                return false;
            };
            // The low half is what the kernel compares; it is the half that moves.
            futex::wait(
                self.mapped.generation_low(),
                (seen & 0xffff_ffff) as u32,
                left,
            );
        }
    }

    /// Holds something open: what it forbids others is said at [`Scope`]. Works on a read-only file.
    ///
    /// # Errors
    /// [`Error::NothingToHold`] if it is not there; [`Error::Io`].
    pub fn hold(&self, scope: Scope) -> Result<Hold, Error> {
        let io = |source| Error::Io {
            doing: "hold",
            path: self.path.clone(),
            source,
        };
        // Shared with other holders, exclusive with writers: nobody destroys what is just being opened.
        let _lock = self.lock(Kind::Shared)?;
        let snapshot = self.read()?;
        if snapshot.machine.check(scope).is_err() {
            return Err(Error::NothingToHold { scope });
        }
        let file = reopen(&self.mapped.file, &self.path, false).map_err(io)?;
        hold::take(file, scope, std::process::id()).map_err(io)
    }

    /// Who has what open now, this process included.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn clients(&self) -> Result<Clients, Error> {
        hold::list(&self.mapped.file)
            .map(Clients::new)
            .map_err(|source| Error::Io {
                doing: "list the clients of",
                path: self.path.clone(),
                source,
            })
    }

    /// Brings the capability files under `/proc/driver/nvidia`, and the nodes under `/dev`, in line with the state, under the writers'
    /// lock. A folder without the mark of this machine is left alone.
    ///
    /// Every update does it too, but keeps silent if it fails; whoever lays the folder calls this and hears.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::ReadOnly`], [`Error::Busy`].
    pub fn mirror(&self) -> Result<Mirrored, Error> {
        let _lock = self.lock(Kind::Exclusive)?;
        let now = self.read()?;
        mirror::mirror(&self.proc_dir, &self.path, &now.machine).map_err(|source| Error::Io {
            doing: "mirror the instances under",
            path: self.proc_dir.clone(),
            source,
        })
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("path", &self.path)
            .field("writable", &self.mapped.writable)
            .field("generation", &self.generation())
            .finish_non_exhaustive()
    }
}

fn encode(path: &Path, machine: &Machine) -> Result<Vec<u8>, Error> {
    let bytes = postcard::to_stdvec(machine).map_err(|e| Error::Damaged {
        path: path.to_owned(),
        what: e.to_string(),
    })?;
    if bytes.len() > CAPACITY {
        return Err(Error::TooLarge {
            path: path.to_owned(),
            needs: bytes.len(),
            capacity: CAPACITY,
        });
    }
    Ok(bytes)
}
