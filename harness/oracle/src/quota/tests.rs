use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::resource::v1 as api;
use serde_json::{Value, json};

use super::*;
use crate::gates::Gates;
use crate::version::Version;

fn claim(name: &str, requests: Value) -> Claim {
    made(json!({"metadata": {"name": name}, "spec": {"devices": {"requests": requests}}}))
}

fn made(object: Value) -> Claim {
    Claim::read(&serde_json::from_value::<api::ResourceClaim>(object).expect("as it should be"))
}

fn exactly(class: &str, count: i64) -> Value {
    json!({"name": "r", "exactly": {"deviceClassName": class, "count": count}})
}

fn pod(object: Value) -> Pod {
    Pod::read(&serde_json::from_value::<core::Pod>(object).expect("as it should be"))
        .expect("as it should be")
}

/// A quota that is at its limits with nothing used.
fn quota(name: &str, hard: Value) -> Limits {
    let none: serde_json::Map<String, Value> = hard
        .as_object()
        .expect("as it should be")
        .keys()
        .map(|key| (key.clone(), json!("0")))
        .collect();
    let object = json!({"metadata": {"name": name}, "spec": {"hard": hard}, "status": {"hard": hard, "used": none}});
    Limits::read(&serde_json::from_value::<core::ResourceQuota>(object).expect("as it should be"))
        .expect("as it should be")
}

fn classes() -> Classes {
    Classes::named([
        ("gpu", Some("example.com/gpu")),
        ("plain", None),
        ("one", Some("example.com/twin")),
        ("two", Some("example.com/twin")),
    ])
}

fn rules() -> Rules {
    Rules::of(&Gates::default_of(Version::V1_37))
}

fn charged(claim: &Claim, rules: &Rules) -> Vec<(String, String)> {
    let charge = of_claim(claim, &Held::default(), &classes(), rules);
    let amounts = charge.amounts.into_iter();
    amounts
        .map(|(key, amount)| (key, amount.to_string()))
        .collect()
}

#[test]
fn requests_are_summed_alternatives_count_with_their_largest_and_all_is_the_most_that_a_claim_holds()
 {
    let first = json!({"name": "f", "firstAvailable": [
        {"name": "a", "deviceClassName": "gpu", "count": 3},
        {"name": "b", "deviceClassName": "plain", "allocationMode": "All"},
        {"name": "c", "deviceClassName": "gpu", "count": 2},
    ]});
    let admin = json!({"name": "m", "exactly": {"deviceClassName": "gpu", "count": 1, "adminAccess": true}});
    let claim = claim("c", json!([exactly("gpu", 4), first, admin]));
    let gpu = (4 + 3 + 1).to_string();
    let all = crate::limits::RESULTS_PER_CLAIM.to_string();
    let expected = [
        (claims().to_owned(), "1".to_owned()),
        (devices("gpu"), gpu.clone()),
        (devices("plain"), all.clone()),
        (implicit("gpu"), gpu.clone()),
        (implicit("plain"), all),
        (requests("example.com/gpu"), gpu),
    ];
    assert_eq!(charged(&claim, &rules()), expected);
    let before = Rules::of(&Gates::all_of(Version::V1_34));
    assert_eq!(charged(&claim, &before), expected[..3]);
}

#[test]
fn of_classes_with_one_resource_one_counts_though_the_page_says_that_all_do() {
    let claim = claim("c", json!([exactly("one", 2), exactly("two", 3)]));
    let key = requests("example.com/twin");
    let real = of_claim(&claim, &Held::default(), &classes(), &rules());
    assert_eq!(
        (real.least_of(&key).to_string(), real.of(&key).to_string()),
        ("2".into(), "3".into())
    );
    let documented = Rules::documented(&Gates::default_of(Version::V1_37));
    let said = of_claim(&claim, &Held::default(), &classes(), &documented);
    assert_eq!(
        (said.least_of(&key).to_string(), said.of(&key).to_string()),
        ("5".into(), "5".into())
    );
}

/// A pod with two GPUs by name, and claims that say they were made for it.
fn pod_and_claims(names: &[&str]) -> Held {
    let pod = pod(
        json!({"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [
            {"name": "a", "resources": {"limits": {"example.com/gpu": "2"}}},
        ]}}),
    );
    let claims = names.iter().enumerate().map(|(at, name)| {
        made(json!({"metadata": {
            "name": name, "creationTimestamp": format!("2026-01-01T00:00:0{at}Z"),
            "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": true}],
        }, "spec": {"devices": {"requests": [exactly("gpu", 2)]}}}))
    });
    Held {
        claims: claims.collect(),
        pods: vec![pod],
    }
}

