//! Four accounts of one claim: what is right passes, and each lie of one of them is found, with all four values.

use billing::reconcile::{Accounts, Invoiced, invoiced};
use billing::{Entry, Uid, Weights};
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaim};
use oracle::quota::Rules;
use oracle::{Gates, Version};
use serde_json::{Value, json};

use super::fixture::*;

fn live(uid: &str, device: Option<&str>) -> ResourceClaim {
    let results = device.map(
        |device| json!([{ "request": "gpu", "driver": DRIVER, "pool": "n", "device": device }]),
    );
    let status = results.map_or(
        Value::Null,
        |results| json!({ "allocation": { "devices": { "results": results } } }),
    );
    serde_json::from_value(json!({
        "metadata": { "name": uid, "namespace": "team", "uid": uid, "resourceVersion": "5" },
        "spec": { "devices": { "requests": [{ "name": "gpu", "exactly": { "deviceClassName": "mig.nvidia.com" } }] } },
        "status": status,
    }))
    .expect("a claim")
}

fn class() -> DeviceClass {
    serde_json::from_value(json!({ "metadata": { "name": "mig.nvidia.com" }, "spec": {} }))
        .expect("a class")
}

const SMALL: [&str; 2] = ["gpu-0-mig-1g10gb-19-0", "gpu-0-mig-1g10gb-19-1"];

/// What the meter saw: `a` for the whole hour, `b` for its first half.
fn metered() -> Vec<Entry> {
    let mut facts = published("n", "A100-SXM4-80GB", 1, 0);
    facts.extend([
        holds("a", 5, 0, SMALL[0]),
        holds("b", 6, 0, SMALL[1]),
        gone("b", 7, 1800),
    ]);
    account(facts, &Weights::Compute, span(0, 3600)).expect("sound")
}

fn accounts(claims: &[ResourceClaim], invoice: &[(&str, i64)]) -> Result<usize, String> {
    let mut accounts = Accounts::default();
    accounts.live(
        claims,
        &[class()],
        &Rules::of(&Gates::default_of(Version::V1_37)),
    );
    for entry in metered() {
        accounts.metered(&entry, span(0, 3600)).expect("fits");
    }
    let line = |(uid, seconds): &(&str, i64)| {
        (
            Uid::from(*uid),
            Invoiced {
                seconds: *seconds,
                amounts: vec!["0.50".to_owned()],
            },
        )
    };
    accounts.invoice(invoice.iter().map(line));
    accounts
        .reconcile(true)
        .map(|rows| rows.len())
        .map_err(|difference| difference.to_string())
}

#[test]
fn what_is_right_in_all_four_passes() {
    assert_eq!(
        accounts(&[live("a", Some(SMALL[0]))], &[("a", 3600), ("b", 1800)]),
        Ok(2)
    );
    // A claim that waits is charged to a quota and holds nothing: case 47.
    assert_eq!(
        accounts(
            &[live("a", Some(SMALL[0])), live("w", None)],
            &[("a", 3600), ("b", 1800)]
        ),
        Ok(3)
    );
}

#[test]
fn each_lie_is_found_and_all_four_values_are_said() {
    let right = [("a", 3600), ("b", 1800)];
    for (claims, invoice, word) in [
        (vec![], &right[..], "does not have"),
        (vec![live("a", Some(SMALL[1]))], &right[..], "other devices"),
        (
            vec![live("a", Some(SMALL[0])), live("x", Some("gpu-3"))],
            &right[..],
            "did not see",
        ),
        (
            vec![live("a", Some(SMALL[0]))],
            &[("a", 3600)][..],
            "no line of it",
        ),
        (
            vec![live("a", Some(SMALL[0]))],
            &[("a", 3599), ("b", 1800)][..],
            "counts 3599 s, the meter 3600 s",
        ),
        (
            vec![live("a", Some(SMALL[0]))],
            &[("a", 3600), ("b", 1800), ("z", 5)][..],
            "did not see it hold anything",
        ),
    ] {
        let text = accounts(&claims, invoice).expect_err(word);
        assert!(text.contains(word), "{text}");
        assert!(
            ["quota", "allocation", "meter", "invoice"]
                .iter()
                .all(|it| text.contains(it)),
            "{text}"
        );
    }
}

#[test]
fn an_invoice_is_read_by_its_lines_of_claims() {
    let text = json!({ "lines": [
        { "kind": "sold", "claim_uid": "a", "seconds": 10, "amount": "0.50" },
        { "kind": "sold", "claim_uid": "a", "seconds": 5, "amount": "0.25" },
        { "kind": "administrative", "claim_uid": "a", "seconds": 100, "amount": "0.00" },
        { "kind": "idle", "seconds": 7, "amount": "1.00" },
    ] });
    let read = invoiced(&text.to_string()).expect("an invoice");
    assert_eq!(
        read,
        [(
            Uid::from("a"),
            Invoiced {
                seconds: 15,
                amounts: vec!["0.50".to_owned(), "0.25".to_owned()]
            }
        )]
        .into()
    );
    assert!(invoiced("{}").is_err());
}
