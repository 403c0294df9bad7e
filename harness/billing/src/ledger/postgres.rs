//! The ledger in a PostgreSQL database. Writers wait for each other at the row of the head; a connection that is lost is made
//! anew at the next call.

use postgres::{Client, Config, NoTls, Transaction};

use super::chain::{self, Draft, Hash};
use super::stored::{Key, Stored};
use super::{Appended, Cursor, FORMAT, Head, LedgerError, Present, Store};
use crate::time::Seconds;

/// Who holds this lock makes the tables.
const MAKING: i64 = 0x736c_6963_6570;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS head (one INTEGER PRIMARY KEY CHECK (one = 1), format BIGINT NOT NULL, number BIGINT NOT NULL, hash BYTEA NOT NULL);
CREATE TABLE IF NOT EXISTS fact (number BIGINT PRIMARY KEY, uid TEXT COLLATE \"C\" NOT NULL, transition TEXT COLLATE \"C\" NOT NULL, version BIGINT NOT NULL,
    second BIGINT NOT NULL, estimated TEXT, body TEXT NOT NULL, hash BYTEA NOT NULL, UNIQUE (uid, transition, version));
CREATE INDEX IF NOT EXISTS fact_by_time ON fact (second, version, uid, transition);
CREATE TABLE IF NOT EXISTS long_body (digest TEXT PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS watched (cluster TEXT NOT NULL, kind TEXT NOT NULL, version TEXT NOT NULL, second BIGINT NOT NULL, PRIMARY KEY (cluster, kind));
CREATE TABLE IF NOT EXISTS present (cluster TEXT NOT NULL, kind TEXT NOT NULL, uid TEXT COLLATE \"C\" NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (cluster, kind, uid));
";

const COLUMNS: &str = "number, uid, transition, version, second, estimated, body, hash";

pub(super) struct Postgres {
    config: Config,
    name: String,
    client: Option<Client>,
}

type Result<T, E = LedgerError> = std::result::Result<T, E>;

impl Postgres {
    pub(super) fn open(url: &str, name: String) -> Result<Self> {
        let config = url.parse().map_err(|source| LedgerError::Away {
            ledger: name.clone(),
            source,
        })?;
        let mut postgres = Self {
            config,
            name,
            client: None,
        };
        postgres.client()?;
        Ok(postgres)
    }

    /// The connection, made anew if it was lost.
    fn client(&mut self) -> Result<&mut Client> {
        if self.client.as_ref().is_none_or(Client::is_closed) {
            let client = self.config.connect(NoTls);
            let mut client = client.map_err(|source| self.error("reach", source))?;
            let found = make(&mut client).map_err(|source| self.error("prepare", source))?;
            if found != FORMAT {
                return Err(LedgerError::Format {
                    ledger: self.name.clone(),
                    found,
                });
            }
            self.client = Some(client);
        }
        match &mut self.client {
            Some(client) => Ok(client),
            None => unreachable!("it was just made"),
        }
    }

    fn error(&self, doing: &'static str, source: postgres::Error) -> LedgerError {
        use postgres::error::SqlState;
        let ledger = self.name.clone();
        let Some(said) = source.as_db_error() else {
            return LedgerError::Away { ledger, source };
        };
        let code = said.code();
        if *code == SqlState::DISK_FULL || *code == SqlState::OUT_OF_MEMORY {
            let detail = said.message().to_owned();
            return LedgerError::Full { ledger, detail };
        }
        // Classes 08 (connection), 57 (an operator stopped it) and 53 (too many connections) pass.
        if ["08", "57", "53"]
            .iter()
            .any(|class| code.code().starts_with(class))
        {
            return LedgerError::Away { ledger, source };
        }
        let why = format!("{} (SQLSTATE {})", said.message(), code.code());
        LedgerError::Postgres { doing, ledger, why }
    }

    fn run<T>(
        &mut self,
        doing: &'static str,
        run: impl FnOnce(&mut Client) -> std::result::Result<T, postgres::Error>,
    ) -> Result<T> {
        let ran = run(self.client()?);
        ran.map_err(|source| self.error(doing, source))
    }

    fn rows(
        &mut self,
        condition: &str,
        values: &[&(dyn postgres::types::ToSql + Sync)],
    ) -> Result<Vec<Stored>> {
        let sql = format!("SELECT {COLUMNS} FROM fact WHERE {condition}");
        let rows = self.run("read", |client| client.query(&sql, values))?;
        rows.iter().map(stored).collect()
    }
}

/// Makes what is not there, and says the format of what is.
fn make(client: &mut Client) -> std::result::Result<i64, postgres::Error> {
    let mut transaction = client.transaction()?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&MAKING])?;
    transaction.batch_execute("SET LOCAL client_min_messages = warning")?;
    transaction.batch_execute(SCHEMA)?;
    transaction.execute(
        "INSERT INTO head VALUES (1, $1, 0, $2) ON CONFLICT DO NOTHING",
        &[&FORMAT, &Hash::START.0.as_slice()],
    )?;
    let format = transaction
        .query_one("SELECT format FROM head", &[])?
        .get(0);
    transaction.commit()?;
    Ok(format)
}

