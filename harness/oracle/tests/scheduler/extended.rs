//! Pods that ask for extended resources: some that classes stand for, some that device plugins serve, some that nothing does.

use oracle::{Gate, Gates};
use serde_json::{Map, Value, json};

use crate::dice::Dice;

/// The containers of each pod, those that initialize apart. None: an ordinary one.
pub(crate) type Containers = Option<Value>;

/// Lets classes stand for extended resources, device plugins publish some, and pods ask for them.
pub(crate) fn cast(
    dice: &mut Dice,
    tag: &str,
    gates: &Gates,
    (classes, nodes): (&mut [Value], &mut [Value]),
    pods: usize,
) -> Vec<Containers> {
    if !gates.has(Gate::ExtendedResource) || !dice.percent(40) {
        return vec![None; pods];
    }
    let explicit = |what: &str| format!("{what}.example.com/{tag}");
    let mut resources = vec![explicit("nobody")];
    for class in classes {
        let name = class["metadata"]["name"].as_str().unwrap_or_default();
        resources.push(format!("deviceclass.resource.kubernetes.io/{name}"));
        if dice.percent(70) {
            // Now and then two classes have one name.
            let what = *dice.pick(&["gpu", "gpu", "nic"]);
            let resource = explicit(what);
            class["spec"]["extendedResourceName"] = json!(resource);
            resources.extend([resource.clone(), resource]);
        }
    }
    for node in nodes {
        for resource in &resources {
            if dice.percent(8) {
                // A plugin that has gone leaves a zero behind.
                let amount = *dice.pick(&["0", "50", "50"]);
                node["status"]["allocatable"][resource.as_str()] = json!(amount);
            }
        }
    }
    let mut pod = || {
        // What nobody serves is seldom asked for.
        let from = usize::from(dice.percent(90));
        dice.percent(70)
            .then(|| containers(dice, &resources[from..]))
    };
    (0..pods).map(|_| pod()).collect()
}

fn containers(dice: &mut Dice, resources: &[String]) -> Value {
    let mut of = |kind: &str, most: usize, least: usize| {
        let count = dice.within(least, most);
        (0..count)
            .map(|at| {
                let mut container = json!({"name": format!("{kind}-{at}"), "image": "none"});
                if kind == "first" && dice.percent(30) {
                    container["restartPolicy"] = json!("Always");
                }
                let mut requests = Map::new();
                for _ in 0..*dice.pick(&[0, 1, 1, 2]) {
                    let resource: &String = dice.pick(resources);
                    requests.insert(resource.clone(), json!(dice.within(1, 2).to_string()));
                }
                let limits = requests.clone();
                if dice.percent(40) {
                    requests.insert("cpu".to_owned(), json!("1m"));
                }
                container["resources"] = json!({"requests": requests, "limits": limits});
                container
            })
            .collect::<Vec<_>>()
    };
    json!({"initContainers": of("first", 2, 0), "containers": of("main", 3, 1)})
}

/// The claim that was made for a pod's extended resources, and what the pod's status says of it.
pub(crate) fn made(claim: &Value, mappings: &Value) -> Value {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let requests: Vec<Value> = list(&claim["spec"]["devices"]["requests"])
        .iter()
        .map(|request| {
            let exactly = &request["exactly"];
            json!([
                request["name"],
                exactly["deviceClassName"],
                exactly["count"]
            ])
        })
        .collect();
    let mappings: Vec<Value> = list(mappings)
        .iter()
        .map(|it| json!([it["containerName"], it["resourceName"], it["requestName"]]))
        .collect();
    json!({"requests": requests, "mappings": mappings})
}
