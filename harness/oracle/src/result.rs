//! From picks to allocations: results, configuration, and the nodes where the claim can be used.

use crate::asks::Prepared;
use crate::gates::Gate;
use crate::names::Name;
use crate::objects::{Class, Node, NodeRequirement, NodeSelector, NodeTerm, Operator, Reach};
use crate::quirks::Quirk;
use crate::search::Pick;
use crate::variant::Variant;
use crate::verdict::{Allocation, ConfigSource, Given, GivenConfig};
use crate::version::Version;
use crate::world::World;

pub(crate) fn allocations(
    world: &World,
    node: &Node,
    prepared: &Prepared<'_>,
    picks: &[Pick],
) -> Vec<Allocation> {
    let of_claim = |at: usize| {
        let picks: Vec<&Pick> = picks.iter().filter(|pick| pick.claim == at).collect();
        Allocation {
            claim: prepared.claims[at].key.clone(),
            devices: picks
                .iter()
                .map(|pick| given(world, prepared, pick))
                .collect(),
            config: config(world, prepared, at, &picks),
            node_selector: node_selector(world, node, &picks),
        }
    };
    (0..prepared.claims.len()).map(of_claim).collect()
}

fn given(world: &World, prepared: &Prepared<'_>, pick: &Pick) -> Given {
    let facts = &prepared.asks[pick.ask];
    let entry = &world.devices[pick.device];
    let device = world.device(entry);
    // Older allocators copy them only where taints are on.
    let known = world.gates.has(Gate::DeviceTaints)
        || match world.gates.version() {
            Version::V1_34 => false,
            Version::V1_35 => world.variant != Variant::Stable,
            _ => true,
        };
    let copied = known && !world.quirks.has(Quirk::TolerationsAreNotCopied);
    let binding = world.gates.binding();
    let of_binding = |conditions: &[Name]| if binding { conditions.to_vec() } else { vec![] };
    let optional = world.gates.has(Gate::OptionalNodeOperations);
    Given {
        request: facts.full_name.clone(),
        device: entry.id.clone(),
        admin: facts.ask.admin,
        tolerations: if copied {
            facts.ask.tolerations.clone()
        } else {
            vec![]
        },
        share: pick.share.is_some(),
        consumed: pick.share.clone().unwrap_or_default(),
        binding_conditions: of_binding(&device.binding_conditions),
        binding_failure_conditions: of_binding(&device.binding_failure_conditions),
        skip_node_operations: if optional {
            world.slices[entry.slice].skip_node_operations.clone()
        } else {
            vec![]
        },
    }
}

/// Configuration of the classes of the chosen alternatives, each class once, then that of the claim.
/// Since 1.37 names are left out where they are those of every request (#139731).
fn config(
    world: &World,
    prepared: &Prepared<'_>,
    claim: usize,
    picks: &[&Pick],
) -> Vec<GivenConfig> {
    let of_request = |alternatives: &std::ops::Range<usize>| {
        picks
            .iter()
            .map(|pick| pick.ask)
            .find(|ask| alternatives.contains(ask))
    };
    let chosen: Vec<usize> = prepared.requests[claim]
        .iter()
        .filter_map(of_request)
        .collect();
    let names = |ask: &usize, name: &Name| {
        let facts = &prepared.asks[*ask];
        *name == facts.request || *name == facts.full_name
    };
    let since_1_37 = world.gates.version() >= Version::V1_37;
    let shorter = |requests: Vec<Name>| {
        let every = chosen
            .iter()
            .all(|ask| requests.iter().any(|name| names(ask, name)));
        if every && since_1_37 {
            vec![]
        } else {
            requests
        }
    };
    let mut given = Vec::new();
    let mut classes: Vec<(&Class, Vec<Name>)> = Vec::new();
    for facts in chosen.iter().map(|ask| &prepared.asks[*ask]) {
        match classes
            .iter_mut()
            .find(|(class, _)| class.name == facts.class.name)
        {
            Some((_, requests)) => requests.push(facts.full_name.clone()),
            None => classes.push((facts.class, vec![facts.full_name.clone()])),
        }
    }
    for (class, requests) in classes {
        given.extend(class.config.iter().map(|opaque| GivenConfig {
            source: ConfigSource::Class,
            requests: shorter(requests.clone()),
            opaque: opaque.clone(),
        }));
    }
    for (requests, opaque) in &prepared.claims[claim].config {
        let named = chosen
            .iter()
            .filter(|ask| requests.iter().any(|name| names(ask, name)))
            .count();
        let times = match named {
            _ if requests.is_empty() => 1,
            named if world.quirks.has(Quirk::ClaimConfigIsRepeated) => named,
            named => named.min(1),
        };
        given.extend((0..times).map(|_| GivenConfig {
            source: ConfigSource::Claim,
            requests: shorter(requests.clone()),
            opaque: opaque.clone(),
        }));
    }
    given
}

/// The node alone where a device belongs to it, else what every device's selector wants; none: everywhere.
fn node_selector(world: &World, node: &Node, picks: &[&Pick]) -> Option<NodeSelector> {
    let only = || {
        let name = NodeRequirement {
            key: "metadata.name".into(),
            operator: Operator::In,
            values: vec![node.name.clone()],
        };
        Some(NodeSelector {
            terms: vec![NodeTerm {
                expressions: vec![],
                fields: vec![name],
            }],
        })
    };
    let mut term = NodeTerm::default();
    for pick in picks {
        let entry = &world.devices[pick.device];
        if world.gates.binding() && world.device(entry).binds_to_node {
            return only();
        }
        match world.reach_of(entry) {
            Some(Reach::Node(_)) => return only(),
            Some(Reach::Selected(selector)) => {
                let first = selector.terms.first().cloned().unwrap_or_default();
                term.expressions.extend(
                    first
                        .expressions
                        .into_iter()
                        .filter(|r| !term.expressions.contains(r))
                        .collect::<Vec<_>>(),
                );
                term.fields.extend(
                    first
                        .fields
                        .into_iter()
                        .filter(|r| !term.fields.contains(r))
                        .collect::<Vec<_>>(),
                );
            }
            Some(Reach::All) | None => {}
        }
    }
    if term == NodeTerm::default() {
        None
    } else {
        Some(NodeSelector { terms: vec![term] })
    }
}
