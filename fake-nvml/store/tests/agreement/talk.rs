//! What one process asks of the state file, as a line of text; and the process that does what such lines say.
//! Not here: what must come of it (`reference`).
use gpu_model::{
    CiId, GiId, GpuIndex, Machine, MigMode, Now, Op, Outcome, Placement, ProfileId, Refusal, Scope,
};
use gpu_store::{Hold, Store, UpdateError};
use std::time::SystemTime;

type Place = Option<(u32, u32)>;

/// One thing to ask.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ask {
    Mode {
        card: u32,
        on: bool,
    },
    Reset {
        card: u32,
    },
    CreateGi {
        card: u32,
        profile: u32,
        place: Place,
    },
    DestroyGi {
        card: u32,
        gi: u32,
    },
    CreateCi {
        card: u32,
        gi: u32,
        profile: u32,
        place: Place,
    },
    DestroyCi {
        card: u32,
        gi: u32,
        ci: u32,
    },
    Hold {
        card: u32,
        gi: Option<u32>,
        ci: Option<u32>,
    },
    /// Lets go of everything that the process holds.
    Drop,
}

/// Numbers of a line, `-` for none.
fn number(value: Option<u32>) -> String {
    value.map_or_else(|| "-".to_owned(), |n| n.to_string())
}

impl Ask {
    pub(crate) fn card(self) -> u32 {
        match self {
            Self::Mode { card, .. }
            | Self::Reset { card }
            | Self::CreateGi { card, .. }
            | Self::DestroyGi { card, .. }
            | Self::CreateCi { card, .. }
            | Self::DestroyCi { card, .. }
            | Self::Hold { card, .. } => card,
            Self::Drop => 0,
        }
    }

    pub(crate) fn line(self) -> String {
        let place = |place: Place| {
            format!(
                "{} {}",
                number(place.map(|p| p.0)),
                number(place.map(|p| p.1))
            )
        };
        match self {
            Self::Mode { card, on } => format!("mode {card} {}", u8::from(on)),
            Self::Reset { card } => format!("reset {card}"),
            Self::CreateGi {
                card,
                profile,
                place: at,
            } => {
                format!("cgi {card} {profile} {}", place(at))
            }
            Self::DestroyGi { card, gi } => format!("dgi {card} {gi}"),
            Self::CreateCi {
                card,
                gi,
                profile,
                place: at,
            } => {
                format!("cci {card} {gi} {profile} {}", place(at))
            }
            Self::DestroyCi { card, gi, ci } => format!("dci {card} {gi} {ci}"),
            Self::Hold { card, gi, ci } => format!("hold {card} {} {}", number(gi), number(ci)),
            Self::Drop => "drop".to_owned(),
        }
    }

    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let verb = words.next()?;
        let numbers: Vec<Option<u32>> = words.map(|word| word.parse().ok()).collect();
        let at = |i: usize| numbers.get(i).copied().flatten();
        let place = |i: usize| at(i).zip(at(i + 1));
        let card = at(0);
        Some(match verb {
            "mode" => Self::Mode {
                card: card?,
                on: at(1)? == 1,
            },
            "reset" => Self::Reset { card: card? },
            "cgi" => Self::CreateGi {
                card: card?,
                profile: at(1)?,
                place: place(2),
            },
            "dgi" => Self::DestroyGi {
                card: card?,
                gi: at(1)?,
            },
            "cci" => Self::CreateCi {
                card: card?,
                gi: at(1)?,
                profile: at(2)?,
                place: place(3),
            },
            "dci" => Self::DestroyCi {
                card: card?,
                gi: at(1)?,
                ci: at(2)?,
            },
            "hold" => Self::Hold {
                card: card?,
                gi: at(1),
                ci: at(2),
            },
            "drop" => Self::Drop,
            _ => return None,
        })
    }

    /// The operation on the machine; `None` for holds, which are the store's.
    fn op(self) -> Option<Op> {
        let gpu = GpuIndex(self.card());
        let at = |place: Place| place.map(|(start, size)| Placement { start, size });
        Some(match self {
            Self::Mode { on, .. } => Op::SetMigMode {
                gpu,
                mode: if on {
                    MigMode::Enabled
                } else {
                    MigMode::Disabled
                },
            },
            Self::Reset { .. } => Op::Reset { gpu },
            Self::CreateGi { profile, place, .. } => Op::CreateGpuInstance {
                gpu,
                profile: ProfileId(profile),
                placement: at(place),
            },
            Self::DestroyGi { gi, .. } => Op::DestroyGpuInstance { gpu, gi: GiId(gi) },
            Self::CreateCi {
                gi, profile, place, ..
            } => Op::CreateComputeInstance {
                gpu,
                gi: GiId(gi),
                profile: ProfileId(profile),
                placement: at(place),
            },
            Self::DestroyCi { gi, ci, .. } => Op::DestroyComputeInstance {
                gpu,
                gi: GiId(gi),
                ci: CiId(ci),
            },
            Self::Hold { .. } | Self::Drop => return None,
        })
    }
}

