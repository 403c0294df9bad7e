//! One hand-made case per rule. Each has an answer that another rule, or none, would not give.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod cases;

use cases::{Case, claim, held, reason, slice};
use oracle::{Answer, Gate, Gates, Version};

const LATEST: Version = Version::V1_37;

fn defaults() -> Gates {
    Gates::default_of(LATEST)
}

fn all() -> Gates {
    Gates::all_of(LATEST)
}

fn case(slices: &[String], rest: &str, wanted: &[String]) -> Case {
    Case::new(&format!(
        "slices:\n{}{rest}\nwanted:\n{}",
        slices.concat(),
        wanted.concat()
    ))
}

const ONE: &str = "{name: r, exactly: {deviceClassName: any}}";

fn exactly(name: &str, rest: &str) -> String {
    let rest = if rest.is_empty() {
        String::new()
    } else {
        format!(", {rest}")
    };
    format!("{{name: {name}, exactly: {{deviceClassName: any{rest}}}}}")
}

#[test]
fn first_match_is_by_driver_pool_slice_name_and_place_in_the_slice() {
    let ten = slice("a", "pool-10", 1, "devices: [{name: z}]");
    let two = slice("b", "pool-2", 1, "devices: [{name: a}]");
    assert_eq!(
        case(&[two, ten], "", &[claim("c", ONE, "")]).line(&defaults()),
        "r=pool-10/z"
    );
    let later = slice("s-2", "p", 2, "devices: [{name: a}]");
    let sooner = slice("s-1", "p", 2, "devices: [{name: y}, {name: b}]");
    assert_eq!(
        case(&[later, sooner], "", &[claim("c", ONE, "")]).line(&defaults()),
        "r=p/y"
    );
}

#[test]
fn devices_in_use_are_passed_over_but_not_by_administrators() {
    let slices = [slice("s", "p", 1, "devices: [{name: a}, {name: b}]")];
    let claims = format!(
        "claims:\n{}",
        held("other", "{request: r, pool: p, device: a}")
    );
    let normal = case(&slices, &claims, &[claim("c", ONE, "")]);
    assert_eq!(normal.line(&defaults()), "r=p/b");
    assert_eq!(
        reason(&normal.verdict(&defaults()), "a"),
        "in use by claim ns/other"
    );
    let admin = exactly("r", "adminAccess: true");
    assert_eq!(
        case(&slices, &claims, &[claim("c", &admin, "")]).line(&defaults()),
        "r=p/a"
    );
    let holds_nothing = format!(
        "claims:\n{}",
        held(
            "other",
            "{request: r, pool: p, device: a, adminAccess: true}"
        )
    );
    assert_eq!(
        case(&slices, &holds_nothing, &[claim("c", ONE, "")]).line(&defaults()),
        "r=p/a"
    );
}

#[test]
fn administrative_access_needs_its_gate() {
    let slices = [slice("s", "p", 1, "devices: [{name: a}]")];
    let admin = exactly("r", "adminAccess: true");
    let line =
        case(&slices, "", &[claim("c", &admin, "")]).line(&defaults().without(Gate::AdminAccess));
    assert!(
        line.starts_with("failed: ") && line.contains("DRAAdminAccess"),
        "{line}"
    );
}

#[test]
fn selectors_of_class_and_request_must_all_hold() {
    let slices = [slice(
        "s",
        "p",
        1,
        "devices: [{name: a, attributes: {x: {int: 1}}}, {name: b, attributes: {x: {int: 2}}}]",
    )];
    let expression = |text: &str| format!("selectors: [{{cel: {{expression: '{text}'}}}}]");
    let classes = format!(
        "classes: [{{metadata: {{name: any}}, spec: {{{}}}}}]",
        expression("device.driver == \"d.example.com\"")
    );
    let wanted = exactly(
        "r",
        &expression("device.attributes[\"d.example.com\"].x > 1"),
    );
    let it = case(&slices, &classes, &[claim("c", &wanted, "")]);
    assert_eq!(it.line(&defaults()), "r=p/b");
    assert!(reason(&it.verdict(&defaults()), "a").contains("selector of request r"));
    let none = format!(
        "classes: [{{metadata: {{name: any}}, spec: {{{}}}}}]",
        expression("false")
    );
    assert!(
        reason(
            &case(&slices, &none, &[claim("c", &wanted, "")]).verdict(&defaults()),
            "a"
        )
        .contains("DeviceClass any")
    );
}

