//! Arguments of `bill`.

use std::path::PathBuf;

use billing::{Lines, Span};
use clap::{Args, ValueEnum};

use crate::meter::args::LedgerPlace;

/// Arguments of `bill`.
#[derive(Debug, Args)]
pub struct BillArgs {
    /// Which ledger
    #[command(flatten)]
    pub ledger: LedgerPlace,
    /// Instead of a ledger, entries as `ledger show -o json` prints them; - is standard input
    #[arg(long, value_name = "FILE")]
    pub entries: Option<PathBuf>,
    /// The price book [default: the built-in one, a form to fill in]
    #[arg(long, value_name = "FILE")]
    pub book: Option<PathBuf>,
    /// A month, as 2026-11, or from one time until another: 2026-11-01..2026-11-15T12:00:00Z
    #[arg(long, value_name = "PERIOD", value_parser = period)]
    pub period: Span,
    /// An invoice (JSON) that was issued; what has changed since is a correction of this period. All since the oldest are named
    #[arg(long, value_name = "FILE")]
    pub issued: Vec<PathBuf>,
    /// How fine the lines are; by tenant, memory does not grow with the number of claims
    #[arg(long, value_enum, default_value_t)]
    pub by: By,
    /// Only the invoice of this tenant
    #[arg(long, value_name = "NAMESPACE")]
    pub tenant: Option<String>,
    /// Write the statement, each tenant's invoice, FOCUS files, metrics and a dashboard into this folder; without it, the
    /// statement is printed
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// How fine the lines of an invoice are.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum By {
    /// One for each claim and device.
    #[default]
    Claim,
    /// One for each tenant, card and profile.
    Tenant,
}

impl From<By> for Lines {
    fn from(by: By) -> Self {
        match by {
            By::Claim => Self::Claim,
            By::Tenant => Self::Tenant,
        }
    }
}

fn period(text: &str) -> Result<Span, String> {
    let Some((from, until)) = text.split_once("..") else {
        return Span::of_month(text)
            .map_err(|_| format!("{text:?} is no month: write 2026-11, or FROM..UNTIL"));
    };
    let time = |text: &str| text.parse().map_err(|error| format!("{error}"));
    Span::new(time(from)?, time(until)?).map_err(|error| error.to_string())
}
