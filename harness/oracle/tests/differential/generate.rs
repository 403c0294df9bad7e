//! Random clusters and claims: small, and dense with what rules can disagree on. The objects are those of the API, as JSON.

use oracle::{Gate, Gates, Stage, Variant, Version};
use serde_json::{Map, Value, json};

use crate::dice::Dice;

/// A case: what both sides are asked.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) gates: Gates,
    pub(crate) variant: Variant,
    pub(crate) objects: Value,
}

const DRIVERS: [&str; 2] = ["gpu.x", "nic.x"];
const POOLS: [&str; 4] = ["p-1", "p-10", "p-2", "n1"];

pub(crate) fn case(seed: u64, version: Version, variant: Variant) -> Case {
    let dice = &mut Dice::new(seed);
    let gates = gates(dice, version, variant);
    let mut maker = Maker {
        dice,
        version,
        gates: gates.clone(),
        pools: Vec::new(),
    };
    let objects = maker.objects();
    Case {
        gates,
        variant,
        objects,
    }
}

/// Most of what the allocator supports is on; now and then something is off.
fn gates(dice: &mut Dice, version: Version, variant: Variant) -> Gates {
    let odds = *dice.pick(&[100, 90, 60]);
    let mut gates = Gates::none_of(version);
    for gate in variant.supports(version) {
        if dice.percent(odds) {
            gates = gates.with(*gate);
        }
    }
    if gates.has(Gate::DeviceBindingConditions) {
        gates = gates.with(Gate::ResourceClaimDeviceStatus);
    }
    if version == Version::V1_34 && Variant::chosen(&gates) != variant {
        // There the features alone choose the allocator.
        gates = gates.with(if variant == Variant::Incubating {
            Gate::PrioritizedList
        } else {
            Gate::ConsumableCapacity
        });
    }
    gates
}

struct Maker<'d> {
    dice: &'d mut Dice,
    version: Version,
    gates: Gates,
    pools: Vec<Pool>,
}

struct Pool {
    driver: &'static str,
    name: &'static str,
    /// Name, and whether it can be shared.
    devices: Vec<(String, bool)>,
}

fn put(map: &mut Value, key: &str, value: Value) {
    if let Value::Object(map) = map {
        map.insert(key.to_owned(), value);
    }
}

