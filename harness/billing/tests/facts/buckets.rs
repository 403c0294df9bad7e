//! The cases of the ledger, by their numbers in `facts/quota-gang-cost.md` 3.4. A100-SXM4-80GB: 7 compute slices, 8 memory slices.

use billing::fact::{Fact, Rule, What, Why};
use billing::{Bucket, Fault, Ratio, Weights};

use super::fixture::*;

const MODEL: &str = "A100-SXM4-80GB";

fn one_card(more: Vec<Fact>) -> Vec<Fact> {
    let mut facts = published("n", MODEL, 1, 0);
    facts.extend(more);
    facts
}

fn small(at: u32) -> String {
    format!("gpu-0-mig-1g10gb-19-{at}")
}

/// Claims on the first so many of seven small partitions, from that second on.
fn small_ones(count: u32, at: i64) -> Vec<Fact> {
    (0..count)
        .map(|it| holds(&format!("c{it}"), 10 + u64::from(it), at, &small(it)))
        .collect()
}

#[test]
fn an_empty_card_is_idle() {
    let entries = account(one_card(vec![]), &Weights::Compute, span(0, 3600)).expect("sound");
    assert_eq!(sums(&entries), [("idle", ratio(3600, 1))].into());
    let [entry] = entries.as_slice() else {
        panic!("{entries:?}")
    };
    assert_eq!(
        (entry.card.name.as_str(), entry.card.uuid.as_deref()),
        ("gpu-0", Some("GPU-0"))
    );
    assert_eq!(entry.card.model, "NVIDIA A100-SXM4-80GB");
}

#[test]
fn case_2_a_device_that_nobody_published_is_an_error_not_nothing() {
    let facts = one_card(vec![holds("c", 9, 10, "gpu-7")]);
    let fault = account(facts.clone(), &Weights::Compute, span(0, 100)).expect_err("unknown");
    assert!(matches!(fault, Fault::Unpublished { .. }), "{fault}");
    // Before it was held all is well.
    assert!(account(facts, &Weights::Compute, span(0, 10)).is_ok());
}

#[test]
fn case_4_what_no_partition_fits_is_stranded() {
    // Seven partitions of 1/7 by compute: nothing is left. By memory seven parts of less than an eighth are sold.
    let full = one_card(small_ones(7, 0));
    let entries = account(full.clone(), &Weights::Compute, span(0, 1)).expect("sound");
    assert_eq!(sums(&entries), [("sold", Ratio::ONE)].into());
    let entries = account(full, &Weights::Memory, span(0, 1)).expect("sound");
    let sold = sums(&entries)["sold"];
    assert_eq!(
        sums(&entries)["stranded"],
        Ratio::ONE.minus(sold).expect("fits")
    );
    assert!(!sums(&entries).contains_key("idle"));
    // Two of 3g: all memory is taken, and 1/7 of compute with it.
    let halves = ["gpu-0-mig-3g40gb-9-0", "gpu-0-mig-3g40gb-9-4"];
    let facts = halves
        .iter()
        .zip(1..)
        .map(|(device, at)| holds(&format!("c{at}"), at, 0, device))
        .collect();
    let entries = account(one_card(facts), &Weights::Compute, span(0, 1)).expect("sound");
    assert_eq!(
        sums(&entries),
        [("sold", ratio(6, 7)), ("stranded", ratio(1, 7))].into()
    );
}

