//! Plain settings, and what is put in place from outside (faults, load).
//! Not here: MIG (`mode`, `instances`, `compute`).
//! Rules: nvml.h; injections are ours.
use crate::{
    clients::Scope,
    events::EventKind,
    health::{EccCounts, Load},
    ids::GpuIndex,
    machine::{Gpu, Machine},
    op::{Injection, Outcome},
    refusal::Refusal,
    spec::Spec,
    telemetry,
    units::{MilliWatts, Now, Percent},
};

pub(super) fn set(
    machine: &mut Machine,
    index: GpuIndex,
    change: impl FnOnce(&mut Gpu, &Spec) -> Result<(), Refusal>,
) -> Result<Outcome, Refusal> {
    let (_, spec) = machine.alive(index)?;
    let spec = spec.clone();
    change(machine.gpu_mut(index)?, &spec)?;
    Ok(Outcome::Done)
}

pub(super) fn power_limit(
    gpu: &mut Gpu,
    spec: &Spec,
    limit: Option<MilliWatts>,
) -> Result<(), Refusal> {
    let range = spec.power.ok_or(Refusal::NotSupported {
        gpu: gpu.index,
        what: "power limits",
    })?;
    if let Some(asked) = limit
        && !(range.min..=range.max).contains(&asked)
    {
        return Err(Refusal::BadPowerLimit {
            asked,
            min: range.min,
            max: range.max,
        });
    }
    gpu.power_limit = limit;
    Ok(())
}

pub(super) fn ecc(gpu: &mut Gpu, spec: &Spec, on: bool) -> Result<(), Refusal> {
    if spec.ecc.is_none() {
        return Err(Refusal::NotSupported {
            gpu: gpu.index,
            what: "ECC",
        });
    }
    gpu.ecc_pending = on;
    Ok(())
}

pub(super) fn inject(
    machine: &mut Machine,
    index: GpuIndex,
    what: Injection,
    now: Now,
) -> Result<Outcome, Refusal> {
    let seq = match what {
        Injection::Xid { xid, gi, ci } => {
            // The instance need not be there any more: on hardware too an Xid can come late.
            let scope = Scope { gpu: index, gi, ci };
            machine.gpu_mut(index)?.health.last_xid = Some(xid);
            machine.note(now, scope, EventKind::Xid(xid))
        }
        Injection::Ecc {
            corrected,
            uncorrected,
            gi,
        } => {
            let scope = Scope {
                gpu: index,
                gi,
                ci: None,
            };
            let gpu = machine.gpu_mut(index)?;
            let add = |counts: &mut EccCounts| {
                counts.corrected = counts.corrected.saturating_add(corrected);
                counts.uncorrected = counts.uncorrected.saturating_add(uncorrected);
            };
            add(&mut gpu.health.ecc_volatile);
            add(&mut gpu.health.ecc_aggregate);
            let mut seq = machine.events.last_seq();
            if corrected > 0 {
                seq = machine.note(now, scope, EventKind::SingleBitEcc);
            }
            if uncorrected > 0 {
                seq = machine.note(now, scope, EventKind::DoubleBitEcc);
            }
            seq
        }
        Injection::Remaps(remaps) => {
            machine.gpu_mut(index)?.health.remaps = remaps;
            return Ok(Outcome::Done);
        }
        Injection::Recovery(action) => {
            machine.gpu_mut(index)?.health.recovery = action;
            machine.note(now, Scope::gpu(index), EventKind::Recovery)
        }
        Injection::Lost(lost) => {
            machine.gpu_mut(index)?.health.lost = lost;
            if !lost {
                return Ok(Outcome::Done);
            }
            machine.note(now, Scope::gpu(index), EventKind::Unavailable)
        }
        Injection::Load {
            gi,
            compute,
            memory,
        } => {
            machine.check(Scope {
                gpu: index,
                gi,
                ci: None,
            })?;
            let gpu = machine.gpu(index)?;
            let energy = telemetry::energy(machine.spec(gpu), gpu, now);
            let Gpu {
                load: card,
                instances,
                ..
            } = machine.gpu_mut(index)?;
            card.energy = energy;
            card.since = now;
            let load = instances
                .iter_mut()
                .find(|it| Some(it.id) == gi)
                .map_or(card, |it| &mut it.load);
            *load = Load {
                compute: Percent(compute.0.min(100)),
                memory,
                since: now,
                energy: load.energy,
            };
            return Ok(Outcome::Done);
        }
        Injection::Quirks(quirks) => {
            machine.gpu_mut(index)?.quirks = quirks;
            return Ok(Outcome::Done);
        }
    };
    Ok(Outcome::Event { seq })
}
