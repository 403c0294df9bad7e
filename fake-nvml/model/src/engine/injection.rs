//! Faults of a card that are put in place from outside.
//! Not here: faults of calls (`fault`), loads with a process (`load`).
//! Ours, not NVML's; what follows from what is said at each line.
use super::load;
use crate::{
    clients::Scope,
    events::EventKind,
    ids::GpuIndex,
    machine::Machine,
    op::{Injection, Outcome},
    refusal::Refusal,
    schedule::Scheduled,
    units::Now,
};

/// Refused now if it could not be done now: a fault that comes later must not fail in silence.
pub(super) fn schedule(
    machine: &mut Machine,
    gpu: GpuIndex,
    at: Now,
    what: Injection,
    now: Now,
) -> Result<Outcome, Refusal> {
    machine.clone().inject(gpu, what, now)?;
    machine.schedule(Scheduled { at, gpu, what });
    machine.happen(now);
    Ok(Outcome::Done)
}

impl Machine {
    /// The machine with a fault put in place at a time (now, if that has come), with what follows from it, and undone some time
    /// later if `lasts` says so.
    ///
    /// # Errors
    /// A [`Refusal`]: the GPU or what is meant on it is not there.
    pub fn with_fault(
        &self,
        gpu: GpuIndex,
        faults: &[Injection],
        at: Now,
        lasts: Option<u64>,
        now: Now,
    ) -> Result<Machine, Refusal> {
        let mut machine = self.at(now).into_owned();
        for &what in faults {
            schedule(&mut machine, gpu, at, what, now)?;
        }
        if let Some(micros) = lasts {
            let end = Now(at.0.max(now.0).saturating_add(micros));
            for what in faults.iter().rev().filter_map(|what| what.undone()) {
                schedule(&mut machine, gpu, end, what, now)?;
            }
        }
        Ok(machine)
    }

    /// Only ever called on a copy: a refusal may leave `self` half changed.
    pub(crate) fn inject(
        &mut self,
        index: GpuIndex,
        what: Injection,
        now: Now,
    ) -> Result<Outcome, Refusal> {
        let seq = match what {
            Injection::Xid { xid, gi, ci } => {
                // The instance need not be there any more: on hardware too an Xid can come late.
                let scope = Scope { gpu: index, gi, ci };
                self.gpu_mut(index)?.health.last_xid = Some(xid);
                self.note(now, scope, EventKind::Xid(xid))
            }
            Injection::Ecc {
                corrected,
                uncorrected,
                gi,
                site,
            } => {
                let scope = Scope {
                    gpu: index,
                    gi,
                    ci: None,
                };
                let health = &mut self.gpu_mut(index)?.health;
                for counts in [&mut health.ecc_volatile, &mut health.ecc_aggregate] {
                    counts.add(corrected, uncorrected, site);
                }
                let mut seq = self.events.last_seq();
                if corrected > 0 {
                    seq = self.note(now, scope, EventKind::SingleBitEcc);
                }
                if uncorrected > 0 {
                    seq = self.note(now, scope, EventKind::DoubleBitEcc);
                }
                seq
            }
            Injection::Remaps(remaps) => {
                self.gpu_mut(index)?.health.remaps = remaps;
                return Ok(Outcome::Done);
            }
            Injection::Recovery(action) => {
                self.gpu_mut(index)?.health.recovery = action;
                self.note(now, Scope::gpu(index), EventKind::Recovery)
            }
            Injection::Lost(lost) => {
                self.gpu_mut(index)?.health.lost = lost;
                if !lost {
                    return Ok(Outcome::Done);
                }
                self.note(now, Scope::gpu(index), EventKind::Unavailable)
            }
            Injection::Absent(absent) => {
                self.gpu_mut(index)?.health.absent = absent;
                return Ok(Outcome::Done);
            }
            Injection::ResetRequired(required) => {
                self.gpu_mut(index)?.health.reset_required = required;
                return Ok(Outcome::Done);
            }
            Injection::Throttle(reasons) => {
                self.gpu_mut(index)?.throttle(reasons, now);
                self.note(now, Scope::gpu(index), EventKind::Clock)
            }
            Injection::NvLink { link, up } => {
                let gpu = self.gpu(index)?;
                let count = self.spec(gpu).nvlink.as_ref().map_or(0, |it| it.links);
                if link >= count.min(u32::BITS) {
                    return Err(Refusal::NoSuchLink {
                        gpu: index,
                        link,
                        count,
                    });
                }
                // What goes over which link depends on it.
                self.settle(index, now)?;
                let down = &mut self.gpu_mut(index)?.health.links_down;
                *down = if up {
                    *down & !(1 << link)
                } else {
                    *down | 1 << link
                };
                return Ok(Outcome::Done);
            }
            Injection::Load {
                gi,
                compute,
                memory,
            } => {
                load::anonymous(self, index, gi, compute, memory, now)?;
                return Ok(Outcome::Done);
            }
            Injection::Quirks(quirks) => {
                self.gpu_mut(index)?.quirks = quirks;
                return Ok(Outcome::Done);
            }
        };
        Ok(Outcome::Event { seq })
    }
}
