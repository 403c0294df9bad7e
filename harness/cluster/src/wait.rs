//! Level-triggered, bounded waiting: look, and look again, and on time-out say what was seen last.
//! Knows nothing of what it waits for.
use std::time::{Duration, Instant};

use crate::{
    error::{Error, Result},
    progress::{Listener, Progress},
};

/// What one look may take at least, also at the end of a limit.
const ONE_LOOK: Duration = Duration::from_secs(1);

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
        let mut last_seen = String::from("nothing yet");
        loop {
            // Whoever does not answer must not stretch the limit.
            let left = limit.saturating_sub(begun.elapsed()).max(ONE_LOOK);
            last_seen = match tokio::time::timeout(left, look()).await {
                Ok(Ok(Look::Is(found))) => return Ok(found),
                Ok(Ok(Look::NotYet(seen))) => seen,
                Ok(Err(error)) => return Err(error),
                Err(_) => format!("{last_seen}; then no answer for {} s", left.as_secs()),
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
                    last_seen: last_seen.clone(),
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

    #[tokio::test]
    async fn a_look_without_an_answer_does_not_stretch_the_limit() {
        let failed = Waiter::new(&Silent)
            .until::<()>("the moon", Duration::ZERO, async || {
                std::future::pending().await
            })
            .await;
        let text = failed.expect_err("it never came").to_string();
        assert!(text.contains("no answer for 1 s"), "{text}");
    }
}