#[test]
fn what_the_pod_has_paid_is_not_paid_again_by_the_first_claim_that_was_made_for_it() {
    let held = pod_and_claims(&["z", "a"]);
    let quota = quota(
        "q",
        json!({devices("gpu"): "9", requests("example.com/gpu"): "9", implicit("gpu"): "9"}),
    );
    let sum = |held: &Held, rules: &Rules| {
        let used = used(&quota, held, &classes(), rules);
        let shown = used
            .into_iter()
            .map(|(key, (_, most))| (key, most.to_string()));
        shown.collect::<std::collections::BTreeMap<_, _>>()
    };
    let now = sum(&held, &rules());
    // Pod 2, the first claim nothing more, the second 2.
    assert_eq!(now[&requests("example.com/gpu")], "4");
    assert_eq!(
        (
            now[&devices("gpu")].as_str(),
            now[&implicit("gpu")].as_str()
        ),
        ("4", "4")
    );
    let in_1_35 = Rules::of(&Gates::all_of(Version::V1_35));
    assert_eq!(sum(&held, &in_1_35)[&requests("example.com/gpu")], "2");
    let mut ended = held.clone();
    ended.pods[0].ended = true;
    assert_eq!(
        sum(&ended, &rules())[&requests("example.com/gpu")],
        "4",
        "both claims pay themselves"
    );
}

#[test]
fn containers_are_summed_and_an_earlier_one_counts_if_it_needs_more() {
    let of = |containers: Value, init: Value| {
        let pod = pod(
            json!({"metadata": {"name": "p"}, "spec": {"containers": containers, "initContainers": init}}),
        );
        of_pod(&pod, &rules())
            .of(&requests("example.com/gpu"))
            .to_string()
    };
    let asks = |n: u32| json!({"name": "c", "resources": {"requests": {"example.com/gpu": n.to_string(), "cpu": "1"}}});
    let stays = |n: u32| {
        let mut it = asks(n);
        it["restartPolicy"] = json!("Always");
        it
    };
    assert_eq!(of(json!([asks(1), asks(2)]), json!([])), "3");
    assert_eq!(of(json!([asks(1)]), json!([asks(4)])), "4");
    assert_eq!(of(json!([asks(1)]), json!([stays(2), asks(3)])), "5");
    assert_eq!(of(json!([asks(4)]), json!([stays(2), asks(3)])), "6");
}

#[test]
fn a_refusal_names_what_is_too_much_and_only_that() {
    let quota = quota("q", json!({devices("gpu"): "2", claims(): "5"}));
    let charge = of_claim(
        &claim("c", json!([exactly("gpu", 3)])),
        &Held::default(),
        &classes(),
        &rules(),
    );
    let denied = admit(
        std::slice::from_ref(&quota),
        &charge,
        None,
        &classes(),
        &rules(),
    )
    .expect_err("refused");
    let key = devices("gpu");
    assert_eq!(
        denied[0].to_string(),
        format!("exceeded quota: q, requested: {key}=3, used: {key}=0, limited: {key}=2")
    );
    let charge = of_claim(
        &claim("c", json!([exactly("gpu", 2)])),
        &Held::default(),
        &classes(),
        &rules(),
    );
    let after = admit(
        std::slice::from_ref(&quota),
        &charge,
        None,
        &classes(),
        &rules(),
    )
    .expect("as it should be");
    assert_eq!(after[0].used[&key].to_string(), "2");
    let none = growth(&charge, &charge);
    assert!(
        none.amounts.is_empty(),
        "an update that changes nothing costs nothing"
    );
    let mut unknown = quota;
    unknown.used.remove(&key);
    let denied = admit(&[unknown], &charge, None, &classes(), &rules()).expect_err("refused");
    assert_eq!(
        denied[0].to_string(),
        format!("status unknown for quota: q, resources: {},{key}", claims())
    );
}

