//! MIG mode and reset.
//! Not here: instances (`instances`, `compute`).
//! Rules: nvml.h (`nvmlDeviceSetMigMode`), MIG User Guide (Ampere needs a reset), open kernel modules (Hopper does not).
use crate::{
    clients::{Clients, Scope},
    code::Code,
    events::EventKind,
    health::{EccCounts, RecoveryAction},
    ids::GpuIndex,
    machine::{Machine, MigMode},
    op::{Op, Outcome},
    refusal::Refusal,
    spec::MigToggle,
    throttle::Throttle,
    units::Now,
};

pub(super) fn set(
    machine: &mut Machine,
    index: GpuIndex,
    mode: MigMode,
    now: Now,
    clients: &Clients,
) -> Result<Outcome, Refusal> {
    let (gpu, _) = machine.usable(index)?;
    let toggle = machine.mig_spec(gpu)?.toggle;
    let busy = !gpu.instances.is_empty() || machine.idle(Scope::gpu(index), now, clients).is_err();
    let resets_itself = gpu.quirks.resets_itself;
    let differs = gpu.mig_current != mode;
    let gpu = machine.gpu_mut(index)?;
    let activation = match toggle {
        _ if !differs => {
            gpu.mig_pending = mode;
            Code::Success
        }
        // Without a reset there is nothing that a pending mode could wait for: the mode stays as it is, and only the
        // activation status says so. A driver relies on SUCCESS here: it asks for Disabled while a sibling still runs.
        MigToggle::Immediate if busy => Code::InUse,
        MigToggle::Immediate => {
            gpu.mig_current = mode;
            gpu.mig_pending = mode;
            machine.note(now, Scope::gpu(index), EventKind::MigConfig);
            Code::Success
        }
        MigToggle::NeedsReset => {
            gpu.mig_pending = mode;
            if busy {
                Code::InUse
            } else if resets_itself {
                machine.run(Op::Reset { gpu: index }, now, clients)?;
                Code::Success
            } else {
                Code::ResetRequired
            }
        }
    };
    Ok(Outcome::MigMode { activation })
}

pub(super) fn reset(
    machine: &mut Machine,
    index: GpuIndex,
    now: Now,
    clients: &Clients,
) -> Result<Outcome, Refusal> {
    let (gpu, _) = machine.alive(index)?;
    machine.idle(Scope::gpu(index), now, clients)?;
    let had_instances = !gpu.instances.is_empty();
    machine.end_loads(now, |_, scope| scope.gpu == index)?;
    machine.settle(index, now)?;
    let gpu = machine.gpu_mut(index)?;
    let mode_changes = gpu.mig_current != gpu.mig_pending;
    gpu.instances.clear();
    gpu.chosen = gpu.chosen.after_reset();
    gpu.mig_current = gpu.mig_pending;
    gpu.ecc_current = gpu.ecc_pending;
    gpu.health.ecc_volatile = EccCounts::default();
    gpu.health.remaps.pending = false;
    gpu.health.recovery = RecoveryAction::None;
    gpu.health.reset_required = false;
    gpu.throttle(Throttle::default(), now);
    gpu.health.links_down = 0;
    if had_instances || mode_changes {
        machine.note(now, Scope::gpu(index), EventKind::MigConfig);
    }
    Ok(Outcome::Done)
}
