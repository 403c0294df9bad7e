//! The rules of money, each by its number in the notes' table of edge cases.

use proptest::prelude::*;

use super::*;
use crate::entry::Needed;
use crate::testing::*;
use crate::time::Unit;

const HOUR: &str = "kind: on-demand, amount: 7, per: hour";
const NOVEMBER: &str = "2026-11";

fn hour() -> Span {
    span("2026-11-01", "2026-11-01T01:00:00Z")
}

fn fails(entries: &[Entry], book: &PriceBook, period: Span) -> ChargeError {
    price(entries.to_vec(), book, period, Lines::Claim).expect_err("refused")
}

#[test]
fn a_card_at_1559_a_month_in_seven_is_paid_to_the_cent() {
    let book = book("", &["kind: cost, amount: 1559, per: month"]);
    let month = month(NOVEMBER);
    let charges = charged(&sevenths(7, month), &book, month);
    let seats = [
        "222.72", "222.72", "222.72", "222.71", "222.71", "222.71", "222.71",
    ];
    assert_eq!(billed(&charges), seats);
    assert_eq!(costs(&charges), 155_900);
}

#[test]
fn case_1_a_partition_is_not_billed_as_the_card() {
    let charges = charged(&sevenths(1, hour()), &book("", &[HOUR]), hour());
    // 7 x 1/7 x 3600 s / 3600.
    assert_eq!(billed(&charges), ["1.00"]);
    let half = span("2026-11-01", "2026-11-01T00:30:00Z");
    let charges = charged(&[sold("u-1", "1/7", half)], &book("", &[HOUR]), hour());
    assert_eq!(billed(&charges), ["0.50"]);
}

#[test]
fn case_3_sold_idle_and_stranded_are_the_card_by_any_weight() {
    for (sold_share, stranded) in [("1/7", "0"), ("1/8", "1/8")] {
        let mut entries: Vec<Entry> = ["1", "2", "3", "4", "5", "6", "7"]
            .map(|uid| sold(uid, sold_share, hour()))
            .into();
        entries.push(entry(Bucket::Stranded, stranded, hour()));
        let charges = charged(&entries, &book("", &[HOUR]), hour());
        assert_eq!(costs(&charges), 700, "{sold_share}");
        assert_eq!(of_kind(&charges, LineKind::Unmetered).len(), 0);
    }
    // More than the card has is refused, as by the greater of both weights: 4/7 beside 1/2.
    let both = [sold("u-1", "4/7", hour()), sold("u-2", "1/2", hour())];
    assert!(matches!(
        fails(&both, &book("", &[HOUR]), hour()),
        ChargeError::OverCapacity { .. }
    ));
}

#[test]
fn case_7_the_tenant_pays_for_what_it_was_given_or_for_what_it_needs_as_the_book_says() {
    let mut big = sold("u-1", "3/7", hour());
    big.profile = Some("3g.40gb".to_owned());
    big.needed = Some(Needed {
        profile: "1g.10gb".to_owned(),
        share: ratio("1/7"),
    });
    for (policy, amount) in [("given", "3.00"), ("needed", "1.00")] {
        let book = book(&format!("misallocation: {policy}"), &[HOUR]);
        let charges = charged(&[big.clone()], &book, hour());
        assert_eq!(billed(&charges), [amount]);
        let line = of_kind(&charges, LineKind::Sold)[0];
        assert_eq!(
            line.misallocated,
            Some(ratio("2")),
            "the difference is shown either way"
        );
    }
}

#[test]
fn case_9_a_shared_claim_is_one_charge_split_over_its_pods() {
    let mut shared = sold("u-1", "1/7", hour());
    if let Bucket::Sold(holder) = &mut shared.bucket {
        holder.consumers = vec![pod("c"), pod("a"), pod("b")];
    }
    let charges = charged(&[shared], &book("", &[HOUR]), hour());
    assert_eq!(billed(&charges), ["1.00"]);
    let paid: Vec<(String, String)> = of_kind(&charges, LineKind::Sold)[0]
        .consumers
        .iter()
        .map(|it| (it.uid.clone(), it.billed.to_string()))
        .collect();
    let expected = [("pod-a", "0.34"), ("pod-b", "0.33"), ("pod-c", "0.33")];
    assert_eq!(
        paid,
        expected.map(|(uid, amount)| (uid.to_owned(), amount.to_owned()))
    );
}

