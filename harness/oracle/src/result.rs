//! From picks to allocations: results, configuration, and the nodes where the claim can be used.

use crate::asks::Prepared;
use crate::gates::Gate;
use crate::names::Name;
use crate::objects::{Node, NodeRequirement, NodeSelector, NodeTerm, Operator, Reach};
use crate::search::Pick;
use crate::verdict::{Allocation, ConfigSource, Given, GivenConfig};
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
            config: config(prepared, at, &picks),
            node_selector: node_selector(world, node, &picks),
        }
    };
    (0..prepared.claims.len()).map(of_claim).collect()
}

fn given(world: &World, prepared: &Prepared<'_>, pick: &Pick) -> Given {
    let facts = &prepared.asks[pick.ask];
    let entry = &world.devices[pick.device];
    let device = world.device(entry);
    let binding = world.gates.binding();
    let of_binding = |conditions: &[Name]| if binding { conditions.to_vec() } else { vec![] };
    let optional = world.gates.has(Gate::OptionalNodeOperations);
    Given {
        request: facts.full_name.clone(),
        device: entry.id.clone(),
        admin: facts.ask.admin,
        tolerations: facts.ask.tolerations.clone(),
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

/// Configuration of the classes of the chosen alternatives, request by request, then that of the claim.
fn config(prepared: &Prepared<'_>, claim: usize, picks: &[&Pick]) -> Vec<GivenConfig> {
    let mut given = Vec::new();
    let mut chosen: Vec<usize> = Vec::new();
    for alternatives in &prepared.requests[claim] {
        let Some(ask) = picks
            .iter()
            .map(|pick| pick.ask)
            .find(|ask| alternatives.contains(ask))
        else {
            continue;
        };
        chosen.push(ask);
        let facts = &prepared.asks[ask];
        given.extend(facts.class.config.iter().map(|opaque| GivenConfig {
            source: ConfigSource::Class,
            requests: vec![facts.full_name.clone()],
            opaque: opaque.clone(),
        }));
    }
    for (requests, opaque) in &prepared.claims[claim].config {
        let for_chosen = |ask: &usize| {
            let facts = &prepared.asks[*ask];
            requests
                .iter()
                .any(|name| *name == facts.request || *name == facts.full_name)
        };
        if requests.is_empty() || chosen.iter().any(for_chosen) {
            given.push(GivenConfig {
                source: ConfigSource::Claim,
                requests: requests.clone(),
                opaque: opaque.clone(),
            });
        }
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
