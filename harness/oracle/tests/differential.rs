//! The oracle against Kubernetes' own allocator, on random cases.
//! It is not run where the allocator's program is not (`cargo sliceproof components ensure dra-allocator-1.37` builds it),
//! unless `ORACLE_REQUIRED` is set, which makes that a failure.
//! `ORACLE_CASES` sets how many cases per version and variant, `ORACLE_ONLY=1.37/stable` chooses one,
//! `ORACLE_SEED` sets the first seed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests stop at the first surprise"
)]

#[path = "differential/allocator.rs"]
mod allocator;
#[path = "differential/compare.rs"]
mod compare;
#[path = "differential/conditions.rs"]
mod conditions;
#[path = "differential/dice.rs"]
mod dice;
#[path = "differential/form.rs"]
mod form;
#[path = "differential/generate/mod.rs"]
mod generate;
#[path = "differential/known.rs"]
mod known;
#[path = "differential/number.rs"]
mod number;
#[path = "differential/pipe.rs"]
mod pipe;
#[path = "differential/said.rs"]
mod said;
#[path = "differential/shrink.rs"]
mod shrink;

use std::collections::BTreeMap;
use std::path::PathBuf;

use allocator::{Compared, Difference};
use number::number;
use oracle::{Variant, Version};
use pipe::Pipe;
use said::Said;

/// The allocator's program: one that is named by the environment, or the component if it is built.
fn program(version: Version) -> Option<PathBuf> {
    let named = std::env::var_os(format!(
        "ORACLE_ALLOCATOR_{}",
        version.as_str().replace('.', "_")
    ));
    let built = || {
        components::Catalog::embedded()
            .ok()?
            .path(&format!("dra-allocator-{version}"))
            .ok()
    };
    named.map(PathBuf::from).or_else(built)
}

fn run(version: Version, variant: Variant) {
    let name = format!("{version}/{}", variant.as_str());
    if std::env::var("ORACLE_ONLY").is_ok_and(|only| only != name) {
        return;
    }
    let Some(program) = program(version) else {
        let why = format!(
            "{name}: not run: there is no dra-allocator-{version}; `components ensure` builds it"
        );
        assert!(std::env::var_os("ORACLE_REQUIRED").is_none(), "{why}");
        println!("{why}");
        return;
    };
    let mut allocator = Pipe::start(&program).expect("the allocator starts");
    let number = |variable, otherwise| number(variable, otherwise).unwrap();
    let (first, cases) = (number("ORACLE_SEED", 1), number("ORACLE_CASES", 2_000));
    let mut count: BTreeMap<&str, u64> = BTreeMap::new();
    let mut known: BTreeMap<&str, u64> = BTreeMap::new();
    let mut idle: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut unexplained, mut shown) = (0, Vec::new());
    for seed in first..first + cases {
        let case = generate::case(seed, version, variant);
        match allocator::compare(&case, &mut allocator) {
            Ok(Compared {
                difference: None,
                right,
            }) => {
                *count.entry(kind(&right)).or_default() += 1;
                for condition in conditions::held(&case) {
                    *idle.entry(condition).or_default() += 1;
                }
            }
            Ok(Compared {
                difference: Some(difference),
                ..
            }) => match explained(&case, &difference, &mut allocator) {
                Some(name) => *known.entry(name).or_default() += 1,
                None => {
                    unexplained += 1;
                    if shown.len() < 5 {
                        let small = smallest(&case, &difference, &mut allocator);
                        println!("{name}, seed {seed}: {small}");
                        shown.push(small);
                    }
                }
            },
            Err(error) => panic!("{name}, seed {seed}: {error}"),
        }
    }
    println!(
        "{name}: {cases} cases, {unexplained} without an explanation: {count:?}, explained: {known:?}, \
         conditions that held where nothing differed: {idle:?}"
    );
    assert_eq!(
        unexplained,
        0,
        "{name}: cases that nothing explains, the first of them:\n{}",
        shown.join("\n")
    );
}

/// A quirk, or a bug that is known by its condition: where the condition is taken away, nothing is left to explain.
fn explained(
    case: &generate::Case,
    difference: &Difference,
    allocator: &mut Pipe,
) -> Option<&'static str> {
    if let Some(name) = known::explained(case, &difference.allocator) {
        return Some(name);
    }
    let name = conditions::held(case).first().copied()?;
    let without = conditions::without(case);
    let left = allocator::compare(&without, allocator).ok()?.difference;
    left.is_none_or(|left| known::explained(&without, &left.allocator).is_some())
        .then_some(name)
}

fn kind(right: &[Said]) -> &'static str {
    match right.first() {
        Some(Said::Allocated(_)) => "allocated",
        Some(Said::No(_)) => "refused",
        Some(Said::Error(_)) => "error",
        _ => "given up",
    }
}

/// Shrinks a case to the smallest on which the sides differ in the same way, and shows it.
fn smallest(case: &generate::Case, difference: &Difference, allocator: &mut Pipe) -> String {
    let mut unexplained = |case: &generate::Case| {
        let difference = allocator::compare(case, allocator).ok()?.difference?;
        explained(case, &difference, allocator)
            .is_none()
            .then_some(difference)
    };
    let small = shrink::shrink(case, |smaller| {
        unexplained(smaller).is_some_and(|other| other.kind() == difference.kind())
    });
    unexplained(&small).map_or_else(
        || format!("it does not differ each time\n{}", report(case, difference)),
        |difference| report(&small, &difference),
    )
}

fn report(case: &generate::Case, difference: &Difference) -> String {
    let gates: Vec<&str> = case.gates.iter().map(|gate| gate.name()).collect();
    let objects = serde_yaml_ng::to_string(&case.objects).unwrap();
    let show = |said: &Said| match said {
        Said::Allocated(value) => serde_json::to_string(value).unwrap(),
        other => format!("{other:?}"),
    };
    let oracle: Vec<String> = difference.oracle.iter().map(show).collect();
    let real = oracle::Quirks::of(case.gates.version(), case.variant);
    let real: Vec<String> = compare::oracle_with(case, real)
        .unwrap()
        .iter()
        .map(show)
        .collect();
    format!(
        "gates {gates:?}\n{objects}allocator: {}\noracle:    {}\nwith all quirks: {}",
        show(&difference.allocator),
        oracle.join("\n   or:     "),
        real.join("\n   or:     ")
    )
}

macro_rules! differential {
    ($($name:ident: $version:ident $variant:ident;)*) => {
        $(#[test]
        fn $name() {
            run(Version::$version, Variant::$variant);
        })*
    };
}

differential! {
    v1_34_stable: V1_34 Stable;
    v1_34_incubating: V1_34 Incubating;
    v1_34_experimental: V1_34 Experimental;
    v1_35_stable: V1_35 Stable;
    v1_35_incubating: V1_35 Incubating;
    v1_35_experimental: V1_35 Experimental;
    v1_36_stable: V1_36 Stable;
    v1_36_incubating: V1_36 Incubating;
    v1_36_experimental: V1_36 Experimental;
    v1_37_stable: V1_37 Stable;
    v1_37_incubating: V1_37 Incubating;
    v1_37_experimental: V1_37 Experimental;
}
