//! Questions to a machine that change nothing.
//! Not here: what NVML makes of them (`nvml-abi`), values that vary with time (`telemetry`).
//! Answers borrow from the machine where they can.
use crate::{
    clients::Scope,
    code::Code,
    geometry,
    ids::{CiId, GiId, GpuIndex, GpuUuid, MigUuid},
    machine::{ComputeInstance, Gpu, GpuInstance, Machine, MigMode},
    refusal::Refusal,
    spec::{
        CiProfile, CiProfileIndex, Engines, GiProfile, GiProfileIndex, MigSpec, Placement, Spec,
    },
    units::{MiB, Slices},
};

/// A number that names no profile of `nvml.h`, or one that this GPU does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadProfileIndex {
    /// Beyond the enumeration: INVALID_ARGUMENT.
    #[error("profile index {0} is beyond the enumeration of nvml.h")]
    OutOfRange(u32),
    /// Within it, but not on this GPU: NOT_SUPPORTED.
    #[error("profile index {0} is not offered here")]
    NotOffered(u32),
}

impl BadProfileIndex {
    /// What NVML answers.
    pub const fn code(self) -> Code {
        match self {
            Self::OutOfRange(_) => Code::InvalidArgument,
            Self::NotOffered(_) => Code::NotSupported,
        }
    }
}

/// A MIG device: a compute instance with all that it stands in.
#[derive(Clone, Copy, Debug)]
pub struct MigDevice<'m> {
    /// Its number in NVML's order on the GPU: ascending (GPU instance id, compute instance id).
    pub index: u32,
    /// The card.
    pub gpu: &'m Gpu,
    /// The card's model.
    pub spec: &'m Spec,
    /// The GPU instance.
    pub gi: &'m GpuInstance,
    /// The compute instance.
    pub ci: &'m ComputeInstance,
    /// The GPU instance's profile.
    pub gi_profile: &'m GiProfile,
    /// The compute instance's profile.
    pub ci_profile: &'m CiProfile,
}

impl MigDevice<'_> {
    /// `nvmlDeviceGetName`: `NVIDIA A100-SXM4-40GB MIG 1g.5gb`.
    pub fn name(&self) -> String {
        format!("{} MIG {}", self.spec.name, self.profile_name())
    }

    /// The name of the partition, `1c.3g.20gb`. If the compute instance fills the GPU instance it is the GPU instance's
    /// name, suffix included (`1g.5gb+me`).
    pub fn profile_name(&self) -> &str {
        if self.ci_profile.slices == self.gi_profile.slices {
            &self.gi_profile.name
        } else {
            &self.ci_profile.name
        }
    }

    /// Streaming multiprocessors.
    pub fn multiprocessors(&self) -> u32 {
        self.ci_profile.multiprocessors
    }

    /// Engines, shared with the other compute instances of the GPU instance.
    pub fn engines(&self) -> Engines {
        self.gi_profile.engines
    }

    /// Memory, shared with the other compute instances of the GPU instance.
    pub fn memory(&self) -> MiB {
        self.gi_profile.memory
    }

    /// BAR1: the card's, by share of memory slices, less 1 MiB (observed on A100 and H100).
    pub fn bar1(&self) -> Option<MiB> {
        let mig = self.spec.mig.as_ref()?;
        let whole = self.spec.bar1_total?.0;
        let share =
            whole * u64::from(self.gi.placement.size) / u64::from(mig.memory_slices.0.max(1));
        Some(MiB(share.saturating_sub(1)))
    }
}

impl Machine {
    /// The GPU at an index.
    ///
    /// # Errors
    /// [`Refusal::NoSuchGpu`].
    pub fn gpu(&self, index: GpuIndex) -> Result<&Gpu, Refusal> {
        usize::try_from(index.0)
            .ok()
            .and_then(|i| self.gpus.get(i))
            .ok_or(Refusal::NoSuchGpu {
                gpu: index,
                count: self.gpus.len(),
            })
    }

