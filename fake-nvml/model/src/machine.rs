//! The state of a node's GPUs: what the state file holds.
//! Not here: how it changes (`engine`), what can be asked of it (`query`), where it is kept (`gpu-store`).
//! Built from the catalogue once; afterwards each state comes out of `Machine::apply`.
use crate::{
    chosen::Chosen,
    clock::Clock,
    driver::Driver,
    events::Events,
    fault::FaultPlan,
    health::Health,
    ids::{Birth, CiId, GiId, GpuIndex, GpuUuid, MachineId, MigUuid, Minor, PciAddress, ProfileId},
    load::{Counted, Load},
    power::Energy,
    refusal::Refusal,
    schedule::Scheduled,
    spec::{MigSpec, Placement, Spec},
    throttle::Held,
    units::{MiB, MilliWatts, Now, Slices},
    uuid,
};
use serde::{Deserialize, Serialize};

/// All GPUs of one node and the driver that shows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Which machine this is.
    pub id: MachineId,
    /// `nvmlSystemGetDriverVersion`, `580.95.05`.
    pub driver_version: String,
    /// `nvmlSystemGetCudaDriverVersion`: 1000 * major + 10 * minor.
    pub cuda_version: u32,
    /// The models in use; [`Machine::spec`] finds that of a GPU.
    pub specs: Vec<Spec>,
    /// The GPUs in NVML's order; position is the index.
    pub gpus: Vec<Gpu>,
    /// The last events.
    pub events: Events,
    /// What time it is here.
    pub clock: Clock,
    /// Which calls are to go wrong.
    pub faults: FaultPlan,
    /// Calls are written to the log.
    pub log: bool,
    /// Faults of cards that are still to come, by time.
    pub scheduled: Vec<Scheduled>,
    /// When it was last written down, by its own clock.
    pub(crate) written: Now,
    /// The serial number that the next instance gets.
    pub(crate) next_birth: u64,
    /// The serial number that the next load gets.
    pub(crate) next_load: u64,
}

/// One GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    /// Position of its model in [`Machine::specs`]; use [`Machine::spec`].
    pub(crate) model: u32,
    /// Position in NVML's order.
    pub index: GpuIndex,
    /// Its UUID.
    pub uuid: GpuUuid,
    /// The per-device identifier that UUIDs are made from.
    pub(crate) pdi: u64,
    /// `/dev/nvidia<minor>`.
    pub minor: Minor,
    /// Where it sits.
    pub pci: PciAddress,
    /// The NUMA node next to it.
    pub numa_node: u32,
    /// `nvmlDeviceGetSerial`.
    pub serial: String,
    /// MIG mode now.
    pub mig_current: MigMode,
    /// MIG mode after the next reset.
    pub mig_pending: MigMode,
    /// GPU instances, ascending by id.
    pub instances: Vec<GpuInstance>,
    /// Persistence mode.
    pub persistence: bool,
    /// Compute mode.
    pub compute_mode: ComputeMode,
    /// Time slice of the compute policy.
    pub timeslice: Timeslice,
    /// The power limit that was set; `None` is the board's default.
    pub power_limit: Option<MilliWatts>,
    /// ECC now.
    pub ecc_current: bool,
    /// ECC after the next reset.
    pub ecc_pending: bool,
    /// Condition.
    pub health: Health,
    /// Work on the card and its instances, in the order in which it was put there.
    pub loads: Vec<Load>,
    /// Energy used.
    pub(crate) energy: Energy,
    /// What went over its links.
    pub(crate) moved: Counted,
    /// How long clocks have been held down.
    pub(crate) held: Held,
    /// Clocks, accounting and draining.
    pub chosen: Chosen,
    /// Ways in which this card differs from its siblings.
    pub quirks: Quirks,
}

/// MIG mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u32)]
pub enum MigMode {
    /// Off (also on a card without MIG).
    #[default]
    Disabled = 0,
    /// On.
    Enabled = 1,
}

impl MigMode {
    /// The number in nvml.h.
    pub const fn raw(self) -> u32 {
        self as u32
    }

    /// `Enabled` or `Disabled`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Disabled => "Disabled",
            Self::Enabled => "Enabled",
        }
    }
}

/// `nvmlComputeMode_t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u32)]
pub enum ComputeMode {
    /// Any number of contexts.
    #[default]
    Default = 0,
    /// None (1, exclusive thread, is no longer offered).
    Prohibited = 2,
    /// One process.
    ExclusiveProcess = 3,
}

impl ComputeMode {
    /// The number in nvml.h.
    pub const fn raw(self) -> u32 {
        self as u32
    }
}

/// Time slice of the compute policy (`nvidia-smi compute-policy --set-timeslice`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u32)]
pub enum Timeslice {
    /// The driver's choice.
    #[default]
    Default = 0,
    /// Short.
    Short = 1,
    /// Medium.
    Medium = 2,
    /// Long.
    Long = 3,
}

