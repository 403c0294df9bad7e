//! Our own rules of the specification, over files of invoices with all that there is: sold, spot, idle, corrections, showback.

use std::collections::HashMap;

use super::*;
use crate::charge::Lines;
use crate::entry::Bucket;
use crate::invoice::corrections;
use crate::testing::*;
use crate::time::Seconds;

type Table = Vec<HashMap<String, String>>;

fn table(text: &str) -> Table {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().expect("a head").clone();
    let row = |record: csv::StringRecord| {
        head.iter()
            .map(str::to_owned)
            .zip(record.iter().map(str::to_owned))
            .collect()
    };
    reader.records().map(|it| row(it.expect("a row"))).collect()
}

fn invoices() -> Vec<Invoice> {
    let sale = book(
        "discounts: [{tenant: blue, percent: 10}]\nfx: [{from: EUR, to: USD, day: 2026-05-27, rate: 1.1637, source: s}]",
        &[
            "kind: cost, amount: 1559, per: month",
            "kind: on-demand, amount: 1.71, per: hour",
            "kind: spot, amount: 0.99, per: hour, currency: EUR",
            "kind: on-demand, profile: 2g.20gb, amount: 0.50, per: hour, step: 3600",
        ],
    );
    let showback = book("", &["kind: cost, amount: 1559, per: month"]);
    let november = month("2026-11");
    let mut entries = sevenths(2, span("2026-11-03T10:00:00Z", "2026-11-20T12:30:10Z"));
    let mut spot = sold(
        "u-8",
        "1/7",
        span("2026-11-20T12:30:10Z", "2026-11-29T12:30:11Z"),
    );
    if let Bucket::Sold(holder) = &mut spot.bucket {
        holder.spot = true;
    }
    let mut flat = sold("u-9", "2/7", span("2026-11-21", "2026-11-21T00:00:07Z"));
    flat.profile = Some("2g.20gb".to_owned());
    entries.extend([spot, flat]);
    let issued = invoiced(&entries, &sale, november);
    let mut late = entries.clone();
    late.pop();
    let rows = corrections(&issued, &[], &invoiced(&late, &sale, november)).expect("corrected");
    assert!(!rows.is_empty());
    let december = month("2026-12");
    let charges = crate::charge::price(
        sevenths(3, span("2026-12-01", "2026-12-09")),
        &sale,
        december,
        Lines::Claim,
    )
    .expect("charged");
    let corrected = Invoice::new(charges, rows, &sale, december, Lines::Claim, None).expect("fits");
    vec![issued, corrected, invoiced(&entries, &showback, november)]
}

#[test]
fn version_1_2_has_all_mandatory_columns_and_nothing_is_empty_that_may_not_be() {
    for invoice in invoices() {
        for version in [Version::V1_2, Version::V1_3] {
            let rows = table(&focus(&invoice, version).expect("written"));
            assert_eq!(rows.len(), invoice.lines.len());
            for row in &rows {
                for (column, may_be_empty) in MANDATORY {
                    let value = row.get(column).unwrap_or_else(|| panic!("no {column}"));
                    assert!(may_be_empty || !value.is_empty(), "{column}: {row:?}");
                }
                let own = row.keys().filter(|it| it.starts_with("x_"));
                assert!(
                    own.clone().count() > 5
                        && own
                            .clone()
                            .all(|it| it[2..].starts_with(|c: char| c.is_ascii_uppercase()))
                );
            }
        }
    }
}

#[test]
fn values_are_of_the_kinds_that_the_specification_allows() {
    let number = regex();
    for invoice in invoices() {
        for row in table(&focus(&invoice, Version::V1_2).expect("written")) {
            for column in [
                "BilledCost",
                "ListCost",
                "ContractedCost",
                "EffectiveCost",
                "PricingQuantity",
                "ListUnitPrice",
                "ContractedUnitPrice",
                "ConsumedQuantity",
            ] {
                assert!(
                    row[column].is_empty() || number(&row[column]),
                    "{column}: {}",
                    row[column]
                );
            }
            let at = |column: &str| row[column].parse::<Seconds>().expect("a time in UTC");
            assert!(at("ChargePeriodStart") < at("ChargePeriodEnd"));
            let correction = row["ChargeClass"] == "Correction";
            assert!(correction || row["ChargeClass"].is_empty());
            // A correction is of an earlier period; all else lies in its own.
            let inside = at("ChargePeriodStart") >= at("BillingPeriodStart")
                && at("ChargePeriodEnd") <= at("BillingPeriodEnd");
            assert_eq!(inside, !correction);
            assert!(!correction || at("ChargePeriodEnd") <= at("BillingPeriodStart"));
            assert_eq!(row["ChargeCategory"], "Usage");
            assert_eq!(row["ServiceCategory"], "Compute");
            assert!(row["BillingCurrency"].len() == 3);
            assert!(row["BilledCost"].starts_with('-') <= correction, "{row:?}");
        }
    }
}

