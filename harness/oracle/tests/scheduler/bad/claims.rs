//! Claims, classes and rules that are wrong, or look so.

use serde_json::{Value, json};

use super::{Row, row};

fn claim(name: &'static str, devices: Value) -> Row {
    row(name, "ResourceClaim", json!({"devices": devices}))
}

fn exactly(name: &'static str, change: Value) -> Row {
    claim(name, json!({"requests": [request("r", change)]}))
}

/// A request for one device of a class, with these fields besides.
fn request(name: &str, change: Value) -> Value {
    let mut exactly = json!({"deviceClassName": "any"});
    for (key, value) in change.as_object().into_iter().flatten() {
        exactly[key] = value.clone();
    }
    json!({"name": name, "exactly": exactly})
}

fn selector(name: &'static str, expression: &str) -> Row {
    exactly(
        name,
        json!({"selectors": [{"cel": {"expression": expression}}]}),
    )
}

fn with(name: &'static str, part: &str, value: Value) -> Row {
    claim(
        name,
        json!({"requests": [request("r", json!({})), {"name": "f", "firstAvailable": [{"name": "s", "deviceClassName": "any"}]}], part: value}),
    )
}

fn many(count: usize, one: impl Fn(usize) -> Value) -> Value {
    json!((0..count).map(one).collect::<Vec<_>>())
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = expressions();
    rows.extend(libraries());
    rows.extend(requests());
    rows.extend(constraints());
    rows.extend(others());
    rows
}

