//! The real allocator and the oracle, each asked the same case.

use serde_json::{Value, json};

use crate::compare;
use crate::generate::Case;
use crate::pipe::Pipe;
use crate::said::Said;

fn question(case: &Case) -> Value {
    let mut question = case.objects.clone();
    question["variant"] = json!(case.variant.as_str());
    let gates = case.gates.iter().map(|gate| gate.name());
    question["features"] = json!(gates.collect::<Vec<_>>());
    question
}

fn said(answer: &Value) -> Said {
    let text = answer["error"].as_str().unwrap_or_default().to_owned();
    if answer["timedOut"] == json!(true) {
        return Said::TooLong;
    }
    if !text.is_empty() {
        return if answer["onNode"] == json!(true) {
            Said::No(text)
        } else {
            Said::Error(text)
        };
    }
    match answer["allocations"].as_array() {
        Some(allocations) => Said::Allocated(json!(
            allocations
                .iter()
                .map(crate::form::of_api)
                .collect::<Vec<_>>()
        )),
        None => Said::No("no allocation".to_owned()),
    }
}

/// A case on which the two sides differ.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) allocator: Said,
    pub(crate) oracle: Vec<Said>,
}

impl Difference {
    /// What kind of difference it is, so that shrinking does not end at another one.
    pub(crate) fn kind(&self) -> (u8, Vec<u8>) {
        let number = |said: &Said| match said {
            Said::Allocated(_) => 0,
            Said::No(_) => 1,
            Said::Error(_) => 2,
            Said::TooLong => 3,
        };
        let mut right: Vec<u8> = self.oracle.iter().map(number).collect();
        right.dedup();
        (number(&self.allocator), right)
    }
}

/// What came of asking both.
pub(crate) struct Compared {
    pub(crate) right: Vec<Said>,
    pub(crate) difference: Option<Difference>,
}

/// Asks both; an error when the case cannot be asked.
pub(crate) fn compare(case: &Case, allocator: &mut Pipe) -> Result<Compared, String> {
    let right = compare::oracle(case)?;
    let real = allocator
        .ask(&question(case))
        .map(|answer| said(&answer))
        .map_err(|error| error.to_string())?;
    let same = compare::any_agrees(&right, &real);
    let difference = (!same).then(|| Difference {
        allocator: real,
        oracle: right.clone(),
    });
    Ok(Compared { right, difference })
}
