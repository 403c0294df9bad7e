//! The command line.

pub mod bill;
pub mod price;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use components::cli::{CatalogArgs, ComponentsArgs};
use oracle::Version;
use scenario::GateSet;

/// Proves that GPU sharing works: real Kubernetes, real kubelet, real containerd and the real NVIDIA DRA driver over
/// fake GPUs, driven by scenarios.
#[derive(Debug, Parser)]
#[command(name = "sliceproof", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 all passed, 1 a scenario failed, 2 usage, lint or environment, 4 nothing ran, 130 interrupted.";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run scenarios on a cluster of their own
    Test(TestArgs),
    /// Run scenarios on several minors of Kubernetes and gate sets, and print one table
    Matrix(MatrixArgs),
    /// Check feature files and Kubernetes manifests without running anything
    Lint(LintArgs),
    /// Bring feature files into one form
    Fmt(FmtArgs),
    /// List every step with what it does and an example
    Steps(StepsArgs),
    /// Write a first scenario, or the settings with which an editor completes steps
    New(NewArgs),
    /// Print the page of all scenarios, made from the feature files
    Docs(DocsArgs),
    /// Start a cluster and leave it running
    Up(UpArgs),
    /// End a cluster that `up` started
    Down(DownArgs),
    /// List the clusters that run
    Status,
    /// Run kubectl against a cluster that runs
    Kubectl(KubectlArgs),
    /// Say what a claim is given and why: which devices were looked at, and why each was not taken
    Explain(ExplainArgs),
    /// Show what a cluster has
    Inspect(InspectArgs),
    /// Say what is wrong with how a cluster shares its GPUs, and what mends it
    Doctor(DoctorArgs),
    /// Watch who holds which device, and keep it in a ledger
    Meter(crate::meter::args::MeterArgs),
    /// Verify, show, correct and close what a meter has kept
    Ledger(crate::meter::args::LedgerArgs),
    /// Compare quota, allocation, meter and invoice claim by claim, and with what other tools say
    Reconcile(crate::meter::args::ReconcileArgs),
    /// Answer questions of money: seats of a card, break-even, a split by memory or compute; always with the basis
    Price(price::PriceArgs),
    /// Make invoices, statements and exports of what was used, by a price book
    Bill(bill::BillArgs),
    /// The real programs: fetch, build, list
    Components(ComponentsArgs),
}

/// Which scenarios.
#[derive(Debug, Clone, Default, Args)]
pub struct SelectArgs {
    /// Feature files and folders that hold some; without one, the folder scenarios/
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Only scenarios whose tags fit, as "@smoke and not (@slow or @wip)"
    #[arg(long, value_name = "EXPR")]
    pub tags: Option<String>,
    /// Only scenarios in whose name or id this regular expression is found
    #[arg(long, value_name = "RE")]
    pub name: Option<String>,
    /// Only scenarios that are expected to fail, since a program of somebody else is wrong (@expected-fail:NUMBER)
    #[arg(long)]
    pub expected_fail: bool,
}

impl SelectArgs {
    /// All scenarios of these paths.
    #[must_use]
    pub fn of(paths: &[PathBuf]) -> Self {
        Self {
            paths: paths.to_vec(),
            ..Self::default()
        }
    }

    /// The paths, or the usual one.
    ///
    /// # Errors
    /// None was given, and the usual one is not there.
    pub fn paths(&self) -> Result<Vec<PathBuf>, crate::Error> {
        if !self.paths.is_empty() {
            return Ok(self.paths.clone());
        }
        let usual = PathBuf::from("scenarios");
        if usual.is_dir() {
            Ok(vec![usual])
        } else {
            Err(crate::Error::NoPath)
        }
    }
}

/// Arguments of `test`.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Which scenarios.
    #[command(flatten)]
    pub select: SelectArgs,
    /// List what would run, and run nothing
    #[arg(long)]
    pub list: bool,
    /// Stop at the first scenario that fails
    #[arg(long)]
    pub fail_fast: bool,
    /// How often a scenario that is not deterministic (@nondeterministic) is tried
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..).map(usize::from))]
    pub tries: usize,
    /// Stop at the first scenario that fails and leave the cluster as it is
    #[arg(long)]
    pub keep_on_failure: bool,
    /// Folder for reports and evidence [default: target/sliceproof/runs/TIME-ID in a Cargo project, else under
    /// the state folder; SLICEPROOF_RUNS names another parent]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Where programs come from.
    #[command(flatten)]
    pub catalog: CatalogArgs,
    /// Feature gates.
    #[command(flatten)]
    pub gates: GatesArgs,
}

/// Arguments of `matrix`.
#[derive(Debug, Args)]
pub struct MatrixArgs {
    /// Which scenarios.
    #[command(flatten)]
    pub select: SelectArgs,
    /// Sets of feature gates, joined by commas
    #[arg(
        long,
        value_name = "SETS",
        value_parser = gate_set(),
        value_delimiter = ',',
        default_value = GateSet::Default.name()
    )]
    pub gates: Vec<GateSet>,
    /// Folder for the table and the run folders [default: as for `test`]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Where programs come from; without --kubernetes every minor of the lock file.
    #[command(flatten)]
    pub catalog: CatalogArgs,
}

/// Which feature gates a cluster has.
#[derive(Debug, Clone, Default, Args)]
pub struct GatesArgs {
    /// Feature gates of Kubernetes: its defaults, only what is generally available, or every one of device allocation
    #[arg(long, value_name = "SET", value_parser = gate_set(), default_value_t)]
    pub gates: GateSet,
}

/// A set of feature gates by its name.
fn gate_set() -> impl TypedValueParser<Value = GateSet> {
    PossibleValuesParser::new(GateSet::ALL.map(GateSet::name)).try_map(|name| name.parse())
}

