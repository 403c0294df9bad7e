//! Which of Kubernetes' three implementations of the allocator is at work, and what they promise about order.
//! The scheduler takes the most stable one that supports every gate that is on.

use crate::gates::{Gate, Gates};
use crate::version::Version;

/// An implementation of the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// The oldest code.
    Stable,
    /// What is to become stable next.
    Incubating,
    /// Everything that is alpha.
    Experimental,
}

impl Variant {
    /// All, most stable first.
    pub const ALL: [Variant; 3] = [Variant::Stable, Variant::Incubating, Variant::Experimental];

    /// The name that Kubernetes gives it.
    pub fn as_str(self) -> &'static str {
        match self {
            Variant::Stable => "stable",
            Variant::Incubating => "incubating",
            Variant::Experimental => "experimental",
        }
    }

    /// The gates it can work with in that version.
    pub fn supports(self, version: Version) -> &'static [Gate] {
        use Gate::*;
        const NONE: &[Gate] = &[];
        const FOUR: &[Gate] = &[
            AdminAccess,
            PrioritizedList,
            PartitionableDevices,
            DeviceTaints,
        ];
        const BETA_1_36: &[Gate] = &[
            AdminAccess,
            PrioritizedList,
            PartitionableDevices,
            DeviceTaints,
            DeviceBindingConditions,
            ConsumableCapacity,
        ];
        const BETA_1_37: &[Gate] = &[
            AdminAccess,
            PrioritizedList,
            PartitionableDevices,
            DeviceTaints,
            DeviceBindingConditions,
            ConsumableCapacity,
            FractionalCapacityRange,
        ];
        match (self, version) {
            (Variant::Stable, Version::V1_34 | Version::V1_35) => NONE,
            (Variant::Stable, _) | (Variant::Incubating, Version::V1_34 | Version::V1_35) => FOUR,
            (Variant::Incubating, Version::V1_36) => BETA_1_36,
            (Variant::Incubating, Version::V1_37) => BETA_1_37,
            (Variant::Experimental, _) => Gate::ALL,
        }
    }

    /// The one that a scheduler with these gates takes.
    pub fn chosen(gates: &Gates) -> Variant {
        let wanted: Vec<Gate> = gates
            .iter()
            .filter(|gate| concerns_allocator(*gate, gates))
            .collect();
        Variant::ALL
            .into_iter()
            .find(|variant| {
                wanted
                    .iter()
                    .all(|gate| variant.supports(gates.version()).contains(gate))
            })
            .unwrap_or(Variant::Experimental)
    }

    /// Whether the order of pools is specified: by driver and pool name. Elsewhere any order may come out.
    pub fn sorts_pools(self, version: Version) -> bool {
        version >= Version::V1_36 && self != Variant::Stable
    }
}

/// Gates that the allocator is told of; the others work before or after it.
fn concerns_allocator(gate: Gate, gates: &Gates) -> bool {
    match gate {
        Gate::DeviceTaintRules | Gate::ExtendedResource => false,
        // In 1.34 each of the two is told; later they count only together. A scheduler of 1.34 tells the
        // status gate always, which is on by default, yet its default allocator is the incubating one.
        Gate::ResourceClaimDeviceStatus => false,
        Gate::DeviceBindingConditions => gates.binding(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_take_incubating_everywhere_and_alpha_takes_experimental() {
        for version in Version::ALL {
            assert_eq!(
                Variant::chosen(&Gates::default_of(version)),
                Variant::Incubating,
                "{version}"
            );
            assert_eq!(
                Variant::chosen(&Gates::all_of(version)),
                Variant::Experimental,
                "{version}"
            );
            assert_eq!(
                Variant::chosen(&Gates::none_of(version)),
                Variant::Stable,
                "{version}"
            );
        }
    }

    #[test]
    fn without_the_two_beta_gates_1_37_takes_stable() {
        let gates = Gates::default_of(Version::V1_37)
            .without(Gate::ConsumableCapacity)
            .without(Gate::FractionalCapacityRange)
            .without(Gate::DeviceBindingConditions);
        assert_eq!(Variant::chosen(&gates), Variant::Stable);
    }
}
