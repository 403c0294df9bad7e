//! The way from a C call into our code and back.
//! Not the decisions: those are closures that come in. Whatever happens inside, a number goes out: a panic is UNKNOWN.
//! Calls that need init are refused here before it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::session::{self, Session};
use crate::status::{Result, Return, Status, code_of};
use crate::view::{self, View};

/// Runs `body`; init is not needed.
#[inline]
pub(crate) fn guard(body: impl FnOnce() -> Result) -> Return {
    // A panic leaves no broken state behind: what bodies share is the state file, which changes in one flip, and locks, whose
    // guards release them.
    code_of(catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(Status::Unknown)))
}

/// Runs `body` with the state as of now.
#[inline]
pub(crate) fn with_view(body: impl FnOnce(&View) -> Result) -> Return {
    guard(|| view::with_current(body))
}

/// Runs `body` with the session.
#[inline]
pub(crate) fn with_session(body: impl FnOnce(&'static Session) -> Result) -> Return {
    guard(|| body(session::current()?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This test is linked with the same unwinder as the library (see `unwind`).
    #[test]
    fn a_panic_is_a_code() {
        let numbers: Vec<u32> = Vec::new();
        let code = guard(|| {
            numbers.get(7).expect("nothing is there");
            Ok(())
        });
        assert_eq!(code, Status::Unknown.raw());
        assert_eq!(guard(|| Err(Status::InUse)), 19);
        assert_eq!(guard(|| Ok(())), 0);
    }
}
