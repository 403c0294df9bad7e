//! Claims: those that hold devices already, and those that want some.

use oracle::Gate;
use serde_json::{Value, json};

use super::{Maker, Pool, put};

impl Maker<'_> {
    pub(super) fn classes(&mut self) -> Value {
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
    pub(super) fn held(&mut self) -> Vec<Value> {
        let mut claims = Vec::new();
        let mut whole: Vec<(usize, usize)> = Vec::new();
        let held = self.either([0, 0, 0, 1, 1, 1, 2], [0, 0, 0, 1, 1, 2, 3]);
        for at in 0..*self.dice.pick(&held) {
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

    pub(super) fn claim(&mut self, at: usize) -> Value {
        let counts = self.either([1, 1, 1, 1, 2, 2], [1, 1, 1, 2, 2, 3]);
        let mut requests: Vec<Value> = (0..*self.dice.pick(&counts))
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
        let of_driver = self.dice.percent(self.either(15, 33));
        let class = match of_driver {
            true => *self.dice.pick(&["gpu", "nic"]),
            false => "any",
        };
        let mut ask = json!({"deviceClassName": class, "allocationMode": "ExactCount"});
        let admin = name.is_none() && self.uses(Gate::AdminAccess, 8);
        if let Some(name) = name {
            put(&mut ask, "name", json!(name));
        }
        if self.dice.percent(self.either(7, 10)) {
            put(&mut ask, "allocationMode", json!("All"));
        } else {
            put(
                &mut ask,
                "count",
                json!(*self.dice.pick(&[1, 1, 1, 1, 1, 2, 2, self.either(2, 3)])),
            );
        }
        if admin {
            put(&mut ask, "adminAccess", json!(true));
        }
        if self.dice.percent(self.either(30, 35)) {
            put(
                &mut ask,
                "selectors",
                json!([{"cel": {"expression": self.expression()}}]),
            );
        }
        if self.uses(Gate::DeviceTaints, self.either(35, 25)) {
            let effect = *self.dice.pick(&["", "NoSchedule", "NoExecute"]);
            let toleration = match self.dice.below(3) {
                0 => json!({"key": "bad", "operator": "Equal", "value": "1", "effect": effect}),
                1 => json!({"operator": "Exists", "effect": effect}),
                _ => json!({"key": "bad", "operator": "Exists", "effect": effect}),
            };
            put(&mut ask, "tolerations", json!([toleration]));
        }
        if self.uses(Gate::ConsumableCapacity, self.either(25, 30)) {
            let name = *self.dice.pick(&["memory", "memory", "dom.x/cores"]);
            put(
                &mut ask,
                "capacity",
                json!({"requests": {name: format!("{}", self.dice.within(1, self.either(3, 5)))}}),
            );
        }
        ask
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
        let counts = self.either([0, 0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 1, 1, 2]);
        for _ in 0..*self.dice.pick(&counts) {
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
