//! What a meter watches.

use std::fmt;

use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;

use crate::observe::Object;

/// A kind of object, in the order in which a meter sees them for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is the kind that it is named after")]
pub enum Kind {
    ResourceClaim,
    ResourceSlice,
    DeviceTaintRule,
    Pod,
    Node,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 5] = [
        Self::ResourceClaim,
        Self::ResourceSlice,
        Self::DeviceTaintRule,
        Self::Pod,
        Self::Node,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ResourceClaim => "ResourceClaim",
            Self::ResourceSlice => "ResourceSlice",
            Self::DeviceTaintRule => "DeviceTaintRule",
            Self::Pod => "Pod",
            Self::Node => "Node",
        }
    }

    /// Its group and its resource's name, as roles say them.
    #[must_use]
    pub const fn resource(self) -> (&'static str, &'static str) {
        match self {
            Self::ResourceClaim => ("resource.k8s.io", "resourceclaims"),
            Self::ResourceSlice => ("resource.k8s.io", "resourceslices"),
            Self::DeviceTaintRule => ("resource.k8s.io", "devicetaintrules"),
            Self::Pod => ("", "pods"),
            Self::Node => ("", "nodes"),
        }
    }

    /// The versions in which it may be served, the newest first: what is asked of it is the same in all.
    pub(super) const fn versions(self) -> &'static [&'static str] {
        match self {
            Self::DeviceTaintRule => &["v1", "v1beta2", "v1alpha3"],
            _ => &["v1"],
        }
    }

    /// Whether a cluster without it is a sound one.
    pub(super) const fn is_optional(self) -> bool {
        matches!(self, Self::DeviceTaintRule)
    }

    /// Whether it decides who has which device: a gap in its watch is one in the account.
    pub(super) const fn is_billed(self) -> bool {
        matches!(
            self,
            Self::ResourceClaim | Self::ResourceSlice | Self::DeviceTaintRule
        )
    }

    pub(super) fn api(self, version: &str) -> ApiResource {
        let (group, plural) = self.resource();
        let kind = GroupVersionKind::gvk(group, version, self.name());
        ApiResource::from_gvk_with_plural(&kind, plural)
    }

    /// The object as the type of its kind.
    pub(super) fn object(self, from: DynamicObject) -> Result<Object, String> {
        let wrong = |error: serde_json::Error| error.to_string();
        let mut value = serde_json::to_value(from).map_err(wrong)?;
        let (group, _) = self.resource();
        value["apiVersion"] = if group.is_empty() {
            "v1".into()
        } else {
            format!("{group}/v1").into()
        };
        value["kind"] = self.name().into();
        Ok(match self {
            Self::ResourceClaim => Object::Claim(serde_json::from_value(value).map_err(wrong)?),
            Self::ResourceSlice => Object::Slice(serde_json::from_value(value).map_err(wrong)?),
            Self::DeviceTaintRule => Object::Rule(serde_json::from_value(value).map_err(wrong)?),
            Self::Pod => Object::Pod(serde_json::from_value(value).map_err(wrong)?),
            Self::Node => Object::Node(serde_json::from_value(value).map_err(wrong)?),
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.name())
    }
}