#[test]
fn case_4_idle_is_the_best_layout_that_still_fits() {
    // A small one at place 3 leaves room for 3g at 4 and 2g at 0 and 1g at 2: all of the rest but nothing is lost by compute.
    let entries = account(
        one_card(vec![holds("c", 9, 0, &small(3))]),
        &Weights::Compute,
        span(0, 1),
    )
    .expect("sound");
    assert_eq!(
        sums(&entries),
        [("sold", ratio(1, 7)), ("idle", ratio(6, 7))].into()
    );
    // 4g at 0 leaves 3g at 4.
    let entries = account(
        one_card(vec![holds("c", 9, 0, "gpu-0-mig-4g40gb-5-0")]),
        &Weights::Compute,
        span(0, 1),
    )
    .expect("sound");
    assert_eq!(
        sums(&entries),
        [("sold", ratio(4, 7)), ("idle", ratio(3, 7))].into()
    );
    // 3g at 0 beside small ones at 4 and 6: between them and behind there is room for one more each, and no more.
    let facts = vec![
        holds("a", 7, 0, "gpu-0-mig-3g40gb-9-0"),
        holds("b", 8, 0, &small(4)),
        holds("c", 9, 0, &small(6)),
    ];
    let entries = account(one_card(facts), &Weights::Compute, span(0, 1)).expect("sound");
    assert_eq!(
        sums(&entries),
        [
            ("sold", ratio(5, 7)),
            ("idle", ratio(1, 7)),
            ("stranded", ratio(1, 7))
        ]
        .into()
    );
}

#[test]
fn case_8_cards_that_were_opened_can_be_counted() {
    let mut facts = published("n", MODEL, 3, 0);
    facts.extend((0..3).map(|card| {
        holds(
            &format!("c{card}"),
            9,
            0,
            &format!("gpu-{card}-mig-1g10gb-19-0"),
        )
    }));
    let entries = account(facts, &Weights::Compute, span(0, 1)).expect("sound");
    let opened: std::collections::BTreeSet<&str> = entries
        .iter()
        .filter(|it| it.bucket.holder().is_some())
        .map(|it| it.card.name.as_str())
        .collect();
    assert_eq!(opened.len(), 3);
    assert_eq!(sums(&entries)["sold"], ratio(3, 7));
}

#[test]
fn case_9_a_claim_that_pods_share_is_sold_once_for_the_union_of_their_time() {
    let with = |version, at, pods: &[&str]| {
        fact(
            "c",
            version,
            at,
            What::ClaimHolds(claim("c", vec![held("n", &small(0))], pods)),
        )
    };
    let facts = one_card(vec![
        with(5, 0, &["a"]),
        with(6, 10, &["a", "b"]),
        with(7, 30, &["b"]),
        gone("c", 8, 60),
    ]);
    let entries = account(facts, &Weights::Compute, span(0, 100)).expect("sound");
    assert_eq!(sold(&entries, "c"), ratio(60, 7));
    let users: Vec<usize> = entries
        .iter()
        .filter_map(|it| it.bucket.holder())
        .map(|it| it.consumers.len())
        .collect();
    assert_eq!(users, [1, 2, 1]);
}

#[test]
fn case_10_administrative_access_is_an_overlay_of_no_weight() {
    let mut device = held("n", "gpu-0");
    device.admin = true;
    let admin = fact(
        "admin",
        20,
        0,
        What::ClaimHolds(claim("admin", vec![device], &[])),
    );
    let mut facts = small_ones(7, 0);
    facts.push(admin);
    let entries = account(one_card(facts), &Weights::Compute, span(0, 10)).expect("sound");
    let overlays: Vec<_> = entries.iter().filter(|entry| entry.overlay).collect();
    assert_eq!(overlays.len(), 1);
    assert_eq!(overlays[0].share, Ratio::ZERO);
    assert_eq!(sums(&entries), [("sold", ratio(10, 1))].into());
}

#[test]
fn case_11_and_12_a_device_is_sold_as_long_as_it_is_kept_from_others() {
    // No pod has reserved it, and later one that cannot pull its image has.
    let kept = |version, at, pods: &[&str]| {
        fact(
            "c",
            version,
            at,
            What::ClaimHolds(claim("c", vec![held("n", "gpu-0")], pods)),
        )
    };
    let pod = billing::fact::Pod {
        namespace: "team".into(),
        name: "pod".into(),
        phase: "Pending".into(),
        reason: Some("ImagePullBackOff".into()),
    };
    let facts = vec![
        kept(5, 0, &[]),
        kept(6, 10, &["pod"]),
        fact("pod", 7, 11, What::PodIs(pod)),
        gone("c", 8, 60),
    ];
    let entries = account(one_card(facts), &Weights::Compute, span(0, 100)).expect("sound");
    assert_eq!(sold(&entries, "c"), ratio(60, 1));
}