#[test]
fn case_10_administrative_access_costs_nothing_and_is_in_no_sum() {
    let mut admin = sold("u-9", "0", hour());
    admin.overlay = true;
    let mut entries = sevenths(3, hour());
    let without = charged(&entries, &book("", &[HOUR]), hour());
    entries.push(admin);
    let with = charged(&entries, &book("", &[HOUR]), hour());
    let line = of_kind(&with, LineKind::Administrative)[0];
    assert_eq!((line.billed.units, line.cost.units), (0, 0));
    assert_eq!(costs(&with), costs(&without));
    assert_eq!(billed(&with), billed(&without));
}

#[test]
fn cases_11_and_12_a_device_that_no_pod_uses_is_blocked_and_billed_unless_the_book_excludes_it() {
    let mut waits = sold("u-1", "1/7", hour());
    if let Bucket::Sold(holder) = &mut waits.bucket {
        holder.consumers.clear();
    }
    for (policy, amount) in [("billed", "1.00"), ("excluded", "0.00")] {
        let charges = charged(
            &[waits.clone()],
            &book(&format!("unreserved: {policy}"), &[HOUR]),
            hour(),
        );
        assert_eq!(billed(&charges), [amount]);
        assert_eq!(
            of_kind(&charges, LineKind::Sold)[0].cost.to_string(),
            "1.00",
            "it is blocked either way"
        );
    }
}

#[test]
fn case_15_a_false_entry_is_refused_and_nothing_is_charged() {
    let line = r#"{"card": {"pool": "n", "name": "g", "model": "m"}, "bucket": "idle", "share": "1",
        "span": {"from": "2026-11-02T00:00:00Z", "until": "2026-11-01T00:00:00Z"}}"#;
    assert!(serde_json::from_str::<Entry>(line).is_err());
    let negative = entry(Bucket::Idle, "-1/7", hour());
    assert!(matches!(
        fails(&[negative], &book("", &[HOUR]), hour()),
        ChargeError::Entry(EntryError::Share { .. })
    ));
}

#[test]
fn case_27_a_month_costs_its_price_whatever_its_length() {
    let card = book("", &["kind: cost, amount: 1559, per: month"]);
    for name in ["2026-02", "2026-04", "2026-12", "2028-02"] {
        let month = month(name);
        let charges = charged(&sevenths(7, month), &card, month);
        assert_eq!(costs(&charges), 155_900, "{name}");
    }
    // In a month of 730 h a price of 730 a month is one an hour: 672 in 28 days.
    let text = "format: 1\nname: t\nissuer: me\ncurrency: USD\nmonth: 730h\nweights: compute\nrounding: half-even\nrates:\n  - {model: A100-SXM4-80GB, kind: cost, amount: 730, per: month, source: s, confidence: high}\n";
    let fixed = PriceBook::read(text).expect("good");
    let february = month("2026-02");
    assert_eq!(
        costs(&charged(&sevenths(7, february), &fixed, february)),
        67_200
    );
}

#[test]
fn case_28_a_price_change_inside_a_stretch_splits_it() {
    let book = book(
        "",
        &[
            HOUR,
            "kind: on-demand, amount: 14, per: hour, from: 2026-11-01T00:30:00Z",
        ],
    );
    let charges = charged(&sevenths(1, hour()), &book, hour());
    assert_eq!(billed(&charges), ["0.50", "1.00"]);
    let seconds: Vec<i64> = of_kind(&charges, LineKind::Sold)
        .iter()
        .map(|it| it.seconds)
        .collect();
    assert_eq!(seconds, [1800, 1800]);
}

