#![allow(clippy::expect_used, reason = "tests stop at the first surprise")]

use super::{json, menu, picture, table};
use crate::live::captured::{a100, server};

#[test]
fn the_menu_of_a_card_folded() {
    let menu = menu::menu(&a100().0, &server());
    insta::assert_snapshot!(table::render(&menu, false));
}

#[test]
fn the_picture_of_a_card() {
    let menu = menu::menu(&a100().0, &server());
    insta::assert_snapshot!(picture::render(&menu));
}

#[test]
fn unfolded_and_in_json_every_device_is_there() {
    let (listed, _) = a100();
    let devices = listed
        .slices
        .iter()
        .flat_map(|slice| slice.spec.devices.iter().flatten())
        .count();
    let menu = menu::menu(&listed, &server());
    let text = table::render(&menu, true);
    assert_eq!(
        text.lines()
            .filter(|line| line.contains("  gpu-0-mig-"))
            .count(),
        devices,
        "{text}"
    );
    let value = json::value(&menu);
    assert_eq!(value["format"], "sliceproof.slices/1");
    assert_eq!(value["devices"].as_array().map(Vec::len), Some(devices));
    let holds = |state: &str| {
        let devices = value["devices"].as_array().into_iter().flatten();
        devices.filter(|device| device["state"] == state).count()
    };
    let held = listed.claims.iter().filter(|claim| {
        let status = claim.status.as_ref();
        status.is_some_and(|status| status.allocation.is_some())
    });
    assert_eq!(holds("held"), held.count());
    assert_eq!(holds("held") + holds("free") + holds("short"), devices);
}

#[test]
fn a_pool_that_is_not_whole_and_a_taint_are_said() {
    let (mut listed, _) = a100();
    let devices = listed.slices[1].spec.devices.as_mut().expect("devices");
    let taint = serde_json::json!([{ "key": "xid", "value": "79", "effect": "NoSchedule" }]);
    devices[5].taints = serde_json::from_value(taint).expect("a taint");
    let text = table::render(&menu::menu(&listed, &server()), true);
    assert!(
        text.contains("only by those who tolerate xid=79:NoSchedule"),
        "{text}"
    );
    listed.slices.remove(0);
    let text = table::render(&menu::menu(&listed, &server()), false);
    assert!(
        text.contains("not now: its pool is incomplete: 1 of 2 slices"),
        "{text}"
    );
}
