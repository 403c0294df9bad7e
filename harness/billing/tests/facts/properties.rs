//! For any history: what is sold, idle, stranded and out of service is all there is, to the second, however it is cut and
//! in whatever order it came.

use billing::fact::{Fact, Rule, What};
use billing::{Ratio, Weights};
use proptest::prelude::*;

use super::fixture::*;

/// Until when histories go.
const END: i64 = 400;

/// Something that happens to a cluster of cards.
#[derive(Clone, Debug)]
enum Happens {
    /// A claim wants the device of this place in the list of all, and has it if it is free.
    Wants(usize),
    /// The claim of this place in the list of those that hold gives its device back.
    GivesBack(usize),
    /// A device's card is tainted, or healed.
    Taint(usize),
    /// A slice goes, or comes back.
    Slice(usize),
}

fn happens() -> impl Strategy<Value = (i64, Happens)> {
    let what = prop_oneof![
        6 => (0_usize..1000).prop_map(Happens::Wants),
        4 => (0_usize..1000).prop_map(Happens::GivesBack),
        1 => (0_usize..1000).prop_map(Happens::Taint),
        1 => (0_usize..3).prop_map(Happens::Slice),
    ];
    (0_i64..12, what)
}

/// A history that Kubernetes could have had: no device is given twice, and no counter below zero.
fn history(model: &str, steps: &[(i64, Happens)]) -> Vec<Fact> {
    let slices = pool("n", model, 2, 1);
    let mut facts = published("n", model, 2, 0);
    let devices: Vec<_> = slices
        .iter()
        .flat_map(|(_, slice)| slice.devices.clone())
        .collect();
    let mut left: std::collections::BTreeMap<_, _> = slices[0].1.sets.clone();
    let mut holding: Vec<(String, usize)> = Vec::new();
    let mut tainted: Vec<usize> = Vec::new();
    let mut away: Vec<usize> = Vec::new();
    let (mut at, mut version) = (0, 10);
    for (wait, step) in steps {
        at += wait;
        version += 1;
        match step {
            Happens::Wants(which) => {
                let which = which % devices.len();
                let (set, draws) = devices[which].draws.first_key_value().expect("counters");
                let left = left.get_mut(set).expect("a set");
                if draws
                    .iter()
                    .all(|(counter, amount)| left[counter] >= *amount)
                {
                    draws.iter().for_each(|(counter, amount)| {
                        *left.get_mut(counter).expect("a counter") -= amount
                    });
                    let uid = format!("c{version}");
                    facts.push(holds(&uid, version, at, &devices[which].name));
                    holding.push((uid, which));
                }
            }
            Happens::GivesBack(which) if !holding.is_empty() => {
                let (uid, which) = holding.remove(which % holding.len());
                let (set, draws) = devices[which].draws.first_key_value().expect("counters");
                let left = left.get_mut(set).expect("a set");
                draws.iter().for_each(|(counter, amount)| {
                    *left.get_mut(counter).expect("a counter") += amount
                });
                facts.push(gone(&uid, version, at));
            }
            Happens::GivesBack(_) => {}
            Happens::Taint(which) => {
                let which = which % devices.len();
                let uid = format!("rule-{which}");
                if let Some(known) = tainted.iter().position(|it| *it == which) {
                    tainted.remove(known);
                    facts.push(fact(&uid, version, at, What::TaintLifted));
                } else {
                    tainted.push(which);
                    let rule = Rule {
                        driver: None,
                        pool: None,
                        device: Some(devices[which].name.clone()),
                        taint: Some("broken:NoSchedule".into()),
                    };
                    facts.push(fact(&uid, version, at, What::Tainted(rule)));
                }
            }
            Happens::Slice(which) => {
                let (uid, slice) = &slices[*which];
                if let Some(known) = away.iter().position(|it| it == which) {
                    away.remove(known);
                    facts.push(fact(uid, version, at, What::SlicePublished(slice.clone())));
                } else {
                    away.push(*which);
                    facts.push(fact(uid, version, at, What::SliceWithdrawn));
                }
            }
        }
    }
    facts
}

fn weights() -> impl Strategy<Value = Weights> {
    prop_oneof![Just(Weights::Compute), Just(Weights::Memory)]
}

fn models() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("A100-SXM4-40GB"),
        Just("H100-SXM5-80GB"),
        Just("A30-PCIE-24GB")
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn all_parts_are_the_capacity_to_the_second(model in models(), weights in weights(), steps in prop::collection::vec(happens(), 0..40)) {
        let entries = account(history(model, &steps), &weights, span(0, END)).expect("sound");
        // Every card, every second of it: the entries of each add up to one.
        for card in ["gpu-0", "gpu-1"] {
            let mut edges: Vec<i64> = entries.iter().flat_map(|it| [it.span.from().get(), it.span.until().get()]).collect();
            edges.sort_unstable();
            edges.dedup();
            prop_assert_eq!((edges[0], edges[edges.len() - 1]), (START, START + END));
            for edge in &edges[..edges.len() - 1] {
                let now = entries.iter().filter(|it| it.card.name == card && it.span.from().get() <= *edge && *edge < it.span.until().get());
                let sum = now.fold(Ratio::ZERO, |sum, it| sum.plus(it.share).expect("fits"));
                prop_assert_eq!(sum, Ratio::ONE, "{} at {}", card, edge - START);
            }
        }
        prop_assert!(entries.iter().all(|it| !it.share.is_negative() && !it.span.is_empty()));
        prop_assert_eq!(total(&entries), Ratio::whole(2 * END));
    }

    #[test]
    fn any_split_of_a_period_adds_up(model in models(), weights in weights(), steps in prop::collection::vec(happens(), 0..30), cuts in prop::collection::vec(0_i64..END, 0..4)) {
        let facts = history(model, &steps);
        let mut cuts = cuts;
        cuts.extend([0, END]);
        cuts.sort_unstable();
        let mut parts = std::collections::BTreeMap::new();
        for pair in cuts.windows(2) {
            for (word, sum) in sums(&account(facts.clone(), &weights, span(pair[0], pair[1])).expect("sound")) {
                let known: &mut Ratio = parts.entry(word).or_insert(Ratio::ZERO);
                *known = known.plus(sum).expect("fits");
            }
        }
        prop_assert_eq!(parts, sums(&account(facts, &weights, span(0, END)).expect("sound")));
    }

    #[test]
    fn case_21_the_order_of_arrival_and_repetition_change_nothing(steps in prop::collection::vec(happens(), 0..30), seed in any::<u64>()) {
        let facts = history("A100-SXM4-40GB", &steps);
        let straight = account(facts.clone(), &Weights::Compute, span(0, END)).expect("sound");
        let mut turned = facts.clone();
        turned.extend(facts);
        let mut state = seed | 1;
        for at in (1..turned.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            turned.swap(at, (state >> 33) as usize % (at + 1));
        }
        prop_assert_eq!(account(turned, &Weights::Compute, span(0, END)).expect("sound"), straight);
    }
}
