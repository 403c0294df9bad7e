//! Where Kubernetes' allocator does otherwise than documented: smallest cases that the differential test found, shrunk.
//! Each says what is right and, with the quirk, what the versions that have it do.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod cases;

use cases::{Case, claim, held, line, slice};
use oracle::objects::Claim;
use oracle::{Gates, How, Quirk, Quirks, Variant, Version, allocate_on};

fn answers(case: &Case, version: Version, quirk: Quirk) -> (String, String) {
    let gates = Gates::all_of(version);
    assert!(
        quirk.is_of(version, Variant::chosen(&gates)),
        "{version} has it"
    );
    let wanted = case.wanted(&gates);
    let wanted: Vec<&Claim> = wanted.iter().collect();
    let ask = |quirks: Quirks| {
        let world = case.world(&gates, None).with_quirks(quirks);
        line(&allocate_on(&world, &wanted, &world.nodes()[0], How::default()).answer)
    };
    (ask(Quirks::none()), ask(Quirks::from_iter([quirk])))
}

fn case(slices: &[String], rest: &str, wanted: &[String]) -> Case {
    Case::new(&format!(
        "slices:\n{}{rest}\nwanted:\n{}",
        slices.concat(),
        wanted.concat()
    ))
}

fn exactly(name: &str, rest: &str) -> String {
    format!("{{name: {name}, exactly: {{deviceClassName: any{rest}}}}}")
}

#[test]
fn all_from_an_incomplete_pool_is_a_matter_of_the_node() {
    let slices = [slice("s", "p", 2, "devices: [{name: a}]")];
    let it = case(
        &slices,
        "",
        &[claim("c", &exactly("r", ", allocationMode: All"), "")],
    );
    let (right, real) = answers(&it, Version::V1_37, Quirk::AllFromFlawedPoolEndsTheAttempt);
    assert!(
        right.starts_with("refused") && real.starts_with("failed"),
        "{right} / {real}"
    );
}

#[test]
fn an_alternative_saves_a_request_for_all_that_breaks_a_constraint() {
    let slices = [slice(
        "s",
        "p",
        1,
        "devices: [{name: a, attributes: {n: {int: 1}}}, {name: b, attributes: {n: {int: 2}}}]",
    )];
    let request = "{name: r, firstAvailable: [{name: all, deviceClassName: any, allocationMode: All}, {name: one, deviceClassName: any}]}";
    let it = case(
        &slices,
        "",
        &[claim(
            "c",
            request,
            "constraints: [{matchAttribute: d.example.com/n}]",
        )],
    );
    let (right, real) = answers(
        &it,
        Version::V1_37,
        Quirk::AllThatBreaksAConstraintEndsTheAttempt,
    );
    assert_eq!(right, "r/one=p/a");
    assert!(real.starts_with("failed"), "{real}");
}

#[test]
fn an_overcommitted_card_does_not_block_its_neighbour() {
    let counters = "sharedCounters: [{name: c0, counters: {x: {value: '1'}}}, {name: c1, counters: {x: {value: '1'}}}]";
    let part = |name: &str, set: &str, amount: u32| {
        format!(
            "{{name: {name}, consumesCounters: [{{counterSet: {set}, counters: {{x: {{value: '{amount}'}}}}}}]}}"
        )
    };
    let devices = format!("devices: [{}, {}]", part("a", "c0", 2), part("b", "c1", 1));
    let slices = [
        slice("s-1", "p", 2, counters),
        slice("s-2", "p", 2, &devices),
    ];
    let claims = format!(
        "claims:\n{}",
        held("other", "{request: r, pool: p, device: a}")
    );
    let it = case(&slices, &claims, &[claim("c", &exactly("r", ""), "")]);
    let (right, real) = answers(&it, Version::V1_37, Quirk::OvercommitBlocksThePool);
    assert_eq!(right, "r=p/b");
    assert!(real.starts_with("refused"), "{real}");
}

