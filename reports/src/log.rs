//! `e2e.log`: every event as a line of text with its time, for people and for `grep`; `events.ndjson`: the same as data.

use std::io::Write;

use crate::Sink;
use crate::event::{Event, What};
use crate::line::Lines;

/// Writes every event as text.
pub struct Log<W> {
    out: W,
    lines: Lines,
}

impl<W: Write + Send> Log<W> {
    /// Text to `out`.
    pub fn new(out: W) -> Self {
        Self {
            out,
            lines: Lines::new(false, ".".to_owned()),
        }
    }
}

impl<W: Write + Send> Sink for Log<W> {
    fn on(&mut self, event: &Event) {
        let mut lines = self.lines.of(event);
        match &event.what {
            What::PhaseStarted { phase } => lines.push(format!("{phase} …")),
            What::PhaseProgress { phase, detail } => lines.push(format!("{phase}: {detail}")),
            What::StepStarted { scenario, step } => {
                lines.push(format!("> {}", self.lines.step_text(*scenario, *step)));
            }
            What::StepWaiting { state, .. } => lines.push(format!("  waits: {state}")),
            What::EnvironmentKnown(environment) => {
                for (name, version) in &environment.components {
                    lines.push(format!("component {name} {version}"));
                }
            }
            What::EvidenceKept { files, .. } => {
                lines.extend(files.iter().map(|file| format!("  evidence {file}")))
            }
            _ => {}
        }
        for line in lines {
            // A full disk is reported by the sinks that end with the run; the log is best effort.
            let _ = writeln!(self.out, "{} {line}", event.at);
        }
        let _ = self.out.flush();
    }
}

/// Writes every event as one line of JSON.
pub(crate) struct Ndjson<W> {
    pub(crate) out: W,
}

impl<W: Write + Send> Sink for Ndjson<W> {
    fn on(&mut self, event: &Event) {
        if let Ok(line) = serde_json::to_string(event) {
            let _ = writeln!(self.out, "{line}");
            let _ = self.out.flush();
        }
    }
}
