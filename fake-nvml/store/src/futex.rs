//! Waiting for a change of the state without polling.
//! Not here: what has changed (`store`).
//! A futex on the generation's low word, shared by all processes that map the file (a read-only mapping will do).
use std::{sync::atomic::AtomicU32, time::Duration};

/// Sleeps until somebody wakes the word, it differs from `seen`, or the time is over. May wake early.
pub(crate) fn wait(word: &AtomicU32, seen: u32, timeout: Duration) {
    let timeout = libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    // SAFETY: `word` is a live, aligned 32-bit word; the operation is FUTEX_WAIT without PRIVATE, which only reads it;
    // `timeout` outlives the call. Any error (EAGAIN, EINTR, ETIMEDOUT) means: look again, which the caller does.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            seen.to_le(),
            std::ptr::from_ref(&timeout),
        );
    }
}

/// Wakes everybody who waits for the word.
pub(crate) fn wake(word: &AtomicU32) {
    // SAFETY: `word` is a live, aligned 32-bit word; FUTEX_WAKE does not touch its content.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE,
            libc::c_int::MAX,
        );
    }
}
