//! Makes a case on which the sides differ as small as it gets: parts are left out while the difference stays.

use oracle::{Variant, Version};
use serde_json::Value;

use crate::generate::Case;

/// Leaves out list elements and fields, again and again, as long as `differs` holds.
pub(crate) fn shrink(case: &Case, mut differs: impl FnMut(&Case) -> bool) -> Case {
    let mut best = case.clone();
    let mut tries = 0;
    loop {
        let mut smaller = false;
        let mut paths = Vec::new();
        removable(&best.objects, &mut vec![], &mut paths);
        // Later parts first, so that the paths of earlier ones stay right.
        for path in paths.iter().rev() {
            let mut candidate = best.clone();
            if !remove(&mut candidate.objects, path) {
                continue;
            }
            tries += 1;
            if differs(&candidate) {
                best = candidate;
                smaller = true;
            }
        }
        for at in (0..best.objects["slices"].as_array().map_or(0, Vec::len)).rev() {
            let mut candidate = best.clone();
            leave_slice_out(&mut candidate.objects, at);
            if differs(&candidate) {
                best = candidate;
                smaller = true;
            }
        }
        for gate in best.gates.clone().iter() {
            let gates = best.gates.clone().without(gate);
            if gates.version() == Version::V1_34 && Variant::chosen(&gates) != best.variant {
                continue;
            }
            let candidate = Case {
                gates,
                ..best.clone()
            };
            if differs(&candidate) {
                best = candidate;
                smaller = true;
            }
        }
        if !smaller || tries > 20_000 {
            return best;
        }
    }
}

/// Leaves a slice out and lets the others of its pool say that there is one less.
fn leave_slice_out(objects: &mut Value, at: usize) {
    let Some(slices) = objects.get_mut("slices").and_then(Value::as_array_mut) else {
        return;
    };
    let gone = slices.remove(at);
    for slice in slices {
        let spec = &mut slice["spec"];
        if spec["driver"] == gone["spec"]["driver"]
            && spec["pool"]["name"] == gone["spec"]["pool"]["name"]
        {
            let count = spec["pool"]["resourceSliceCount"].as_i64().unwrap_or(0);
            spec["pool"]["resourceSliceCount"] = (count - 1).into();
        }
    }
}

/// What an API server would not let be missing, or would fill in.
const NEEDED: &[&str] = &[
    "allocationMode",
    "count",
    "counterSet",
    "device",
    "deviceClassName",
    "driver",
    "effect",
    "expression",
    "generation",
    "key",
    "metadata",
    "name",
    "operator",
    "pool",
    "request",
    "requests",
    "memory",
    "dom.x/cores",
    "resourceSliceCount",
    "shareID",
    "value",
    "values",
];

#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Index(usize),
}

fn removable(value: &Value, here: &mut Vec<Step>, paths: &mut Vec<Vec<Step>>) {
    let mut each = |step: Step, inner: &Value| {
        let needed = matches!(&step, Step::Key(key) if NEEDED.contains(&key.as_str()));
        here.push(step);
        if !needed {
            paths.push(here.clone());
        }
        removable(inner, here, paths);
        here.pop();
    };
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(key, inner)| each(Step::Key(key.clone()), inner)),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(at, inner)| each(Step::Index(at), inner)),
        _ => {}
    }
}

fn remove(value: &mut Value, path: &[Step]) -> bool {
    let Some((last, parents)) = path.split_last() else {
        return false;
    };
    let mut at = value;
    for step in parents {
        let next = match step {
            Step::Key(key) => at.get_mut(key),
            Step::Index(index) => at.get_mut(index),
        };
        let Some(next) = next else { return false };
        at = next;
    }
    match (at, last) {
        (Value::Object(map), Step::Key(key)) => map.remove(key).is_some(),
        // An empty list is not what an API server keeps; the field as a whole may go.
        (Value::Array(list), Step::Index(index)) if *index < list.len() && list.len() > 1 => {
            list.remove(*index);
            true
        }
        _ => false,
    }
}
