//! Where instances lie: overlap, packing, and the id that follows from a placement.
//! Not here: what is allowed when (`engine`).
//! In: placements. Out: yes or no, a count, an id.
use crate::{ids::GiId, spec::Placement, units::Slices};

impl Placement {
    /// First slice after it.
    pub const fn end(self) -> u32 {
        self.start.saturating_add(self.size)
    }

    /// Whether the two share a slice.
    pub const fn overlaps(self, other: Placement) -> bool {
        self.start < other.end() && other.start < self.end()
    }
}

/// How many disjoint placements of one profile still fit beside `taken`.
///
/// All placements of a profile have one size, so taking them by ascending start is the best packing.
pub(crate) fn packing(
    candidates: impl Iterator<Item = Placement>,
    taken: impl Iterator<Item = Placement> + Clone,
) -> u32 {
    let mut free: Vec<Placement> = candidates
        .filter(|place| !taken.clone().any(|other| other.overlaps(*place)))
        .collect();
    free.sort_unstable();
    let mut count = 0;
    let mut next = 0;
    for place in free {
        if place.start >= next {
            count += 1;
            next = place.end();
        }
    }
    count
}

/// The GPU instance id (swizz id) of a placement: 0 the whole card, 1-2 its halves, 3-6 its quarters, 7-14 its eighths.
///
/// `flipped` cards count from the other half (seen on hardware: placement XOR 4 on cards of eight slices).
/// `None` if the placement is not one of those parts; no published placement is such.
pub(crate) fn gi_id(place: Placement, total: Slices, flipped: bool) -> Option<GiId> {
    let total = total.0;
    if place.size == total {
        return Some(GiId(0));
    }
    let first = [(2, 1), (4, 3), (8, 7)];
    let (_, base) = first
        .into_iter()
        .find(|(parts, _)| total.is_multiple_of(*parts) && total / parts == place.size)?;
    if !place.start.is_multiple_of(place.size) || place.end() > total {
        return None;
    }
    let start = match flipped {
        true => (place.start + total / 2) % total,
        false => place.start,
    };
    Some(GiId(base + start / place.size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_counts_disjoint_places() {
        let place = |start| Placement { start, size: 2 };
        let free = |taken: &[Placement]| {
            packing([3, 0, 1, 5].map(place).into_iter(), taken.iter().copied())
        };
        assert_eq!(free(&[]), 3, "0, 3 and 5; not 1 beside 0");
        assert_eq!(free(&[place(4)]), 1, "0 or 1");
        assert_eq!(free(&[Placement { start: 0, size: 8 }]), 0);
    }
}
