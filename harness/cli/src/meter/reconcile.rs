//! `sliceproof reconcile`: what quota, scheduler, meter and invoice say of each claim, and what other tools say beside them.
//! Not here: what must agree (`billing::reconcile`).
//! Objects come from an API server, facts from a ledger, invoices and others' words from files; a difference is exit code 1.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use billing::reconcile::{Account, Accounts, against, invoiced};
use billing::{Span, Uid, buckets, meter};
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaim};
use oracle::quota::Rules;
use scenario::Exit;

use super::args::ReconcileArgs;
use super::ledger::{existing, weights};
use crate::Error;
use crate::live::Live;

pub(crate) fn run(args: &ReconcileArgs) -> Result<ExitCode, Error> {
    let runtime = tokio::runtime::Runtime::new().map_err(Error::Runtime)?;
    let mut accounts = Accounts::default();
    // Asked first: what the meter has seen by then may be a little more, and is cut at the same second.
    let now = (meter::system_clock())();
    if !args.offline {
        let (claims, classes, server) = runtime.block_on(async {
            let live = Live::open(&args.live).await?;
            tokio::try_join!(
                live.list::<ResourceClaim>("ResourceClaims"),
                live.list::<DeviceClass>("DeviceClasses"),
                live.server(),
            )
        })?;
        accounts.live(&claims, &classes, &Rules::of(&server.gates));
    }
    // With the second that it is now.
    let next = billing::Seconds::new(now.get() + 1).unwrap_or(now);
    let until = args.until.unwrap_or(next);
    let from = args.from.unwrap_or_else(|| until.month().from());
    let period = Span::new(from, until).map_err(|error| Error::Period(error.to_string()))?;
    let mut ledger = existing(&args.ledger)?;
    let facts = ledger.read().map_err(Error::Ledger)?.facts();
    for entry in buckets::buckets(facts, &weights(args.weights), period) {
        let entry = entry.map_err(Error::Buckets)?;
        accounts
            .metered(&entry, period)
            .map_err(|error| Error::Buckets(error.into()))?;
    }
    if let Some(file) = &args.invoice {
        let read = invoiced(&text_of(file)?).map_err(|error| wrong(file, error.to_string()))?;
        accounts.invoice(read);
    }
    let rows = match accounts.reconcile(!args.offline && args.until.is_none()) {
        Ok(rows) => rows,
        Err(difference) => {
            crate::say(&format!(
                "{difference}\n{}",
                events(&mut ledger, &difference.uid)?
            ))?;
            return Ok(ExitCode::from(Exit::Failed.code()));
        }
    };
    let mut text = String::new();
    for (uid, account) in &rows {
        let _ = writeln!(text, "{uid} {account}");
    }
    let _ = writeln!(
        text,
        "{} without a difference, {period}",
        oracle::counted(rows.len() as u64, "claim")
    );
    let mut exit = Exit::Passed;
    if let Some(file) = &args.against {
        let theirs =
            against::read(&text_of(file)?).map_err(|error| wrong(file, error.to_string()))?;
        if compare(&mut text, &rows, &theirs, file) {
            exit = Exit::Failed;
        }
    }
    crate::say(&text)?;
    Ok(ExitCode::from(exit.code()))
}

fn text_of(file: &Path) -> Result<String, Error> {
    std::fs::read_to_string(file).map_err(|source| Error::Io {
        doing: "read",
        path: file.to_owned(),
        source,
    })
}

fn wrong(file: &Path, why: String) -> Error {
    Error::Manifest {
        path: file.to_owned(),
        why,
    }
}

/// The rows behind a claim.
fn events(ledger: &mut billing::Ledger, uid: &Uid) -> Result<String, Error> {
    let mut text = String::new();
    for row in ledger.of_object(uid).map_err(Error::Ledger)? {
        let fact = row.fact;
        let what = serde_json::to_string(&fact.what).unwrap_or_default();
        let _ = writeln!(
            text,
            "  row {} {} version {} {what}",
            row.number, fact.at, fact.version
        );
    }
    if text.is_empty() {
        text.push_str("  the ledger has no row of it\n");
    }
    Ok(text)
}

/// A line for each claim that both or one of them knows; whether one knows what the other does not.
fn compare(
    text: &mut String,
    rows: &std::collections::BTreeMap<Uid, Account>,
    theirs: &against::Theirs,
    file: &Path,
) -> bool {
    let _ = writeln!(text, "against {}:", file.display());
    let mut left: Vec<&String> = theirs.keys().collect();
    let mut differs = false;
    for (uid, account) in rows.iter().filter(|(_, account)| account.seconds > 0) {
        let names = [format!("claim {uid}"), format!("claim {}", account.name)];
        let said = names
            .iter()
            .find_map(|name| Some((name, theirs.get(name)?)));
        let hours = billing_hours(account.seconds);
        match said {
            None => {
                differs = true;
                let _ = writeln!(
                    text,
                    "  {} ({uid}): {hours} h here, not there",
                    account.name
                );
            }
            Some((name, said)) => {
                left.retain(|it| *it != name);
                let there = said
                    .hours
                    .map_or("no hours".to_owned(), |it| format!("{it} h"));
                let cost = said
                    .cost
                    .as_ref()
                    .map_or(String::new(), |cost| format!(", cost {cost}"));
                let _ = writeln!(
                    text,
                    "  {} ({uid}): {hours} h here, there {there} in {}{cost}",
                    account.name,
                    oracle::counted(said.rows, "row")
                );
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "their number is one of this kind"
                )]
                let ours = account.seconds as f64 / 3600.0;
                differs |= said
                    .hours
                    .is_some_and(|hours| (hours - ours).abs() > 1.0 / 3600.0);
            }
        }
    }
    for name in left {
        differs = true;
        let _ = writeln!(text, "  {name}: there, not here");
    }
    differs
}

fn billing_hours(seconds: i64) -> String {
    let hours = billing::Ratio::new(seconds.into(), 3600);
    hours
        .and_then(|it| it.decimal(4, billing::Rounding::HalfEven))
        .unwrap_or_default()
}
