//! From a change of an object to facts. Pure: one change in, the facts that it alone tells out.
//! Not here: how changes are got (`meter`), and what facts mean together (`buckets`).
//! Times are seconds of the meter's clock; what happened while the meter did not watch takes the object's own times, which the
//! API server wrote, and says so.

mod read;
mod when;

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::resource::v1::{DeviceTaintRule, ResourceClaim, ResourceSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::fact::{Fact, Uid, What, Why};
use crate::time::Seconds;

/// By how many seconds the clocks of the meter and of the API server may differ before it becomes a fact.
pub const SKEW: i64 = 5;

/// An object of a kind that the meter watches.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is the kind that it is named after")]
#[expect(clippy::large_enum_variant, reason = "one at a time, and soon facts")]
pub enum Object {
    Claim(ResourceClaim),
    Slice(ResourceSlice),
    Rule(DeviceTaintRule),
    Pod(Pod),
    Node(Node),
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// It is as it stands here.
    Modified,
    /// It is gone; as it stands here it was last.
    Deleted,
}

/// How the meter learned of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// When it happened.
    Watched,
    /// Later: nobody watched since then.
    Late {
        /// When the meter last watched.
        since: Seconds,
    },
    /// Not at all: it was there when the meter last watched, and is not in a list of now.
    Vanished {
        /// When the meter last watched.
        since: Seconds,
        /// The list's resourceVersion.
        listed: u64,
    },
    /// When it saw the cluster for the first time.
    FirstSight,
}

/// A change of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectChange {
    /// The object.
    pub object: Object,
    /// What happened.
    pub change: Change,
    /// When the meter learned of it.
    pub received: Seconds,
    /// How.
    pub how: How,
}

impl Object {
    /// Its metadata.
    #[must_use]
    pub const fn metadata(&self) -> &ObjectMeta {
        match self {
            Self::Claim(it) => &it.metadata,
            Self::Slice(it) => &it.metadata,
            Self::Rule(it) => &it.metadata,
            Self::Pod(it) => &it.metadata,
            Self::Node(it) => &it.metadata,
        }
    }

    const fn kind(&self) -> &'static str {
        match self {
            Self::Claim(_) => "ResourceClaim",
            Self::Slice(_) => "ResourceSlice",
            Self::Rule(_) => "DeviceTaintRule",
            Self::Pod(_) => "Pod",
            Self::Node(_) => "Node",
        }
    }
}

/// The facts that a change tells. What cannot be read becomes a fact too: nothing is passed over in silence.
#[must_use]
pub fn observe(change: &ObjectChange) -> Vec<Fact> {
    let metadata = change.object.metadata();
    let identity = match identity(change) {
        Ok(identity) => identity,
        Err(mistake) => {
            let uid = metadata.uid.as_deref().unwrap_or("no-uid");
            return vec![Fact {
                uid: uid.into(),
                version: 0,
                at: change.received,
                estimated: None,
                what: What::Unreadable { mistake },
            }];
        }
    };
    let what = if gone(change) {
        Ok(read::gone(&change.object))
    } else {
        read::there(&change.object)
    };
    let Some(what) = what.transpose() else {
        return Vec::new();
    };
    let what = what.unwrap_or_else(|mistake| What::Unreadable {
        mistake: format!("{}: {mistake}", named(&change.object)),
    });
    let (uid, version) = identity;
    let (at, estimated) = when::when(change, &what);
    let mut facts = Vec::new();
    if let Some(seconds) = when::skew(change) {
        facts.push(Fact {
            uid: uid.clone(),
            version,
            at: change.received,
            estimated: None,
            what: What::Skew { seconds },
        });
    }
    facts.push(Fact {
        uid,
        version,
        at,
        estimated,
        what,
    });
    facts
}

fn gone(change: &ObjectChange) -> bool {
    change.change == Change::Deleted || matches!(change.how, How::Vanished { .. })
}

fn named(object: &Object) -> String {
    let metadata = object.metadata();
    let name = metadata.name.as_deref().unwrap_or("without name");
    match &metadata.namespace {
        Some(namespace) => format!("{} {namespace}/{name}", object.kind()),
        None => format!("{} {name}", object.kind()),
    }
}

fn identity(change: &ObjectChange) -> Result<(Uid, u64), String> {
    let metadata = change.object.metadata();
    let wrong = |field: &str, why: &str| {
        format!(
            "{}: metadata.{field} {why}, so the meter cannot tell what it has seen before; it needs objects as an API server sends them",
            named(&change.object)
        )
    };
    let uid = metadata.uid.as_deref().filter(|uid| !uid.is_empty());
    let uid = uid.ok_or_else(|| wrong("uid", "is missing"))?;
    let version = match change.how {
        How::Vanished { listed, .. } => listed,
        _ => metadata
            .resource_version
            .as_deref()
            .and_then(|version| version.parse().ok())
            .ok_or_else(|| wrong("resourceVersion", "is no number"))?,
    };
    Ok((uid.into(), version))
}

/// Whether a change says that an object is gone that was only supposed to be.
#[must_use]
pub fn is_estimate(fact: &Fact) -> bool {
    fact.estimated == Some(Why::Vanished)
}
