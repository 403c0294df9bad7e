//! What a card can be cut into, and what not: every layout, from the catalogue and the MIG engine. Pure.
//! Not here: how layouts are claimed (`steps::layout`).

use std::collections::{BTreeMap, BTreeSet};

use gpu_model::{GpuIndex, Machine, MigMode, Now, Op};

/// Profiles and how many of each.
pub(crate) type Layout = BTreeMap<String, u32>;

/// Layouts of a card.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Layouts {
    /// Those beside which no further partition fits.
    pub(crate) maximal: Vec<Layout>,
    /// Those that do not fit, although each with one partition less does.
    pub(crate) beyond: Vec<Layout>,
}

/// The layouts of a card of `machine` that is in MIG mode and not cut; empty where there is no such card.
pub(crate) fn of(machine: &Machine, index: GpuIndex) -> Layouts {
    let whole = machine
        .gpu(index)
        .ok()
        .filter(|gpu| gpu.mig_current == MigMode::Enabled);
    let Some(mig) = whole.and_then(|gpu| machine.spec(gpu).mig.clone()) else {
        return Layouts::default();
    };
    let mut fit: BTreeSet<Layout> = BTreeSet::new();
    let mut seen: BTreeSet<Vec<(u32, u32)>> = BTreeSet::new();
    let mut stack = vec![(machine.clone(), Vec::<(u32, u32)>::new(), Layout::new())];
    while let Some((machine, places, layout)) = stack.pop() {
        fit.insert(layout.clone());
        for profile in &mig.profiles {
            for place in profile.placements() {
                let create = Op::CreateGpuInstance {
                    gpu: index,
                    profile: profile.id,
                    placement: Some(place),
                };
                // The order in which a card is cut does not change what is on it.
                let mut places = places.clone();
                places.push((place.start, profile.id.0));
                places.sort_unstable();
                if seen.contains(&places) {
                    continue;
                }
                if let Ok((next, _)) = machine.apply(create, Now(0)) {
                    let mut layout = layout.clone();
                    *layout.entry(profile.name.clone()).or_default() += 1;
                    seen.insert(places.clone());
                    stack.push((next, places, layout));
                }
            }
        }
    }
    let with = |layout: &Layout, profile: &str| {
        let mut more = layout.clone();
        *more.entry(profile.to_owned()).or_default() += 1;
        more
    };
    let names: Vec<&str> = mig
        .profiles
        .iter()
        .map(|profile| profile.name.as_str())
        .collect();
    let mut layouts = Layouts::default();
    let mut beyond = BTreeSet::new();
    for layout in &fit {
        let more: Vec<Layout> = names.iter().map(|name| with(layout, name)).collect();
        if more.iter().all(|more| !fit.contains(more)) {
            layouts.maximal.push(layout.clone());
        }
        let over = more.into_iter().filter(|more| !fit.contains(more));
        beyond.extend(over.filter(|over| less(over).all(|less| fit.contains(&less))));
    }
    layouts.beyond = beyond.into_iter().collect();
    layouts
}

/// So many of the layouts: the first, the last, and what lies at even distances between them.
pub(crate) fn spread(layouts: &[Layout], count: usize) -> Vec<Layout> {
    let last = layouts.len().saturating_sub(1);
    let steps = count.saturating_sub(1);
    let mut chosen: Vec<usize> = (0..count)
        .map(|at| (at * last).checked_div(steps).unwrap_or(0))
        .collect();
    chosen.dedup();
    let layouts = chosen.into_iter().filter_map(|at| layouts.get(at));
    layouts.cloned().collect()
}

/// Each layout with one partition less.
fn less(layout: &Layout) -> impl Iterator<Item = Layout> + '_ {
    layout.keys().map(|profile| {
        let mut less = layout.clone();
        if let Some(count) = less.get_mut(profile) {
            *count -= 1;
        }
        less.retain(|_, count| *count > 0);
        less
    })
}

/// `2x1g.6gb + 2g.12gb`.
pub(crate) fn shown(layout: &Layout) -> String {
    let parts: Vec<String> = layout
        .iter()
        .map(|(profile, count)| match count {
            1 => profile.clone(),
            count => format!("{count}x{profile}"),
        })
        .collect();
    parts.join(" + ")
}

#[cfg(test)]
mod tests {
    use gpu_model::{Catalog, Options};

    use super::*;

    fn layouts(model: &str, mig: bool) -> Layouts {
        let catalog = Catalog::builtin();
        let card = catalog.model(model).expect("a model");
        let options = Options {
            mig,
            ..Options::default()
        };
        of(&Machine::build(&[(card, 1)], &options), GpuIndex(0))
    }

    #[test]
    fn an_a30_has_four_places_and_one_set_of_media_engines() {
        let layouts = layouts("A30-PCIE-24GB", true);
        let slices = |layout: &Layout| -> u32 {
            layout
                .iter()
                .map(|(profile, count)| count * profile[..1].parse::<u32>().expect("slices"))
                .sum()
        };
        assert!(
            layouts.maximal.iter().all(|it| slices(it) == 4),
            "{:?}",
            layouts.maximal
        );
        let plain: Vec<String> = layouts
            .maximal
            .iter()
            .filter(|it| it.keys().all(|profile| !profile.contains('+')))
            .map(shown)
            .collect();
        assert_eq!(
            plain,
            ["2x1g.6gb + 2g.12gb", "4x1g.6gb", "2x2g.12gb", "4g.24gb"]
        );
        let beyond: Vec<String> = layouts.beyond.iter().map(shown).collect();
        assert!(beyond.contains(&"5x1g.6gb".to_owned()), "{beyond:?}");
        assert!(beyond.contains(&"2x1g.6gb+me".to_owned()), "{beyond:?}");
        // A layout that fits is beyond nothing.
        assert!(
            layouts
                .beyond
                .iter()
                .all(|it| !layouts.maximal.contains(it))
        );
    }

    #[test]
    fn an_a100_holds_two_of_three_slices_and_then_nothing_more() {
        let layouts = layouts("A100-SXM4-40GB", true);
        let maximal: Vec<String> = layouts.maximal.iter().map(shown).collect();
        assert!(maximal.contains(&"2x3g.20gb".to_owned()), "{maximal:?}");
        assert!(maximal.contains(&"7x1g.5gb".to_owned()), "{maximal:?}");
        assert!(maximal.contains(&"7g.40gb".to_owned()), "{maximal:?}");
        assert!(!maximal.contains(&"4g.20gb + 4g.20gb".to_owned()));
    }

    #[test]
    fn a_sample_is_spread_from_the_first_to_the_last() {
        let layouts = layouts("A30-PCIE-24GB", true).maximal;
        for count in 1..=layouts.len() {
            let sample = spread(&layouts, count);
            assert_eq!(sample.len(), count);
            assert_eq!(sample.first(), layouts.first());
            assert!(count == 1 || sample.last() == layouts.last());
        }
        assert_eq!(spread(&layouts, layouts.len() + 3), layouts);
        assert_eq!(spread(&[], 2), []);
    }

    #[test]
    fn a_card_that_is_not_in_mig_mode_has_none() {
        assert_eq!(layouts("A30-PCIE-24GB", false), Layouts::default());
        assert_eq!(layouts("L40S", true), Layouts::default());
    }
}
