//! Slices that are wrong, or look so: too much in one, counters, quantities, nodes.

use serde_json::{Value, json};

use super::{Row, row};

/// A slice of one driver, for a node that is not there, with these fields besides.
fn slice(name: &'static str, change: Value) -> Row {
    let mut spec = json!({
        "driver": "bad.example.com", "nodeName": "nowhere",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
    });
    for (key, value) in change.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    row(name, "ResourceSlice", spec)
}

fn devices(name: &'static str, devices: Value) -> Row {
    slice(name, json!({"devices": devices}))
}

fn device(name: &'static str, change: Value) -> Row {
    let mut device = json!({"name": "d"});
    for (key, value) in change.as_object().into_iter().flatten() {
        device[key] = value.clone();
    }
    devices(name, json!([{"name": "first"}, device]))
}

fn capacity(name: &'static str, value: Value) -> Row {
    device(name, json!({"capacity": {"memory": {"value": value}}}))
}

fn attribute(name: &'static str, value: Value) -> Row {
    device(name, json!({"attributes": {"a": value}}))
}

fn policy(name: &'static str, policy: Value) -> Row {
    device(
        name,
        json!({"allowMultipleAllocations": true, "capacity": {"memory": {"value": "20", "requestPolicy": policy}}}),
    )
}

fn many(count: usize, one: impl Fn(usize) -> Value) -> Value {
    json!((0..count).map(one).collect::<Vec<_>>())
}

fn map(count: usize, one: impl Fn(usize) -> Value) -> Value {
    Value::Object((0..count).map(|at| (format!("a{at}"), one(at))).collect())
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = limits();
    rows.extend(counters());
    rows.extend(quantities());
    rows.extend(names());
    rows.extend(nodes());
    rows.extend(attributes());
    rows.extend(policies());
    rows.extend(conditions());
    rows
}

fn limits() -> Vec<Row> {
    let plain = |at: usize| json!({"name": format!("d{at}")});
    let tainted = |at: usize| json!({"name": format!("d{at}"), "taints": [{"key": "a", "effect": "NoSchedule"}]});
    let draws = |at: usize| json!({"name": format!("d{at}"), "consumesCounters": [{"counterSet": "c", "counters": {"x": {"value": "1"}}}]});
    let set = |at: usize| json!({"name": format!("c{at}"), "counters": {"x": {"value": "1"}}});
    let counter = |_| json!({"value": "1"});
    vec![
        devices("limits: 128 devices", many(128, plain)),
        devices("limits: 129 devices", many(129, plain)),
        devices("limits: 64 devices with taints", many(64, tainted)),
        devices("limits: 65 devices with taints", many(65, tainted)),
        devices("limits: 65 devices that draw on counters", many(65, draws)),
        slice(
            "limits: 8 counter sets",
            json!({"sharedCounters": many(8, set)}),
        ),
        slice(
            "limits: 9 counter sets",
            json!({"sharedCounters": many(9, set)}),
        ),
        slice(
            "limits: 32 counters",
            json!({"sharedCounters": [{"name": "c", "counters": map(32, counter)}]}),
        ),
        slice(
            "limits: 33 counters",
            json!({"sharedCounters": [{"name": "c", "counters": map(33, counter)}]}),
        ),
        device(
            "limits: a device on 2 counter sets",
            json!({"consumesCounters": many(2, |at| json!({"counterSet": format!("c{at}"), "counters": {"x": {"value": "1"}}}))}),
        ),
        device(
            "limits: a device on 3 counter sets",
            json!({"consumesCounters": many(3, |at| json!({"counterSet": format!("c{at}"), "counters": {"x": {"value": "1"}}}))}),
        ),
        device(
            "limits: an entry of 33 counters",
            json!({"consumesCounters": [{"counterSet": "c", "counters": map(33, counter)}]}),
        ),
        device(
            "limits: 32 attributes",
            json!({"attributes": map(32, |at| json!({"int": at}))}),
        ),
        device(
            "limits: 33 attributes",
            json!({"attributes": map(33, |at| json!({"int": at}))}),
        ),
        device(
            "limits: 20 attributes and 13 capacities",
            json!({"attributes": map(20, |at| json!({"int": at})), "capacity": map(13, counter)}),
        ),
        device(
            "limits: 16 taints",
            json!({"taints": many(16, |at| json!({"key": format!("k{at}"), "effect": "NoSchedule"}))}),
        ),
        device(
            "limits: 17 taints",
            json!({"taints": many(17, |at| json!({"key": format!("k{at}"), "effect": "NoSchedule"}))}),
        ),
        attribute(
            "limits: a text of 64 bytes",
            json!({"string": "x".repeat(64)}),
        ),
        attribute(
            "limits: a text of 65 bytes",
            json!({"string": "x".repeat(65)}),
        ),
        attribute(
            "limits: a version of 65 bytes",
            json!({"version": format!("1.0.0-{}", "x".repeat(59))}),
        ),
        policy(
            "limits: 10 values of a policy",
            json!({"default": "1", "validValues": many(10, |at| json!(format!("{}", 1 + at)))}),
        ),
        policy(
            "limits: 11 values of a policy",
            json!({"default": "1", "validValues": many(11, |at| json!(format!("{}", 1 + at)))}),
        ),
    ]
}

