//! Misallocation on hand-made cards: what a claim got against the smallest that would have fitted.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod cases;

use cases::{Case, claim, slice};
use oracle::objects::{Claim, Held};
use oracle::{DeviceId, Gates, Misallocation, Version, Weight};

/// A card of 7 compute and 8 memory slices, its partitions in this order; `whole` is the card itself.
fn card(devices: &[&str]) -> Vec<String> {
    let slices = |from: u32, count: u32| {
        let slices: Vec<String> = (from..from + count)
            .map(|at| format!("memory-slice-{at}: {{value: \"1\"}}"))
            .collect();
        slices.join(", ")
    };
    let device = |name: &&str| {
        let (profile, from, count) = match *name {
            "whole" => ("", 0, 8),
            "1g.5gb-0" => ("1g.5gb", 0, 1),
            "1g.5gb-4" => ("1g.5gb", 4, 1),
            "1g.10gb-0" => ("1g.10gb", 0, 2),
            "3g.20gb-4" => ("3g.20gb", 4, 4),
            "7g.40gb-0" => ("7g.40gb", 0, 8),
            "odd-0" => ("odd", 0, 1),
            other => panic!("{other}"),
        };
        let profile = match profile {
            "" => String::new(),
            profile => format!("attributes: {{profile: {{string: {profile}}}}}, "),
        };
        format!(
            "{{name: \"{name}\", {profile}consumesCounters: [{{counterSet: card, counters: {{{}}}}}]}}",
            slices(from, count)
        )
    };
    let devices: Vec<String> = devices.iter().map(device).collect();
    vec![
        slice(
            "s0",
            "p",
            2,
            &format!(
                "sharedCounters: [{{name: card, counters: {{{}}}}}]",
                slices(0, 8)
            ),
        ),
        slice("s1", "p", 2, &format!("devices: [{}]", devices.join(", "))),
    ]
}

fn of(devices: &[&str], requests: &str, given: &[(&str, &str)]) -> Misallocation {
    let text = format!(
        "slices:\n{}\nwanted:\n{}",
        card(devices).concat(),
        claim("c", requests, "")
    );
    let case = Case::new(&text);
    let gates = Gates::default_of(Version::V1_37);
    let world = case.world(&gates, None);
    let claims: Vec<Claim> = case.wanted(&gates);
    let held: Vec<Held> = given
        .iter()
        .map(|(request, device)| Held {
            request: (*request).into(),
            device: DeviceId::new("d.example.com", "p", device),
            admin: false,
            share: None,
            consumed: Default::default(),
        })
        .collect();
    oracle::misallocation(&world, &claims[0], &held, &world.nodes()[0]).unwrap()
}

const ONE: &str = "{name: r, exactly: {deviceClassName: any}}";

#[test]
fn compute_slices_beyond_the_smallest_that_fits() {
    let it = of(&["3g.20gb-4", "1g.5gb-0"], ONE, &[("r", "3g.20gb-4")]);
    assert_eq!((it.compute(), it.memory()), (Some(3 - 1), Some(4 - 1)));
    assert!(it.too_large());
    assert_eq!(&*it.places[0].smallest.as_ref().unwrap().device, "1g.5gb-0");
    let it = of(&["3g.20gb-4", "1g.5gb-0"], ONE, &[("r", "1g.5gb-0")]);
    assert_eq!(
        (it.compute(), it.memory(), it.too_large()),
        (Some(0), Some(0), false)
    );
}

#[test]
fn memory_slices_count_where_compute_slices_are_equal() {
    let it = of(&["1g.10gb-0", "1g.5gb-0"], ONE, &[("r", "1g.10gb-0")]);
    assert_eq!((it.compute(), it.memory()), (Some(0), Some(2 - 1)));
    assert!(it.too_large());
}

#[test]
fn a_whole_card_weighs_what_its_heaviest_partition_does() {
    let it = of(&["whole", "7g.40gb-0", "1g.5gb-0"], ONE, &[("r", "whole")]);
    assert_eq!(
        it.places[0].given_weight,
        Weight {
            compute: Some(7),
            memory: Some(8)
        }
    );
    assert_eq!(it.compute(), Some(7 - 1));
}

#[test]
fn an_unknown_weight_is_not_guessed() {
    let it = of(&["odd-0", "1g.5gb-4"], ONE, &[("r", "odd-0")]);
    assert_eq!((it.compute(), it.too_large()), (None, false));
    assert_eq!(it.to_string(), "unknown");
    let it = of(&["odd-0"], ONE, &[("r", "odd-0")]);
    assert_eq!(it.compute(), Some(0), "there was nothing else");
}

#[test]
fn the_smaller_set_is_one_that_could_have_been_had() {
    // One small partition fits both places, but only one of them.
    let requests = format!("{ONE}, {}", ONE.replace("name: r", "name: q"));
    let it = of(
        &["1g.10gb-0", "3g.20gb-4", "1g.5gb-4"],
        &requests,
        &[("r", "1g.10gb-0"), ("q", "3g.20gb-4")],
    );
    // In place of the 3g.20gb stands the 1g.5gb of its own slices; the 1g.10gb keeps its place.
    assert_eq!(it.compute(), Some(3 - 1));
    assert_eq!(it.memory(), Some(4 - 1));
    let all = "{name: r, exactly: {deviceClassName: any, allocationMode: All}}";
    let it = of(
        &["3g.20gb-4", "1g.5gb-0"],
        all,
        &[("r", "3g.20gb-4"), ("r", "1g.5gb-0")],
    );
    assert_eq!(it.compute(), Some(0), "who asks for all has no choice");
}
