//! Every layout that a card can have, found a second time by brute force from the placements alone, and published sets.
use super::*;
use std::collections::{BTreeMap, BTreeSet};

/// GPU instances by profile and place.
type Layout = BTreeSet<(u32, Placement)>;

/// What the facts say, apart from the engine: places do not overlap, a profile's instances are limited, and so are the
/// card's compute slices and engines.
fn allowed(mig: &MigSpec, layout: &Layout, profile: &GiProfile, place: Placement) -> bool {
    let cells = |p: Placement| p.start..p.start + p.size;
    let of = |id: u32| mig.profiles.iter().find(|p| p.id.0 == id).unwrap();
    let taken: BTreeSet<u32> = layout.iter().flat_map(|(_, p)| cells(*p)).collect();
    let same = layout.iter().filter(|(id, _)| *id == profile.id.0).count();
    let sum = |of_profile: &dyn Fn(&GiProfile) -> u32| {
        let there: u32 = layout.iter().map(|(id, _)| of_profile(of(*id))).sum();
        there + of_profile(profile)
    };
    // The card's engines are those of the profile that takes it whole; ids 0 everywhere.
    let whole = of(0).engines;
    cells(place).all(|cell| !taken.contains(&cell))
        && same < profile.instances as usize
        && sum(&|p| p.slices.0) <= mig.compute_slices.0
        && sum(&|p| p.engines.copy) <= whole.copy
        && sum(&|p| p.engines.decoder) <= whole.decoder
        && sum(&|p| p.engines.encoder) <= whole.encoder
        && sum(&|p| p.engines.jpeg) <= whole.jpeg
        && sum(&|p| p.engines.ofa) <= whole.ofa
}

fn places(mig: &MigSpec) -> Vec<(&GiProfile, Placement)> {
    mig.profiles
        .iter()
        .flat_map(|p| p.starts.iter().map(move |&start| (p, start)))
        .map(|(p, start)| {
            (
                p,
                Placement {
                    start,
                    size: p.size.0,
                },
            )
        })
        .collect()
}

/// All layouts, each with whether nothing more fits.
fn brute_force(mig: &MigSpec) -> BTreeMap<Layout, bool> {
    let all = places(mig);
    let mut seen = BTreeMap::new();
    let mut todo = vec![Layout::new()];
    while let Some(layout) = todo.pop() {
        if seen.contains_key(&layout) {
            continue;
        }
        let more: Vec<Layout> = all
            .iter()
            .filter(|(profile, place)| allowed(mig, &layout, profile, *place))
            .map(|(profile, place)| {
                let mut with = layout.clone();
                with.insert((profile.id.0, *place));
                with
            })
            .collect();
        seen.insert(layout, more.is_empty());
        todo.extend(more);
    }
    seen
}

/// All layouts that the engine lets come about, each with whether nothing more fits.
fn by_the_engine(start: Machine) -> BTreeMap<Layout, bool> {
    let mig = start.specs[0].mig.clone().unwrap();
    let all = places(&mig);
    let mut seen = BTreeMap::new();
    let mut todo = vec![(Layout::new(), start)];
    while let Some((layout, machine)) = todo.pop() {
        if seen.contains_key(&layout) {
            continue;
        }
        let mut maximal = true;
        for (profile, place) in &all {
            let op = Op::CreateGpuInstance {
                gpu: GPU,
                profile: profile.id,
                placement: Some(*place),
            };
            match machine.apply(op, Now(1)) {
                Ok((next, _)) => {
                    maximal = false;
                    let mut with = layout.clone();
                    with.insert((profile.id.0, *place));
                    if !seen.contains_key(&with) {
                        todo.push((with, next));
                    }
                }
                Err(refusal) => assert_eq!(refusal.code(), Code::InsufficientResources),
            }
        }
        let gpu = machine.gpu(GPU).unwrap();
        for profile in &mig.profiles {
            let said = machine.remaining(gpu, profile).unwrap();
            assert_eq!(
                said,
                best(&mig, &layout, profile),
                "{} in {layout:?}",
                profile.name
            );
        }
        seen.insert(layout, maximal);
    }
    seen
}

