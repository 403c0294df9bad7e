//! The answer: what a claim gets on a node, or why each candidate was not taken, in the order in which it was looked at.

use std::collections::BTreeMap;
use std::fmt;

use crate::capacity::Lack;
use crate::constraints::Breach;
use crate::counters::Shortage;
use crate::menu::PoolNote;
use crate::names::{DeviceId, Name};
use crate::objects::{ClaimKey, Node, NodeSelector, Opaque, Taint, Toleration};
use crate::quantity::Quantity;

/// The answer for one node.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The node.
    pub node: Name,
    /// What the claims get.
    pub answer: Answer,
    /// Devices looked at, each once per request, in order. Empty unless asked for.
    pub looks: Vec<Look>,
    /// Pools for this node that are not whole or not sound.
    pub pools: Vec<PoolNote>,
    /// How many devices were tried.
    pub steps: u64,
}

impl Verdict {
    /// A node that is ruled out before any device is looked at.
    pub(crate) fn without_a_look(node: &Node, refused: Refused) -> Self {
        Verdict {
            node: node.name.clone(),
            answer: Answer::Refused(refused),
            looks: vec![],
            pools: vec![],
            steps: 0,
        }
    }
}

/// What the claims get on a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// One allocation per claim.
    Allocated(Vec<Allocation>),
    /// Not on this node.
    Refused(Refused),
    /// Nowhere: the claim, a class or a slice is wrong, and the attempt ends with an error.
    Failed(Failure),
    /// The search was given up after so many steps.
    GaveUp {
        /// The limit.
        steps: u64,
    },
}

/// Why a node cannot serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No choice of devices fulfils every request.
    NoChoice,
    /// A request for all devices finds none, or one that cannot be had.
    AllNotAvailable {
        /// The request.
        request: Name,
    },
    /// A request for all devices meets a pool that is not whole or not sound.
    AllFromFlawedPool(PoolNote),
    /// More devices than a claim's result can hold.
    TooMany {
        /// The claim.
        claim: ClaimKey,
        /// At least so many are asked.
        asked: u64,
    },
    /// Neither devices nor a device plugin serve an extended resource.
    Resource {
        /// The resource.
        resource: Name,
        /// So much is wanted at one time.
        wanted: u64,
        /// So much the node's device plugins publish in all.
        has: u64,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::NoChoice => f.write_str("no choice of devices fulfils every request"),
            Refused::AllNotAvailable { request } => write!(
                f,
                "request {request} asks for all devices, and there is none or not all can be had"
            ),
            Refused::AllFromFlawedPool(note) => {
                write!(
                    f,
                    "a request asks for all devices, and pool {}/{} is {}",
                    note.driver, note.pool, note.flaw
                )
            }
            Refused::TooMany { claim, asked } => too_many(f, claim, *asked),
            Refused::Resource {
                resource, has: 0, ..
            } => write!(
                f,
                "no device plugin publishes {resource} here, and no DeviceClass stands for it"
            ),
            Refused::Resource {
                resource,
                wanted,
                has,
            } => write!(
                f,
                "{wanted} of {resource} are wanted, and the device plugin publishes {has}"
            ),
        }
    }
}

/// Why the attempt ends with an error, on every node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// There is no such class.
    UnknownClass {
        /// The claim.
        claim: ClaimKey,
        /// The request.
        request: Name,
        /// The class.
        class: Name,
    },
    /// A selector or derived attribute cannot be compiled, or failed on a device.
    Expression {
        /// Whose it is.
        owner: String,
        /// The device that it failed on; none if it does not compile.
        device: Option<DeviceId>,
        /// The error.
        error: String,
    },
    /// The claim uses something whose gate is off.
    Gate {
        /// The claim.
        claim: ClaimKey,
        /// The request.
        request: Name,
        /// What is used and which gate it needs.
        what: String,
    },
    /// A quirk: a request for all devices meets a pool that is not whole or not sound.
    AllFromFlawedPool(PoolNote),
    /// A quirk: a request for all devices meets one that breaks a constraint.
    AllBreaksConstraint {
        /// The claim.
        claim: ClaimKey,
        /// The request.
        request: Name,
        /// The device.
        device: DeviceId,
    },
    /// A quirk: the search comes to a pool that is not sound.
    InvalidPool(PoolNote),
    /// A quirk: the allocator panics.
    Panics {
        /// The claim.
        claim: ClaimKey,
        /// The request.
        request: Name,
        /// The device.
        device: DeviceId,
    },
    /// More devices than a claim's result can hold, whatever is chosen.
    TooMany {
        /// The claim.
        claim: ClaimKey,
        /// At least so many are asked.
        asked: u64,
    },
    /// A request names nothing that can be asked.
    EmptyRequest {
        /// The claim.
        claim: ClaimKey,
        /// The request.
        request: Name,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::UnknownClass {
                claim,
                request,
                class,
            } => {
                write!(
                    f,
                    "claim {claim}, request {request}: there is no DeviceClass {class}"
                )
            }
            Failure::Expression {
                owner,
                device: Some(device),
                error,
            } => write!(f, "{owner}, asked of {device}: {error}"),
            Failure::Expression {
                owner,
                device: None,
                error,
            } => write!(f, "{owner}: {error}"),
            Failure::AllFromFlawedPool(note) => write!(
                f,
                "a request asks for all devices, and pool {}/{} is {}; this Kubernetes gives up on all nodes",
                note.driver, note.pool, note.flaw
            ),
            Failure::AllBreaksConstraint {
                claim,
                request,
                device,
            } => write!(
                f,
                "claim {claim}, request {request} asks for all devices, and {device} breaks a constraint; \
                 this Kubernetes gives up on all nodes"
            ),
            Failure::InvalidPool(note) => {
                write!(
                    f,
                    "pool {}/{} is {}; this Kubernetes gives up on all nodes",
                    note.driver, note.pool, note.flaw
                )
            }
            Failure::TooMany { claim, asked } => too_many(f, claim, *asked),
            Failure::Panics {
                claim,
                request,
                device,
            } => {
                write!(
                    f,
                    "claim {claim}, request {request}: this Kubernetes panics at {device}"
                )
            }
            Failure::Gate {
                claim,
                request,
                what,
            } => write!(f, "claim {claim}, request {request}: {what}"),
            Failure::EmptyRequest { claim, request } => {
                write!(f, "claim {claim}, request {request}: it asks for nothing")
            }
        }
    }
}