    /// Whether what a scope names is there.
    ///
    /// # Errors
    /// [`Refusal::NoSuchGpu`], [`Refusal::NoSuchGi`], [`Refusal::NoSuchCi`]; [`Refusal::NotSupported`] for a compute instance
    /// without its GPU instance.
    pub fn check(&self, scope: Scope) -> Result<(), Refusal> {
        let Scope { gpu: index, gi, ci } = scope;
        let gpu = self.gpu(index)?;
        match (gi, ci) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(Refusal::NotSupported {
                gpu: index,
                what: "a compute instance outside of a GPU instance",
            }),
            (Some(gi), None) => gpu.existing(gi).map(drop),
            (Some(gi), Some(ci)) => gpu.existing(gi)?.existing(index, ci).map(drop),
        }
    }

    /// The model of a GPU.
    ///
    /// # Panics
    /// If `gpu` belongs to another machine.
    pub fn spec(&self, gpu: &Gpu) -> &Spec {
        &self.specs[gpu.model as usize]
    }

    /// The partitioning of a GPU's model, whatever its MIG mode.
    ///
    /// # Errors
    /// [`Refusal::NoMig`].
    pub fn mig_spec(&self, gpu: &Gpu) -> Result<&MigSpec, Refusal> {
        let spec = self.spec(gpu);
        spec.mig.as_ref().ok_or_else(|| Refusal::NoMig {
            gpu: gpu.index,
            model: spec.model.clone(),
        })
    }

    /// The partitioning of a GPU whose MIG mode is on.
    ///
    /// # Errors
    /// [`Refusal::NoMig`], [`Refusal::MigOff`].
    pub fn mig_on(&self, gpu: &Gpu) -> Result<&MigSpec, Refusal> {
        let mig = self.mig_spec(gpu)?;
        match gpu.mig_current {
            MigMode::Enabled => Ok(mig),
            MigMode::Disabled => Err(Refusal::MigOff {
                gpu: gpu.index,
                pending: gpu.mig_pending == MigMode::Enabled,
            }),
        }
    }

    /// The GPU of a UUID.
    pub fn gpu_by_uuid(&self, uuid: &GpuUuid) -> Option<&Gpu> {
        self.gpus.iter().find(|gpu| gpu.uuid == *uuid)
    }

    /// What a UUID names: a GPU (`GPU-…`), or the compute instance of a MIG device (`MIG-…`).
    pub fn scope_of(&self, uuid: &str) -> Option<Scope> {
        if let Ok(uuid) = uuid.parse() {
            return Some(Scope::gpu(self.gpu_by_uuid(&uuid)?.index));
        }
        let uuid: MigUuid = uuid.parse().ok()?;
        let mut all = self.gpus.iter().flat_map(|gpu| self.mig_devices(gpu));
        let mig = all.find(|mig| mig.ci.uuid == uuid)?;
        Some(Scope::ci(mig.gpu.index, mig.gi.id, mig.ci.id))
    }

    /// `nvmlDeviceGetMaxMigDeviceCount`: 0 if there is no MIG or MIG mode is off.
    pub fn max_mig_devices(&self, gpu: &Gpu) -> u32 {
        self.mig_on(gpu).map_or(0, |mig| mig.max_devices)
    }

    /// The MIG devices of a GPU in NVML's order: ascending (GPU instance id, compute instance id).
    pub fn mig_devices<'m>(&'m self, gpu: &'m Gpu) -> impl Iterator<Item = MigDevice<'m>> + 'm {
        let spec = self.spec(gpu);
        gpu.instances
            .iter()
            .flat_map(|gi| gi.compute.iter().map(move |ci| (gi, ci)))
            .filter_map(move |(gi, ci)| {
                let gi_profile = spec.mig.as_ref()?.by_id(gi.profile)?;
                let ci_profile = gi_profile.ci_by_id(ci.profile)?;
                Some((gi, ci, gi_profile, ci_profile))
            })
            .zip(0..)
            .map(move |((gi, ci, gi_profile, ci_profile), index)| MigDevice {
                index,
                gpu,
                spec,
                gi,
                ci,
                gi_profile,
                ci_profile,
            })
    }

    /// The MIG device that a compute instance is.
    pub fn mig_device<'m>(&'m self, gpu: &'m Gpu, gi: GiId, ci: CiId) -> Option<MigDevice<'m>> {
        self.mig_devices(gpu)
            .find(|device| device.gi.id == gi && device.ci.id == ci)
    }

    /// How many more GPU instances of a profile fit now (`nvmlDeviceGetGpuInstanceRemainingCapacity`).
    ///
    /// # Errors
    /// [`Refusal::NoMig`], [`Refusal::MigOff`].
    pub fn remaining(&self, gpu: &Gpu, profile: &GiProfile) -> Result<u32, Refusal> {
        let mig = self.mig_on(gpu)?;
        let existing = gpu
            .instances
            .iter()
            .filter(|gi| gi.profile == profile.id)
            .count();
        let by_count = profile
            .instances
            .saturating_sub(u32::try_from(existing).unwrap_or(u32::MAX));
        let by_place = geometry::packing(
            profile.placements(),
            gpu.instances.iter().map(|gi| gi.placement),
        );
        let free = Slices(mig.compute_slices.0.saturating_sub(gpu.slices_used(mig).0));
        let by_compute = free.0 / profile.slices.0.max(1);
        let by_engines = gpu
            .engines_free(mig)
            .into_iter()
            .zip(profile.engines.each())
            .filter_map(|((_, free), (_, needs))| free.checked_div(needs))
            .min()
            .unwrap_or(u32::MAX);
        Ok(by_count.min(by_place).min(by_compute).min(by_engines))
    }
}

