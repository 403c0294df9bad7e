//! The doctor: what is wrong with how a cluster shares its GPUs, and what mends it.
//! Not here: how the objects are had, and whether one claim can be served (`oracle` says that).
//! Data comes as API objects ([`Seen`]); findings go out, each with its remedy. Nothing is read, written or timed here.
#![forbid(unsafe_code)]

mod access;
mod apis;
mod claims;
mod classes;
mod finding;
mod machines;
mod menu;
mod nodes;
mod order;
mod pods;
mod pools;
mod quota;
mod seen;
mod vendor;

pub use finding::{Check, Examined, Finding, Level};
pub use seen::{Readable, Seen};

/// Everything that can be said of a cluster, a part for each [`Check`], in the order of the way from the API to the pod.
#[must_use]
pub fn examine(seen: &Seen) -> Vec<Examined> {
    let menu = menu::Menu::read(seen);
    vec![
        apis::examine(seen),
        nodes::examine(seen),
        access::examine(seen),
        pools::examine(&menu),
        order::examine(&menu),
        classes::examine(seen, &menu),
        claims::examine(seen),
        quota::examine(seen, &menu),
        machines::examine(seen),
        Examined::left_out(Check::Meter, "there is no meter of ours to ask yet"),
    ]
}