fn stored(row: &postgres::Row) -> Result<Stored> {
    let number = row.get::<_, i64>(0).unsigned_abs();
    let at = Seconds::new(row.get(4));
    Ok(Stored {
        number,
        uid: row.get(1),
        transition: row.get(2),
        version: row.get(3),
        at: at.map_err(|error| LedgerError::Unreadable {
            row: number,
            why: error.to_string(),
        })?,
        estimated: row.get(5),
        body: row.get(6),
        hash: row.get(7),
    })
}

fn read_head(row: &postgres::Row) -> (u64, Vec<u8>) {
    (row.get::<_, i64>(0).unsigned_abs(), row.get(1))
}

/// Which of the drafts are not there yet; of two with one key the first.
fn new<'d>(
    transaction: &mut Transaction<'_>,
    drafts: &'d [Draft],
) -> std::result::Result<Vec<&'d Draft>, postgres::Error> {
    let uids: Vec<&str> = drafts.iter().map(|it| it.uid.as_str()).collect();
    let transitions: Vec<&str> = drafts.iter().map(|it| it.transition).collect();
    let versions: Vec<i64> = drafts.iter().map(|it| it.version).collect();
    let known = transaction.query(
        "SELECT f.uid, f.transition, f.version FROM fact f
            JOIN unnest($1::text[], $2::text[], $3::int8[]) AS k(uid, transition, version) USING (uid, transition, version)",
        &[&uids, &transitions, &versions],
    )?;
    let known = known.iter().map(|row| (row.get(0), row.get(1), row.get(2)));
    let mut seen: std::collections::HashSet<(String, String, i64)> = known.collect();
    let fresh = drafts.iter().filter(|draft| {
        seen.insert((
            draft.uid.clone(),
            draft.transition.to_owned(),
            draft.version,
        ))
    });
    Ok(fresh.collect())
}

fn append(
    transaction: &mut Transaction<'_>,
    drafts: &[Draft],
    cursors: &[Cursor],
) -> std::result::Result<Option<Appended>, postgres::Error> {
    let head = transaction.query_one("SELECT number, hash FROM head FOR UPDATE", &[])?;
    let (mut number, hash) = read_head(&head);
    let Some(mut hash) = Hash::read(&hash) else {
        return Ok(None);
    };
    let fresh = if drafts.is_empty() {
        Vec::new()
    } else {
        new(transaction, drafts)?
    };
    if !fresh.is_empty() {
        let mut numbers = Vec::with_capacity(fresh.len());
        let mut hashes = Vec::with_capacity(fresh.len());
        for draft in &fresh {
            number += 1;
            hash = draft.hash(number, &hash);
            numbers.push(number.cast_signed());
            hashes.push(hash.0.to_vec());
        }
        fn column<'d, T>(fresh: &[&'d Draft], of: impl Fn(&'d Draft) -> T) -> Vec<T> {
            fresh.iter().map(|draft| of(draft)).collect()
        }
        transaction.execute(
            "INSERT INTO fact SELECT * FROM unnest($1::int8[], $2::text[], $3::text[], $4::int8[], $5::int8[], $6::text[], $7::text[], $8::bytea[])",
            &[
                &numbers,
                &column(&fresh, |it| it.uid.as_str()),
                &column(&fresh, |it| it.transition),
                &column(&fresh, |it| it.version),
                &column(&fresh, |it| it.at),
                &column(&fresh, |it| it.estimated.as_deref()),
                &column(&fresh, |it| it.body.as_str()),
                &hashes,
            ],
        )?;
        for draft in fresh.iter().filter(|draft| draft.text.is_some()) {
            transaction.execute(
                "INSERT INTO long_body VALUES ($1, $2) ON CONFLICT DO NOTHING",
                &[&chain::elsewhere(&draft.body), &draft.text],
            )?;
        }
        transaction.execute(
            "UPDATE head SET number = $1, hash = $2",
            &[&number.cast_signed(), &hash.0.as_slice()],
        )?;
    }
    for cursor in cursors {
        transaction.execute(
            "INSERT INTO watched VALUES ($1, $2, $3, $4) ON CONFLICT (cluster, kind) DO UPDATE
                SET version = excluded.version, second = excluded.second WHERE excluded.second >= watched.second",
            &[&cursor.cluster, &cursor.kind, &cursor.version, &cursor.at.get()],
        )?;
        if !cursor.came.is_empty() {
            let uids: Vec<&str> = cursor.came.iter().map(|it| &*it.uid.0).collect();
            let namespaces: Vec<&str> =
                cursor.came.iter().map(|it| it.namespace.as_str()).collect();
            let names: Vec<&str> = cursor.came.iter().map(|it| it.name.as_str()).collect();
            transaction.execute(
                "INSERT INTO present SELECT $1, $2, * FROM unnest($3::text[], $4::text[], $5::text[]) ON CONFLICT DO NOTHING",
                &[&cursor.cluster, &cursor.kind, &uids, &namespaces, &names],
            )?;
        }
        if !cursor.went.is_empty() {
            let uids: Vec<&str> = cursor.went.iter().map(|uid| &*uid.0).collect();
            transaction.execute(
                "DELETE FROM present WHERE cluster = $1 AND kind = $2 AND uid = ANY($3)",
                &[&cursor.cluster, &cursor.kind, &uids],
            )?;
        }
    }
    let new = fresh.len() as u64;
    Ok(Some(Appended {
        new,
        known: drafts.len() as u64 - new,
    }))
}

