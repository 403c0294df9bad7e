//! Where Kubernetes' allocator does not do what its documents say. The oracle says what is right; with quirks it says what
//! a version does. Each was found by the differential test and is checked by it: with the quirk both sides agree exactly.

use crate::gates::Gate;
use crate::variant::Variant;
use crate::version::Version;

/// A deviation of the real allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quirk {
    /// A request for all devices meets a pool of the node that is incomplete or invalid: a matter of one node, yet the
    /// error ends the attempt on all nodes (kubernetes/kubernetes#141898, mended after 1.37.2).
    AllFromFlawedPoolEndsTheAttempt,
    /// A request for all devices meets one that breaks a constraint: an error that ends the attempt, though another
    /// alternative of `firstAvailable`, another choice for an earlier request, or another node may serve.
    AllThatBreaksAConstraintEndsTheAttempt,
    /// While a counter is overcommitted, which happens when a driver takes back capacity that is in use, no device that
    /// consumes counters is allocated from that pool, on whichever counter set.
    OvercommitBlocksThePool,
    /// When the slices of an older generation that reach a node are as many as they say, a newer generation that has
    /// nothing for that node is not noticed, and devices are taken from the older one.
    OldGenerationServesWhereTheNewIsElsewhere,
    /// A device that one claim of a pod gets by administrative access, which holds nothing, is not given to a later claim
    /// of the same pod. To an earlier one it is.
    AdministratorsBlockLaterClaimsOfThePod,
    /// Counter slices concern every node, whichever they are for: a request for all devices fails on one node because the
    /// pool of another is not whole (1.35 and 1.36, in 1.37 `stable`).
    CounterSlicesConcernEveryNode,
    /// Selectors are asked of devices of other nodes too, where each device of a pool says which nodes reach it: an error
    /// of a selector on such a device ends the attempt.
    SelectorsAreAskedOfDevicesElsewhere,
    /// A configuration of the claim that names several requests is in the result once for each of them (before 1.37,
    /// kubernetes/kubernetes#139731).
    ClaimConfigIsRepeated,
    /// `distinctAttribute` remembers one device of each request, and forgets it when any device of the request is given
    /// back in the search: two devices with one value are allocated (before 1.37).
    DistinctForgetsDevices,
    /// `matchAttribute` on lists does not put back what a device took from the values in common when that device is given
    /// back in the search: an allocation that exists is missed (1.36, `experimental`).
    MatchedListsStaySmall,
    /// A request for all devices passes over a shared device of which others have left too little, where it should fail
    /// (before 1.37).
    AllPassesOverFullShares,
    /// A request for all devices that meets a partition ends in a nil pointer: the process panics (1.35).
    AllOverPartitionsPanics,
    /// A device that is refused for a taint, a constraint or its capacity keeps the counters that it was charged for the
    /// rest of the attempt; one refused for its capacity counts as taken; a share that is given back keeps its counters
    /// (before 1.36).
    RefusedDevicesStayCharged,
    /// Every share of a device charges its counters (1.34).
    EveryShareChargesCounters,
    /// A request tries its devices in every order, and a shared device again and again (before 1.36,
    /// kubernetes/kubernetes#133678).
    RequestsTryEveryOrder,
    /// A later alternative of `firstAvailable` that asks for all devices gets one, and goes on as if it were the first
    /// alternative (before 1.36, kubernetes/kubernetes#137347).
    AllInALaterAlternativeGoesOnAsTheFirst,
    /// While all devices are collected, those of a later alternative of `firstAvailable` are what was said for the alternative
    /// before it, where that asked for all devices too: its own selectors are not asked of them (before 1.36).
    AlternativesShareAnswers,
    /// Devices of which only shares are in use charge no counters (before 1.36).
    SharesInUseChargeNoCounters,
    /// A pool is what reaches the node: slices of other nodes do not count, so that a pool of several nodes is never whole,
    /// and their generations are not noticed (1.34, kubernetes/kubernetes#134466).
    PoolsAreWholePerNode,
    /// Tolerations are not copied to the result, so that the eviction of pods does not know them (1.34,
    /// kubernetes/kubernetes#134434).
    TolerationsAreNotCopied,
    /// An invalid pool of the node ends the attempt on all nodes as soon as the search comes to it (1.34).
    AnInvalidPoolEndsTheAttempt,
    /// The capacity is asked of another device of the slice besides: for a request's second device of the slice's second.
    /// Where the slice has none the process panics. A request for all devices asks only that other one whether enough is
    /// left (1.34, kubernetes/kubernetes#133705).
    CapacityOfAnotherDevice,
    /// `distinctAttribute` compares where values are kept, not the values: it keeps shares of one device apart, and never
    /// two devices (1.34).
    DistinctComparesPlaces,
    /// Requests for all devices find more on the node than a claim can hold: a matter of one node, yet it ends the
    /// attempt on all nodes.
    AllOverTheLimitEndsTheAttempt,
    /// Where devices in use on a counter set have compatibility groups that do not go together, which happens when a driver
    /// changes them, only the first of them counts (1.37).
    MixedGroupsAreIgnored,
    /// A device of which shares are in use, and which its driver no longer lets share, is given whole if its capacity
    /// leaves room for that.
    WholeBesideShares,
    /// Of two classes with one extended resource the one that loses it is not known by its implicit name either, if it came
    /// after the other (since 1.35, kubernetes/kubernetes#141103).
    AClassThatLosesItsNameLosesBoth,
}