#[test]
fn a_newer_generation_elsewhere_makes_an_older_one_obsolete() {
    let old = slice("s-1", "p", 1, "devices: [{name: a}]");
    let new = slice("s-2", "p", 1, "devices: [{name: b}]")
        .replace("generation: 1", "generation: 2")
        .replace("n1", "n2");
    let it = case(&[old, new], "", &[claim("c", &exactly("r", ""), "")]);
    let (right, real) = answers(
        &it,
        Version::V1_37,
        Quirk::OldGenerationServesWhereTheNewIsElsewhere,
    );
    assert!(right.starts_with("refused"), "{right}");
    assert_eq!(real, "r=p/a");
}

#[test]
fn administrators_are_in_nobodys_way_whichever_claim_comes_first() {
    let slices = [slice("s", "p", 1, "devices: [{name: a}]")];
    let admin = claim("c0", &exactly("r", ", adminAccess: true"), "");
    let plain = claim("c1", &exactly("r", ""), "");
    let (right, real) = answers(
        &case(&slices, "", &[admin, plain]),
        Version::V1_37,
        Quirk::AdministratorsBlockLaterClaimsOfThePod,
    );
    assert_eq!(right, "r=p/a r=p/a");
    assert!(real.starts_with("refused"), "{real}");
}

#[test]
fn distinct_holds_after_the_search_has_gone_back() {
    let with = |name: &str, value: &str| {
        format!("{{name: {name}, attributes: {{n: {{string: {value}}}}}}}")
    };
    let devices = format!(
        "devices: [{}, {}, {}]",
        with("a", "x"),
        with("b", "y"),
        with("c", "x")
    );
    let wanted = [exactly("r", ", count: 2"), exactly("s", "")].join(", ");
    let it = case(
        &[slice("s", "p", 1, &devices)],
        "",
        &[claim(
            "c",
            &wanted,
            "constraints: [{distinctAttribute: d.example.com/n}]",
        )],
    );
    let (right, real) = answers(&it, Version::V1_36, Quirk::DistinctForgetsDevices);
    assert!(
        right.starts_with("refused"),
        "three devices have two values: {right}"
    );
    assert_eq!(real, "r=p/a r=p/b s=p/c", "a and c have the same value");
}

#[test]
fn distinct_compares_values() {
    let slices = [slice(
        "s",
        "p",
        1,
        "devices: [{name: a, attributes: {n: {int: 1}}}, {name: b, attributes: {n: {int: 1}}}]",
    )];
    let it = case(
        &slices,
        "",
        &[claim(
            "c",
            &exactly("r", ", count: 2"),
            "constraints: [{distinctAttribute: d.example.com/n}]",
        )],
    );
    let (right, real) = answers(&it, Version::V1_34, Quirk::DistinctComparesPlaces);
    assert!(right.starts_with("refused"), "{right}");
    assert_eq!(real, "r=p/a r=p/b");
}

#[test]
fn all_takes_partitions_that_fit_together() {
    let counters = "sharedCounters: [{name: c0, counters: {x: {value: '2'}}}]";
    let part = |name: &str| {
        format!(
            "{{name: {name}, consumesCounters: [{{counterSet: c0, counters: {{x: {{value: '1'}}}}}}]}}"
        )
    };
    let devices = format!("devices: [{}, {}]", part("a"), part("b"));
    let slices = [
        slice("s-1", "p", 2, counters),
        slice("s-2", "p", 2, &devices),
    ];
    let it = case(
        &slices,
        "",
        &[claim("c", &exactly("r", ", allocationMode: All"), "")],
    );
    let (right, real) = answers(&it, Version::V1_35, Quirk::AllOverPartitionsPanics);
    assert_eq!(right, "r=p/a r=p/b");
    assert!(real.contains("panics"), "{real}");
}

#[test]
fn a_device_with_shares_out_is_not_given_whole() {
    let slices = [slice("s", "p", 1, "devices: [{name: a}]")];
    let share = "{request: r, pool: p, device: a, shareID: x}";
    let it = case(
        &slices,
        &format!("claims:\n{}", held("other", share)),
        &[claim("c", &exactly("r", ""), "")],
    );
    let (right, real) = answers(&it, Version::V1_37, Quirk::WholeBesideShares);
    assert!(right.starts_with("refused"), "{right}");
    assert_eq!(real, "r=p/a");
}

