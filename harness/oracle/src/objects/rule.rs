//! Taints, the tolerations of requests, and DeviceTaintRules.

use std::fmt;

use crate::names::Name;

/// What a taint does to those who do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing; it informs.
    None,
    /// No new allocation.
    NoSchedule,
    /// No new allocation, and running pods end.
    NoExecute,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Effect::None => "None",
            Effect::NoSchedule => "NoSchedule",
            Effect::NoExecute => "NoExecute",
        })
    }
}

/// A taint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// Its key.
    pub key: Name,
    /// Its value, often empty.
    pub value: Name,
    /// What it does.
    pub effect: Effect,
    /// The DeviceTaintRule it comes from; none if the driver published it.
    pub rule: Option<Name>,
}

impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.value {
            "" => write!(f, "{}:{}", self.key, self.effect)?,
            value => write!(f, "{}={value}:{}", self.key, self.effect)?,
        }
        self.rule
            .as_ref()
            .map_or(Ok(()), |rule| write!(f, " (DeviceTaintRule {rule})"))
    }
}

/// How a toleration compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TolerationOperator {
    /// Key and value are equal.
    Equal,
    /// The key is equal, or empty for every key.
    Exists,
}

/// A toleration of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toleration {
    /// The key; empty with `Exists` for every key.
    pub key: Name,
    /// How it compares.
    pub operator: TolerationOperator,
    /// The value.
    pub value: Name,
    /// The effect; none for every effect.
    pub effect: Option<Effect>,
    /// For how long a NoExecute taint is tolerated; allocation does not ask.
    pub seconds: Option<i64>,
}

/// A DeviceTaintRule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The object's name.
    pub name: Name,
    /// What it taints; a missing selector taints nothing.
    pub selector: Option<RuleSelector>,
    /// The taint.
    pub taint: Taint,
}

/// Which devices a rule taints: all that is set must be equal; nothing set is every device.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RuleSelector {
    /// The driver.
    pub driver: Option<Name>,
    /// The pool.
    pub pool: Option<Name>,
    /// The device.
    pub device: Option<Name>,
}