#[test]
fn an_error_of_a_selector_ends_the_attempt_and_names_the_device() {
    let slices = [slice("s", "p", 1, "devices: [{name: a}]")];
    let wanted = exactly(
        "r",
        "selectors: [{cel: {expression: 'device.attributes[\"d.example.com\"].x > 1'}}]",
    );
    let line = case(&slices, "", &[claim("c", &wanted, "")]).line(&defaults());
    assert!(
        line.starts_with("failed: ")
            && line.contains("d.example.com/p/a")
            && line.contains("No such key: x"),
        "{line}"
    );
}

#[test]
fn a_class_that_does_not_exist_ends_the_attempt() {
    let slices = [slice("s", "p", 1, "devices: [{name: a}]")];
    let line = case(
        &slices,
        "",
        &[claim(
            "c",
            "{name: r, exactly: {deviceClassName: none}}",
            "",
        )],
    )
    .line(&defaults());
    assert!(
        line.starts_with("failed: ") && line.contains("no DeviceClass none"),
        "{line}"
    );
}

#[test]
fn counts_take_combinations_in_order_and_backtrack() {
    let slices = [slice(
        "s",
        "p",
        1,
        "devices: [{name: a, attributes: {n: {int: 1}}}, {name: b, attributes: {n: {int: 2}}}, {name: c, attributes: {n: {int: 2}}}]",
    )];
    let two = exactly("r", "count: 2");
    assert_eq!(
        case(&slices, "", &[claim("c", &two, "")]).line(&defaults()),
        "r=p/a r=p/b"
    );
    let matching = "constraints: [{matchAttribute: d.example.com/n}]";
    assert_eq!(
        case(&slices, "", &[claim("c", &two, matching)]).line(&defaults()),
        "r=p/b r=p/c"
    );
    let three = exactly("r", "count: 4");
    assert!(
        case(&slices, "", &[claim("c", &three, "")])
            .line(&defaults())
            .starts_with("refused: no choice")
    );
}

#[test]
fn a_later_claim_of_the_pod_moves_an_earlier_one() {
    let slices = [slice(
        "s",
        "p",
        1,
        "devices: [{name: a, attributes: {big: {bool: true}}}, {name: b, attributes: {big: {bool: false}}}]",
    )];
    let big = exactly(
        "r",
        "selectors: [{cel: {expression: 'device.attributes[\"d.example.com\"].big'}}]",
    );
    let wanted = [claim("c1", ONE, ""), claim("c2", &big, "")];
    assert_eq!(case(&slices, "", &wanted).line(&defaults()), "r=p/b r=p/a");
}

#[test]
fn all_takes_every_device_that_matches_or_nothing() {
    let slices = [slice("s", "p", 1, "devices: [{name: a}, {name: b}]")];
    let every = exactly("r", "allocationMode: All");
    assert_eq!(
        case(&slices, "", &[claim("c", &every, "")]).line(&defaults()),
        "r=p/a r=p/b"
    );
    let claims = format!(
        "claims:\n{}",
        held("other", "{request: r, pool: p, device: b}")
    );
    assert!(
        case(&slices, &claims, &[claim("c", &every, "")])
            .line(&defaults())
            .starts_with("refused")
    );
    let no_device = exactly(
        "r",
        "allocationMode: All, selectors: [{cel: {expression: 'false'}}]",
    );
    assert!(
        case(&slices, "", &[claim("c", &no_device, "")])
            .line(&defaults())
            .starts_with("refused")
    );
}

#[test]
fn first_available_falls_through_and_needs_its_gate() {
    let slices = [slice("s", "p", 1, "devices: [{name: a}, {name: b}]")];
    let wanted = "{name: r, firstAvailable: [{name: many, deviceClassName: any, count: 3}, {name: few, deviceClassName: any, count: 2}]}";
    let it = case(&slices, "", &[claim("c", wanted, "")]);
    assert_eq!(it.line(&defaults()), "r/few=p/a r/few=p/b");
    assert!(
        it.line(&defaults().without(Gate::PrioritizedList))
            .contains("DRAPrioritizedList")
    );
}

#[test]
fn first_available_gives_way_to_a_later_request() {
    let slices = [slice("s", "p", 1, "devices: [{name: a}, {name: b}]")];
    let first = "{name: r, firstAvailable: [{name: two, deviceClassName: any, count: 2}, {name: one, deviceClassName: any}]}";
    let wanted = format!("{first}, {}", exactly("s", ""));
    assert_eq!(
        case(&slices, "", &[claim("c", &wanted, "")]).line(&defaults()),
        "r/one=p/a s=p/b"
    );
}

