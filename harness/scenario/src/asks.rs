//! What a scenario asks of its cluster beyond what the run gives it: `@gates:GenericWorkload`. Scenarios that ask for the same share
//! a cluster. Not here: the sets of gates of whole runs, and what a scenario only needs (`gates`).

use std::collections::BTreeSet;
use std::fmt;

use oracle::{Gate, Stage, Version};

use crate::gang::scheduler;
use crate::gates::{self, GateSet};

/// Tags that begin so name a scheduler that places the gangs of the scenario.
pub(crate) const SCHEDULER: &str = "@scheduler:";

/// Tags that begin so name a gate that the scenario's cluster has on besides.
pub(crate) const GATES: &str = "@gates:";

/// A gate that does not decide how devices are allocated, and that scenarios may ask for nevertheless.
/// From `pkg/features/kube_features.go` and the API registrations of each minor; on by default in none of them.
struct Other {
    name: &'static str,
    since: Version,
    /// Gates without which it does nothing.
    with: fn(Version) -> &'static [&'static str],
    /// API version that carries its objects.
    api: fn(Version) -> &'static str,
}

/// 1.37 made one gate of the three that gang scheduling had before.
fn gang_gates(version: Version) -> &'static [&'static str] {
    match version {
        Version::V1_34 | Version::V1_37 => &["GenericWorkload"],
        Version::V1_35 => &["GenericWorkload", "GangScheduling"],
        Version::V1_36 => &[
            "GenericWorkload",
            "GangScheduling",
            "WorkloadAwarePreemption",
        ],
    }
}

fn gang_api(version: Version) -> &'static str {
    match version {
        Version::V1_34 | Version::V1_35 => "scheduling.k8s.io/v1alpha1",
        Version::V1_36 => "scheduling.k8s.io/v1alpha2",
        Version::V1_37 => "scheduling.k8s.io/v1beta1",
    }
}

const OTHERS: [Other; 2] = [
    Other {
        name: "GenericWorkload",
        since: Version::V1_35,
        with: gang_gates,
        api: gang_api,
    },
    Other {
        name: "DRAWorkloadResourceClaims",
        since: Version::V1_36,
        with: gang_gates,
        api: gang_api,
    },
];

/// What scenarios ask of a cluster. Those that ask for the same can share one.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Asks {
    gates: BTreeSet<String>,
    /// Steps start them; a cluster with them is a cluster as any other.
    schedulers: BTreeSet<String>,
}

impl Asks {
    /// What these tags ask for. The lint knows every name.
    #[must_use]
    pub fn of(tags: &[String]) -> Self {
        let after = |prefix| {
            let names = tags.iter().filter_map(move |tag| tag.strip_prefix(prefix));
            names.map(str::to_owned).collect()
        };
        Self {
            gates: after(GATES),
            schedulers: after(SCHEDULER),
        }
    }

    /// Components that its scenarios start beyond those that every cluster has.
    pub fn components(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.schedulers
            .iter()
            .filter_map(|name| scheduler::component(name))
    }

    /// Nothing: any cluster of the run will do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }

    /// Whether a cluster of a run that is right for these is right for those, too.
    #[must_use]
    pub fn share(&self, other: &Self, set: GateSet, version: Version) -> bool {
        set.features(version, self) == set.features(version, other)
    }

    /// Why a run with this set of gates on this Kubernetes cannot give it; `None` where it can.
    #[must_use]
    pub fn missing(&self, set: GateSet, version: Version) -> Option<String> {
        if set == GateSet::Ga && !self.is_empty() {
            return Some(format!(
                "asks for {self}, and this run has only what is generally available"
            ));
        }
        let no_scheduler = self.schedulers.iter().find_map(|name| {
            let why = scheduler::absent(name)?;
            Some(format!("asks for the scheduler {name}: {why}"))
        });
        if no_scheduler.is_some() {
            return no_scheduler;
        }
        let absent = |name: &&String| match (other(name), gates::named(name)) {
            (Some(other), _) => version < other.since,
            (None, Some(gate)) => gate.stage(version) == Stage::Absent,
            (None, None) => true,
        };
        let absent: Vec<&str> = self
            .gates
            .iter()
            .filter(absent)
            .map(String::as_str)
            .collect();
        (!absent.is_empty()).then(|| {
            format!(
                "asks for {}, which does not exist in this Kubernetes {version}",
                absent.join(" and ")
            )
        })
    }

