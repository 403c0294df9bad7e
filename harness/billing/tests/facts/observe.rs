//! From API objects to facts.

use billing::fact::{What, Why};
use billing::observe::{Change, How, Object, ObjectChange, observe};
use serde_json::{Value, json};

use super::fixture::*;

fn read<T: serde::de::DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).expect("an object")
}

fn time(second: i64) -> String {
    super::fixture::second(second).to_string()
}

fn claim_at(version: &str, status: Value) -> Object {
    Object::Claim(read(json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": { "name": "c", "namespace": "team", "uid": "u", "resourceVersion": version, "creationTimestamp": time(100),
            "managedFields": [
                { "manager": "kube-scheduler", "operation": "Update", "subresource": "status", "time": time(110), "fieldsType": "FieldsV1",
                  "fieldsV1": { "f:status": { "f:allocation": { ".": {} } } } },
                { "manager": "kubelet", "operation": "Update", "time": time(130), "fieldsType": "FieldsV1", "fieldsV1": {} },
            ] },
        "spec": { "devices": { "requests": [
            { "name": "gpu", "firstAvailable": [{ "name": "big", "deviceClassName": "gpu.nvidia.com" }, { "name": "small", "deviceClassName": "mig.nvidia.com", "count": 2 }] } ] } },
        "status": status,
    })))
}

fn allocated() -> Value {
    json!({
        "allocation": { "devices": { "results": [
            { "request": "gpu/small", "driver": "gpu.nvidia.com", "pool": "n", "device": "gpu-0-mig-1g10gb-19-0" },
            { "request": "gpu/small", "driver": "gpu.nvidia.com", "pool": "n", "device": "gpu-0", "adminAccess": true },
        ] } },
        "reservedFor": [{ "resource": "pods", "name": "p", "uid": "pu" }],
    })
}

fn change(object: Object, change: Change, received: i64, how: How) -> ObjectChange {
    ObjectChange {
        object,
        change,
        received: second(received),
        how,
    }
}

#[test]
fn a_claim_waits_holds_and_goes() {
    let facts = observe(&change(
        claim_at("7", Value::Null),
        Change::Added,
        101,
        How::Watched,
    ));
    assert!(matches!(
        facts.last().expect("a fact").what,
        What::ClaimWaits(_)
    ));
    let facts = observe(&change(
        claim_at("8", allocated()),
        Change::Modified,
        131,
        How::Watched,
    ));
    let [fact] = facts.as_slice() else {
        panic!("{facts:?}")
    };
    assert_eq!(
        (fact.version, fact.at, fact.estimated),
        (8, second(131), None)
    );
    let What::ClaimHolds(claim) = &fact.what else {
        panic!("{fact:?}")
    };
    assert_eq!(claim.devices.len(), 2);
    assert_eq!(
        (claim.devices[0].admin, claim.devices[1].admin),
        (false, true)
    );
    assert_eq!(&*claim.requests["gpu/small"].class, "mig.nvidia.com");
    assert_eq!(claim.requests["gpu/small"].count, Some(2));
    assert_eq!(&*claim.consumers[0].name, "p");
    let facts = observe(&change(
        claim_at("9", allocated()),
        Change::Deleted,
        140,
        How::Watched,
    ));
    assert_eq!(facts.last().expect("a fact").what, What::ClaimGone);
}

#[test]
fn what_is_watched_has_the_time_of_the_meter_and_what_was_missed_that_of_the_object() {
    let at = |how, received| {
        let facts = observe(&change(
            claim_at("8", allocated()),
            Change::Modified,
            received,
            how,
        ));
        let fact = facts.last().expect("a fact");
        (fact.at.get() - START, fact.estimated)
    };
    assert_eq!(at(How::Watched, 133), (133, None));
    // The scheduler wrote the allocation at 110; a kubelet that wrote later changes nothing of that.
    assert_eq!(at(How::FirstSight, 500), (110, Some(Why::FirstSight)));
    assert_eq!(
        at(How::Late { since: second(90) }, 500),
        (110, Some(Why::NotWatched))
    );
    // Never before the meter stopped to look, nor in the future.
    assert_eq!(
        at(How::Late { since: second(120) }, 500),
        (120, Some(Why::NotWatched))
    );
    assert_eq!(
        at(How::Late { since: second(50) }, 105),
        (105, Some(Why::NotWatched))
    );
    // With DRADeviceBindingConditions the API says it exactly.
    let mut exact = allocated();
    exact["allocation"]["allocationTimestamp"] = json!(time(115));
    let facts = observe(&change(
        claim_at("8", exact),
        Change::Modified,
        500,
        How::FirstSight,
    ));
    let fact = facts.last().expect("a fact");
    assert_eq!((fact.at, fact.estimated), (second(115), None));
}

#[test]
fn case_17_what_vanished_is_gone_since_it_was_last_seen() {
    let how = How::Vanished {
        since: second(300),
        listed: 99,
    };
    let facts = observe(&change(
        claim_at("8", allocated()),
        Change::Deleted,
        900,
        how,
    ));
    let [fact] = facts.as_slice() else {
        panic!("{facts:?}")
    };
    assert_eq!(
        (fact.version, fact.at, fact.estimated, &fact.what),
        (99, second(300), Some(Why::Vanished), &What::ClaimGone)
    );
}