#[test]
fn constraints_name_requests_and_subrequests() {
    let slices = [slice(
        "s",
        "p",
        1,
        "devices: [{name: a, attributes: {n: {int: 1}}}, {name: b, attributes: {n: {int: 2}}}]",
    )];
    let wanted = format!(
        "{}, {{name: s, firstAvailable: [{{name: x, deviceClassName: any}}]}}",
        exactly("r", "")
    );
    let with = |requests: &str| {
        let constraint =
            format!("constraints: [{{requests: [{requests}], matchAttribute: d.example.com/n}}]");
        case(&slices, "", &[claim("c", &wanted, &constraint)]).line(&defaults())
    };
    assert_eq!(with("r"), "r=p/a s/x=p/b");
    assert!(with("r, s").starts_with("refused"));
    assert!(with("r, s/x").starts_with("refused"));
    assert_eq!(with("r, s/y"), "r=p/a s/x=p/b");
}

#[test]
fn distinct_attributes_pass_over_equal_ones() {
    let slices = [slice(
        "s",
        "p",
        1,
        "devices: [{name: a, attributes: {n: {int: 1}}}, {name: b, attributes: {n: {int: 1}}}, {name: c, attributes: {n: {int: 2}}}]",
    )];
    let two = exactly("r", "count: 2");
    let it = case(
        &slices,
        "",
        &[claim(
            "c",
            &two,
            "constraints: [{distinctAttribute: d.example.com/n}]",
        )],
    );
    assert_eq!(it.line(&defaults()), "r=p/a r=p/c");
    assert!(reason(&it.verdict(&defaults()), "b").contains("constraint 0 on d.example.com/n"));
}

#[test]
fn list_attributes_match_by_what_they_have_in_common() {
    let slices = [slice(
        "s",
        "p",
        1,
        "devices: [{name: a, attributes: {n: {ints: [1, 2]}}}, {name: b, attributes: {n: {ints: [3]}}}, {name: c, attributes: {n: {int: 2}}}]",
    )];
    let it = case(
        &slices,
        "",
        &[claim(
            "c",
            &exactly("r", "count: 2"),
            "constraints: [{matchAttribute: d.example.com/n}]",
        )],
    );
    assert_eq!(it.line(&all()), "r=p/a r=p/c");
    assert!(
        it.line(&defaults()).starts_with("refused"),
        "the gate is off"
    );
}

fn card(layout: &str) -> Vec<String> {
    let counters =
        "sharedCounters: [{name: card, counters: {memory: {value: 40Gi}, slices: {value: '7'}}}]";
    let part = |name: &str, memory: &str, slices: u32| {
        format!(
            "{{name: {name}, consumesCounters: [{{counterSet: card, counters: {{memory: {{value: {memory}}}, slices: {{value: '{slices}'}}}}}}]}}"
        )
    };
    let devices = format!(
        "devices: [{}, {}, {}]",
        part("full", "40Gi", 7),
        part("half", "20Gi", 3),
        part("small", "5Gi", 1)
    );
    match layout {
        "apart" => vec![
            slice("s-counters", "p", 2, counters),
            slice("s-devices", "p", 2, &devices),
        ],
        _ => vec![slice("s", "p", 1, &format!("{counters}, {devices}"))],
    }
}

#[test]
fn partitions_and_the_whole_card_exclude_each_other() {
    let two = format!("{}, {}", exactly("r", ""), exactly("s", ""));
    let it = case(&card("apart"), "", &[claim("c", &two, "")]);
    assert_eq!(
        it.line(&defaults()),
        "r=p/half s=p/small",
        "with the full card first nothing is left for the second"
    );
    let claims = format!(
        "claims:\n{}",
        held("other", "{request: r, pool: p, device: half}")
    );
    let it = case(&card("apart"), &claims, &[claim("c", ONE, "")]);
    assert_eq!(it.line(&defaults()), "r=p/small");
    assert_eq!(
        reason(&it.verdict(&defaults()), "full"),
        "counter memory of set card has 20Gi left, it needs 40Gi"
    );
}

