//! A recording: what each getter said, with its arguments.
//! Not how it was asked (`walk`).
//! JSON with a version; `recording.schema.json` beside this crate's manifest is made from these types by a test.
use crate::varies::{Class, Varies};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    fmt::Write,
    io,
    path::{Path, PathBuf},
};

/// The format that this program writes.
pub const FORMAT: u32 = 1;

/// What NVML said on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// The version of this format: 1.
    pub format: u32,
    /// Where it comes from.
    pub origin: Origin,
    /// Getters that the library did not have.
    #[serde(default)]
    pub absent: Vec<String>,
    /// What was asked, in order.
    pub calls: Vec<Call>,
}

/// Where a recording comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// How it was made.
    pub kind: OriginKind,
    /// When, as 2026-08-21T08:54:01Z.
    pub taken: String,
    /// By which program, with its version.
    pub tool: String,
    /// What `nvmlSystemGetDriverVersion` said.
    pub driver_version: Option<String>,
    /// What `nvmlSystemGetNVMLVersion` said.
    #[serde(default)]
    pub nvml_version: Option<String>,
    /// What `nvmlSystemGetCudaDriverVersion_v2` said: 13000 for 13.0.
    #[serde(default)]
    pub cuda_version: Option<i32>,
    /// Whether what identifies the machine was taken out.
    #[serde(default)]
    pub anonymous: bool,
    /// Where a capture was published.
    #[serde(default)]
    pub sources: Vec<String>,
    /// What else there is to know.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// How a recording was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OriginKind {
    /// By asking a machine.
    Machine,
    /// From somebody's published capture: only what it shows, in its units.
    Capture,
}

/// One call and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The function.
    pub function: String,
    /// The version of its struct, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// On what: system, gpu/0, gpu/0/mig/1, gpu/0/gi/2, gpu/0/gi/2/ci/0.
    pub on: String,
    /// The arguments that choose something.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, u64>,
    /// `nvmlReturn_t`, if it returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u32>,
    /// Why there is no code, or why the values are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// A capture's step where it rounds: values nearer than this are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granularity: Option<u64>,
    /// What it wrote, by name; `masked` where it was taken out.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub value: Map<String, Value>,
}

/// What kept a call from an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// No answer within the limit.
    TimedOut,
    /// The function had timed out before and was not called again.
    NotAskedAgain,
    /// The process died in it.
    Died,
    /// It wrote more than its struct holds: the driver has another layout.
    Overrun,
}

/// A recording that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// read, write
        doing: &'static str,
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is none.
    #[error("{}: no recording of ours: {why}; make one with fakegpu record", path.display())]
    Malformed {
        /// Where.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// It is of another version.
    #[error("{}: a recording of format {found}, this program reads {FORMAT}: record anew, or use the program that made it", path.display())]
    OtherVersion {
        /// Where.
        path: PathBuf,
        /// Its format.
        found: u64,
    },
}

/// What stands in place of what identifies a machine.
pub(crate) const MASKED: &str = "masked";

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    /// [`RecordingError`].
    pub fn read(path: &Path) -> Result<Self, RecordingError> {
        let text = std::fs::read_to_string(path).map_err(|source| RecordingError::File {
            doing: "read",
            path: path.to_owned(),
            source,
        })?;
        Self::parse(path, &text)
    }

    /// Reads the text of a recording; `path` is for messages.
    ///
    /// # Errors
    /// [`RecordingError`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, RecordingError> {
        let malformed = |why: String| RecordingError::Malformed {
            path: path.to_owned(),
            why,
        };
        let any: Value = serde_json::from_str(text).map_err(|e| malformed(e.to_string()))?;
        match any.get("format").and_then(Value::as_u64) {
            Some(found) if found == u64::from(FORMAT) => {}
            Some(found) => {
                return Err(RecordingError::OtherVersion {
                    path: path.to_owned(),
                    found,
                });
            }
            None => return Err(malformed("it has no format".to_owned())),
        }
        // From the text again: its errors tell the line.
        serde_json::from_str(text).map_err(|e| malformed(e.to_string()))
    }

    /// The recording as text: one call a line, so that two can be compared by eye.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{{\n\"format\": {},\n\"origin\": {},\n\"absent\": {},\n\"calls\": [\n",
            self.format,
            serde_json::to_string_pretty(&self.origin).unwrap_or_default(),
            line(&self.absent)
        );
        for (i, call) in self.calls.iter().enumerate() {
            let comma = if i + 1 < self.calls.len() { "," } else { "" };
            let _ = writeln!(text, "{}{comma}", line(call));
        }
        text + "]\n}\n"
    }

    /// Writes it.
    ///
    /// # Errors
    /// [`RecordingError::File`].
    pub fn write(&self, path: &Path) -> Result<(), RecordingError> {
        std::fs::write(path, self.text()).map_err(|source| RecordingError::File {
            doing: "write",
            path: path.to_owned(),
            source,
        })
    }

    /// Takes out what identifies the machine: UUIDs, serial numbers, addresses, processes.
    pub fn anonymise(&mut self, varies: &Varies) {
        for call in &mut self.calls {
            let function = call.function.clone();
            for (field, value) in &mut call.value {
                mask(&function, field, value, varies);
            }
        }
        self.origin.anonymous = true;
    }

    /// The answer to a call without arguments, if it succeeded.
    pub fn answer(&self, function: &str, on: &str) -> Option<&Map<String, Value>> {
        self.calls
            .iter()
            .find(|call| {
                call.function == function
                    && call.on == on
                    && call.code == Some(0)
                    && call.args.is_empty()
            })
            .map(|call| &call.value)
    }

    /// The calls of a function on a target that succeeded.
    pub fn answers<'r>(&'r self, function: &str, on: &str) -> impl Iterator<Item = &'r Call> {
        self.calls
            .iter()
            .filter(move |call| call.function == function && call.on == on && call.code == Some(0))
    }

    /// How many GPUs it shows.
    pub fn gpus(&self) -> u32 {
        let indices = self.calls.iter().filter_map(|call| {
            call.on
                .parse::<crate::Target>()
                .ok()
                .and_then(crate::Target::gpu)
        });
        indices.max().map_or(0, |last| last + 1)
    }
}

fn mask(function: &str, field: &str, value: &mut Value, varies: &Varies) {
    match value {
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| mask(function, field, item, varies)),
        Value::Object(fields) => {
            for (name, inner) in fields {
                mask(function, &format!("{field}.{name}"), inner, varies);
            }
        }
        Value::Bool(_) | Value::Null => {}
        other if varies.class(function, field) == Some(Class::Machine) => {
            *other = Value::String(MASKED.to_owned());
        }
        _ => {}
    }
}

/// One line of JSON.
fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_in_step() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recording.schema.json");
        let schema = serde_json::to_string_pretty(&schemars::schema_for!(Recording))
            .expect("a schema")
            + "\n";
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(&path, &schema).expect("written");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == schema,
            "recording.schema.json is out of step: run this test with UPDATE_SCHEMA=1"
        );
    }

    #[test]
    fn wrong_files_are_refused_by_name() {
        let error = |text: &str| {
            Recording::parse(Path::new("x.json"), text)
                .expect_err("it is wrong")
                .to_string()
        };
        assert_eq!(
            error(r#"{"format": 9}"#),
            "x.json: a recording of format 9, this program reads 1: record anew, or use the program that made it"
        );
        assert!(error("[]").contains("it has no format"));
        assert!(error("{").contains("no recording of ours"));
        assert!(error(r#"{"format": 1, "calls": []}"#).contains("missing field `origin`"));
    }
}
