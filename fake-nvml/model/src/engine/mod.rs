//! The engine: what an operation makes of a machine.
//! Not here: questions that change nothing (`query`), where the state is kept (`gpu-store`).
//! In: a machine, an operation, the time, the open clients. Out: the next machine and the outcome, or a refusal.
mod compute;
mod cut;
mod injection;
mod instances;
mod load;
mod mode;
mod reboot;
mod settings;
mod time;

#[cfg(test)]
mod tests;

use crate::{
    clients::{Clients, Scope},
    events::EventKind,
    ids::{Birth, GpuIndex},
    machine::{Gpu, Machine},
    op::{Op, Outcome},
    power,
    refusal::Refusal,
    spec::{MigSpec, Spec},
    units::Now,
};

pub use cut::{CutError, Obstacle};
pub use time::ClockChange;

impl Machine {
    /// Applies an operation while nobody has anything open.
    ///
    /// # Errors
    /// A [`Refusal`] says why not; the machine is as it was.
    pub fn apply(&self, op: Op, now: Now) -> Result<(Machine, Outcome), Refusal> {
        self.apply_among(op, now, &Clients::none())
    }

    /// Applies an operation while `clients` have things open.
    ///
    /// # Errors
    /// A [`Refusal`] says why not; the machine is as it was.
    pub fn apply_among(
        &self,
        op: Op,
        now: Now,
        clients: &Clients,
    ) -> Result<(Machine, Outcome), Refusal> {
        let mut next = self.clone();
        next.happen(now);
        next.tidy_loads(now, clients)?;
        let outcome = next.run(op, now, clients)?;
        Ok((next, outcome))
    }

    /// Only ever called on a copy: a refusal may leave `self` half changed.
    fn run(&mut self, op: Op, now: Now, clients: &Clients) -> Result<Outcome, Refusal> {
        match op {
            Op::SetMigMode { gpu, mode } => mode::set(self, gpu, mode, now, clients),
            Op::Reset { gpu } => mode::reset(self, gpu, now, clients),
            Op::CreateGpuInstance {
                gpu,
                profile,
                placement,
            } => instances::create(self, gpu, profile, placement, now),
            Op::DestroyGpuInstance { gpu, gi } => instances::destroy(self, gpu, gi, now, clients),
            Op::CreateComputeInstance {
                gpu,
                gi,
                profile,
                placement,
            } => compute::create(self, gpu, gi, profile, placement, now),
            Op::DestroyComputeInstance { gpu, gi, ci } => {
                compute::destroy(self, gpu, gi, ci, now, clients)
            }
            Op::SetPersistence { gpu, on } => settings::set(self, gpu, |gpu, _| {
                gpu.persistence = on;
                Ok(())
            }),
            Op::SetComputeMode { gpu, mode } => settings::set(self, gpu, |gpu, _| {
                gpu.compute_mode = mode;
                Ok(())
            }),
            Op::SetTimeslice { gpu, timeslice } => settings::set(self, gpu, |gpu, _| {
                gpu.timeslice = timeslice;
                Ok(())
            }),
            Op::SetPowerLimit { gpu, limit } => settings::set(self, gpu, |gpu, spec| {
                settings::power_limit(gpu, spec, limit, now)
            }),
            Op::SetEcc { gpu, on } => {
                settings::set(self, gpu, |gpu, spec| settings::ecc(gpu, spec, on))
            }
            Op::Choose { gpu, choice } => {
                settings::set(self, gpu, |gpu, spec| gpu.choose(spec, choice, now))
            }
            Op::ClearEcc { gpu, aggregate } => settings::set(self, gpu, |gpu, spec| {
                settings::clear_ecc(gpu, spec, aggregate)
            }),
            Op::Inject { gpu, what } => self.inject(gpu, what, now),
            Op::Schedule { gpu, at, what } => injection::schedule(self, gpu, at, what, now),
        }
    }

    /// The GPU, if it is there and not lost.
    fn alive(&self, index: GpuIndex) -> Result<(&Gpu, &Spec), Refusal> {
        let gpu = self.gpu(index)?;
        if gpu.health.lost {
            return Err(Refusal::Lost { gpu: index });
        }
        if gpu.health.absent {
            return Err(Refusal::Absent { gpu: index });
        }
        Ok((gpu, self.spec(gpu)))
    }

    /// The GPU, if it needs no reset before it can be used.
    fn usable(&self, index: GpuIndex) -> Result<(&Gpu, &Spec), Refusal> {
        let (gpu, spec) = self.alive(index)?;
        if gpu.health.reset_required {
            return Err(Refusal::ResetRequired { gpu: index });
        }
        Ok((gpu, spec))
    }

    /// Refused if a process works on this or a part of it: one that has it open, or one whose load runs.
    fn idle(&self, scope: Scope, now: Now, clients: &Clients) -> Result<(), Refusal> {
        let gpu = self.gpu(scope.gpu)?;
        let open = clients.within(scope).map(|it| (it.scope, it.pid)).next();
        let works = || {
            gpu.running(now)
                .filter(|load| scope.covers(&load.scope(scope.gpu)))
                .find_map(|load| Some((load.scope(scope.gpu), load.process.as_ref()?.pid)))
        };
        match open.or_else(works) {
            Some((scope, pid)) => Err(Refusal::Held { scope, pid }),
            None => Ok(()),
        }
    }

    /// Counts the energy and the traffic of a GPU up to `now`, before something changes that they follow from.
    fn settle(&mut self, index: GpuIndex, now: Now) -> Result<(), Refusal> {
        let spec = self.spec(self.gpu(index)?).clone();
        let gpu = self.gpu_mut(index)?;
        power::settle(&spec, gpu, now, now);
        gpu.settle_moved(&spec, now, now);
        Ok(())
    }

    /// The GPU and its partitioning, if MIG mode is on.
    fn partitionable(&self, index: GpuIndex) -> Result<(&Gpu, &MigSpec), Refusal> {
        let (gpu, _) = self.usable(index)?;
        let mig = self.mig_on(gpu)?;
        Ok((gpu, mig))
    }

    fn gpu_mut(&mut self, index: GpuIndex) -> Result<&mut Gpu, Refusal> {
        let count = self.gpus.len();
        usize::try_from(index.0)
            .ok()
            .and_then(|i| self.gpus.get_mut(i))
            .ok_or(Refusal::NoSuchGpu { gpu: index, count })
    }

    fn birth(&mut self) -> Birth {
        let birth = Birth(self.next_birth);
        self.next_birth += 1;
        birth
    }

    fn note(&mut self, now: Now, scope: Scope, kind: EventKind) -> u64 {
        self.events.push(now, scope.gpu, scope.gi, scope.ci, kind)
    }
}

/// The lowest number that is not in `taken` (ascending).
fn lowest_free(taken: impl Iterator<Item = u32>) -> u32 {
    taken.fold(0, |free, id| if id == free { free + 1 } else { free })
}