    /// The gates of device allocation among what is asked for.
    pub(crate) fn of_allocation(&self) -> impl Iterator<Item = Gate> + '_ {
        self.gates.iter().filter_map(|name| gates::named(name))
    }

    /// Tells the programs of a cluster, besides what they are told already.
    pub(crate) fn tell(&self, version: Version, features: &mut cluster::Features) {
        for other in self.gates.iter().filter_map(|name| other(name)) {
            let names = (other.with)(version).iter().chain([&other.name]);
            features
                .gates
                .extend(names.map(|name| ((*name).to_owned(), true)));
            features.apis.insert((other.api)(version).to_owned());
        }
    }
}

impl fmt::Display for Asks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gates: Vec<&str> = self.gates.iter().map(String::as_str).collect();
        f.write_str(&gates.join(" and "))
    }
}

fn other(name: &str) -> Option<&'static Other> {
    OTHERS.iter().find(|other| other.name == name)
}

/// Every gate that can be asked for.
pub(crate) fn known() -> impl Iterator<Item = &'static str> {
    let others = OTHERS.iter().map(|other| other.name);
    others.chain(Gate::ALL.iter().map(|gate| gate.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(names: &[&str]) -> Asks {
        let tags: Vec<String> = names.iter().map(|name| format!("{GATES}{name}")).collect();
        Asks::of(&tags)
    }

    #[test]
    fn a_gang_brings_its_gates_and_its_api_in_every_minor() {
        let told = |version| GateSet::Default.features(version, &asks(&["GenericWorkload"]));
        let gates = |version| -> Vec<String> { told(version).gates.into_keys().collect() };
        assert_eq!(gates(Version::V1_37), ["GenericWorkload"]);
        assert_eq!(
            gates(Version::V1_35),
            ["GangScheduling", "GenericWorkload"],
            "the gate of the gang needs that of the API"
        );
        assert!(gates(Version::V1_36).contains(&"WorkloadAwarePreemption".to_owned()));
        for (version, api) in [
            (Version::V1_35, "v1alpha1"),
            (Version::V1_36, "v1alpha2"),
            (Version::V1_37, "v1beta1"),
        ] {
            assert!(
                told(version)
                    .apis
                    .contains(&format!("scheduling.k8s.io/{api}"))
            );
        }
        let claims =
            GateSet::Default.features(Version::V1_36, &asks(&["DRAWorkloadResourceClaims"]));
        assert!(claims.gates.len() > gates(Version::V1_36).len());
    }

    #[test]
    fn who_asks_for_nothing_changes_nothing() {
        let none = asks(&[]);
        assert!(none.is_empty());
        for (set, version) in GateSet::ALL
            .iter()
            .flat_map(|set| Version::ALL.map(|version| (*set, version)))
        {
            assert_eq!(none.missing(set, version), None);
        }
        assert!(
            GateSet::Default
                .features(Version::NEWEST, &none)
                .gates
                .is_empty()
        );
    }

    #[test]
    fn what_cannot_be_had_is_said() {
        let gang = asks(&["GenericWorkload"]);
        let why = |set, version| gang.missing(set, version).unwrap_or_default();
        assert!(
            why(GateSet::Default, Version::V1_34)
                .contains("does not exist in this Kubernetes 1.34")
        );
        assert!(why(GateSet::Ga, Version::V1_37).contains("generally available"));
        assert_eq!(gang.missing(GateSet::Alpha, Version::V1_35), None);
        let kai = Asks::of(&[format!("{SCHEDULER}kai")]);
        let why = kai.missing(GateSet::Default, Version::NEWEST);
        assert!(why.is_some_and(|why| why.contains("the scheduler kai")));
        let derived = asks(&["DRADerivedAttributes"]);
        assert!(derived.missing(GateSet::Default, Version::V1_36).is_some());
        let told = GateSet::Default.features(Version::V1_37, &derived);
        assert_eq!(told.gates.get("DRADerivedAttributes"), Some(&true));
    }
}
