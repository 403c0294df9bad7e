//! `nvidia-smi mig …`: profiles, placements, instances.
//! Not MIG mode itself (`-mig`, in `set`).
//! In: the GPUs whose mode is on. Out: the tool's tables and sentences.

mod create;
mod destroy;
mod instances;
mod profiles;

use nvml_client::{Device, GpuInstance, GpuInstanceProfile, Nvml};

use crate::args::{Mig, MigAction};
use crate::failure::{Failure, Output};
use crate::select;

pub(crate) fn run(
    nvml: &Nvml,
    selection: Option<&str>,
    command: &Mig,
    out: &mut Output,
) -> Result<(), Failure> {
    let gpus: Vec<Device<'_>> = select::gpus(nvml, selection)?
        .into_iter()
        .filter(|gpu| gpu.mig_mode().is_ok_and(|(now, _)| now))
        .collect();
    if gpus.is_empty() {
        return Err(Failure::new(
            Failure::NOT_FOUND,
            "No MIG-enabled devices found.",
        ));
    }
    match &command.action {
        MigAction::GpuInstanceProfiles => profiles::gpu_instances(&gpus, out),
        MigAction::GpuInstancePlacements => profiles::placements(&gpus, out),
        MigAction::ComputeInstanceProfiles => profiles::compute_instances(&gpus, command, out),
        MigAction::ComputeInstancePlacements => profiles::compute_placements(&gpus, command, out),
        MigAction::GpuInstances => instances::gpu_instances(&gpus, out),
        MigAction::ComputeInstances => instances::compute_instances(&gpus, command, out),
        MigAction::CreateGpuInstances {
            profiles,
            with_compute,
        } => create::gpu_instances(&gpus, profiles, *with_compute, out),
        MigAction::CreateComputeInstances { profiles } => {
            create::compute_instances(&gpus, profiles.as_deref(), command, out)
        }
        MigAction::DestroyGpuInstances => destroy::gpu_instances(&gpus, command, out),
        MigAction::DestroyComputeInstances => destroy::compute_instances(&gpus, command, out),
    }
}

/// A living GPU instance with what is needed to talk about it.
pub(crate) struct Found<'n> {
    pub(crate) instance: GpuInstance<'n>,
    pub(crate) info: nvml_client::GpuInstanceInfo,
    pub(crate) profile: GpuInstanceProfile,
}

/// The order in which the tool lists profiles: smallest first, the plain one before its variants.
pub(crate) fn profiles_of(gpu: &Device<'_>) -> Result<Vec<GpuInstanceProfile>, Failure> {
    let mut profiles = gpu.gpu_instance_profiles()?;
    profiles.sort_by_key(|p| (p.slices, p.memory_mib, p.enumerator));
    Ok(profiles)
}

/// All GPU instances, by profile (smallest first), then id; only those of `-gi` where it is given.
pub(crate) fn living<'n>(
    gpu: &Device<'n>,
    command: Option<&Mig>,
) -> Result<Vec<Found<'n>>, Failure> {
    let wanted = command.and_then(|c| c.gpu_instances.as_deref());
    let mut all = Vec::new();
    for profile in profiles_of(gpu)? {
        let mut of_profile = Vec::new();
        for instance in gpu.gpu_instances(&profile)? {
            let info = instance.info()?;
            if wanted.is_none_or(|ids| ids.contains(&info.id)) {
                of_profile.push(Found {
                    instance,
                    info,
                    profile: profile.clone(),
                });
            }
        }
        of_profile.sort_by_key(|f| f.info.id);
        all.append(&mut of_profile);
    }
    Ok(all)
}

/// Does something with every GPU instance that is meant, beside its GPU's index; NOT_FOUND when there is none.
fn each<'n>(
    gpus: &[Device<'n>],
    command: &Mig,
    mut act: impl FnMut(u32, Found<'n>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut any = false;
    for gpu in gpus {
        let index = gpu.index()?;
        for found in living(gpu, Some(command))? {
            any = true;
            act(index, found)?;
        }
    }
    if any {
        Ok(())
    } else {
        Err(Failure::none_found("GPU instances"))
    }
}

/// `MIG 1g.5gb`, whether or not the library puts `MIG` in front.
pub(crate) fn title(name: &str) -> String {
    if name.starts_with("MIG ") {
        name.to_owned()
    } else {
        format!("MIG {name}")
    }
}