impl Timeslice {
    /// From the number on the command line.
    pub const fn from_raw(raw: u32) -> Option<Self> {
        match raw {
            0 => Some(Self::Default),
            1 => Some(Self::Short),
            2 => Some(Self::Medium),
            3 => Some(Self::Long),
            _ => None,
        }
    }

    /// `Default`, `Short`, `Medium` or `Long`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Default => "Default",
            Self::Short => "Short",
            Self::Medium => "Medium",
            Self::Long => "Long",
        }
    }

    /// The number on the command line.
    pub const fn raw(self) -> u32 {
        self as u32
    }
}

/// Ways in which one card, or the driver on it, differs from another of the same model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Quirks {
    /// GPU instance ids follow the other half of the card (placement XOR 4): seen on parts whose seven-slice half is
    /// physically the first one.
    pub flipped_ids: bool,
    /// An idle card that needs a reset to change MIG mode is reset by the driver itself (bare metal); off: the change
    /// waits as pending (pass-through machines).
    pub resets_itself: bool,
    /// Profile queries answer NOT_SUPPORTED while MIG mode is off, as nvml.h says; real drivers answer (default).
    pub strict_profile_queries: bool,
}

/// A GPU instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuInstance {
    /// Its id (the swizz id of its placement).
    pub id: GiId,
    /// Its profile.
    pub profile: ProfileId,
    /// Its place, in memory slices.
    pub placement: Placement,
    /// Tells it from an earlier one of the same id.
    pub birth: Birth,
    /// Compute instances, ascending by id.
    pub compute: Vec<ComputeInstance>,
}

/// A compute instance: a MIG device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComputeInstance {
    /// Its id within the GPU instance.
    pub id: CiId,
    /// Its profile.
    pub profile: ProfileId,
    /// Its place within the GPU instance, in compute slices.
    pub placement: Placement,
    /// The UUID of the MIG device.
    pub uuid: MigUuid,
    /// Tells it from an earlier one of the same id.
    pub birth: Birth,
}

/// How a machine is to be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// All identities are made from this text: same text, same UUIDs. Name the run and the node in it.
    pub node: String,
    /// `nvmlSystemGetDriverVersion`; the CUDA version and what NVML has follow from it ([`crate::driver`]).
    pub driver_version: String,
    /// MIG mode at boot on the cards that have it.
    pub mig: bool,
    /// Quirks of all cards.
    pub quirks: Quirks,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            node: "node".to_owned(),
            driver_version: Machine::DRIVER_VERSION.to_owned(),
            mig: false,
            quirks: Quirks::default(),
        }
    }
}

impl Machine {
    /// The driver version unless told otherwise.
    pub const DRIVER_VERSION: &'static str = "580.95.05";

    /// Builds a machine after a boot: these many cards of each model, in this order.
    pub fn from_specs(cards: &[(&Spec, usize)], options: &Options) -> Self {
        let mut specs: Vec<Spec> = Vec::new();
        let mut gpus = Vec::new();
        let total: usize = cards.iter().map(|(_, count)| count).sum();
        for (spec, count) in cards {
            let model = specs.iter().position(|known| known == *spec);
            let model = model.unwrap_or_else(|| {
                specs.push((*spec).clone());
                specs.len() - 1
            });
            for _ in 0..*count {
                gpus.push(boot(gpus.len(), total, model, spec, options));
            }
        }
        Self {
            id: uuid::machine(&options.node),
            driver_version: options.driver_version.clone(),
            cuda_version: Driver::of(&options.driver_version).cuda().0,
            specs,
            gpus,
            events: Events::default(),
            clock: Clock::default(),
            faults: FaultPlan::default(),
            log: false,
            scheduled: Vec::new(),
            written: Now(0),
            next_birth: 1,
            next_load: 1,
        }
    }

    /// Builds a machine from catalogue models: these many cards of each, in this order.
    #[cfg(feature = "catalog")]
    pub fn build(cards: &[(&crate::Model, usize)], options: &Options) -> Self {
        let cards: Vec<(&Spec, usize)> = cards
            .iter()
            .map(|(model, count)| (model.spec(), *count))
            .collect();
        Self::from_specs(&cards, options)
    }
}

