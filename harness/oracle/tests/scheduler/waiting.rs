//! A deviation of the scheduler of 1.37.2, not of its allocator: while a pod waits for the conditions of its devices, its claims
//! count as allocated and as being allocated, and what its shares take of a capacity is added twice. A pod that fits is refused.

use oracle::{Gates, Version};
use serde_json::json;

use crate::cast::Cast;
use crate::judge::{self, Verdict, WAITING_SHARES_COUNT_TWICE};
use crate::plane::Plane;
use crate::play::play;

/// Two pods, of which each wants half of a device that has conditions.
fn halves() -> Cast {
    let tag = "waiting";
    let class = json!({"metadata": {"name": tag}, "spec": {"selectors": [{"cel": {"expression": "device.driver == \"waiting\""}}]}});
    let device = json!({
        "name": "d", "allowMultipleAllocations": true, "capacity": {"memory": {"value": "4"}},
        "bindingConditions": ["example.com/ready"], "bindingFailureConditions": ["example.com/broken"],
    });
    let slice = json!({"metadata": {"name": tag}, "spec": {
        "driver": tag, "nodeName": tag, "devices": [device],
        "pool": {"name": tag, "generation": 1, "resourceSliceCount": 1},
    }});
    let claim = |name: &str| {
        let half = json!({"deviceClassName": tag, "capacity": {"requests": {"memory": "2"}}});
        json!({"metadata": {"name": name, "namespace": tag}, "spec": {"devices": {"requests": [{"name": "r", "exactly": half}]}}})
    };
    Cast {
        seed: 0,
        tag: tag.to_owned(),
        nodes: vec![json!({"metadata": {"name": tag}})],
        classes: vec![class],
        slices: vec![slice],
        held: vec![],
        pods: vec![vec![claim("first")], vec![claim("second")]],
        containers: vec![None, None],
    }
}

pub(crate) fn check(plane: &Plane) -> Result<(), String> {
    let gates = Gates::default_of(Version::V1_37);
    let cast = halves();
    let played = plane.block_on(play(plane, 0, std::slice::from_ref(&cast)))?;
    let verdicts: Vec<Verdict> = played
        .iter()
        .flat_map(|played| judge::judge(&cast, &gates, played))
        .collect();
    match verdicts.as_slice() {
        [Verdict::Same("allocated"), Verdict::Explained(name)]
            if *name == WAITING_SHARES_COUNT_TWICE =>
        {
            Ok(())
        }
        [Verdict::Same("allocated"), Verdict::Same("allocated")] => Err(format!(
            "this scheduler has no {WAITING_SHARES_COUNT_TWICE} any more: say so in tests/scheduler/judge.rs"
        )),
        other => Err(format!("{other:?}")),
    }
}
