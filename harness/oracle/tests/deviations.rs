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

/// A counter set `c0` with so much of `x`.
fn counters(total: u32) -> String {
    format!("sharedCounters: [{{name: c0, counters: {{x: {{value: '{total}'}}}}}}]")
}

/// A device that draws 1 of `x`, with these fields besides.
fn part(name: &str, rest: &str) -> String {
    format!(
        "{{name: {name}, consumesCounters: [{{counterSet: c0, counters: {{x: {{value: '1'}}}}}}]{rest}}}"
    )
}

#[test]
fn more_than_a_claim_holds_is_a_matter_of_the_node() {
    let devices: Vec<String> = (0..33).map(|at| format!("{{name: d{at}}}")).collect();
    let slices = [slice(
        "s",
        "p",
        1,
        &format!("devices: [{}]", devices.join(", ")),
    )];
    let all = exactly("r", ", allocationMode: All");
    let it = case(&slices, "", &[claim("c", &all, "")]);
    let (right, real) = answers(&it, Version::V1_37, Quirk::AllOverTheLimitEndsTheAttempt);
    assert!(
        right.starts_with("refused") && real.starts_with("failed"),
        "{right} / {real}"
    );
}

#[test]
fn all_does_not_pass_over_a_full_share() {
    let m = "capacity: {m: {value: '4'}}";
    let devices =
        format!("devices: [{{name: a, allowMultipleAllocations: true, {m}}}, {{name: b, {m}}}]");
    let full = "{request: r, pool: p, device: a, shareID: x, consumedCapacity: {m: '4'}}";
    let all = exactly("r", ", allocationMode: All, capacity: {requests: {m: '1'}}");
    let it = case(
        &[slice("s", "p", 1, &devices)],
        &format!("claims:\n{}", held("other", full)),
        &[claim("c", &all, "")],
    );
    let (right, real) = answers(&it, Version::V1_36, Quirk::AllPassesOverFullShares);
    assert!(right.starts_with("refused"), "a is full: {right}");
    assert_eq!(real, "r=p/b");
}

#[test]
fn counters_of_another_node_are_no_matter_of_this_one() {
    let slices = [
        slice("s-1", "p", 1, "devices: [{name: a}]"),
        slice("s-2", "q", 2, &counters(1)).replace("n1", "n2"),
    ];
    let all = exactly("r", ", allocationMode: All");
    let it = case(&slices, "", &[claim("c", &all, "")]);
    let (right, real) = answers(&it, Version::V1_36, Quirk::CounterSlicesConcernEveryNode);
    assert_eq!(right, "r=p/a");
    assert!(real.starts_with("refused"), "{real}");
}

#[test]
fn all_shares_of_a_device_charge_its_counters_once() {
    let shared = part("a", ", allowMultipleAllocations: true");
    let slices = [slice(
        "s",
        "p",
        1,
        &format!("{}, devices: [{shared}]", counters(1)),
    )];
    let wanted = [exactly("r", ""), exactly("s", "")].join(", ");
    let it = case(&slices, "", &[claim("c", &wanted, "")]);
    let (right, real) = answers(&it, Version::V1_34, Quirk::EveryShareChargesCounters);
    assert_eq!(right, "r=p/a[] s=p/a[]");
    assert!(real.starts_with("refused"), "{real}");
}

#[test]
fn a_device_of_which_shares_are_in_use_has_its_counters() {
    let devices = [part("a", ", allowMultipleAllocations: true"), part("b", "")];
    let slices = [
        slice("s-1", "p", 2, &counters(1)),
        slice("s-2", "p", 2, &format!("devices: [{}]", devices.join(", "))),
    ];
    let whole = ", selectors: [{cel: {expression: '!device.allowMultipleAllocations'}}]";
    let it = case(
        &slices,
        &format!(
            "claims:\n{}",
            held("other", "{request: r, pool: p, device: a, shareID: x}")
        ),
        &[claim("c", &exactly("r", whole), "")],
    );
    let (right, real) = answers(&it, Version::V1_35, Quirk::SharesInUseChargeNoCounters);
    assert!(right.starts_with("refused"), "{right}");
    assert_eq!(real, "r=p/b");
}

