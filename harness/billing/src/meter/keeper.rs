//! Writes what was heard into the ledger, and waits for a ledger that is away or full.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use super::{Heard, MeterError, Told};
use crate::fact::Fact;
use crate::ledger::{Appended, Cursor, Ledger, LedgerError};

/// How long a ledger that is away is left alone, at first and at most.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// How much is written at once at most.
const AT_ONCE: usize = 64;

/// Runs something that waits for a disk or a database beside the runtime.
pub(super) async fn blocking<T: Send + 'static>(
    run: impl FnOnce() -> Result<T, LedgerError> + Send + 'static,
) -> Result<T, MeterError> {
    match tokio::task::spawn_blocking(run).await {
        Ok(result) => Ok(result?),
        Err(_) => Err(MeterError::Ended),
    }
}

/// The ledger. One that a panic left is as sound as any: every change is one transaction.
pub(super) fn locked(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps what is heard; ends when `once` watches have said that they have caught up, else never of itself.
pub(super) async fn keep(
    mut hears: mpsc::Receiver<Vec<Heard>>,
    ledger: Arc<Mutex<Ledger>>,
    once: Option<usize>,
    tell: Arc<dyn Fn(Told) + Send + Sync>,
) -> Result<(), MeterError> {
    let mut caught_up = 0;
    let mut batch = Vec::new();
    loop {
        batch.clear();
        if hears.recv_many(&mut batch, AT_ONCE).await == 0 {
            return Err(MeterError::Ended);
        }
        caught_up += batch
            .iter()
            .flatten()
            .filter(|heard| heard.caught_up)
            .count();
        let mut facts = Vec::new();
        let mut cursors = Vec::new();
        for heard in batch.drain(..).flatten() {
            facts.extend(heard.facts);
            cursors.push(heard.cursor);
        }
        let kept = append(&ledger, facts, cursors, &tell).await?;
        if kept != Appended::default() {
            tell(Told::Kept {
                new: kept.new,
                known: kept.known,
            });
        }
        if once.is_some_and(|once| caught_up >= once) {
            tell(Told::CaughtUp);
            return Ok(());
        }
    }
}

async fn append(
    ledger: &Arc<Mutex<Ledger>>,
    facts: Vec<Fact>,
    cursors: Vec<Cursor>,
    tell: &Arc<dyn Fn(Told) + Send + Sync>,
) -> Result<Appended, MeterError> {
    let what = Arc::new((facts, cursors));
    let mut patience = PATIENCE.0;
    loop {
        let (ledger, what) = (Arc::clone(ledger), Arc::clone(&what));
        match blocking(move || locked(&ledger).append(&what.0, &what.1)).await {
            Err(MeterError::Ledger(error)) if error.may_pass() => {
                tell(Told::Trouble {
                    what: format!("{error}; tried again in {:.1} s", patience.as_secs_f32()),
                });
                tokio::time::sleep(patience).await;
                patience = (patience * 2).min(PATIENCE.1);
            }
            done => return done,
        }
    }
}