fn boot(index: usize, total: usize, model: usize, spec: &Spec, options: &Options) -> Gpu {
    let number = u32::try_from(index).unwrap_or(u32::MAX);
    let pdi = uuid::pdi(&options.node, number);
    let mode = match &spec.mig {
        Some(_) if options.mig => MigMode::Enabled,
        _ => MigMode::Disabled,
    };
    Gpu {
        model: u32::try_from(model).unwrap_or(u32::MAX),
        index: GpuIndex(number),
        uuid: uuid::gpu(spec.chip_id.unwrap_or(0), pdi),
        pdi,
        minor: Minor(number),
        pci: PciAddress {
            domain: number / PER_DOMAIN,
            // Bus numbers of an HGX board lie eight apart; below seven sit bridges and other devices.
            bus: u8::try_from(7 + 8 * (number % PER_DOMAIN)).unwrap_or(u8::MAX),
            device: 0,
        },
        numa_node: u32::from(total > 1 && index * 2 >= total),
        serial: uuid::serial(pdi),
        mig_current: mode,
        mig_pending: mode,
        instances: Vec::new(),
        persistence: false,
        compute_mode: ComputeMode::Default,
        timeslice: Timeslice::Default,
        power_limit: None,
        ecc_current: spec.ecc.unwrap_or(false),
        ecc_pending: spec.ecc.unwrap_or(false),
        health: Health::default(),
        loads: Vec::new(),
        energy: Energy::from(Now(0)),
        moved: Counted::default(),
        held: Held::default(),
        chosen: Chosen::default(),
        quirks: options.quirks,
    }
}

/// Cards that find room in one PCI domain.
const PER_DOMAIN: u32 = 31;

impl Gpu {
    /// The identifier of the device that UUIDs are made from (`nvmlDeviceGetPdi`).
    pub const fn pdi(&self) -> u64 {
        self.pdi
    }

    /// Its interrupt. A stand-in: the kernel gives them out as it likes, and all that matters is that each place shows the same.
    pub const fn irq(&self) -> u32 {
        const FIRST: u32 = 100;
        FIRST + self.index.0
    }

    /// The GPU instance of this id.
    pub fn gi(&self, id: GiId) -> Option<&GpuInstance> {
        self.instances.iter().find(|gi| gi.id == id)
    }

    /// The GPU instance of this id, or the refusal that names those there are.
    pub(crate) fn existing(&self, id: GiId) -> Result<&GpuInstance, Refusal> {
        self.gi(id).ok_or_else(|| Refusal::NoSuchGi {
            gpu: self.index,
            gi: id,
            known: self.instances.iter().map(|gi| gi.id.0).collect(),
        })
    }

    /// Memory in use by processes at `now`, all instances together, without what the driver reserves.
    pub fn memory_used(&self, now: Now) -> MiB {
        MiB(self.running(now).map(|load| load.memory.0).sum())
    }

    /// Memory in use by processes at `now` within a GPU instance.
    pub fn memory_used_in(&self, gi: GiId, now: Now) -> MiB {
        let within = self.running(now).filter(|load| load.gi == Some(gi));
        MiB(within.map(|load| load.memory.0).sum())
    }

    /// The parts of a time in each of which the same loads run, from moment to moment.
    pub(crate) fn phases(&self, from: Now, to: Now) -> Vec<(Now, Now)> {
        if to <= from {
            return Vec::new();
        }
        let mut moments: Vec<Now> = self
            .loads
            .iter()
            .flat_map(|load| [Some(load.since), load.until])
            .flatten()
            .filter(|&at| from < at && at < to)
            .chain([from, to])
            .collect();
        moments.sort_unstable();
        moments.dedup();
        moments
            .iter()
            .copied()
            .zip(moments.iter().copied().skip(1))
            .collect()
    }

    /// The loads that run at `now`.
    pub fn running(&self, now: Now) -> impl Iterator<Item = &Load> {
        self.loads.iter().filter(move |load| load.runs(now))
    }

    pub(crate) fn slices_used(&self, mig: &MigSpec) -> Slices {
        Slices(
            self.instances
                .iter()
                .filter_map(|gi| mig.by_id(gi.profile))
                .map(|profile| profile.slices.0)
                .sum(),
        )
    }

    /// The engines that no GPU instance has, by kind as [`Engines::each`] lists them.
    pub(crate) fn engines_free(&self, mig: &MigSpec) -> [(&'static str, u32); 5] {
        let mut free = mig.engines().each();
        for profile in self.instances.iter().filter_map(|gi| mig.by_id(gi.profile)) {
            for (left, (_, taken)) in free.iter_mut().zip(profile.engines.each()) {
                left.1 = left.1.saturating_sub(taken);
            }
        }
        free
    }
}

impl GpuInstance {
    /// The compute instance of this id.
    pub fn ci(&self, id: CiId) -> Option<&ComputeInstance> {
        self.compute.iter().find(|ci| ci.id == id)
    }

    /// The compute instance of this id, or the refusal that names those there are.
    pub(crate) fn existing(&self, gpu: GpuIndex, id: CiId) -> Result<&ComputeInstance, Refusal> {
        self.ci(id).ok_or_else(|| Refusal::NoSuchCi {
            gpu,
            gi: self.id,
            ci: id,
            known: self.compute.iter().map(|ci| ci.id.0).collect(),
        })
    }
}