#[test]
fn case_31_what_nobody_has_always_has_a_row_and_all_rows_are_the_card() {
    for count in [0, 3, 7] {
        let charges = charged(&sevenths(count, hour()), &book("", &[HOUR]), hour());
        for kind in [LineKind::Idle, LineKind::Stranded, LineKind::OutOfService] {
            assert_eq!(of_kind(&charges, kind).len(), 1, "{kind:?}");
        }
        assert_eq!(costs(&charges), 700);
    }
    // What the ledger does not say is not lost either.
    let (first, last) = (
        span("2026-11-01", "2026-11-01T00:15:00Z"),
        span("2026-11-01T00:45:00Z", "2026-11-01T01:00:00Z"),
    );
    let gap = [
        entry(Bucket::Idle, "1", first),
        entry(Bucket::Idle, "1", last),
    ];
    let charges = charged(&gap, &book("", &[HOUR]), hour());
    assert_eq!(
        of_kind(&charges, LineKind::Unmetered)[0].cost.to_string(),
        "3.50"
    );
    assert_eq!(costs(&charges), 700);
}

#[test]
fn case_32_idle_that_is_spread_is_spread_to_the_cent_and_without_claims_it_stays() {
    let spread = book("idle: spread", &[HOUR]);
    let charges = charged(&sevenths(3, hour()), &spread, hour());
    let lines = of_kind(&charges, LineKind::Sold);
    // 4.00 idle over three.
    let got: Vec<i128> = lines
        .iter()
        .filter_map(|it| it.spread)
        .map(|it| it.units)
        .collect();
    assert_eq!(got, [134, 133, 133]);
    assert_eq!(of_kind(&charges, LineKind::Idle)[0].cost.units, 0);
    assert_eq!(costs(&charges), 700);
    let alone = charged(&sevenths(0, hour()), &spread, hour());
    assert_eq!(of_kind(&alone, LineKind::Idle)[0].cost.units, 700);
}

#[test]
fn case_34_price_in_is_price_out() {
    let mut whole = sold("u-1", "1", hour());
    whole.profile = None;
    let charges = charged(
        &[whole],
        &book("", &["kind: on-demand, amount: 2.71, per: hour"]),
        hour(),
    );
    assert_eq!(billed(&charges), ["2.71"]);
    // A price of a partition is that of the partition, whatever its weight.
    let seat = book(
        "",
        &[
            "kind: cost, amount: 1, per: hour",
            "kind: on-demand, profile: 1g.10gb, amount: 0.50, per: hour",
        ],
    );
    assert_eq!(
        billed(&charged(&sevenths(1, hour()), &seat, hour())),
        ["0.50"]
    );
}

#[test]
fn three_seats_sold_at_half_a_dollar_leave_464_less_than_the_card_costs() {
    let text = "format: 1\nname: t\nissuer: me\ncurrency: USD\nmonth: 730h\nweights: compute\nrounding: half-even\nrates:\n  - {model: A100-SXM4-80GB, kind: cost, amount: 1559, per: month, source: s, confidence: given}\n  - {model: A100-SXM4-80GB, profile: 1g.10gb, kind: on-demand, amount: 0.50, per: hour, source: s, confidence: given}\n";
    let book = PriceBook::read(text).expect("good");
    let from = at("2026-11-01");
    let period = Span::new(
        from,
        Seconds::new(from.get() + 730 * 3600).expect("in range"),
    )
    .expect("forwards");
    let charges = charged(&sevenths(3, period), &book, period);
    assert_eq!(billed(&charges), ["365.00", "365.00", "365.00"]);
    assert_eq!(costs(&charges), 155_900);
    let sum: i128 = charges.lines.iter().map(|it| it.billed.units).sum();
    assert_eq!(sum - costs(&charges), -46_400);
}

