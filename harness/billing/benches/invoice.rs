//! An invoice of 1,000 cards of seven on which every partition changes hands every hour, in one pass: of five days, or of as many
//! hours as BILLING_HOURS says (730 are a month and five million entries). Goal: memory does not grow with the entries, so its peak
//! is that of the first quarter, near enough. The time is said, not judged.

use std::process::ExitCode;
use std::time::Instant;

use billing::charge::Amount;
use billing::{
    Bucket, Card, Charging, Consumer, Entry, Holder, Invoice, Lines, PriceBook, Ratio, Seconds,
    Span,
};

const TENANTS: usize = 20;
/// By how much the peak may grow from a quarter of the entries to all: what the allocator keeps.
const GROWTH: f64 = 1.15;

fn main() -> ExitCode {
    // `cargo test --benches` only wants to know that it runs.
    let long = std::env::args().any(|argument| argument == "--bench");
    let hours = std::env::var("BILLING_HOURS").ok();
    let hours = hours.map_or(120, |it| it.parse().expect("BILLING_HOURS is a number"));
    let (cards, hours) = if long { (1000, hours) } else { (4, 48) };
    let book = PriceBook::read(PriceBook::DEFAULT).expect("the built-in book is good");
    let from = Span::of_month("2026-12").expect("a month").from();
    let until = Seconds::new(from.get() + hours * 3600).expect("in range");
    let period = Span::new(from, until).expect("forwards");
    let start = Instant::now();
    let mut charging = Charging::new(&book, period, Lines::Tenant);
    let mut quarter = 0;
    let mut count = 0_u64;
    let mut entry = template(from);
    for hour in 0..hours {
        if hour == hours / 4 {
            quarter = peak_kib();
        }
        let begin = Seconds::new(from.get() + hour * 3600).expect("in range");
        let end = Seconds::new(begin.get() + 3600).expect("in range");
        entry.span = Span::new(begin, end).expect("forwards");
        for card in 0..cards {
            entry.card.pool = format!("node-{}", card / 8);
            entry.card.name = format!("gpu-{}", card % 8);
            for seat in 0..7 {
                churn(&mut entry, card, seat, hour);
                charging.add(&entry).expect("charged");
                count += 1;
            }
        }
    }
    let taken = start.elapsed();
    let charges = charging.done().expect("settled");
    let lines = charges.lines.len();
    let invoice =
        Invoice::new(charges, Vec::new(), &book, period, Lines::Tenant, None).expect("fits");
    let all = start.elapsed();
    let peak = peak_kib();
    println!(
        "{count} entries of {cards} cards in {hours} h: {lines} lines, {} {} billed",
        invoice.totals.billed, invoice.currency
    );
    println!(
        "charged in {:.1} s ({:.0} entries a second), settled in {:.1} s more",
        taken.as_secs_f64(),
        count as f64 / taken.as_secs_f64(),
        (all - taken).as_secs_f64()
    );
    println!(
        "peak memory {} MiB after a quarter, {} MiB at the end",
        quarter / 1024,
        peak / 1024
    );
    // 1559 for each month of 730 hours.
    let cost = Ratio::new(1559 * cards as i128 * hours as i128, 730).expect("fits");
    let right = near(invoice.totals.cost, cost, cards as i128);
    println!(
        "the cards cost {}, as they should: {right}",
        invoice.totals.cost
    );
    let flat = !long || peak as f64 <= quarter as f64 * GROWTH + 64.0 * 1024.0;
    println!("memory is flat: {flat}");
    ExitCode::from(u8::from(!(right && flat)))
}

/// Each card is rounded by itself, so the sum is off by less than a unit for each.
fn near(amount: Amount, exact: Ratio, cards: i128) -> bool {
    let exact = exact.rounded(2, billing::Rounding::HalfEven).expect("fits");
    (amount.units - exact).abs() <= cards
}

fn template(from: Seconds) -> Entry {
    Entry {
        card: Card {
            pool: String::new(),
            name: String::new(),
            uuid: None,
            model: "A100-SXM4-80GB".to_owned(),
        },
        bucket: Bucket::Idle,
        share: Ratio::new(1, 7).expect("fits"),
        span: Span::new(from, from).expect("empty"),
        device: None,
        profile: None,
        needed: None,
        estimated: None,
        overlay: false,
    }
}

/// Another claim in each hour; one seat of seven idles at times.
fn churn(entry: &mut Entry, card: i64, seat: i64, hour: i64) {
    if (card + seat + hour) % 11 == 0 {
        entry.bucket = Bucket::Idle;
        entry.profile = None;
        entry.device = None;
        return;
    }
    let uid = format!("{card:04}{seat}-{hour:06}");
    entry.bucket = Bucket::Sold(Box::new(Holder {
        namespace: format!(
            "tenant-{}",
            (card * 31 + seat * 7 + hour) as usize % TENANTS
        ),
        name: uid.clone(),
        device_class: Some("mig.nvidia.com".to_owned()),
        request: "gpu".to_owned(),
        consumers: vec![Consumer {
            uid: uid.clone(),
            name: uid.clone(),
        }],
        spot: false,
        claim_uid: uid,
    }));
    entry.profile = Some("1g.10gb".to_owned());
    entry.device = Some(format!("gpu-{card}-mig-1g10gb-19-{seat}"));
}

/// The most memory that this process ever had.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"));
    let number = line.and_then(|it| it.split_whitespace().next());
    number.and_then(|it| it.parse().ok()).unwrap_or(0)
}
