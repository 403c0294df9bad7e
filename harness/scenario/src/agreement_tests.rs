#![allow(clippy::expect_used, reason = "a test says what it expects")]
use super::*;
use crate::allocation::DeviceView;
use crate::testbed::{CardState, InstanceState};

fn counters(amounts: &[(&str, u128)]) -> Counters {
    amounts
        .iter()
        .map(|(counter, amount)| (("set".to_owned(), (*counter).to_owned()), *amount))
        .collect()
}

fn device(name: &str, consumes: &[(&str, u128)]) -> DeviceView {
    DeviceView {
        name: name.to_owned(),
        attributes: BTreeMap::new(),
        consumes: counters(consumes),
    }
}

/// A card of two memory slices: whole, or cut into two.
fn pools() -> Vec<PublishedPool> {
    vec![PublishedPool {
        driver: "gpu.nvidia.com".to_owned(),
        pool: "node-1".to_owned(),
        devices: vec![
            device("gpu-0", &[("memory-slice-0", 1), ("memory-slice-1", 1)]),
            device("gpu-0-mig-1g5gb-19-0", &[("memory-slice-0", 1)]),
            device("gpu-0-mig-1g5gb-19-1", &[("memory-slice-1", 1)]),
            device(
                "gpu-0-mig-2g10gb-14-0",
                &[("memory-slice-0", 1), ("memory-slice-1", 1)],
            ),
        ],
        counters: counters(&[("memory-slice-0", 1), ("memory-slice-1", 1)]),
    }]
}

fn held(claim: &str, device: &str) -> Held {
    Held {
        namespace: "ns".to_owned(),
        claim: claim.to_owned(),
        driver: "gpu.nvidia.com".to_owned(),
        pool: "node-1".to_owned(),
        device: device.to_owned(),
        pods: vec![claim.to_owned()],
        ..Held::default()
    }
}

#[test]
fn shares_and_admin_access_are_beside_others_and_other_drivers_have_no_card() {
    let device = "gpu-0-mig-1g5gb-19-0";
    let admin = Held {
        admin: true,
        ..held("b", device)
    };
    let share = |claim: &str| Held {
        driver: "shares.example.com".to_owned(),
        share: Some(claim.to_owned()),
        ..held(claim, "card")
    };
    let mut pools = pools();
    let cards = cards(&[(19, 0, 1)]);
    let (one, other) = (held("a", device), held("b", device));
    assert_eq!(
        disagreements(&pools, &[one.clone(), admin], &cards),
        Vec::<String>::new()
    );
    assert!(!disagreements(&pools, &[one.clone(), other], &cards).is_empty());
    let mut shared = pools[0].clone();
    shared.driver = "shares.example.com".to_owned();
    shared.devices[0].name = "card".to_owned();
    shared.devices[0].consumes.clear();
    pools.push(shared);
    let all = [one, share("c"), share("d")];
    assert_eq!(disagreements(&pools, &all, &cards), Vec::<String>::new());
}

fn cards(instances: &[(u32, u32, u32)]) -> Vec<NodeCards> {
    let instances = instances
        .iter()
        .enumerate()
        .map(|(id, (profile_id, start, size))| InstanceState {
            id: u32::try_from(id).expect("few"),
            profile_id: *profile_id,
            profile: "p".to_owned(),
            start: *start,
            size: *size,
            mig_uuids: Vec::new(),
        })
        .collect();
    let card = CardState {
        index: 0,
        minor: 0,
        model: "m".to_owned(),
        uuid: "GPU-1".to_owned(),
        mig: true,
        memory_slices: 2,
        instances,
        timeslice: gpu_model::Timeslice::default(),
        compute_mode: gpu_model::ComputeMode::default(),
    };
    vec![NodeCards {
        node: "node-1".to_owned(),
        cards: vec![card],
    }]
}

#[test]
fn what_fits_together_is_left_alone() {
    let two = [
        held("a", "gpu-0-mig-1g5gb-19-0"),
        held("b", "gpu-0-mig-1g5gb-19-1"),
    ];
    assert_eq!(
        disagreements(&pools(), &two, &cards(&[(19, 0, 1), (19, 1, 1)])),
        [""; 0]
    );
    assert_eq!(
        disagreements(&pools(), &[held("a", "gpu-0")], &cards(&[])),
        [""; 0]
    );
    assert_eq!(disagreements(&pools(), &[], &cards(&[])), [""; 0]);
}

/// Who holds which device, the card's GPU instances as (profile id, start, size), and what must be said.
type Contradiction<'a> = (&'a [Held], &'a [(u32, u32, u32)], &'a str);

#[test]
fn every_contradiction_is_named() {
    let zero = "gpu-0-mig-1g5gb-19-0";
    let cases: [Contradiction<'_>; 8] = [
        (
            &[held("a", zero), held("b", zero)],
            &[(19, 0, 1)],
            "is allocated 2 times: a, b",
        ),
        (
            &[held("a", zero), held("b", "gpu-0-mig-2g10gb-14-0")],
            &[(19, 0, 1), (14, 0, 2)],
            "memory-slice-0 is overdrawn: 2 of 1",
        ),
        (
            &[held("a", "gpu-0-mig-1g5gb-19-5")],
            &[(19, 5, 1)],
            "is allocated and not published",
        ),
        (&[held("a", "gpu-7")], &[], "node-1 has no such card"),
        (
            &[held("a", "tpu-0")],
            &[],
            "is not a name that the driver gives",
        ),
        (&[held("a", zero)], &[], "is allocated and not on the card"),
        (
            &[],
            &[(19, 1, 1)],
            "GPU instance 0 (p at memory slice 1) belongs to no claim",
        ),
        (
            &[held("a", "gpu-0")],
            &[(19, 0, 1)],
            "is allocated whole and cut into 1 GPU instances",
        ),
    ];
    for (held, instances, words) in cases {
        let wrong = disagreements(&pools(), held, &cards(instances)).join("\n");
        assert!(wrong.contains(words), "{words:?} is missing in:\n{wrong}");
    }
    let wrong = disagreements(&pools(), &[held("a", zero)], &cards(&[(19, 0, 2)])).join("\n");
    assert!(
        wrong.contains("takes the memory slices [0] and is cut from [0, 1]"),
        "{wrong}"
    );
}

#[test]
fn what_was_cut_at_the_boot_and_is_offered_as_it_is_may_be_free_or_taken() {
    let name = "gpu-0-mig-1g5gb-19-1";
    let card = cards(&[(19, 1, 1)]);
    // Without DynamicMIG a driver publishes devices that take nothing out of counters.
    let as_it_is = vec![PublishedPool {
        devices: vec![device(name, &[])],
        counters: Counters::new(),
        ..pools().remove(0)
    }];
    let wrong = |pools: &[PublishedPool], held: &[Held]| disagreements(pools, held, &card);
    assert_eq!(wrong(&as_it_is, &[]), [""; 0]);
    assert_eq!(wrong(&as_it_is, &[held("a", name)]), [""; 0]);
    assert_eq!(wrong(&pools(), &[]).len(), 1, "nobody offers it as it is");
    let elsewhere = held("a", "gpu-0-mig-1g5gb-19-0");
    assert!(!wrong(&as_it_is, &[elsewhere]).is_empty());
}
