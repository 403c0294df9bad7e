//! Differences that are explained: the oracle with a quirk of `oracle::Quirk` says exactly what the allocator says.

use oracle::{Quirk, Quirks};

use crate::compare;
use crate::generate::Case;
use crate::said::Said;

/// The quirks that explain the difference: one, or else all that are known together.
pub(crate) fn explained(case: &Case, real: &Said) -> Option<&'static str> {
    let agrees = |quirks: Quirks| {
        compare::oracle_with(case, quirks).is_ok_and(|right| compare::any_agrees(&right, real))
    };
    let mut quirks = Quirk::ALL
        .iter()
        .filter(|quirk| quirk.is_of(case.gates.version(), case.variant));
    if let Some(quirk) = quirks.find(|quirk| agrees(Quirks::from_iter([**quirk]))) {
        return Some(quirk.name());
    }
    agrees(Quirks::of(case.gates.version(), case.variant)).then_some("several together")
}