fn counters() -> Vec<Row> {
    let sets = |name, sets: Value| slice(name, json!({"sharedCounters": sets}));
    let draws = |name, entry: Value| device(name, json!({"consumesCounters": [entry]}));
    let one = json!({"x": {"value": "1"}});
    vec![
        slice(
            "counters: in a slice with devices",
            json!({"devices": [{"name": "d"}], "sharedCounters": [{"name": "c", "counters": one}]}),
        ),
        slice(
            "counters: beside an empty list of devices",
            json!({"devices": [], "sharedCounters": [{"name": "c", "counters": one}]}),
        ),
        sets(
            "counters: a set twice",
            many(
                2,
                |_| json!({"name": "c", "counters": {"x": {"value": "1"}}}),
            ),
        ),
        sets(
            "counters: a set of none",
            json!([{"name": "c", "counters": {}}]),
        ),
        sets(
            "counters: a set without a name",
            json!([{"name": "", "counters": one}]),
        ),
        sets(
            "counters: a set with capitals",
            json!([{"name": "C", "counters": one}]),
        ),
        sets(
            "counters: a counter with capitals",
            json!([{"name": "c", "counters": {"Memory": {"value": "1"}}}]),
        ),
        sets(
            "counters: a counter with a domain",
            json!([{"name": "c", "counters": {"a.b/memory": {"value": "1"}}}]),
        ),
        sets(
            "counters: a bare quantity",
            json!([{"name": "c", "counters": {"memory": "8Gi"}}]),
        ),
        sets(
            "counters: less than none",
            json!([{"name": "c", "counters": {"memory": {"value": "-1"}}}]),
        ),
        sets(
            "counters: another suffix",
            json!([{"name": "c", "counters": {"memory": {"value": "8GB"}}}]),
        ),
        draws(
            "counters: a set that is not there",
            json!({"counterSet": "nowhere", "counters": one}),
        ),
        draws(
            "counters: a set of no name",
            json!({"counterSet": "", "counters": one}),
        ),
        draws(
            "counters: a set with a dot",
            json!({"counterSet": "a.b", "counters": one}),
        ),
        draws(
            "counters: drawing on none",
            json!({"counterSet": "c", "counters": {}}),
        ),
        draws(
            "counters: drawing on one with capitals",
            json!({"counterSet": "c", "counters": {"X": {"value": "1"}}}),
        ),
        device(
            "counters: drawing on a set twice",
            json!({"consumesCounters": many(2, |_| json!({"counterSet": "c", "counters": {"x": {"value": "1"}}}))}),
        ),
    ]
}

