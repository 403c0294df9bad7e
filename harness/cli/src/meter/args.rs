//! The command line of `meter` and `ledger`.

use std::path::PathBuf;

use billing::{Place, Seconds};
use clap::{Args, Subcommand, ValueEnum};

use crate::Error;
use crate::args::{Format, LiveArgs};

/// Which ledger.
#[derive(Debug, Clone, Args)]
pub struct LedgerPlace {
    /// The ledger: a SQLite file, or postgres://USER@HOST/DATABASE
    #[arg(
        long,
        value_name = "FILE|URL",
        env = "SLICEPROOF_LEDGER",
        hide_env_values = true,
        default_value = "sliceproof-ledger.db"
    )]
    pub ledger: String,
}

impl LedgerPlace {
    pub(crate) fn place(&self) -> Result<Place, Error> {
        self.ledger.parse().map_err(Error::Ledger)
    }
}

/// Arguments of `meter`.
#[derive(Debug, Args)]
pub struct MeterArgs {
    /// Which cluster.
    #[command(flatten)]
    pub live: LiveArgs,
    /// The cluster of the pod that this runs in
    #[arg(long, conflicts_with_all = ["name", "kubeconfig"])]
    pub in_cluster: bool,
    /// Where to.
    #[command(flatten)]
    pub ledger: LedgerPlace,
    /// List everything once, keep it and end, instead of watching
    #[arg(long)]
    pub once: bool,
    /// Print the meter as Kubernetes objects, with the rights that it needs, and end
    #[arg(long)]
    pub manifests: bool,
    /// With --manifests: the namespace
    #[arg(long, default_value = "sliceproof", requires = "manifests")]
    pub namespace: String,
    /// With --manifests: an image that has this program as its entry point
    #[arg(long, default_value = "sliceproof:latest", requires = "manifests")]
    pub image: String,
    /// With --manifests: a secret whose key `url` is the ledger, as postgres://…; without, it is a file on a volume
    #[arg(long, requires = "manifests")]
    pub secret: Option<String>,
}

/// Arguments of `ledger`.
#[derive(Debug, Args)]
pub struct LedgerArgs {
    /// What to do with it.
    #[command(subcommand)]
    pub what: LedgerCommand,
}

/// What can be done with a ledger.
#[derive(Debug, Subcommand)]
pub enum LedgerCommand {
    /// Compute every row's hash anew, and say the last
    Verify(LedgerPlace),
    /// Add up what was sold, idle, stranded and out of service in a period, per card and claim
    Show(ShowLedgerArgs),
    /// Say what is known of one object, row by row
    Rows(RowsArgs),
    /// Add a row that corrects another; that one stays
    Correct(CorrectArgs),
    /// Close a period: what comes later about it is corrected in a later one
    Seal(SealArgs),
}

/// By what partitions weigh.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum By {
    /// Compute slices.
    Compute,
    /// Memory.
    Memory,
    /// The greater of the two.
    Max,
}

/// Arguments of `ledger show`.
#[derive(Debug, Args)]
pub struct ShowLedgerArgs {
    /// Which.
    #[command(flatten)]
    pub ledger: LedgerPlace,
    /// First second, as 2026-11-01 or 2026-11-01T12:00:00Z
    #[arg(long)]
    pub from: Seconds,
    /// First second after the period
    #[arg(long)]
    pub until: Seconds,
    /// By what partitions weigh
    #[arg(long, value_enum, default_value_t = By::Compute)]
    pub weights: By,
    /// How to print it: with json every entry, one on a line
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

/// Arguments of `reconcile`.
#[derive(Debug, Args)]
pub struct ReconcileArgs {
    /// Which cluster.
    #[command(flatten)]
    pub live: LiveArgs,
    /// Ask no cluster: compare the meter with the invoice only
    #[arg(long, conflicts_with_all = ["name", "kubeconfig"])]
    pub offline: bool,
    /// Which ledger.
    #[command(flatten)]
    pub ledger: LedgerPlace,
    /// First second [default: the first of the month]
    #[arg(long)]
    pub from: Option<Seconds>,
    /// First second after the period [default: now, so that what is allocated is compared too]
    #[arg(long)]
    pub until: Option<Seconds>,
    /// By what partitions weigh
    #[arg(long, value_enum, default_value_t = By::Compute)]
    pub weights: By,
    /// An invoice of the same period, in JSON
    #[arg(long, value_name = "FILE")]
    pub invoice: Option<PathBuf>,
    /// What another tool says: OpenCost's allocation JSON, dcgm-exporter's text, or a FOCUS CSV
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
}

/// Arguments of `ledger rows`.
#[derive(Debug, Args)]
pub struct RowsArgs {
    /// The object's UID
    pub uid: String,
    /// Which.
    #[command(flatten)]
    pub ledger: LedgerPlace,
}

/// Arguments of `ledger correct`.
#[derive(Debug, Args)]
pub struct CorrectArgs {
    /// The number of the row
    pub row: u64,
    /// It holds since then
    #[arg(long, required_unless_present = "void")]
    pub at: Option<Seconds>,
    /// It never held
    #[arg(long, conflicts_with = "at")]
    pub void: bool,
    /// Who says so, and why
    #[arg(long)]
    pub reason: String,
    /// Which.
    #[command(flatten)]
    pub ledger: LedgerPlace,
}

/// Arguments of `ledger seal`.
#[derive(Debug, Args)]
pub struct SealArgs {
    /// First second
    #[arg(long)]
    pub from: Seconds,
    /// First second after the period
    #[arg(long)]
    pub until: Seconds,
    /// Which.
    #[command(flatten)]
    pub ledger: LedgerPlace,
}