#[test]
fn case_13_a_claim_made_anew_under_its_name_is_another_and_the_time_between_is_nobodys() {
    let anew = |uid: &str, version, at| {
        fact(
            uid,
            version,
            at,
            What::ClaimHolds(claim("name", vec![held("n", "gpu-0")], &[])),
        )
    };
    let facts = vec![
        anew("old", 5, 0),
        gone("old", 6, 10),
        anew("new", 7, 30),
        gone("new", 8, 35),
    ];
    let entries = account(one_card(facts), &Weights::Compute, span(0, 50)).expect("sound");
    assert_eq!(
        (sold(&entries, "old"), sold(&entries, "new")),
        (ratio(10, 1), ratio(5, 1))
    );
    assert_eq!(sums(&entries)["idle"], ratio(35, 1));
}

#[test]
fn case_14_one_name_in_two_namespaces_is_two_claims() {
    let mut other = claim("c", vec![held("n", &small(1))], &[]);
    other.namespace = "other".into();
    let facts = vec![
        holds("one", 5, 0, &small(0)),
        fact("two", 6, 0, What::ClaimHolds(other)),
        gone("one", 7, 10),
    ];
    let entries = account(one_card(facts), &Weights::Compute, span(0, 20)).expect("sound");
    assert_eq!(
        (sold(&entries, "one"), sold(&entries, "two")),
        (ratio(10, 7), ratio(20, 7))
    );
}

#[test]
fn case_15_an_end_before_its_start_is_refused() {
    let facts = one_card(vec![holds("c", 5, 100, "gpu-0"), gone("c", 6, 40)]);
    let fault = account(facts, &Weights::Compute, span(0, 200)).expect_err("backwards");
    assert!(
        matches!(
            fault,
            Fault::Backwards {
                earlier: 5,
                later: 6,
                ..
            }
        ),
        "{fault}"
    );
}

#[test]
fn case_16_clocks_that_differ_a_little_sell_nothing_and_take_nothing_back() {
    let facts = one_card(vec![holds("c", 5, 42, "gpu-0"), gone("c", 6, 40)]);
    let entries = account(facts, &Weights::Compute, span(0, 100)).expect("within the bound");
    assert_eq!(sums(&entries), [("idle", ratio(100, 1))].into());
}

#[test]
fn case_17_what_vanished_counts_until_it_was_last_seen_and_says_so() {
    let mut vanished = gone("c", 90, 40);
    vanished.estimated = Some(Why::Vanished);
    let facts = one_card(vec![holds("c", 5, 0, "gpu-0"), vanished.clone()]);
    let entries = account(facts.clone(), &Weights::Compute, span(0, 100)).expect("sound");
    assert_eq!(sold(&entries, "c"), ratio(40, 1));
    let sold_entry = entries
        .iter()
        .find(|it| it.bucket.holder().is_some())
        .expect("sold");
    assert_eq!(
        sold_entry.estimated.as_deref(),
        Some("vanished while the meter was away")
    );
    // Another meter saw it go: that counts.
    let mut facts = facts;
    facts.push(gone("c", 6, 70));
    let entries = account(facts, &Weights::Compute, span(0, 100)).expect("sound");
    assert_eq!(sold(&entries, "c"), ratio(70, 1));
    assert!(entries.iter().all(|it| it.estimated.is_none()));
}

#[test]
fn case_22_ten_seconds_are_ten_seconds() {
    let facts = one_card(vec![holds("c", 5, 1003, "gpu-0"), gone("c", 6, 1013)]);
    let entries = account(facts, &Weights::Compute, span(0, 3600)).expect("sound");
    assert_eq!(
        sums(&entries),
        [("sold", ratio(10, 1)), ("idle", ratio(3590, 1))].into()
    );
}

