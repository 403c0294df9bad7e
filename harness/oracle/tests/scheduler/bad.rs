//! Bad input, one row per kind: does a real API server take it, does the oracle, and do both name one place?
//! A row expects nothing but that: what is right is computed by the server.

#[path = "bad/claims.rs"]
mod claims;
#[path = "bad/slices.rs"]
mod slices;

use oracle::Gates;
use serde_json::{Value, json};

use crate::judge;
use crate::plane::Plane;
use crate::store::{self, No};

/// A row of the table.
pub(crate) struct Row {
    name: &'static str,
    kind: &'static str,
    object: Value,
}

fn row(name: &'static str, kind: &'static str, spec: Value) -> Row {
    Row {
        name,
        kind,
        object: json!({"spec": spec}),
    }
}

/// How the sides stand to a row.
#[derive(Debug, PartialEq)]
enum Came {
    Taken,
    Refused,
    /// The server cannot read it and says no place.
    Unread,
}

pub(crate) fn table(plane: &Plane, gates: &Gates) -> Result<(), String> {
    let rows: Vec<Row> = claims::rows().into_iter().chain(slices::rows()).collect();
    let mut wrong = Vec::new();
    let mut count = [0; 3];
    for (at, row) in rows.iter().enumerate() {
        match plane.block_on(one(plane, gates, at, row))? {
            Ok(came) => count[came as usize] += 1,
            Err(how) => wrong.push(format!("{}: {how}", row.name)),
        }
    }
    let [taken, refused, unread] = count;
    println!(
        "{} kinds of bad input: {refused} refused by both at one place, {unread} that cannot be read, {taken} taken by both, \
         {} otherwise",
        rows.len(),
        wrong.len()
    );
    if wrong.is_empty() && refused > taken {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

async fn one(
    plane: &Plane,
    gates: &Gates,
    at: usize,
    row: &Row,
) -> Result<Result<Came, String>, String> {
    let mut object = row.object.clone();
    object["metadata"] = json!({"name": format!("bad-{at}")});
    if ["ResourceClaim", "ResourceClaimTemplate"].contains(&row.kind) {
        object["metadata"]["namespace"] = json!("default");
    }
    let real = store::create(plane.client(), row.kind, &object).await?;
    let found = judge::findings(row.kind, &object, gates);
    let shown = || {
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        found.join("; ")
    };
    Ok(match &real {
        Ok(_) if found.is_empty() => Ok(Came::Taken),
        Ok(_) => Err(format!("the server takes it, the oracle: {}", shown())),
        Err(no) if found.is_empty() => Err(format!("the oracle takes it, the server: {no}")),
        Err(no) if no.code == 400 => Ok(Came::Unread),
        Err(no) if !judge::agrees(&found, no) => {
            Err(format!("the server: {no}\n    the oracle: {}", shown()))
        }
        Err(no) => expression_place(no, &shown()).map(|()| Came::Refused),
    })
}

/// Where the server says the line and column of an expression's error, the oracle says the same.
fn expression_place(no: &No, shown: &str) -> Result<(), String> {
    let Some((_, rest)) = no.message.split_once("<input>:") else {
        return Ok(());
    };
    let mut numbers = rest.split(':');
    let (line, column) = (
        numbers.next().unwrap_or_default(),
        numbers.next().unwrap_or_default(),
    );
    let wanted = format!("line {line}, column {column}");
    if shown.contains(&wanted) {
        Ok(())
    } else {
        Err(format!("the server: {no}\n    the oracle: {shown}"))
    }
}
