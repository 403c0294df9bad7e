//! What can go wrong with a ledger.

use std::path::PathBuf;

/// A ledger that cannot be used, or a fact that cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The address says neither a file nor PostgreSQL.
    #[error("{text:?} is no ledger: name a file, or postgres://USER@HOST:PORT/DATABASE")]
    Address {
        /// What was written.
        text: String,
    },
    /// It was made by another version of this program.
    #[error(
        "ledger {ledger} has format {found}, this program reads and writes {}; use the program that made it",
        super::FORMAT
    )]
    Format {
        /// The ledger.
        ledger: String,
        /// Its number.
        found: i64,
    },
    /// No room.
    #[error(
        "ledger {ledger} has no room left: {detail}. Nothing of this change was kept; free some, and it is tried again"
    )]
    Full {
        /// The ledger.
        ledger: String,
        /// What the database says.
        detail: String,
    },
    /// The file.
    #[error(
        "cannot {doing} ledger {path}: {source}. Is it a ledger, and may this user write it and its folder?"
    )]
    Sqlite {
        /// Verb phrase.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// The database is not there now.
    #[error(
        "cannot reach ledger {ledger}: {source}. Nothing is lost while it is away: facts are kept once it is back"
    )]
    Away {
        /// Its address.
        ledger: String,
        /// What the client says.
        source: postgres::Error,
    },
    /// The database refuses.
    #[error(
        "cannot {doing} ledger {ledger}: {why}. The user needs to own the database's schema, or tables made by one who does"
    )]
    Postgres {
        /// Verb phrase.
        doing: &'static str,
        /// Its address.
        ledger: String,
        /// What it says.
        why: String,
    },
    /// A fact that does not fit.
    #[error("a fact of object {uid} cannot be kept: {why}")]
    Unfit {
        /// The object.
        uid: String,
        /// Why.
        why: String,
    },
    /// A row that is not understood.
    #[error("row {row} cannot be read: {why}. `verify` says whether it was changed")]
    Unreadable {
        /// Its number.
        row: u64,
        /// Why.
        why: String,
    },
    /// There is no such row.
    #[error("ledger {ledger} has no row {row}")]
    NoRow {
        /// The ledger.
        ledger: String,
        /// Its number.
        row: u64,
    },
    /// What was written is not there.
    #[error(
        "ledger {ledger} does not have what was just written: {what}. Does something else delete rows there?"
    )]
    Lost {
        /// The ledger.
        ledger: String,
        /// What.
        what: String,
    },
}

impl LedgerError {
    /// Whether waiting may mend it.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Full { .. } | Self::Away { .. } => true,
            Self::Sqlite { source, .. } => matches!(
                source.sqlite_error_code(),
                Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked)
            ),
            _ => false,
        }
    }
}
