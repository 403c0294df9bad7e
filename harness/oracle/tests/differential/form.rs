//! One form for allocations of both sides. Share ids are random: only that there is one is compared.

use oracle::objects::{
    Mode, NodeRequirement, NodeSelector, Operator, Toleration, TolerationOperator,
};
use oracle::{Allocation, ConfigSource, Extended, Given, Quantity};
use serde_json::{Map, Value, json};

/// The API's AllocationResult.
pub(crate) fn of_api(result: &Value) -> Value {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let devices: Vec<Value> = list(&result["devices"]["results"])
        .iter()
        .map(device)
        .collect();
    let config: Vec<Value> = list(&result["devices"]["config"])
        .iter()
        .map(|config| {
            json!({
                "source": config["source"],
                "requests": list(&config["requests"]),
                "driver": config["opaque"]["driver"],
                "parameters": config["opaque"]["parameters"].to_string(),
            })
        })
        .collect();
    json!({"devices": devices, "config": config, "node": result["nodeSelector"]})
}

/// The claim that the oracle would make for a pod's extended resources.
pub(crate) fn of_oracle_extended(extended: &Extended) -> Value {
    let asks = extended.claim.requests.iter().flat_map(|it| it.asks());
    let requests: Vec<Value> = asks
        .map(|ask| match ask.mode {
            Mode::Exact(count) => json!([&*ask.name, &*ask.class, count]),
            Mode::All => json!([&*ask.name, &*ask.class, "all"]),
        })
        .collect();
    let mappings: Vec<Value> = extended
        .mappings
        .iter()
        .map(|it| json!([&*it.container, &*it.resource, &*it.request]))
        .collect();
    json!({"requests": requests, "mappings": mappings})
}

fn device(result: &Value) -> Value {
    let mut device = result.clone();
    let Value::Object(map) = &mut device else {
        return device;
    };
    if let Some(Value::Object(consumed)) = map.get("consumedCapacity").cloned() {
        let exact: Map<String, Value> = consumed
            .iter()
            .map(|(name, value)| (name.clone(), exact(value)))
            .collect();
        map.insert("consumedCapacity".to_owned(), Value::Object(exact));
    }
    if map.contains_key("shareID") {
        map.insert("shareID".to_owned(), json!(true));
    }
    if map.get("adminAccess") == Some(&json!(false)) {
        map.remove("adminAccess");
    }
    device
}

fn exact(value: &Value) -> Value {
    let parsed: Option<Quantity> = value.as_str().and_then(|text| text.parse().ok());
    parsed.map_or_else(
        || value.clone(),
        |quantity| json!(quantity.nanos().to_string()),
    )
}

/// The oracle's allocation.
pub(crate) fn of_oracle(allocation: &Allocation) -> Value {
    let config: Vec<Value> = allocation
        .config
        .iter()
        .map(|config| {
            json!({
                "source": match config.source { ConfigSource::Class => "FromClass", ConfigSource::Claim => "FromClaim" },
                "requests": config.requests.iter().map(|name| name.to_string()).collect::<Vec<_>>(),
                "driver": &*config.opaque.driver,
                "parameters": config.opaque.parameters,
            })
        })
        .collect();
    let devices: Vec<Value> = allocation.devices.iter().map(given).collect();
    json!({"devices": devices, "config": config, "node": allocation.node_selector.as_ref().map(selector)})
}

fn given(given: &Given) -> Value {
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| {
        map.insert(key.to_owned(), value);
    };
    let names = |names: &[oracle::Name]| {
        json!(
            names
                .iter()
                .map(|name| name.to_string())
                .collect::<Vec<_>>()
        )
    };
    put("request", json!(&*given.request));
    put("driver", json!(&*given.device.driver));
    put("pool", json!(&*given.device.pool));
    put("device", json!(&*given.device.device));
    if given.admin {
        put("adminAccess", json!(true));
    }
    if given.share {
        put("shareID", json!(true));
    }
    if !given.consumed.is_empty() {
        let consumed: Map<String, Value> = given
            .consumed
            .iter()
            .map(|(name, amount)| (name.to_string(), json!(amount.nanos().to_string())))
            .collect();
        put("consumedCapacity", Value::Object(consumed));
    }
    if !given.tolerations.is_empty() {
        put(
            "tolerations",
            json!(given.tolerations.iter().map(toleration).collect::<Vec<_>>()),
        );
    }
    for (key, list) in [
        ("bindingConditions", &given.binding_conditions),
        (
            "bindingFailureConditions",
            &given.binding_failure_conditions,
        ),
        ("skipNodeOperations", &given.skip_node_operations),
    ] {
        if !list.is_empty() {
            put(key, names(list));
        }
    }
    Value::Object(map)
}

fn toleration(toleration: &Toleration) -> Value {
    let mut map = Map::new();
    let mut put = |key: &str, value: String| {
        if !value.is_empty() {
            map.insert(key.to_owned(), json!(value));
        }
    };
    put("key", toleration.key.to_string());
    let operator = if toleration.operator == TolerationOperator::Exists {
        "Exists"
    } else {
        "Equal"
    };
    put("operator", operator.to_owned());
    put("value", toleration.value.to_string());
    put(
        "effect",
        toleration
            .effect
            .map(|effect| effect.to_string())
            .unwrap_or_default(),
    );
    Value::Object(map)
}

fn selector(selector: &NodeSelector) -> Value {
    let terms: Vec<Value> = selector
        .terms
        .iter()
        .map(|term| {
            let mut map = Map::new();
            for (key, list) in [
                ("matchExpressions", &term.expressions),
                ("matchFields", &term.fields),
            ] {
                if !list.is_empty() {
                    map.insert(
                        key.to_owned(),
                        json!(list.iter().map(requirement).collect::<Vec<_>>()),
                    );
                }
            }
            Value::Object(map)
        })
        .collect();
    json!({"nodeSelectorTerms": terms})
}

fn requirement(requirement: &NodeRequirement) -> Value {
    let operator = match requirement.operator {
        Operator::In => "In",
        Operator::NotIn => "NotIn",
        Operator::Exists => "Exists",
        Operator::DoesNotExist => "DoesNotExist",
        Operator::Gt => "Gt",
        Operator::Lt => "Lt",
    };
    let values: Vec<String> = requirement
        .values
        .iter()
        .map(|value| value.to_string())
        .collect();
    json!({"key": &*requirement.key, "operator": operator, "values": values})
}