#[test]
fn a_pool_of_two_nodes_is_whole_on_each() {
    let slices = [
        slice("s-1", "p", 2, "devices: [{name: a}]"),
        slice("s-2", "p", 2, "devices: [{name: b}]").replace("n1", "n2"),
    ];
    let it = case(
        &slices,
        "",
        &[claim("c", &exactly("r", ", allocationMode: All"), "")],
    );
    let (right, real) = answers(&it, Version::V1_34, Quirk::PoolsAreWholePerNode);
    assert_eq!(right, "r=p/a");
    assert!(real.starts_with("refused"), "{real}");
}

#[test]
fn selectors_are_asked_of_the_nodes_own_devices() {
    let devices =
        "devices: [{name: a, nodeName: n2}, {name: b, nodeName: n1, attributes: {n: {int: 1}}}]";
    let slices =
        [slice("s", "p", 1, devices).replacen("nodeName: n1", "perDeviceNodeSelection: true", 1)];
    let one = ", selectors: [{cel: {expression: 'device.attributes[\"d.example.com\"].n == 1'}}]";
    let it = case(&slices, "", &[claim("c", &exactly("r", one), "")]);
    let (right, real) = answers(
        &it,
        Version::V1_37,
        Quirk::SelectorsAreAskedOfDevicesElsewhere,
    );
    assert_eq!(right, "r=p/b");
    assert!(
        real.starts_with("failed"),
        "a has no such attribute: {real}"
    );
}