#[test]
fn a_configuration_of_the_claim_stands_once() {
    let slices = [slice("s", "p", 1, "devices: [{name: a}, {name: b}]")];
    let config =
        "config: [{requests: [r, s], opaque: {driver: d.example.com, parameters: {x: y}}}]";
    let wanted = [exactly("r", ""), exactly("s", "")].join(", ");
    let it = case(&slices, "", &[claim("c", &wanted, config)]);
    let gates = Gates::all_of(Version::V1_36);
    let claims = it.wanted(&gates);
    let entries = |quirks: Quirks| {
        let world = it.world(&gates, None).with_quirks(quirks);
        match allocate_on(&world, &[&claims[0]], &world.nodes()[0], How::default()).answer {
            oracle::Answer::Allocated(given) => given[0].config.len(),
            _ => 0,
        }
    };
    assert_eq!(entries(Quirks::none()), 1);
    assert_eq!(
        entries(Quirks::from_iter([Quirk::ClaimConfigIsRepeated])),
        2
    );
}

/// Seeds 1008434, 1002290 and 1085850 of 1.34 experimental, shrunk further.
#[test]
fn all_shares_of_a_device_need_room_for_all() {
    let device = "{name: a, allowMultipleAllocations: true, capacity: {m: {value: '4'}}}";
    let slices = [slice(
        "s",
        "p",
        1,
        &format!("devices: [{{name: first}}, {device}]"),
    )];
    let all =
        ", allocationMode: All, selectors: [{cel: {expression: device.allowMultipleAllocations}}]";
    let wanted = [exactly("r", ", count: 2"), exactly("s", all)].join(", ");
    let it = case(&slices, "", &[claim("c", &wanted, "")]);
    let (right, real) = answers(&it, Version::V1_34, Quirk::CapacityOfAnotherDevice);
    assert!(right.starts_with("refused"), "a is full: {right}");
    assert_eq!(real, "r=p/first r=p/a[m:4] s=p/a[m:4]");
}

/// Seed 1014600 of 1.34 experimental, shrunk further.
#[test]
fn each_alternative_is_asked_with_selectors_of_its_own() {
    let slices = [slice("s", "p", 1, "devices: [{name: a}]")];
    let holder = format!(
        "claims:\n{}",
        held("other", "{request: r, pool: p, device: a}")
    );
    let all = "deviceClassName: any, allocationMode: All";
    let none = "selectors: [{cel: {expression: 'device.attributes[\"d.example.com\"].a == 1'}}]";
    let request =
        format!("{{name: r, firstAvailable: [{{name: s0, {all}}}, {{name: s1, {all}, {none}}}]}}");
    let it = case(&slices, &holder, &[claim("c", &request, "")]);
    let (right, real) = answers(&it, Version::V1_34, Quirk::AlternativesShareAnswers);
    assert!(
        right.starts_with("failed"),
        "a has no such attribute: {right}"
    );
    assert!(real.starts_with("refused"), "nobody asks: {real}");
}

/// Seed 1053269 of 1.34 experimental, shrunk further: an invalid pool with binding conditions comes after those without.
#[test]
fn an_invalid_pool_with_conditions_is_come_to_last() {
    let waits = "{name: a, bindingConditions: [example.com/ready]}";
    let slices = [
        slice("s-1", "p", 1, &format!("devices: [{{name: a}}, {waits}]")),
        slice("s-2", "q", 1, "devices: [{name: b}]"),
    ];
    let it = case(&slices, "", &[claim("c", &exactly("r", ""), "")]);
    let (right, real) = answers(&it, Version::V1_34, Quirk::AnInvalidPoolEndsTheAttempt);
    assert_eq!((right.as_str(), real.as_str()), ("r=q/b", "r=q/b"));
    let two = case(&slices, "", &[claim("c", &exactly("r", ", count: 2"), "")]);
    let (right, real) = answers(&two, Version::V1_34, Quirk::AnInvalidPoolEndsTheAttempt);
    assert!(
        right.starts_with("refused") && real.starts_with("failed"),
        "{right} / {real}"
    );
}
