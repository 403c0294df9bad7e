//! Sets of feature gates that people run, and what a scenario needs of them.
//! Not here: the gates themselves and their stages (crate `oracle`), nor how a program is told (crate `cluster`).

use std::fmt;
use std::str::FromStr;

use oracle::{Gate, Gates, Stage, Version};

use crate::asks::Asks;

/// Tags that begin so name a gate that must be on, `@needs:DRAPartitionableDevices`, or the first Kubernetes that will do,
/// `@needs:kubernetes-1.37`, or the last, `@needs:kubernetes-until-1.35`.
pub(crate) const NEEDS: &str = "@needs:";
/// A need of a Kubernetes begins so.
const KUBERNETES: &str = "kubernetes-";
/// One of the last Kubernetes that will do goes on so.
const UNTIL: &str = "until-";

/// What a scenario needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// A feature gate that is on.
    Gate(Gate),
    /// A Kubernetes as new as this.
    Since(Version),
    /// A Kubernetes as old as this.
    Until(Version),
}

impl Need {
    fn named(name: &str) -> Option<Self> {
        let Some(minor) = name.strip_prefix(KUBERNETES) else {
            return named(name).map(Self::Gate);
        };
        match minor.strip_prefix(UNTIL) {
            Some(last) => last.parse().ok().map(Self::Until),
            None => minor.parse().ok().map(Self::Since),
        }
    }

    /// Why it is not met; `None` where it is.
    fn missing(self, gates: &Gates) -> Option<String> {
        let version = gates.version();
        match self {
            Self::Gate(gate) if !gates.has(gate) => {
                let stage = match gate.stage(version) {
                    Stage::Absent => "does not exist",
                    Stage::Alpha => "is alpha and off",
                    Stage::BetaOff | Stage::Beta => "is beta and off",
                    Stage::Stable | Stage::Locked => "is off",
                };
                Some(format!(
                    "needs {gate}, which {stage} in this Kubernetes {version}"
                ))
            }
            Self::Since(first) if version < first => {
                Some(format!("needs Kubernetes {first}, and this is {version}"))
            }
            Self::Until(last) if version > last => Some(format!(
                "needs Kubernetes {last} or older, and this is {version}"
            )),
            _ => None,
        }
    }
}

/// A set of feature gates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GateSet {
    /// As a cluster is that names no gate.
    #[default]
    Default,
    /// Only what is generally available; every beta and alpha gate is off.
    Ga,
    /// Every gate of device allocation that exists, with the API versions it needs.
    Alpha,
}

impl GateSet {
    /// All of them.
    pub const ALL: [GateSet; 3] = [GateSet::Default, GateSet::Ga, GateSet::Alpha];

    /// As people write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            GateSet::Default => "default",
            GateSet::Ga => "ga",
            GateSet::Alpha => "alpha",
        }
    }

    /// The gates of device allocation that are on then.
    #[must_use]
    pub fn gates(self, version: Version) -> Gates {
        match self {
            GateSet::Default => Gates::default_of(version),
            GateSet::Ga => Gates::ga_of(version),
            GateSet::Alpha => Gates::all_of(version),
        }
    }

    /// The same with what scenarios ask for besides.
    #[must_use]
    pub fn gates_with(self, version: Version, asks: &Asks) -> Gates {
        asks.of_allocation().fold(self.gates(version), Gates::with)
    }

    /// What the programs of a cluster are told for it, and for what its scenarios ask besides.
    #[must_use]
    pub fn features(self, version: Version, asks: &Asks) -> cluster::Features {
        let gates = self.gates_with(version, asks);
        let named: Vec<(String, bool)> = match self {
            GateSet::Ga => [("AllAlpha", false), ("AllBeta", false)]
                .map(|(name, on)| (name.to_owned(), on))
                .to_vec(),
            GateSet::Default | GateSet::Alpha => gates
                .iter()
                .filter(|gate| !gate.stage(version).on_by_default())
                .map(|gate| (gate.name().to_owned(), true))
                .collect(),
        };
        // What is not stable yet is served only where somebody asks for it.
        let rules = gates
            .taint_rules_api()
            .filter(|api| *api != "resource.k8s.io/v1");
        let mut features = cluster::Features {
            gates: named.into_iter().collect(),
            apis: rules.into_iter().map(str::to_owned).collect(),
            dynamic_mig: gates.has(Gate::PartitionableDevices),
        };
        asks.tell(version, &mut features);
        features
    }
}