/// Digits with a point and at most a sign before them; no separators.
fn regex() -> impl Fn(&str) -> bool {
    |text: &str| {
        let plain = text.strip_prefix('-').unwrap_or(text);
        let (before, after) = plain.split_once('.').unwrap_or((plain, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
        digits(before) && digits(after)
    }
}

#[test]
fn a_cost_is_its_unit_price_times_its_quantity_to_the_smallest_unit() {
    let unit = ratio("0.01");
    let mut seen = 0;
    for invoice in invoices() {
        for row in table(&focus(&invoice, Version::V1_2).expect("written")) {
            for (cost, price) in [
                ("ListCost", "ListUnitPrice"),
                ("ContractedCost", "ContractedUnitPrice"),
            ] {
                if row["ChargeClass"] == "Correction" || row[price].is_empty() {
                    continue;
                }
                let product = ratio(&row[price])
                    .times(ratio(&row["PricingQuantity"]))
                    .expect("fits");
                let off = product.minus(ratio(&row[cost])).expect("fits");
                assert!(off < unit && off > unit.negated(), "{cost}: {row:?}");
                seen += usize::from(row[cost] != "0.00");
            }
        }
    }
    assert!(seen > 10);
}

#[test]
fn billed_costs_of_an_invoice_are_what_is_payable_and_showback_bills_nothing() {
    let all = invoices();
    for invoice in &all {
        let rows = table(&focus(invoice, Version::V1_2).expect("written"));
        assert!(rows.iter().all(|it| it["InvoiceId"] == invoice.id));
        let sum = |column: &str| {
            rows.iter().fold(Ratio::ZERO, |sum, it| {
                sum.plus(ratio(&it[column])).expect("fits")
            })
        };
        let showback = invoice.lines.iter().any(|it| it.showback);
        let payable = if showback {
            "0.00".to_owned()
        } else {
            invoice.totals.billed.to_string()
        };
        assert_eq!(sum("BilledCost"), ratio(&payable));
        if showback {
            assert_eq!(
                sum("EffectiveCost"),
                ratio(&invoice.totals.cost.to_string())
            );
        }
        assert_eq!(sum("x_CardCost"), ratio(&invoice.totals.cost.to_string()));
    }
    assert!(
        all.iter()
            .any(|it| it.lines.iter().any(|line| line.showback))
    );
}

#[test]
fn version_1_3_names_providers_and_the_ratios_of_a_card_are_exactly_1() {
    for invoice in invoices() {
        let rows = table(&focus(&invoice, Version::V1_3).expect("written"));
        let mut sums: HashMap<String, Ratio> = HashMap::new();
        for row in &rows {
            assert!(!row["ServiceProviderName"].is_empty() && !row["HostProviderName"].is_empty());
            let details = &row["AllocatedMethodDetails"];
            assert_eq!(details.is_empty(), row["AllocatedMethodId"].is_empty());
            if details.is_empty() {
                continue;
            }
            let json: serde_json::Value = serde_json::from_str(details).expect("JSON");
            assert!(json["Elements"][0]["UsageQuantity"].is_number());
            let written = details
                .split("\"AllocatedRatio\":")
                .nth(1)
                .and_then(|it| it.split(',').next())
                .expect("a ratio");
            let sum = sums.entry(row["AllocatedResourceId"].clone()).or_default();
            *sum = sum.plus(ratio(written)).expect("fits");
        }
        assert!(
            !sums.is_empty() && sums.values().all(|it| *it == Ratio::ONE),
            "{sums:?}"
        );
        let older = table(&focus(&invoice, Version::V1_2).expect("written"));
        assert!(
            older
                .iter()
                .all(|it| !it.contains_key("ServiceProviderName"))
        );
    }
}
