//! `sliceproof ledger`: verify, show, correct and close what a meter has kept.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::ExitCode;

use billing::ledger::Broken;
use billing::{Bucket, Entry, Place, Ratio, Rounding, Span, Sum, Uid, Weights, buckets};
use scenario::Exit;

use super::args::{
    By, CorrectArgs, LedgerArgs, LedgerCommand, LedgerPlace, RowsArgs, SealArgs, ShowLedgerArgs,
};
use crate::Error;
use crate::args::Format;

pub(crate) fn run(args: &LedgerArgs) -> Result<ExitCode, Error> {
    match &args.what {
        LedgerCommand::Verify(ledger) => verify(ledger),
        LedgerCommand::Show(args) => show(args),
        LedgerCommand::Rows(args) => rows(args),
        LedgerCommand::Correct(args) => correct(args),
        LedgerCommand::Seal(args) => seal(args),
    }
}

/// The ledger, which must be there: a question makes no file.
pub(crate) fn existing(ledger: &LedgerPlace) -> Result<billing::Ledger, Error> {
    let place = ledger.place()?;
    if let Place::File(path) = &place {
        std::fs::metadata(path).map_err(|source| Error::Io {
            doing: "open the ledger",
            path: path.clone(),
            source,
        })?;
    }
    place.open().map_err(Error::Ledger)
}

fn verify(ledger: &LedgerPlace) -> Result<ExitCode, Error> {
    match existing(ledger)?.verify() {
        Ok(verified) => {
            crate::say(&format!(
                "{} hold; the last has the hash {}\n",
                oracle::counted(verified.rows, "row"),
                verified.hash
            ))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(Broken::Ledger(error)) => Err(Error::Ledger(error)),
        Err(broken) => {
            crate::say(&format!("{broken}\n"))?;
            Ok(ExitCode::from(Exit::Failed.code()))
        }
    }
}

fn show(args: &ShowLedgerArgs) -> Result<ExitCode, Error> {
    let period =
        Span::new(args.from, args.until).map_err(|error| Error::Period(error.to_string()))?;
    let weights = weights(args.weights);
    let mut ledger = existing(&args.ledger)?;
    let facts = ledger.read().map_err(Error::Ledger)?.facts();
    let mut sums: BTreeMap<(String, String), Sum> = BTreeMap::new();
    for entry in buckets::buckets(facts, &weights, period) {
        let entry = entry.map_err(Error::Buckets)?;
        match args.output {
            Format::Json => crate::say(&format!(
                "{}\n",
                serde_json::to_string(&entry).map_err(|error| Error::Period(error.to_string()))?
            ))?,
            Format::Text => {
                let sum = sums
                    .entry((entry.card.to_string(), who(&entry)))
                    .or_default();
                let added = sum.add(entry.share, entry.span.seconds());
                added.map_err(|error| Error::Buckets(error.into()))?;
            }
        }
    }
    if let Format::Text = args.output {
        crate::say(&table(&sums, period, &weights)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The measure.
pub(super) fn weights(by: By) -> Weights {
    match by {
        By::Compute => Weights::Compute,
        By::Memory => Weights::Memory,
        By::Max => Weights::Max,
    }
}

fn who(entry: &Entry) -> String {
    let part = entry
        .profile
        .as_deref()
        .or(entry.device.as_deref())
        .unwrap_or_default();
    match &entry.bucket {
        Bucket::Sold(holder) if entry.overlay => format!(
            "admin access   {}/{} ({})",
            holder.namespace, holder.name, holder.claim_uid
        ),
        Bucket::Sold(holder) => format!(
            "sold           {}/{} {part} ({})",
            holder.namespace, holder.name, holder.claim_uid
        ),
        Bucket::OutOfService { reason } => format!("out of service {reason}"),
        other => other.word().to_owned(),
    }
}

fn table(
    sums: &BTreeMap<(String, String), Sum>,
    period: Span,
    weights: &Weights,
) -> Result<String, Error> {
    let wrong = |error: billing::Arithmetic| Error::Buckets(error.into());
    let mut text = format!("{period}, by {} weights, in card-hours\n", weights.word());
    let mut of_card: Option<&str> = None;
    for ((card, who), sum) in sums {
        if of_card != Some(card) {
            let _ = writeln!(text, "{card}");
            of_card = Some(card);
        }
        let hours = sum
            .total()
            .and_then(|it| it.over(Ratio::whole(3600)))
            .map_err(wrong)?;
        let shown = hours.decimal(4, Rounding::HalfEven).map_err(wrong)?;
        let _ = writeln!(text, "  {shown:>12}  {who}");
    }
    Ok(text)
}

fn rows(args: &RowsArgs) -> Result<ExitCode, Error> {
    let mut ledger = existing(&args.ledger)?;
    let rows = ledger
        .of_object(&Uid::from(args.uid.as_str()))
        .map_err(Error::Ledger)?;
    let mut text = String::new();
    for row in rows {
        let fact = row.fact;
        let estimated = fact
            .estimated
            .map_or(String::new(), |why| format!(" (estimated: {why})"));
        let what = serde_json::to_string(&fact.what).unwrap_or_default();
        let _ = writeln!(
            text,
            "row {} {} version {}{estimated} {what}",
            row.number, fact.at, fact.version
        );
    }
    crate::say(if text.is_empty() {
        "the ledger knows nothing of it\n"
    } else {
        &text
    })?;
    Ok(ExitCode::SUCCESS)
}

fn correct(args: &CorrectArgs) -> Result<ExitCode, Error> {
    let at = args.at.filter(|_| !args.void);
    existing(&args.ledger)?
        .correct(args.row, at, &args.reason)
        .map_err(Error::Ledger)?;
    crate::say(&format!(
        "row {} is corrected by a row of its own\n",
        args.row
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn seal(args: &SealArgs) -> Result<ExitCode, Error> {
    let period =
        Span::new(args.from, args.until).map_err(|error| Error::Period(error.to_string()))?;
    let now = (billing::meter::system_clock())();
    let row = existing(&args.ledger)?
        .seal(period, now)
        .map_err(Error::Ledger)?;
    crate::say(&format!("{period} is closed by row {row}\n"))?;
    Ok(ExitCode::SUCCESS)
}
