//! Rows as a database has them, and how they become facts again.

use super::chain::{self, Hash};
use super::{LedgerError, Store};
use crate::fact::{Fact, Uid};
use crate::time::Seconds;

/// A row of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its number, from 1 without gaps.
    pub number: u64,
    /// What it says.
    pub fact: Fact,
}

/// A row as it stands in the database.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) number: u64,
    pub(super) uid: String,
    pub(super) transition: String,
    pub(super) version: i64,
    pub(super) at: Seconds,
    pub(super) estimated: Option<String>,
    pub(super) body: String,
    pub(super) hash: Vec<u8>,
}

/// A place in the order of time.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) at: i64,
    pub(super) version: i64,
    pub(super) uid: String,
    pub(super) transition: String,
}

impl Key {
    /// Before everything.
    pub(super) const fn start() -> Self {
        Self {
            at: -1,
            version: -1,
            uid: String::new(),
            transition: String::new(),
        }
    }
}

impl Stored {
    pub(super) fn key(&self) -> Key {
        Key {
            at: self.at.get(),
            version: self.version,
            uid: self.uid.clone(),
            transition: self.transition.clone(),
        }
    }

    /// Its hash, by what it says and the hash before it.
    pub(super) fn expected(&self, before: &Hash) -> Hash {
        chain::hash(
            before,
            self.number,
            &self.uid,
            &self.transition,
            self.version,
            self.at.get(),
            self.estimated.as_deref(),
            &self.body,
        )
    }

    pub(super) fn row(self, store: &mut dyn Store) -> Result<Row, LedgerError> {
        let unreadable = |why: String| LedgerError::Unreadable {
            row: self.number,
            why,
        };
        let text;
        let body = match chain::elsewhere(&self.body) {
            Some(digest) => {
                text = store
                    .text(digest)?
                    .ok_or_else(|| unreadable(format!("its text {digest} is missing")))?;
                &text
            }
            None => &self.body,
        };
        let what = serde_json::from_str(body).map_err(|error| unreadable(error.to_string()))?;
        let estimated = match &self.estimated {
            Some(why) => Some(
                serde_json::from_value(serde_json::Value::String(why.clone()))
                    .map_err(|error| unreadable(error.to_string()))?,
            ),
            None => None,
        };
        let version = u64::try_from(self.version);
        Ok(Row {
            number: self.number,
            fact: Fact {
                uid: Uid(self.uid.as_str().into()),
                version: version.map_err(|error| unreadable(error.to_string()))?,
                at: self.at,
                estimated,
                what,
            },
        })
    }
}