#[test]
fn case_23_a_gap_is_named_and_neither_filled_nor_left_out() {
    let gap = What::Gap {
        until: second(60),
        because: "the watch expired".to_owned(),
    };
    let facts = one_card(vec![
        holds("c", 5, 0, "gpu-0"),
        fact("gap", 6, 20, gap),
        gone("c", 7, 100),
    ]);
    let entries = account(facts, &Weights::Compute, span(0, 100)).expect("sound");
    let parts: Vec<(i64, Option<&str>)> = entries
        .iter()
        .map(|it| (it.span.seconds(), it.estimated.as_deref()))
        .collect();
    assert_eq!(
        parts,
        [(20, None), (40, Some("nobody watched")), (40, None)]
    );
}

#[test]
fn case_24_no_time_no_entries() {
    assert_eq!(
        account(one_card(small_ones(7, 0)), &Weights::Compute, span(50, 50)),
        Ok(vec![])
    );
}

#[test]
fn case_25_and_26_hours_have_3600_seconds_and_parts_are_the_whole() {
    let facts = one_card(vec![holds("c", 5, 1000, "gpu-0"), gone("c", 6, 100_000)]);
    let whole = account(facts.clone(), &Weights::Compute, span(0, 48 * 3600)).expect("sound");
    let mut sum = Ratio::ZERO;
    for hour in 0..48 {
        let entries = account(
            facts.clone(),
            &Weights::Compute,
            span(hour * 3600, (hour + 1) * 3600),
        )
        .expect("sound");
        assert_eq!(total(&entries), ratio(3600, 1), "hour {hour}");
        sum = sum.plus(sold(&entries, "c")).expect("fits");
    }
    assert_eq!(sum, sold(&whole, "c"));
    assert_eq!(sum, ratio(99_000, 1));
}

#[test]
fn case_30_more_sold_than_there_is_is_a_fault_and_never_clamped() {
    // The whole card and a partition of it, to two claims.
    let both = vec![holds("a", 5, 0, "gpu-0"), holds("b", 6, 10, &small(0))];
    let fault = account(one_card(both), &Weights::Compute, span(0, 100)).expect_err("twice");
    assert!(
        matches!(&fault, Fault::Twice { holders, .. } if holders.len() == 2),
        "{fault}"
    );
    // One device to two claims.
    let both = vec![holds("a", 5, 0, &small(0)), holds("b", 6, 10, &small(0))];
    let fault = account(one_card(both), &Weights::Compute, span(0, 100)).expect_err("twice");
    assert!(matches!(fault, Fault::Twice { .. }), "{fault}");
    // A layout that the greater of both measures makes heavier than the card: 4/7, and about half by memory.
    let both = vec![
        holds("a", 5, 0, "gpu-0-mig-4g40gb-5-0"),
        holds("b", 6, 10, "gpu-0-mig-3g40gb-9-4"),
    ];
    let fault =
        account(one_card(both.clone()), &Weights::Max, span(0, 100)).expect_err("too heavy");
    assert!(
        matches!(&fault, Fault::Oversold { sold, .. } if *sold == ratio(4, 7).plus(memory_part(MODEL, "3g.40gb")).expect("fits")),
        "{fault}"
    );
    assert!(account(one_card(both), &Weights::Compute, span(0, 100)).is_ok());
}

#[test]
fn case_30_one_claim_after_another_in_the_same_second_is_no_fault() {
    let facts = vec![
        holds("a", 5, 0, "gpu-0"),
        gone("a", 6, 10),
        holds("b", 7, 10, "gpu-0"),
    ];
    let entries = account(one_card(facts), &Weights::Compute, span(0, 20)).expect("sound");
    assert_eq!(sums(&entries), [("sold", ratio(20, 1))].into());
}

#[test]
fn case_41_a_gang_that_is_given_up_in_the_second_in_which_it_began_costs_nothing() {
    let waits =
        |uid: &str, version, at| fact(uid, version, at, What::ClaimWaits(claim(uid, vec![], &[])));
    let facts = vec![
        waits("a", 3, 0),
        waits("b", 4, 0),
        holds("a", 5, 10, &small(0)),
        waits("a", 6, 10),
        gone("a", 7, 20),
        gone("b", 8, 20),
    ];
    let entries = account(one_card(facts), &Weights::Compute, span(0, 100)).expect("sound");
    assert_eq!(sums(&entries), [("idle", ratio(100, 1))].into());
}

