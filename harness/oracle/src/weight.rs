//! The weight of a device in compute and memory slices, until there are prices. What is published says it, or it is unknown.
//! A partition says its compute slices in its attribute `profile` (`3g.20gb`: three); a device that draws all of its
//! counter sets is as heavy as the heaviest partition of them, for on every card that can be cut one takes all slices.
//! Memory slices are the counters `memory-slice-N` that it draws.

use std::cmp::Ordering;
use std::fmt;

use crate::names::Name;
use crate::objects::Scalar;
use crate::world::World;

/// The attribute that names a partition's profile.
const PROFILE: &str = "profile";
/// Counters of a memory slice begin so.
const MEMORY_SLICE: &str = "memory-slice-";

/// Slices of a card; `None` where nothing that is published says them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Weight {
    /// Compute slices.
    pub compute: Option<u32>,
    /// Memory slices.
    pub memory: Option<u32>,
}

impl Weight {
    /// Which is smaller: fewer compute slices, then fewer memory slices; `None` where compute slices are unknown.
    pub fn compare(&self, other: &Weight) -> Option<Ordering> {
        let by_compute = self.compute?.cmp(&other.compute?);
        let by_memory = || match (self.memory, other.memory) {
            (Some(mine), Some(other)) => mine.cmp(&other),
            _ => Ordering::Equal,
        };
        Some(by_compute.then_with(by_memory))
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.compute, self.memory) {
            (Some(compute), Some(memory)) => write!(
                f,
                "{}, {}",
                counted(compute, "compute slice"),
                counted(memory, "memory slice")
            ),
            (Some(compute), None) => f.write_str(&counted(compute, "compute slice")),
            (None, _) => f.write_str("unknown weight"),
        }
    }
}

/// `1 slice`, `2 slices`, `2 classes`, `2 entries`: so many of one, in words.
pub fn counted<N: Copy + PartialEq + From<u8> + fmt::Display>(count: N, one: &str) -> String {
    if count == N::from(1) {
        return format!("{count} {one}");
    }
    match one.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{count} {stem}ies"),
        _ if one.ends_with("ss") => format!("{count} {one}es"),
        _ => format!("{count} {one}s"),
    }
}

/// The compute slices that the name of a profile says: 3 of `3g.20gb` and `3g.20gb+me`, 1 of `1c.3g.20gb`.
pub fn compute_slices(profile: &str) -> Option<u32> {
    let number = |text: &str, unit: char| text.strip_suffix(unit)?.parse().ok();
    let mut parts = profile.split('.');
    let first = parts.next()?;
    let of_instance = |part: &str| number(part, 'g').is_some();
    match number(first, 'c') {
        Some(compute) if parts.next().is_some_and(of_instance) => Some(compute),
        _ => number(first, 'g'),
    }
}

impl World {
    /// The profile that a partition publishes.
    pub(crate) fn profile(&self, device: usize) -> Option<&Name> {
        self.text(device, PROFILE)
    }

    /// A published attribute of the driver's own domain that is one text.
    pub(crate) fn text(&self, device: usize, attribute: &str) -> Option<&Name> {
        let facts = &self.device(&self.devices[device]).facts;
        let own = || facts.attribute(&format!("{}/{attribute}", facts.driver));
        match facts.attributes.get(attribute).or_else(own)?.values() {
            [Scalar::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The memory slices that a device draws, by their numbers.
    pub(crate) fn memory_slices(&self, device: usize) -> Vec<u32> {
        let mut slices: Vec<u32> = self
            .draws
            .of(device)
            .iter()
            .filter(|(_, amount)| *amount > 0)
            .filter_map(|(counter, _)| memory_slice(&self.draws.counters[*counter].name))
            .collect();
        slices.sort_unstable();
        slices
    }

    /// The weight of a device.
    pub(crate) fn weight(&self, device: usize) -> Weight {
        let own = self
            .profile(device)
            .and_then(|profile| compute_slices(profile));
        let memory = self.memory_slices(device).len();
        Weight {
            compute: own.or_else(|| self.heaviest_beside(device)),
            memory: u32::try_from(memory).ok().filter(|slices| *slices > 0),
        }
    }

    /// Of a device that draws whole counter sets: the heaviest partition that draws on them.
    fn heaviest_beside(&self, device: usize) -> Option<u32> {
        let draws = self.draws.of(device);
        let all =
            |(counter, amount): &(usize, i128)| *amount == self.draws.counters[*counter].total;
        let (first, _) = draws.first()?;
        if self.profile(device).is_some() || !draws.iter().all(all) {
            return None;
        }
        let beside = |other: &usize| {
            let draws = self.draws.of(*other);
            draws.iter().any(|(counter, _)| counter == first)
        };
        self.devices_of(self.devices[device].pool)
            .filter(beside)
            .filter_map(|other| compute_slices(self.profile(other)?))
            .max()
    }
}

/// The number of a memory slice's counter.
pub(crate) fn memory_slice(counter: &str) -> Option<u32> {
    counter.strip_prefix(MEMORY_SLICE)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_say_their_compute_slices() {
        for (profile, slices) in [
            ("1g.5gb", Some(1)),
            ("1g.5gb+me", Some(1)),
            ("3g.20gb", Some(3)),
            ("7g.80gb", Some(7)),
            ("1c.3g.20gb", Some(1)),
            ("12c.7g.80gb", Some(12)),
            ("1c", None),
            ("g.5gb", None),
            ("vgpu-8", None),
            ("", None),
        ] {
            assert_eq!(compute_slices(profile), slices, "{profile}");
        }
    }

    #[test]
    fn counts_in_words() {
        let of = |one| [counted(1_usize, one), counted(2_usize, one)];
        assert_eq!(of("slice"), ["1 slice", "2 slices"]);
        assert_eq!(of("class"), ["1 class", "2 classes"]);
        assert_eq!(of("entry"), ["1 entry", "2 entries"]);
        assert_eq!(of("key"), ["1 key", "2 keys"]);
        assert_eq!(counted(-1_i64, "slice"), "-1 slices");
    }

    #[test]
    fn memory_decides_between_equal_compute_and_unknown_is_not_compared() {
        let weight = |compute, memory| Weight { compute, memory };
        let small = weight(Some(1), Some(1));
        assert_eq!(
            weight(Some(1), Some(2)).compare(&small),
            Some(Ordering::Greater)
        );
        assert_eq!(
            weight(Some(2), Some(1)).compare(&weight(Some(1), Some(4))),
            Some(Ordering::Greater)
        );
        assert_eq!(weight(Some(1), None).compare(&small), Some(Ordering::Equal));
        assert_eq!(weight(None, Some(1)).compare(&small), None);
    }
}
