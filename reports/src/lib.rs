//! What a run says about itself: typed events, and the sinks that turn them into evidence.
//! Not here: what a scenario means, and anything that talks to a cluster.
//! Data comes from the runner as [`Event`]s and goes to terminals and files of one run folder.
#![forbid(unsafe_code)]

mod emitter;
mod event;
mod files;
pub mod html;
mod junit;
mod line;
mod log;
pub mod matrix;
mod record;
mod sink;
mod terminal;

pub use emitter::Emitter;
pub use event::{
    Card, Chart, EVENT_SCHEMA, Environment, EnvironmentKind, Event, Failure, Frequency,
    NodePicture, Outcome, Partition, Picture, PlannedScenario, PlannedStep, RunEnd, RunStarted,
    Series, Table, Unplayed, Waiting, What,
};
pub use files::{FileSinks, SinkError};
pub use line::Plain;
pub use log::Log;
pub use record::{RESULTS_SCHEMA, Recorder, Results, ScenarioResult, StepResult, Totals};
pub use sink::Sink;
pub use terminal::Terminal;

/// A duration as people read it: `0.4 s`, `12.3 s`, `2 min 05 s`.
#[must_use]
pub fn human(millis: u64) -> String {
    if millis < 100_000 {
        #[allow(
            clippy::cast_precision_loss,
            reason = "a figure for people, below 100 000"
        )]
        let seconds = millis as f64 / 1000.0;
        format!("{seconds:.1} s")
    } else {
        let seconds = millis / 1000;
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}
