//! What the ledger tells the price book: a stretch of time in which one share of one card was in one bucket.
//! Not here: how facts become entries (`buckets`), what an entry costs (`charge`).
//!
//! For each card and second the shares of all entries but overlays add up to 1: nothing is lost and nothing counted twice.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ratio::Ratio;
use crate::time::Span;

/// A stretch in which one share of one card was in one bucket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The card.
    pub card: Card,
    /// Who or what had the share.
    pub bucket: Bucket,
    /// How much of the card, by the weights that were asked; the whole card is 1.
    pub share: Ratio,
    /// From when until when.
    pub span: Span,
    /// The published device, as in `gpu-0-mig-1g10gb-19-0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The partition's profile, as in `1g.10gb`; none is the whole card, or what is left of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The smallest partition that would have fitted, if the claim was given a bigger one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<Needed>,
    /// Why a bound of the span is not from an event but worked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<String>,
    /// Administrative access: outside the sum, its share is 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overlay: bool,
}

/// What a claim would have needed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Needed {
    /// Its profile.
    pub profile: String,
    /// Its share of the card, by the weights that were asked.
    pub share: Ratio,
}

/// One physical card. Two cards are one if pool and name are; a UUID that is published says so over restarts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// Its pool, which for NVIDIA's driver is its node.
    pub pool: String,
    /// Its name there, as in `gpu-0`.
    pub name: String,
    /// Its UUID, where it is published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Its model: the catalogue's name, or what the driver calls the product.
    pub model: String,
}

/// Where a share of a card is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Bucket {
    /// Allocated to a claim, whether or not its pods run: nobody else can have it.
    Sold(Box<Holder>),
    /// Free, and the best layout that still fits sells it.
    Idle,
    /// Free, and nothing that is published fits it any more.
    Stranded,
    /// Tainted or broken: neither free nor a tenant's.
    OutOfService {
        /// The taint or fault.
        reason: String,
    },
}

/// Who has a device: a claim, known by its UID and never by its name alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holder {
    /// UID of the claim: one created anew under the same name is another.
    pub claim_uid: String,
    /// Its namespace, which is the tenant.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The class that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_class: Option<String>,
    /// The request, or `request/subrequest`.
    pub request: String,
    /// Who used it: one claim is charged once, however many pods share it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consumers: Vec<Consumer>,
    /// Sold at the price for what may be taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spot: bool,
}

/// A pod, or whatever else reserved a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consumer {
    /// Its UID.
    pub uid: String,
    /// Its name.
    pub name: String,
}

/// What an entry cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// A share outside 0 to 1.
    #[error("{card}, {span}: a share of {share} is not between nothing and the whole card")]
    Share {
        /// The card.
        card: String,
        /// When.
        span: Span,
        /// The share.
        share: Ratio,
    },
    /// An overlay with a share.
    #[error(
        "{card}, {span}: administrative access has a share of {share}; it lies outside the sum and has none"
    )]
    Overlay {
        /// The card.
        card: String,
        /// When.
        span: Span,
        /// The share.
        share: Ratio,
    },
}

impl Entry {
    /// Refuses a share that is no part of a card, and an overlay that is in the sum.
    pub fn check(&self) -> Result<(), EntryError> {
        let (card, span, share) = (|| self.card.to_string(), self.span, self.share);
        if share.is_negative() || share > Ratio::ONE {
            return Err(EntryError::Share {
                card: card(),
                span,
                share,
            });
        }
        if self.overlay && !share.is_zero() {
            return Err(EntryError::Overlay {
                card: card(),
                span,
                share,
            });
        }
        Ok(())
    }
}

impl Bucket {
    /// The claim, if it is sold.
    #[must_use]
    pub fn holder(&self) -> Option<&Holder> {
        match self {
            Self::Sold(holder) => Some(holder),
            _ => None,
        }
    }

    /// `sold`, `idle`, `stranded` or `out of service`.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Sold(_) => "sold",
            Self::Idle => "idle",
            Self::Stranded => "stranded",
            Self::OutOfService { .. } => "out of service",
        }
    }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.pool, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_written_and_read_and_a_false_one_refused() {
        let line = r#"{"card": {"pool": "node-1", "name": "gpu-0", "model": "A100-SXM4-80GB"},
            "bucket": {"sold": {"claim_uid": "u-1", "namespace": "a", "name": "c", "request": "r"}},
            "share": "1/7", "span": {"from": "2026-11-01T00:00:00Z", "until": "2026-11-01T01:00:00Z"}}"#;
        let mut entry: Entry = serde_json::from_str(line).expect("an entry");
        let again = serde_json::to_string(&entry).expect("written");
        assert_eq!(
            serde_json::from_str::<Entry>(&again).expect("an entry"),
            entry
        );
        assert_eq!(entry.check(), Ok(()));
        entry.overlay = true;
        assert!(matches!(entry.check(), Err(EntryError::Overlay { .. })));
        entry.overlay = false;
        entry.share = Ratio::new(8, 7).expect("fits");
        assert!(matches!(entry.check(), Err(EntryError::Share { .. })));
        assert_eq!(
            serde_json::to_string(&Bucket::Idle).expect("written"),
            r#""idle""#
        );
    }
}
