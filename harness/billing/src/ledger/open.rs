//! Where a ledger is.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::{Ledger, LedgerError, postgres, sqlite};

/// A file, or a database.
#[derive(Clone, PartialEq, Eq)]
pub enum Place {
    /// One SQLite file.
    File(PathBuf),
    /// A PostgreSQL database, by its URL.
    Postgres(String),
}

impl FromStr for Place {
    type Err = LedgerError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        if text.is_empty() || text.contains("://") {
            return Err(LedgerError::Address {
                text: without_password(text),
            });
        }
        Ok(Self::File(text.into()))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Postgres(url) => f.write_str(&without_password(url)),
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({self})")
    }
}

impl Place {
    /// Opens it, and makes it if it is new.
    ///
    /// # Errors
    /// It cannot be reached or made, or is of another format.
    pub fn open(&self) -> Result<Ledger, LedgerError> {
        Ok(Ledger {
            name: self.to_string(),
            store: match self {
                Self::File(path) => Box::new(sqlite::Sqlite::open(path)?),
                Self::Postgres(url) => Box::new(postgres::Postgres::open(url, self.to_string())?),
            },
        })
    }
}

/// An address as it may be shown.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    // A password may hold an @, a host cannot. One among the parameters is hidden with all of them.
    let (plain, query) = rest.split_once('?').unwrap_or((rest, ""));
    let query = if query.is_empty() { "" } else { "?…" };
    let (login, place) = plain
        .rsplit_once('@')
        .map_or((None, plain), |(login, place)| (Some(login), place));
    let user = login.map(|login| login.split_once(':').map_or(login, |(user, _)| user));
    match user {
        Some(user) => format!("{scheme}://{user}@{place}{query}"),
        None => format!("{scheme}://{place}{query}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_is_a_file_or_postgres_and_passwords_are_not_shown() {
        let shown = |text: &str| text.parse::<Place>().expect("a place").to_string();
        assert_eq!(shown("a/ledger.db"), "a/ledger.db");
        assert_eq!(
            shown("postgres://me:se@cret@db:5432/bills"),
            "postgres://me@db:5432/bills"
        );
        assert_eq!(
            shown("postgresql://db/bills?password=secret"),
            "postgresql://db/bills?…"
        );
        assert!("mysql://me:secret@db/bills".parse::<Place>().is_err());
        let error = "mysql://me:secret@db/bills"
            .parse::<Place>()
            .expect_err("refused");
        assert!(!error.to_string().contains("secret"), "{error}");
        assert!("".parse::<Place>().is_err());
    }
}
