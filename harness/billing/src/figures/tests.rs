//! The values are those of the issue and of section 3.3 of the notes on cost; they stand here and nowhere in the code.

use super::*;

fn terms(month: MonthBasis) -> Terms {
    Terms {
        currency: "USD".parse().expect("a currency"),
        month,
        rounding: Rounding::HalfEven,
    }
}

fn price(text: &str) -> Price {
    text.parse().expect("a price")
}

const LONG: MonthBasis = MonthBasis::Hours730;

#[test]
fn a_card_in_seven_seats_and_what_rounding_early_loses() {
    let figure = seats(&price("1559/month"), 7, &terms(LONG)).expect("computed");
    assert_eq!(
        figure.get("a seat, a month"),
        Some("222.72 x 3, 222.71 x 4")
    );
    assert_eq!(figure.get("a seat, an hour"), Some("0.305088"));
    assert_eq!(
        figure.get("each seat rounded alone"),
        Some("222.71 x 7 = 1558.97: 0.03 lost")
    );
    assert_eq!(
        figure.get("the hour rounded to 3 digits"),
        Some("0.305 x 5110 = 1558.55: 0.45 lost")
    );
    assert!(
        figure.to_string().contains("basis: a month of 730 h"),
        "{figure}"
    );
    assert!(seats(&price("1559/month"), 0, &terms(LONG)).is_err());
}

#[test]
fn a_seat_by_the_hour_is_another_sum_in_each_month() {
    let figure = month_of(&price("0.50/h"), &terms(LONG)).expect("computed");
    for (label, sum) in [
        ("a month", "365.00"),
        ("a month of 720 h", "360.00"),
        ("a month of 28 days", "336.00"),
        ("a month of 30 days", "360.00"),
        ("a month of 31 days", "372.00"),
    ] {
        assert_eq!(figure.get(label), Some(sum), "{label}");
    }
}

#[test]
fn break_even_names_its_month() {
    let (card, seat) = (price("1559/month"), price("0.50/h"));
    let long = break_even(&card, 7, &seat, Some(3), &terms(LONG)).expect("computed");
    assert_eq!(long.get("break-even"), Some("4.271 of 7 = 61.02 %"));
    assert_eq!(
        long.get("break-even in a month of 720 h"),
        Some("4.331 of 7 = 61.87 %")
    );
    assert_eq!(long.get("3 sold"), Some("1095.00 - 1559.00 = -464.00"));
    assert_eq!(long.get("4 sold"), Some("1460.00 - 1559.00 = -99.00"));
    assert_eq!(long.get("5 sold"), Some("1825.00 - 1559.00 = 266.00"));
    let short = break_even(&card, 7, &seat, None, &terms(MonthBasis::Hours720)).expect("computed");
    assert_eq!(short.get("break-even"), Some("4.331 of 7 = 61.87 %"));
    let never = break_even(&card, 2, &seat, None, &terms(LONG)).expect("computed");
    assert!(
        never.get("all 2 sold, and it never pays").is_some(),
        "{never}"
    );
    assert!(break_even(&card, 7, &price("0/h"), None, &terms(LONG)).is_err());
    assert!(break_even(&card, 7, &seat, Some(8), &terms(LONG)).is_err());
    assert!(break_even(&card, 7, &seat, None, &terms(MonthBasis::Calendar)).is_err());
}

#[test]
fn a_quarter_by_memory_is_a_seventh_by_compute() {
    let figure =
        split("H100-SXM5-80GB", "1g.20gb", &price("6.88/h"), &terms(LONG)).expect("computed");
    assert_eq!(figure.get("fit on the card"), Some("4"));
    assert_eq!(
        figure.get("by memory slices, 2 of 8"),
        Some("1.72 an hour (25.00 % of the card)")
    );
    assert_eq!(
        figure.get("by compute slices, 1 of 7"),
        Some("0.98 an hour (14.29 % of the card)")
    );
    let spot =
        split("H100-SXM5-80GB", "1g.20gb", &price("2.76/h"), &terms(LONG)).expect("computed");
    assert_eq!(
        spot.get("as one of 4 that fit"),
        Some("0.69 an hour (25.00 % of the card)")
    );
    let none = split("L4", "1g.20gb", &price("2.76/h"), &terms(LONG)).expect("computed");
    assert!(none.to_string().contains("not computable"), "{none}");
    assert!(split("L4000", "1g.20gb", &price("2.76/h"), &terms(LONG)).is_err());
}

