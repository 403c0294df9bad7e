//! The default book is good; of a broken one all faults are said in one pass, each at its line and column.

use super::*;

const SMALL: &str = r#"format: 1
name: small
issuer: me
currency: USD
month: calendar
weights: compute
rounding: half-up
rates:
  - {model: A100-SXM4-80GB, kind: on-demand, amount: 0.50, per: hour, source: s, confidence: high}
"#;

fn at(text: &str) -> Seconds {
    text.parse().expect("a time")
}

fn faults(text: &str) -> Vec<(usize, usize, &'static str)> {
    let problems = PriceBook::read(text).expect_err("broken");
    assert!(
        problems
            .iter()
            .all(|it| !it.message.is_empty() && !it.help.is_empty()),
        "{problems:?}"
    );
    problems
        .iter()
        .map(|it| (it.line, it.column, it.rule))
        .collect()
}

#[test]
fn the_default_book_is_good_and_each_price_says_where_it_is_from() {
    let book = PriceBook::read(PriceBook::DEFAULT).unwrap_or_else(|it| panic!("{it:#?}"));
    assert!(book.rates.len() > 10);
    let rate = |model, kind| {
        book.rate(model, None, kind, at("2026-11-01"))
            .and_then(|it| it.price)
    };
    let cost = rate("A100-SXM4-80GB", Kind::Cost).expect("a price");
    assert_eq!(cost.to_string(), "1559/month");
    // The driver's name for the product is as good as the catalogue's.
    assert_eq!(rate("NVIDIA A100-SXM4-80GB", Kind::Cost), Some(cost));
    assert_eq!(rate("RTX-4000-SFF-ADA", Kind::OnDemand), None);
    assert_eq!(rate("T4", Kind::OnDemand), None);
}

/// The committed schema is what the types say; `UPDATE_SCHEMA=1` writes it anew.
#[test]
fn the_schema_is_in_step() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/price-book.schema.json");
    let schema = format!("{:#}\n", PriceBook::schema().to_value());
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &schema).expect("written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == schema,
        "data/price-book.schema.json is out of step: run this test once with UPDATE_SCHEMA=1"
    );
}

#[test]
fn all_faults_are_said_in_one_pass_with_line_and_column() {
    let broken = r#"format: 2
name: " "
issuer: me
curency: USD
currency: usd
month: 31d
weights: explicit
rounding: half-even
rates:
  - {model: A100-SXM4-80GB, kind: on-demand, amount: 1e3, per: hour, source: s, confidence: high}
  - {model: A100-SXM4-80G, kind: cost, amount: -5, per: year, source: s, confidence: high}
  - {model: A100-SXM4-80GB, profile: 9g.90gb, kind: spot, amount: true, per: hour, source: "", confidence: sure}
  - {model: A100-SXM4-80GB, kind: on-demand, per: hour, step: 0, currency: EUR, source: s, confidence: high}
  - {model: L4, kind: cost, amount: 1, per: hour, cap: 5, from: 2026-13-01, source: s}
fx:
  - {from: EUR, to: EUR, day: 2026-11-01, rate: 0, source: s}
discounts:
  - {tenant: a, percent: 110, from: 2026-11-02, until: 2026-11-01}
  - {tenant: a, percent: 10}
"#;
    assert_eq!(
        faults(broken),
        [
            (1, 9, "format"),
            (2, 7, "empty"),
            (4, 1, "key"),
            (5, 11, "currency"),
            (6, 8, "choice"),
            (7, 10, "weights"),
            (10, 54, "number"),
            (11, 13, "model"),
            (11, 48, "range"),
            (11, 57, "choice"),
            (12, 38, "profile"),
            (12, 67, "type"),
            (12, 92, "empty"),
            (12, 108, "choice"),
            (13, 6, "amount"),
            (13, 6, "twice"),
            (13, 63, "range"),
            (14, 6, "missing"),
            (14, 51, "cost"),
            (14, 65, "date"),
            (16, 21, "fx"),
            (16, 49, "range"),
            (18, 26, "range"),
            (18, 56, "date"),
            (19, 6, "twice"),
        ]
    );
}

#[test]
fn of_two_equal_prices_one_is_too_many() {
    let line = SMALL.lines().last().expect("a line");
    let twice = format!("{SMALL}{line}\n");
    assert_eq!(faults(&twice), [(10, 6, "twice")]);
    let later = twice.trim_end().trim_end_matches('}').to_owned() + ", from: 2026-12-01}\n";
    let book = PriceBook::read(&later).unwrap_or_else(|it| panic!("{it:#?}"));
    assert_eq!(book.changes(), [at("2026-12-01")]);
}

#[test]
fn what_is_no_yaml_or_no_book_is_said_too() {
    assert_eq!(faults("")[0].2, "yaml");
    assert_eq!(faults("rates: [")[0].2, "yaml");
    assert_eq!(faults("- 1\n"), [(1, 1, "type")]);
    assert_eq!(
        faults(&format!("{SMALL}name: other\n")),
        [(10, 1, "duplicate-key")]
    );
}

#[test]
fn the_price_of_a_partition_goes_before_that_of_the_card_and_the_latest_before_the_first() {
    let book = format!(
        "{SMALL}{}",
        r#"  - {model: A100-SXM4-80GB, kind: on-demand, amount: 0.60, per: hour, from: 2026-11-10, source: s, confidence: high}
  - {model: A100-SXM4-80GB, profile: 1g.10gb, kind: on-demand, amount: 0.10, per: hour, source: s, confidence: high}
fx: [{from: EUR, to: USD, day: 2026-05-27, rate: 1.1637, source: s}, {from: EUR, to: USD, day: 2026-06-01, rate: 1.2, source: s}]
discounts: [{tenant: a, percent: 10, from: 2026-11-01, until: 2026-12-01}]
"#
    );
    let book = PriceBook::read(&book).unwrap_or_else(|it| panic!("{it:#?}"));
    let rate = |profile, day| {
        let rate = book.rate("A100-SXM4-80GB", profile, Kind::OnDemand, at(day));
        rate.and_then(|it| it.price).map(|it| it.to_string())
    };
    assert_eq!(rate(None, "2026-11-09").as_deref(), Some("0.5/hour"));
    assert_eq!(
        rate(Some("2g.20gb"), "2026-11-10").as_deref(),
        Some("0.6/hour")
    );
    assert_eq!(
        rate(Some("1g.10gb"), "2026-11-10").as_deref(),
        Some("0.1/hour")
    );
    let eur = "EUR".parse().expect("a currency");
    assert_eq!(book.exchange(eur, at("2026-05-26")), None);
    assert_eq!(
        book.exchange(eur, at("2026-05-31")).map(|it| it.rate),
        "1.1637".parse().ok()
    );
    assert_eq!(
        book.exchange(eur, at("2026-06-01")).map(|it| it.rate),
        "1.2".parse().ok()
    );
    assert_eq!(
        book.discount("a", at("2026-11-30")),
        Ratio::new(1, 10).expect("fits")
    );
    assert_eq!(book.discount("a", at("2026-12-01")), Ratio::ZERO);
    assert_eq!(book.digest.len(), 64);
}
