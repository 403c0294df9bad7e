//! Claims, pods and limits by chance.

use oracle::quota::{claims, devices, implicit, requests};
use serde_json::{Value, json};

use crate::dice::Dice;

/// A class, and the extended resource that it names. The last is not there.
pub(crate) const CLASSES: [(&str, Option<&str>); 6] = [
    ("gpu.quota.test", Some("quota.test/gpu")),
    ("mig.quota.test", Some("quota.test/mig")),
    ("one.quota.test", Some("quota.test/twin")),
    ("two.quota.test", Some("quota.test/twin")),
    ("plain.quota.test", None),
    ("absent.quota.test", None),
];

/// Whether there is such a class.
pub(crate) fn is_there(class: &str) -> bool {
    !class.starts_with("absent")
}

/// What a claim asks for. `twin` is the one of the two classes with one resource that this claim may use: of both only one would
/// count, and which is chance.
fn class(dice: &mut Dice, twin: &str) -> &'static str {
    loop {
        let (class, resource) = *dice.pick(&CLASSES);
        if resource != Some("quota.test/twin") || class.starts_with(twin) {
            return class;
        }
    }
}

fn count(dice: &mut Dice) -> i64 {
    match dice.below(40) {
        0 => i64::MAX,
        1 => 40,
        2 => 1000,
        _ => i64::try_from(dice.within(1, 4)).unwrap_or(1),
    }
}

fn how_many(dice: &mut Dice, ask: &mut Value) {
    if dice.percent(10) {
        ask["allocationMode"] = json!("All");
    } else if dice.percent(80) {
        ask["count"] = json!(count(dice));
    }
}

/// The requests of a claim.
pub(crate) fn spec(dice: &mut Dice) -> Value {
    let twin = *dice.pick(&["one", "two"]);
    let requests: Vec<Value> = (0..dice.within(1, 3))
        .map(|at| {
            let name = format!("r{at}");
            if dice.percent(30) {
                let subs: Vec<Value> = (0..dice.within(1, 3))
                    .map(|sub| {
                        let mut ask = json!({"name": format!("s{sub}"), "deviceClassName": class(dice, twin)});
                        how_many(dice, &mut ask);
                        ask
                    })
                    .collect();
                return json!({"name": name, "firstAvailable": subs});
            }
            let mut ask = json!({"deviceClassName": class(dice, twin)});
            how_many(dice, &mut ask);
            if dice.percent(10) {
                ask["adminAccess"] = json!(true);
            }
            json!({"name": name, "exactly": ask})
        })
        .collect();
    json!({"devices": {"requests": requests}})
}

/// What a pod asks for of extended resources; it is held back from the scheduler.
pub(crate) fn pod(dice: &mut Dice) -> Value {
    let container = |dice: &mut Dice, name: &str| {
        let mut limits = json!({});
        for _ in 0..dice.within(1, 2) {
            let resource = match dice.below(5) {
                0 => "quota.test/gpu".to_owned(),
                1 => "quota.test/twin".to_owned(),
                2 => "quota.test/of-a-plugin".to_owned(),
                _ => {
                    let (class, _) = *dice.pick(&CLASSES);
                    format!("deviceclass.resource.kubernetes.io/{class}")
                }
            };
            limits[resource] = json!(dice.within(1, 3).to_string());
        }
        json!({"name": name, "image": "none", "resources": {"limits": limits}})
    };
    let containers: Vec<Value> = (0..dice.within(1, 2))
        .map(|at| container(dice, &format!("c{at}")))
        .collect();
    let mut spec =
        json!({"containers": containers, "schedulingGates": [{"name": "quota.test/hold"}]});
    if dice.percent(30) {
        let mut first = container(dice, "i0");
        if dice.percent(50) {
            first["restartPolicy"] = json!("Always");
        }
        spec["initContainers"] = json!([first, container(dice, "i1")]);
    }
    if dice.percent(20) {
        spec["activeDeadlineSeconds"] = json!(3600);
    }
    spec
}

/// Limits of a quota.
pub(crate) fn hard(dice: &mut Dice) -> Value {
    let mut hard = json!({});
    for _ in 0..dice.within(1, 4) {
        let (class, resource) = *dice.pick(&CLASSES);
        let key = match dice.below(7) {
            0 => claims().to_owned(),
            1 | 2 => devices(class),
            3 | 4 => implicit(class),
            5 => requests("quota.test/of-a-plugin"),
            _ => requests(resource.unwrap_or("quota.test/gpu")),
        };
        hard[&key] = json!(limit(dice, key.starts_with("requests.")));
    }
    hard
}

fn limit(dice: &mut Dice, fractions: bool) -> String {
    let odd = [
        "33",
        "70",
        "1k",
        "2Ki",
        "1e1",
        "9223372036854775807",
        "1000",
        "2048",
    ];
    match dice.below(20) {
        0 | 1 => (*dice.pick(&odd)).to_owned(),
        2 if fractions => (*dice.pick(&["1500m", "2.5", "900m"])).to_owned(),
        _ => dice.within(0, 9).to_string(),
    }
}

/// A quota's spec; now and then with a scope.
pub(crate) fn quota(dice: &mut Dice) -> Value {
    let mut spec = json!({"hard": hard(dice)});
    if dice.percent(10) {
        let scope = *dice.pick(&[
            "NotTerminating",
            "Terminating",
            "BestEffort",
            "NotBestEffort",
        ]);
        spec["scopes"] = json!([scope]);
    }
    spec
}
