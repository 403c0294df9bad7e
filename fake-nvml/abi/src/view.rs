//! The state as getters see it: a snapshot with handles, texts and lists worked out once per change.
//! Not the state itself (`gpu_store`), and never changed: a change of the state makes a new view.
//! Each thread keeps the view it used last; as long as the state's generation stands, a getter costs two atomic loads.

use std::cell::Cell;
use std::sync::Arc;

use gpu_model::{
    Birth, CiId, ComputeInstance as CiState, GiId, GiProfile, Gpu, GpuIndex,
    GpuInstance as GiState, GpuUuid, Machine, MigDevice, Minor, Moved, Now, Spec, Telemetry,
    Traffic,
};
use gpu_store::Snapshot;

use crate::clock;
use crate::handle::{ComputeInstance, Device, GpuInstance, Named, STAMP_MASK};
use crate::lock::{AcrossFork, ForkLock};
use crate::session::{self, Session};
use crate::status::{Result, Status};
use crate::visible::Sight;

pub(crate) struct View {
    session: &'static Session,
    cycle: u64,
    snapshot: Arc<Snapshot>,
    /// A fault is armed or calls are logged: `hooks` is asked about each call.
    watches_calls: bool,
    /// It may grow old without a change of the state file: a timed fault comes due, or a process with a load ends.
    ages: bool,
    /// When the next timed fault comes due.
    due: Option<Now>,
    /// When it is to be looked again whether the processes with loads live.
    stays: Option<Now>,
    sight: Sight,
    gpus: Vec<GpuView>,
    /// Positions in `gpus` of those that are listed, in NVML's order.
    listed: Vec<u8>,
}

/// What is worked out about one GPU.
pub(crate) struct GpuView {
    position: u8,
    stamp: u32,
    lost: bool,
    /// Its NVML index in this process, if it is listed.
    index: Option<u32>,
    pub(crate) uuid: String,
    pub(crate) pci: String,
    migs: Vec<MigView>,
}

/// What is worked out about one MIG device.
pub(crate) struct MigView {
    gi: u8,
    ci: u8,
    stamp: u32,
    pub(crate) uuid: String,
    pub(crate) name: String,
}

/// What a device handle names.
#[derive(Clone, Copy)]
pub(crate) enum Target<'v> {
    Gpu(&'v GpuView),
    Mig(&'v GpuView, &'v MigView),
}

/// The view that was made last, for all threads.
static LATEST: ForkLock<Option<Arc<View>>> = ForkLock::new(None);

thread_local! {
    /// Has no destructor, so that reaching it costs an address and nothing else.
    static MINE: Mine = const {
        Mine {
            view: Cell::new(core::ptr::null()),
            held: Cell::new(0),
            shown: Cell::new(None),
        }
    };
    static THREAD_END: ThreadEnd = const { ThreadEnd };
}

/// What a thread keeps.
struct Mine {
    /// The view it used last (`Arc::into_raw`, owned), or null.
    view: Cell<*const View>,
    /// Calls of this thread that stand on the view now; more than one only where a signal's handler asks too.
    held: Cell<u32>,
    /// What a GPU showed when this thread asked last: a monitor asks for ten values in a row.
    shown: Cell<Option<(Shown, Telemetry)>>,
}

impl Mine {
    /// The view that was made last, from now on this thread's.
    #[cold]
    #[inline(never)]
    fn renew(&self) -> Result<&View> {
        let view = Arc::into_raw(latest()?);
        let old = self.view.replace(view);
        if !old.is_null() && self.held.get() == 0 {
            // SAFETY: `view` owns what it holds, and no call stands on it. If one does (the state changed under a call that a
            // signal's handler has interrupted) it is left for good.
            drop(unsafe { Arc::from_raw(old) });
        }
        // Registers the destructor; a thread that is already past it (a destructor of the client's asks) leaves its view for good.
        let _ = THREAD_END.try_with(|_| ());
        // SAFETY: just made; it lives until this thread renews it or ends, neither of which it does while it is held.
        Ok(unsafe { &*view })
    }