#[test]
fn case_42_and_43_a_tainted_device_is_its_holders_until_given_back_and_then_out_of_service() {
    let rule = Rule {
        driver: Some(DRIVER.into()),
        pool: Some("n".into()),
        device: None,
        taint: Some("example.com/broken:NoExecute".into()),
    };
    let facts = vec![
        holds("c", 5, 0, "gpu-0-mig-4g40gb-5-0"),
        fact("rule", 6, 10, What::Tainted(rule)),
        gone("c", 7, 30),
        fact("rule", 8, 50, What::TaintLifted),
    ];
    let entries = account(one_card(facts), &Weights::Compute, span(0, 100)).expect("sound");
    assert_eq!(sold(&entries, "c"), ratio(30 * 4, 7));
    let broken = Bucket::OutOfService {
        reason: "example.com/broken:NoExecute".to_owned(),
    };
    let parts: Vec<(Ratio, i64)> = entries
        .iter()
        .filter(|it| it.bucket == broken)
        .map(|it| (it.share, it.span.seconds()))
        .collect();
    assert_eq!(parts, [(ratio(3, 7), 20), (Ratio::ONE, 20)]);
    assert_eq!(total(&entries), ratio(100, 1));
}

#[test]
fn case_44_slices_that_go_for_a_while_take_neither_claims_nor_capacity() {
    let mut facts = one_card(vec![holds("c", 5, 0, "gpu-0-mig-4g40gb-5-0")]);
    let slices = pool("n", MODEL, 1, 2);
    facts.extend(
        slices
            .iter()
            .map(|(uid, _)| fact(uid, 6, 20, What::SliceWithdrawn)),
    );
    facts.extend(
        slices
            .into_iter()
            .map(|(uid, slice)| fact(&format!("{uid}-new"), 7, 50, What::SlicePublished(slice))),
    );
    let entries = account(facts, &Weights::Compute, span(0, 100)).expect("sound");
    assert_eq!(sold(&entries, "c"), ratio(400, 7));
    assert_eq!(sums(&entries)["out of service"], ratio(30 * 3, 7));
    assert_eq!(sums(&entries)["idle"], ratio(70 * 3, 7));
    assert_eq!(total(&entries), ratio(100, 1));
}

#[test]
fn case_44_a_card_that_goes_for_good_stays_as_long_as_somebody_has_it() {
    let mut facts = published("n", MODEL, 2, 0);
    facts.push(holds("c", 5, 0, "gpu-1"));
    let smaller = pool("n", MODEL, 1, 2).into_iter();
    facts.extend(smaller.map(|(uid, slice)| fact(&uid, 6, 20, What::SlicePublished(slice))));
    facts.push(fact("slice-n-2", 7, 20, What::SliceWithdrawn));
    facts.push(gone("c", 8, 60));
    let entries = account(facts.clone(), &Weights::Compute, span(0, 100)).expect("sound");
    assert_eq!(
        sums(&entries),
        [("sold", ratio(60, 1)), ("idle", ratio(100, 1))].into()
    );
    // With its node the last card goes.
    facts.push(fact("node", 9, 70, What::NodeGone { node: "n".into() }));
    let entries = account(facts, &Weights::Compute, span(0, 100)).expect("sound");
    assert_eq!(sums(&entries)["idle"], ratio(70, 1));
}

#[test]
fn case_45_capacity_is_that_of_the_newest_edition_that_was_complete() {
    let mut facts = one_card(vec![]);
    // A second card is announced, and comes 30 seconds later.
    let larger = pool("n", MODEL, 2, 2);
    let at = |slice: usize| if slice == 2 { 40 } else { 10 };
    facts.extend(larger.into_iter().enumerate().map(|(slice, (uid, it))| {
        fact(&uid, 5 + slice as u64, at(slice), What::SlicePublished(it))
    }));
    let entries = account(facts, &Weights::Compute, span(0, 100)).expect("sound");
    let reason = "pool incomplete: 2 of 3 slices of generation 2".to_owned();
    let parts: Vec<_> = entries
        .iter()
        .map(|it| (it.card.name.as_str(), &it.bucket, it.span.seconds()))
        .collect();
    let broken = Bucket::OutOfService { reason };
    assert_eq!(
        parts,
        [
            ("gpu-0", &Bucket::Idle, 10),
            ("gpu-0", &broken, 30),
            ("gpu-0", &Bucket::Idle, 60),
            ("gpu-1", &Bucket::Idle, 60)
        ]
    );
}