fn quantities() -> Vec<Row> {
    vec![
        capacity("quantities: binary", json!("40Gi")),
        capacity("quantities: decimal", json!("40G")),
        capacity("quantities: an exponent", json!("1e3")),
        capacity("quantities: a capital exponent", json!("1E3")),
        capacity("quantities: an exponent below 0", json!("1e-3")),
        capacity("quantities: exa", json!("1E")),
        capacity("quantities: a sign", json!("+1")),
        capacity("quantities: a point first", json!(".5")),
        capacity("quantities: a point last", json!("5.")),
        capacity("quantities: milli", json!("500m")),
        capacity("quantities: nano", json!("1n")),
        capacity("quantities: below nano", json!("0.1n")),
        capacity("quantities: a number", json!(5)),
        capacity(
            "quantities: more than fits",
            json!("99999999999999999999Ei"),
        ),
        capacity("quantities: GB", json!("5GB")),
        capacity("quantities: GiB", json!("5GiB")),
        capacity("quantities: gi", json!("5gi")),
        capacity("quantities: K", json!("5K")),
        capacity("quantities: a space", json!("5 Gi")),
        capacity("quantities: nothing", json!("")),
        capacity("quantities: only a suffix", json!("Gi")),
        capacity("quantities: only a sign", json!("-")),
        capacity("quantities: only a point", json!(".")),
        capacity("quantities: spaces around", json!(" 5Gi ")),
        capacity("quantities: hexadecimal", json!("0x10")),
        capacity("quantities: two points", json!("1.2.3")),
        capacity("quantities: half an exponent", json!("1e")),
        capacity("quantities: an exponent and a suffix", json!("1e3Gi")),
        capacity("quantities: a comma", json!("1,5")),
        capacity("quantities: a word", json!("much")),
        capacity("quantities: a list", json!(["5Gi"])),
    ]
}

fn names() -> Vec<Row> {
    let pool = |name, pool: Value| slice(name, json!({"pool": pool}));
    vec![
        slice(
            "names: a driver with capitals",
            json!({"driver": "Bad.example.com"}),
        ),
        slice(
            "names: a driver with a slash",
            json!({"driver": "example.com/gpu"}),
        ),
        slice(
            "names: a driver with an underscore",
            json!({"driver": "a_b"}),
        ),
        slice("names: a driver of nothing", json!({"driver": ""})),
        slice(
            "names: a driver of 64 bytes",
            json!({"driver": "d".repeat(64)}),
        ),
        pool(
            "names: a pool in parts",
            json!({"name": "a/b.c/d", "generation": 1, "resourceSliceCount": 1}),
        ),
        pool(
            "names: a pool with a part of nothing",
            json!({"name": "a//b", "generation": 1, "resourceSliceCount": 1}),
        ),
        pool(
            "names: a pool with capitals",
            json!({"name": "Pool", "generation": 1, "resourceSliceCount": 1}),
        ),
        pool(
            "names: a pool of nothing",
            json!({"name": "", "generation": 1, "resourceSliceCount": 1}),
        ),
        pool(
            "names: a long pool",
            json!({"name": format!("{}/b", "a".repeat(253)), "generation": 1, "resourceSliceCount": 1}),
        ),
        pool(
            "pools: no slices",
            json!({"name": "p", "generation": 1, "resourceSliceCount": 0}),
        ),
        pool(
            "pools: a generation below 0",
            json!({"name": "p", "generation": -1, "resourceSliceCount": 1}),
        ),
        devices(
            "names: a device twice",
            json!([{"name": "d"}, {"name": "d"}]),
        ),
        devices("names: a device with capitals", json!([{"name": "GPU-0"}])),
        devices("names: a device with a dot", json!([{"name": "gpu.0"}])),
        devices("names: a device of nothing", json!([{"name": ""}])),
        device(
            "names: an attribute with a dash",
            json!({"attributes": {"numa-node": {"int": 0}}}),
        ),
        device(
            "names: an attribute with a digit first",
            json!({"attributes": {"1a": {"int": 0}}}),
        ),
        device(
            "names: an attribute of another domain",
            json!({"attributes": {"resource.kubernetes.io/pcieRoot": {"string": "x"}}}),
        ),
        device(
            "names: an attribute of a domain that is none",
            json!({"attributes": {"a_b/c": {"int": 0}}}),
        ),
        device(
            "names: an attribute of no domain and a slash",
            json!({"attributes": {"/c": {"int": 0}}}),
        ),
        device(
            "names: an attribute of 33 bytes",
            json!({"attributes": {"a".repeat(33): {"int": 0}}}),
        ),
        device(
            "names: a capacity with a dash",
            json!({"capacity": {"gpu-memory": {"value": "1"}}}),
        ),
        slice(
            "operations: preparing alone is not skipped",
            json!({"skipNodeOperations": ["NodePrepareResources"], "devices": [{"name": "d"}]}),
        ),
    ]
}

