//! Random clusters and claims: small, and dense with what rules can disagree on. The objects are those of the API, as JSON.
//! Most cases are generous, so that there is something to allocate and to compare; the others are tight.

#![allow(dead_code, reason = "each test program uses its own part")]

mod claims;
mod devices;
mod expressions;
mod pools;

use oracle::{Gate, Gates, Stage, Variant, Version};
use serde_json::{Value, json};

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

/// A case for one allocator, with some of its gates.
pub(crate) fn case(seed: u64, version: Version, variant: Variant) -> Case {
    let dice = &mut Dice::new(seed);
    let gates = gates(dice, version, variant);
    make(dice, gates, variant, &[0])
}

/// A case for a cluster whose gates are what they are; `later` are the claims of pods that come after the first.
pub(crate) fn case_for(seed: u64, gates: &Gates) -> Case {
    let variant = Variant::chosen(gates);
    make(&mut Dice::new(seed), gates.clone(), variant, &[0, 0, 1, 2])
}

fn make(dice: &mut Dice, gates: Gates, variant: Variant, later: &[usize]) -> Case {
    let generous = dice.percent(75);
    let mut maker = Maker {
        dice,
        version: gates.version(),
        gates: gates.clone(),
        generous,
        pools: Vec::new(),
    };
    let mut objects = maker.objects();
    let later: Vec<Vec<Value>> = (0..*maker.dice.pick(later))
        .map(|round| maker.wanted(10 * (round + 1)))
        .collect();
    if !later.is_empty() {
        put(&mut objects, "later", json!(later));
    }
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
    /// Much is there and little is asked, so that most is given.
    generous: bool,
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

    /// A choice that is one thing in generous cases and another in tight ones.
    fn either<T>(&self, generous: T, tight: T) -> T {
        if self.generous { generous } else { tight }
    }

    fn objects(&mut self) -> Value {
        let mut slices = Vec::new();
        let pools = self.either([2, 2, 3, 3], [1, 2, 2, 3]);
        for _ in 0..*self.dice.pick(&pools) {
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
        let wanted = self.wanted(0);
        put(&mut objects, "wanted", json!(wanted));
        objects
    }

    /// The claims of one pod.
    fn wanted(&mut self, first: usize) -> Vec<Value> {
        let count = *self.dice.pick(&[1, 1, 1, 2]);
        (first..first + count).map(|at| self.claim(at)).collect()
    }
}