fn expressions() -> Vec<Row> {
    let long = format!("\"{}\" == device.driver", "x".repeat(10 * 1024));
    vec![
        selector("CEL: a right one", "device.driver == \"gpu.example.com\""),
        selector("CEL: half an expression", "device.driver =="),
        selector(
            "CEL: a bracket too few",
            "device.attributes[\"gpu.example.com\".model == \"x\"",
        ),
        selector("CEL: nothing", ""),
        selector("CEL: only a space", " "),
        selector("CEL: a text that does not end", "device.driver == \"gpu"),
        selector("CEL: a variable that is not there", "node.name == \"n1\""),
        selector("CEL: a field that is not there", "device.name == \"gpu-0\""),
        selector(
            "CEL: a field in the second line",
            "true &&\n  device.model == \"x\"",
        ),
        selector(
            "CEL: a function that is not there",
            "device.driver.frobnicate()",
        ),
        selector("CEL: a function of no object", "frobnicate(device.driver)"),
        selector("CEL: a text instead of true or false", "device.driver"),
        selector("CEL: a number instead of true or false", "1 + 1"),
        selector("CEL: a text compared with a number", "device.driver == 3"),
        selector("CEL: a text and a number", "device.driver + 3 == \"x\""),
        selector("CEL: not of a text", "!device.driver"),
        selector("CEL: and of a text", "device.driver && true"),
        selector("CEL: a number by a text", "device.attributes[1].a == 1"),
        selector(
            "CEL: a quantity as a number",
            "device.capacity[\"d\"].memory > 5",
        ),
        selector("CEL: a quantity of a number", "quantity(5).isInteger()"),
        selector(
            "CEL: a quantity that is none",
            "quantity(\"5GB\").isInteger()",
        ),
        selector(
            "CEL: a quantity compared with a text",
            "device.capacity[\"d\"].memory.compareTo(\"5Gi\") > 0",
        ),
        selector("CEL: a version of a number", "semver(1).major() == 1"),
        selector(
            "CEL: a version's part that is not there",
            "semver(\"1.2.3\").build() == 1",
        ),
        selector("CEL: too few arguments", "device.driver.startsWith()"),
        selector(
            "CEL: too many arguments",
            "device.driver.startsWith(\"a\", \"b\")",
        ),
        selector(
            "CEL: arguments of the wrong type",
            "device.driver.startsWith(1)",
        ),
        selector("CEL: a condition of two types", "true ? 1 : \"a\""),
        selector("CEL: a list of two types", "[1, \"a\"].size() == 2"),
        selector("CEL: in a text", "\"a\" in device.driver"),
        selector(
            "CEL: a pattern that is none",
            "device.driver.matches(\"[\")",
        ),
        selector("CEL: a macro without a name", "[1].all(1, true)"),
        selector("CEL: bind of no name", "cel.bind(1, 2, true)"),
        selector(
            "CEL: an attribute, whose type is not known",
            "device.attributes[\"d\"].ready",
        ),
        selector(
            "CEL: an attribute as true and as a text",
            "device.attributes[\"d\"].a && device.attributes[\"d\"].a == \"x\"",
        ),
        selector(
            "CEL: sets",
            "sets.contains([\"a\", \"b\"], [device.driver])",
        ),
        selector(
            "CEL: sets of two types",
            "sets.contains([1], [device.driver])",
        ),
        selector(
            "CEL: a set of no list",
            "sets.intersects(device.driver, [\"a\"])",
        ),
        selector(
            "CEL: a place in a list",
            "[1, 2].indexOf(2) == 1 && [1].lastIndexOf(\"a\") == 0",
        ),
        selector(
            "CEL: parts of a text",
            "device.driver.findAll(\"[a-z]\").size() > 1",
        ),
        selector(
            "CEL: a list sorted",
            "[3, 1].sort()[0] == 1 && [1].distinct().reverse().size() == 1",
        ),
        selector(
            "CEL: a format of two types",
            "\"%d of %s\".format([1, \"a\"]) == \"\"",
        ),
        selector(
            "CEL: an attribute gone through",
            "device.attributes[\"d\"].a.exists(x, x == 1)",
        ),
        selector(
            "CEL: domains gone through",
            "device.attributes.all(d, d.size() > 0)",
        ),
        selector(
            "CEL: a text gone through",
            "device.driver.all(c, c == \"a\")",
        ),
        selector(
            "CEL: an alternative of its type",
            "device.capacity[\"d\"].?m.orValue(quantity(\"0\")).isInteger()",
        ),
        selector(
            "CEL: an alternative of another type",
            "optional.of(1).orValue(\"a\") == 1",
        ),
        selector(
            "CEL: a map of two types",
            "{\"a\": 1, \"b\": \"c\"}.size() == 2",
        ),
        selector("CEL: the size of a number", "size(1) == 1"),
        selector("CEL: a number before a number of another type", "1 < 1.5"),
        selector("CEL: a number that is a number of another type", "1 == 1.0"),
        selector(
            "CEL: a text in a loop over numbers",
            "[1].map(x, x + \"a\").size() == 1",
        ),
        selector(
            "CEL: a text in a loop over anything",
            "[dyn(1)].map(x, x + \"a\").size() == 1",
        ),
        selector(
            "CEL: attributes as capacity",
            "device.attributes == device.capacity",
        ),
        selector("CEL: a text that is nothing", "device.driver == null"),
        selector(
            "CEL: an attribute that is nothing",
            "device.attributes[\"d\"].a == null",
        ),
        selector(
            "CEL: a bound number as a text",
            "cel.bind(a, 1, a == \"x\")",
        ),
        selector("CEL: a field of a text", "device.driver.size == 1"),
        selector("CEL: a field that may be there", "has(device.driver.x)"),
        selector("CEL: has of no field", "has(device)"),
        selector(
            "CEL: a name within a loop, outside",
            "[1].all(x, x == 1) && x == 1",
        ),
        selector(
            "CEL: a condition that is a text",
            "device.driver ? true : false",
        ),
        selector("CEL: minus a text", "-device.driver == \"a\""),
        selector("CEL: an index of a number", "1[0] == 1"),
        selector("CEL: sharing", "device.allowMultipleAllocations"),
        selector(
            "CEL: sharing as a text",
            "device.allowMultipleAllocations == \"yes\"",
        ),
        selector(
            "CEL: a list's function while the gate is off",
            "device.attributes[\"d\"].a.includes(1)",
        ),
        selector("CEL: more than fits", &long),
        exactly("CEL: no expression", json!({"selectors": [{"cel": {}}]})),
        exactly("CEL: no language", json!({"selectors": [{}]})),
        exactly(
            "CEL: the second of two",
            json!({"selectors": [{"cel": {"expression": "true"}}, {"cel": {"expression": "x"}}]}),
        ),
        row(
            "CEL: of a class",
            "DeviceClass",
            json!({"selectors": [{"cel": {"expression": "device.model"}}]}),
        ),
    ]
}

