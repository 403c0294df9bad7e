//! Why an operation was refused: from what to what, and which code NVML answers.
//! Not here: problems of the state file (`gpu-store`).
//! Made by the engine and by queries; shown to people, mapped to `nvmlReturn_t` by [`Refusal::code`].
use crate::{
    clients::Scope,
    code::Code,
    ids::{CiId, GiId, GpuIndex, Pid, ProfileId},
    load::LoadId,
    spec::Placement,
    units::{MiB, MilliWatts, Slices},
};

/// A refused operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No such GPU.
    #[error("there is no GPU {gpu}: this machine has {count}, counted from 0")]
    NoSuchGpu {
        /// Asked for.
        gpu: GpuIndex,
        /// How many there are.
        count: usize,
    },
    /// The GPU fell off the bus.
    #[error(
        "GPU {gpu} is lost, it fell off the bus: on real hardware a reboot helps, here `fakegpu inject -i {gpu} found`"
    )]
    Lost {
        /// Which.
        gpu: GpuIndex,
    },
    /// The GPU is not there yet.
    #[error("GPU {gpu} is not there yet: wait for it, or `fakegpu inject -i {gpu} present`")]
    Absent {
        /// Which.
        gpu: GpuIndex,
    },
    /// The GPU must be reset first.
    #[error("GPU {gpu} must be reset before it can be used again: nvidia-smi -r -i {gpu}")]
    ResetRequired {
        /// Which.
        gpu: GpuIndex,
    },
    /// No such NVLink.
    #[error("GPU {gpu} has no NVLink {link}: it has {count}, counted from 0")]
    NoSuchLink {
        /// Which GPU.
        gpu: GpuIndex,
        /// Asked for.
        link: u32,
        /// How many there are.
        count: u32,
    },
    /// No memory left for a load.
    #[error(
        "{scope} has {free} of {total} free, a load of {asked} does not fit: ask for less, or end a load (fakegpu load list)"
    )]
    NoMemory {
        /// Where.
        scope: Scope,
        /// Asked for.
        asked: MiB,
        /// What is free.
        free: MiB,
        /// What there is.
        total: MiB,
    },
    /// Nothing moves over such a link there.
    #[error(
        "{scope} reaches nothing over {bus}{}",
        match *.has { true => ": instances of a card in MIG mode do not, leave it out", false => ": the card has none, leave it out" }
    )]
    NoSuchBus {
        /// Where.
        scope: Scope,
        /// What was to be used: `NVLink` or `PCI Express`.
        bus: &'static str,
        /// Whether the card has it.
        has: bool,
    },
    /// In MIG mode work runs on instances only.
    #[error(
        "MIG mode of GPU {gpu} is Enabled, so work runs on its instances: name one (--gi, --ci, or the UUID of a MIG device)"
    )]
    NeedsInstance {
        /// Which.
        gpu: GpuIndex,
    },
    /// No such load.
    #[error("there is no load {load}: {}", if .known.is_empty() { "there is none".to_owned() } else { format!("there are {}", list(.known)) })]
    NoSuchLoad {
        /// Asked for.
        load: LoadId,
        /// What there is.
        known: Vec<LoadId>,
    },
    /// The model has no MIG.
    #[error("GPU {gpu} ({model}) has no MIG: `fakegpu model list` names the models that have")]
    NoMig {
        /// Which.
        gpu: GpuIndex,
        /// Its model.
        model: String,
    },
    /// MIG mode is off.
    #[error("MIG mode of GPU {gpu} is Disabled{}: enable it first (nvidia-smi -i {gpu} -mig 1)", if *.pending { ", Enabled is pending: reset the GPU" } else { "" })]
    MigOff {
        /// Which.
        gpu: GpuIndex,
        /// Enabled is pending.
        pending: bool,
    },
    /// No such profile on this model.
    #[error("GPU {gpu} has no GPU instance profile {profile}: take one of {}", list(.known))]
    NoSuchProfile {
        /// Which.
        gpu: GpuIndex,
        /// Asked for.
        profile: ProfileId,
        /// What there is.
        known: Vec<u32>,
    },
    /// No such compute instance profile in this GPU instance.
    #[error(
        "GPU instance {gi} of GPU {gpu} has no compute instance profile {profile}: take one of {}", list(.known)
    )]
    NoSuchCiProfile {
        /// Which GPU.
        gpu: GpuIndex,
        /// Which GPU instance.
        gi: GiId,
        /// Asked for.
        profile: ProfileId,
        /// What there is.
        known: Vec<u32>,
    },
    /// The placement is none of the profile's.
    #[error("{profile} cannot lie at {asked}: it has size {size} and starts at {}", list(.known))]
    BadPlacement {
        /// Name of the profile.
        profile: String,
        /// Asked for.
        asked: Placement,
        /// The starts that it has.
        known: Vec<u32>,
        /// Their size.
        size: Slices,
    },
    /// Every suitable place is taken.
    #[error("no room for {profile}{}: destroy what is in the way, there are {}", .asked.map(|p| format!(" at {p}")).unwrap_or_default(), places(.taken))]
    NoRoom {
        /// Name of the profile.
        profile: String,
        /// The place that was asked for, if one was.
        asked: Option<Placement>,
        /// What lies there: (id, placement).
        taken: Vec<(u32, Placement)>,
    },
    /// As many instances of the profile as there can be.
    #[error("no further {profile}: {limit} of {limit} exist, destroy one first")]
    InstanceLimit {
        /// Name of the profile.
        profile: String,
        /// How many there can be.
        limit: u32,
    },
    /// Not enough compute slices.
    #[error(
        "no further {profile}: it needs {needs} compute slices and {free} are free, destroy an instance first"
    )]
    ComputeLimit {
        /// Name of the profile.
        profile: String,
        /// Needed.
        needs: Slices,
        /// Free.
        free: Slices,
    },
    /// Not enough engines of a kind.
    #[error(
        "no further {profile}: it needs {needs} of the card's {engine} and {free} are free, destroy an instance first"
    )]
    EngineLimit {
        /// Name of the profile.
        profile: String,
        /// Which kind.
        engine: &'static str,
        /// Needed.
        needs: u32,
        /// Free.
        free: u32,
    },
    /// No such GPU instance.
    #[error("GPU {gpu} has no GPU instance {gi}: {}", there(.known))]
    NoSuchGi {
        /// Which GPU.
        gpu: GpuIndex,
        /// Asked for.
        gi: GiId,
        /// Ids of those there are.
        known: Vec<u32>,
    },
    /// No such compute instance.
    #[error("GPU instance {gi} of GPU {gpu} has no compute instance {ci}: {}", there(.known))]
    NoSuchCi {
        /// Which GPU.
        gpu: GpuIndex,
        /// Which GPU instance.
        gi: GiId,
        /// Asked for.
        ci: CiId,
        /// Ids of those there are.
        known: Vec<u32>,
    },
    /// Compute instances are still there.
    #[error(
        "GPU instance {gi} of GPU {gpu} still has {count} compute instance(s): destroy them first"
    )]
    HasComputeInstances {
        /// Which GPU.
        gpu: GpuIndex,
        /// Which GPU instance.
        gi: GiId,
        /// How many.
        count: usize,
    },
    /// A process has it open.
    #[error("{scope} is open in process {pid} (as its own PID namespace counts): end it first")]
    Held {
        /// What is open.
        scope: Scope,
        /// In which process.
        pid: Pid,
    },
    /// The power limit lies outside of what the board takes.
    #[error("a power limit of {asked} lies outside of {min} to {max}")]
    BadPowerLimit {
        /// Asked for.
        asked: MilliWatts,
        /// Lowest.
        min: MilliWatts,
        /// Highest.
        max: MilliWatts,
    },
    /// Not on offer.
    #[error("GPU {gpu} does not take {what}")]
    BadChoice {
        /// Which GPU.
        gpu: GpuIndex,
        /// What was chosen.
        what: &'static str,
    },
    /// The model does not have this.
    #[error("GPU {gpu} does not support {what}")]
    NotSupported {
        /// Which.
        gpu: GpuIndex,
        /// What.
        what: &'static str,
    },
}

