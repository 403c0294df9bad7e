//! `meter --manifests`, `ledger` and `reconcile` on a ledger without a cluster.
#![allow(missing_docs, reason = "tests")]

use std::path::Path;
use std::process::Command;

use billing::fact::{Claim, Device, Fact, Held, Slice, What};
use billing::{Place, Seconds};

fn run(folder: &Path, args: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_sliceproof"))
        .args(args)
        .current_dir(folder)
        .env_remove("SLICEPROOF_LEDGER")
        .output()
        .expect("started");
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().expect("a code"), text)
}

fn at(text: &str) -> Seconds {
    text.parse().expect("a time")
}

/// A ledger of one whole card, which claim `u` had for an hour.
fn ledger(folder: &Path) {
    let device = Device {
        name: "gpu-0".into(),
        says: [
            ("type".into(), "gpu".into()),
            ("uuid".into(), "GPU-1".into()),
            ("productName".into(), "NVIDIA A100-SXM4-80GB".into()),
        ]
        .into(),
        capacity: Default::default(),
        draws: Default::default(),
        shared: false,
        taints: vec![],
    };
    let slice = Slice {
        driver: "gpu.nvidia.com".into(),
        pool: "n".into(),
        generation: 1,
        of: 1,
        node: None,
        sets: Default::default(),
        devices: vec![device],
    };
    let held = Held {
        request: "gpu".into(),
        driver: "gpu.nvidia.com".into(),
        pool: "n".into(),
        device: "gpu-0".into(),
        admin: false,
        share: None,
        consumed: Default::default(),
    };
    let claim = Claim {
        namespace: "team".into(),
        name: "c".into(),
        requests: Default::default(),
        devices: vec![held],
        consumers: vec![],
        extended: false,
        spot: false,
    };
    let fact = |uid: &str, version, second: &str, what| Fact {
        uid: uid.into(),
        version,
        at: at(second),
        estimated: None,
        what,
    };
    let facts = [
        fact("s", 1, "2026-11-01T00:00:00Z", What::SlicePublished(slice)),
        fact("u", 2, "2026-11-01T01:00:00Z", What::ClaimHolds(claim)),
        fact("u", 3, "2026-11-01T02:00:00Z", What::ClaimGone),
    ];
    let place = Place::File(folder.join("sliceproof-ledger.db"));
    let mut ledger = place.open().expect("opened");
    ledger.append(&facts, &[]).expect("kept");
}

const DAY: [&str; 4] = ["--from", "2026-11-01", "--until", "2026-11-02"];

#[test]
fn the_meters_manifests_are_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, text) = run(
        folder.path(),
        &["meter", "--manifests", "--namespace", "bills"],
    );
    assert_eq!(code, 0, "{text}");
    for word in [
        "kind: ClusterRole\n",
        "kind: Deployment",
        "namespace: bills",
        "- watch",
    ] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
}

#[test]
fn a_ledger_is_verified_shown_closed_and_corrected() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, text) = run(folder.path(), &["ledger", "verify"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("sliceproof-ledger.db"), "{text}");
    ledger(folder.path());
    let (code, text) = run(folder.path(), &["ledger", "verify"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("3 rows hold"), "{text}");
    let (code, text) = run(folder.path(), &[&["ledger", "show"], &DAY[..]].concat());
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("1.0000  sold           team/c gpu-0 (u)"),
        "{text}"
    );
    assert!(text.contains("23.0000  idle"), "{text}");
    let (code, text) = run(folder.path(), &[&["ledger", "seal"], &DAY[..]].concat());
    assert_eq!(code, 0, "{text}");
    let correct = [
        "ledger",
        "correct",
        "3",
        "--at",
        "2026-11-01T03:00:00Z",
        "--reason",
        "the node was cut off",
    ];
    let (code, text) = run(folder.path(), &correct);
    assert_eq!(code, 0, "{text}");
    let (_, text) = run(folder.path(), &[&["ledger", "show"], &DAY[..]].concat());
    assert!(text.contains("2.0000  sold"), "{text}");
}

#[test]
fn an_invoice_that_does_not_agree_fails_with_all_four_values_and_the_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    ledger(folder.path());
    let invoice = |seconds: i64| {
        let text = format!(
            r#"{{"lines": [{{"kind": "sold", "claim_uid": "u", "seconds": {seconds}, "amount": "2.14"}}]}}"#
        );
        std::fs::write(folder.path().join("invoice.json"), text).expect("written");
    };
    let args = [
        &["reconcile", "--offline", "--invoice", "invoice.json"],
        &DAY[..],
    ]
    .concat();
    invoice(3600);
    let (code, text) = run(folder.path(), &args);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("1 claim without a difference"), "{text}");
    invoice(3601);
    let (code, text) = run(folder.path(), &args);
    assert_eq!(code, 1, "{text}");
    for word in [
        "team/c",
        "(u)",
        "invoice 2.14 for 3601 s",
        "meter 3600 s",
        "row 2",
        "row 3",
    ] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
    std::fs::write(
        folder.path().join("opencost.json"),
        r#"{"data": [{"x": {"properties": {"namespace": "team", "pod": "p"}, "gpuHours": 5}}]}"#,
    )
    .expect("written");
    let against = [
        &["reconcile", "--offline", "--against", "opencost.json"],
        &DAY[..],
    ]
    .concat();
    let (code, text) = run(folder.path(), &against);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("1.0000 h here, not there") && text.contains("pod team/p: there, not here"),
        "{text}"
    );
}

#[test]
fn a_ledger_is_billed_and_the_invoice_is_reconciled_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    ledger(folder.path());
    let bill = ["bill", "--period", "2026-11-01..2026-11-02", "--out", "out"];
    let (code, text) = run(folder.path(), &bill);
    assert_eq!(code, 0, "{text}");
    let statement = folder.path().join("out/statement.json");
    let read = || std::fs::read(&statement).expect("a statement");
    let first = read();
    let json: serde_json::Value = serde_json::from_slice(&first).expect("JSON");
    // One hour of the card at the book's price on demand.
    let book = billing::PriceBook::read(billing::PriceBook::DEFAULT).expect("a book");
    let rate = book
        .rates
        .iter()
        .find(|it| it.model == "A100-SXM4-80GB" && it.kind == billing::book::Kind::OnDemand)
        .and_then(|it| it.price)
        .expect("a price");
    assert_eq!(rate.per, billing::Per::Hour);
    let billed: billing::Ratio = json["totals"]["billed"]
        .as_str()
        .expect("an amount")
        .parse()
        .expect("a number");
    assert_eq!(billed, rate.amount);
    let (_, verified) = run(folder.path(), &["ledger", "verify"]);
    let hash = json["inputs"]["ledger"].as_str().expect("a hash");
    assert!(verified.contains(hash), "{verified} has not {hash}");

    let reconcile = [
        &["reconcile", "--offline", "--invoice", "out/statement.json"],
        &DAY[..],
    ]
    .concat();
    let (code, text) = run(folder.path(), &reconcile);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("1 claim without a difference"), "{text}");

    let (code, text) = run(folder.path(), &bill);
    assert_eq!(code, 0, "{text}");
    assert_eq!(read(), first, "the same inputs give the same bytes");
    let explain = ["explain", "charge", "u", "--invoice", "out/statement.json"];
    let (code, text) = run(folder.path(), &explain);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("team/c"), "{text}");
}