#[test]
fn case_46_the_claim_of_extended_resources_is_counted_once() {
    let mut special = claim("pod-extended-resources", vec![held("n", "gpu-0")], &["pod"]);
    special.extended = true;
    let facts = vec![fact("c", 5, 0, What::ClaimHolds(special))];
    let entries = account(one_card(facts), &Weights::Compute, span(0, 10)).expect("sound");
    assert_eq!(sums(&entries), [("sold", ratio(10, 1))].into());
}

#[test]
fn case_47_a_claim_that_waits_sells_nothing() {
    let waits = fact("c", 5, 0, What::ClaimWaits(claim("c", vec![], &[])));
    let entries = account(one_card(vec![waits]), &Weights::Compute, span(0, 10)).expect("sound");
    assert_eq!(sums(&entries), [("idle", ratio(10, 1))].into());
}

#[test]
fn shares_of_a_device_are_parts_of_it_and_the_rest_is_idle() {
    let mut facts = published("n", MODEL, 1, 0);
    let share = |uid: &str, version, amount: i64| {
        let mut device = held("n", "gpu-0");
        device.share = Some(uid.into());
        device.consumed = [("memory".into(), amount << 20)].into();
        fact(
            uid,
            version,
            0,
            What::ClaimHolds(claim(uid, vec![device], &[])),
        )
    };
    let memory = memory_of(MODEL);
    facts.extend([share("a", 5, memory / 4), share("b", 6, memory / 2)]);
    let entries = account(facts.clone(), &Weights::Memory, span(0, 8)).expect("sound");
    assert_eq!(
        (sold(&entries, "a"), sold(&entries, "b")),
        (ratio(2, 1), ratio(4, 1))
    );
    assert_eq!(sums(&entries)["idle"], ratio(2, 1));
    facts.push(share("c", 7, memory / 2));
    assert!(matches!(
        account(facts, &Weights::Memory, span(0, 8)),
        Err(Fault::Twice { .. })
    ));
}

#[test]
fn a_partition_that_weighs_something_else_from_now_on_did_not_before() {
    // Without counters a card's own memory is the measure, and a driver of another version may say another one.
    let whole = |version, at, memory: i64| {
        let device = |name: &str, profile: Option<&str>, memory: i64| billing::fact::Device {
            name: name.into(),
            says: [("uuid", "GPU-0")]
                .into_iter()
                .chain(profile.map(|it| ("profile", it)))
                .map(|(name, it)| (name.into(), it.into()))
                .collect(),
            capacity: [("memory".into(), memory)].into(),
            draws: [].into(),
            shared: false,
            taints: vec![],
        };
        let slice = billing::fact::Slice {
            driver: DRIVER.into(),
            pool: "n".into(),
            generation: i64::try_from(version).expect("small"),
            of: 1,
            node: None,
            sets: [].into(),
            devices: vec![
                device("part", Some("1g.1gb"), 10),
                device("rest", Some("1g.1gb"), memory - 10),
                device("gpu-0", None, memory),
            ],
        };
        fact("slice", version, at, What::SlicePublished(slice))
    };
    let facts = vec![whole(1, 0, 40), holds("c", 2, 0, "part"), whole(3, 50, 20)];
    let entries = account(facts, &Weights::Memory, span(0, 100)).expect("sound");
    assert_eq!(
        sold(&entries, "c"),
        ratio(50, 4).plus(ratio(50, 2)).expect("fits")
    );
    assert_eq!(total(&entries), ratio(100, 1));
}