impl Refusal {
    /// What NVML answers.
    pub const fn code(&self) -> Code {
        match self {
            Self::NoSuchGpu { .. }
            | Self::NoSuchProfile { .. }
            | Self::NoSuchCiProfile { .. }
            | Self::BadPlacement { .. }
            | Self::BadChoice { .. }
            | Self::BadPowerLimit { .. }
            | Self::NoSuchLink { .. } => Code::InvalidArgument,
            Self::Lost { .. } => Code::GpuIsLost,
            Self::ResetRequired { .. } => Code::ResetRequired,
            Self::NoMemory { .. } => Code::Memory,
            Self::NoMig { .. }
            | Self::MigOff { .. }
            | Self::NotSupported { .. }
            | Self::NoSuchBus { .. }
            | Self::NeedsInstance { .. } => Code::NotSupported,
            Self::NoRoom { .. }
            | Self::InstanceLimit { .. }
            | Self::ComputeLimit { .. }
            | Self::EngineLimit { .. } => Code::InsufficientResources,
            Self::NoSuchGi { .. }
            | Self::NoSuchCi { .. }
            | Self::NoSuchLoad { .. }
            | Self::Absent { .. } => Code::NotFound,
            Self::HasComputeInstances { .. } | Self::Held { .. } => Code::InUse,
        }
    }
}

fn list<T: ToString>(things: &[T]) -> String {
    let words: Vec<String> = things.iter().map(ToString::to_string).collect();
    words.join(", ")
}

fn there(ids: &[u32]) -> String {
    match ids {
        [] => "it has none".to_owned(),
        ids => format!("it has {}", list(ids)),
    }
}

fn places(taken: &[(u32, Placement)]) -> String {
    let words: Vec<String> = taken
        .iter()
        .map(|(id, place)| format!("{id} at {place}"))
        .collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_what_is_there() {
        let refusal = Refusal::NoRoom {
            profile: "3g.20gb".to_owned(),
            asked: Some(Placement { start: 4, size: 4 }),
            taken: vec![
                (3, Placement { start: 0, size: 2 }),
                (13, Placement { start: 6, size: 1 }),
            ],
        };
        assert_eq!(
            refusal.to_string(),
            "no room for 3g.20gb at 4:4: destroy what is in the way, there are 3 at 0:2, 13 at 6:1"
        );
        let missing = |known| Refusal::NoSuchGi {
            gpu: GpuIndex(0),
            gi: GiId(5),
            known,
        };
        assert_eq!(
            missing(vec![9, 11]).to_string(),
            "GPU 0 has no GPU instance 5: it has 9, 11"
        );
        assert!(missing(Vec::new()).to_string().ends_with("it has none"));
    }
}
