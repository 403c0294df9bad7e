//! Where the API server's quota does not do what its page says, and what differs from version to version.

use std::collections::BTreeSet;

use crate::gates::{Gate, Gates};
use crate::version::Version;

/// A deviation of the real quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Deviation {
    /// Of several classes that name one extended resource only one counts towards it in a claim, and which is chance: the
    /// next sum may have another (1.35 and newer).
    ClassesOfOneResourceAreNotSummed,
    /// The implicit resource of a class that is not there counts claims only in a quota that has another key about claims:
    /// alone it counts none (1.35 and newer).
    AnAbsentClassCountsInCompanyOnly,
    /// A limit of more than 9223372036854775, which is a whole number, is refused as one that is not, unless a product that
    /// overflows happens to end in three zeros (every version).
    LargeIntegersAreRefused,
    /// Limits on extended resources may be fractions, though devices are whole: 1500m admits one (every version).
    FractionsOfResourcesAreTaken,
    /// Any claim that says it was made for a pod's extended resources, and is owned by that pod, is charged less by what the
    /// pod has paid: with several such claims the pod's payment counts for each (1.35, kubernetes/kubernetes#135404).
    EveryOwnedClaimIsPaidByThePod,
}

impl Deviation {
    /// All of them.
    pub const ALL: &'static [Deviation] = &[
        Deviation::ClassesOfOneResourceAreNotSummed,
        Deviation::AnAbsentClassCountsInCompanyOnly,
        Deviation::LargeIntegersAreRefused,
        Deviation::FractionsOfResourcesAreTaken,
        Deviation::EveryOwnedClaimIsPaidByThePod,
    ];

    /// Whether that version has it.
    pub fn is_of(self, version: Version) -> bool {
        match self {
            Deviation::ClassesOfOneResourceAreNotSummed
            | Deviation::AnAbsentClassCountsInCompanyOnly => version >= Version::V1_35,
            Deviation::EveryOwnedClaimIsPaidByThePod => version == Version::V1_35,
            Deviation::LargeIntegersAreRefused | Deviation::FractionsOfResourcesAreTaken => true,
        }
    }

    /// The name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Deviation::ClassesOfOneResourceAreNotSummed => "classes-of-one-resource-are-not-summed",
            Deviation::AnAbsentClassCountsInCompanyOnly => "an-absent-class-counts-in-company-only",
            Deviation::LargeIntegersAreRefused => "large-integers-are-refused",
            Deviation::FractionsOfResourcesAreTaken => "fractions-of-resources-are-taken",
            Deviation::EveryOwnedClaimIsPaidByThePod => "every-owned-claim-is-paid-by-the-pod",
        }
    }
}

/// How a version with its gates counts.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Claims are charged to extended resources too. Before 1.35 only pods were.
    pub(crate) extended: bool,
    /// Pods are charged for implicit extended resources (1.35).
    pub(crate) implicit_pods: bool,
    deviations: BTreeSet<Deviation>,
}

impl Rules {
    /// What a cluster with these gates does.
    pub fn of(gates: &Gates) -> Self {
        let version = gates.version();
        let deviations = Deviation::ALL.iter().copied();
        Rules {
            deviations: deviations.filter(|it| it.is_of(version)).collect(),
            ..Self::documented(gates)
        }
    }

    /// What the documents say that it does.
    pub fn documented(gates: &Gates) -> Self {
        let since = gates.version() >= Version::V1_35;
        Rules {
            extended: since && gates.has(Gate::ExtendedResource),
            implicit_pods: since,
            deviations: BTreeSet::new(),
        }
    }

    /// Whether it deviates in this.
    pub fn has(&self, deviation: Deviation) -> bool {
        self.deviations.contains(&deviation)
    }
}
