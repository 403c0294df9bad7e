//! Invoices: sums, corrections, the same bytes again, and that all forms say the same amounts.

use super::*;
use crate::charge::price;
use crate::entry::Entry;
use crate::testing::*;

const RATES: [&str; 2] = [
    "kind: cost, amount: 1559, per: month",
    "kind: on-demand, amount: 1.71, per: hour",
];

fn november() -> Span {
    month("2026-11")
}

fn part() -> Span {
    span("2026-11-03T10:00:00Z", "2026-11-20T12:30:10Z")
}

fn entries() -> Vec<Entry> {
    let mut all = sevenths(3, part());
    let late = span("2026-11-20T12:30:10Z", "2026-12-02");
    all.extend(sevenths(5, late));
    all
}

#[test]
fn case_50_the_same_inputs_give_the_same_bytes_and_others_another_id() {
    let book = book("", &RATES);
    let one = invoiced(&entries(), &book, november());
    let mut turned = entries();
    turned.reverse();
    let again = invoiced(&turned, &book, november());
    assert_eq!(one.json(), again.json());
    assert_eq!(one.html().expect("fits"), again.html().expect("fits"));
    assert_eq!(Invoice::read(&one.json()), Ok(one.clone()));
    let dearer = crate::testing::book("", &[RATES[0], "kind: on-demand, amount: 1.72, per: hour"]);
    let other = invoiced(&entries(), &dearer, november());
    assert_ne!(other.id, one.id);
    assert_ne!(other.inputs.book_digest, one.inputs.book_digest);
    assert_eq!(other.inputs.entries_digest, one.inputs.entries_digest);
    let mut more = entries();
    more[0].share = ratio("1/8");
    assert_ne!(
        invoiced(&more, &book, november()).inputs.entries_digest,
        one.inputs.entries_digest
    );
    let future = one.json().replacen("\"format\": 1", "\"format\": 2", 1);
    assert!(
        Invoice::read(&future)
            .expect_err("refused")
            .contains("format 2")
    );
}

#[test]
fn case_35_text_html_csv_json_and_metrics_say_the_same_amounts() {
    let invoice = invoiced(&entries(), &book("", &RATES), november());
    let total = invoice.totals.billed.to_string();
    let (text, html) = (invoice.text(), invoice.html().expect("fits"));
    for shown in [&text, &html] {
        assert!(shown.contains(&total), "{shown}");
    }
    let csv = invoice.csv().expect("written");
    let mut reader = ::csv::Reader::from_reader(csv.as_bytes());
    let column = reader
        .headers()
        .expect("a head")
        .iter()
        .position(|it| it == "billed")
        .expect("billed");
    let mut sum = Ratio::ZERO;
    for record in reader.records() {
        sum = sum
            .plus(ratio(record.expect("a row").get(column).expect("a cell")))
            .expect("fits");
    }
    assert_eq!(sum, ratio(&total));
    let metrics = invoice.openmetrics().expect("fits");
    assert!(
        metrics.contains(&format!("sliceproof_billed{{currency=\"USD\"}} {total}\n")),
        "{metrics}"
    );
    assert!(metrics.ends_with("# EOF\n"));
    for line in &invoice.lines {
        for shown in [&text, &html, &csv] {
            assert!(shown.contains(&line.billed.to_string()), "{shown}");
        }
    }
    let mut of_cards = 0;
    for sum in &invoice.cards {
        assert_eq!(
            sum.by_kind.values().map(|it| it.units).sum::<i128>(),
            sum.cost.units
        );
        of_cards += sum.cost.units;
    }
    assert_eq!(of_cards, invoice.totals.cost.units);
}

#[test]
fn a_tenant_is_sent_its_own_lines_and_all_tenants_are_all() {
    let mut all = entries();
    if let crate::entry::Bucket::Sold(holder) = &mut all[0].bucket {
        holder.namespace = "green".to_owned();
    }
    let statement = invoiced(&all, &book("", &RATES), november());
    assert_eq!(statement.tenants(), ["blue", "green"]);
    let each = statement
        .tenants()
        .into_iter()
        .map(|it| statement.of_tenant(it).expect("fits"));
    let each: Vec<Invoice> = each.collect();
    assert_eq!(
        each.iter().map(|it| it.totals.billed.units).sum::<i128>(),
        statement.totals.billed.units
    );
    assert_ne!(each[0].id, each[1].id);
    assert!(
        each.iter().all(
            |it| it.cards.is_empty() && it.lines.iter().all(|line| line.kind == LineKind::Sold)
        )
    );
    assert!(each[0].text().starts_with("Invoice"));
}

#[test]
fn case_20_what_comes_late_is_a_signed_row_of_the_next_period() {
    let book = book("", &RATES);
    let issued = invoiced(&entries(), &book, november());
    let before = issued.json();
    // The fourth claim's end came late: it had its device an hour longer, and the third's an hour shorter.
    let mut late = entries();
    let hour = span("2026-11-20T12:30:10Z", "2026-11-20T13:30:10Z");
    let again = span("2026-11-20T13:30:10Z", "2026-12-02");
    late.retain(|it| it.span.from() != hour.from());
    late.extend(sevenths(2, hour));
    late.extend(sevenths(5, again));
    let now = invoiced(&late, &book, november());
    let rows = corrections(&issued, &[], &now).expect("corrected");
    assert!(
        rows.iter().any(|it| it.billed.units < 0),
        "three claims had it an hour less"
    );
    assert!(rows.iter().all(|it| {
        it.correction
            .as_ref()
            .is_some_and(|of| of.invoice == issued.id && of.period == november())
    }));
    let sum: i128 = rows.iter().map(|it| it.billed.units).sum();
    assert_eq!(issued.totals.billed.units + sum, now.totals.billed.units);
    assert_eq!(
        rows.iter().map(|it| it.cost.units).sum::<i128>(),
        0,
        "the card costs the same"
    );
    let december = month("2026-12");
    let charges = price(late.clone(), &book, december, Lines::Claim).expect("charged");
    let next = Invoice::new(charges, rows, &book, december, Lines::Claim, None).expect("fits");
    assert_eq!(next.totals.corrections.units, sum);
    assert!(next.text().contains("correction of"), "{}", next.text());
    assert_eq!(issued.json(), before, "what was issued stays");
    // Corrected once, there is nothing left to correct.
    assert_eq!(corrections(&issued, &[next], &now).expect("corrected"), []);
    let eur = Invoice {
        currency: "EUR".parse().expect("a currency"),
        ..now
    };
    assert!(matches!(
        corrections(&issued, &[], &eur),
        Err(CorrectError::Currency { .. })
    ));
}

#[test]
fn a_charge_explains_itself() {
    let invoice = invoiced(&entries(), &book("", &RATES), november());
    let text = invoice.explain("u-1").expect("has lines");
    for part in [
        "claim blue/claim-u-1",
        "1.71/hour USD",
        "share-seconds",
        "exactly",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(invoice.explain("u-99"), None);
}

#[test]
fn lines_by_tenant_are_few_and_cost_the_same() {
    let book = book("", &RATES);
    let charges = price(entries(), &book, november(), Lines::Tenant).expect("charged");
    let few =
        Invoice::new(charges, Vec::new(), &book, november(), Lines::Tenant, None).expect("fits");
    let many = invoiced(&entries(), &book, november());
    assert_eq!(few.totals.cost, many.totals.cost);
    assert_eq!(few.totals.billed, many.totals.billed);
    assert_eq!(
        few.lines
            .iter()
            .filter(|it| it.kind == LineKind::Sold)
            .count(),
        1
    );
}
