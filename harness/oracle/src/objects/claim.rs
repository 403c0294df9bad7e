//! ResourceClaims: what is asked for, and what those that are allocated hold.

use std::collections::BTreeMap;
use std::fmt;

use super::Selector;
use super::class::Opaque;
use super::rule::Toleration;
use crate::cel::{BadExpression, Expression};
use crate::names::{DeviceId, Name};
use crate::quantity::Quantity;

/// A claim's namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimKey {
    /// The namespace.
    pub namespace: Name,
    /// The name.
    pub name: Name,
}

impl fmt::Display for ClaimKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A ResourceClaim.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its identity.
    pub key: ClaimKey,
    /// The requests, all of which must be fulfilled.
    pub requests: Vec<Request>,
    /// Constraints over the devices of several requests.
    pub constraints: Vec<Constraint>,
    /// Configuration: for which requests (none named: all), and what.
    pub config: Vec<(Vec<Name>, Opaque)>,
    /// What it holds, if it is allocated.
    pub holds: Option<Vec<Held>>,
}

/// A device that an allocated claim holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// `request` or `request/subrequest`, for which it was given.
    pub request: Name,
    /// The device.
    pub device: DeviceId,
    /// Administrative access holds nothing.
    pub admin: bool,
    /// The share, of a device that allows several.
    pub share: Option<Name>,
    /// What the share takes.
    pub consumed: BTreeMap<Name, Quantity>,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its name.
    pub name: Name,
    /// What it wants.
    pub wanted: Wanted,
}

/// One thing, or the first of several that can be had.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// `exactly`
    Exactly(Box<Ask>),
    /// `firstAvailable`
    FirstAvailable(Vec<Ask>),
}

impl Request {
    /// What may fulfil it, in order.
    pub fn asks(&self) -> &[Ask] {
        match &self.wanted {
            Wanted::Exactly(ask) => std::slice::from_ref(&**ask),
            Wanted::FirstAvailable(asks) => asks,
        }
    }

    /// The name that results and constraints use: `gpu`, or `gpu/mig` for a subrequest.
    pub fn full_name(&self, ask: &Ask) -> Name {
        match &self.wanted {
            Wanted::Exactly(_) => self.name.clone(),
            Wanted::FirstAvailable(_) => format!("{}/{}", self.name, ask.name).into(),
        }
    }
}

/// What is asked of devices.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The subrequest's name, or the request's.
    pub name: Name,
    /// The DeviceClass.
    pub class: Name,
    /// Further selectors.
    pub selectors: Vec<Selector>,
    /// How many.
    pub mode: Mode,
    /// Administrative access.
    pub admin: bool,
    /// Taints that are tolerated.
    pub tolerations: Vec<Toleration>,
    /// Amounts of capacity.
    pub capacity: BTreeMap<Name, Quantity>,
    /// Attributes that the claim computes.
    pub derived: Vec<Derived>,
}

/// How many devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// That many.
    Exact(u64),
    /// All that match, at least one.
    All,
}

/// An attribute that a claim computes for each candidate.
#[derive(Clone, Debug)]
pub struct Derived {
    /// Its fully qualified name.
    pub name: Name,
    /// The expression.
    pub expression: Result<std::sync::Arc<Expression>, BadExpression>,
}

/// A constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// `request` or `request/subrequest`; none named: all.
    pub requests: Vec<Name>,
    /// What must hold.
    pub must: Must,
}

/// What a constraint wants of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Must {
    /// The same on all devices.
    Match(Name),
    /// Another on each device.
    Differ(Name),
}

impl Constraint {
    /// Whether it speaks of that request.
    pub fn concerns(&self, request: &str, full_name: &str) -> bool {
        self.requests.is_empty()
            || self
                .requests
                .iter()
                .any(|name| &**name == request || &**name == full_name)
    }

    /// The attribute.
    pub fn attribute(&self) -> &Name {
        match &self.must {
            Must::Match(attribute) | Must::Differ(attribute) => attribute,
        }
    }
}