/// Functions that Kubernetes adds to CEL, and some that it does not.
fn libraries() -> Vec<Row> {
    vec![
        selector("CEL: an address", "ip(\"10.0.0.1\").family() == 4"),
        selector(
            "CEL: an address compared with a text",
            "ip(\"10.0.0.1\") == \"10.0.0.1\"",
        ),
        selector(
            "CEL: a network",
            "cidr(\"10.0.0.0/8\").containsIP(device.driver) && cidr(\"10.0.0.0/8\").containsCIDR(cidr(\"10.1.0.0/16\"))",
        ),
        selector(
            "CEL: a network's function of an address",
            "ip(\"10.0.0.1\").prefixLength() == 8",
        ),
        selector(
            "CEL: a canonical address",
            "ip.isCanonical(\"::1\") && isIP(device.driver) && isCIDR(device.driver)",
        ),
        selector(
            "CEL: addresses as texts",
            "string(ip(\"::1\")) == \"::1\" && string(cidr(\"::/0\").masked()) == \"::/0\"",
        ),
        selector("CEL: a sum", "[1, 2].sum() == 3 && [1.5].max() > 1.0"),
        selector("CEL: a sum of texts", "[\"a\"].sum() == \"a\""),
        selector(
            "CEL: the least of mixed things",
            "[dyn(1), dyn(\"a\")].min() == 1",
        ),
        selector(
            "CEL: a duration",
            "duration(\"1h\").getMinutes() == 60 && duration(\"1m\") < duration(\"2m\")",
        ),
        selector(
            "CEL: a duration that is none",
            "duration(\"an hour\") < duration(\"2m\")",
        ),
        selector(
            "CEL: a timestamp",
            "timestamp(\"2026-01-01T00:00:00Z\").getFullYear() == 2026 && timestamp(device.driver) > timestamp(\"2026-01-01T00:00:00Z\")",
        ),
        selector(
            "CEL: a timestamp that is none",
            "timestamp(\"yesterday\").getHours() == 1",
        ),
        selector(
            "CEL: hours of a timestamp in a zone",
            "timestamp(\"2026-01-01T00:00:00Z\").getHours(\"Europe/Vienna\") == 1",
        ),
        selector(
            "CEL: hours of a duration in a zone",
            "duration(\"1h\").getHours(\"Europe/Vienna\") == 1",
        ),
        selector(
            "CEL: a duration by a number",
            "duration(3) < duration(\"2m\")",
        ),
        selector(
            "CEL: a URL",
            "url(device.driver).getHost() == \"a\" && isURL(device.driver) && \"q\" in url(device.driver).getQuery()",
        ),
        selector(
            "CEL: a URL compared with a text",
            "url(\"http://a\") == \"http://a\"",
        ),
        selector(
            "CEL: a form of names",
            "!format.dns1123Label().validate(device.driver).hasValue()",
        ),
        selector(
            "CEL: a form of names by its name",
            "format.named(\"uuid\").hasValue() && format.named(\"no\").value().validate(\"a\").hasValue()",
        ),
        selector(
            "CEL: a form that is none",
            "format.nothing().validate(device.driver).hasValue()",
        ),
        selector(
            "CEL: loops over two variables",
            "[1, 2].all(i, v, i < v) && {\"a\": 1}.exists(k, v, k == \"a\" && v == 1)",
        ),
        selector(
            "CEL: a list made with two variables",
            "[1, 2].transformList(i, v, i + v) == [1, 3]",
        ),
        selector(
            "CEL: a map made with two variables",
            "{\"a\": 1}.transformMap(k, v, v + 1) == {\"a\": 2}",
        ),
        selector(
            "CEL: an optional mapped",
            "optional.of(1).optMap(v, v + 1).value() == 2",
        ),
        selector("CEL: an optional's first", "[1].first().value() == 1"),
        selector(
            "CEL: lists of the extension",
            "[3, 1].sort() == [1, 3] && [1, 2].slice(0, 1) == [1] && [[1]].flatten() == [1] && [1].reverse() == [1] && lists.range(1) == [0]",
        ),
        selector(
            "CEL: sorted by",
            "[\"bb\", \"a\"].sortBy(t, t.size()) == [\"a\", \"bb\"]",
        ),
        selector(
            "CEL: a text quoted",
            "strings.quote(device.driver) == \"a\"",
        ),
        selector("CEL: a text reversed", "device.driver.reverse() == \"a\""),
        selector("CEL: base64", "base64.encode(b\"a\") == \"a\""),
        selector("CEL: mathematics", "math.greatest(1, 2) == 2"),
    ]
}