/// Arguments of `lint`.
#[derive(Debug, Args)]
pub struct LintArgs {
    /// Which scenarios; manifests (.yaml, .yml, .json) may stand among the paths and are looked at together.
    #[command(flatten)]
    pub select: SelectArgs,
    /// The minor of Kubernetes that manifests are for, as 1.36 [default: the newest that is known]
    #[arg(long, value_name = "MINOR")]
    pub kubernetes: Option<Version>,
    /// Feature gates of the cluster that manifests are for.
    #[command(flatten)]
    pub gates: GatesArgs,
}

/// Arguments of `fmt`.
#[derive(Debug, Args)]
pub struct FmtArgs {
    /// Feature files and folders that hold some; without one, the folder scenarios/
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Change nothing; name the files that would change, and exit with 1 if there are any
    #[arg(long)]
    pub check: bool,
}

/// Arguments of `steps`.
#[derive(Debug, Args)]
pub struct StepsArgs {
    /// Only steps that no feature uses
    #[arg(long)]
    pub unused: bool,
    /// With --unused: feature files and folders that hold some; without one, the folder scenarios/
    #[arg(value_name = "PATH", requires = "unused")]
    pub paths: Vec<PathBuf>,
}

/// Arguments of `docs`.
#[derive(Debug, Args)]
pub struct DocsArgs {
    /// Feature files and folders that hold some; without one, the folder scenarios/
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
}

/// Arguments of `new`.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// What to write.
    #[command(subcommand)]
    pub what: NewCommand,
}

/// What `new` writes. Nothing that is there is overwritten.
#[derive(Debug, Subcommand)]
pub enum NewCommand {
    /// A small feature that can be run as it is: scenarios/NAME.feature
    Scenario {
        /// Name of the file, as my-layout or partitioning/my-layout
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// .vscode/settings.json and the steps as the official Cucumber extension reads them
    Settings {
        /// Write only the steps anew; the settings stay as they are
        #[arg(long)]
        steps_only: bool,
    },
}

/// Arguments of `up`.
#[derive(Debug, Args)]
pub struct UpArgs {
    /// Name of the cluster
    #[arg(long, default_value = "default")]
    pub name: String,
    /// Nodes, all with the same cards
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    pub nodes: u8,
    /// Cards of each node, as MODEL*COUNT; several are joined by commas
    #[arg(long, value_name = "MODEL*COUNT", default_value = "A100-SXM4-40GB*1")]
    pub gpu: String,
    /// MIG mode is on at boot, on the cards that have it
    #[arg(long)]
    pub mig: bool,
    /// Where programs come from.
    #[command(flatten)]
    pub catalog: CatalogArgs,
    /// Feature gates.
    #[command(flatten)]
    pub gates: GatesArgs,
}

/// Arguments of `down`.
#[derive(Debug, Args)]
pub struct DownArgs {
    /// Name of the cluster
    #[arg(default_value = "default", conflicts_with = "named")]
    pub name: String,
    /// Name of the cluster
    #[arg(long = "name", value_name = "NAME", id = "named")]
    pub named: Option<String>,
}

/// Arguments of `kubectl`.
#[derive(Debug, Args)]
pub struct KubectlArgs {
    /// Name of the cluster; stands before kubectl's own arguments
    #[arg(long, default_value = "default")]
    pub name: String,
    /// Arguments for kubectl
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    pub args: Vec<OsString>,
}

/// Which cluster that runs is asked.
#[derive(Debug, Clone, Args)]
pub struct LiveArgs {
    /// Name of the cluster that `up` started
    #[arg(long, default_value = "default", conflicts_with = "kubeconfig")]
    pub name: String,
    /// Any cluster, by its kubeconfig
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
}

/// How something is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs, with everything in it.
    Json,
}

/// Which cluster is shown, and how.
#[derive(Debug, Clone, Args)]
pub struct ShowArgs {
    /// How it is printed
    #[arg(long, short, value_enum, default_value_t)]
    pub output: Format,
    /// Which cluster.
    #[command(flatten)]
    pub live: LiveArgs,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A ResourceClaim, or pod/NAME for those of a pod, asked for together; or the word charge, and what a claim is billed is
    /// explained, by its UID and an invoice
    #[arg(value_name = "CLAIM")]
    pub claim: String,
    /// After charge: UID of the claim
    #[arg(value_name = "UID", requires = "invoice")]
    pub uid: Option<String>,
    /// After charge: an invoice or statement in JSON, as `bill --out` writes them
    #[arg(long, value_name = "FILE", requires = "uid")]
    pub invoice: Option<PathBuf>,
    /// Its namespace
    #[arg(long, short, default_value = "default")]
    pub namespace: String,
    /// Show every device and every node; without it, what is alike is folded
    #[arg(long)]
    pub all: bool,
    /// Of which cluster, and how.
    #[command(flatten)]
    pub show: ShowArgs,
}

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// What to show.
    #[command(subcommand)]
    pub what: Inspect,
}

/// What can be inspected.
#[derive(Debug, Subcommand)]
pub enum Inspect {
    /// The menu: what each class offers in published order, who has it, what is left, and a picture of each card
    Slices(SlicesArgs),
}

/// Arguments of `inspect slices`.
#[derive(Debug, Args)]
pub struct SlicesArgs {
    /// Show every device; without it, those alike are folded
    #[arg(long)]
    pub all: bool,
    /// Of which cluster, and how.
    #[command(flatten)]
    pub show: ShowArgs,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Manifests of Cluster API's GPU pools, to be checked beside what the cluster has of them
    #[arg(long, value_name = "FILE")]
    pub machines: Vec<PathBuf>,
    /// Of which cluster, and how.
    #[command(flatten)]
    pub show: ShowArgs,
}
