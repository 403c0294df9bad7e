//! Cuts a card by the name of a profile, as whoever writes a layout down does.
//! Not here: the rules (`instances`, `compute`); ids and placements are for [`Machine::apply`].
//! In: a machine, a card, a name. Out: the next machine and the part, or what is in the way.
use crate::{
    clients::Scope,
    ids::GpuIndex,
    machine::Machine,
    op::{Op, Outcome},
    refusal::Refusal,
    units::Now,
};

/// Why a card cannot be cut so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{profile} on GPU {gpu}: {why}")]
pub struct CutError {
    /// The profile's name.
    pub profile: String,
    /// The card.
    pub gpu: GpuIndex,
    /// What is in the way.
    pub why: Obstacle,
}

/// What is in the way of a cut.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// No profile has the name.
    #[error("the card has no such profile, take one of {}", .known.join(", "))]
    NoSuchProfile {
        /// Names of those that there are.
        known: Vec<String>,
    },
    /// The model's facts have no compute instance of the GPU instance's size.
    #[error("no compute instance takes all of it")]
    NoWhole,
    /// What the card says.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The engine made something else.
    #[error("{0:?} is no instance")]
    Other(Outcome),
}

impl Machine {
    /// The machine with a MIG device more: a GPU instance of this profile, with one compute instance that has all of it.
    ///
    /// # Errors
    /// [`CutError`]; the machine is as it was.
    pub fn cut(&self, gpu: GpuIndex, profile: &str, now: Now) -> Result<(Self, Scope), CutError> {
        self.part(gpu, profile, true, now)
    }

    /// The machine with a GPU instance more that has no compute instance: nothing can run in it.
    ///
    /// # Errors
    /// [`CutError`]; the machine is as it was.
    pub fn cut_empty(
        &self,
        gpu: GpuIndex,
        profile: &str,
        now: Now,
    ) -> Result<(Self, Scope), CutError> {
        self.part(gpu, profile, false, now)
    }

    fn part(
        &self,
        gpu: GpuIndex,
        name: &str,
        filled: bool,
        now: Now,
    ) -> Result<(Self, Scope), CutError> {
        let part = || {
            let mig = self.mig_spec(self.gpu(gpu)?)?;
            let profile = mig.by_name(name).ok_or_else(|| Obstacle::NoSuchProfile {
                known: mig.profiles.iter().map(|p| p.name.clone()).collect(),
            })?;
            let create = Op::CreateGpuInstance {
                gpu,
                profile: profile.id,
                placement: None,
            };
            let (next, gi) = match self.apply(create, now)? {
                (next, Outcome::GpuInstance { id, .. }) => (next, id),
                (_, other) => return Err(Obstacle::Other(other)),
            };
            if !filled {
                return Ok((next, Scope::gi(gpu, gi)));
            }
            let create = Op::CreateComputeInstance {
                gpu,
                gi,
                profile: profile.full_compute().ok_or(Obstacle::NoWhole)?.id,
                placement: None,
            };
            match next.apply(create, now)? {
                (next, Outcome::ComputeInstance { id, .. }) => Ok((next, Scope::ci(gpu, gi, id))),
                (_, other) => Err(Obstacle::Other(other)),
            }
        };
        part().map_err(|why| CutError {
            profile: name.to_owned(),
            gpu,
            why,
        })
    }
}
