//! The way from a C call into our code and back.
//! Not the decisions: those are closures that come in. Whatever happens inside, a number goes out: a panic is UNKNOWN.
//! Calls that need init are refused here before it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::hooks::{Line, Watch};
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

/// Runs `body` with the state as of now. `body` stands here once: what is watched and what is not share its code.
#[inline]
pub(crate) fn with_view(calling: impl Calling, body: impl FnOnce(&View) -> Result) -> Return {
    guard(|| {
        view::with_current(|view| {
            let watch = match view.watches_calls() {
                false => None,
                true => Some(watch(view, &calling)?),
            };
            let result = body(view);
            match watch {
                None => result,
                Some(watch) => over(watch, result, &calling),
            }
        })
    })
}

/// Runs `body` with the session.
#[inline]
pub(crate) fn with_session(
    calling: impl Calling,
    body: impl FnOnce(&'static Session) -> Result,
) -> Return {
    guard(|| {
        let watch = view::with_current(|view| {
            view.watches_calls()
                .then(|| watch(view, &calling))
                .transpose()
        })?;
        let result = session::current().and_then(|(session, _)| body(session));
        match watch {
            None => result,
            Some(watch) => over(watch, result, &calling),
        }
    })
}

/// Runs `body`, which works before init. Such calls can be watched too, where a state file is there.
pub(crate) fn free<C: Calling>(calling: C, body: impl FnOnce() -> Result) -> Return {
    guard(|| {
        let show = |line: &mut Line| calling.show(line);
        let watch =
            match session::at_hand() {
                Some((session, snapshot)) if snapshot.machine.watches_calls() => Some(
                    Watch::begin(session, &snapshot.machine, C::FUNCTION, &show)?,
                ),
                _ => None,
            };
        let result = body();
        match watch {
            Some(watch) => watch.over(result, &show),
            None => result,
        }
    })
}

#[cold]
#[inline(never)]
fn watch<C: Calling>(view: &View, calling: &C) -> Result<Box<Watch>> {
    Watch::begin(view.session(), view.machine(), C::FUNCTION, &|line| {
        calling.show(line)
    })
}

#[cold]
#[inline(never)]
fn over<C: Calling>(watch: Box<Watch>, result: Result, calling: &C) -> Result {
    watch.over(result, &|line| calling.show(line))
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
