//! `sliceproof bill`: a ledger and a price book become invoices and exports; and how a charge came about.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use billing::focus::{Version, focus};
use billing::{Charging, Entry, Invoice, PriceBook, Span};

use crate::args::bill::BillArgs;
use crate::{Error, say};

pub(crate) fn run(args: &BillArgs) -> Result<ExitCode, Error> {
    let book = match read_book(args.book.as_deref())? {
        Ok(book) => book,
        Err(code) => return Ok(code),
    };
    let mut issued = Vec::new();
    for path in &args.issued {
        let text = read(path)?;
        let invoice = Invoice::read(&text)
            .map_err(|why| Error::Billing(format!("{}: {why}", path.display())))?;
        issued.push(invoice);
    }
    issued.sort_by_key(|it| it.period);
    let mut corrections = Vec::new();
    for (at, old) in issued.iter().enumerate() {
        let now = charge(args, &book, old.period, Vec::new())?;
        let rows = billing::invoice::corrections(old, &issued[at + 1..], &now).map_err(failed)?;
        corrections.extend(rows);
    }
    let statement = charge(args, &book, args.period, corrections)?;
    let shown = match &args.tenant {
        None => statement,
        Some(tenant) => statement.of_tenant(tenant).map_err(failed)?,
    };
    match &args.out {
        None => say(&shown.text())?,
        Some(folder) => {
            let files = write_all(&shown, folder)?;
            say(&format!(
                "{} files in {}: {} {} billed\n",
                files,
                folder.display(),
                shown.totals.billed,
                shown.currency
            ))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A price book, or the exit code after all that is wrong with it was said.
pub(crate) fn read_book(path: Option<&Path>) -> Result<Result<PriceBook, ExitCode>, Error> {
    let (name, text) = match path {
        Some(path) => (path.display().to_string(), read(path)?),
        None => (
            "the built-in price book".to_owned(),
            PriceBook::DEFAULT.to_owned(),
        ),
    };
    Ok(PriceBook::read(&text).map_err(|problems| {
        for it in &problems {
            eprintln!(
                "{name}:{}:{}: {} ({})\n  {}",
                it.line, it.column, it.message, it.rule, it.help
            );
        }
        eprintln!("{}", oracle::counted(problems.len(), "problem"));
        ExitCode::from(scenario::Exit::Broken.code())
    }))
}

fn charge(
    args: &BillArgs,
    book: &PriceBook,
    period: Span,
    corrections: Vec<billing::charge::Line>,
) -> Result<Invoice, Error> {
    let by = args.by.into();
    let mut charging = Charging::new(book, period, by);
    let mut head = None;
    match &args.entries {
        Some(path) => {
            for entry in entries(path)? {
                charging.add(&entry?).map_err(failed)?;
            }
        }
        None => {
            let mut ledger = crate::meter::existing(&args.ledger)?;
            // What is appended meanwhile belongs to the next invoice.
            let last = ledger.head().map_err(Error::Ledger)?;
            let facts = ledger.read_upto(last.number).map_err(Error::Ledger)?;
            for entry in billing::buckets::buckets(facts.facts(), &book.weights, period) {
                charging
                    .add(&entry.map_err(Error::Buckets)?)
                    .map_err(failed)?;
            }
            head = Some(last.hash.to_string());
        }
    }
    let charges = charging.done().map_err(failed)?;
    Invoice::new(charges, corrections, book, period, by, head).map_err(failed)
}

/// One entry a line.
fn entries(path: &Path) -> Result<impl Iterator<Item = Result<Entry, Error>>, Error> {
    let reader: Box<dyn BufRead> = match path == Path::new("-") {
        true => Box::new(BufReader::new(std::io::stdin())),
        false => Box::new(BufReader::new(
            File::open(path).map_err(|source| io("read", path, source))?,
        )),
    };
    let path = path.to_owned();
    Ok(reader.lines().enumerate().filter_map(move |(at, line)| {
        let line = match line {
            Ok(line) if line.trim().is_empty() => return None,
            Ok(line) => line,
            Err(source) => return Some(Err(io("read", &path, source))),
        };
        Some(serde_json::from_str(&line).map_err(|error| {
            let why = format!(
                "{}, line {}: this is no entry: {error}",
                path.display(),
                at + 1
            );
            Error::Billing(why)
        }))
    }))
}

fn write_all(invoice: &Invoice, folder: &Path) -> Result<usize, Error> {
    std::fs::create_dir_all(folder).map_err(|source| io("make", folder, source))?;
    let name = if invoice.tenant.is_some() {
        "invoice"
    } else {
        "statement"
    };
    let mut files = forms(invoice, name)?;
    files.push((
        "focus-1.2.csv".to_owned(),
        focus(invoice, Version::V1_2).map_err(failed)?,
    ));
    files.push((
        "focus-1.3.csv".to_owned(),
        focus(invoice, Version::V1_3).map_err(failed)?,
    ));
    files.push((
        "metrics.txt".to_owned(),
        invoice.openmetrics().map_err(failed)?,
    ));
    files.push((
        "grafana-dashboard.json".to_owned(),
        billing::metrics::DASHBOARD.to_owned(),
    ));
    if invoice.tenant.is_none() {
        for tenant in invoice.tenants() {
            let own = invoice.of_tenant(tenant).map_err(failed)?;
            // A namespace is a DNS label: it names a file as it is.
            files.extend(forms(&own, &format!("tenant-{tenant}"))?);
        }
    }
    for (name, text) in &files {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|source| io("write", &path, source))?;
    }
    Ok(files.len())
}

fn forms(invoice: &Invoice, name: &str) -> Result<Vec<(String, String)>, Error> {
    Ok(vec![
        (format!("{name}.txt"), invoice.text()),
        (format!("{name}.html"), invoice.html().map_err(failed)?),
        (format!("{name}.csv"), invoice.csv().map_err(failed)?),
        (format!("{name}.json"), invoice.json()),
    ])
}

/// `sliceproof explain charge UID`.
pub(crate) fn explain(uid: Option<&str>, invoice: Option<&Path>) -> Result<ExitCode, Error> {
    let (Some(uid), Some(path)) = (uid, invoice) else {
        let why = "a charge is that of a claim on an invoice: sliceproof explain charge UID --invoice statement.json";
        return Err(Error::Billing(why.to_owned()));
    };
    let invoice = Invoice::read(&read(path)?)
        .map_err(|why| Error::Billing(format!("{}: {why}", path.display())))?;
    match invoice.explain(uid) {
        Some(text) => {
            say(&text)?;
            Ok(ExitCode::SUCCESS)
        }
        None => {
            let grain = match invoice.by {
                billing::Lines::Claim => "name a UID of its lines",
                billing::Lines::Tenant => "its lines are by tenant, so make one by claim",
            };
            Err(Error::Billing(format!(
                "no line of {} is of claim {uid}; {grain}",
                path.display()
            )))
        }
    }
}

fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| io("read", path, source))
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Billing(error.to_string())
}

fn io(doing: &'static str, path: &Path, source: std::io::Error) -> Error {
    Error::Io {
        doing,
        path: PathBuf::from(path),
        source,
    }
}
