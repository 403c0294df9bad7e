//! `fakegpu inject`: changes from outside, through the one door that the driver's calls use too.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use gpu_model::{
    CiId, Code, GiId, GpuIndex, Injection, MiB, MigMode, Op, Outcome, Percent, RecoveryAction,
    RowRemaps, Scope,
};

use crate::error::Error;
use crate::state;

/// Arguments of `inject`.
#[derive(Debug, Args)]
pub(crate) struct Inject {
    /// A folder made by `create`, or a state file; without it, the machine that this process runs in.
    #[arg(long, value_name = "DIR|STATE")]
    state: Option<PathBuf>,
    /// Index of the GPU.
    #[arg(long, short = 'i', value_name = "INDEX", default_value_t = 0)]
    gpu: u32,
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
        let (op, scope) = (self.what.op(gpu), self.what.scope(gpu));
        let real = store.real();
        let outcome = store.update(|machine, clients| {
            // The model takes an Xid of an instance that is gone; whoever types one that never was should hear of it.
            machine.check(scope)?;
            machine.apply_among(op, machine.now(real), clients)
        })?;
        match outcome {
            Outcome::MigMode {
                activation: Code::Success,
            } => println!("done"),
            Outcome::MigMode {
                activation: Code::ResetRequired,
            } => println!("pending until a reset (fakegpu inject -i {gpu} reset)"),
            Outcome::MigMode { activation } => {
                println!(
                    "not in force: {} (instances, or programs)",
                    activation.text()
                );
            }
            Outcome::Event { seq } => println!("event {seq}"),
            _ => println!("done"),
        }
        Ok(())
    }
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

    fn op(&self, gpu: GpuIndex) -> Op {
        let what = match *self {
            Self::Mig { mode } => {
                let mode = match mode {
                    Switch::On => MigMode::Enabled,
                    Switch::Off => MigMode::Disabled,
                };
                return Op::SetMigMode { gpu, mode };
            }
            Self::Reset => return Op::Reset { gpu },
            Self::Xid { number, gi, ci } => Injection::Xid {
                xid: number,
                gi: gi.map(GiId),
                ci: ci.map(CiId),
            },
            Self::Ecc {
                corrected,
                uncorrected,
                gi,
            } => Injection::Ecc {
                corrected,
                uncorrected,
                gi: gi.map(GiId),
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
            Self::Found => Injection::Lost(false),
            Self::Load {
                compute,
                memory,
                gi,
            } => Injection::Load {
                gi: gi.map(GiId),
                compute: Percent(compute),
                memory: MiB(memory),
            },
        };
        Op::Inject { gpu, what }
    }
}