    fn hold(&self) -> Held<'_> {
        self.held.set(self.held.get().wrapping_add(1));
        Held(self)
    }
}

/// As long as it lives, the thread's view does.
struct Held<'m>(&'m Mine);

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.held.set(self.0.held.get().wrapping_sub(1));
    }
}

/// Lets go of the thread's view.
struct ThreadEnd;

impl Drop for ThreadEnd {
    fn drop(&mut self) {
        let _ = MINE.try_with(|mine| {
            let view = mine.view.replace(core::ptr::null());
            if !view.is_null() && mine.held.get() == 0 {
                // SAFETY: as in `renew`.
                drop(unsafe { Arc::from_raw(view) });
            }
        });
    }
}

/// How long a view with loads of real processes serves before it is looked again whether they live, in microseconds.
const LOADS_STAY: u64 = 10_000;

/// What telemetry follows from.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shown {
    cycle: u64,
    generation: u64,
    position: u8,
    now: Now,
}

/// The lock of this file, for the atfork handlers.
pub(crate) fn across_fork() -> &'static dyn AcrossFork {
    &LATEST
}

/// Runs `body` with the view of now; UNINITIALIZED without an init.
#[inline]
pub(crate) fn with_current<T>(body: impl FnOnce(&View) -> Result<T>) -> Result<T> {
    let cycle = session::cycle();
    if cycle == 0 {
        return Err(Status::Uninitialized);
    }
    MINE.with(|mine| {
        // SAFETY: `view` owns what it holds and lets go of it only in `renew` and when the thread ends.
        let view = match unsafe { mine.view.get().as_ref() } {
            Some(view) if view.is_of(cycle) => view,
            _ => mine.renew()?,
        };
        let _held = mine.hold();
        body(view)
    })
}

/// The view of now, made if nobody has made it yet.
#[cold]
pub(crate) fn latest() -> Result<Arc<View>> {
    let (session, cycle) = session::current()?;
    let mut latest = LATEST.lock();
    if let Some(view) = &*latest
        && core::ptr::eq(view.session, session)
        && view.is_of(cycle)
    {
        return Ok(Arc::clone(view));
    }
    let view = Arc::new(View::new(session, cycle)?);
    *latest = Some(Arc::clone(&view));
    Ok(view)
}

const fn low(number: u32) -> Option<u8> {
    if number <= u8::MAX as u32 {
        Some(number as u8)
    } else {
        None
    }
}

/// The stamp of what was born on a card: neither a later thing under the same id has it, nor one on another card in its place.
const fn born(card: u32, birth: Birth) -> u32 {
    (birth.0 as u32 ^ card) & STAMP_MASK
}

impl View {
    fn new(session: &'static Session, cycle: u64) -> Result<Self> {
        let made = clock::now();
        let snapshot = session.current()?;
        let machine = &snapshot.machine;
        let due = machine.next_due();
        let stays = machine.has_real_loads().then_some(Now(made.0 + LOADS_STAY));
        let (sight, seen) = session.seen();
        let mut gpus = Vec::with_capacity(machine.gpus.len());
        let mut listed = Vec::new();
        for (position, gpu) in machine.gpus.iter().enumerate() {
            // A handle has eight bits for the position.
            let Some(position) = u32::try_from(position).ok().and_then(low) else {
                break;
            };
            let index = seen.contains(&gpu.uuid).then(|| {
                listed.push(position);
                listed.len() as u32 - 1
            });
            gpus.push(GpuView::new(machine, gpu, position, index));
        }
        Ok(Self {
            session,
            cycle,
            watches_calls: machine.watches_calls(),
            ages: due.is_some() || stays.is_some(),
            due,
            stays,
            sight,
            gpus,
            listed,
            snapshot,
        })
    }

    #[inline]
    fn is_of(&self, cycle: u64) -> bool {
        self.cycle == cycle
            && self.snapshot.generation == self.session.generation()
            && !(self.ages && self.is_old())
    }

    #[cold]
    fn is_old(&self) -> bool {
        self.due.is_some_and(|due| due <= self.now())
            || self.stays.is_some_and(|until| until <= clock::now())
    }

