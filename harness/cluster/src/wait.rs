//! Level-triggered, bounded waiting: look, and look again, and on time-out say what was seen last.
//! Knows nothing of what it waits for.
use std::time::{Duration, Instant};

use crate::{
    error::{Error, Result},
    progress::{Listener, Progress},
};

/// What one look found.
pub(crate) enum Look<T> {
    Is(T),
    /// Not yet, and what is there instead.
    NotYet(String),
}

/// A start's clock and listener.
#[derive(Clone, Copy)]
pub(crate) struct Waiter<'a> {
    pub since: Instant,
    pub listener: &'a dyn Listener,
}

impl<'a> Waiter<'a> {
    pub(crate) fn new(listener: &'a dyn Listener) -> Self {
        Waiter {
            since: Instant::now(),
            listener,
        }
    }

    pub(crate) fn reached(&self, what: impl Into<String>) {
        self.listener.on(Progress::Reached {
            at: self.since.elapsed(),
            what: what.into(),
        });
    }

    /// Looks every few milliseconds until it is so, an error comes or the limit is over.
    pub(crate) async fn until<T>(
        &self,
        what: &str,
        limit: Duration,
        mut look: impl AsyncFnMut() -> Result<Look<T>>,
    ) -> Result<T> {
        let begun = Instant::now();
        let mut said = begun;
        let mut pause = Duration::from_millis(5);
        loop {
            let last_seen = match look().await? {
                Look::Is(found) => return Ok(found),
                Look::NotYet(seen) => seen,
            };
            if begun.elapsed() >= limit {
                return Err(Error::TimedOut {
                    waiting_for: what.into(),
                    limit,
                    last_seen,
                    hint: String::new(),
                });
            }
            if said.elapsed() >= Duration::from_secs(2) {
                said = Instant::now();
                self.listener.on(Progress::Waiting {
                    at: self.since.elapsed(),
                    what: what.into(),
                    last_seen,
                });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    #[tokio::test]
    async fn a_timeout_says_what_was_seen_last() {
        let mut looks = 0;
        let failed = Waiter::new(&Silent)
            .until::<()>("the moon", Duration::ZERO, async || {
                looks += 1;
                Ok(Look::NotYet(format!("look {looks}")))
            })
            .await;
        let text = failed.expect_err("it never came").to_string();
        assert!(
            text.contains("the moon") && text.contains("look 1"),
            "{text}"
        );
    }
}