fn nodes() -> Vec<Row> {
    let term = |key: &str, operator: &str, values: Value| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
    let selected = |name, terms: Value| {
        slice(
            name,
            json!({"nodeName": null, "nodeSelector": {"nodeSelectorTerms": terms}}),
        )
    };
    vec![
        slice("nodes: none", json!({"nodeName": null})),
        slice("nodes: of nothing", json!({"nodeName": ""})),
        slice("nodes: with capitals", json!({"nodeName": "Node"})),
        slice("nodes: one and all", json!({"allNodes": true})),
        slice(
            "nodes: not all",
            json!({"nodeName": null, "allNodes": false}),
        ),
        slice("nodes: one, and not all", json!({"allNodes": false})),
        slice(
            "nodes: one, and each for itself",
            json!({"perDeviceNodeSelection": true}),
        ),
        selected("nodes: by no term", json!([])),
        selected(
            "nodes: by two terms",
            json!([
                term("a", "Exists", json!([])),
                term("b", "Exists", json!([]))
            ]),
        ),
        selected("nodes: in nothing", json!([term("a", "In", json!([]))])),
        selected(
            "nodes: exists with a value",
            json!([term("a", "Exists", json!(["b"]))]),
        ),
        selected(
            "nodes: above two",
            json!([term("a", "Gt", json!(["1", "2"]))]),
        ),
        selected(
            "nodes: above a word",
            json!([term("a", "Gt", json!(["b"]))]),
        ),
        selected("nodes: like", json!([term("a", "Like", json!(["b"]))])),
        selected(
            "nodes: a key that is none",
            json!([term("a b", "Exists", json!([]))]),
        ),
        selected(
            "nodes: a value that is none",
            json!([term("a", "In", json!(["b c"]))]),
        ),
        selected(
            "nodes: by a field",
            json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["nowhere"]}]}]),
        ),
        selected(
            "nodes: by a field that is not there",
            json!([{"matchFields": [{"key": "spec.podCIDR", "operator": "In", "values": ["x"]}]}]),
        ),
        selected(
            "nodes: by a field and two values",
            json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["x", "y"]}]}]),
        ),
        device(
            "nodes: of a device, not of the slice",
            json!({"nodeName": "nowhere"}),
        ),
        slice(
            "nodes: of each device",
            json!({"nodeName": null, "perDeviceNodeSelection": true, "devices": [{"name": "d", "nodeName": "nowhere"}]}),
        ),
        slice(
            "nodes: of a device none",
            json!({"nodeName": null, "perDeviceNodeSelection": true, "devices": [{"name": "d"}]}),
        ),
        slice(
            "nodes: of a device two",
            json!({"nodeName": null, "perDeviceNodeSelection": true, "devices": [{"name": "d", "nodeName": "nowhere", "allNodes": true}]}),
        ),
    ]
}

fn attributes() -> Vec<Row> {
    vec![
        attribute("attributes: of nothing", json!({})),
        attribute("attributes: two values", json!({"int": 1, "string": "a"})),
        attribute(
            "attributes: a version",
            json!({"version": "1.2.3-rc.1+build.5"}),
        ),
        attribute(
            "attributes: a version of two parts",
            json!({"version": "1.2"}),
        ),
        attribute(
            "attributes: a version with a v",
            json!({"version": "v1.2.3"}),
        ),
        attribute(
            "attributes: a version with a 0 first",
            json!({"version": "01.2.3"}),
        ),
        attribute(
            "attributes: a version of large numbers",
            json!({"version": "99999999999999999999.0.0"}),
        ),
        attribute("attributes: a number as a text", json!({"int": "1"})),
        attribute("attributes: a text as a number", json!({"string": 1})),
        attribute("attributes: a text of nothing", json!({"string": ""})),
        attribute("attributes: half a number", json!({"int": 1.5})),
        attribute("attributes: bare", json!("x")),
    ]
}

