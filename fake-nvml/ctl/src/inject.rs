//! `fakegpu inject`: changes from outside, through the one door that the driver's calls use too.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use gpu_model::{
    CardFault, CiId, Code, EccSite, GiId, GpuIndex, Injection, MiB, Micros, MigMode, Op, Outcome,
    Percent, PlanFile, RecoveryAction, Refusal, RowRemaps, Scope, SramCheck, SramSource, Throttle,
};
use gpu_store::Store;

use crate::error::Error;
use crate::{fault, state};

/// Arguments of `inject`.
#[derive(Debug, Args)]
pub(crate) struct Inject {
    /// A folder made by `create`, or a state file; without it, the machine that this process runs in.
    #[arg(long, value_name = "DIR|STATE")]
    state: Option<PathBuf>,
    /// Index of the GPU.
    #[arg(long, short = 'i', value_name = "INDEX", default_value_t = 0)]
    gpu: u32,
    /// So much later, by the machine's clock.
    #[arg(long = "in", value_name = "TIME")]
    later: Option<Micros>,
    /// Undo it after so much.
    #[arg(long = "for", value_name = "TIME")]
    lasts: Option<Micros>,
    /// Without what follows from it (Xid, recovery action).
    #[arg(long)]
    alone: bool,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// An Xid, on the GPU or on an instance of it.
    Xid {
        /// Its number (63, 79, 94 …).
        number: u32,
        /// GPU instance.
        #[arg(long)]
        gi: Option<u32>,
        /// Compute instance of that GPU instance.
        #[arg(long, requires = "gi")]
        ci: Option<u32>,
    },
    /// ECC errors.
    Ecc {
        /// How many were corrected.
        #[arg(long, default_value_t = 0)]
        corrected: u64,
        /// How many were not.
        #[arg(long, default_value_t = 0)]
        uncorrected: u64,
        /// GPU instance.
        #[arg(long)]
        gi: Option<u32>,
        /// In a memory of this part of the chip, not in the card's memory.
        #[arg(long, value_name = "SOURCE")]
        sram: Option<Source>,
        /// Those that were not corrected were found by parity, not by SEC-DED.
        #[arg(long, requires = "sram")]
        parity: bool,
    },
    /// Rows remapped, as a new state.
    Remaps {
        /// For corrected errors.
        #[arg(long, default_value_t = 0)]
        corrected: u32,
        /// For uncorrected errors.
        #[arg(long, default_value_t = 0)]
        uncorrected: u32,
        /// One waits for a reset.
        #[arg(long)]
        pending: bool,
        /// One has failed.
        #[arg(long)]
        failed: bool,
    },
    /// What the driver asks for.
    Recovery {
        /// Which action.
        action: Recovery,
    },
    /// The GPU falls off the bus.
    Lost,
    /// The GPU is back.
    Found,
    /// The GPU is not there: an init does not find it. With --for it appears late.
    Absent,
    /// The GPU is there.
    Present,
    /// The GPU must be reset before it can be used again.
    ResetRequired,
    /// Why clocks are held down, as a new state.
    Throttle {
        /// The reasons; none: not at all.
        #[arg(value_enum)]
        reasons: Vec<Reason>,
    },
    /// An NVLink goes down or comes up.
    Nvlink {
        /// Which, from 0.
        link: u32,
        /// Down or up.
        way: Way,
    },
    /// A fault of calls, behind those that are armed (`fakegpu fault show`, `fakegpu fault clear`).
    Call(CallFault),
    /// Load on the GPU, or on an instance, as a new state.
    Load {
        /// Percent of the time in which kernels run.
        #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
        compute: u32,
        /// MiB in use.
        #[arg(long, default_value_t = 0)]
        memory: u64,
        /// GPU instance.
        #[arg(long)]
        gi: Option<u32>,
    },
    /// MIG mode, as nvidia-smi -mig sets it.
    Mig {
        /// On or off.
        mode: Switch,
    },
    /// Resets the GPU, as nvidia-smi -r does.
    Reset,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Source {
    L2,
    Sm,
    Pcie,
    Microcontroller,
    Other,
}

impl From<Source> for SramSource {
    fn from(source: Source) -> Self {
        match source {
            Source::L2 => Self::L2,
            Source::Sm => Self::Sm,
            Source::Pcie => Self::Pcie,
            Source::Microcontroller => Self::Microcontroller,
            Source::Other => Self::Other,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Way {
    Down,
    Up,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Reason {
    PowerCap,
    HwSlowdown,
    SwThermal,
    HwThermal,
    PowerBrake,
}

/// A rule about calls.
#[derive(Debug, Args)]
struct CallFault {
    /// The function, as nvmlDeviceGetName; `*` stands for any text.
    function: String,
    /// Only calls about this GPU, GPU instance (GPU/GI) or compute instance (GPU/GI/CI).
    #[arg(long)]
    device: Option<String>,
    /// Only calls by this process: its name (with `*`) or its id.
    #[arg(long)]
    process: Option<String>,
    /// Only this one of the calls, from 1.
    #[arg(long, group = "when", value_parser = clap::value_parser!(u64).range(1..))]
    nth: Option<u64>,
    /// Only so many calls.
    #[arg(long, group = "when", value_parser = clap::value_parser!(u64).range(1..))]
    first: Option<u64>,
    /// Each n-th call.
    #[arg(long, group = "when", value_parser = clap::value_parser!(u64).range(1..))]
    every: Option<u64>,
    /// Each call with this chance, 0 to 1.
    #[arg(long, group = "when")]
    probability: Option<f64>,
    /// The call takes this much longer.
    #[arg(long)]
    latency: Option<Micros>,
    /// The call does nothing and returns this: GPU_IS_LOST, or 15.
    #[arg(long, group = "end")]
    error: Option<String>,
    /// The call does not come back until the faults are cleared.
    #[arg(long, group = "end")]
    hang: bool,
    /// The process dies inside the call.
    #[arg(long, group = "end")]
    kill: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Recovery {
    None,
    GpuReset,
    NodeReboot,
    DrainP2p,
    DrainAndReset,
}

impl Inject {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let store = state::open(self.state.as_deref())?;
        let gpu = GpuIndex(self.gpu);
        match &self.what {
            What::Call(call) => {
                let yaml = call.yaml(self.later, self.lasts);
                let plan = PlanFile::read(&yaml, Some(&store.current()?.machine));
                // One rule, written by us: the first problem is the only one, and its place is an option here.
                let plan = plan.map_err(|problems| {
                    let first = problems.into_iter().next();
                    Error::Option {
                        option: "inject call",
                        problem: first
                            .map_or_else(String::new, |it| format!("{}: {}", it.message, it.help)),
                    }
                })?;
                for rule in &plan.rules {
                    fault::add(&store, rule)?;
                }
                println!("armed");
                Ok(())
            }
            What::Mig { mode } => {
                let mode = match mode {
                    Switch::On => MigMode::Enabled,
                    Switch::Off => MigMode::Disabled,
                };
                done(gpu, store.apply(Op::SetMigMode { gpu, mode })?);
                Ok(())
            }
            What::Reset => {
                done(gpu, store.apply(Op::Reset { gpu })?);
                Ok(())
            }
            what => self.fault(&store, gpu, what.injection(), what.scope(gpu)),
        }
    }

    fn fault(
        &self,
        store: &Store,
        gpu: GpuIndex,
        what: Injection,
        scope: Scope,
    ) -> Result<(), Error> {
        if self.lasts.is_some() && what.undone().is_none() {
            return Err(Error::Event);
        }
        let fault = CardFault {
            gpu,
            at: self.later.unwrap_or_default(),
            lasts: self.lasts,
            what,
            alone: self.alone,
        };
        let real = store.real();
        let events = store.update(|machine, _| {
            // The model takes an Xid of an instance that is gone; whoever types one that never was should hear of it.
            machine.check(scope)?;
            let next = machine.with_card_fault(&fault, machine.now(real))?;
            let events = next.events.last_seq() - machine.events.last_seq();
            let last = next.events.last_seq();
            Ok::<_, Refusal>((next, (events, last)))
        })?;
        match events {
            _ if self.later.is_some_and(|later| later.0 > 0) => println!("to come"),
            (0, _) => println!("done"),
            (_, last) => println!("event {last}"),
        }
        Ok(())
    }
}

fn done(gpu: GpuIndex, outcome: Outcome) {
    match outcome {
        Outcome::MigMode {
            activation: Code::ResetRequired,
        } => println!("pending until a reset (fakegpu inject -i {gpu} reset)"),
        Outcome::MigMode { activation } if activation != Code::Success => {
            println!(
                "not in force: {} (instances, or programs)",
                activation.text()
            );
        }
        _ => println!("done"),
    }
}

impl CallFault {
    /// The same as a plan: one reader, one set of messages.
    fn yaml(&self, later: Option<Micros>, lasts: Option<Micros>) -> String {
        let mut fields = vec![format!("function: {}", quoted(&self.function))];
        let mut put = |name: &str, value: Option<String>| {
            fields.extend(value.map(|value| format!("{name}: {value}")));
        };
        // A number is a number: a process id, an index, a code.
        let plain = |text: &String| match text.parse::<u32>() {
            Ok(number) => number.to_string(),
            Err(_) => quoted(text),
        };
        put("device", self.device.as_ref().map(plain));
        put("process", self.process.as_ref().map(plain));
        put("nth", self.nth.map(|it| it.to_string()));
        put("first", self.first.map(|it| it.to_string()));
        put("every", self.every.map(|it| it.to_string()));
        put("probability", self.probability.map(|it| it.to_string()));
        put("latency", self.latency.map(|it| it.to_string()));
        put("error", self.error.as_ref().map(plain));
        put("hang", self.hang.then(|| "true".to_owned()));
        put("kill", self.kill.then(|| "true".to_owned()));
        put("from", later.map(|it| it.to_string()));
        let until = lasts.map(|it| Micros(later.unwrap_or_default().0.saturating_add(it.0)));
        put("until", until.map(|it| it.to_string()));
        format!("format: 1\ncalls:\n  - {{{}}}\n", fields.join(", "))
    }
}

/// As YAML's double quotes have it, which take JSON's escapes.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl What {
    /// What it is about.
    fn scope(&self, gpu: GpuIndex) -> Scope {
        let (gi, ci) = match *self {
            Self::Xid { gi, ci, .. } => (gi, ci),
            Self::Ecc { gi, .. } | Self::Load { gi, .. } => (gi, None),
            _ => (None, None),
        };
        Scope {
            gpu,
            gi: gi.map(GiId),
            ci: ci.map(CiId),
        }
    }

    fn injection(&self) -> Injection {
        match *self {
            Self::Xid { number, gi, ci } => Injection::Xid {
                xid: number,
                gi: gi.map(GiId),
                ci: ci.map(CiId),
            },
            Self::Ecc {
                corrected,
                uncorrected,
                gi,
                sram,
                parity,
            } => Injection::Ecc {
                corrected,
                uncorrected,
                gi: gi.map(GiId),
                site: sram.map_or(EccSite::Memory, |source| EccSite::Sram {
                    source: source.into(),
                    check: if parity {
                        SramCheck::Parity
                    } else {
                        SramCheck::SecDed
                    },
                }),
            },
            Self::Remaps {
                corrected,
                uncorrected,
                pending,
                failed,
            } => Injection::Remaps(RowRemaps {
                corrected,
                uncorrected,
                pending,
                failed,
            }),
            Self::Recovery { action } => Injection::Recovery(match action {
                Recovery::None => RecoveryAction::None,
                Recovery::GpuReset => RecoveryAction::GpuReset,
                Recovery::NodeReboot => RecoveryAction::NodeReboot,
                Recovery::DrainP2p => RecoveryAction::DrainP2p,
                Recovery::DrainAndReset => RecoveryAction::DrainAndReset,
            }),
            Self::Lost => Injection::Lost(true),
            Self::Absent => Injection::Absent(true),
            Self::Present => Injection::Absent(false),
            Self::ResetRequired => Injection::ResetRequired(true),
            Self::Throttle { ref reasons } => {
                let bits = reasons.iter().map(|reason| match reason {
                    Reason::PowerCap => Throttle::POWER_CAP,
                    Reason::HwSlowdown => Throttle::HW_SLOWDOWN,
                    Reason::SwThermal => Throttle::SW_THERMAL,
                    Reason::HwThermal => Throttle::HW_THERMAL,
                    Reason::PowerBrake => Throttle::POWER_BRAKE,
                });
                Injection::Throttle(bits.fold(Throttle::default(), Throttle::with))
            }
            Self::Nvlink { link, way } => Injection::NvLink {
                link,
                up: matches!(way, Way::Up),
            },
            // The other three are no faults of a card and do not come here: what is there stays.
            Self::Found | Self::Mig { .. } | Self::Reset | Self::Call(_) => Injection::Lost(false),
            Self::Load {
                compute,
                memory,
                gi,
            } => Injection::Load {
                gi: gi.map(GiId),
                compute: Percent(compute),
                memory: MiB(memory),
            },
        }
    }
}