/// The most instances of one profile that fit, by trying everything.
fn best(mig: &MigSpec, layout: &Layout, profile: &GiProfile) -> u32 {
    let fitting = profile
        .starts
        .iter()
        .map(|&start| Placement {
            start,
            size: profile.size.0,
        })
        .filter(|place| allowed(mig, layout, profile, *place));
    fitting
        .map(|place| {
            let mut with = layout.clone();
            with.insert((profile.id.0, place));
            // Places of one profile are disjoint here, so order does not matter: only later ones are left to try.
            let rest = GiProfile {
                starts: profile
                    .starts
                    .iter()
                    .copied()
                    .filter(|s| *s > place.start)
                    .collect(),
                ..profile.clone()
            };
            1 + best(mig, &with, &rest)
        })
        .max()
        .unwrap_or(0)
}

/// A machine whose profiles carry no more than layouts need: copies of it are cheap.
fn bare(model: &str) -> Machine {
    let mut machine = Bench::new(model).machine;
    let mig = machine.specs[0].mig.as_mut().unwrap();
    for profile in &mut mig.profiles {
        profile.compute.clear();
    }
    machine
}

fn mig_models() -> Vec<&'static str> {
    static CATALOG: std::sync::OnceLock<Catalog> = std::sync::OnceLock::new();
    let catalog = CATALOG.get_or_init(Catalog::builtin);
    let models = catalog.models().into_iter();
    models
        .filter(|model| model.spec().mig.is_some())
        .map(Model::name)
        .collect()
}

/// The engine allows exactly the layouts that follow from the placements, on every model. Models with the same layouts by
/// brute force and the same profiles but for memory and names share one walk through the engine.
#[test]
fn layouts_are_those_that_follow_from_the_placements() {
    type Shape = Vec<(u32, u32, u32, Engines, u32, Vec<u32>)>;
    let mut walked: BTreeMap<String, &str> = BTreeMap::new();
    let models = mig_models();
    assert_eq!(models.len(), 19);
    for model in models {
        let start = bare(model);
        let mig = start.specs[0].mig.clone().unwrap();
        let shape: Shape = mig
            .profiles
            .iter()
            .map(|p| {
                (
                    p.id.0,
                    p.slices.0,
                    p.instances,
                    p.engines,
                    p.size.0,
                    p.starts.clone(),
                )
            })
            .collect();
        let shape = format!("{shape:?} {} {}", mig.memory_slices, mig.compute_slices);
        if walked.insert(shape, model).is_none() {
            assert!(by_the_engine(start) == brute_force(&mig), "{model}");
        }
    }
    assert_eq!(
        walked.len(),
        5,
        "A30, A100, Hopper, Blackwell, RTX PRO: {walked:?}"
    );
}

/// Published are how many places a DRA driver lists per card [S26] and how many instances of each profile fit alone [-lgip].
/// That plain profiles split a card of eight slices in 19 ways is no published list: it is put together here from the ways to
/// fill its first half (six) and its second (three), and the whole.
#[test]
fn maximal_layouts_are_those_of_the_two_halves() {
    for model in mig_models() {
        let machine = bare(model);
        let mig = machine.specs[0].mig.clone().unwrap();
        let gpu = machine.gpu(GPU).unwrap();
        for profile in &mig.profiles {
            assert_eq!(
                machine.remaining(gpu, profile),
                Ok(profile.instances),
                "{model} {}",
                profile.name
            );
        }
        if mig.memory_slices != Slices(8) {
            continue;
        }
        assert_eq!(places(&mig).len(), 25, "{model}");
        let mut plain = mig.clone();
        plain.profiles.retain(|p| !matches!(p.id.0, 15 | 20));
        let maximal: BTreeSet<Vec<u32>> = brute_force(&plain)
            .into_iter()
            .filter(|(_, maximal)| *maximal)
            .map(|(layout, _)| by_place(&plain, &layout))
            .collect();
        let first: [&[u32]; 6] = [&[4], &[3], &[2, 2], &[2, 1, 1], &[1, 1, 2], &[1, 1, 1, 1]];
        let second: [&[u32]; 3] = [&[3], &[2, 1], &[1, 1, 1]];
        let mut expected: BTreeSet<Vec<u32>> = BTreeSet::from([vec![7]]);
        for a in first {
            expected.extend(second.map(|b| [a, b].concat()));
        }
        assert_eq!(expected.len(), 19);
        assert_eq!(maximal, expected, "{model}");
    }
}