    #[inline]
    pub(crate) fn watches_calls(&self) -> bool {
        self.watches_calls
    }

    pub(crate) fn session(&self) -> &'static Session {
        self.session
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.snapshot.machine
    }

    /// The GPUs that are listed, in NVML's order.
    pub(crate) fn listed(&self) -> impl ExactSizeIterator<Item = &GpuView> {
        self.listed
            .iter()
            .map(|&position| &self.gpus[usize::from(position)])
    }

    /// The listed GPU at an NVML index.
    pub(crate) fn at(&self, index: u32) -> Option<&GpuView> {
        self.listed
            .get(index as usize)
            .map(|&position| &self.gpus[usize::from(position)])
    }

    /// The GPU at a position in the machine, listed or not.
    pub(crate) fn of_machine(&self, index: GpuIndex) -> Option<&GpuView> {
        self.gpus.get(index.0 as usize)
    }

    /// The listed GPU of a UUID.
    pub(crate) fn by_uuid(&self, uuid: &GpuUuid) -> Option<&GpuView> {
        self.listed().find(|gpu| self.state(gpu).uuid == *uuid)
    }

    /// The GPU's state.
    #[inline]
    pub(crate) fn state(&self, gpu: &GpuView) -> &Gpu {
        &self.machine().gpus[usize::from(gpu.position)]
    }

    /// The GPU's model.
    #[inline]
    pub(crate) fn spec(&self, gpu: &GpuView) -> &Spec {
        self.machine().spec(self.state(gpu))
    }

    /// What time it is on the machine.
    #[inline]
    pub(crate) fn now(&self) -> Now {
        self.machine().now(self.session.not_before(clock::now()))
    }

    /// What the GPU shows now.
    #[inline]
    pub(crate) fn telemetry(&self, gpu: &GpuView) -> Telemetry {
        let at = Shown {
            cycle: self.cycle,
            generation: self.snapshot.generation,
            position: gpu.position,
            now: self.now(),
        };
        MINE.with(|mine| match mine.shown.get() {
            Some((asked, telemetry)) if asked == at => telemetry,
            _ => {
                let telemetry = self.shown_at(gpu, at.now);
                mine.shown.set(Some((at, telemetry)));
                telemetry
            }
        })
    }

    #[cold]
    #[inline(never)]
    fn shown_at(&self, gpu: &GpuView, now: Now) -> Telemetry {
        Telemetry::of(self.spec(gpu), self.state(gpu), now)
    }

    /// Shares of the time in which kernels run and memory is used: on the whole GPU or on one of its GPU instances.
    pub(crate) fn busy(&self, gpu: &GpuView, gi: Option<u32>) -> (u32, u32) {
        let Some(gi) = gi else {
            let shown = self.telemetry(gpu);
            return (shown.gpu.0, shown.memory.0);
        };
        let state = self.state(gpu);
        let busy = state.busy(self.spec(gpu), Some(GiId(gi)), None, self.now());
        (busy.0, busy.of_memory().0)
    }

    /// What moves over the links of a GPU now, or (`gi`) what a GPU instance of it moves.
    pub(crate) fn traffic(&self, gpu: &GpuView, gi: Option<u32>) -> Traffic {
        Traffic::of(self.spec(gpu), self.state(gpu), gi.map(GiId), self.now())
    }

    /// What went over the links of a GPU up to now.
    pub(crate) fn moved(&self, gpu: &GpuView) -> Moved {
        self.state(gpu).moved(self.spec(gpu), self.now())
    }

    /// The GPU or MIG device of a handle; INVALID_ARGUMENT if there is none (any more), GPU_IS_LOST if it fell off the bus.
    #[inline]
    pub(crate) fn device(&self, device: Device) -> Result<Target<'_>> {
        match device.named() {
            Some(Named::Gpu { gpu, stamp }) => self.gpu_of(gpu, Some(stamp)).map(Target::Gpu),
            Some(Named::MigDevice { gpu, gi, ci, stamp }) => {
                let gpu = self.gpu_of(gpu, None)?;
                let mig = gpu
                    .migs
                    .iter()
                    .find(|mig| (mig.gi, mig.ci, mig.stamp) == (gi, ci, stamp));
                mig.map(|mig| Target::Mig(gpu, mig))
                    .ok_or(Status::InvalidArgument)
            }
            _ => Err(Status::InvalidArgument),
        }
    }

    /// The GPU of a handle; a MIG device is INVALID_ARGUMENT: for calls whose argument is a GPU by its meaning.
    #[inline]
    pub(crate) fn gpu(&self, device: Device) -> Result<&GpuView> {
        match self.device(device)? {
            Target::Gpu(gpu) => Ok(gpu),
            Target::Mig(..) => Err(Status::InvalidArgument),
        }
    }

    /// The GPU of a handle; a MIG device is NOT_SUPPORTED: for values that only a whole card has.
    #[inline]
    pub(crate) fn whole(&self, device: Device) -> Result<&GpuView> {
        match self.device(device)? {
            Target::Gpu(gpu) => Ok(gpu),
            Target::Mig(..) => Err(Status::NotSupported),
        }
    }

    /// The GPU of a handle, or that of the MIG device of a handle: for what is the same for both.
    #[inline]
    pub(crate) fn card(&self, device: Device) -> Result<&GpuView> {
        match self.device(device)? {
            Target::Gpu(gpu) | Target::Mig(gpu, _) => Ok(gpu),
        }
    }

    /// The MIG device of a handle; a whole GPU is INVALID_ARGUMENT.
    pub(crate) fn mig(&self, device: Device) -> Result<(&GpuView, &MigView)> {
        match self.device(device)? {
            Target::Mig(gpu, mig) => Ok((gpu, mig)),
            Target::Gpu(_) => Err(Status::InvalidArgument),
        }
    }

    /// NOT_SUPPORTED in MIG mode: for what a card does not tell as a whole then.
    pub(crate) fn not_in_mig_mode(&self, gpu: &GpuView) -> Result {
        match self.machine().mig_on(self.state(gpu)) {
            Ok(_) => Err(Status::NotSupported),
            Err(_) => Ok(()),
        }
    }

    /// Everything about a MIG device.
    pub(crate) fn mig_device(&self, gpu: &GpuView, mig: &MigView) -> Result<MigDevice<'_>> {
        self.machine()
            .mig_device(self.state(gpu), GiId(mig.gi.into()), CiId(mig.ci.into()))
            .ok_or(Status::InvalidArgument)
    }

    #[inline]
    fn gpu_of(&self, position: u8, stamp: Option<u32>) -> Result<&GpuView> {
        let gpu = self
            .gpus
            .get(usize::from(position))
            .ok_or(Status::InvalidArgument)?;
        if stamp.is_some_and(|stamp| stamp != gpu.stamp) {
            return Err(Status::InvalidArgument);
        }
        if gpu.lost {
            Err(Status::GpuIsLost)
        } else {
            Ok(gpu)
        }
    }

    /// The GPU instance of a handle; INVALID_ARGUMENT if there is none (any more).
    pub(crate) fn gpu_instance(&self, handle: GpuInstance) -> Result<(&GpuView, &GiState)> {
        let Some(Named::GpuInstance { gpu, gi, stamp }) = handle.named() else {
            return Err(Status::InvalidArgument);
        };
        let gpu = self.gpu_of(gpu, None)?;
        let state = self
            .state(gpu)
            .gi(GiId(gi.into()))
            .ok_or(Status::InvalidArgument)?;
        if gpu.stamp(state.birth) == stamp {
            Ok((gpu, state))
        } else {
            Err(Status::InvalidArgument)
        }
    }

    /// The profile of a GPU instance.
    pub(crate) fn gi_profile(&self, gpu: &GpuView, gi: &GiState) -> Result<&GiProfile> {
        self.spec(gpu)
            .mig
            .as_ref()
            .and_then(|mig| mig.by_id(gi.profile))
            .ok_or(Status::Unknown)
    }

    /// The compute instance of a handle; INVALID_ARGUMENT if there is none (any more).
    pub(crate) fn compute_instance(
        &self,
        handle: ComputeInstance,
    ) -> Result<(&GpuView, &GiState, &CiState)> {
        let Some(Named::ComputeInstance { gpu, gi, ci, stamp }) = handle.named() else {
            return Err(Status::InvalidArgument);
        };
        let gpu = self.gpu_of(gpu, None)?;
        let gi = self
            .state(gpu)
            .gi(GiId(gi.into()))
            .ok_or(Status::InvalidArgument)?;
        let ci = gi.ci(CiId(ci.into())).ok_or(Status::InvalidArgument)?;
        if gpu.stamp(ci.birth) == stamp {
            Ok((gpu, gi, ci))
        } else {
            Err(Status::InvalidArgument)
        }
    }

    /// The MIG devices of a GPU that this process sees now, in NVML's order; looks at device nodes.
    pub(crate) fn visible_migs<'v>(&self, gpu: &'v GpuView) -> impl Iterator<Item = &'v MigView> {
        let sight = self.sight.mig();
        let minor: Minor = self.state(gpu).minor;
        gpu.migs
            .iter()
            .filter(move |mig| sight.device(minor, GiId(mig.gi.into()), CiId(mig.ci.into())))
    }
}

