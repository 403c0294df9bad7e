//! Every layout that a card can have, against rules written down a second time.
use super::*;
use std::collections::{BTreeMap, BTreeSet};

type Layout = BTreeSet<(u32, Placement)>;

/// What the facts say, apart from the engine: places do not overlap, and a profile's instances are limited.
fn allowed(layout: &Layout, profile: &GiProfile, place: Placement) -> bool {
    let cells = |p: Placement| p.start..p.start + p.size;
    let taken: BTreeSet<u32> = layout.iter().flat_map(|(_, p)| cells(*p)).collect();
    let same = layout.iter().filter(|(id, _)| *id == profile.id.0).count();
    cells(place).all(|cell| !taken.contains(&cell)) && same < profile.instances as usize
}

#[test]
fn every_reachable_layout_obeys_the_rules() {
    for model in ["A100-SXM4-40GB", "H100-SXM5-80GB"] {
        let start = Bench::new(model).machine;
        let spec = start.specs[0].clone();
        let mig = spec.mig.as_ref().unwrap();
        let places: Vec<(&GiProfile, Placement)> = mig
            .profiles
            .iter()
            .flat_map(|p| p.placements().map(move |place| (p, place)))
            .collect();
        assert_eq!(
            places.len(),
            25,
            "as many as a DRA driver publishes per card"
        );
        let mut seen: BTreeMap<Layout, u32> = BTreeMap::new();
        let mut todo = vec![(Layout::new(), start)];
        let mut maximal = 0;
        while let Some((layout, machine)) = todo.pop() {
            let gpu = machine.gpu(GPU).unwrap();
            let used = gpu.slices_used(mig).0;
            assert!(used <= 7, "{layout:?}");
            if seen.insert(layout.clone(), used).is_some() {
                continue;
            }
            let mut open = 0;
            for (profile, place) in &places {
                let op = Op::CreateGpuInstance {
                    gpu: GPU,
                    profile: profile.id,
                    placement: Some(*place),
                };
                let answer = machine.apply(op, Now(1));
                let fits = allowed(&layout, profile, *place);
                assert_eq!(
                    answer.is_ok(),
                    fits,
                    "{model}: {} at {place} in {layout:?}",
                    profile.name
                );
                match answer {
                    Ok((next, _)) => {
                        open += 1;
                        let mut with = layout.clone();
                        with.insert((profile.id.0, *place));
                        if !seen.contains_key(&with) {
                            todo.push((with, next));
                        }
                    }
                    Err(refusal) => assert_eq!(refusal.code(), Code::InsufficientResources),
                }
            }
            for profile in &mig.profiles {
                let remaining = machine.remaining(gpu, profile).unwrap();
                assert_eq!(
                    remaining,
                    best(&layout, profile),
                    "{} in {layout:?}",
                    profile.name
                );
            }
            maximal += u32::from(open == 0);
        }
        let plain = seen
            .keys()
            .filter(|layout| layout.iter().all(|(id, _)| *id != 20))
            .count();
        // Without +me: (6 * 6 + 2) ways for the first half, (6 * 3 + 1) for the second, and the whole card.
        assert_eq!(plain, 38 * 19 + 1, "{model}");
        assert!(maximal > 0);
    }
}

/// The most instances of one profile that fit, by trying everything.
fn best(layout: &Layout, profile: &GiProfile) -> u32 {
    let mut most = 0;
    for place in profile.placements() {
        if allowed(layout, profile, place) {
            let mut with = layout.clone();
            with.insert((profile.id.0, place));
            // Places of one profile are disjoint or equal, so the first that fits is as good as any.
            most = 1 + best(&with, profile);
            break;
        }
    }
    most
}
