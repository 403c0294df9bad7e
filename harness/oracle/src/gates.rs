//! The DRA feature gates, their stage in each version, and the sets that people run.
//! Stages are from `pkg/features/kube_features.go` and the KEPs' `kep.yaml`.

use std::collections::BTreeSet;
use std::fmt;

use crate::version::Version;

/// Where a gate stands in a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Does not exist: naming it stops a component.
    Absent,
    /// Alpha, off by default.
    Alpha,
    /// Beta, off by default: it needs an API that is not served by default, or the newest compatibility version.
    BetaOff,
    /// Beta, on by default.
    Beta,
    /// Generally available, on by default, may be turned off.
    Stable,
    /// Generally available and locked on.
    Locked,
}

impl Stage {
    /// On in a cluster that sets no gate.
    pub fn on_by_default(self) -> bool {
        matches!(self, Stage::Beta | Stage::Stable | Stage::Locked)
    }
}

macro_rules! gates {
    ($($(#[$doc:meta])* $gate:ident = $name:literal: $v34:ident $v35:ident $v36:ident $v37:ident;)*) => {
        /// A feature gate that decides how devices are allocated.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Gate { $($(#[$doc])* $gate,)* }

        impl Gate {
            /// Every gate the oracle knows.
            pub const ALL: &'static [Gate] = &[$(Gate::$gate),*];

            /// The name that `--feature-gates` takes.
            pub fn name(self) -> &'static str {
                match self { $(Gate::$gate => $name,)* }
            }

            /// Where the gate stands in that version.
            pub fn stage(self, version: Version) -> Stage {
                let stages = match self { $(Gate::$gate => [Stage::$v34, Stage::$v35, Stage::$v36, Stage::$v37],)* };
                stages[version.index()]
            }
        }
    };
}

gates! {
    /// Administrative access beside other users (KEP-5018).
    AdminAccess = "DRAAdminAccess": Beta Beta Locked Locked;
    /// `firstAvailable` (KEP-4816).
    PrioritizedList = "DRAPrioritizedList": Beta Beta Stable Locked;
    /// Shared counters and per-device node selection (KEP-4815).
    PartitionableDevices = "DRAPartitionableDevices": Alpha Alpha Beta Beta;
    /// Taints in slices, tolerations in requests (KEP-5055).
    DeviceTaints = "DRADeviceTaints": Alpha Alpha Beta Stable;
    /// Taints by DeviceTaintRule (KEP-5055); part of `DRADeviceTaints` in 1.34.
    DeviceTaintRules = "DRADeviceTaintRules": Absent Alpha BetaOff Stable;
    /// `allowMultipleAllocations`, `requestPolicy` and share ids (KEP-5075).
    ConsumableCapacity = "DRAConsumableCapacity": Alpha Alpha Beta Beta;
    /// Ranges whose quantities are not whole numbers (KEP-5075). On by default only with `--min-compatibility-version=1.37`.
    FractionalCapacityRange = "DRAFractionalCapacityRange": Absent Absent Absent BetaOff;
    /// Extended resources that become claims (KEP-5004).
    ExtendedResource = "DRAExtendedResource": Alpha Alpha Beta Locked;
    /// Binding waits for conditions of the device (KEP-5007).
    DeviceBindingConditions = "DRADeviceBindingConditions": Alpha Alpha Beta Beta;
    /// `status.devices` of a claim; binding conditions need it (KEP-4817).
    ResourceClaimDeviceStatus = "DRAResourceClaimDeviceStatus": Beta Beta Beta Locked;
    /// Attributes that are lists (KEP-5491).
    ListTypeAttributes = "DRAListTypeAttributes": Absent Absent Alpha Alpha;
    /// Which partitions of a card go together (KEP-5963).
    DeviceCompatibilityGroups = "DRADeviceCompatibilityGroups": Absent Absent Absent Alpha;
    /// Attributes computed by the claim (KEP-6080).
    DerivedAttributes = "DRADerivedAttributes": Absent Absent Absent Alpha;
    /// Devices that need no call on the node (KEP-5945).
    OptionalNodeOperations = "DRAOptionalNodeOperations": Absent Absent Absent Alpha;
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The gates that are on, for one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gates {
    version: Version,
    on: BTreeSet<Gate>,
}

impl Gates {
    /// A cluster that names no gate.
    pub fn default_of(version: Version) -> Self {
        Self::by_stage(version, Stage::on_by_default)
    }

    /// Only what is generally available: every alpha and beta gate off.
    pub fn ga_of(version: Version) -> Self {
        Self::by_stage(version, |stage| {
            matches!(stage, Stage::Stable | Stage::Locked)
        })
    }

    /// Every DRA gate that exists.
    pub fn all_of(version: Version) -> Self {
        Self::by_stage(version, |stage| stage != Stage::Absent)
    }

    /// None of them, not even those that are locked on: what an allocator library can be asked for.
    pub fn none_of(version: Version) -> Self {
        Self::by_stage(version, |_| false)
    }

    fn by_stage(version: Version, on: impl Fn(Stage) -> bool) -> Self {
        let on = Gate::ALL
            .iter()
            .copied()
            .filter(|gate| on(gate.stage(version)))
            .collect();
        Self { version, on }
    }

    /// The version these gates belong to.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Turns a gate on, where it exists.
    #[must_use]
    pub fn with(mut self, gate: Gate) -> Self {
        if gate.stage(self.version) != Stage::Absent {
            self.on.insert(gate);
        }
        self
    }

    /// Turns a gate off.
    #[must_use]
    pub fn without(mut self, gate: Gate) -> Self {
        self.on.remove(&gate);
        self
    }

    /// Whether the gate is on.
    pub fn has(&self, gate: Gate) -> bool {
        self.on.contains(&gate)
    }

    /// Binding conditions need two gates.
    pub fn binding(&self) -> bool {
        self.has(Gate::DeviceBindingConditions) && self.has(Gate::ResourceClaimDeviceStatus)
    }

    /// DeviceTaintRules count: before 1.35 they were part of the taints' gate.
    pub fn taint_rules(&self) -> bool {
        self.has(Gate::DeviceTaints)
            && (self.version < Version::V1_35 || self.has(Gate::DeviceTaintRules))
    }

    /// The API version in which this Kubernetes has DeviceTaintRules; `None` where they do not count. Those that are not
    /// stable are served only where somebody asks for them.
    pub fn taint_rules_api(&self) -> Option<&'static str> {
        self.taint_rules().then_some(match self.version {
            Version::V1_34 | Version::V1_35 => "resource.k8s.io/v1alpha3",
            Version::V1_36 => "resource.k8s.io/v1beta2",
            Version::V1_37 => "resource.k8s.io/v1",
        })
    }

    /// The gates that are on, in the order of [`Gate::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = Gate> + '_ {
        self.on.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_on_by_default_since_1_36_and_never_with_ga_gates_only() {
        let by_default: Vec<bool> = Version::ALL
            .map(|v| Gates::default_of(v).has(Gate::PartitionableDevices))
            .to_vec();
        assert_eq!(by_default, [false, false, true, true]);
        assert!(
            Version::ALL
                .iter()
                .all(|v| !Gates::ga_of(*v).has(Gate::PartitionableDevices))
        );
    }

    #[test]
    fn a_gate_that_does_not_exist_cannot_be_turned_on() {
        assert!(
            !Gates::default_of(Version::V1_36)
                .with(Gate::DerivedAttributes)
                .has(Gate::DerivedAttributes)
        );
        assert!(
            Gates::default_of(Version::V1_37)
                .with(Gate::DerivedAttributes)
                .has(Gate::DerivedAttributes)
        );
    }

    #[test]
    fn rules_belong_to_the_taints_gate_in_1_34() {
        assert!(
            Gates::none_of(Version::V1_34)
                .with(Gate::DeviceTaints)
                .taint_rules()
        );
        assert!(
            !Gates::none_of(Version::V1_35)
                .with(Gate::DeviceTaints)
                .taint_rules()
        );
        assert!(!Gates::default_of(Version::V1_36).taint_rules());
        assert!(Gates::default_of(Version::V1_37).taint_rules());
    }
}