#[test]
fn counters_in_the_devices_slice_are_the_layout_before_1_35() {
    let gates = Gates::all_of(Version::V1_34);
    let claims = format!(
        "claims:\n{}",
        held("other", "{request: r, pool: p, device: small}")
    );
    assert_eq!(
        case(&card("together"), &claims, &[claim("c", ONE, "")]).line(&gates),
        "r=p/half"
    );
}

#[test]
fn without_the_gate_partitions_are_not_there() {
    let it = case(&card("apart"), "", &[claim("c", ONE, "")]);
    assert!(it.line(&Gates::ga_of(LATEST)).starts_with("refused"));
}

#[test]
fn counters_that_the_pool_has_not_make_it_invalid() {
    let device = "devices: [{name: a, consumesCounters: [{counterSet: other, counters: {x: {value: '1'}}}]}]";
    let verdict =
        case(&[slice("s", "p", 1, device)], "", &[claim("c", ONE, "")]).verdict(&defaults());
    assert!(matches!(verdict.answer, Answer::Refused(_)));
    assert!(
        verdict.pools[0]
            .flaw
            .to_string()
            .contains("counter set other"),
        "{:?}",
        verdict.pools
    );
}

#[test]
fn compatibility_groups_keep_partitions_apart() {
    let counters = slice(
        "s-1",
        "p",
        2,
        "sharedCounters: [{name: card, counters: {x: {value: '8'}}}]",
    );
    let part = |name: &str, groups: &str| {
        format!(
            "{{name: {name}, consumesCounters: [{{counterSet: card, counters: {{x: {{value: '1'}}}}, compatibilityGroups: [{groups}]}}]}}"
        )
    };
    let devices = format!(
        "devices: [{}, {}, {}]",
        part("a", "mig"),
        part("b", "vgpu"),
        part("c", "mig, vgpu")
    );
    let slices = [counters, slice("s-2", "p", 2, &devices)];
    let two = exactly("r", "count: 2");
    let it = case(&slices, "", &[claim("c", &two, "")]);
    assert_eq!(it.line(&all()), "r=p/a r=p/c");
    assert!(reason(&it.verdict(&all()), "b").contains("vgpu"));
    assert!(
        it.line(&defaults()).starts_with("refused"),
        "with the gate off such a pool is not used"
    );
}

#[test]
fn taints_stop_all_who_do_not_tolerate_them() {
    let slices = [slice(
        "s",
        "p",
        1,
        "devices: [{name: a, taints: [{key: xid, value: '79', effect: NoExecute}]}, {name: b}]",
    )];
    let it = case(&slices, "", &[claim("c", ONE, "")]);
    assert_eq!(it.line(&defaults()), "r=p/b");
    assert_eq!(
        reason(&it.verdict(&defaults()), "a"),
        "tainted: xid=79:NoExecute"
    );
    let tolerant = exactly("r", "tolerations: [{key: xid, operator: Exists}]");
    assert_eq!(
        case(&slices, "", &[claim("c", &tolerant, "")]).line(&defaults()),
        "r=p/a"
    );
    let admin = exactly("r", "adminAccess: true");
    assert_eq!(
        case(&slices, "", &[claim("c", &admin, "")]).line(&defaults()),
        "r=p/b",
        "administrators are not exempt"
    );
    assert_eq!(it.line(&defaults().without(Gate::DeviceTaints)), "r=p/a");
}

#[test]
fn rules_taint_what_they_select() {
    let slices = [slice("s", "p", 1, "devices: [{name: a}, {name: b}]")];
    let with = |selector: &str| {
        let rules = format!(
            "rules: [{{metadata: {{name: drain}}, spec: {{{selector}taint: {{key: k, effect: NoSchedule}}}}}}]"
        );
        case(&slices, &rules, &[claim("c", ONE, "")])
    };
    let one = with("deviceSelector: {driver: d.example.com, pool: p, device: a}, ");
    assert_eq!(one.line(&defaults()), "r=p/b");
    assert!(reason(&one.verdict(&defaults()), "a").contains("DeviceTaintRule drain"));
    assert!(
        with("deviceSelector: {}, ")
            .line(&defaults())
            .starts_with("refused"),
        "an empty selector is every device"
    );
    assert_eq!(
        with("").line(&defaults()),
        "r=p/a",
        "no selector is no device"
    );
    assert_eq!(
        one.line(&defaults().without(Gate::DeviceTaintRules)),
        "r=p/a"
    );
}

