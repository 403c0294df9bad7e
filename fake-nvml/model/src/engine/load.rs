//! Loads come and go.
//! Not here: what a load does to the values of a card (`telemetry`, `power`).
//! Each change first counts the energy up to now, so that the counter goes on from there.
use crate::{
    clients::{Client, Clients, Scope},
    ids::{GiId, GpuIndex},
    load::{Load, LoadId, NewLoad, Shape, Traffic},
    machine::{Gpu, Machine, MigMode},
    refusal::Refusal,
    spec::Spec,
    units::{MiB, Now, Percent},
};

impl Machine {
    /// The machine with a load more.
    ///
    /// # Errors
    /// A [`Refusal`]: what it is on is not there, is a whole card in MIG mode, or has not the memory.
    pub fn with_load(&self, load: NewLoad, now: Now) -> Result<(Machine, LoadId), Refusal> {
        let mut machine = self.at(now).into_owned();
        let index = load.scope.gpu;
        machine.check(load.scope)?;
        let (gpu, spec) = machine.usable(index)?;
        if load.scope.gi.is_none() && gpu.mig_current == MigMode::Enabled {
            return Err(Refusal::NeedsInstance { gpu: index });
        }
        reaches(spec, load.scope, &load.traffic)?;
        let since = load.since.unwrap_or(now);
        fits(spec, gpu, load.scope, load.memory, now)?;
        machine.settle(index, now)?;
        let id = LoadId(machine.next_load);
        machine.next_load += 1;
        let loads = &mut machine.gpu_mut(index)?.loads;
        loads.retain(|load| !load.over(now));
        loads.push(Load {
            id,
            gi: load.scope.gi,
            ci: load.scope.ci,
            process: load.process,
            memory: load.memory,
            shape: load.shape,
            traffic: load.traffic,
            since,
            until: load.until,
        });
        Ok((machine, id))
    }

    /// The machine without a load.
    ///
    /// # Errors
    /// [`Refusal::NoSuchLoad`].
    pub fn without_load(&self, id: LoadId, now: Now) -> Result<Machine, Refusal> {
        let all = || self.gpus.iter().flat_map(|gpu| &gpu.loads);
        if !all().any(|load| load.id == id) {
            return Err(Refusal::NoSuchLoad {
                load: id,
                known: all().map(|load| load.id).collect(),
            });
        }
        self.without_loads(now, |load, _| load.id == id)
    }

    /// The machine without these loads.
    ///
    /// # Errors
    /// None that is known; the type is that of the other changes.
    pub fn without_loads(
        &self,
        now: Now,
        which: impl Fn(&Load, Scope) -> bool,
    ) -> Result<Machine, Refusal> {
        let mut machine = self.at(now).into_owned();
        machine.end_loads(now, which)?;
        Ok(machine)
    }

    /// The machine without the loads of real processes that are no more among the open clients.
    #[must_use]
    pub fn without_ended(&self, now: Now, clients: &Clients) -> Machine {
        let mut machine = self.clone();
        match machine.tidy_loads(now, clients) {
            Ok(()) => machine,
            Err(_) => self.clone(),
        }
    }

    /// Whether real processes have loads here: then [`Machine::ended`] is worth asking.
    pub fn has_real_loads(&self) -> bool {
        self.gpus
            .iter()
            .any(|gpu| gpu.loads.iter().any(Load::is_real))
    }

    /// The loads of real processes that are no more among the open clients.
    pub fn ended<'a>(&'a self, clients: &'a Clients) -> impl Iterator<Item = LoadId> + 'a {
        self.gpus.iter().flat_map(move |gpu| {
            let gone = move |load: &&Load| is_gone(load, load.scope(gpu.index), clients);
            gpu.loads.iter().filter(gone).map(|load| load.id)
        })
    }

