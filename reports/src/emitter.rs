//! Stamps what happens and hands it to every sink.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use jiff::Timestamp;

use crate::{EVENT_SCHEMA, Event, Sink, SinkError, What};

/// The one door by which events enter the stream. Cheap to clone; clones share the stream.
#[derive(Clone)]
pub struct Emitter {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    started: Instant,
    seq: u64,
    sinks: Vec<Box<dyn Sink>>,
}

impl Emitter {
    /// A stream into `sinks`; its clock starts now.
    #[must_use]
    pub fn new(sinks: Vec<Box<dyn Sink>>) -> Self {
        Self {
            inner: Arc::new(Mutex::new(Inner {
                started: Instant::now(),
                seq: 0,
                sinks,
            })),
        }
    }

    /// Stamps `what` and gives it to every sink.
    pub fn emit(&self, what: What) {
        let mut inner = self.lock();
        let event = Event {
            schema: EVENT_SCHEMA,
            seq: inner.seq,
            at: Timestamp::now(),
            elapsed_ms: u64::try_from(inner.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            what,
        };
        inner.seq += 1;
        for sink in &mut inner.sinks {
            sink.on(&event);
        }
    }

    /// Milliseconds since the stream was opened.
    #[must_use]
    pub fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.lock().started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Lets every sink write what it still holds.
    #[must_use]
    pub fn finish(&self) -> Vec<SinkError> {
        self.lock()
            .sinks
            .iter_mut()
            .filter_map(|sink| sink.finish().err())
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A sink that panicked has lost an event; the others still want theirs.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Emitter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emitter").finish_non_exhaustive()
    }
}
