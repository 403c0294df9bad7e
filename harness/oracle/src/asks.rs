//! A claim's requests, made ready: classes looked up, alternatives numbered, and what is wrong before any device is looked at.

use std::ops::Range;

use crate::gates::Gate;
use crate::limits::RESULTS_PER_CLAIM;
use crate::names::Name;
use crate::objects::{Ask, Claim, ClaimKey, Class, Mode, Must, Request, Wanted};
use crate::verdict::Failure;
use crate::world::World;

/// Claims that are wanted together.
pub(crate) struct Prepared<'w> {
    pub(crate) claims: Vec<&'w Claim>,
    /// Per claim and request: its alternatives.
    pub(crate) requests: Vec<Vec<Range<usize>>>,
    /// Every alternative of every request.
    pub(crate) asks: Vec<AskFacts<'w>>,
}

/// One alternative.
pub(crate) struct AskFacts<'w> {
    pub(crate) claim: usize,
    pub(crate) request: Name,
    pub(crate) full_name: Name,
    pub(crate) ask: &'w Ask,
    pub(crate) class: &'w Class,
}

impl<'w> Prepared<'w> {
    pub(crate) fn new(world: &'w World, claims: &[&'w Claim]) -> Result<Self, Failure> {
        let mut prepared = Prepared {
            claims: claims.to_vec(),
            requests: Vec::new(),
            asks: Vec::new(),
        };
        for (at, claim) in claims.iter().enumerate() {
            known_constraints(world, claim)?;
            let mut requests = Vec::new();
            for request in &claim.requests {
                gates(world, claim, request)?;
                let first = prepared.asks.len();
                for ask in request.asks() {
                    let full_name = request.full_name(ask);
                    let class =
                        world
                            .classes
                            .get(&ask.class)
                            .ok_or_else(|| Failure::UnknownClass {
                                claim: claim.key.clone(),
                                request: full_name.clone(),
                                class: ask.class.clone(),
                            })?;
                    prepared.asks.push(AskFacts {
                        claim: at,
                        request: request.name.clone(),
                        full_name,
                        ask,
                        class,
                    });
                }
                requests.push(first..prepared.asks.len());
            }
            prepared.requests.push(requests);
        }
        Ok(prepared)
    }

    /// The alternative before that one of the same request; itself where it is the first.
    pub(crate) fn alternative_before(&self, ask: usize) -> usize {
        let first = |alternatives: &Range<usize>| alternatives.start == ask;
        if self.requests.iter().flatten().any(first) {
            ask
        } else {
            ask - 1
        }
    }

    /// More devices than a result holds, whatever is chosen; `all` says how many a request for all would take.
    pub(crate) fn too_many(&self, all: impl Fn(usize) -> u64) -> Option<(ClaimKey, u64)> {
        for (at, claim) in self.claims.iter().enumerate() {
            let least = |alternatives: &Range<usize>| {
                let count = |ask: usize| match self.asks[ask].ask.mode {
                    Mode::Exact(count) => count,
                    Mode::All => all(ask),
                };
                alternatives.clone().map(count).min().unwrap_or(0)
            };
            let asked = self.requests[at]
                .iter()
                .map(least)
                .fold(0, u64::saturating_add);
            if asked > RESULTS_PER_CLAIM {
                return Some((claim.key.clone(), asked));
            }
        }
        None
    }
}

/// What a request uses must be on.
fn gates(world: &World, claim: &Claim, request: &Request) -> Result<(), Failure> {
    let off = |gate: Gate, what: &str| Failure::Gate {
        claim: claim.key.clone(),
        request: request.name.clone(),
        what: format!("{what}, but {gate} is off"),
    };
    match &request.wanted {
        Wanted::FirstAvailable(asks) if asks.is_empty() => Err(Failure::EmptyRequest {
            claim: claim.key.clone(),
            request: request.name.clone(),
        }),
        Wanted::FirstAvailable(_) if !world.gates.has(Gate::PrioritizedList) => {
            Err(off(Gate::PrioritizedList, "it uses firstAvailable"))
        }
        Wanted::Exactly(ask) if ask.admin && !world.gates.has(Gate::AdminAccess) => {
            Err(off(Gate::AdminAccess, "it asks for administrative access"))
        }
        _ if request.asks().iter().any(|ask| !ask.capacity.is_empty())
            && !world.gates.has(Gate::ConsumableCapacity)
            && world.knows(Gate::ConsumableCapacity) =>
        {
            Err(off(
                Gate::ConsumableCapacity,
                "it asks for amounts of capacity",
            ))
        }
        _ if derives(request) && !world.gates.has(Gate::DerivedAttributes) => {
            Err(off(Gate::DerivedAttributes, "it has derived attributes"))
        }
        _ => Ok(()),
    }
}

/// `distinctAttribute` came with consumable capacity; an allocator from before says that it does not know it.
fn known_constraints(world: &World, claim: &Claim) -> Result<(), Failure> {
    let distinct = claim
        .constraints
        .iter()
        .any(|constraint| matches!(constraint.must, Must::Differ(_)));
    if !distinct || world.knows(Gate::ConsumableCapacity) {
        return Ok(());
    }
    Err(Failure::Gate {
        claim: claim.key.clone(),
        request: "constraints".into(),
        what: format!(
            "distinctAttribute, which came with {}, is not known to this allocator",
            Gate::ConsumableCapacity
        ),
    })
}

fn derives(request: &Request) -> bool {
    request.asks().iter().any(|ask| !ask.derived.is_empty())
}