#[test]
fn case_48_steps_minimums_and_caps_are_those_of_the_claim() {
    let short = span("2026-11-01", "2026-11-01T00:00:10Z");
    for (rate, amount, added) in [
        ("minimum: 60", "0.02", 50),
        ("step: 3600", "1.00", 3590),
        ("step: 3600, cap: 0.75", "0.75", 3590),
    ] {
        let book = book("", &[&format!("{HOUR}, {rate}")]);
        let charges = charged(&[sold("u-1", "1/7", short)], &book, hour());
        assert_eq!(billed(&charges), [amount], "{rate}");
        assert_eq!(
            of_kind(&charges, LineKind::Sold)[0].added_seconds,
            added,
            "{rate}"
        );
        let tenants = price([sold("u-1", "1/7", short)], &book, hour(), Lines::Tenant);
        assert!(matches!(tenants, Err(ChargeError::ByClaim { .. })));
    }
    // A price change does not begin a second step.
    let book = book(
        "",
        &[
            "kind: on-demand, amount: 7, per: hour, step: 3600",
            "kind: on-demand, amount: 14, per: hour, step: 3600, from: 2026-11-01T00:30:00Z",
        ],
    );
    assert_eq!(
        billed(&charged(&sevenths(1, hour()), &book, hour())),
        ["0.50", "1.00"]
    );
}

#[test]
fn case_49_an_exchange_rate_has_a_day_and_stands_on_the_row() {
    let rates = "fx: [{from: EUR, to: USD, day: 2026-05-27, rate: 1.08, source: s}, {from: EUR, to: USD, day: 2026-11-01T00:30:00Z, rate: 1.1637, source: s}]";
    let book = book(
        rates,
        &["kind: on-demand, amount: 700, per: hour, currency: EUR"],
    );
    let charges = charged(&sevenths(1, hour()), &book, hour());
    assert_eq!(
        billed(&charges),
        ["54.00", "58.18"],
        "50 x 1.08, and 50 x 1.1637 = 58.185 half-even"
    );
    let line = of_kind(&charges, LineKind::Sold)[1];
    let exchange = line.exchange.as_ref().expect("exchanged");
    assert_eq!(
        (exchange.from.as_str(), exchange.rate, exchange.on),
        ("EUR", ratio("1.1637"), at("2026-11-01T00:30:00Z"))
    );
    let early = span("2026-05-01", "2026-05-01T01:00:00Z");
    assert!(matches!(
        fails(&sevenths(1, early), &book, early),
        ChargeError::NoExchange { .. }
    ));
}

#[test]
fn discounts_and_spot_are_the_tenants() {
    let book = book(
        "discounts: [{tenant: blue, percent: 10}]",
        &[HOUR, "kind: spot, amount: 3.50, per: hour"],
    );
    let mut spot = sold("u-2", "1/7", hour());
    if let Bucket::Sold(holder) = &mut spot.bucket {
        holder.spot = true;
        holder.namespace = "green".to_owned();
    }
    let charges = charged(&[sold("u-1", "1/7", hour()), spot], &book, hour());
    assert_eq!(billed(&charges), ["0.90", "0.50"]);
}

#[test]
fn a_price_that_the_book_lacks_is_an_error_and_not_nothing() {
    let mut other = sold("u-1", "1/7", hour());
    other.card.model = "T4".to_owned();
    let error = fails(&[other], &book("", &[HOUR]), hour());
    assert!(
        error
            .to_string()
            .contains("no cost or on-demand price of a T4"),
        "{error}"
    );
    let mut spot = sold("u-1", "1/7", hour());
    if let Bucket::Sold(holder) = &mut spot.bucket {
        holder.spot = true;
    }
    assert!(
        fails(&[spot], &book("", &[HOUR]), hour())
            .to_string()
            .contains("no spot price")
    );
}

/// A card's history: cuts of an hour, and for each stretch how many sevenths are sold and stranded.
fn history() -> impl Strategy<Value = Vec<(u8, u8, u16)>> {
    prop::collection::vec((0_u8..=7, 0_u8..=7, 1_u16..900), 1..12)
}