#[test]
fn case_16_clocks_that_differ_are_a_fact() {
    let skew = |received, is| {
        let facts = observe(&change(
            claim_at("8", allocated()),
            is,
            received,
            How::Watched,
        ));
        facts.iter().find_map(|it| match it.what {
            What::Skew { seconds } => Some(seconds),
            _ => None,
        })
    };
    assert_eq!(skew(131, Change::Modified), None);
    assert_eq!(skew(125, Change::Modified), None);
    assert_eq!(skew(124, Change::Modified), Some(6));
    // An old object that changes leaves no trace of when; a new one does.
    assert_eq!(skew(9000, Change::Modified), None);
    assert_eq!(skew(105, Change::Added), Some(25));
}

#[test]
fn slices_rules_pods_and_nodes() {
    let slice: k8s_openapi::api::resource::v1::ResourceSlice = read(json!({
        "metadata": { "name": "s", "uid": "u", "resourceVersion": "5", "creationTimestamp": time(0) },
        "spec": { "driver": "gpu.nvidia.com", "nodeName": "n", "pool": { "name": "n", "generation": 3, "resourceSliceCount": 1 },
            "devices": [{ "name": "gpu-0", "attributes": { "type": { "string": "gpu" }, "gpu.nvidia.com/uuid": { "string": "GPU-1" }, "brand": { "string": "x" } },
                "capacity": { "memory": { "value": "80Gi" } },
                "consumesCounters": [{ "counterSet": "gpu-0-counter-set", "counters": { "memory": { "value": "80Gi" } } }],
                "taints": [{ "key": "a", "value": "1", "effect": "NoSchedule" }, { "key": "b", "effect": "None" }] }] },
    }));
    let facts = observe(&change(
        Object::Slice(slice.clone()),
        Change::Added,
        1,
        How::Watched,
    ));
    let What::SlicePublished(published) = &facts[0].what else {
        panic!("{facts:?}")
    };
    let device = &published.devices[0];
    assert_eq!(&*device.says["uuid"], "GPU-1");
    assert!(!device.says.contains_key("brand"));
    assert_eq!(device.capacity["memory"], 80 << 30);
    assert_eq!(
        device.taints.iter().map(|it| &**it).collect::<Vec<_>>(),
        ["a=1:NoSchedule"]
    );

    let mut half = slice.clone();
    half.spec.devices.as_mut().expect("devices")[0]
        .capacity
        .as_mut()
        .expect("capacity")
        .get_mut("memory")
        .expect("memory")
        .value
        .0 = "1500m".to_owned();
    let facts = observe(&change(Object::Slice(half), Change::Added, 1, How::Watched));
    assert!(
        matches!(&facts[0].what, What::Unreadable { mistake } if mistake.contains("ResourceSlice s") && mistake.contains("1500m")),
        "{facts:?}"
    );

    let mut nameless = slice;
    nameless.metadata.uid = None;
    let facts = observe(&change(
        Object::Slice(nameless),
        Change::Added,
        1,
        How::Watched,
    ));
    assert!(matches!(facts[0].what, What::Unreadable { .. }));

    let rule = |selector: Value, effect: &str| {
        let rule = read(
            json!({ "metadata": { "name": "r", "uid": "u", "resourceVersion": "5" },
            "spec": { "deviceSelector": selector, "taint": { "key": "k", "effect": effect } } }),
        );
        let facts = observe(&change(Object::Rule(rule), Change::Added, 1, How::Watched));
        let What::Tainted(rule) = facts[0].what.clone() else {
            panic!("{facts:?}")
        };
        rule.taint.map(|it| it.to_string())
    };
    assert_eq!(
        rule(json!({ "pool": "n" }), "NoExecute").as_deref(),
        Some("k:NoExecute")
    );
    assert_eq!(rule(json!({ "pool": "n" }), "None"), None);
    assert_eq!(rule(Value::Null, "NoExecute"), None);

    let pod = |spec: Value| {
        let pod = read(
            json!({ "metadata": { "name": "p", "uid": "u", "resourceVersion": "5" }, "spec": spec, "status": { "phase": "Pending",
            "containerStatuses": [{ "name": "c", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": { "waiting": { "reason": "ImagePullBackOff" } } }] } }),
        );
        observe(&change(Object::Pod(pod), Change::Added, 1, How::Watched))
    };
    assert_eq!(pod(json!({ "containers": [] })), []);
    let facts = pod(json!({ "containers": [], "resourceClaims": [{ "name": "x" }] }));
    let What::PodIs(pod) = &facts[0].what else {
        panic!("{facts:?}")
    };
    assert_eq!(
        (&*pod.phase, pod.reason.as_deref()),
        ("Pending", Some("ImagePullBackOff"))
    );

    let node = || {
        Object::Node(read(
            json!({ "metadata": { "name": "n", "uid": "u", "resourceVersion": "5" } }),
        ))
    };
    assert_eq!(observe(&change(node(), Change::Added, 1, How::Watched)), []);
    let facts = observe(&change(node(), Change::Deleted, 1, How::Watched));
    assert_eq!(facts[0].what, What::NodeGone { node: "n".into() });
}
