//! Tests of the engine over the built-in models.
//! Not here: tests of the catalogue itself.
//! `Bench` drives one machine and keeps its state.
#![allow(clippy::unwrap_used)] // tests stop at the first surprise

mod captures;
mod cut;
mod faults;
mod layouts;
mod lifecycle;
mod loads;
mod modes;
mod random;

use crate::*;

pub(super) const GPU: GpuIndex = GpuIndex(0);

/// A machine under test.
pub(super) struct Bench {
    pub(super) machine: Machine,
    pub(super) clock: u64,
}

pub(super) fn machine(cards: &[(&str, usize)], options: &Options) -> Machine {
    let catalog = Catalog::builtin();
    let cards: Vec<(&Model, usize)> = cards
        .iter()
        .map(|(name, n)| (catalog.model(name).unwrap(), *n))
        .collect();
    Machine::build(&cards, options)
}

impl Bench {
    /// One card with MIG mode on.
    pub(super) fn new(model: &str) -> Self {
        Self::with(
            model,
            Options {
                mig: true,
                ..Options::default()
            },
        )
    }

    pub(super) fn with(model: &str, options: Options) -> Self {
        Self {
            machine: machine(&[(model, 1)], &options),
            clock: 1_000_000,
        }
    }

    pub(super) fn flipped(model: &str) -> Self {
        let quirks = Quirks {
            flipped_ids: true,
            ..Quirks::default()
        };
        Self::with(
            model,
            Options {
                mig: true,
                quirks,
                ..Options::default()
            },
        )
    }

    pub(super) fn run(&mut self, op: Op) -> Result<Outcome, Refusal> {
        self.among(op, &Clients::none())
    }

    pub(super) fn among(&mut self, op: Op, clients: &Clients) -> Result<Outcome, Refusal> {
        self.clock += 1_000_000;
        let (next, outcome) = self.machine.apply_among(op, Now(self.clock), clients)?;
        self.machine = next;
        Ok(outcome)
    }

    /// `nvidia-smi mig -cgi PROFILE`: the id, or the code.
    pub(super) fn cgi(&mut self, profile: u32) -> Result<u32, Code> {
        self.cgi_at(profile, None)
    }

    pub(super) fn cgi_at(&mut self, profile: u32, at: Option<(u32, u32)>) -> Result<u32, Code> {
        let placement = at.map(|(start, size)| Placement { start, size });
        let op = Op::CreateGpuInstance {
            gpu: GPU,
            profile: ProfileId(profile),
            placement,
        };
        match self.run(op) {
            Ok(Outcome::GpuInstance { id, .. }) => Ok(id.0),
            Ok(other) => panic!("{other:?}"),
            Err(refusal) => Err(refusal.code()),
        }
    }

    pub(super) fn cci(&mut self, gi: u32, profile: u32) -> Result<(u32, Placement, MigUuid), Code> {
        let op = Op::CreateComputeInstance {
            gpu: GPU,
            gi: GiId(gi),
            profile: ProfileId(profile),
            placement: None,
        };
        match self.run(op) {
            Ok(Outcome::ComputeInstance {
                id,
                placement,
                uuid,
                ..
            }) => Ok((id.0, placement, uuid)),
            Ok(other) => panic!("{other:?}"),
            Err(refusal) => Err(refusal.code()),
        }
    }

    pub(super) fn dgi(&mut self, gi: u32) -> Result<Outcome, Code> {
        self.run(Op::DestroyGpuInstance {
            gpu: GPU,
            gi: GiId(gi),
        })
        .map_err(|r| r.code())
    }

    pub(super) fn dci(&mut self, gi: u32, ci: u32) -> Result<Outcome, Code> {
        let op = Op::DestroyComputeInstance {
            gpu: GPU,
            gi: GiId(gi),
            ci: CiId(ci),
        };
        self.run(op).map_err(|r| r.code())
    }

    pub(super) fn gpu(&self) -> &Gpu {
        self.machine.gpu(GPU).unwrap()
    }

    pub(super) fn mode(&mut self, mode: MigMode) -> Result<Code, Code> {
        match self.run(Op::SetMigMode { gpu: GPU, mode }) {
            Ok(Outcome::MigMode { activation }) => Ok(activation),
            Ok(other) => panic!("{other:?}"),
            Err(refusal) => Err(refusal.code()),
        }
    }
}
