//! Cutting by name.
use super::*;

#[test]
fn a_part_is_made_whole_or_empty() {
    let bench = Bench::new("A100-SXM4-40GB");
    let (cut, whole) = bench.machine.cut(GPU, "3g.20gb", Now(1)).unwrap();
    let (cut, empty) = cut.cut_empty(GPU, "3g.20gb", Now(1)).unwrap();
    let parts: Vec<_> = cut.gpus[0]
        .instances
        .iter()
        .map(|gi| match gi.compute.first() {
            Some(ci) => Scope::ci(GPU, gi.id, ci.id),
            None => Scope::gi(GPU, gi.id),
        })
        .collect();
    assert_eq!(parts.len(), 2);
    assert!(parts.contains(&whole) && parts.contains(&empty));
    let device = cut.mig_devices(&cut.gpus[0]).next().unwrap();
    assert_eq!(device.profile_name(), "3g.20gb");
}

#[test]
fn what_is_in_the_way_is_said_with_the_name_and_the_card() {
    let bench = Bench::new("A100-SXM4-40GB");
    let says = |machine: &Machine, name: &str| machine.cut(GPU, name, Now(1)).unwrap_err();
    let unknown = says(&bench.machine, "9g.5gb");
    assert!(matches!(unknown.why, Obstacle::NoSuchProfile { .. }));
    let text = unknown.to_string();
    assert!(
        text.starts_with("9g.5gb on GPU 0: the card has no such profile")
            && text.contains("7g.40gb"),
        "{text}"
    );
    let full = bench.machine.cut(GPU, "7g.40gb", Now(1)).unwrap().0;
    assert!(matches!(
        says(&full, "1g.5gb").why,
        Obstacle::Refused(Refusal::ComputeLimit { .. })
    ));
}