impl Gpu {
    /// The placements of a profile that no GPU instance overlaps, ascending.
    pub fn free_placements<'a>(
        &'a self,
        profile: &'a GiProfile,
    ) -> impl Iterator<Item = Placement> + 'a {
        profile.placements().filter(|place| {
            !self
                .instances
                .iter()
                .any(|gi| gi.placement.overlaps(*place))
        })
    }
}

impl GpuInstance {
    /// How many more compute instances of a profile fit now
    /// (`nvmlGpuInstanceGetComputeInstanceRemainingCapacity`).
    pub fn remaining(&self, profile: &CiProfile) -> u32 {
        let existing = self
            .compute
            .iter()
            .filter(|ci| ci.profile == profile.id)
            .count();
        let by_count = profile
            .instances
            .saturating_sub(u32::try_from(existing).unwrap_or(u32::MAX));
        by_count.min(geometry::packing(
            profile.placements(),
            self.compute.iter().map(|ci| ci.placement),
        ))
    }
}

impl MigSpec {
    /// The profile at an enumerator of `nvml.h`.
    ///
    /// # Errors
    /// [`BadProfileIndex`]: beyond the enumeration, or a hole in it.
    pub fn at(&self, raw: u32) -> Result<&GiProfile, BadProfileIndex> {
        let index = GiProfileIndex::from_raw(raw).ok_or(BadProfileIndex::OutOfRange(raw))?;
        self.by_index(index).ok_or(BadProfileIndex::NotOffered(raw))
    }
}

impl GiProfile {
    /// The compute instance profile at an enumerator of `nvml.h`.
    ///
    /// # Errors
    /// [`BadProfileIndex`]: beyond the enumeration, or a hole in it.
    pub fn compute_at(&self, raw: u32) -> Result<&CiProfile, BadProfileIndex> {
        let index = CiProfileIndex::from_raw(raw).ok_or(BadProfileIndex::OutOfRange(raw))?;
        self.compute
            .iter()
            .find(|profile| profile.index == index)
            .ok_or(BadProfileIndex::NotOffered(raw))
    }
}
