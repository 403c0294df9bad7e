//! A random case as it is played on a cluster that others share: names of its own, nodes of its own, pods one after another.

use oracle::Gates;
use serde_json::{Map, Value, json};

use crate::dice::Dice;
use crate::extended::{self, Containers};
use crate::generate;

/// What is written for a case, in the order in which it is written.
#[derive(Clone, Debug)]
pub(crate) struct Cast {
    pub(crate) seed: u64,
    /// The namespace, and the end of every name in the cluster.
    pub(crate) tag: String,
    pub(crate) nodes: Vec<Value>,
    pub(crate) classes: Vec<Value>,
    pub(crate) slices: Vec<Value>,
    /// Claims that hold devices already.
    pub(crate) held: Vec<Value>,
    /// The claims of each pod; a pod comes when the one before is settled.
    pub(crate) pods: Vec<Vec<Value>>,
    /// The containers of each pod, where it asks for extended resources.
    pub(crate) containers: Vec<Containers>,
}

impl Cast {
    pub(crate) fn new(seed: u64, gates: &Gates) -> Self {
        let case = generate::case_for(seed, gates);
        let tag = format!("k{seed}");
        let mut objects = of_its_own(&case.objects, &tag);
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mut nodes = vec![objects["node"].take()];
        // Now and then there is another node to choose.
        let dice = &mut Dice::new(!seed);
        if dice.percent(40) {
            let zone = *dice.pick(&["a", "b"]);
            nodes.push(json!({"metadata": {"name": format!("n2-{tag}"), "labels": {"zone": format!("{zone}-{tag}")}}}));
        }
        let mut pods = vec![list(&objects["wanted"])];
        pods.extend(list(&objects["later"]).iter().map(list));
        let mut classes = list(&objects["classes"]);
        let slices = list(&objects["slices"]);
        // A pod that waits for conditions is not bound, and only of one that is bound all is known.
        let waits = objects["slices"].to_string().contains("bindingConditions");
        let containers = match waits {
            true => vec![None; pods.len()],
            false => extended::cast(dice, &tag, gates, (&mut classes, &mut nodes), pods.len()),
        };
        for (claims, containers) in pods.iter_mut().zip(&containers) {
            if containers.is_some() && dice.percent(40) {
                claims.clear();
            }
        }
        Cast {
            seed,
            nodes,
            classes,
            slices,
            containers,
            held: list(&objects["claims"])
                .iter()
                .map(|claim| with_request(claim, &tag))
                .collect(),
            pods,
            tag,
        }
    }

    /// Whether it has devices that the pods of other cases would see.
    pub(crate) fn reaches_all(&self) -> bool {
        let here = |value: &Value| value["allNodes"] == json!(true);
        let devices = |slice: &Value| {
            let devices = slice["spec"]["devices"].as_array();
            devices.is_some_and(|devices| devices.iter().any(here))
        };
        self.slices
            .iter()
            .any(|slice| here(&slice["spec"]) || devices(slice))
    }

    pub(crate) fn node_names(&self) -> Vec<String> {
        let name = |node: &Value| {
            node["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        self.nodes.iter().map(name).collect()
    }

    /// The pod of one round.
    pub(crate) fn pod(&self, round: usize) -> Value {
        let claims: Vec<Value> = self.pods[round]
            .iter()
            .map(|claim| {
                let name = &claim["metadata"]["name"];
                json!({"name": name, "resourceClaimName": name})
            })
            .collect();
        let mut pod = pod(&self.tag, &format!("p{round}"), &self.node_names(), claims);
        if let Some(containers) = &self.containers[round] {
            for key in ["initContainers", "containers"] {
                pod["spec"][key] = containers[key].clone();
            }
        }
        pod
    }
}

/// A pod for these nodes alone, whatever taints they have. By the nodes' names, so that the scheduler asks no other.
pub(crate) fn pod(namespace: &str, name: &str, nodes: &[String], claims: Vec<Value>) -> Value {
    let terms: Vec<Value> = nodes
        .iter()
        .map(|node| json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}))
        .collect();
    json!({
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "containers": [{"name": "main", "image": "none"}],
            "automountServiceAccountToken": false,
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"operator": "Exists"}],
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}},
            "resourceClaims": claims,
        },
    })
}

/// A node that takes pods, as a kubelet would have registered it.
pub(crate) fn registered(node: &Value) -> Value {
    let mut node = node.clone();
    for (resource, amount) in [("pods", "110"), ("cpu", "8"), ("memory", "8Gi")] {
        node["status"]["allocatable"][resource] = json!(amount);
    }
    node["status"]["capacity"] = node["status"]["allocatable"].clone();
    node
}

/// An allocated claim has had a request.
fn with_request(claim: &Value, tag: &str) -> Value {
    let mut claim = claim.clone();
    let mut exactly = json!({"deviceClassName": format!("any-{tag}"), "allocationMode": "ExactCount", "count": 1});
    let results = &claim["status"]["allocation"]["devices"]["results"];
    if results[0]["adminAccess"] == json!(true) {
        exactly["adminAccess"] = json!(true);
    }
    claim["spec"] = json!({"devices": {"requests": [{"name": "r", "exactly": exactly}]}});
    claim
}

/// The objects with drivers, classes, nodes, labels and a namespace of their own. What sorts before what stays as it was.
fn of_its_own(objects: &Value, tag: &str) -> Value {
    let text = objects.to_string();
    let text = text
        .replace("gpu.x", &format!("gpu.{tag}"))
        .replace("nic.x", &format!("nic.{tag}"));
    let mut objects: Value = serde_json::from_str(&text).unwrap_or_default();
    walk(&mut objects, tag);
    if let Some(classes) = objects["classes"].as_array_mut() {
        for class in classes {
            end(&mut class["metadata"]["name"], tag);
            // Devices of other cases are no candidates.
            let mine =
                json!({"cel": {"expression": format!("device.driver.endsWith(\".{tag}\")")}});
            let mut selectors = vec![mine];
            selectors.extend(
                class["spec"]["selectors"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default(),
            );
            class["spec"]["selectors"] = json!(selectors);
        }
    }
    let node = &mut objects["node"];
    end(&mut node["metadata"]["name"], tag);
    end(&mut node["metadata"]["labels"]["zone"], tag);
    objects
}

fn end(name: &mut Value, tag: &str) {
    if let Some(text) = name.as_str() {
        *name = json!(format!("{text}-{tag}"));
    }
}

fn walk(value: &mut Value, tag: &str) {
    match value {
        Value::Object(map) => {
            names(map, tag);
            map.values_mut().for_each(|inner| walk(inner, tag));
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| walk(inner, tag)),
        _ => {}
    }
}

fn names(map: &mut Map<String, Value>, tag: &str) {
    for key in ["nodeName", "deviceClassName"] {
        if let Some(name) = map.get_mut(key) {
            end(name, tag);
        }
    }
    if map.get("key") == Some(&json!("zone"))
        && let Some(values) = map.get_mut("values").and_then(Value::as_array_mut)
    {
        values.iter_mut().for_each(|value| end(value, tag));
    }
    if map.contains_key("uid") {
        map.remove("uid");
    }
    if map.get("namespace").is_some() {
        map.insert("namespace".to_owned(), json!(tag));
    }
}
