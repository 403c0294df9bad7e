//! Init, shutdown, and the one door to the shared state.
//! Not what a call answers (`api`), nor the state as a getter sees it (`view`).
//! Holds counters and an open store for the life of the process; the state itself lives in the file, so nothing here is lost or
//! kept when a client shuts NVML down, unloads the library or dies.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use gpu_model::driver::{Driver, Release};
use gpu_model::{GpuUuid, Machine, Now, Op, Outcome};
use gpu_store::{Entry, Snapshot, Store};

use crate::event_set;
use crate::gpm_samples;
use crate::locate;
use crate::lock::{AcrossFork, ForkLock};
use crate::status::{Result, Status};
use crate::view;
use crate::visible::Sight;

/// `NVML_INIT_FLAG_NO_GPUS`: no GPU is no error.
pub(crate) const NO_GPUS: u32 = 1;

/// An open state file. There is one per file that this process has ever used; it is never freed, so a getter in one thread needs
/// no protection from a shutdown in another, and shutdown followed by init costs next to nothing.
pub(crate) struct Session {
    store: Store,
    file: FileId,
    /// What init saw: GPUs that are listed, by UUID since positions may change when the machine is re-shaped.
    /// Locked only while INITS or the lock of the latest view is held, so no fork finds it held.
    seen: ForkLock<(Sight, Vec<GpuUuid>)>,
}

/// Tells one file from another of the same name.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

struct Inits {
    /// Inits that no shutdown has answered yet.
    count: u32,
    /// How often NVML went from shut down to initialised.
    cycles: u64,
    sessions: Vec<&'static Session>,
    /// Process-wide handlers are set up once.
    prepared: bool,
}

static INITS: ForkLock<Inits> = ForkLock::new(Inits {
    count: 0,
    cycles: 0,
    sessions: Vec::new(),
    prepared: false,
});
/// One writer at a time in this process; between processes the store's file lock decides.
static WRITER: ForkLock<()> = ForkLock::new(());
/// The number of the current init cycle, 0 while NVML is not initialised.
static CYCLE: AtomicU64 = AtomicU64::new(0);
/// The CUDA release of the machine's driver, as init found it: a driver changes only while nobody uses it.
static CUDA: AtomicU32 = AtomicU32::new(0);
static SESSION: AtomicPtr<Session> = AtomicPtr::new(core::ptr::null_mut());

/// The session and the number of the init cycle; UNINITIALIZED without an init.
#[inline]
pub(crate) fn current() -> Result<(&'static Session, u64)> {
    let cycle = CYCLE.load(Ordering::Acquire);
    if cycle == 0 {
        return Err(Status::Uninitialized);
    }
    // SAFETY: set before CYCLE first left 0, and only ever to sessions that live as long as the process.
    Ok((unsafe { &*SESSION.load(Ordering::Acquire) }, cycle))
}

/// The number of the current init cycle, 0 while NVML is not initialised.
#[inline]
pub(crate) fn cycle() -> u64 {
    CYCLE.load(Ordering::Acquire)
}

/// The session and the state that a call before init would find; `None` if there is no state file.
pub(crate) fn at_hand() -> Option<(&'static Session, Arc<Snapshot>)> {
    let session = match current() {
        Ok((session, _)) => session,
        Err(_) => open(&mut INITS.lock().sessions).ok()?,
    };
    Some((session, session.current().ok()?))
}

/// The CUDA release of the machine's driver: which struct versions a call may announce.
pub(crate) fn cuda() -> Release {
    Release(CUDA.load(Ordering::Relaxed))
}

/// `nvmlInitWithFlags`.
pub(crate) fn begin(flags: u32) -> Result {
    let mut inits = INITS.lock();
    if inits.count > 0 {
        inits.count = inits.count.checked_add(1).ok_or(Status::Unknown)?;
        return Ok(());
    }
    if !inits.prepared {
        prepare_process()?;
        inits.prepared = true;
    }
    let session = open(&mut inits.sessions)?;
    let snapshot = session.current()?;
    let driver = Driver::of(&snapshot.machine.driver_version);
    CUDA.store(driver.cuda().0, Ordering::Relaxed);
    let listed = session.look(&snapshot.machine);
    if listed == 0 && flags & NO_GPUS == 0 {
        return Err(Status::GpuNotFound);
    }
    inits.count = 1;
    inits.cycles += 1;
    SESSION.store(core::ptr::from_ref(session).cast_mut(), Ordering::Release);
    CYCLE.store(inits.cycles, Ordering::Release);
    Ok(())
}

