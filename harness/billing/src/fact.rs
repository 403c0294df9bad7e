//! Facts: what an object of the cluster is since when, as the ledger keeps it. No money, no shares: these depend on a price book.
//! A fact says the whole state of one object at one resourceVersion, so it needs no other fact to be understood, and neither
//! the order in which facts arrive nor how often matters.
//! Facts come from `observe` and go to the ledger; `buckets` reads them back in the order of time.

use crate::text::Text;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::{Seconds, Span};

/// The UID of an object: what tells it from all others, those of the same name included.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Uid(pub Text);

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Uid {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Uid {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

/// One thing that is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Of which object.
    pub uid: Uid,
    /// The resourceVersion from which on it holds.
    pub version: u64,
    /// The second from which on it holds.
    pub at: Seconds,
    /// Set where `at` was not seen but concluded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<Why>,
    /// What holds.
    pub what: What,
}

/// Why a time is an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The object was gone when the meter came back: it counts as gone since the meter last saw it.
    Vanished,
    /// It happened while the meter did not watch: the time is the object's own, or when the meter last watched.
    NotWatched,
    /// It was there when the meter saw the cluster for the first time: the time is the object's own.
    FirstSight,
    /// Somebody corrected it by hand.
    Corrected,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vanished => "vanished while the meter was away",
            Self::NotWatched => "changed while the meter was away",
            Self::FirstSight => "was there before the meter",
            Self::Corrected => "corrected by hand",
        })
    }
}

/// What an object is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "transition", rename_all = "kebab-case")]
pub enum What {
    /// A claim that has no device.
    ClaimWaits(Claim),
    /// A claim that has devices, whether or not somebody uses it: they are kept from others.
    ClaimHolds(Claim),
    /// A claim that is no longer there.
    ClaimGone,
    /// A part of a pool.
    SlicePublished(Slice),
    /// A part of a pool that is no longer there.
    SliceWithdrawn,
    /// A DeviceTaintRule.
    Tainted(Rule),
    /// A DeviceTaintRule that is no longer there.
    TaintLifted,
    /// A pod that uses claims, or once did.
    PodIs(Pod),
    /// A pod that is no longer there.
    PodGone,
    /// A node that is no longer there, and its cards with it.
    NodeGone {
        /// Its name.
        node: Text,
    },
    /// From `at` until then nobody watched.
    Gap {
        /// Its end.
        until: Seconds,
        /// What happened.
        because: String,
    },
    /// The API server's clock and the meter's differ by more than they may.
    Skew {
        /// By how much the object's own time is ahead of the meter's.
        seconds: i64,
    },
    /// An object that the meter cannot read, so that nothing is known of it.
    Unreadable {
        /// Which, and what is wrong.
        mistake: String,
    },
    /// A period was closed: its invoice knows the rows before this one, and no others.
    Sealed {
        /// The period.
        period: Span,
    },
    /// Another fact holds since `at` instead, or never did; that other one stays as it is.
    Corrects {
        /// The number of the row.
        row: u64,
        /// It never held.
        void: bool,
        /// Who says so, and why.
        reason: String,
    },
}

impl What {
    /// Its name, as it stands in the ledger.
    #[must_use]
    pub const fn transition(&self) -> &'static str {
        match self {
            Self::ClaimWaits(_) => "claim-waits",
            Self::ClaimHolds(_) => "claim-holds",
            Self::ClaimGone => "claim-gone",
            Self::SlicePublished(_) => "slice-published",
            Self::SliceWithdrawn => "slice-withdrawn",
            Self::Tainted(_) => "tainted",
            Self::TaintLifted => "taint-lifted",
            Self::PodIs(_) => "pod-is",
            Self::PodGone => "pod-gone",
            Self::NodeGone { .. } => "node-gone",
            Self::Gap { .. } => "gap",
            Self::Skew { .. } => "skew",
            Self::Unreadable { .. } => "unreadable",
            Self::Sealed { .. } => "sealed",
            Self::Corrects { .. } => "corrects",
        }
    }
}

impl Fact {
    /// Facts are read in this order: by time, within a second by the API server's order, then by object and transition.
    #[must_use]
    pub fn order(&self) -> (Seconds, u64, &Uid, &'static str) {
        (self.at, self.version, &self.uid, self.what.transition())
    }
}

/// A ResourceClaim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Its namespace.
    pub namespace: Text,
    /// Its name, which others may have had before.
    pub name: Text,
    /// What it asks for, by `request` or `request/alternative`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<Text, Request>,
    /// What it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Held>,
    /// Who it is reserved for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consumers: Vec<Consumer>,
    /// Made by the scheduler for a pod's extended resources: that pod's requests are this claim, and are counted once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub extended: bool,
    /// Marked as one that may be taken away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spot: bool,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Its DeviceClass.
    pub class: Text,
    /// How many devices; `None`: all that match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
}

/// A device that a claim has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// `request` or `request/subrequest`.
    pub request: Text,
    /// The DRA driver.
    pub driver: Text,
    /// The pool.
    pub pool: Text,
    /// The device.
    pub device: Text,
    /// Administrative access, which takes nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub admin: bool,
    /// The share, of a device that is given to several claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Text>,
    /// What the share takes of the device's capacities.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub consumed: BTreeMap<Text, i64>,
}

/// A user of a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Consumer {
    /// The pod's UID.
    pub uid: Uid,
    /// Its name.
    pub name: Text,
}

/// A ResourceSlice, as far as it says what there is to be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// The DRA driver.
    pub driver: Text,
    /// The pool.
    pub pool: Text,
    /// Which edition of the pool.
    pub generation: i64,
    /// How many slices that edition has.
    pub of: i64,
    /// The node, if it is one node's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Text>,
    /// Counter sets, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sets: BTreeMap<Text, BTreeMap<Text, i64>>,
    /// Devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Device>,
}

/// A device of a slice.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Device {
    /// Its name in the pool.
    pub name: Text,
    /// Text attributes that say what it is: type, profile, uuid, parentUUID, productName.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub says: BTreeMap<Text, Text>,
    /// Its capacities.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capacity: BTreeMap<Text, i64>,
    /// What it draws, by counter set and counter.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub draws: BTreeMap<Text, BTreeMap<Text, i64>>,
    /// It can be given to several claims.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// Taints by which nothing new is put on it, as `key=value:effect`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Text>,
}

/// A DeviceTaintRule that keeps devices from being used; what is not set is any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Text>,
    /// The pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Text>,
    /// The device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Text>,
    /// As `key=value:effect`; `None` where the effect is none, so that the rule only informs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taint: Option<Text>,
}

/// A pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pod {
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Text,
    /// Its phase, as `Running`.
    pub phase: Text,
    /// Why it does not run, as `ImagePullBackOff` or `Evicted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
}