#[test]
fn shares_of_a_device_take_what_the_policy_says() {
    let policy = "requestPolicy: {default: 1Gi, validRange: {min: 1Gi, step: 1Gi}}";
    let devices = format!(
        "devices: [{{name: a, allowMultipleAllocations: true, capacity: {{memory: {{value: 4Gi, {policy}}}}}}}]"
    );
    let slices = [slice("s", "p", 1, &devices)];
    let wanted = format!(
        "{}, {}",
        exactly("r", "capacity: {requests: {memory: 1.5Gi}}"),
        exactly("s", "")
    );
    let it = case(&slices, "", &[claim("c", &wanted, "")]);
    assert_eq!(it.line(&defaults()), "r=p/a[memory:2Gi] s=p/a[memory:1Gi]");
    let share = "{request: r, pool: p, device: a, shareID: x, consumedCapacity: {memory: 2Gi}}";
    let it = case(
        &slices,
        &format!("claims:\n{}", held("other", share)),
        &[claim("c", &wanted, "")],
    );
    assert!(it.line(&defaults()).starts_with("refused"));
    assert!(reason(&it.verdict(&defaults()), "a") != "taken");
}

#[test]
fn capacity_asked_of_a_whole_device_is_a_filter() {
    let slices = [slice(
        "s",
        "p",
        1,
        "devices: [{name: a, capacity: {memory: {value: 1Gi}}}, {name: b, capacity: {memory: {value: 2Gi}}}]",
    )];
    let it = case(
        &slices,
        "",
        &[claim(
            "c",
            &exactly("r", "capacity: {requests: {memory: 2Gi}}"),
            "",
        )],
    );
    assert_eq!(it.line(&defaults()), "r=p/b");
    assert_eq!(
        reason(&it.verdict(&defaults()), "a"),
        "capacity memory is 1Gi, asked is 2Gi"
    );
}

#[test]
fn pools_with_binding_conditions_come_last_and_bind_to_the_node() {
    let waits = slice(
        "a",
        "p-1",
        1,
        "devices: [{name: x, bindsToNode: true, bindingConditions: [ready], bindingFailureConditions: [broken]}]",
    );
    let plain = slice("b", "p-2", 1, "devices: [{name: y}]");
    let it = case(&[waits.clone(), plain], "", &[claim("c", ONE, "")]);
    assert_eq!(it.line(&defaults()), "r=p-2/y");
    let Answer::Allocated(given) = case(&[waits], "", &[claim("c", ONE, "")])
        .verdict(&defaults())
        .answer
    else {
        panic!("not allocated")
    };
    assert_eq!(given[0].devices[0].binding_conditions, ["ready".into()]);
    assert_eq!(
        given[0].devices[0].binding_failure_conditions,
        ["broken".into()]
    );
}

#[test]
fn devices_of_a_pool_can_say_for_themselves_which_nodes_reach_them() {
    let text = "slices: [{metadata: {name: s}, spec: {driver: d, perDeviceNodeSelection: true, pool: {name: p, generation: 1, resourceSliceCount: 1}, \
        devices: [{name: a, nodeName: n2}, {name: b, nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [z]}]}]}}, {name: c, allNodes: true}]}}]";
    let with = |labels: &str| {
        Case::new(&format!(
            "{text}\nnode: {{metadata: {{name: n1, labels: {{{labels}}}}}}}\nwanted:\n{}",
            claim("c", ONE, "")
        ))
    };
    assert_eq!(with("").line(&defaults()), "r=p/c");
    assert_eq!(with("zone: z").line(&defaults()), "r=p/b");
    let Answer::Allocated(given) = with("zone: z").verdict(&defaults()).answer else {
        panic!("not allocated")
    };
    assert_eq!(
        given[0]
            .node_selector
            .as_ref()
            .map(|s| s.terms[0].expressions.len()),
        Some(1)
    );
    let Answer::Allocated(given) = with("").verdict(&defaults()).answer else {
        panic!("not allocated")
    };
    assert_eq!(
        given[0].node_selector, None,
        "a device for all nodes can be used everywhere"
    );
}

#[test]
fn a_device_of_a_node_binds_the_claim_to_it() {
    let Answer::Allocated(given) = case(
        &[slice("s", "p", 1, "devices: [{name: a}]")],
        "",
        &[claim("c", ONE, "")],
    )
    .verdict(&defaults())
    .answer
    else {
        panic!("not allocated")
    };
    let selector = given[0].node_selector.as_ref().unwrap();
    assert_eq!(
        (
            &*selector.terms[0].fields[0].key,
            &*selector.terms[0].fields[0].values[0]
        ),
        ("metadata.name", "n1")
    );
}