#[test]
fn a_scope_takes_claims_out_and_an_absent_class_counts_in_company_only() {
    let held = Held {
        claims: vec![claim("c", json!([exactly("absent", 2)]))],
        pods: vec![],
    };
    let of = |hard: Value, rules: &Rules| {
        let used = used(&quota("q", hard), &held, &classes(), rules);
        used[&implicit("absent")].1.to_string()
    };
    let documented = Rules::documented(&Gates::default_of(Version::V1_37));
    let (alone, together) = (
        json!({implicit("absent"): "9"}),
        json!({implicit("absent"): "9", claims(): "9"}),
    );
    assert_eq!(
        (of(alone.clone(), &rules()), of(together.clone(), &rules())),
        ("0".into(), "2".into())
    );
    assert_eq!(
        (of(alone, &documented), of(together.clone(), &documented)),
        ("2".into(), "2".into())
    );
    let mut scoped = quota("q", together);
    scoped.scopes = vec![Scope::NotTerminating];
    assert!(
        used(&scoped, &held, &classes(), &rules())
            .values()
            .all(|(_, most)| most.is_zero())
    );
}

#[test]
fn keys_are_told_apart_and_the_usual_misspellings_are_mended() {
    let class = "mig.nvidia.com";
    assert_eq!(Key::read(&devices(class)), Key::Devices(class));
    assert_eq!(Key::read(&implicit(class)), Key::Implicit(class));
    assert_eq!(
        Key::read("requests.nvidia.com/gpu"),
        Key::Resource("nvidia.com/gpu")
    );
    assert_eq!(Key::read(claims()), Key::Claims);
    assert_eq!(
        Key::read("count/resourceclaimtemplates.resource.k8s.io"),
        Key::Templates
    );
    for other in [
        "requests.cpu",
        "pods",
        "count/pods",
        "cpu",
        "gold.storageclass.storage.k8s.io/requests.storage",
        "limits.memory",
    ] {
        assert_eq!(Key::read(other), Key::Other, "{other}");
    }
    for (wrong, right) in [
        (
            "request.deviceclass.resource.kubernetes.io/a",
            implicit("a"),
        ),
        ("limits.deviceclass.resource.kubernetes.io/a", implicit("a")),
        ("deviceclass.resource.kubernetes.io/a", implicit("a")),
        ("requests.deviceclass.resource.k8s.io/a", implicit("a")),
        ("a.deviceclass.resource.kubernetes.io/devices", devices("a")),
        ("a.deviceclass.resource.k8s.io/device", devices("a")),
        ("resourceclaims", claims().to_owned()),
        ("count/resourceclaims", claims().to_owned()),
        ("count/resourceclaims.k8s.io", claims().to_owned()),
    ] {
        assert_eq!(Key::read(wrong), Key::Misspelt(Some(right)), "{wrong}");
    }
    assert_eq!(Key::read("a.deviceClass/devices"), Key::Misspelt(None));
    for bare in [
        "nvidia.com/gpu",
        "limits.nvidia.com/gpu",
        "request.nvidia.com/gpu",
    ] {
        assert_eq!(
            Key::read(bare),
            Key::Bare("requests.nvidia.com/gpu".to_owned()),
            "{bare}"
        );
    }
}

#[test]
fn limits_that_are_refused_and_limits_that_mean_something_else() {
    let of = |key: &str, text: &str| unfit(key, text, &rules());
    let whole = devices("gpu");
    assert_eq!(of(&whole, "-1"), [Unfit::Negative]);
    assert_eq!(of(&whole, "1.5"), [Unfit::NotWhole]);
    assert_eq!(of(&whole, "-500m"), [Unfit::Negative, Unfit::NotWhole]);
    assert_eq!(of(&implicit("gpu"), "1.5"), [Unfit::Fraction]);
    assert_eq!(of("requests.example.com/gpu", "1500m"), [Unfit::Fraction]);
    assert_eq!(of("requests.cpu", "500m"), []);
    assert_eq!(of(&whole, "5000000000000000001"), [Unfit::NotWhole]);
    assert_eq!(of(&whole, "9223372036854775"), []);
    assert_eq!(of(&whole, "9223372036854776"), [Unfit::NotWhole]);
    assert_eq!(of(&whole, "9223372036854775807"), [Unfit::Endless]);
    assert_eq!(
        of(&whole, "99999999999999999999"),
        [Unfit::NotWhole, Unfit::Endless]
    );
    assert_eq!(of(&whole, "1k"), []);
    assert_eq!(of(&whole, "many"), []);
}
