//! The ledger in one SQLite file, with a write-ahead log: readers never wait, and a writer that is killed leaves the last
//! transaction that it ended.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{
    Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params,
};

use super::chain::{self, Draft, Hash};
use super::stored::{Key, Stored};
use super::{Appended, Cursor, FORMAT, Head, LedgerError, Present, Store};
use crate::time::Seconds;

/// How long another writer is waited for.
const BUSY: Duration = Duration::from_secs(20);

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS head (one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, number INTEGER NOT NULL, hash BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS fact (number INTEGER PRIMARY KEY, uid TEXT NOT NULL, transition TEXT NOT NULL, version INTEGER NOT NULL,
    second INTEGER NOT NULL, estimated TEXT, body TEXT NOT NULL, hash BLOB NOT NULL, UNIQUE (uid, transition, version));
CREATE INDEX IF NOT EXISTS fact_by_time ON fact (second, version, uid, transition);
CREATE TABLE IF NOT EXISTS long_body (digest TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS watched (cluster TEXT NOT NULL, kind TEXT NOT NULL, version TEXT NOT NULL, second INTEGER NOT NULL, PRIMARY KEY (cluster, kind));
CREATE TABLE IF NOT EXISTS present (cluster TEXT NOT NULL, kind TEXT NOT NULL, uid TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (cluster, kind, uid)) WITHOUT ROWID;
";

const COLUMNS: &str = "number, uid, transition, version, second, estimated, body, hash";

pub(super) struct Sqlite {
    connection: Connection,
    path: PathBuf,
    texts: HashSet<String>,
}

impl Sqlite {
    pub(super) fn open(path: &Path) -> Result<Self, LedgerError> {
        let fail = |doing| {
            move |source| LedgerError::Sqlite {
                doing,
                path: path.to_owned(),
                source,
            }
        };
        let mut connection = Connection::open(path).map_err(fail("open"))?;
        connection.busy_timeout(BUSY).map_err(fail("open"))?;
        // What is kept is on the disk before anybody is told so.
        connection
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
            .map_err(fail("open"))?;
        let made = make(&mut connection);
        let mut sqlite = Self {
            connection,
            path: path.to_owned(),
            texts: HashSet::new(),
        };
        let found = made.map_err(|source| sqlite.error("prepare", source))?;
        if found != FORMAT {
            return Err(LedgerError::Format {
                ledger: path.display().to_string(),
                found,
            });
        }
        sqlite.texts.clear();
        Ok(sqlite)
    }

    fn error(&self, doing: &'static str, source: rusqlite::Error) -> LedgerError {
        if source.sqlite_error_code() == Some(ErrorCode::DiskFull) {
            return LedgerError::Full {
                ledger: self.path.display().to_string(),
                detail: source.to_string(),
            };
        }
        LedgerError::Sqlite {
            doing,
            path: self.path.clone(),
            source,
        }
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LedgerError> {
        read(&self.connection).map_err(|source| self.error("read", source))
    }

    fn rows(
        &self,
        condition: &str,
        values: impl rusqlite::Params,
    ) -> Result<Vec<Stored>, LedgerError> {
        self.read(|connection| {
            let sql = format!("SELECT {COLUMNS} FROM fact WHERE {condition}");
            let mut statement = connection.prepare_cached(&sql)?;
            statement.query_map(values, stored)?.collect()
        })
    }
}

/// Makes what is not there, and says the format of what is.
fn make(connection: &mut Connection) -> rusqlite::Result<i64> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(SCHEMA)?;
    transaction.execute(
        "INSERT OR IGNORE INTO head VALUES (1, ?1, 0, ?2)",
        params![FORMAT, Hash::START.0],
    )?;
    let format = transaction.query_row("SELECT format FROM head", [], |row| row.get(0))?;
    transaction.commit()?;
    Ok(format)
}

fn stored(row: &rusqlite::Row<'_>) -> rusqlite::Result<Stored> {
    let second = |error: crate::time::TimeError| {
        rusqlite::Error::FromSqlConversionFailure(4, rusqlite::types::Type::Integer, error.into())
    };
    let number: i64 = row.get(0)?;
    Ok(Stored {
        number: number.unsigned_abs(),
        uid: row.get(1)?,
        transition: row.get(2)?,
        version: row.get(3)?,
        at: Seconds::new(row.get(4)?).map_err(second)?,
        estimated: row.get(5)?,
        body: row.get(6)?,
        hash: row.get(7)?,
    })
}

fn head(connection: &Connection) -> rusqlite::Result<Head> {
    connection.query_row("SELECT number, hash FROM head", [], |row| {
        let number: i64 = row.get(0)?;
        let hash: Vec<u8> = row.get(1)?;
        Ok(Head {
            number: number.unsigned_abs(),
            hash: Hash::read(&hash).ok_or(rusqlite::Error::InvalidQuery)?,
        })
    })
}

fn append(
    transaction: &Transaction<'_>,
    drafts: &[Draft],
    cursors: &[Cursor],
    texts: &HashSet<String>,
) -> rusqlite::Result<(Appended, Vec<String>)> {
    let mut appended = Appended::default();
    let mut written = Vec::new();
    let mut last = head(transaction)?;
    let mut insert = transaction.prepare_cached(
        "INSERT INTO fact (number, uid, transition, version, second, estimated, body, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            ON CONFLICT (uid, transition, version) DO NOTHING",
    )?;
    for draft in drafts {
        let number = last.number + 1;
        let hash = draft.hash(number, &last.hash);
        let changed = insert.execute(params![
            number.cast_signed(),
            draft.uid,
            draft.transition,
            draft.version,
            draft.at,
            draft.estimated,
            draft.body,
            hash.0.as_slice(),
        ])?;
        if changed == 0 {
            appended.known += 1;
            continue;
        }
        if let (Some(text), Some(digest)) = (&draft.text, chain::elsewhere(&draft.body))
            && !texts.contains(digest)
        {
            transaction.execute(
                "INSERT OR IGNORE INTO long_body VALUES (?1, ?2)",
                params![digest, text],
            )?;
            written.push(digest.to_owned());
        }
        appended.new += 1;
        last = Head { number, hash };
    }
    transaction.execute(
        "UPDATE head SET number = ?1, hash = ?2",
        params![last.number.cast_signed(), last.hash.0.as_slice()],
    )?;
    for cursor in cursors {
        transaction.execute(
            "INSERT INTO watched VALUES (?1, ?2, ?3, ?4) ON CONFLICT (cluster, kind) DO UPDATE
                SET version = excluded.version, second = excluded.second WHERE excluded.second >= watched.second",
            params![cursor.cluster, cursor.kind, cursor.version, cursor.at.get()],
        )?;
        for it in &cursor.came {
            transaction
                .prepare_cached("INSERT OR IGNORE INTO present VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute(params![
                    cursor.cluster,
                    cursor.kind,
                    &*it.uid.0,
                    it.namespace,
                    it.name
                ])?;
        }
        for uid in &cursor.went {
            transaction
                .prepare_cached(
                    "DELETE FROM present WHERE cluster = ?1 AND kind = ?2 AND uid = ?3",
                )?
                .execute(params![cursor.cluster, cursor.kind, &*uid.0])?;
        }
    }
    Ok((appended, written))
}

impl Store for Sqlite {
    fn append(&mut self, drafts: &[Draft], cursors: &[Cursor]) -> Result<Appended, LedgerError> {
        let texts = &self.texts;
        let run = |connection: &mut Connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let appended = append(&transaction, drafts, cursors, texts)?;
            transaction.commit()?;
            Ok(appended)
        };
        match run(&mut self.connection) {
            Ok((appended, written)) => {
                self.texts.extend(written);
                Ok(appended)
            }
            Err(source) => Err(self.error("write", source)),
        }
    }

    fn head(&mut self) -> Result<Head, LedgerError> {
        self.read(head)
    }

    fn cursors(&mut self, cluster: &str) -> Result<Vec<Cursor>, LedgerError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT cluster, kind, version, second FROM watched WHERE cluster = ?1",
            )?;
            let cursor = |row: &rusqlite::Row<'_>| {
                Ok(Cursor {
                    cluster: row.get(0)?,
                    kind: row.get(1)?,
                    version: row.get(2)?,
                    at: Seconds::new(row.get(3)?).map_err(|_| rusqlite::Error::InvalidQuery)?,
                    came: Vec::new(),
                    went: Vec::new(),
                })
            };
            statement.query_map([cluster], cursor)?.collect()
        })
    }

    fn present(&mut self, cluster: &str, kind: &str) -> Result<Vec<Present>, LedgerError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT uid, namespace, name FROM present WHERE cluster = ?1 AND kind = ?2 ORDER BY uid",
            )?;
            let present = |row: &rusqlite::Row<'_>| {
                let uid: String = row.get(0)?;
                Ok(Present {
                    uid: uid.as_str().into(),
                    namespace: row.get(1)?,
                    name: row.get(2)?,
                })
            };
            statement.query_map([cluster, kind], present)?.collect()
        })
    }

    fn by_time(&mut self, after: &Key, upto: u64, limit: u32) -> Result<Vec<Stored>, LedgerError> {
        self.rows(
            "(second, version, uid, transition) > (?1, ?2, ?3, ?4) AND number <= ?5
                AND NOT (estimated IS NOT NULL AND estimated = 'vanished' AND EXISTS (SELECT 1 FROM fact e
                    WHERE e.uid = fact.uid AND e.transition = fact.transition AND e.version < fact.version AND e.number <= ?5))
                ORDER BY second, version, uid, transition LIMIT ?6",
            params![
                after.at,
                after.version,
                after.uid,
                after.transition,
                upto.cast_signed(),
                limit
            ],
        )
    }

    fn by_number(&mut self, after: u64, limit: u32) -> Result<Vec<Stored>, LedgerError> {
        self.rows(
            "number > ?1 ORDER BY number LIMIT ?2",
            params![after.cast_signed(), limit],
        )
    }

    fn of_transition(&mut self, transition: &str, upto: u64) -> Result<Vec<Stored>, LedgerError> {
        self.rows(
            "transition = ?1 AND number <= ?2 ORDER BY number",
            params![transition, upto.cast_signed()],
        )
    }

    fn numbered(&mut self, numbers: &[u64]) -> Result<Vec<Stored>, LedgerError> {
        let mut rows = Vec::new();
        for number in numbers {
            rows.extend(self.rows("number = ?1", params![number.cast_signed()])?);
        }
        Ok(rows)
    }

    fn of_object(&mut self, uid: &str) -> Result<Vec<Stored>, LedgerError> {
        self.rows("uid = ?1 ORDER BY number", params![uid])
    }

    fn text(&mut self, digest: &str) -> Result<Option<String>, LedgerError> {
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT body FROM long_body WHERE digest = ?1")?;
            statement.query_row([digest], |row| row.get(0)).optional()
        })
    }
}
