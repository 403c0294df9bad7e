//! Whether a ledger still says what was written: every row's hash, computed anew from the first on.
//! It cannot tell that the last rows and the head were taken away together; who has noted a hash can: it is given out for that.

use super::chain::{self, Hash};
use super::{Head, Ledger, LedgerError};

/// A ledger that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Rows.
    pub rows: u64,
    /// The hash of the last, to be noted.
    pub hash: Hash,
}

/// What does not hold, at the first row where it shows.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The row was changed.
    #[error(
        "row {row} of ledger {ledger} is not what was written: its hash is {found}, by what it says it were {expected}. Take the ledger from a backup whose `verify` holds; every row before this one stands"
    )]
    Changed {
        /// The ledger.
        ledger: String,
        /// The row.
        row: u64,
        /// What stands there.
        found: String,
        /// What should.
        expected: Hash,
    },
    /// A row is not there.
    #[error(
        "row {row} of ledger {ledger} is missing. Take the ledger from a backup whose `verify` holds; every row before this one stands"
    )]
    Missing {
        /// The ledger.
        ledger: String,
        /// The row.
        row: u64,
    },
    /// Rows behind the last.
    #[error(
        "ledger {ledger} has row {row}, behind its last one: it was put there by something else"
    )]
    Beyond {
        /// The ledger.
        ledger: String,
        /// The row.
        row: u64,
    },
    /// A long text was changed or taken away.
    #[error("the text of row {row} of ledger {ledger}, {digest}, is not what was written")]
    Text {
        /// The ledger.
        ledger: String,
        /// The row.
        row: u64,
        /// The digest.
        digest: String,
    },
    /// It could not be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Ledger {
    /// Computes every hash anew.
    ///
    /// # Errors
    /// The first row that does not hold.
    pub fn verify(&mut self) -> Result<Verified, Broken> {
        let head = self.store.head()?;
        let mut last = Head {
            number: 0,
            hash: Hash::START,
        };
        let mut checked = std::collections::HashSet::new();
        loop {
            let page = self.store.by_number(last.number, 4096)?;
            if page.is_empty() {
                break;
            }
            for stored in page {
                let ledger = || self.name.clone();
                let row = last.number + 1;
                if stored.number != row {
                    return Err(Broken::Missing {
                        ledger: ledger(),
                        row,
                    });
                }
                if row > head.number {
                    // Written by a meter since the head was read, or by something that knows nothing of heads.
                    if self.store.head()?.number < row {
                        return Err(Broken::Beyond {
                            ledger: ledger(),
                            row,
                        });
                    }
                    return Ok(Verified {
                        rows: last.number,
                        hash: last.hash,
                    });
                }
                let expected = stored.expected(&last.hash);
                if stored.hash != expected.0 {
                    let found = Hash::read(&stored.hash);
                    let found = found.map_or_else(|| "no hash".to_owned(), |it| it.to_string());
                    return Err(Broken::Changed {
                        ledger: ledger(),
                        row,
                        found,
                        expected,
                    });
                }
                if let Some(digest) = chain::elsewhere(&stored.body)
                    && checked.insert(digest.to_owned())
                {
                    let text = self.store.text(digest)?;
                    if text.is_none_or(|text| chain::digest(&text).to_string() != digest) {
                        let digest = digest.to_owned();
                        return Err(Broken::Text {
                            ledger: ledger(),
                            row,
                            digest,
                        });
                    }
                }
                last = Head {
                    number: row,
                    hash: expected,
                };
            }
        }
        if last.number < head.number {
            let row = last.number + 1;
            return Err(Broken::Missing {
                ledger: self.name.clone(),
                row,
            });
        }
        if last != head {
            return Err(Broken::Changed {
                ledger: self.name.clone(),
                row: head.number,
                found: head.hash.to_string(),
                expected: last.hash,
            });
        }
        Ok(Verified {
            rows: last.number,
            hash: last.hash,
        })
    }
}
