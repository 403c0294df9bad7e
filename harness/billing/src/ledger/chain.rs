//! The chain: each row's hash covers the row and the hash before it.

use std::fmt;

use sha2::{Digest, Sha256};

use super::LedgerError;
use crate::fact::Fact;

/// Bodies longer than this are kept once, by their digest: the slices of equal nodes.
const LONG: usize = 1024;
/// How a body that is elsewhere begins. No JSON does.
const ELSEWHERE: &str = "sha256:";

/// SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// Of the row before the first.
    pub const START: Hash = Hash([0; 32]);

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

/// A row that has no number yet.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) uid: String,
    pub(super) transition: &'static str,
    pub(super) version: i64,
    pub(super) at: i64,
    pub(super) estimated: Option<String>,
    /// JSON, or the digest of what is in `text`.
    pub(super) body: String,
    pub(super) text: Option<String>,
}

impl Draft {
    pub(super) fn of(fact: &Fact) -> Result<Self, LedgerError> {
        let unfit = |why: String| LedgerError::Unfit {
            uid: fact.uid.to_string(),
            why,
        };
        let json = |it: serde_json::Result<String>| it.map_err(|error| unfit(error.to_string()));
        let version = i64::try_from(fact.version);
        let body = json(serde_json::to_string(&fact.what))?;
        let (body, text) = if body.len() > LONG {
            (format!("{ELSEWHERE}{}", digest(&body)), Some(body))
        } else {
            (body, None)
        };
        let estimated = fact.estimated.map(|why| json(serde_json::to_string(&why)));
        Ok(Self {
            uid: fact.uid.to_string(),
            transition: fact.what.transition(),
            version: version
                .map_err(|_| unfit(format!("version {} has more than 63 bits", fact.version)))?,
            at: fact.at.get(),
            estimated: estimated
                .transpose()?
                .map(|text| text.trim_matches('"').to_owned()),
            body,
            text,
        })
    }

    pub(super) fn hash(&self, number: u64, before: &Hash) -> Hash {
        hash(
            before,
            number,
            &self.uid,
            self.transition,
            self.version,
            self.at,
            self.estimated.as_deref(),
            &self.body,
        )
    }
}

/// The digest of a text, in hexadecimal digits.
pub(super) fn digest(text: &str) -> Hash {
    Hash(Sha256::digest(text.as_bytes()).into())
}

/// The digest that a body names instead of itself.
pub(super) fn elsewhere(body: &str) -> Option<&str> {
    body.strip_prefix(ELSEWHERE)
}

#[expect(clippy::too_many_arguments, reason = "the columns of a row")]
pub(super) fn hash(
    before: &Hash,
    number: u64,
    uid: &str,
    transition: &str,
    version: i64,
    at: i64,
    estimated: Option<&str>,
    body: &str,
) -> Hash {
    let mut sha = Sha256::new();
    sha.update(before.0);
    sha.update(number.to_be_bytes());
    sha.update(version.to_be_bytes());
    sha.update(at.to_be_bytes());
    sha.update([u8::from(estimated.is_some())]);
    // With its length before each text, no two rows look the same.
    for text in [uid, transition, estimated.unwrap_or_default(), body] {
        sha.update((text.len() as u64).to_be_bytes());
        sha.update(text.as_bytes());
    }
    Hash(sha.finalize().into())
}
