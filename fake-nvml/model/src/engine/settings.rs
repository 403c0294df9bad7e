//! Plain settings.
//! Not here: MIG (`mode`, `instances`, `compute`), what is put in place from outside (`injection`, `load`).
//! Rules: nvml.h.
use crate::{
    ids::GpuIndex,
    machine::{Gpu, Machine},
    op::Outcome,
    power,
    refusal::Refusal,
    spec::Spec,
    units::{MilliWatts, Now},
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
    now: Now,
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
    if gpu.power_limit != limit {
        power::settle(spec, gpu, now, now);
        gpu.power_limit = limit;
    }
    Ok(())
}

pub(super) fn clear_ecc(gpu: &mut Gpu, spec: &Spec, aggregate: bool) -> Result<(), Refusal> {
    if spec.ecc.is_none() || !gpu.ecc_current {
        return Err(Refusal::NotSupported {
            gpu: gpu.index,
            what: "counters of ECC errors",
        });
    }
    if aggregate {
        gpu.health.ecc_aggregate = crate::EccCounts::default();
    } else {
        gpu.health.ecc_volatile = crate::EccCounts::default();
    }
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
