//! Compute instances: create and destroy.
//! Not here: GPU instances (`instances`), UUIDs (`uuid`).
//! Rules: captures of `-lcip` and `-lci`; ids are the lowest free ones from 0.
use super::lowest_free;
use crate::{
    clients::{Clients, Scope},
    events::EventKind,
    ids::{CiId, GiId, GpuIndex, ProfileId},
    machine::{ComputeInstance, Machine},
    op::Outcome,
    refusal::Refusal,
    spec::Placement,
    units::Now,
    uuid,
};

pub(super) fn create(
    machine: &mut Machine,
    index: GpuIndex,
    gi_id: GiId,
    profile: ProfileId,
    asked: Option<Placement>,
    now: Now,
) -> Result<Outcome, Refusal> {
    let (gpu, mig) = machine.partitionable(index)?;
    let gi = gpu.existing(gi_id)?;
    let gi_profile = mig
        .by_id(gi.profile)
        .ok_or_else(|| Refusal::NoSuchProfile {
            gpu: index,
            profile: gi.profile,
            known: mig.profiles.iter().map(|p| p.id.0).collect(),
        })?;
    let profile = gi_profile
        .ci_by_id(profile)
        .ok_or_else(|| Refusal::NoSuchCiProfile {
            gpu: index,
            gi: gi_id,
            profile,
            known: gi_profile.compute.iter().map(|p| p.id.0).collect(),
        })?;
    if let Some(asked) = asked
        && !profile.placements().any(|place| place == asked)
    {
        return Err(Refusal::BadPlacement {
            profile: profile.name.clone(),
            asked,
            known: profile.starts.clone(),
            size: profile.slices,
        });
    }
    let existing = gi
        .compute
        .iter()
        .filter(|ci| ci.profile == profile.id)
        .count();
    if u32::try_from(existing).is_ok_and(|n| n >= profile.instances) {
        return Err(Refusal::InstanceLimit {
            profile: profile.name.clone(),
            limit: profile.instances,
        });
    }
    let fits = |place: &Placement| !gi.compute.iter().any(|ci| ci.placement.overlaps(*place));
    let placement = match asked {
        Some(place) => Some(place).filter(fits),
        None => profile.placements().find(fits),
    };
    let placement = placement.ok_or_else(|| Refusal::NoRoom {
        profile: profile.name.clone(),
        asked,
        taken: gi
            .compute
            .iter()
            .map(|ci| (ci.id.0, ci.placement))
            .collect(),
    })?;
    let id = CiId(lowest_free(gi.compute.iter().map(|ci| ci.id.0)));
    let chip = machine.spec(gpu).chip_id.unwrap_or(0);
    let syspipe = gi.placement.start + placement.start;
    let uuid = uuid::mig(chip, gpu.pdi, gi_id, syspipe);
    let profile = profile.id;
    let birth = machine.birth();
    let gpu = machine.gpu_mut(index)?;
    if let Some(gi) = gpu.instances.iter_mut().find(|gi| gi.id == gi_id) {
        let at = gi.compute.partition_point(|ci| ci.id < id);
        gi.compute.insert(
            at,
            ComputeInstance {
                id,
                profile,
                placement,
                uuid,
                birth,
            },
        );
    }
    machine.note(now, Scope::ci(index, gi_id, id), EventKind::MigConfig);
    Ok(Outcome::ComputeInstance {
        id,
        placement,
        uuid,
        birth,
    })
}

pub(super) fn destroy(
    machine: &mut Machine,
    index: GpuIndex,
    gi_id: GiId,
    id: CiId,
    now: Now,
    clients: &Clients,
) -> Result<Outcome, Refusal> {
    machine.partitionable(index)?;
    machine.check(Scope::ci(index, gi_id, id))?;
    machine.idle(Scope::ci(index, gi_id, id), now, clients)?;
    // Work without a process ends with the instance that it is on.
    machine.end_loads(now, |_, scope| scope == Scope::ci(index, gi_id, id))?;
    let gpu = machine.gpu_mut(index)?;
    if let Some(gi) = gpu.instances.iter_mut().find(|gi| gi.id == gi_id) {
        gi.compute.retain(|ci| ci.id != id);
    }
    machine.note(now, Scope::ci(index, gi_id, id), EventKind::MigConfig);
    Ok(Outcome::Done)
}