fn requests() -> Vec<Row> {
    vec![
        exactly("requests: a right one", json!({})),
        exactly("requests: no count is one", json!({"count": 0})),
        exactly("requests: less than none", json!({"count": -1})),
        exactly("requests: more than ever", json!({"count": i64::MAX})),
        exactly(
            "requests: all, and a count",
            json!({"allocationMode": "All", "count": 2}),
        ),
        exactly("requests: most", json!({"allocationMode": "Most"})),
        exactly(
            "requests: a class with capitals",
            json!({"deviceClassName": "GPU"}),
        ),
        exactly(
            "requests: a class of nothing",
            json!({"deviceClassName": ""}),
        ),
        exactly(
            "requests: a class with a slash",
            json!({"deviceClassName": "a/b"}),
        ),
        exactly(
            "requests: selectors, as many as go",
            json!({"selectors": many(32, |_| json!({"cel": {"expression": "true"}}))}),
        ),
        exactly(
            "requests: selectors, one too many",
            json!({"selectors": many(33, |_| json!({"cel": {"expression": "true"}}))}),
        ),
        exactly(
            "requests: tolerations, more than the API's document says",
            json!({"tolerations": many(17, |at| json!({"key": format!("k{at}"), "operator": "Exists"}))}),
        ),
        exactly(
            "requests: a toleration of nothing",
            json!({"tolerations": [{}]}),
        ),
        exactly(
            "requests: a toleration with a key that is none",
            json!({"tolerations": [{"key": "a b", "operator": "Exists"}]}),
        ),
        exactly(
            "requests: a toleration that exists with a value",
            json!({"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}),
        ),
        exactly(
            "requests: a toleration with a value that is none",
            json!({"tolerations": [{"key": "a", "value": "b c"}]}),
        ),
        exactly(
            "requests: a toleration with another operator",
            json!({"tolerations": [{"key": "a", "operator": "In"}]}),
        ),
        exactly(
            "requests: a toleration of another effect",
            json!({"tolerations": [{"key": "a", "operator": "Exists", "effect": "PreferNoSchedule"}]}),
        ),
        exactly(
            "requests: capacity by another suffix",
            json!({"capacity": {"requests": {"memory": "5GB"}}}),
        ),
        exactly(
            "requests: capacity of a name that is none",
            json!({"capacity": {"requests": {"a b": "5Gi"}}}),
        ),
        exactly(
            "requests: less capacity than none",
            json!({"capacity": {"requests": {"memory": "-1"}}}),
        ),
        claim("requests: none", json!({})),
        claim(
            "requests: neither way",
            json!({"requests": [{"name": "r"}]}),
        ),
        claim(
            "requests: both ways",
            json!({"requests": [{"name": "r", "exactly": {"deviceClassName": "any"}, "firstAvailable": [{"name": "s", "deviceClassName": "any"}]}]}),
        ),
        claim(
            "requests: the first of none",
            json!({"requests": [{"name": "r", "firstAvailable": []}]}),
        ),
        claim(
            "requests: a name twice",
            json!({"requests": [request("r", json!({})), request("r", json!({}))]}),
        ),
        claim(
            "requests: a name with capitals",
            json!({"requests": [request("R", json!({}))]}),
        ),
        claim(
            "requests: a name with a dot",
            json!({"requests": [request("a.b", json!({}))]}),
        ),
        claim(
            "requests: no name",
            json!({"requests": [request("", json!({}))]}),
        ),
        claim(
            "requests: as many as go",
            json!({"requests": many(32, |at| request(&format!("r{at}"), json!({})))}),
        ),
        claim(
            "requests: one too many",
            json!({"requests": many(33, |at| request(&format!("r{at}"), json!({})))}),
        ),
        claim(
            "alternatives: as many as go",
            json!({"requests": [{"name": "r", "firstAvailable": many(8, |at| json!({"name": format!("s{at}"), "deviceClassName": "any"}))}]}),
        ),
        claim(
            "alternatives: one too many",
            json!({"requests": [{"name": "r", "firstAvailable": many(9, |at| json!({"name": format!("s{at}"), "deviceClassName": "any"}))}]}),
        ),
        claim(
            "alternatives: a name twice",
            json!({"requests": [{"name": "r", "firstAvailable": many(2, |_| json!({"name": "s", "deviceClassName": "any"}))}]}),
        ),
        claim(
            "alternatives: the request's own name",
            json!({"requests": [{"name": "r", "firstAvailable": [{"name": "r", "deviceClassName": "any"}]}]}),
        ),
        claim(
            "alternatives: a broken expression in the second",
            json!({"requests": [{"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "any"}, {"name": "t", "deviceClassName": "any", "selectors": [{"cel": {"expression": "device."}}]}]}]}),
        ),
        claim(
            "alternatives: a count below none",
            json!({"requests": [{"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "any", "count": -1}]}]}),
        ),
    ]
}

fn constraints() -> Vec<Row> {
    let constraint = |name, value: Value| with(name, "constraints", json!([value]));
    let config = |name, value: Value| with(name, "config", json!([value]));
    let opaque = |parameters: Value| json!({"opaque": {"driver": "gpu.example.com", "parameters": parameters}});
    vec![
        constraint(
            "constraints: a right one",
            json!({"matchAttribute": "gpu.example.com/numa"}),
        ),
        constraint(
            "constraints: an attribute that no device has",
            json!({"matchAttribute": "nobody.example.com/nothing"}),
        ),
        constraint(
            "constraints: an attribute without a domain",
            json!({"matchAttribute": "numa"}),
        ),
        constraint(
            "constraints: an attribute with a domain of nothing",
            json!({"matchAttribute": "/numa"}),
        ),
        constraint(
            "constraints: an attribute of nothing",
            json!({"matchAttribute": "gpu.example.com/"}),
        ),
        constraint(
            "constraints: an attribute with a dash",
            json!({"matchAttribute": "gpu.example.com/numa-node"}),
        ),
        constraint(
            "constraints: an attribute with two slashes",
            json!({"matchAttribute": "a/b/c"}),
        ),
        constraint(
            "constraints: an attribute with a long name",
            json!({"matchAttribute": format!("gpu.example.com/{}", "a".repeat(33))}),
        ),
        constraint(
            "constraints: distinct without a domain",
            json!({"distinctAttribute": "numa"}),
        ),
        constraint("constraints: neither", json!({"requests": ["r"]})),
        constraint(
            "constraints: both",
            json!({"matchAttribute": "gpu.example.com/numa", "distinctAttribute": "gpu.example.com/numa"}),
        ),
        constraint(
            "constraints: a request that is not there",
            json!({"requests": ["x"], "matchAttribute": "gpu.example.com/numa"}),
        ),
        constraint(
            "constraints: an alternative",
            json!({"requests": ["f/s"], "matchAttribute": "gpu.example.com/numa"}),
        ),
        constraint(
            "constraints: an alternative that is not there",
            json!({"requests": ["f/x"], "matchAttribute": "gpu.example.com/numa"}),
        ),
        constraint(
            "constraints: an alternative of a request without",
            json!({"requests": ["r/s"], "matchAttribute": "gpu.example.com/numa"}),
        ),
        constraint(
            "constraints: three parts",
            json!({"requests": ["f/s/t"], "matchAttribute": "gpu.example.com/numa"}),
        ),
        constraint(
            "constraints: a request twice",
            json!({"requests": ["r", "r"], "matchAttribute": "gpu.example.com/numa"}),
        ),
        with(
            "constraints: the same one twice",
            "constraints",
            many(2, |_| json!({"matchAttribute": "gpu.example.com/numa"})),
        ),
        with(
            "constraints: as many as go",
            "constraints",
            many(32, |_| json!({"matchAttribute": "gpu.example.com/numa"})),
        ),
        with(
            "constraints: one too many",
            "constraints",
            many(33, |_| json!({"matchAttribute": "gpu.example.com/numa"})),
        ),
        config("configuration: a right one", opaque(json!({"a": 1}))),
        config("configuration: of nothing", json!({})),
        config("configuration: a text", opaque(json!("a"))),
        config("configuration: a list", opaque(json!(["a"]))),
        config("configuration: null", opaque(Value::Null)),
        config(
            "configuration: a driver that is none",
            json!({"opaque": {"driver": "gpu_x", "parameters": {}}}),
        ),
        config(
            "configuration: a driver with a slash",
            json!({"opaque": {"driver": "example.com/gpu", "parameters": {}}}),
        ),
        config(
            "configuration: a request that is not there",
            json!({"requests": ["x"], "opaque": {"driver": "gpu.example.com", "parameters": {}}}),
        ),
        config(
            "configuration: more than fits",
            opaque(json!({"a": "x".repeat(10 * 1024)})),
        ),
        with(
            "configuration: one too many",
            "config",
            many(33, |_| opaque(json!({}))),
        ),
    ]
}

fn others() -> Vec<Row> {
    let class = |name, spec: Value| row(name, "DeviceClass", spec);
    let rule = |name, spec: Value| row(name, "DeviceTaintRule", spec);
    let template = |name, change: Value| {
        let devices = json!({"requests": [request("r", change)]});
        row(
            name,
            "ResourceClaimTemplate",
            json!({"spec": {"devices": devices}}),
        )
    };
    let taint = json!({"key": "a", "effect": "NoSchedule"});
    vec![
        class(
            "classes: a right one",
            json!({"extendedResourceName": "example.com/gpu"}),
        ),
        class(
            "classes: an extended resource without a domain",
            json!({"extendedResourceName": "gpu"}),
        ),
        class(
            "classes: an extended resource of Kubernetes",
            json!({"extendedResourceName": "kubernetes.io/gpu"}),
        ),
        class(
            "classes: an extended resource as quotas call it",
            json!({"extendedResourceName": "requests.example.com/gpu"}),
        ),
        class(
            "classes: an extended resource with capitals in its domain",
            json!({"extendedResourceName": "Example.com/gpu"}),
        ),
        class(
            "classes: a selector too many",
            json!({"selectors": many(33, |_| json!({"cel": {"expression": "true"}}))}),
        ),
        class(
            "classes: a configuration of nothing",
            json!({"config": [{}]}),
        ),
        template("templates: a right one", json!({})),
        template(
            "templates: a class with capitals",
            json!({"deviceClassName": "GPU"}),
        ),
        template(
            "templates: a field that is not there",
            json!({"selectors": [{"cel": {"expression": "device.model == 1"}}]}),
        ),
        template(
            "templates: capacity by another suffix",
            json!({"capacity": {"requests": {"memory": "5GB"}}}),
        ),
        rule(
            "rules: a right one",
            json!({"deviceSelector": {"driver": "nobody.example.com"}, "taint": taint}),
        ),
        rule(
            "rules: a driver that is none",
            json!({"deviceSelector": {"driver": "a_b"}, "taint": taint}),
        ),
        rule(
            "rules: a pool with capitals",
            json!({"deviceSelector": {"pool": "Pool"}, "taint": taint}),
        ),
        rule(
            "rules: a device with a dot",
            json!({"deviceSelector": {"device": "gpu.0"}, "taint": taint}),
        ),
        rule(
            "rules: another effect",
            json!({"deviceSelector": {"driver": "nobody.example.com"}, "taint": {"key": "a", "effect": "Never"}}),
        ),
        rule(
            "rules: a taint without a key",
            json!({"deviceSelector": {"driver": "nobody.example.com"}, "taint": {"key": "", "effect": "NoSchedule"}}),
        ),
    ]
}
