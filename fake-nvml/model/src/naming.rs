//! How partitions are named.
//! Not here: the names themselves (they stand in the catalogue and are checked against this).
//! The rule is go-nvlib's (mig_profile.go); clients compute names by it, so memory sizes decide names.
use crate::{spec::GiProfileIndex, units::MiB};

/// `<G>g.<GB>gb`, or `<C>c.<G>g.<GB>gb` for a part of a GPU instance, plus the suffix of the constant.
pub fn profile(
    compute: u32,
    slices: u32,
    memory: MiB,
    total: MiB,
    index: GiProfileIndex,
) -> String {
    let gb = gigabytes(memory, total);
    let suffix = index.suffix();
    if compute == slices {
        format!("{slices}g.{gb}gb{suffix}")
    } else {
        format!("{compute}c.{slices}g.{gb}gb{suffix}")
    }
}

/// The share of memory rounded up to eighths, times the card's memory rounded up to whole GiB, rounded half away from zero.
fn gigabytes(memory: MiB, total: MiB) -> u64 {
    let eighths = (8 * memory.0).div_ceil(total.0.max(1));
    let whole = total.0.div_ceil(1024);
    (eighths * whole * 2 + 8) / 16
}
