//! The account of claims: asked as of before they were allocated, node by node, and held against what they were given.

use std::collections::BTreeMap;

use k8s_openapi::api::resource::v1::ResourceClaim;
use oracle::objects::{Claim, ClaimKey, Held, Listed, Node, Pod, bound_node};
use oracle::{
    Answer, Extended, Gates, How, Mapping, Misallocation, Quirk, Quirks, Setup, Verdict, World,
};

use super::asked::Asked;
use crate::Error;
use crate::live::Server;

/// What is said of claims.
pub(crate) struct Account {
    pub(crate) server: Server,
    pub(crate) variant: &'static str,
    /// Whether this Kubernetes says in which order pools are looked at.
    pub(crate) order_is_specified: bool,
    pub(crate) asked: Asked,
    /// The claims that are asked for.
    pub(crate) claims: Vec<Claim>,
    /// What selectors the classes of the claims have.
    pub(crate) classes: BTreeMap<String, Vec<String>>,
    /// Objects that could not be read, and so do not count.
    pub(crate) unreadable: Vec<String>,
    /// The answer of each node.
    pub(crate) verdicts: Vec<Verdict>,
    /// For a pod whose claim for extended resources is not made: which request would serve what of a container.
    pub(crate) mappings: Vec<Mapping>,
    /// What was given, where all of the claims are allocated.
    pub(crate) given: Option<Given>,
}

/// What claims were given.
pub(crate) struct Given {
    /// The node, if it is known.
    pub(crate) node: Option<String>,
    /// Per claim: its devices.
    pub(crate) devices: Vec<(ClaimKey, Vec<Held>)>,
    /// Against the oracle's answer, where the node is known.
    pub(crate) agreement: Option<Agreement>,
    /// Per claim, where it can be told.
    pub(crate) misallocation: Vec<Result<Misallocation, String>>,
}

/// What was given against what the oracle gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// The same devices.
    Same,
    /// Something else, which is what this allocator is known to do against its documents.
    Known(Vec<&'static str>),
    /// Something else.
    Differs,
}

/// Asks the oracle.
pub(crate) fn account(
    listed: &Listed,
    server: &Server,
    mut asked: Asked,
) -> Result<Account, Error> {
    let gates = &server.gates;
    let (setup, mistakes) = Setup::read(listed, gates);
    let mut claims = Vec::new();
    for key in &asked.claims {
        match setup.claims.iter().find(|claim| claim.key == *key) {
            Some(claim) => claims.push(claim.clone()),
            None => return Err(unreadable(listed, key, gates)),
        }
    }
    let held: Option<Vec<(ClaimKey, Vec<Held>)>> = claims
        .iter()
        .map(|claim| Some((claim.key.clone(), claim.holds.clone()?)))
        .collect();
    let mut world = World::new(setup.before(&asked.claims), gates.clone(), None);
    let mut made = None;
    if let Some(pod) = &asked.extended {
        let (extended, notes) = extended(&world, pod, &asked)?;
        asked.notes.extend(notes);
        made = extended;
    }
    let classes = classes(&world, claims.iter().chain(made.iter().map(|it| &it.claim)));
    let variant = world.variant();
    let wanted: Vec<&Claim> = claims.iter().collect();
    let verdicts = match &asked.extended {
        None => oracle::allocate_together(&world, &wanted, How::default()),
        Some(pod) => oracle::allocate_pod(&world, &wanted, pod, How::default()),
    };
    let held = held.filter(|_| made.is_none());
    let mut given = None;
    if let Some(devices) = held {
        let node = node(listed, &asked);
        let misallocation = match node.as_deref().and_then(|node| find(&world, node)) {
            Some(node) => devices
                .iter()
                .zip(&claims)
                .map(|((_, held), claim)| {
                    oracle::misallocation(&world, claim, held, node)
                        .map_err(|error| error.to_string())
                })
                .collect(),
            None => Vec::new(),
        };
        let verdict = verdicts
            .iter()
            .find(|verdict| Some(&*verdict.node) == node.as_deref());
        let agreement = match verdict.map(|verdict| same(&verdict.answer, &devices)) {
            None => None,
            Some(true) => Some(Agreement::Same),
            Some(false) => {
                let node = node.as_deref().unwrap_or_default();
                let quirks = Quirks::of(gates.version(), variant);
                let known = |world: World, quirks: Quirks| {
                    let world = world.with_quirks(quirks);
                    let verdict = find(&world, node)
                        .map(|node| oracle::allocate_on(&world, &wanted, node, How::default()));
                    let same = verdict.is_some_and(|verdict| same(&verdict.answer, &devices));
                    (world, same)
                };
                let mut names = Vec::new();
                for quirk in Quirk::ALL.iter().filter(|quirk| quirks.has(**quirk)) {
                    let (back, same) = known(world, Quirks::from_iter([*quirk]));
                    world = back;
                    names.extend(same.then(|| quirk.name()));
                }
                Some(if names.is_empty() {
                    Agreement::Differs
                } else {
                    Agreement::Known(names)
                })
            }
        };
        given = Some(Given {
            node,
            devices,
            agreement,
            misallocation,
        });
    }
    let mut mappings = Vec::new();
    if let Some(made) = made {
        claims.push(made.claim);
        mappings = made.mappings;
    }
    Ok(Account {
        server: server.clone(),
        variant: variant.as_str(),
        order_is_specified: variant.sorts_pools(gates.version()),
        asked,
        claims,
        classes,
        unreadable: mistakes.iter().map(ToString::to_string).collect(),
        verdicts,
        mappings,
        given,
    })
}

