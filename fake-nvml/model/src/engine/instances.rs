//! GPU instances: create and destroy.
//! Not here: compute instances (`compute`), which ids follow from which placement (`geometry`).
//! Rules: nvml.h (overlap, IN_USE), kernel modules (ids), captures (default order, in the catalogue).
use crate::{
    clients::{Clients, Scope},
    events::EventKind,
    geometry,
    ids::{GiId, GpuIndex, ProfileId},
    machine::{GpuInstance, Machine},
    op::Outcome,
    refusal::Refusal,
    spec::{GiProfile, Placement},
    units::{Now, Slices},
};

pub(super) fn create(
    machine: &mut Machine,
    index: GpuIndex,
    profile: ProfileId,
    asked: Option<Placement>,
    now: Now,
) -> Result<Outcome, Refusal> {
    let (gpu, mig) = machine.partitionable(index)?;
    let profile = mig.by_id(profile).ok_or_else(|| Refusal::NoSuchProfile {
        gpu: index,
        profile,
        known: mig.profiles.iter().map(|p| p.id.0).collect(),
    })?;
    if let Some(asked) = asked
        && !profile.placements().any(|place| place == asked)
    {
        return Err(bad_placement(profile, asked));
    }
    let existing = gpu
        .instances
        .iter()
        .filter(|gi| gi.profile == profile.id)
        .count();
    if u32::try_from(existing).is_ok_and(|n| n >= profile.instances) {
        return Err(Refusal::InstanceLimit {
            profile: profile.name.clone(),
            limit: profile.instances,
        });
    }
    let free = Slices(mig.compute_slices.0.saturating_sub(gpu.slices_used(mig).0));
    if profile.slices > free {
        return Err(Refusal::ComputeLimit {
            profile: profile.name.clone(),
            needs: profile.slices,
            free,
        });
    }
    // Engines belong to one GPU instance each. This is what `nvml.h` says of `…_ALL_ME` (beside it only `…_NO_ME` fits) and
    // the MIG User Guide of `+me` (it takes the only OFA); between plain profiles it never decides (`layouts`).
    let lacking = gpu
        .engines_free(mig)
        .into_iter()
        .zip(profile.engines.each())
        .find(|((_, free), (_, needs))| needs > free);
    if let Some(((engine, free), (_, needs))) = lacking {
        return Err(Refusal::EngineLimit {
            profile: profile.name.clone(),
            engine,
            needs,
            free,
        });
    }
    let fits = |place: &Placement| !gpu.instances.iter().any(|gi| gi.placement.overlaps(*place));
    let size = profile.size.0;
    let in_order = profile
        .default_order
        .iter()
        .map(|&start| Placement { start, size });
    let placement = match asked {
        Some(place) => Some(place).filter(fits),
        None => in_order.into_iter().find(fits),
    };
    let placement = placement.ok_or_else(|| Refusal::NoRoom {
        profile: profile.name.clone(),
        asked,
        taken: gpu
            .instances
            .iter()
            .map(|gi| (gi.id.0, gi.placement))
            .collect(),
    })?;
    let id = geometry::gi_id(placement, mig.memory_slices, gpu.quirks.flipped_ids)
        .ok_or_else(|| bad_placement(profile, placement))?;
    let profile = profile.id;
    let birth = machine.birth();
    let gpu = machine.gpu_mut(index)?;
    let at = gpu.instances.partition_point(|gi| gi.id < id);
    gpu.instances.insert(
        at,
        GpuInstance {
            id,
            profile,
            placement,
            birth,
            compute: Vec::new(),
        },
    );
    machine.note(now, Scope::gi(index, id), EventKind::MigConfig);
    Ok(Outcome::GpuInstance {
        id,
        placement,
        birth,
    })
}

pub(super) fn destroy(
    machine: &mut Machine,
    index: GpuIndex,
    id: GiId,
    now: Now,
    clients: &Clients,
) -> Result<Outcome, Refusal> {
    let (gpu, _) = machine.partitionable(index)?;
    let gi = gpu.existing(id)?;
    if !gi.compute.is_empty() {
        return Err(Refusal::HasComputeInstances {
            gpu: index,
            gi: id,
            count: gi.compute.len(),
        });
    }
    machine.idle(Scope::gi(index, id), now, clients)?;
    // Work without a process ends with the instance that it is on.
    machine.end_loads(now, |_, scope| Scope::gi(index, id).covers(&scope))?;
    machine.settle(index, now)?;
    machine.gpu_mut(index)?.instances.retain(|gi| gi.id != id);
    machine.note(now, Scope::gi(index, id), EventKind::MigConfig);
    Ok(Outcome::Done)
}

fn bad_placement(profile: &GiProfile, asked: Placement) -> Refusal {
    Refusal::BadPlacement {
        profile: profile.name.clone(),
        asked,
        known: profile.starts.clone(),
        size: profile.size,
    }
}
