//! What an invoice says of each claim: its JSON, of which only the lines of claims are read.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use crate::fact::Uid;

/// What an invoice says of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invoiced {
    /// For how many seconds.
    pub seconds: i64,
    /// How much, one amount for each line, as it is written there.
    pub amounts: Vec<String>,
}

impl fmt::Display for Invoiced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for {} s", self.amounts.join(" + "), self.seconds)
    }
}

/// A file that is no invoice.
#[derive(Debug, thiserror::Error)]
#[error("this is no invoice as `sliceproof bill` writes it in JSON: {0}")]
pub struct NotAnInvoice(#[from] serde_json::Error);

#[derive(Deserialize)]
struct Invoice {
    lines: Vec<Line>,
}

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    kind: String,
    claim_uid: Option<String>,
    seconds: i64,
    #[serde(alias = "billed")]
    amount: serde_json::Value,
}

/// Reads the lines of claims.
///
/// # Errors
/// The text is no invoice.
pub fn invoiced(text: &str) -> Result<BTreeMap<Uid, Invoiced>, NotAnInvoice> {
    let invoice: Invoice = serde_json::from_str(text)?;
    let mut of = BTreeMap::<Uid, Invoiced>::new();
    for line in invoice
        .lines
        .into_iter()
        .filter(|line| line.kind != "administrative")
    {
        let Some(uid) = line.claim_uid else { continue };
        let known = of.entry(uid.into()).or_default();
        known.seconds += line.seconds;
        known.amounts.push(match line.amount {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        });
    }
    Ok(of)
}