fn unreadable(listed: &Listed, key: &ClaimKey, gates: &Gates) -> Error {
    let of_key = |claim: &&ResourceClaim| {
        claim.metadata.name.as_deref() == Some(&*key.name)
            && claim.metadata.namespace.as_deref() == Some(&*key.namespace)
    };
    let read = listed
        .claims
        .iter()
        .find(of_key)
        .map(|claim| Claim::read(claim, World::dialect(gates)));
    match read {
        Some(Err(mistake)) => Error::Unreadable(mistake),
        _ => Error::NoSuch {
            what: format!("ResourceClaim {}", key.name),
            namespace: key.namespace.to_string(),
            server: "the cluster".to_owned(),
            mend: "it has gone meanwhile; ask again".to_owned(),
        },
    }
}

/// The claim that would be made for the pod's extended resources on the first node where one would, and what a reader should
/// know of it.
fn extended(
    world: &World,
    pod: &Pod,
    asked: &Asked,
) -> Result<(Option<Extended>, Vec<String>), Error> {
    if !world.has_extended(pod) {
        if !asked.claims.is_empty() {
            return Ok((None, vec![]));
        }
        let resources: Vec<&str> = pod.resources().map(|name| &**name).collect();
        return Err(Error::NoClaims {
            pod: pod.key.name.to_string(),
            namespace: pod.key.namespace.to_string(),
            why: format!(
                "has no claims, and no DeviceClass stands for {}, which it asks for: device plugins serve it, or nothing; \
                 `kubectl get deviceclasses -o yaml` shows spec.extendedResourceName",
                resources.join(", ")
            ),
        });
    }
    let made = |node| Some((node, world.extended(pod, node).ok().flatten()?));
    let made: Vec<(&Node, Extended)> = world.nodes().iter().filter_map(made).collect();
    let mut notes = vec![
        "the claim for the pod's extended resources is made when a node is chosen; asked as if it were"
            .to_owned(),
    ];
    let Some((node, first)) = made.first() else {
        return Ok((None, notes));
    };
    let alike = |(_, it): &(&Node, Extended)| it.mappings == first.mappings;
    if made.len() < world.nodes().len() || !made.iter().all(alike) {
        notes.push(format!(
            "that claim differs from node to node, by what device plugins serve; shown is that of node {}",
            node.name
        ));
    }
    Ok((Some(first.clone()), notes))
}

fn classes<'a>(
    world: &World,
    claims: impl Iterator<Item = &'a Claim>,
) -> BTreeMap<String, Vec<String>> {
    let asks = claims
        .flat_map(|claim| &claim.requests)
        .flat_map(|request| request.asks());
    asks.filter_map(|ask| world.class(&ask.class))
        .map(|class| {
            let selectors = class.selectors.iter().map(|selector| selector.text.clone());
            (class.name.to_string(), selectors.collect())
        })
        .collect()
}

fn find<'w>(world: &'w World, name: &str) -> Option<&'w Node> {
    world.nodes().iter().find(|node| &*node.name == name)
}

/// Where the claims are allocated: the node that their allocation is bound to, else that of the pod.
fn node(listed: &Listed, asked: &Asked) -> Option<String> {
    let of_claims = |claim: &&ResourceClaim| {
        asked.claims.iter().any(|key| {
            claim.metadata.name.as_deref() == Some(&*key.name)
                && claim.metadata.namespace.as_deref() == Some(&*key.namespace)
        })
    };
    let mut claims = listed.claims.iter().filter(of_claims);
    let bound = claims.find_map(|claim| bound_node(claim).map(str::to_owned));
    bound.or_else(|| asked.node.clone())
}

/// Whether the answer is what was given.
fn same(answer: &Answer, given: &[(ClaimKey, Vec<Held>)]) -> bool {
    let Answer::Allocated(allocations) = answer else {
        return false;
    };
    allocations.len() == given.len()
        && allocations
            .iter()
            .zip(given)
            .all(|(allocation, (claim, held))| {
                let gives = allocation
                    .devices
                    .iter()
                    .map(|it| (&it.request, &it.device));
                let holds = held.iter().map(|it| (&it.request, &it.device));
                allocation.claim == *claim && gives.eq(holds)
            })
}