#[test]
fn seven_cards_in_seats() {
    let figure = fleet(7, &price("1559/month"), 7, &terms(LONG)).expect("computed");
    assert_eq!(figure.get("all cards, a month"), Some("10913.00"));
    assert_eq!(figure.get("seats"), Some("49"));
    // 10913.00 - 49 x 222.71 = 0.21: twenty-one seats pay a cent more.
    assert_eq!(
        figure.get("a seat, a month"),
        Some("222.72 x 21, 222.71 x 28")
    );
}

#[test]
fn a_shared_card_is_paid_to_the_cent() {
    let tenants = |weights: &[(&str, i64)]| -> Vec<(String, Ratio)> {
        weights
            .iter()
            .map(|(name, weight)| ((*name).to_owned(), Ratio::whole(*weight)))
            .collect()
    };
    let card = price("205/month");
    let figure = shared(
        &card,
        &tenants(&[("a", 1), ("b", 1), ("c", 1)]),
        &terms(LONG),
    )
    .expect("computed");
    // 205.00 / 3 = 68.33 and a cent left, which the lowest name pays.
    assert_eq!(
        (figure.get("a"), figure.get("b"), figure.get("c")),
        (Some("68.34"), Some("68.33"), Some("68.33"))
    );
    let hours = shared(&card, &tenants(&[("a", 500), ("b", 230)]), &terms(LONG)).expect("computed");
    assert_eq!(
        (hours.get("a"), hours.get("b")),
        (Some("140.41"), Some("64.59"))
    );
    assert!(
        shared(&card, &[], &terms(LONG))
            .expect("computed")
            .to_string()
            .contains("not computable")
    );
}

#[test]
fn what_idles_and_what_fits() {
    let figure = idle(
        &price("15000/month"),
        "0.1".parse().expect("a number"),
        &terms(LONG),
    )
    .expect("computed");
    assert_eq!(figure.get("idle, a month"), Some("13500.00"));
    assert!(idle(&price("15000/month"), Ratio::whole(2), &terms(LONG)).is_err());
    let gb = |count: i64| Ratio::whole(count * 1_000_000_000);
    let card = price("1559/month");
    let figure = fit("A100-SXM4-80GB", gb(12), Some(&card), &terms(LONG)).expect("computed");
    // 12 GB of 81920 MiB; a part of 19456 MiB is the smallest that holds them, and 1/7 of the compute slices.
    assert_eq!(figure.get("of the card's memory"), Some("13.97 %"));
    assert_eq!(
        figure.get("smallest profile"),
        Some("1g.20gb, of which 4 fit beside each other")
    );
    assert_eq!(
        figure.get("it costs by compute slices, a month"),
        Some("222.71")
    );
    assert_eq!(
        figure.get("it costs by memory slices, a month"),
        Some("389.75")
    );
    let too_much = fit("A100-SXM4-80GB", gb(90), None, &terms(LONG)).expect("computed");
    assert!(
        too_much.to_string().contains("not computable"),
        "{too_much}"
    );
}

#[test]
fn a_thousand_inferences_need_a_measured_rate() {
    let seat = price("0.36/h");
    let figure =
        inference(&seat, Some(Ratio::whole(10)), Ratio::ONE, &terms(LONG)).expect("computed");
    // 36,000 an hour for 0.36.
    assert_eq!(figure.get("1,000 inferences"), Some("0.010000"));
    let half = inference(
        &seat,
        Some(Ratio::whole(10)),
        "0.5".parse().expect("a number"),
        &terms(LONG),
    )
    .expect("computed");
    assert_eq!(half.get("1,000 inferences"), Some("0.020000"));
    for rate in [None, Some(Ratio::ZERO)] {
        let open = inference(&seat, rate, Ratio::ONE, &terms(LONG)).expect("computed");
        assert!(open.to_string().contains("claim, not computable"), "{open}");
    }
}

#[test]
fn all_quoted_figures_have_a_basis_or_say_why_not() {
    let all = claims().expect("computed");
    assert!(all.len() >= 11);
    for figure in &all {
        let open = figure
            .rows
            .iter()
            .any(|row| matches!(row.value, Value::NotComputable { .. }));
        assert!(open || !figure.basis.is_empty(), "{figure}");
    }
    let text: String = all.iter().map(ToString::to_string).collect();
    for quoted in [
        "222.72 x 3",
        "365.00",
        "61.02 %",
        "61.87 %",
        "-464.00",
        "1.72",
        "0.98",
        "0.69",
        "10913.00",
        "49",
        "13500.00",
    ] {
        assert!(text.contains(quoted), "{quoted}");
    }
}
