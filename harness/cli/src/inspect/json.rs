//! The menu as JSON, nothing folded. The field `format` names its version.

use oracle::{State, Stocked};
use serde_json::{Value, json};

use super::menu::{ClassMenu, Menu};
use crate::live::GatesFrom;

/// The format and its version.
const FORMAT: &str = "sliceproof.slices/1";

/// Everything. Devices of a class are places in the list of devices.
pub(crate) fn value(menu: &Menu) -> Value {
    let gates: Vec<&str> = menu.server.gates.iter().map(|gate| gate.name()).collect();
    let counters: Vec<Value> = menu
        .counters
        .iter()
        .map(|it| {
            json!({
                "driver": &*it.driver,
                "pool": &*it.pool,
                "set": &*it.set,
                "counter": &*it.counter,
                "total": it.total.to_string(),
                "left": it.left.to_string(),
            })
        })
        .collect();
    json!({
        "format": FORMAT,
        "kubernetes": menu.server.version,
        "allocator": menu.variant,
        "orderOfPoolsIsSpecified": menu.order_is_specified,
        "gates": gates,
        "gatesFrom": match &menu.server.gates_from {
            GatesFrom::Metrics => "metrics",
            GatesFrom::Defaults { .. } => "defaults",
        },
        "unreadable": menu.unreadable,
        "classes": menu.classes.iter().map(class).collect::<Vec<_>>(),
        "devices": menu.stock.iter().map(|it| device(menu, it)).collect::<Vec<_>>(),
        "counters": counters,
    })
}

fn class(class: &ClassMenu) -> Value {
    json!({
        "name": class.name,
        "extendedResource": class.extended_resource,
        "devices": class.devices.as_ref().ok(),
        "error": class.devices.as_ref().err(),
    })
}

fn device(menu: &Menu, device: &Stocked) -> Value {
    let (state, claim) = match &device.state {
        State::Free => ("free", None),
        State::Held(claim) => ("held", Some(claim.to_string())),
        State::Tainted(_) => ("tainted", None),
        State::Short(_) => ("short", None),
        State::Pool(_) => ("poolFlawed", None),
    };
    json!({
        "driver": &*device.id.driver,
        "pool": &*device.id.pool,
        "device": &*device.id.device,
        "node": device.node.as_deref(),
        "profile": device.profile.as_deref(),
        "product": device.product.as_deref(),
        "computeSlices": device.weight.compute,
        "memorySlices": device.memory_slices,
        "counterSets": device.sets.iter().map(|set| &**set).collect::<Vec<_>>(),
        "state": state,
        "claim": claim,
        "shares": device.shares,
        "why": super::table::state(menu, device),
    })
}