    pub(crate) fn end_loads(
        &mut self,
        now: Now,
        which: impl Fn(&Load, Scope) -> bool,
    ) -> Result<(), Refusal> {
        for index in 0..self.gpus.len() {
            let index = GpuIndex(u32::try_from(index).unwrap_or(u32::MAX));
            let gpu = self.gpu(index)?;
            if gpu.loads.iter().any(|load| which(load, load.scope(index))) {
                self.settle(index, now)?;
                let loads = &mut self.gpu_mut(index)?.loads;
                loads.retain(|load| !which(load, load.scope(index)));
            }
        }
        Ok(())
    }

    /// Ends the loads of real processes that have ended, and forgets those whose time is over.
    pub(crate) fn tidy_loads(&mut self, now: Now, clients: &Clients) -> Result<(), Refusal> {
        self.end_loads(now, |load, scope| {
            load.over(now) || is_gone(load, scope, clients)
        })
    }
}

impl Load {
    fn is_real(&self) -> bool {
        self.process.as_ref().is_some_and(|process| process.real)
    }
}

fn is_gone(load: &Load, scope: Scope, clients: &Clients) -> bool {
    let Some(process) = load.process.as_ref().filter(|process| process.real) else {
        return false;
    };
    let place = Client {
        scope,
        pid: process.pid,
    };
    !clients.all().contains(&place)
}

/// Whether the memory is there.
fn fits(spec: &Spec, gpu: &Gpu, scope: Scope, asked: MiB, now: Now) -> Result<(), Refusal> {
    let total = match scope.gi {
        None => spec
            .memory_total
            .0
            .saturating_sub(spec.memory_reserved.map_or(0, |reserved| reserved.0)),
        Some(gi) => gpu
            .gi(gi)
            .and_then(|gi| Some(spec.mig.as_ref()?.by_id(gi.profile)?.memory.0))
            .unwrap_or(0),
    };
    let held = gpu
        .loads
        .iter()
        .filter(|load| load.gi == scope.gi && !load.over(now));
    let held: u64 = held.map(|load| load.memory.0).sum();
    let free = total.saturating_sub(held);
    if asked.0 > free {
        return Err(Refusal::NoMemory {
            scope,
            asked,
            free: MiB(free),
            total: MiB(total),
        });
    }
    Ok(())
}

/// Whether the card has the links that a load wants to use. NVLink is of the whole card: in MIG mode it carries nothing.
fn reaches(spec: &Spec, scope: Scope, traffic: &Traffic) -> Result<(), Refusal> {
    let refused = |bus, has| Err(Refusal::NoSuchBus { scope, bus, has });
    match spec.nvlink.is_some() {
        false if !traffic.nvlink.is_none() => refused("NVLink", false),
        true if !traffic.nvlink.is_none() && scope.gi.is_some() => refused("NVLink", true),
        _ if !traffic.pcie.is_none() && spec.pcie.is_none() => refused("PCI Express", false),
        _ => Ok(()),
    }
}

/// The load without a process on a card or a GPU instance, as a new state.
pub(super) fn anonymous(
    machine: &mut Machine,
    index: GpuIndex,
    gi: Option<GiId>,
    compute: Percent,
    memory: MiB,
    now: Now,
) -> Result<(), Refusal> {
    let scope = Scope {
        gpu: index,
        gi,
        ci: None,
    };
    machine.check(scope)?;
    machine.settle(index, now)?;
    let id = LoadId(machine.next_load);
    machine.next_load += 1;
    let gpu = machine.gpu_mut(index)?;
    gpu.loads
        .retain(|load| !(load.gi == gi && load.ci.is_none() && load.process.is_none()));
    if compute.0 > 0 || memory.0 > 0 {
        let (gpu, spec) = machine.alive(index)?;
        fits(spec, gpu, scope, memory, now)?;
        machine.gpu_mut(index)?.loads.push(Load {
            id,
            gi,
            ci: None,
            process: None,
            memory,
            shape: Shape::constant(compute.0.min(100) * 100),
            traffic: Traffic::default(),
            since: now,
            until: None,
        });
    }
    Ok(())
}
