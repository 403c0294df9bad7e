//! Devices: attributes, capacities, what they draw on, taints and conditions.

use oracle::{Gate, Version};
use serde_json::{Map, Value, json};

use super::{Maker, Pool, put};

impl Maker<'_> {
    pub(super) fn devices(&mut self, pool: &mut Pool, sets: usize, per_device: bool) -> Vec<Value> {
        let kind = self.dice.below(3);
        let counts = self.either([1, 2, 3, 3, 4, 5], [0, 1, 2, 2, 3, 4]);
        (0..*self.dice.pick(&counts))
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
        if self
            .dice
            .percent(if multiple { 85 } else { self.either(50, 30) })
        {
            put(&mut device, "capacity", self.capacities(multiple));
        }
        if sets > 0 && self.dice.percent(80) {
            put(&mut device, "consumesCounters", self.consumption(sets));
        }
        if self.uses(Gate::DeviceTaints, self.either(12, 20)) {
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
            attributes.insert(
                "a".to_owned(),
                json!({"int": self.dice.below(self.either(2, 3))}),
            );
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
            let value = self.dice.within(self.either(4, 2), self.either(8, 6));
            let mut capacity = json!({"value": format!("{value}")});
            if multiple && self.dice.percent(60) {
                put(&mut capacity, "requestPolicy", self.policy(value));
            }
            capacities.insert(name.to_owned(), capacity);
        }
        Value::Object(capacities)
    }

    /// A policy as an API server takes it for a capacity of that value, which is at least 2.
    fn policy(&mut self, value: usize) -> Value {
        match self.dice.below(4) {
            0 => json!({"default": "1"}),
            1 => {
                let valid: Vec<String> = [1, 2, 4]
                    .into_iter()
                    .filter(|amount| *amount <= value)
                    .map(|amount: usize| amount.to_string())
                    .collect();
                json!({"default": "2", "validValues": valid})
            }
            2 => json!({"default": "1", "validRange": {"min": "1"}}),
            _ => {
                let step = self.dice.within(1, (value - 1).min(2));
                let mut range = json!({"min": "1", "step": format!("{step}")});
                if self.dice.percent(50) && value >= 3 {
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
                    json!({"memory": {"value": format!("{}Gi", self.dice.within(1, self.either(3, 4)))}});
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
}