impl GpuView {
    fn new(machine: &Machine, gpu: &Gpu, position: u8, index: Option<u32>) -> Self {
        let [a, b, c, ..] = *gpu.uuid.bytes();
        let card = u32::from_be_bytes([0, a, b, c]);
        let migs = machine.mig_devices(gpu).filter_map(|mig| {
            Some(MigView {
                gi: low(mig.gi.id.0)?,
                ci: low(mig.ci.id.0)?,
                stamp: born(card, mig.ci.birth),
                uuid: mig.ci.uuid.to_string(),
                name: mig.name(),
            })
        });
        Self {
            position,
            stamp: card,
            lost: gpu.health.lost,
            index,
            uuid: gpu.uuid.to_string(),
            pci: gpu.pci.to_string(),
            migs: migs.collect(),
        }
    }

    fn stamp(&self, birth: Birth) -> u32 {
        born(self.stamp, birth)
    }

    pub(crate) fn handle(&self) -> Device {
        Device::gpu(self.position, self.stamp)
    }

    pub(crate) fn gi_handle(&self, gi: GiId, birth: Birth) -> Option<GpuInstance> {
        Some(GpuInstance::new(
            self.position,
            low(gi.0)?,
            self.stamp(birth),
        ))
    }

    pub(crate) fn ci_handle(&self, gi: GiId, ci: CiId, birth: Birth) -> Option<ComputeInstance> {
        Some(ComputeInstance::new(
            self.position,
            low(gi.0)?,
            low(ci.0)?,
            self.stamp(birth),
        ))
    }

    /// The handle of the MIG device that a compute instance is.
    pub(crate) fn mig_of(&self, gi: GiId, ci: CiId) -> Option<Device> {
        let mig = self
            .migs
            .iter()
            .find(|mig| u32::from(mig.gi) == gi.0 && u32::from(mig.ci) == ci.0)?;
        Some(self.mig_handle(mig))
    }

    pub(crate) fn mig_handle(&self, mig: &MigView) -> Device {
        Device::mig(self.position, mig.gi, mig.ci, mig.stamp)
    }

    /// One of its MIG devices, seen by this process or not, has this UUID.
    pub(crate) fn has_mig(&self, uuid: &str) -> bool {
        self.migs.iter().any(|mig| mig.uuid == uuid)
    }

    /// It fell off the bus.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost
    }

    /// Its NVML index in this process; a GPU that is not listed has none.
    pub(crate) fn index(&self) -> Option<u32> {
        self.index
    }
}

impl MigView {
    pub(crate) fn gi(&self) -> u32 {
        self.gi.into()
    }

    pub(crate) fn ci(&self) -> u32 {
        self.ci.into()
    }
}
