//! The time for values that vary by themselves.
//! Not a fine clock: it ticks every few milliseconds and costs a few nanoseconds, which is what a getter can spend.
//! From the kernel's coarse real-time clock.

use gpu_model::Now;

/// The time of the last tick.
pub(crate) fn now() -> Now {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a clock that every Linux has, and a place for the time. Should it fail all the same, the time stays at the epoch.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut time) };
    let (seconds, nanos) = (
        u64::try_from(time.tv_sec).unwrap_or(0),
        u64::try_from(time.tv_nsec).unwrap_or(0),
    );
    Now(seconds * 1_000_000 + nanos / 1_000)
}

#[test]
fn it_is_the_time_of_day() {
    let fine = Now::from(std::time::SystemTime::now());
    let coarse = now();
    assert!(
        fine.since(coarse) < 1_000_000,
        "{coarse:?} lies far behind {fine:?}"
    );
    assert!(
        coarse.since(fine) < 1_000_000,
        "{coarse:?} lies far ahead of {fine:?}"
    );
}