/// Compute slices of the instances in the order of their places.
fn by_place(mig: &MigSpec, layout: &Layout) -> Vec<u32> {
    let mut sorted: Vec<(Placement, u32)> = layout
        .iter()
        .map(|(id, place)| (*place, mig.by_id(ProfileId(*id)).unwrap().slices.0))
        .collect();
    sorted.sort_unstable();
    sorted.into_iter().map(|(_, slices)| slices).collect()
}

/// Named sets of NVIDIA's own configurations [S9] and of captures [S10, S12, S18, S30] come about without saying places.
#[test]
fn published_sets_come_about() {
    // (which models, profiles by -cgi in this order)
    let eight = |model: &str| !model.starts_with("A30") && !model.starts_with("RTX");
    let a30 = |model: &str| model.starts_with("A30");
    let rtx = |model: &str| model.starts_with("RTX");
    type Which<'a> = &'a dyn Fn(&str) -> bool;
    let sets: &[(Which<'_>, &[u32])] = &[
        (&eight, &[19; 7]),
        (&eight, &[20]),
        (&eight, &[15; 4]),
        (&eight, &[14; 3]),
        (&eight, &[9; 2]),
        (&eight, &[5]),
        (&eight, &[0]),
        (&eight, &[9, 14, 19, 19]),
        (&eight, &[5, 9]),
        (&eight, &[14, 14, 14, 20]),
        (&a30, &[14; 4]),
        (&a30, &[5; 2]),
        (&a30, &[21]),
        (&a30, &[6]),
        (&a30, &[0]),
        (&rtx, &[14; 4]),
        (&rtx, &[5; 2]),
        (&rtx, &[47; 4]),
        (&rtx, &[67; 4]),
        (&rtx, &[65]),
        (&rtx, &[0]),
        (&rtx, &[32]),
    ];
    for (which, profiles) in sets {
        for model in mig_models().into_iter().filter(|model| which(model)) {
            let mut bench = Bench::new(model);
            for (n, profile) in profiles.iter().enumerate() {
                assert!(bench.cgi(*profile).is_ok(), "{model}: {profiles:?} at {n}");
            }
        }
    }
}

/// Media engines belong to one instance each: `+me` takes the only OFA engine, `+me.all` takes them all, and what has none
/// (`-me`) always fits beside it. nvml.h says so of `…_ALL_ME`, the MIG User Guide of `+me`.
#[test]
fn media_engines_exclude_each_other() {
    const FULL: Result<u32, Code> = Err(Code::InsufficientResources);
    const RTX: &str = "RTX-PRO-6000-BLACKWELL-SERVER-96GB";
    // (model, what is there, what is asked, whether it fits)
    let table: &[(&str, &[u32], u32, bool)] = &[
        (RTX, &[65], 14, false),
        (RTX, &[65], 47, false),
        (RTX, &[65], 21, false),
        (RTX, &[65], 5, false),
        (RTX, &[65], 67, true),
        (RTX, &[65], 66, true),
        (RTX, &[14], 65, false),
        (RTX, &[67], 65, true),
        (RTX, &[67, 67, 67], 65, true),
        (RTX, &[64], 66, true),
        (RTX, &[64], 5, false),
        (RTX, &[21], 14, true),
        (RTX, &[21], 21, false),
        (RTX, &[47, 14, 67], 21, true),
        ("A30-PCIE-24GB", &[21], 6, false),
        ("A30-PCIE-24GB", &[6], 21, false),
        ("A30-PCIE-24GB", &[6], 5, true),
        ("A100-SXM4-40GB", &[20], 20, false),
        ("A100-SXM4-40GB", &[20], 15, true),
        ("H100-SXM5-80GB", &[20, 14, 14], 14, true),
    ];
    for (model, there, asked, fits) in table {
        let mut bench = Bench::new(model);
        for profile in *there {
            bench.cgi(*profile).unwrap();
        }
        let seen = bench.cgi(*asked);
        assert_eq!(
            seen.is_ok(),
            *fits,
            "{model}: {asked} beside {there:?}: {seen:?}"
        );
        assert!(*fits || seen == FULL);
    }
    let mut bench = Bench::new(RTX);
    bench.cgi(65).unwrap();
    let op = Op::CreateGpuInstance {
        gpu: GPU,
        profile: ProfileId(14),
        placement: None,
    };
    assert_eq!(
        bench.run(op).unwrap_err().to_string(),
        "no further 1g.24gb: it needs 1 of the card's decoders and 0 are free, destroy an instance first"
    );
}