fn told(outcome: Result<Outcome, Refusal>) -> String {
    match outcome {
        Ok(Outcome::MigMode { activation }) => format!("mode {}", activation.raw()),
        Ok(Outcome::GpuInstance { id, placement, .. }) => format!("gi {id} {placement}"),
        Ok(Outcome::ComputeInstance { id, placement, .. }) => format!("ci {id} {placement}"),
        Ok(_) => "done".to_owned(),
        Err(refusal) => format!("code {}", refusal.code().raw()),
    }
}

/// Does it; answers the generation that it met, whether it changed the state, and what was told.
pub(crate) fn act(store: &Store, holds: &mut Vec<Hold>, ask: Ask) -> (u64, bool, String) {
    let Some(op) = ask.op() else {
        let Ask::Hold { card, gi, ci } = ask else {
            holds.clear();
            return (0, false, "done".to_owned());
        };
        let scope = Scope {
            gpu: GpuIndex(card),
            gi: gi.map(GiId),
            ci: ci.map(CiId),
        };
        return match store.hold(scope) {
            Ok(hold) => {
                holds.push(hold);
                (0, false, "done".to_owned())
            }
            Err(gpu_store::Error::NothingToHold { .. }) => (0, false, "nothing".to_owned()),
            Err(error) => panic!("{error}"),
        };
    };
    let now = Now::from(SystemTime::now());
    let mut met = 0;
    let mut changed = false;
    let outcome = store.update(|machine, clients| {
        met = store.generation();
        let (next, outcome) = machine.apply_among(op, now, clients)?;
        changed = next != *machine;
        Ok((next, outcome))
    });
    match outcome {
        Ok(outcome) => (met, changed, told(Ok(outcome))),
        Err(UpdateError::Refused(refusal)) => (met, false, told(Err(refusal))),
        Err(UpdateError::Store(error)) => panic!("{error}"),
    }
}

/// The whole state, and the MIG devices' UUIDs: (card, GPU instance, first slice on the card, UUID).
pub(crate) fn look(machine: &Machine) -> (String, Vec<(u32, u32, u32, String)>) {
    let mut text = String::new();
    let mut uuids = Vec::new();
    for gpu in &machine.gpus {
        let (on, pending) = (gpu.mig_current.raw(), gpu.mig_pending.raw());
        text += &format!("card {} {on} {pending}", gpu.index);
        for gi in &gpu.instances {
            text += &format!(" gi {} {} {}", gi.id, gi.profile, gi.placement);
            for ci in &gi.compute {
                text += &format!(" ci {} {} {}", ci.id, ci.profile, ci.placement);
                let slice = gi.placement.start * 16 + ci.placement.start;
                uuids.push((gpu.index.0, gi.id.0, slice, ci.uuid.to_string()));
            }
        }
        if let Ok(mig) = machine.mig_on(gpu) {
            for profile in &mig.profiles {
                let left = machine.remaining(gpu, profile).expect("MIG mode is on");
                text += &format!(" left {} {left}", profile.id);
            }
        }
        text += ";";
    }
    (text, uuids)
}