fn policies() -> Vec<Row> {
    let range = |name, range: Value| policy(name, json!({"default": "2", "validRange": range}));
    let values = |name, values: Value| policy(name, json!({"default": "2", "validValues": values}));
    vec![
        device(
            "policies: of a device that is not shared",
            json!({"capacity": {"memory": {"value": "8", "requestPolicy": {"default": "1"}}}}),
        ),
        policy("policies: only a default", json!({"default": "1"})),
        policy("policies: a default above all", json!({"default": "21"})),
        policy(
            "policies: no default for values",
            json!({"validValues": ["1"]}),
        ),
        policy(
            "policies: no default for a range",
            json!({"validRange": {"min": "1"}}),
        ),
        policy(
            "policies: values and a range",
            json!({"default": "1", "validValues": ["1"], "validRange": {"min": "1"}}),
        ),
        values("policies: values", json!(["1", "2", "4"])),
        values("policies: values that descend", json!(["4", "2"])),
        values("policies: spaces around values", json!([" 2 ", "4"])),
        values(
            "policies: spaces around values that descend",
            json!([" 4", "2 "]),
        ),
        values("policies: a value above all", json!(["2", "21"])),
        values("policies: a value twice", json!(["2", "2"])),
        values(
            "policies: a default that is none of the values",
            json!(["1", "4"]),
        ),
        range(
            "policies: a range",
            json!({"min": "1", "max": "4", "step": "1"}),
        ),
        range("policies: no least", json!({"max": "4"})),
        range("policies: the least above all", json!({"min": "21"})),
        range("policies: the least above the default", json!({"min": "3"})),
        range(
            "policies: the least above the most",
            json!({"min": "2", "max": "1"}),
        ),
        range(
            "policies: the most above all",
            json!({"min": "1", "max": "21"}),
        ),
        range(
            "policies: the default above the most",
            json!({"min": "1", "max": "1"}),
        ),
        range("policies: no step", json!({"min": "1", "step": "0"})),
        range(
            "policies: a step above all",
            json!({"min": "2", "step": "19"}),
        ),
        range(
            "policies: a step that misses the default",
            json!({"min": "1", "step": "2"}),
        ),
        range(
            "policies: a step that misses the most",
            json!({"min": "2", "max": "5", "step": "2"}),
        ),
        range(
            "policies: fractions",
            json!({"min": "500m", "max": "4", "step": "500m"}),
        ),
        range(
            "policies: fractions that miss",
            json!({"min": "500m", "max": "4", "step": "1"}),
        ),
        range(
            "policies: below a thousandth",
            json!({"min": "1u", "step": "1u"}),
        ),
        range(
            "policies: a least below none",
            json!({"min": "-1", "step": "1"}),
        ),
    ]
}

fn conditions() -> Vec<Row> {
    let names = |count: usize| many(count, |at| json!(format!("example.com/c{at}")));
    let both = |name, binding: Value, failure: Value| {
        device(
            name,
            json!({"bindingConditions": binding, "bindingFailureConditions": failure}),
        )
    };
    let taint = |name, taint: Value| device(name, json!({"taints": [taint]}));
    vec![
        both(
            "conditions: 4 and 4",
            names(4),
            many(4, |at| json!(format!("example.com/f{at}"))),
        ),
        both("conditions: 5", names(5), json!(["example.com/f"])),
        both(
            "conditions: 5 of failure",
            json!(["example.com/c"]),
            many(5, |at| json!(format!("example.com/f{at}"))),
        ),
        both("conditions: one twice", json!(["a", "a"]), json!(["b"])),
        both("conditions: one of both", json!(["a"]), json!(["a"])),
        both(
            "conditions: a name that is none",
            json!(["a b"]),
            json!(["b"]),
        ),
        device(
            "conditions: none of failure",
            json!({"bindingConditions": ["a"]}),
        ),
        device(
            "conditions: only of failure",
            json!({"bindingFailureConditions": ["a"]}),
        ),
        taint(
            "taints: another effect",
            json!({"key": "a", "effect": "PreferNoSchedule"}),
        ),
        taint("taints: no effect", json!({"key": "a", "effect": ""})),
        taint("taints: no key", json!({"key": "", "effect": "NoSchedule"})),
        taint(
            "taints: a key that is none",
            json!({"key": "a b", "effect": "NoSchedule"}),
        ),
        taint(
            "taints: a value that is none",
            json!({"key": "a", "value": "b c", "effect": "NoSchedule"}),
        ),
    ]
}