#[test]
fn incomplete_pools_serve_nobody_since_1_35_and_none_but_all_before() {
    let slices = [slice("s", "p", 2, "devices: [{name: a}]")];
    let one = case(&slices, "", &[claim("c", ONE, "")]);
    let every = case(
        &slices,
        "",
        &[claim("c", &exactly("r", "allocationMode: All"), "")],
    );
    assert_eq!(one.line(&Gates::default_of(Version::V1_34)), "r=p/a");
    assert!(
        one.line(&Gates::default_of(Version::V1_35))
            .starts_with("refused")
    );
    assert!(
        one.verdict(&defaults()).pools[0]
            .flaw
            .to_string()
            .contains("1 of 2 slices")
    );
    assert!(
        !every
            .line(&Gates::default_of(Version::V1_34))
            .starts_with("r=")
    );
}

#[test]
fn only_the_newest_generation_counts() {
    let old = slice("s-1", "p", 1, "devices: [{name: a}]");
    let new =
        slice("s-2", "p", 1, "devices: [{name: b}]").replace("generation: 1", "generation: 2");
    assert_eq!(
        case(&[new, old], "", &[claim("c", ONE, "")]).line(&defaults()),
        "r=p/b"
    );
}

#[test]
fn a_claim_holds_32_devices() {
    let names: Vec<String> = (0..40).map(|i| format!("{{name: d{i:02}}}")).collect();
    let slices = [slice(
        "s",
        "p",
        1,
        &format!("devices: [{}]", names.join(", ")),
    )];
    assert!(
        case(&slices, "", &[claim("c", &exactly("r", "count: 32"), "")])
            .line(&defaults())
            .ends_with("r=p/d31")
    );
    let line = case(&slices, "", &[claim("c", &exactly("r", "count: 33"), "")]).line(&defaults());
    assert!(line.contains("33 devices") && line.contains("32"), "{line}");
}

#[test]
fn derived_attributes_align_devices_of_drivers_that_name_things_differently() {
    let slices = [slice(
        "s",
        "p",
        1,
        "devices: [{name: a, attributes: {numa: {int: 0}}}, {name: b, attributes: {numa: {int: 1}}}, {name: c, attributes: {node: {string: n1}}}]",
    )];
    let has = |what: &str| {
        format!(
            "selectors: [{{cel: {{expression: 'has(device.attributes[\"d.example.com\"].{what})'}}}}]"
        )
    };
    let derived = |expression: &str| {
        format!("derivedAttributes: [{{name: derived/numa, expression: '{expression}'}}]")
    };
    let gpu = exactly(
        "gpu",
        &format!(
            "{}, {}",
            has("numa"),
            derived("device.attributes[\"d.example.com\"].numa")
        ),
    );
    let nic = exactly(
        "nic",
        &format!(
            "{}, {}",
            has("node"),
            derived("int(device.attributes[\"d.example.com\"].node.substring(1))")
        ),
    );
    let constraint = "constraints: [{matchAttribute: derived/numa}]";
    assert_eq!(
        case(
            &slices,
            "",
            &[claim("c", &format!("{gpu}, {nic}"), constraint)]
        )
        .line(&all()),
        "gpu=p/b nic=p/c"
    );
}

#[test]
fn configuration_of_the_chosen_class_comes_before_that_of_the_claim() {
    let slices = [slice("s", "p", 1, "devices: [{name: a}]")];
    let classes = "classes: [{metadata: {name: any}, spec: {config: [{opaque: {driver: d.example.com, parameters: {from: class}}}]}}]";
    let config = "config: [{opaque: {driver: d.example.com, parameters: {for: all}}}, {requests: [r], opaque: {driver: d.example.com, parameters: {for: r}}}, \
                  {requests: [other], opaque: {driver: d.example.com, parameters: {for: other}}}]";
    let Answer::Allocated(given) = case(&slices, classes, &[claim("c", ONE, config)])
        .verdict(&defaults())
        .answer
    else {
        panic!("not allocated")
    };
    let texts: Vec<&str> = given[0]
        .config
        .iter()
        .map(|config| config.opaque.parameters.as_str())
        .collect();
    assert_eq!(
        texts,
        [r#"{"from":"class"}"#, r#"{"for":"all"}"#, r#"{"for":"r"}"#]
    );
}