/// What one claim gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// The claim.
    pub claim: ClaimKey,
    /// Devices, in order of requests.
    pub devices: Vec<Given>,
    /// Configuration for the drivers.
    pub config: Vec<GivenConfig>,
    /// Where the claim can be used; none: everywhere.
    pub node_selector: Option<NodeSelector>,
}

/// A device that a claim gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// `request` or `request/subrequest`.
    pub request: Name,
    /// The device.
    pub device: DeviceId,
    /// By administrative access.
    pub admin: bool,
    /// Copied from the request.
    pub tolerations: Vec<Toleration>,
    /// A share, which the scheduler gives a random id.
    pub share: bool,
    /// What the share takes.
    pub consumed: BTreeMap<Name, Quantity>,
    /// Conditions that binding waits for.
    pub binding_conditions: Vec<Name>,
    /// Conditions that end the wait.
    pub binding_failure_conditions: Vec<Name>,
    /// Node operations that are not called.
    pub skip_node_operations: Vec<Name>,
}

/// Where a configuration comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// The class.
    Class,
    /// The claim.
    Claim,
}

/// A configuration that a claim gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenConfig {
    /// Where it comes from.
    pub source: ConfigSource,
    /// The requests it is for; none: all.
    pub requests: Vec<Name>,
    /// The configuration.
    pub opaque: Opaque,
}

/// One device, looked at for one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// The claim.
    pub claim: ClaimKey,
    /// `request` or `request/subrequest`.
    pub request: Name,
    /// The device.
    pub device: DeviceId,
    /// Why it was not taken; none: it was.
    pub refusal: Option<Refusal>,
}

/// Why a device was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Another claim has it.
    InUse {
        /// The claim.
        by: ClaimKey,
    },
    /// Shares of it are in use, and it cannot be shared any more.
    SharesInUse,
    /// Another request of the same attempt has it.
    AlreadyPicked,
    /// A selector does not hold.
    Selector {
        /// `DeviceClass x` or `request y`.
        owner: String,
        /// The expression.
        expression: String,
    },
    /// Its capacity does not serve.
    Capacity(Lack),
    /// A shared counter does not have what it needs.
    Counter(Shortage),
    /// Devices in use on a counter set do not go together with it.
    Group {
        /// The groups it declares.
        groups: Vec<Name>,
    },
    /// A taint is not tolerated.
    Tainted(Taint),
    /// A constraint does not hold.
    Constraint {
        /// Which constraint of the claim, from 0.
        index: usize,
        /// The attribute.
        attribute: Name,
        /// Why.
        breach: Breach,
    },
    /// It uses something whose gate is off.
    Gate {
        /// What, and which gate it needs.
        what: String,
    },
    /// It is not for this node.
    Elsewhere,
    /// It was taken and given back, for with it the rest could not be fulfilled.
    DeadEnd,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::InUse { by } => write!(f, "in use by claim {by}"),
            Refusal::SharesInUse => {
                f.write_str("shares of it are in use, and it cannot be shared any more")
            }
            Refusal::AlreadyPicked => f.write_str("already picked for another request"),
            Refusal::Selector { owner, expression } => {
                write!(f, "selector of {owner} does not hold: {expression}")
            }
            Refusal::Capacity(lack) => write!(f, "{lack}"),
            Refusal::Counter(Shortage {
                set,
                counter,
                needs,
                left,
            }) => {
                write!(
                    f,
                    "counter {counter} of set {set} has {left} left, it needs {needs}"
                )
            }
            Refusal::Group { groups } if groups.is_empty() => f.write_str(
                "it has no compatibility group, and those in use on its counters have one",
            ),
            Refusal::Group { groups } => write!(
                f,
                "its compatibility groups [{}] do not go with those in use on its counters",
                groups.join(", ")
            ),
            Refusal::Tainted(taint) => write!(f, "tainted: {taint}"),
            Refusal::Constraint {
                index,
                attribute,
                breach,
            } => write!(f, "constraint {index} on {attribute}: {breach}"),
            Refusal::Gate { what } => f.write_str(what),
            Refusal::Elsewhere => f.write_str("it is not for this node"),
            Refusal::DeadEnd => {
                f.write_str("taken and given back: with it the rest cannot be fulfilled")
            }
        }
    }
}

fn too_many(f: &mut fmt::Formatter<'_>, claim: &ClaimKey, asked: u64) -> fmt::Result {
    let limit = crate::limits::RESULTS_PER_CLAIM;
    write!(
        f,
        "claim {claim} asks for {asked} devices; a claim's result holds {limit}"
    )
}