impl Store for Postgres {
    fn append(&mut self, drafts: &[Draft], cursors: &[Cursor]) -> Result<Appended> {
        let appended = self.run("write", |client| {
            let mut transaction = client.transaction()?;
            let appended = append(&mut transaction, drafts, cursors)?;
            transaction.commit()?;
            Ok(appended)
        })?;
        appended.ok_or_else(|| LedgerError::Unreadable {
            row: 0,
            why: "the hash of the head has not 32 bytes".to_owned(),
        })
    }

    fn head(&mut self) -> Result<Head> {
        let row = self.run("read", |client| {
            client.query_one("SELECT number, hash FROM head", &[])
        })?;
        let (number, hash) = read_head(&row);
        let hash = Hash::read(&hash).ok_or_else(|| LedgerError::Unreadable {
            row: number,
            why: "the hash of the head has not 32 bytes".to_owned(),
        })?;
        Ok(Head { number, hash })
    }

    fn cursors(&mut self, cluster: &str) -> Result<Vec<Cursor>> {
        let rows = self.run("read", |client| {
            client.query(
                "SELECT cluster, kind, version, second FROM watched WHERE cluster = $1",
                &[&cluster],
            )
        })?;
        rows.iter()
            .map(|row| {
                Ok(Cursor {
                    cluster: row.get(0),
                    kind: row.get(1),
                    version: row.get(2),
                    at: Seconds::new(row.get(3)).map_err(|error| LedgerError::Unreadable {
                        row: 0,
                        why: format!("the cursor of {cluster}: {error}"),
                    })?,
                    came: Vec::new(),
                    went: Vec::new(),
                })
            })
            .collect()
    }

    fn present(&mut self, cluster: &str, kind: &str) -> Result<Vec<Present>> {
        let rows = self.run("read", |client| {
            client.query(
                "SELECT uid, namespace, name FROM present WHERE cluster = $1 AND kind = $2 ORDER BY uid",
                &[&cluster, &kind],
            )
        })?;
        let present = |row: &postgres::Row| Present {
            uid: row.get::<_, &str>(0).into(),
            namespace: row.get(1),
            name: row.get(2),
        };
        Ok(rows.iter().map(present).collect())
    }

    fn by_time(&mut self, after: &Key, upto: u64, limit: u32) -> Result<Vec<Stored>> {
        self.rows(
            "(second, version, uid, transition) > ($1, $2, $3, $4) AND number <= $5
                AND NOT (estimated IS NOT NULL AND estimated = 'vanished' AND EXISTS (SELECT 1 FROM fact e
                    WHERE e.uid = fact.uid AND e.transition = fact.transition AND e.version < fact.version AND e.number <= $5))
                ORDER BY second, version, uid, transition LIMIT $6",
            &[
                &after.at,
                &after.version,
                &after.uid,
                &after.transition,
                &upto.cast_signed(),
                &i64::from(limit),
            ],
        )
    }

    fn by_number(&mut self, after: u64, limit: u32) -> Result<Vec<Stored>> {
        self.rows(
            "number > $1 ORDER BY number LIMIT $2",
            &[&after.cast_signed(), &i64::from(limit)],
        )
    }

    fn of_transition(&mut self, transition: &str, upto: u64) -> Result<Vec<Stored>> {
        self.rows(
            "transition = $1 AND number <= $2 ORDER BY number",
            &[&transition, &upto.cast_signed()],
        )
    }

    fn numbered(&mut self, numbers: &[u64]) -> Result<Vec<Stored>> {
        let numbers: Vec<i64> = numbers.iter().map(|number| number.cast_signed()).collect();
        self.rows("number = ANY($1) ORDER BY number", &[&numbers])
    }

    fn of_object(&mut self, uid: &str) -> Result<Vec<Stored>> {
        self.rows("uid = $1 ORDER BY number", &[&uid])
    }

    fn text(&mut self, digest: &str) -> Result<Option<String>> {
        let row = self.run("read", |client| {
            client.query_opt("SELECT body FROM long_body WHERE digest = $1", &[&digest])
        })?;
        Ok(row.map(|row| row.get(0)))
    }
}
