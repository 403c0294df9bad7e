//! Event sets: what a process has registered for, and what each set has already been given.
//! Not the events: they lie in the shared state, so each process reads the same ones at its own pace and writes nothing.
//! A set's handle comes from `nvmlEventSetCreate`; sets end with `nvmlEventSetFree` or with NVML itself.

use std::time::{Duration, Instant};

use gpu_model::{Event, GpuUuid, Machine};

use crate::handle::{EventSet, Named};
use crate::lock::{AcrossFork, ForkLock};
use crate::session;
use crate::slots::Slots;
use crate::status::{Result, Status};

/// One set of one process.
#[derive(Default)]
struct Set {
    registrations: Vec<Registration>,
    /// The newest event that was given out or passed over.
    seen: u64,
    /// GPU_IS_LOST was answered at once for the loss that lasts; further waits take their time before they say it again.
    told_lost: bool,
}

struct Registration {
    gpu: GpuUuid,
    types: u64,
    /// Events up to here happened before.
    since: u64,
}

static SETS: ForkLock<Slots<Set>> = ForkLock::new(Slots::new());

/// A waiting thread looks at least this often: a wake-up may get lost (a writer killed between change and wake), and what happens to
/// its set in this process wakes nobody.
const LOOK: Duration = Duration::from_millis(50);

/// How often while a timed fault is to come.
const TIMED_LOOK: Duration = Duration::from_millis(5);

/// The lock of this file, for the atfork handlers.
pub(crate) fn across_fork() -> &'static dyn AcrossFork {
    &SETS
}

/// Slot and stamp of a handle.
fn place(handle: EventSet) -> Result<(u16, u32)> {
    match handle.named() {
        Some(Named::EventSet { slot, stamp }) => Ok((slot, stamp)),
        _ => Err(Status::InvalidArgument),
    }
}

pub(crate) fn create() -> Result<EventSet> {
    let (slot, stamp) = SETS.lock().put(Set::default())?;
    Ok(EventSet::new(slot, stamp))
}

pub(crate) fn free(handle: EventSet) -> Result {
    let (slot, stamp) = place(handle)?;
    SETS.lock().free(slot, stamp)
}

/// With the last shutdown all sets are gone.
pub(crate) fn free_all() {
    SETS.lock().clear();
}

/// INVALID_ARGUMENT unless the handle is that of a set.
pub(crate) fn check(handle: EventSet) -> Result {
    let (slot, stamp) = place(handle)?;
    SETS.lock().get(slot, stamp).map(drop)
}

/// From now on the set is given these types of events of this GPU.
pub(crate) fn register(handle: EventSet, gpu: GpuUuid, types: u64, machine: &Machine) -> Result {
    let (slot, stamp) = place(handle)?;
    let mut sets = SETS.lock();
    let set = sets.get(slot, stamp)?;
    let known = set.registrations.iter().filter(|known| known.gpu == gpu);
    let types = known.fold(types, |types, known| types & !known.types);
    if types != 0 {
        let since = machine.events.last_seq();
        set.registrations.push(Registration { gpu, types, since });
    }
    Ok(())
}

/// The oldest event that the set has not been given yet; TIMEOUT if none comes in time, GPU_IS_LOST if a registered GPU is gone
/// and no event tells of it.
pub(crate) fn wait(handle: EventSet, timeout: Duration) -> Result<Event> {
    let (slot, stamp) = place(handle)?;
    let end = Instant::now().checked_add(timeout);
    loop {
        // Looked up anew each time: NVML may be shut down, or the set freed, while this thread waits.
        let (session, _) = session::current()?;
        let snapshot = session.current()?;
        let left = end.map_or(Duration::MAX, |end| {
            end.saturating_duration_since(Instant::now())
        });
        match SETS
            .lock()
            .get(slot, stamp)?
            .take(&snapshot.machine, left.is_zero())
        {
            Err(Status::NotReady) => {}
            answer => return answer,
        }
        // What is timed wakes nobody.
        let look = snapshot.machine.next_due().map_or(LOOK, |_| TIMED_LOOK);
        session.wait(snapshot.generation, left.min(look));
    }
}

impl Set {
    /// The next event; NOT_READY if there is none yet and time is left.
    fn take(&mut self, machine: &Machine, late: bool) -> Result<Event> {
        for event in machine.events.after(self.seen) {
            self.seen = event.seq;
            let Ok(gpu) = machine.gpu(event.gpu) else {
                continue;
            };
            let wanted = |registration: &Registration| {
                registration.gpu == gpu.uuid
                    && registration.types & event.kind.type_bit() != 0
                    && registration.since < event.seq
            };
            if self.registrations.iter().any(wanted) {
                return Ok(*event);
            }
        }
        let gone = |registration: &Registration| {
            machine
                .gpu_by_uuid(&registration.gpu)
                .is_none_or(|gpu| gpu.health.lost)
        };
        let lost = self.registrations.iter().any(gone);
        let news = lost && !self.told_lost;
        self.told_lost = lost;
        match (lost, late) {
            (true, _) if news || late => Err(Status::GpuIsLost),
            (false, true) => Err(Status::Timeout),
            _ => Err(Status::NotReady),
        }
    }
}
