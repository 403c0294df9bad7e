//! The files of a run folder, written when the run ends, however it ends.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use crate::event::{Event, What};
use crate::log::{Log, Ndjson};
use crate::{Recorder, Sink, html, junit};

/// A report that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The file system refused.
    #[error(
        "cannot write the report {path}: {source}; free some space or choose another folder with --out"
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A format refused the data.
    #[error("cannot make the report {path}: {reason}")]
    Format {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// `junit.xml`, `results.json`, `report.html`, `e2e.log` and `events.ndjson` of one folder.
pub struct FileSinks {
    folder: PathBuf,
    recorder: Recorder,
    log: Log<File>,
    events: Ndjson<BufWriter<File>>,
}

impl FileSinks {
    /// Opens the streamed files of `folder`, which must exist.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub fn open(folder: &Path) -> Result<Self, SinkError> {
        let create = |name: &str| {
            let path = folder.join(name);
            File::create(&path).map_err(|source| SinkError::Write { path, source })
        };
        Ok(Self {
            folder: folder.to_owned(),
            recorder: Recorder::default(),
            log: Log::new(create("e2e.log")?),
            events: Ndjson {
                out: BufWriter::new(create("events.ndjson")?),
            },
        })
    }

    fn write(&self) -> Result<(), SinkError> {
        let results = self.recorder.results();
        let put = |name: &str, make: &dyn Fn() -> Result<String, String>| {
            let path = self.folder.join(name);
            let text = make().map_err(|reason| SinkError::Format {
                path: path.clone(),
                reason,
            })?;
            // Whole or not at all: a reader never meets half a report.
            let partial = self.folder.join(format!(".{name}.part"));
            std::fs::write(&partial, text)
                .and_then(|()| std::fs::rename(&partial, &path))
                .map_err(|source| SinkError::Write { path, source })
        };
        put("results.json", &|| {
            serde_json::to_string_pretty(results)
                .map(|text| text + "\n")
                .map_err(|e| e.to_string())
        })?;
        put("junit.xml", &|| {
            junit::document(results).map_err(|e| e.to_string())
        })?;
        put("report.html", &|| {
            html::document(results).map_err(|e| e.to_string())
        })
    }
}

impl Sink for FileSinks {
    fn on(&mut self, event: &Event) {
        self.recorder.on(event);
        self.log.on(event);
        self.events.on(event);
        // A run that is killed later still leaves a report of what it had.
        if matches!(event.what, What::ScenarioFinished { .. }) {
            let _ = self.write();
        }
    }

    fn finish(&mut self) -> Result<(), SinkError> {
        self.write()
    }
}