impl Maker<'_> {
    fn on(&self, gate: Gate) -> bool {
        self.gates.has(gate)
    }

    /// Uses a feature where it is on; where it is off, now and then all the same.
    fn uses(&mut self, gate: Gate, percent: usize) -> bool {
        let percent = match gate.stage(self.version) {
            Stage::Absent => 0,
            _ if self.on(gate) => percent,
            _ => percent / 12,
        };
        self.dice.percent(percent)
    }

    fn objects(&mut self) -> Value {
        let mut slices = Vec::new();
        for _ in 0..*self.dice.pick(&[1, 2, 2, 3]) {
            slices.extend(self.pool());
        }
        let mut objects = json!({
            "slices": slices,
            "classes": self.classes(),
            "node": {"metadata": {"name": "n1", "labels": {"zone": "a"}}},
        });
        if self.dice.percent(70) {
            put(
                &mut objects["node"],
                "status",
                json!({"declaredFeatures": ["DRAOptionalNodeOperations"]}),
            );
        }
        let claims = self.held();
        put(&mut objects, "claims", json!(claims));
        let wanted: Vec<Value> = (0..*self.dice.pick(&[1, 1, 1, 2]))
            .map(|at| self.claim(at))
            .collect();
        put(&mut objects, "wanted", json!(wanted));
        objects
    }

    fn pool(&mut self) -> Vec<Value> {
        let driver = *self.dice.pick(&DRIVERS);
        let name = *self.dice.pick(&POOLS);
        if self
            .pools
            .iter()
            .any(|pool| pool.driver == driver && pool.name == name)
        {
            return vec![];
        }
        let partitions = self.uses(Gate::PartitionableDevices, 45);
        let together = self.version < Version::V1_35;
        let sets = if partitions {
            self.dice.within(1, 2)
        } else {
            0
        };
        let span = self.span();
        let mut pool = Pool {
            driver,
            name,
            devices: Vec::new(),
        };
        let mut contents = Vec::new();
        let parts = *self.dice.pick(&[1, 1, 1, 2, 2, 3]);
        for at in 0..parts {
            let devices = self.devices(
                &mut pool,
                sets,
                span == json!({"perDeviceNodeSelection": true}),
            );
            let mut content = json!({"devices": devices});
            if partitions && together && (at == 0 || self.dice.percent(50)) {
                put(&mut content, "sharedCounters", self.counter_sets(sets));
            }
            contents.push(content);
        }
        if partitions && !together {
            let counters = self.counter_sets(sets);
            contents.push(json!({"sharedCounters": counters}));
        }
        let mut count = contents.len();
        if self.dice.percent(4) {
            count += 1;
        }
        let generation = self.dice.within(1, 2);
        let mut slices: Vec<Value> = contents
            .into_iter()
            .enumerate()
            .map(|(at, content)| self.slice(driver, name, at, (generation, count), &span, content))
            .collect();
        if self.dice.percent(8) {
            let devices = self.devices(
                &mut pool,
                0,
                span == json!({"perDeviceNodeSelection": true}),
            );
            slices.push(self.slice(
                driver,
                name,
                9,
                (generation - 1, 1),
                &span,
                json!({"devices": devices}),
            ));
        }
        if self.dice.percent(30) {
            slices.reverse();
        }
        self.pools.push(pool);
        slices
    }

    fn slice(
        &mut self,
        driver: &str,
        pool: &str,
        at: usize,
        made: (usize, usize),
        span: &Value,
        content: Value,
    ) -> Value {
        let mut spec = json!({
            "driver": driver,
            "pool": {"name": pool, "generation": made.0, "resourceSliceCount": made.1},
        });
        let mut span = span.clone();
        if span == json!({"nodeName": "n1"}) && self.dice.percent(6) {
            span = json!({"nodeName": "n2"});
        }
        for part in [span, content] {
            for (key, value) in part.as_object().into_iter().flatten() {
                put(&mut spec, key, value.clone());
            }
        }
        if self.uses(Gate::OptionalNodeOperations, 20) {
            put(&mut spec, "skipNodeOperations", json!(["*"]));
        }
        json!({"metadata": {"name": format!("{driver}-{pool}-{at}")}, "spec": spec})
    }

    fn reach(&mut self) -> Value {
        match self.dice.below(16) {
            0 => json!({"allNodes": true}),
            1 => json!({"nodeSelector": selector("zone", "a")}),
            2 => json!({"nodeSelector": selector("zone", "b")}),
            3 => json!({"nodeName": "n2"}),
            _ => json!({"nodeName": "n1"}),
        }
    }

    fn span(&mut self) -> Value {
        if self.uses(Gate::PartitionableDevices, 12) {
            return json!({"perDeviceNodeSelection": true});
        }
        self.reach()
    }

    fn counter_sets(&mut self, sets: usize) -> Value {
        let sets: Vec<Value> = (0..sets)
            .map(|at| {
                json!({"name": format!("set-{at}"), "counters": {
                    "memory": {"value": format!("{}Gi", self.dice.within(2, 6))},
                    "slots": {"value": format!("{}", self.dice.within(1, 4))},
                }})
            })
            .collect();
        json!(sets)
    }

    fn devices(&mut self, pool: &mut Pool, sets: usize, per_device: bool) -> Vec<Value> {
        let kind = self.dice.below(3);
        (0..*self.dice.pick(&[0, 1, 2, 2, 3, 4]))
            .map(|_| self.device(pool, sets, per_device, kind))
            .collect()
    }

    fn device(&mut self, pool: &mut Pool, sets: usize, per_device: bool, kind: usize) -> Value {
        let mut name = format!("d{}", pool.devices.len());
        if self.dice.percent(1) {
            name = "d0".to_owned();
        }
        let multiple = kind == 0 && self.uses(Gate::ConsumableCapacity, 60);
        pool.devices.push((name.clone(), multiple));
        let mut device = json!({"name": name});
        let attributes = self.attributes();
        if !attributes.is_empty() {
            put(&mut device, "attributes", Value::Object(attributes));
        }
        if multiple {
            put(&mut device, "allowMultipleAllocations", json!(true));
        }
        if self.dice.percent(if multiple { 85 } else { 30 }) {
            put(&mut device, "capacity", self.capacities(multiple));
        }
        if sets > 0 && self.dice.percent(80) {
            put(&mut device, "consumesCounters", self.consumption(sets));
        }
        if self.uses(Gate::DeviceTaints, 20) {
            // `None` came with 1.35.
            let effects = if self.version < Version::V1_35 {
                &["NoSchedule", "NoExecute"][..]
            } else {
                &["NoSchedule", "NoExecute", "None"]
            };
            let effect = *self.dice.pick(effects);
            let value = *self.dice.pick(&["", "1"]);
            put(
                &mut device,
                "taints",
                json!([{"key": "bad", "value": value, "effect": effect}]),
            );
        }
        if per_device {
            let reach = self.reach();
            for (key, value) in reach.as_object().into_iter().flatten() {
                put(&mut device, key, value.clone());
            }
        }
        if self.uses(Gate::DeviceBindingConditions, 15) {
            put(
                &mut device,
                "bindingConditions",
                json!(["example.com/ready"]),
            );
            put(
                &mut device,
                "bindingFailureConditions",
                json!(["example.com/broken"]),
            );
            if self.dice.percent(50) {
                put(&mut device, "bindsToNode", json!(true));
            }
        }
        device
    }

    fn attributes(&mut self) -> Map<String, Value> {
        let mut attributes = Map::new();
        if self.dice.percent(85) {
            attributes.insert("a".to_owned(), json!({"int": self.dice.below(3)}));
        }
        if self.dice.percent(50) {
            let value = match self.dice.below(6) {
                0 => json!({"bool": self.dice.percent(50)}),
                1 => json!({"version": *self.dice.pick(&["1.0.0", "2.0.0"])}),
                2 => json!({"int": self.dice.below(2)}),
                _ => json!({"string": *self.dice.pick(&["x", "y", "1.0.0"])}),
            };
            attributes.insert("dom.x/b".to_owned(), value);
        }
        // With the gate off an API server keeps no lists.
        if self.on(Gate::ListTypeAttributes) && self.dice.percent(50) {
            let value = if self.dice.percent(70) {
                json!({"ints": (0..self.dice.within(1, 3)).map(|_| self.dice.below(4)).collect::<Vec<_>>()})
            } else {
                json!({"strings": (0..self.dice.within(1, 2)).map(|_| *self.dice.pick(&["x", "y", "z"])).collect::<Vec<_>>()})
            };
            attributes.insert("dom.x/b".to_owned(), value);
        }
        attributes
    }

    fn capacities(&mut self, multiple: bool) -> Value {
        let mut capacities = Map::new();
        for name in ["memory", "dom.x/cores"] {
            if !self.dice.percent(70) {
                continue;
            }
            let mut capacity = json!({"value": format!("{}", self.dice.within(2, 6))});
            if multiple && self.dice.percent(60) {
                put(&mut capacity, "requestPolicy", self.policy());
            }
            capacities.insert(name.to_owned(), capacity);
        }
        Value::Object(capacities)
    }

    fn policy(&mut self) -> Value {
        match self.dice.below(4) {
            0 => json!({"default": "1"}),
            1 => json!({"default": "2", "validValues": ["1", "2", "4"]}),
            2 => json!({"default": "1", "validRange": {"min": "1"}}),
            _ => {
                let mut range = json!({"min": "1", "step": format!("{}", self.dice.within(1, 2))});
                if self.dice.percent(50) {
                    put(&mut range, "max", json!("3"));
                }
                json!({"default": "1", "validRange": range})
            }
        }
    }

    fn consumption(&mut self, sets: usize) -> Value {
        let both = sets > 1 && self.dice.percent(25);
        let first = self.dice.below(sets);
        let chosen = if both { vec![0, 1] } else { vec![first] };
        let entries: Vec<Value> = chosen
            .into_iter()
            .map(|at| {
                let mut counters =
                    json!({"memory": {"value": format!("{}Gi", self.dice.within(1, 4))}});
                if self.dice.percent(60) {
                    put(
                        &mut counters,
                        "slots",
                        json!({"value": format!("{}", self.dice.within(0, 2))}),
                    );
                }
                if self.dice.percent(1) {
                    put(&mut counters, "none", json!({"value": "1"}));
                }
                let set = if self.dice.percent(1) { 7 } else { at };
                let mut entry = json!({"counterSet": format!("set-{set}"), "counters": counters});
                if self.uses(Gate::DeviceCompatibilityGroups, 50) {
                    let groups = *self.dice.pick(&[&["g"][..], &["h"], &["g", "h"]]);
                    put(&mut entry, "compatibilityGroups", json!(groups));
                }
                entry
            })
            .collect();
        json!(entries)
    }

    fn classes(&mut self) -> Value {
        let config = json!([{"opaque": {"driver": "gpu.x", "parameters": {"of": "class"}}}]);
        let selecting = |expression: &str| json!([{"cel": {"expression": expression}}]);
        let mut any = json!({});
        if self.dice.percent(20) {
            put(&mut any, "config", config);
        }
        json!([
            {"metadata": {"name": "any"}, "spec": any},
            {"metadata": {"name": "gpu"}, "spec": {"selectors": selecting("device.driver == \"gpu.x\"")}},
            {"metadata": {"name": "nic"}, "spec": {"selectors": selecting("device.driver == \"nic.x\"")}},
        ])
    }

    /// Claims that hold devices of the pools, or of pools that are no more.
    fn held(&mut self) -> Vec<Value> {
        let mut claims = Vec::new();
        let mut whole: Vec<(usize, usize)> = Vec::new();
        for at in 0..*self.dice.pick(&[0, 0, 0, 1, 1, 2, 3]) {
            if self.pools.is_empty() {
                break;
            }
            let pool = self.dice.below(self.pools.len());
            let Pool {
                driver,
                name,
                devices,
            } = &self.pools[pool];
            if devices.is_empty() {
                continue;
            }
            let device = self.dice.below(devices.len());
            let (device_name, multiple) = devices[device].clone();
            let mut result =
                json!({"request": "r", "driver": driver, "pool": name, "device": device_name});
            if multiple && self.gates.has(Gate::ConsumableCapacity) && !self.dice.percent(5) {
                put(
                    &mut result,
                    "shareID",
                    json!(format!("00000000-0000-0000-0000-00000000000{at}")),
                );
                let memory = self.dice.within(0, 2);
                put(
                    &mut result,
                    "consumedCapacity",
                    json!({"memory": format!("{memory}"), "dom.x/cores": "1"}),
                );
            } else if self.on(Gate::AdminAccess) && self.dice.percent(15) {
                put(&mut result, "adminAccess", json!(true));
            } else if whole.contains(&(pool, device)) {
                continue;
            } else {
                whole.push((pool, device));
            }
            claims.push(json!({
                "metadata": {"name": format!("held-{at}"), "namespace": "ns", "uid": format!("held-{at}")},
                "spec": {},
                "status": {"allocation": {"devices": {"results": [result]}}},
            }));
        }
        claims
    }

    fn claim(&mut self, at: usize) -> Value {
        let mut requests: Vec<Value> = (0..*self.dice.pick(&[1, 1, 1, 2, 2, 3]))
            .map(|at| self.request(at))
            .collect();
        let constraints = self.constraints(&mut requests);
        let mut devices = json!({"requests": requests});
        if !constraints.is_empty() {
            put(&mut devices, "constraints", json!(constraints));
        }
        if self.dice.percent(20) {
            let which = self.some_requests(&requests);
            put(
                &mut devices,
                "config",
                json!([{"requests": which, "opaque": {"driver": "gpu.x", "parameters": {"of": "claim"}}}]),
            );
        }
        json!({"metadata": {"name": format!("c{at}"), "namespace": "ns", "uid": format!("c{at}")}, "spec": {"devices": devices}})
    }

    fn request(&mut self, at: usize) -> Value {
        let name = format!("r{at}");
        if self.uses(Gate::PrioritizedList, 25) {
            let subs: Vec<Value> = (0..self.dice.within(1, 3))
                .map(|sub| self.ask(Some(format!("s{sub}"))))
                .collect();
            return json!({"name": name, "firstAvailable": subs});
        }
        json!({"name": name, "exactly": self.ask(None)})
    }

    fn ask(&mut self, name: Option<String>) -> Value {
        let class = *self.dice.pick(&["any", "any", "any", "any", "gpu", "nic"]);
        let mut ask = json!({"deviceClassName": class, "allocationMode": "ExactCount"});
        let admin = name.is_none() && self.uses(Gate::AdminAccess, 8);
        if let Some(name) = name {
            put(&mut ask, "name", json!(name));
        }
        if self.dice.percent(10) {
            put(&mut ask, "allocationMode", json!("All"));
        } else {
            put(
                &mut ask,
                "count",
                json!(*self.dice.pick(&[1, 1, 1, 1, 1, 2, 2, 3])),
            );
        }
        if admin {
            put(&mut ask, "adminAccess", json!(true));
        }
        if self.dice.percent(35) {
            put(
                &mut ask,
                "selectors",
                json!([{"cel": {"expression": self.expression()}}]),
            );
        }
        if self.uses(Gate::DeviceTaints, 25) {
            let effect = *self.dice.pick(&["", "NoSchedule", "NoExecute"]);
            let toleration = match self.dice.below(3) {
                0 => json!({"key": "bad", "operator": "Equal", "value": "1", "effect": effect}),
                1 => json!({"operator": "Exists", "effect": effect}),
                _ => json!({"key": "bad", "operator": "Exists", "effect": effect}),
            };
            put(&mut ask, "tolerations", json!([toleration]));
        }
        if self.uses(Gate::ConsumableCapacity, 30) {
            let name = *self.dice.pick(&["memory", "memory", "dom.x/cores"]);
            put(
                &mut ask,
                "capacity",
                json!({"requests": {name: format!("{}", self.dice.within(1, 5))}}),
            );
        }
        ask
    }

    fn expression(&mut self) -> String {
        let driver = *self.dice.pick(&DRIVERS);
        let number = self.dice.below(3);
        match self.dice.below(12) {
            0 if self.dice.percent(40) => format!("device.attributes[\"{driver}\"].a == {number}"),
            1 | 2 => format!(
                "has(device.attributes[\"{driver}\"].a) && device.attributes[\"{driver}\"].a >= {number}"
            ),
            3 => "\"b\" in device.attributes[\"dom.x\"]".to_owned(),
            4 => "device.attributes[\"dom.x\"].?b.orValue(\"none\") != \"x\"".to_owned(),
            5 => format!(
                "has(device.capacity[\"{driver}\"].memory) && device.capacity[\"{driver}\"].memory.compareTo(quantity(\"{number}\")) > 0"
            ),
            6 => format!(
                "cel.bind(d, device.attributes[\"{driver}\"], !has(d.a) || d.a != {number})"
            ),
            7 if self.on(Gate::ConsumableCapacity) => {
                "device.allowMultipleAllocations == true".to_owned()
            }
            8 if self.on(Gate::ListTypeAttributes) => {
                format!(
                    "has(device.attributes[\"{driver}\"].a) && device.attributes[\"{driver}\"].a.includes({number})"
                )
            }
            9 => "device.driver.startsWith(\"gpu\") || device.driver.matches(\"^nic\")".to_owned(),
            10 => "isSemver(\"1.0.0\") && semver(\"1.2.0\").isGreaterThan(semver(\"1.0.0\"))"
                .to_owned(),
            _ => "true".to_owned(),
        }
    }

    fn some_requests(&mut self, requests: &[Value]) -> Vec<String> {
        if self.dice.percent(45) {
            return vec![];
        }
        let mut names = Vec::new();
        for request in requests {
            if !self.dice.percent(70) {
                continue;
            }
            let name = request["name"].as_str().unwrap_or_default();
            match request["firstAvailable"].as_array() {
                Some(subs) if self.dice.percent(40) => {
                    let sub = self.dice.below(subs.len());
                    names.push(format!(
                        "{name}/{}",
                        subs[sub]["name"].as_str().unwrap_or_default()
                    ));
                }
                _ => names.push(name.to_owned()),
            }
        }
        names
    }

    fn constraints(&mut self, requests: &mut [Value]) -> Vec<Value> {
        let mut constraints = Vec::new();
        if self.uses(Gate::DerivedAttributes, 20) {
            let expression = *self.dice.pick(&[
                "device.driver",
                "has(device.attributes[\"gpu.x\"].a) ? device.attributes[\"gpu.x\"].a : 0",
                "device.attributes[\"nic.x\"].?a.orValue(1)",
            ]);
            for request in requests.iter_mut() {
                if let Some(ask) = request.get_mut("exactly") {
                    put(
                        ask,
                        "derivedAttributes",
                        json!([{"name": "derived/n", "expression": expression}]),
                    );
                }
            }
            let kind = *self.dice.pick(&["matchAttribute", "distinctAttribute"]);
            constraints.push(json!({"requests": [], kind: "derived/n"}));
        }
        for _ in 0..*self.dice.pick(&[0, 0, 0, 0, 0, 1, 1, 2]) {
            let attribute = *self
                .dice
                .pick(&["gpu.x/a", "nic.x/a", "dom.x/b", "dom.x/b"]);
            let distinct = self.uses(Gate::ConsumableCapacity, 40);
            let kind = if distinct {
                "distinctAttribute"
            } else {
                "matchAttribute"
            };
            let mut constraint = json!({kind: attribute});
            let which = self.some_requests(requests);
            if !which.is_empty() {
                put(&mut constraint, "requests", json!(which));
            }
            constraints.push(constraint);
        }
        constraints
    }
}

fn selector(key: &str, value: &str) -> Value {
    json!({"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]})
}
