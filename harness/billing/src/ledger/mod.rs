//! The ledger: facts, once each, in rows that are only ever added, chained by hashes, so that a row that was edited or taken
//! out shows. Corrections and closed periods are rows too.
//! Not here: what facts mean. No clock is read.
//! Facts come from `observe` and are kept in one SQLite file or in a PostgreSQL database: one schema, the same answers.

mod chain;
mod error;
mod open;
mod postgres;
mod reader;
mod sqlite;
mod stored;
mod verify;

use crate::fact::{Fact, Uid, What};
use crate::time::{Seconds, Span};

pub use chain::Hash;
pub use error::LedgerError;
pub use open::Place;
pub use reader::Facts;
pub use stored::Row;
pub use verify::{Broken, Verified};

use chain::Draft;
use stored::{Key, Stored};

/// How the schema is numbered; a ledger of another number is refused by name.
pub const FORMAT: i64 = 1;

/// How far a meter has got with one kind of object: changed in the very transaction that keeps the facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The cluster: the UID of its namespace kube-system.
    pub cluster: String,
    /// The kind.
    pub kind: String,
    /// The resourceVersion up to which everything is in the ledger.
    pub version: String,
    /// When the meter last watched.
    pub at: Seconds,
    /// Objects that have come since, or were there: they are missed if a later list does not have them.
    pub came: Vec<Present>,
    /// Objects that are gone since.
    pub went: Vec<Uid>,
}

/// An object that is in the cluster as far as meters know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Present {
    /// Its UID.
    pub uid: Uid,
    /// Its namespace; empty where it has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What became of facts that were to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Appended {
    /// New rows.
    pub new: u64,
    /// Facts that were there already.
    pub known: u64,
}

/// The last row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its number; 0 before the first.
    pub number: u64,
    /// Its hash, which stands for every row before it too.
    pub hash: Hash,
}

/// What both databases can do. Every call is one transaction.
trait Store: Send {
    fn append(&mut self, drafts: &[Draft], cursors: &[Cursor]) -> Result<Appended, LedgerError>;
    fn head(&mut self) -> Result<Head, LedgerError>;
    fn cursors(&mut self, cluster: &str) -> Result<Vec<Cursor>, LedgerError>;
    fn present(&mut self, cluster: &str, kind: &str) -> Result<Vec<Present>, LedgerError>;
    /// Rows in the order of time, behind `after`, up to the row `upto`; no estimates that something exact has overtaken.
    fn by_time(&mut self, after: &Key, upto: u64, limit: u32) -> Result<Vec<Stored>, LedgerError>;
    /// Rows in the order of their numbers, behind `after`.
    fn by_number(&mut self, after: u64, limit: u32) -> Result<Vec<Stored>, LedgerError>;
    /// Rows of one transition, up to the row `upto`.
    fn of_transition(&mut self, transition: &str, upto: u64) -> Result<Vec<Stored>, LedgerError>;
    /// Rows of these numbers.
    fn numbered(&mut self, numbers: &[u64]) -> Result<Vec<Stored>, LedgerError>;
    /// The rows of an object.
    fn of_object(&mut self, uid: &str) -> Result<Vec<Stored>, LedgerError>;
    /// A long body, by its digest.
    fn text(&mut self, digest: &str) -> Result<Option<String>, LedgerError>;
}

/// A ledger that is open.
pub struct Ledger {
    store: Box<dyn Store>,
    name: String,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("name", &self.name).finish()
    }
}

impl Ledger {
    /// What it is called in messages: its file, or its address without a password.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Keeps facts; those that are there already, by object, transition and resourceVersion, change nothing. Either all of it
    /// and the cursors are kept, or nothing.
    ///
    /// # Errors
    /// The database refuses or is not there; doing it again later is safe.
    pub fn append(&mut self, facts: &[Fact], cursors: &[Cursor]) -> Result<Appended, LedgerError> {
        let drafts: Result<Vec<Draft>, LedgerError> = facts.iter().map(Draft::of).collect();
        self.store.append(&drafts?, cursors)
    }

    /// The last row.
    ///
    /// # Errors
    /// The database refuses or is not there.
    pub fn head(&mut self) -> Result<Head, LedgerError> {
        self.store.head()
    }

    /// How far meters have got with a cluster.
    ///
    /// # Errors
    /// The database refuses or is not there.
    pub fn cursors(&mut self, cluster: &str) -> Result<Vec<Cursor>, LedgerError> {
        self.store.cursors(cluster)
    }

    /// Which objects of a kind are in the cluster as far as meters know.
    ///
    /// # Errors
    /// The database refuses or is not there.
    pub fn present(&mut self, cluster: &str, kind: &str) -> Result<Vec<Present>, LedgerError> {
        self.store.present(cluster, kind)
    }

    /// All facts in the order of time, with corrections applied, a page at a time.
    ///
    /// # Errors
    /// The database refuses or is not there.
    pub fn read(&mut self) -> Result<Facts<'_>, LedgerError> {
        let upto = self.head()?.number;
        self.read_upto(upto)
    }

    /// The same as it was when the ledger had so many rows.
    ///
    /// # Errors
    /// The database refuses or is not there.
    pub fn read_upto(&mut self, upto: u64) -> Result<Facts<'_>, LedgerError> {
        Facts::new(&mut *self.store, upto)
    }

    /// Every row of an object as it was written, by number.
    ///
    /// # Errors
    /// The database refuses or is not there.
    pub fn of_object(&mut self, uid: &Uid) -> Result<Vec<Row>, LedgerError> {
        let stored = self.store.of_object(&uid.0)?;
        let rows = stored.into_iter().map(|it| it.row(&mut *self.store));
        rows.collect()
    }

    /// Closes a period: what comes later about it changes nothing of its invoice and is corrected in a later one.
    /// Closing it again changes nothing. Returns the last row that belongs to it.
    ///
    /// # Errors
    /// The database refuses or is not there.
    pub fn seal(&mut self, period: Span, now: Seconds) -> Result<u64, LedgerError> {
        let fact = Fact {
            uid: Uid(format!("period {period}").into()),
            version: 0,
            at: now,
            estimated: None,
            what: What::Sealed { period },
        };
        self.append(std::slice::from_ref(&fact), &[])?;
        self.sealed(period)?.ok_or_else(|| LedgerError::Lost {
            ledger: self.name.clone(),
            what: format!("the row that closes {period}"),
        })
    }

    /// The last row that belongs to a period, if it was closed.
    ///
    /// # Errors
    /// The database refuses or is not there.
    pub fn sealed(&mut self, period: Span) -> Result<Option<u64>, LedgerError> {
        let rows = self.store.of_object(&format!("period {period}"))?;
        Ok(rows.first().map(|row| row.number))
    }

    /// Writes a correction of a row: it holds from `at`, or never did. The row itself stays as it is.
    ///
    /// # Errors
    /// There is no such row; or the database refuses or is not there.
    pub fn correct(
        &mut self,
        row: u64,
        at: Option<Seconds>,
        reason: &str,
    ) -> Result<(), LedgerError> {
        let Some(wrong) = self.store.numbered(&[row])?.pop() else {
            return Err(LedgerError::NoRow {
                ledger: self.name.clone(),
                row,
            });
        };
        let uid = Uid(format!("row {row}").into());
        let before = self.store.of_object(&uid.0)?.len();
        let fact = Fact {
            uid,
            version: before as u64,
            at: at.unwrap_or(wrong.at),
            estimated: None,
            what: What::Corrects {
                row,
                void: at.is_none(),
                reason: reason.to_owned(),
            },
        };
        self.append(&[fact], &[]).map(|_| ())
    }
}