/// `nvmlShutdown`.
pub(crate) fn end() -> Result {
    let mut inits = INITS.lock();
    match inits.count {
        0 => return Err(Status::Uninitialized),
        1 => {
            CYCLE.store(0, Ordering::Release);
            event_set::free_all();
        }
        _ => {}
    }
    inits.count -= 1;
    Ok(())
}

/// The session of the state file as it is found now, opened if this process has not used that file yet.
fn open(sessions: &mut Vec<&'static Session>) -> Result<&'static Session> {
    // Without a state file there is no GPU on this machine: what the real library says when its kernel module is not there.
    let path = locate::state_file().ok_or(Status::DriverNotLoaded)?;
    let file = FileId::of(&std::fs::metadata(&path).map_err(|_| Status::DriverNotLoaded)?);
    if let Some(known) = sessions.iter().find(|session| session.file == file) {
        return Ok(known);
    }
    let store = Store::open(&path).map_err(|error| error.code())?;
    let session: &'static Session = Box::leak(Box::new(Session {
        store,
        file,
        seen: ForkLock::new((Sight::Nodes, Vec::new())),
    }));
    sessions.push(session);
    Ok(session)
}

/// Nothing of ours is ever printed, and a fork waits until no thread of ours is inside a lock.
fn prepare_process() -> Result {
    // The standard library is linked into this library alone, so this is nobody else's hook.
    std::panic::set_hook(Box::new(|_| {}));
    // SAFETY: the handlers are functions without captured state in a library that stays mapped (nodelete).
    match unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(after_fork)) } {
        0 => Ok(()),
        _ => Err(Status::Memory),
    }
}

fn locks() -> [&'static dyn AcrossFork; 5] {
    [
        &INITS,
        &WRITER,
        view::across_fork(),
        event_set::across_fork(),
        gpm_samples::across_fork(),
    ]
}

extern "C" fn before_fork() {
    for lock in locks() {
        lock.take();
    }
}

extern "C" fn after_fork() {
    for lock in locks().into_iter().rev() {
        lock.give();
    }
}

impl Session {
    /// The generation of the state: one atomic load.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.store.generation()
    }

    /// This reading of the system's clock, or a later one before it.
    #[inline]
    pub(crate) fn not_before(&self, reading: Now) -> Now {
        self.store.not_before(reading)
    }

    /// What time it is on the machine.
    pub(crate) fn now(&self, machine: &Machine) -> Now {
        machine.now(self.store.real())
    }

    /// The number of a call that a rule of an armed plan fits.
    pub(crate) fn count(&self, plan: u64, rule: usize) -> u64 {
        self.store.count(plan, rule)
    }

    /// Notes down a call, if the file can be written.
    pub(crate) fn log(&self, entry: &Entry<'_>) {
        self.store.log(entry);
    }

    /// The state as of now: with the faults whose time has come, and without what ended processes left.
    pub(crate) fn current(&self) -> Result<Arc<Snapshot>> {
        self.store.current().map_err(|error| error.code())
    }

    /// The state as the file has it.
    pub(crate) fn read(&self) -> Result<Arc<Snapshot>> {
        self.store.read().map_err(|error| error.code())
    }

    /// Notes which GPUs this process sees and returns their number.
    fn look(&self, machine: &Machine) -> usize {
        let sight = Sight::of_process();
        let gpus: Vec<_> = machine
            .gpus
            .iter()
            .filter(|gpu| sight.gpu(gpu.minor) && !gpu.health.absent)
            .map(|gpu| gpu.uuid)
            .collect();
        let count = gpus.len();
        *self.seen.lock() = (sight, gpus);
        count
    }

    /// What init saw.
    pub(crate) fn seen(&self) -> (Sight, Vec<GpuUuid>) {
        self.seen.lock().clone()
    }

    /// NO_PERMISSION unless the caller may change GPUs.
    pub(crate) fn may_change(&self) -> Result {
        // SAFETY: no arguments, cannot fail.
        if unsafe { libc::geteuid() } == 0 && self.store.writable() {
            Ok(())
        } else {
            Err(Status::NoPermission)
        }
    }

    /// Changes the state: for root only, as nvml.h says of all calls that do.
    pub(crate) fn apply(&self, op: Op) -> Result<Outcome> {
        self.may_change()?;
        let _turn = WRITER.lock();
        self.store.apply(op).map_err(|error| error.code())
    }

    /// Waits until the state is no longer of `generation`, at most `timeout`.
    pub(crate) fn wait(&self, generation: u64, timeout: Duration) {
        self.store.wait_change(generation, timeout);
    }
}
