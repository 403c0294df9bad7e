//! The way from a C call into our code and back.
//! Not the decisions: those are closures that come in. Whatever happens inside, a number goes out: a panic is UNKNOWN.
//! Calls that need init are refused here before it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gpu_model::Machine;

use crate::hooks::{self, Line};
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

/// What `hooks` may want to know of a call: its name, and its arguments on a line.
pub(crate) trait Calling: Sized {
    const FUNCTION: &'static str;
    fn show(&self, line: &mut Line);
}

/// Runs `body` with the state as of now.
#[inline]
pub(crate) fn with_view(calling: impl Calling, body: impl FnOnce(&View) -> Result) -> Return {
    guard(|| {
        let mut body = Some(body);
        let answer = view::with_current(|view| {
            if view.watches_calls() {
                return Err(Status::Unknown);
            }
            body.take().map_or(Err(Status::Unknown), |body| body(view))
        });
        match body {
            Some(body) if session::cycle() != 0 => watched(&calling, || view::with_current(body)),
            _ => answer,
        }
    })
}

/// Runs `body` with the session.
#[inline]
pub(crate) fn with_session(
    calling: impl Calling,
    body: impl FnOnce(&'static Session) -> Result,
) -> Return {
    guard(|| {
        if view::with_current(|view| Ok(view.watches_calls()))? {
            watched(&calling, || body(session::current()?.0))
        } else {
            body(session::current()?.0)
        }
    })
}

/// Runs `body`, which works before init. Such calls can be watched too, where a state file is there.
pub(crate) fn free(calling: impl Calling, body: impl FnOnce() -> Result) -> Return {
    guard(|| match session::at_hand() {
        Some((session, snapshot)) if snapshot.machine.watches_calls() => {
            around(session, &snapshot.machine, &calling, body)
        }
        _ => body(),
    })
}

#[cold]
fn watched<C: Calling>(calling: &C, body: impl FnOnce() -> Result) -> Result {
    let view = view::latest()?;
    around(view.session(), view.machine(), calling, body)
}

fn around<C: Calling>(
    session: &Session,
    machine: &Machine,
    calling: &C,
    body: impl FnOnce() -> Result,
) -> Result {
    hooks::around(
        session,
        machine,
        C::FUNCTION,
        &|line| calling.show(line),
        body,
    )
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
