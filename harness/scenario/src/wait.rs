//! Waiting: level-triggered, bounded, and with the last state in the failure.

use std::time::Duration;

use report::Failure;
use tokio::time::Instant;

/// What a probe sees.
pub(crate) enum Probe<T> {
    /// It is so.
    Ready(T),
    /// Not yet; this is the state.
    NotYet(String),
}

/// How often the state is looked at.
const EVERY: Duration = Duration::from_millis(100);

/// Looks until `probe` is ready. `tell` hears each new state.
///
/// The probe's own failure ends the waiting at once: it is for states from which there is no way back.
pub(crate) async fn until<T>(
    limit: Duration,
    what: &str,
    tell: impl Fn(&str),
    mut probe: impl AsyncFnMut() -> Result<Probe<T>, Failure>,
) -> Result<T, Failure> {
    let start = Instant::now();
    let mut last = String::new();
    loop {
        match probe().await? {
            Probe::Ready(value) => return Ok(value),
            Probe::NotYet(state) => {
                if state != last {
                    tell(&state);
                    last = state;
                }
            }
        }
        if start.elapsed() >= limit {
            return Err(Failure::new(format!("{what}: not within {}", plain(limit))).last(last));
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// What it means that [`until`] waited in vain, by the last state that it saw. Whatever else went wrong stays as it is.
pub(crate) fn in_vain(mut failure: Failure, means: impl FnOnce(String) -> Failure) -> Failure {
    match failure.last_state.take() {
        Some(seen) => means(seen),
        None => failure,
    }
}

fn plain(limit: Duration) -> String {
    match limit.as_secs() {
        0 => format!("{} ms", limit.as_millis()),
        1 => "1 second".to_owned(),
        seconds => format!("{seconds} seconds"),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_failure_carries_the_last_state_and_each_state_is_told_once() {
        let told = RefCell::new(Vec::new());
        let mut looks = 0;
        let failure = until::<()>(
            Duration::from_secs(1),
            "the pod runs",
            |state| told.borrow_mut().push(state.to_owned()),
            async || {
                looks += 1;
                Ok(Probe::NotYet(if looks < 3 {
                    "pulling".to_owned()
                } else {
                    "starting".to_owned()
                }))
            },
        )
        .await
        .expect_err("it never runs");
        assert_eq!(failure.summary, "the pod runs: not within 1 second");
        assert_eq!(failure.last_state.as_deref(), Some("starting"));
        assert_eq!(*told.borrow(), ["pulling", "starting"]);
    }

    #[tokio::test(start_paused = true)]
    async fn it_looks_once_more_before_it_gives_up_and_ends_at_once_on_a_dead_end() {
        let ready = until(Duration::ZERO, "x", |_| {}, async || Ok(Probe::Ready(7))).await;
        assert_eq!(ready.expect("at once"), 7);
        let start = Instant::now();
        let dead = until::<()>(
            Duration::from_secs(60),
            "x",
            |_| {},
            async || Err(Failure::new("crashed")),
        )
        .await;
        assert_eq!(dead.expect_err("dead end").summary, "crashed");
        assert!(start.elapsed() < Duration::from_secs(1));
    }
}
