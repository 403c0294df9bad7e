//! Pools and their slices: which nodes reach them, how they are divided, what is wrong with them now and then.

use oracle::{Gate, Version};
use serde_json::{Value, json};

use super::{DRIVERS, Maker, POOLS, Pool, put};

impl Maker<'_> {
    pub(super) fn pool(&mut self) -> Vec<Value> {
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
        if self.dice.percent(self.either(1, 4)) {
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
        if span == json!({"nodeName": "n1"}) && self.dice.percent(self.either(2, 6)) {
            span = json!({"nodeName": "n2"});
        }
        for part in [span, content] {
            for (key, value) in part.as_object().into_iter().flatten() {
                put(&mut spec, key, value.clone());
            }
        }
        if self.uses(Gate::OptionalNodeOperations, self.either(8, 20)) {
            put(&mut spec, "skipNodeOperations", json!(["*"]));
        }
        json!({"metadata": {"name": format!("{driver}-{pool}-{at}")}, "spec": spec})
    }

    pub(super) fn reach(&mut self) -> Value {
        match self.dice.below(self.either(40, 16)) {
            0 => json!({"allNodes": true}),
            1 | 16 => json!({"nodeSelector": selector("zone", "a")}),
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
                    "memory": {"value": format!("{}Gi", self.dice.within(self.either(5, 2), self.either(9, 6)))},
                    "slots": {"value": format!("{}", self.dice.within(self.either(3, 1), self.either(6, 4)))},
                }})
            })
            .collect();
        json!(sets)
    }
}

fn selector(key: &str, value: &str) -> Value {
    json!({"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]})
}