impl Quirk {
    /// All of them.
    pub const ALL: &'static [Quirk] = &[
        Quirk::AllFromFlawedPoolEndsTheAttempt,
        Quirk::AllThatBreaksAConstraintEndsTheAttempt,
        Quirk::OvercommitBlocksThePool,
        Quirk::OldGenerationServesWhereTheNewIsElsewhere,
        Quirk::AdministratorsBlockLaterClaimsOfThePod,
        Quirk::CounterSlicesConcernEveryNode,
        Quirk::SelectorsAreAskedOfDevicesElsewhere,
        Quirk::ClaimConfigIsRepeated,
        Quirk::DistinctForgetsDevices,
        Quirk::MatchedListsStaySmall,
        Quirk::AllPassesOverFullShares,
        Quirk::AllOverPartitionsPanics,
        Quirk::RefusedDevicesStayCharged,
        Quirk::EveryShareChargesCounters,
        Quirk::RequestsTryEveryOrder,
        Quirk::AllInALaterAlternativeGoesOnAsTheFirst,
        Quirk::AlternativesShareAnswers,
        Quirk::SharesInUseChargeNoCounters,
        Quirk::PoolsAreWholePerNode,
        Quirk::TolerationsAreNotCopied,
        Quirk::AnInvalidPoolEndsTheAttempt,
        Quirk::CapacityOfAnotherDevice,
        Quirk::DistinctComparesPlaces,
        Quirk::AllOverTheLimitEndsTheAttempt,
        Quirk::MixedGroupsAreIgnored,
        Quirk::WholeBesideShares,
        Quirk::AClassThatLosesItsNameLosesBoth,
    ];

    /// Whether that allocator of that version has it.
    pub fn is_of(self, version: Version, variant: Variant) -> bool {
        match self {
            Quirk::CounterSlicesConcernEveryNode => match version {
                Version::V1_34 => false,
                Version::V1_35 | Version::V1_36 => true,
                Version::V1_37 => variant == Variant::Stable,
            },
            Quirk::AllPassesOverFullShares | Quirk::ClaimConfigIsRepeated => {
                version < Version::V1_37
            }
            Quirk::DistinctForgetsDevices => {
                version < Version::V1_37
                    && variant
                        .supports(version)
                        .contains(&Gate::ConsumableCapacity)
            }
            Quirk::MatchedListsStaySmall => {
                version == Version::V1_36 && variant == Variant::Experimental
            }
            Quirk::AllOverPartitionsPanics => version == Version::V1_35,
            Quirk::RefusedDevicesStayCharged
            | Quirk::RequestsTryEveryOrder
            | Quirk::AllInALaterAlternativeGoesOnAsTheFirst
            | Quirk::AlternativesShareAnswers
            | Quirk::SharesInUseChargeNoCounters => version < Version::V1_36,
            Quirk::EveryShareChargesCounters
            | Quirk::PoolsAreWholePerNode
            | Quirk::TolerationsAreNotCopied
            | Quirk::AnInvalidPoolEndsTheAttempt
            | Quirk::CapacityOfAnotherDevice
            | Quirk::DistinctComparesPlaces => version == Version::V1_34,
            Quirk::AClassThatLosesItsNameLosesBoth => version >= Version::V1_35,
            _ => true,
        }
    }

    /// The name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Quirk::AllFromFlawedPoolEndsTheAttempt => "all-from-a-flawed-pool-ends-the-attempt",
            Quirk::AllThatBreaksAConstraintEndsTheAttempt => {
                "all-that-breaks-a-constraint-ends-the-attempt"
            }
            Quirk::OvercommitBlocksThePool => "an-overcommitted-counter-blocks-its-pool",
            Quirk::AdministratorsBlockLaterClaimsOfThePod => {
                "administrators-block-later-claims-of-the-pod"
            }
            Quirk::CounterSlicesConcernEveryNode => "counter-slices-concern-every-node",
            Quirk::SelectorsAreAskedOfDevicesElsewhere => {
                "selectors-are-asked-of-devices-elsewhere"
            }
            Quirk::ClaimConfigIsRepeated => "a-claim-config-is-repeated",
            Quirk::DistinctForgetsDevices => "distinct-attributes-forget-devices",
            Quirk::MatchedListsStaySmall => "matched-lists-stay-small",
            Quirk::AllPassesOverFullShares => "all-passes-over-full-shares",
            Quirk::AllOverPartitionsPanics => "all-over-partitions-panics",
            Quirk::RefusedDevicesStayCharged => "refused-devices-stay-charged",
            Quirk::EveryShareChargesCounters => "every-share-charges-counters",
            Quirk::RequestsTryEveryOrder => "requests-try-every-order",
            Quirk::AllInALaterAlternativeGoesOnAsTheFirst => {
                "all-in-a-later-alternative-goes-on-as-the-first"
            }
            Quirk::AlternativesShareAnswers => "alternatives-share-answers",
            Quirk::SharesInUseChargeNoCounters => "shares-in-use-charge-no-counters",
            Quirk::PoolsAreWholePerNode => "pools-are-whole-per-node",
            Quirk::TolerationsAreNotCopied => "tolerations-are-not-copied",
            Quirk::AnInvalidPoolEndsTheAttempt => "an-invalid-pool-ends-the-attempt",
            Quirk::CapacityOfAnotherDevice => "capacity-is-asked-of-another-device",
            Quirk::DistinctComparesPlaces => "distinct-compares-places",
            Quirk::WholeBesideShares => "whole-beside-shares",
            Quirk::AClassThatLosesItsNameLosesBoth => "a-class-that-loses-its-name-loses-both",
            Quirk::MixedGroupsAreIgnored => "mixed-groups-are-ignored",
            Quirk::AllOverTheLimitEndsTheAttempt => "all-over-the-limit-ends-the-attempt",
            Quirk::OldGenerationServesWhereTheNewIsElsewhere => {
                "an-old-generation-serves-where-the-new-is-elsewhere"
            }
        }
    }
}

/// A set of quirks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quirks(std::collections::BTreeSet<Quirk>);

impl Quirks {
    /// None: what is right.
    pub fn none() -> Self {
        Self::default()
    }

    /// What an allocator of a version does.
    pub fn of(version: Version, variant: Variant) -> Self {
        Self::from_iter(
            Quirk::ALL
                .iter()
                .copied()
                .filter(|quirk| quirk.is_of(version, variant)),
        )
    }

    /// Whether the quirk is in the set.
    pub fn has(&self, quirk: Quirk) -> bool {
        self.0.contains(&quirk)
    }
}

impl FromIterator<Quirk> for Quirks {
    fn from_iter<I: IntoIterator<Item = Quirk>>(quirks: I) -> Self {
        Quirks(quirks.into_iter().collect())
    }
}