impl FromStr for GateSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|set| set.name() == text)
            .ok_or_else(|| format!("there is no set of feature gates {text:?}"))
    }
}

impl fmt::Display for GateSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The gate of this name.
pub(crate) fn named(name: &str) -> Option<Gate> {
    Gate::ALL.iter().copied().find(|gate| gate.name() == name)
}

/// Whether this can be needed: a feature gate's name, or `kubernetes-` and a minor.
pub(crate) fn can_be_needed(name: &str) -> bool {
    Need::named(name).is_some()
}

/// Why a scenario with these tags cannot run where these gates are on; `None` where it can. The lint knows every name.
#[must_use]
pub(crate) fn missing(tags: &[String], gates: &Gates) -> Option<String> {
    let needed = tags
        .iter()
        .filter_map(|tag| Need::named(tag.strip_prefix(NEEDS)?));
    let reasons: Vec<String> = needed.filter_map(|need| need.missing(gates)).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_need_a_gate_and_the_reason_is_said() {
        let tags = [
            "@smoke".to_owned(),
            "@needs:DRAPartitionableDevices".to_owned(),
        ];
        let why = |version, set: GateSet| missing(&tags, &set.gates(version));
        assert_eq!(why(Version::V1_37, GateSet::Default), None);
        assert_eq!(why(Version::V1_34, GateSet::Alpha), None);
        assert_eq!(
            why(Version::V1_35, GateSet::Default).as_deref(),
            Some("needs DRAPartitionableDevices, which is alpha and off in this Kubernetes 1.35")
        );
        assert_eq!(
            why(Version::V1_37, GateSet::Ga).as_deref(),
            Some("needs DRAPartitionableDevices, which is beta and off in this Kubernetes 1.37")
        );
    }

    #[test]
    fn a_scenario_can_need_a_kubernetes() {
        let tags = ["@needs:kubernetes-1.36".to_owned()];
        let why = |version| missing(&tags, &Gates::all_of(version));
        assert_eq!(
            why(Version::V1_35).as_deref(),
            Some("needs Kubernetes 1.36, and this is 1.35")
        );
        assert_eq!((why(Version::V1_36), why(Version::V1_37)), (None, None));
        let tags = ["@needs:kubernetes-until-1.35".to_owned()];
        let why = |version| missing(&tags, &Gates::all_of(version));
        assert!(why(Version::V1_36).is_some_and(|why| why.contains("1.35 or older")));
        assert_eq!((why(Version::V1_35), why(Version::V1_34)), (None, None));
        assert!(!can_be_needed("kubernetes-1.12") && !can_be_needed("1.36"));
    }

    #[test]
    fn programs_are_told_what_differs_from_their_defaults() {
        let nothing = Asks::default();
        for version in Version::ALL {
            assert!(
                GateSet::Default
                    .features(version, &nothing)
                    .gates
                    .is_empty()
            );
            let alpha = GateSet::Alpha.features(version, &nothing);
            assert!(
                alpha.dynamic_mig && alpha.gates.values().all(|on| *on),
                "{version}"
            );
            let ga = GateSet::Ga.features(version, &nothing);
            assert!(
                !ga.dynamic_mig && !ga.gates["AllBeta"] && ga.apis.is_empty(),
                "{version}"
            );
        }
        let partitions = "DRAPartitionableDevices";
        assert!(
            GateSet::Alpha
                .features(Version::V1_35, &nothing)
                .gates
                .contains_key(partitions)
        );
        assert!(
            !GateSet::Alpha
                .features(Version::V1_36, &nothing)
                .gates
                .contains_key(partitions)
        );
        let apis = |version| {
            GateSet::Alpha
                .features(version, &nothing)
                .apis
                .into_iter()
                .next()
        };
        assert_eq!(
            apis(Version::V1_36).as_deref(),
            Some("resource.k8s.io/v1beta2")
        );
        assert_eq!(apis(Version::V1_37), None);
    }
}