fn entries_of(history: &[(u8, u8, u16)]) -> Vec<Entry> {
    let mut from = at("2026-10-31T23:00:00Z");
    let mut all = Vec::new();
    for (sold_count, stranded, seconds) in history {
        let until = Seconds::new(from.get() + i64::from(*seconds)).expect("in range");
        let stretch = Span::new(from, until).expect("forwards");
        let stranded = (*stranded).min(7 - sold_count);
        for seat in 0..*sold_count {
            all.push(sold(&format!("u-{seat}"), "1/7", stretch));
        }
        let idle = 7 - sold_count - stranded;
        for (bucket, count) in [(Bucket::Stranded, stranded), (Bucket::Idle, idle)] {
            if count > 0 {
                all.push(entry(bucket, &format!("{count}/7"), stretch));
            }
        }
        from = until;
    }
    all
}

proptest! {
    #[test]
    fn the_rows_are_the_total_and_nothing_is_below_zero(history in history(), turn in any::<prop::sample::Index>()) {
        let book = book("discounts: [{tenant: blue, percent: 12.5}]", &["kind: cost, amount: 1559, per: month", "kind: on-demand, amount: 1.71, per: hour", "kind: on-demand, amount: 2.22, per: hour, from: 2026-11-01"]);
        let entries = entries_of(&history);
        let period = span("2026-10-01", "2026-12-01");
        let charges = charged(&entries, &book, period);
        let seconds: i64 = history.iter().map(|it| i64::from(it.2)).sum();
        let mut held = Ratio::ZERO;
        let mut exactly = Ratio::ZERO;
        for line in &charges.lines {
            prop_assert!(line.billed.units >= 0 && line.cost.units >= 0 && line.list.units >= 0);
            held = held.plus(line.share_seconds).expect("fits");
            exactly = exactly.plus(line.cost_exactly).expect("fits");
        }
        prop_assert_eq!(held, Ratio::whole(seconds), "sold + idle + stranded = the card's time");
        prop_assert_eq!(costs(&charges), exactly.rounded(2, book.rounding).expect("fits"));
        // In any order, the same lines and the same digest.
        let mut turned = entries.clone();
        turned.rotate_left(turn.index(entries.len()));
        turned.reverse();
        prop_assert_eq!(charged(&turned, &book, period), charges);
    }

    #[test]
    fn case_26_splitting_the_period_anywhere_changes_nothing(history in history(), at_second in 0_i64..9000) {
        let book = book("", &["kind: cost, amount: 1559, per: month", "kind: on-demand, amount: 1.71, per: hour"]);
        let entries = entries_of(&history);
        let start = at("2026-10-31T23:00:00Z").get();
        let cut = Seconds::new(start + at_second).expect("in range");
        let (from, until) = (at("2026-10-01"), at("2026-12-01"));
        let exactly = |period: Span| {
            let charges = charged(&entries, &book, period);
            let mut sums = (Ratio::ZERO, Ratio::ZERO);
            for line in &charges.lines {
                sums.0 = sums.0.plus(line.exactly).expect("fits");
                sums.1 = sums.1.plus(line.cost_exactly).expect("fits");
            }
            sums
        };
        let whole = exactly(Span::new(from, until).expect("forwards"));
        let (one, other) = (exactly(Span::new(from, cut).expect("forwards")), exactly(Span::new(cut, until).expect("forwards")));
        prop_assert_eq!(one.0.plus(other.0).expect("fits"), whole.0);
        prop_assert_eq!(one.1.plus(other.1).expect("fits"), whole.1);
        // Entries that are cut at each hour are the same lines.
        let cut_up: Vec<Entry> = entries.iter().flat_map(|it| it.span.cut(Unit::Hour).map(|span| Entry { span, ..it.clone() })).collect();
        let period = Span::new(from, until).expect("forwards");
        prop_assert_eq!(charged(&cut_up, &book, period).lines, charged(&entries, &book, period).lines);
    }
}