#[test]
fn tolerations_are_copied_to_the_result() {
    let slices = [slice("s", "p", 1, "devices: [{name: a}]")];
    let tolerant = exactly("r", ", tolerations: [{operator: Exists}]");
    let it = case(&slices, "", &[claim("c", &tolerant, "")]);
    let gates = Gates::all_of(Version::V1_34);
    let claims = it.wanted(&gates);
    let copied = |quirks: Quirks| {
        let world = it.world(&gates, None).with_quirks(quirks);
        match allocate_on(&world, &[&claims[0]], &world.nodes()[0], How::default()).answer {
            oracle::Answer::Allocated(given) => given[0].devices[0].tolerations.len(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(copied(Quirks::none()), 1);
    assert_eq!(
        copied(Quirks::from_iter([Quirk::TolerationsAreNotCopied])),
        0
    );
}

#[test]
fn groups_that_do_not_go_together_leave_room_for_none() {
    let of = |name: &str, group: &str| {
        part(name, "").replace("}]", &format!(", compatibilityGroups: [{group}]}}]"))
    };
    let devices = [of("a", "g"), of("b", "h"), of("c", "g")];
    let slices = [
        slice("s-1", "p", 2, &counters(3)),
        slice("s-2", "p", 2, &format!("devices: [{}]", devices.join(", "))),
    ];
    let claims = ["a", "b"]
        .map(|device| {
            held(
                device,
                &format!("{{request: r, pool: p, device: {device}}}"),
            )
        })
        .concat();
    let it = case(
        &slices,
        &format!("claims:\n{claims}"),
        &[claim("c", &exactly("r", ""), "")],
    );
    let (right, real) = answers(&it, Version::V1_37, Quirk::MixedGroupsAreIgnored);
    assert!(right.starts_with("refused"), "{right}");
    assert_eq!(real, "r=p/c");
}

#[test]
fn a_match_of_lists_goes_back_with_the_search() {
    let with = |name: &str, list: &str, rest: &str| {
        format!("{{name: {name}, attributes: {{n: {{ints: [{list}]}}{rest}}}}}")
    };
    let devices = [
        with("a", "1, 2", ", first: {bool: true}"),
        with("b", "1", ""),
        with("c", "2", ""),
        with("d", "2", ", last: {bool: true}"),
    ];
    let slices = [slice(
        "s",
        "p",
        1,
        &format!("devices: [{}]", devices.join(", ")),
    )];
    let has = |attribute: &str| {
        format!(
            ", selectors: [{{cel: {{expression: 'has(device.attributes[\"d.example.com\"].{attribute})'}}}}]"
        )
    };
    let wanted = [
        exactly("r", &has("first")),
        exactly("s", ""),
        exactly("t", &has("last")),
    ]
    .join(", ");
    let same = "constraints: [{matchAttribute: d.example.com/n}]";
    let it = case(&slices, "", &[claim("c", &wanted, same)]);
    let (right, real) = answers(&it, Version::V1_36, Quirk::MatchedListsStaySmall);
    assert_eq!(right, "r=p/a s=p/c t=p/d");
    assert!(real.starts_with("refused"), "{real}");
}

#[test]
fn a_refused_device_gives_its_counters_back() {
    let taint = ", taints: [{key: bad, effect: NoSchedule}]";
    let devices = [part("a", taint), part("b", "")];
    let slices = [
        slice("s-1", "p", 2, &counters(1)),
        slice("s-2", "p", 2, &format!("devices: [{}]", devices.join(", "))),
    ];
    let it = case(&slices, "", &[claim("c", &exactly("r", ""), "")]);
    let (right, real) = answers(&it, Version::V1_35, Quirk::RefusedDevicesStayCharged);
    assert_eq!(right, "r=p/b");
    assert!(real.starts_with("refused"), "{real}");
}

#[test]
fn a_request_for_two_devices_gets_no_device_twice() {
    let slices = [slice(
        "s",
        "p",
        1,
        "devices: [{name: a, allowMultipleAllocations: true}]",
    )];
    let two = exactly("r", ", count: 2");
    let it = case(&slices, "", &[claim("c", &two, "")]);
    let (right, real) = answers(&it, Version::V1_35, Quirk::RequestsTryEveryOrder);
    assert!(right.starts_with("refused"), "{right}");
    assert_eq!(real, "r=p/a[] r=p/a[]");
}

#[test]
fn all_in_a_later_alternative_is_all() {
    let slices = [slice("s", "p", 1, "devices: [{name: a}, {name: b}]")];
    let none = "selectors: [{cel: {expression: 'false'}}]";
    let request = format!(
        "{{name: r, firstAvailable: [{{name: s0, deviceClassName: any, {none}}}, \
         {{name: s1, deviceClassName: any, allocationMode: All}}]}}"
    );
    let it = case(&slices, "", &[claim("c", &request, "")]);
    let (right, real) = answers(
        &it,
        Version::V1_35,
        Quirk::AllInALaterAlternativeGoesOnAsTheFirst,
    );
    assert_eq!(right, "r/s1=p/a r/s1=p/b");
    assert_eq!(real, "r/s1=p/a");
}

#[test]
fn a_class_keeps_its_implicit_name() {
    let class = |name: &str| {
        format!("{{metadata: {{name: {name}}}, spec: {{extendedResourceName: example.com/gpu}}}}")
    };
    let it = Case::new(&format!("classes: [{}, {}]", class("a"), class("b")));
    let quirk = Quirk::AClassThatLosesItsNameLosesBoth;
    let known = |version, quirks: Quirks| {
        let world = it.world(&Gates::all_of(version), None).with_quirks(quirks);
        let names = ["a", "b"].map(|name| format!("deviceclass.resource.kubernetes.io/{name}"));
        names.map(|name| world.class_for(&name).is_some())
    };
    assert!(quirk.is_of(Version::V1_37, Variant::Stable));
    assert_eq!(known(Version::V1_37, Quirks::none()), [true, true]);
    assert_eq!(
        known(Version::V1_37, Quirks::from_iter([quirk])),
        [true, false]
    );
}

/// A quirk that no test is about would be one that nobody has seen.
#[test]
fn each_quirk_has_a_test_here() {
    let text = include_str!("deviations.rs");
    for quirk in Quirk::ALL {
        let name = format!("Quirk::{quirk:?}");
        let about = |part: &str| !part.starts_with(|c: char| c.is_alphanumeric());
        assert!(
            text.split(&name).skip(1).any(about),
            "{name} has no smallest case"
        );
    }
}
