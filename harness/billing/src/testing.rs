//! Entries and price books of the tests.

use crate::book::PriceBook;
use crate::charge::{Charges, Line, LineKind, Lines, price};
use crate::entry::{Bucket, Card, Consumer, Entry, Holder};
use crate::invoice::Invoice;
use crate::ratio::Ratio;
use crate::time::{Seconds, Span};

pub(crate) const MODEL: &str = "A100-SXM4-80GB";

pub(crate) fn at(text: &str) -> Seconds {
    text.parse().expect("a time")
}

pub(crate) fn ratio(text: &str) -> Ratio {
    text.parse().expect("a number")
}

pub(crate) fn span(from: &str, until: &str) -> Span {
    Span::new(at(from), at(until)).expect("forwards")
}

pub(crate) fn month(text: &str) -> Span {
    Span::of_month(text).expect("a month")
}

/// A book of a calendar's months whose rates are these lines: `kind: cost, amount: 1, per: hour`.
pub(crate) fn book(settings: &str, rates: &[&str]) -> PriceBook {
    let rates: Vec<String> = rates
        .iter()
        .map(|it| format!("  - {{model: {MODEL}, {it}, source: s, confidence: high}}\n"))
        .collect();
    let text = format!(
        "format: 1\nname: test\nissuer: me\ncurrency: USD\nmonth: calendar\nweights: compute\nrounding: half-even\n{settings}\nrates:\n{}",
        rates.concat()
    );
    PriceBook::read(&text).unwrap_or_else(|it| panic!("{it:#?}\n{text}"))
}

pub(crate) fn card(name: &str) -> Card {
    Card {
        pool: "node-1".to_owned(),
        name: name.to_owned(),
        uuid: None,
        model: MODEL.to_owned(),
    }
}

pub(crate) fn entry(bucket: Bucket, share: &str, span: Span) -> Entry {
    Entry {
        card: card("gpu-0"),
        bucket,
        share: ratio(share),
        span,
        device: None,
        profile: None,
        needed: None,
        estimated: None,
        overlay: false,
    }
}

pub(crate) fn holder(uid: &str, tenant: &str) -> Holder {
    Holder {
        claim_uid: uid.to_owned(),
        namespace: tenant.to_owned(),
        name: format!("claim-{uid}"),
        device_class: Some("mig.nvidia.com".to_owned()),
        request: "gpu".to_owned(),
        consumers: vec![pod(uid)],
        spot: false,
    }
}

pub(crate) fn pod(uid: &str) -> Consumer {
    Consumer {
        uid: format!("pod-{uid}"),
        name: format!("pod-{uid}"),
    }
}

pub(crate) fn sold(uid: &str, share: &str, span: Span) -> Entry {
    let mut entry = entry(Bucket::Sold(Box::new(holder(uid, "blue"))), share, span);
    entry.device = Some(format!("gpu-0-mig-{uid}"));
    entry.profile = Some("1g.10gb".to_owned());
    entry
}

/// Seven claims on one card all the time, the first so many sold and the others idle.
pub(crate) fn sevenths(count: usize, span: Span) -> Vec<Entry> {
    let uids = ["u-1", "u-2", "u-3", "u-4", "u-5", "u-6", "u-7"];
    let mut all: Vec<Entry> = uids[..count]
        .iter()
        .map(|uid| sold(uid, "1/7", span))
        .collect();
    if count < 7 {
        all.push(entry(Bucket::Idle, &format!("{}/7", 7 - count), span));
    }
    all
}

pub(crate) fn charged(entries: &[Entry], book: &PriceBook, period: Span) -> Charges {
    price(entries.to_vec(), book, period, Lines::Claim).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn invoiced(entries: &[Entry], book: &PriceBook, period: Span) -> Invoice {
    let charges = charged(entries, book, period);
    Invoice::new(charges, Vec::new(), book, period, Lines::Claim, None).expect("fits")
}

pub(crate) fn of_kind(charges: &Charges, kind: LineKind) -> Vec<&Line> {
    charges.lines.iter().filter(|it| it.kind == kind).collect()
}

pub(crate) fn billed(charges: &Charges) -> Vec<String> {
    of_kind(charges, LineKind::Sold)
        .iter()
        .map(|it| it.billed.to_string())
        .collect()
}

pub(crate) fn costs(charges: &Charges) -> i128 {
    charges.lines.iter().map(|it| it.cost.units).sum()
}
