//! The real allocator: a process of ours that links it and answers one line per case.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::compare;
use crate::generate::Case;
use crate::said::Said;

pub(crate) struct Allocator {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Allocator {
    pub(crate) fn start(program: &Path) -> std::io::Result<Self> {
        let mut child = Command::new(program)
            .env("GOMAXPROCS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take();
        let output = child
            .stdout
            .take()
            .ok_or_else(|| std::io::Error::other("the allocator has no output"))?;
        Ok(Allocator {
            child,
            input,
            output: BufReader::new(output),
        })
    }

    pub(crate) fn ask(&mut self, case: &Case) -> std::io::Result<Said> {
        let input = self
            .input
            .as_mut()
            .ok_or_else(|| std::io::Error::other("the allocator has no input"))?;
        input.write_all(line(case).as_bytes())?;
        input.flush()?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        said(&serde_json::from_str(&answer)?)
    }
}

impl Drop for Allocator {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

fn line(case: &Case) -> String {
    let mut question = case.objects.clone();
    if let Value::Object(map) = &mut question {
        map.insert("variant".to_owned(), json!(case.variant.as_str()));
        map.insert(
            "features".to_owned(),
            json!(
                case.gates
                    .iter()
                    .map(|gate| gate.name())
                    .collect::<Vec<_>>()
            ),
        );
    }
    format!("{question}\n")
}

fn said(answer: &Value) -> std::io::Result<Said> {
    let text = answer["error"].as_str().unwrap_or_default().to_owned();
    if answer["timedOut"] == json!(true) {
        return Ok(Said::TooLong);
    }
    if !text.is_empty() {
        return Ok(if answer["onNode"] == json!(true) {
            Said::No(text)
        } else {
            Said::Error(text)
        });
    }
    match answer["allocations"].as_array() {
        Some(allocations) => Ok(Said::Allocated(json!(
            allocations
                .iter()
                .map(crate::form::of_api)
                .collect::<Vec<_>>()
        ))),
        None => Ok(Said::No("no allocation".to_owned())),
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
pub(crate) fn compare(case: &Case, allocator: &mut Allocator) -> Result<Compared, String> {
    let right = compare::oracle(case)?;
    let real = allocator.ask(case).map_err(|error| error.to_string())?;
    let same = compare::any_agrees(&right, &real);
    let difference = (!same).then(|| Difference {
        allocator: real,
        oracle: right.clone(),
    });
    Ok(Compared { right, difference })
}
