//! Whatever is asked in whatever order, the machine stays sound.
use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn op() -> impl Strategy<Value = Op> {
    let gpu = (0u32..5).prop_map(GpuIndex);
    let gi = (0u32..15).prop_map(GiId);
    let ci = (0u32..7).prop_map(CiId);
    let profile = prop::sample::select(vec![0u32, 5, 9, 14, 15, 19, 20, 77]).prop_map(ProfileId);
    let place = prop::option::weighted(
        0.4,
        (0u32..9, prop::sample::select(vec![1u32, 2, 4, 8]))
            .prop_map(|(start, size)| Placement { start, size }),
    );
    let ci_place = prop::option::weighted(
        0.3,
        (0u32..7, 1u32..8).prop_map(|(start, size)| Placement { start, size }),
    );
    let mode = prop::bool::ANY.prop_map(|on| {
        if on {
            MigMode::Enabled
        } else {
            MigMode::Disabled
        }
    });
    prop_oneof![
        6 => (gpu.clone(), profile, place)
            .prop_map(|(gpu, profile, placement)| Op::CreateGpuInstance { gpu, profile, placement }),
        4 => (gpu.clone(), gi.clone()).prop_map(|(gpu, gi)| Op::DestroyGpuInstance { gpu, gi }),
        6 => (gpu.clone(), gi.clone(), (0u32..5).prop_map(ProfileId), ci_place).prop_map(
            |(gpu, gi, profile, placement)| Op::CreateComputeInstance { gpu, gi, profile, placement }
        ),
        3 => (gpu.clone(), gi, ci)
            .prop_map(|(gpu, gi, ci)| Op::DestroyComputeInstance { gpu, gi, ci }),
        1 => (gpu.clone(), mode).prop_map(|(gpu, mode)| Op::SetMigMode { gpu, mode }),
        1 => gpu.prop_map(|gpu| Op::Reset { gpu }),
    ]
}

fn sound(machine: &Machine) {
    let mut births = BTreeSet::new();
    let mut uuids = BTreeSet::new();
    for gpu in &machine.gpus {
        let Ok(mig) = machine.mig_spec(gpu) else {
            assert!(gpu.instances.is_empty());
            continue;
        };
        assert!(gpu.instances.is_empty() || gpu.mig_current == MigMode::Enabled);
        assert!(
            gpu.instances.is_sorted_by(|a, b| a.id < b.id),
            "ids ascend and are unique"
        );
        assert!(gpu.slices_used(mig) <= mig.compute_slices);
        let mut cells = BTreeSet::new();
        for gi in &gpu.instances {
            let profile = mig.by_id(gi.profile).unwrap();
            assert!(profile.placements().any(|place| place == gi.placement));
            for cell in gi.placement.start..gi.placement.end() {
                assert!(
                    cell < mig.memory_slices.0 && cells.insert(cell),
                    "places overlap"
                );
            }
            assert!(births.insert(gi.birth));
            assert!(gi.compute.is_sorted_by(|a, b| a.id < b.id));
            let mut inner = BTreeSet::new();
            for ci in &gi.compute {
                for cell in ci.placement.start..ci.placement.end() {
                    assert!(
                        cell < profile.slices.0 && inner.insert(cell),
                        "places overlap"
                    );
                }
                assert!(births.insert(ci.birth));
                assert!(uuids.insert(ci.uuid));
            }
        }
        if gpu.mig_current == MigMode::Enabled {
            for profile in &mig.profiles {
                capacity(machine, gpu, profile);
            }
        }
        let devices: Vec<_> = machine
            .mig_devices(gpu)
            .map(|d| (d.gi.id, d.ci.id))
            .collect();
        assert!(devices.is_sorted() && devices.len() <= mig.max_devices as usize);
    }
}

/// What is said to fit does fit, and no more.
fn capacity(machine: &Machine, gpu: &Gpu, profile: &GiProfile) {
    let said = machine.remaining(gpu, profile).unwrap();
    let mut machine = machine.clone();
    let mut made = 0;
    let op = Op::CreateGpuInstance {
        gpu: gpu.index,
        profile: profile.id,
        placement: None,
    };
    while let Ok((next, _)) = machine.apply(op, Now(1)) {
        machine = next;
        made += 1;
    }
    assert_eq!(made, said, "{}", profile.name);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_sequence_keeps_the_machine_sound(ops in prop::collection::vec(op(), 1..60)) {
        let options = Options { mig: true, ..Options::default() };
        let mut now = machine(&[("A100-SXM4-40GB", 2), ("H100-SXM5-80GB", 1), ("L4", 1)], &options);
        for (step, op) in ops.into_iter().enumerate() {
            let before = now.clone();
            match now.apply(op, Now(step as u64)) {
                Ok((next, _)) => {
                    prop_assert!(next.events.last_seq() >= now.events.last_seq());
                    now = next;
                }
                Err(refusal) => prop_assert!(refusal.code() != Code::Success),
            }
            prop_assert_eq!(before.gpus.len(), now.gpus.len());
            sound(&now);
        }
    }
}
