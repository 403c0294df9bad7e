//! What real cards did, step by step.
use super::*;
use std::collections::BTreeMap;

const FULL: Result<u32, Code> = Err(Code::InsufficientResources);

/// One capture: where it was seen, on which kind of card, whether ids are flipped, the profiles given to
/// `nvidia-smi mig -cgi` without a placement, and the GPU instance ids that came of it.
type Capture = (
    &'static str,
    &'static str,
    bool,
    &'static [u32],
    &'static [Result<u32, Code>],
);

/// Every captured creation sequence. What they do not tell is marked `unknown` in the catalogue (`default_order`).
const CAPTURES: &[Capture] = &[
    (
        "S18",
        "H100-NVL-94GB",
        false,
        &[19; 4],
        &[Ok(13), Ok(11), Ok(12), Ok(7)],
    ),
    (
        "S16",
        "H100-PCIE-80GB",
        true,
        &[19; 7],
        &[Ok(9), Ok(7), Ok(8), Ok(11), Ok(12), Ok(13), Ok(14)],
    ),
    (
        "S10, example 1",
        "A100-SXM4-40GB",
        true,
        &[19; 3],
        &[Ok(9), Ok(7), Ok(8)],
    ),
    (
        "S10, on Azure",
        "A100-SXM4-80GB",
        false,
        &[14, 14, 14, 20],
        &[Ok(5), Ok(3), Ok(4), Ok(13)],
    ),
    (
        "S30",
        "A100-SXM4-80GB",
        false,
        &[14, 19, 19, 19, 19, 19],
        &[Ok(5), Ok(13), Ok(7), Ok(8), Ok(9), Ok(10)],
    ),
    (
        "S10, S42",
        "A100-SXM4-40GB",
        false,
        &[9, 19, 14, 19],
        &[Ok(2), Ok(7), Ok(4), Ok(8)],
    ),
    (
        "S42",
        "A100-SXM4-40GB",
        true,
        &[9, 19, 14, 19],
        &[Ok(1), Ok(11), Ok(6), Ok(12)],
    ),
    (
        "S10, fragmented: no 3g any more",
        "A100-SXM4-40GB",
        false,
        &[19, 19, 14, 9],
        &[Ok(13), Ok(11), Ok(3), FULL],
    ),
    (
        "S10",
        "H100-SXM5-80GB",
        true,
        &[14, 14, 19],
        &[Ok(3), Ok(5), Ok(9)],
    ),
    (
        "S41, OpenShift page",
        "H100-SXM5-80GB",
        true,
        &[14, 14, 14],
        &[Ok(3), Ok(5), Ok(6)],
    ),
    (
        "S41, mig-k8s page",
        "A100-SXM4-40GB",
        false,
        &[9, 14, 19, 19],
        &[Ok(2), Ok(3), Ok(9), Ok(10)],
    ),
    (
        "S42",
        "A100-SXM4-40GB",
        true,
        &[5, 14, 19],
        &[Ok(2), Ok(3), Ok(9)],
    ),
    ("S18", "H100-NVL-94GB", false, &[9, 9], &[Ok(2), Ok(1)]),
    ("S30", "A100-SXM4-80GB", false, &[5, 9], &[Ok(1), Ok(2)]),
    (
        "go-nvml issue 60",
        "A100-SXM4-40GB",
        false,
        &[9, 14, 19],
        &[Ok(2), Ok(3), Ok(9)],
    ),
    (
        "go-nvml issue 146",
        "A100-SXM4-40GB",
        false,
        &[9, 14, 14],
        &[Ok(2), Ok(3), Ok(4)],
    ),
    (
        "nvidia-smi -L of an A100-PCIE-40GB in the HPC forum of the university of Geneva, R450",
        "A100-PCIE-40GB",
        true,
        &[9, 14, 19, 19],
        &[Ok(1), Ok(5), Ok(13), Ok(14)],
    ),
    (
        "S28",
        "RTX-PRO-6000-BLACKWELL-SERVER-96GB",
        false,
        &[14; 4],
        &[Ok(3), Ok(4), Ok(5), Ok(6)],
    ),
    (
        "S28",
        "RTX-PRO-6000-BLACKWELL-SERVER-96GB",
        false,
        &[5, 14, 14],
        &[Ok(1), Ok(5), Ok(6)],
    ),
    (
        "N2, nothing is left",
        "A100-SXM4-40GB",
        false,
        &[0, 19],
        &[Ok(0), FULL],
    ),
    (
        "N2, nothing is left",
        "A100-SXM4-40GB",
        false,
        &[9, 9, 19],
        &[Ok(2), Ok(1), FULL],
    ),
    (
        "N2, nothing is left",
        "A100-SXM4-40GB",
        false,
        &[5, 9, 19],
        &[Ok(1), Ok(2), FULL],
    ),
];

#[test]
fn creation_sequences_give_the_captured_ids() {
    for (source, model, flip, profiles, ids) in CAPTURES {
        let mut bench = if *flip {
            Bench::flipped(model)
        } else {
            Bench::new(model)
        };
        let seen: Vec<_> = profiles.iter().map(|profile| bench.cgi(*profile)).collect();
        assert_eq!(seen, *ids, "{model} [{source}]");
    }
}

/// Cards of eight slices have one order of their own kind: what was captured on one is taken for all, and the catalogue says
/// `observed` only where the card itself, or a sibling on another board of the same chip, was captured.
#[test]
fn what_no_capture_tells_is_marked() {
    let catalog = Catalog::builtin();
    for model in catalog.models() {
        let Some(mig) = &model.spec().mig else {
            continue;
        };
        for profile in &mig.profiles {
            let path = format!("mig.gpu_instance_profiles.{}.default_order", profile.name);
            let row = model.facts().iter().find(|row| row.path == path).unwrap();
            let marked = model
                .spec()
                .stand_ins
                .contains(&StandIn::DefaultOrder(profile.id));
            assert_eq!(
                row.confidence == Confidence::Unknown,
                marked,
                "{} {path}",
                model.name()
            );
            // No capture shows where a second double-memory instance goes, nor any instance of an A30, nor the media and
            // graphics profiles of an RTX PRO.
            let free_choice = profile.starts.len() > 1;
            let uncaptured = profile.index == GiProfileIndex::S1Rev2
                || model.name().starts_with("A30")
                || (model.name().starts_with("RTX") && !profile.index.suffix().is_empty());
            assert_eq!(
                marked,
                free_choice && uncaptured,
                "{} {}",
                model.name(),
                profile.name
            );
        }
    }
}

/// Sets that are known to be possible or impossible, and the memory and compute slices that they take.
#[test]
fn known_sets_fit_or_do_not() {
    type Set = &'static [(u32, u32, u32)];
    let sets: &[(Set, Option<(u32, u32)>)] = &[
        (&[(9, 0, 4), (9, 4, 4)], Some((8, 6))),
        (&[(5, 0, 4), (9, 4, 4)], Some((8, 7))),
        (
            &[(15, 0, 2), (15, 2, 2), (15, 4, 2), (15, 6, 2)],
            Some((8, 4)),
        ),
        (
            &[(14, 0, 2), (14, 2, 2), (14, 4, 2), (19, 6, 1)],
            Some((7, 7)),
        ),
        (&[(0, 0, 8)], Some((8, 7))),
        (&[(5, 0, 4), (5, 4, 4)], None),
        (&[(19, 0, 1), (19, 7, 1)], None),
        (&[(20, 0, 1), (20, 1, 1)], None),
        (&[(9, 0, 4), (14, 2, 2)], None),
    ];
    for (set, expected) in sets {
        let mut bench = Bench::new("A100-SXM4-40GB");
        let all: Result<Vec<u32>, Code> = set
            .iter()
            .map(|(profile, start, size)| bench.cgi_at(*profile, Some((*start, *size))))
            .collect();
        let mig = bench.machine.mig_on(bench.gpu()).unwrap();
        let memory = bench
            .gpu()
            .instances
            .iter()
            .map(|gi| gi.placement.size)
            .sum::<u32>();
        let seen = all.ok().map(|_| (memory, bench.gpu().slices_used(mig).0));
        assert_eq!(seen, *expected, "{set:?}");
    }
}

/// The two observed mappings, for every placement; cards of four slices (A30) and of twelve (RTX PRO 6000) follow the same ranges.
#[test]
fn ids_follow_from_placements_in_both_mappings() {
    let of = |start, size, total, flip| {
        crate::geometry::gi_id(Placement { start, size }, Slices(total), flip)
    };
    let rows = include_str!("../../../data/gi-ids.tsv").lines();
    let mut mappings = BTreeMap::new();
    for row in rows.filter(|row| !row.starts_with('#')) {
        let cells: Vec<&str> = row.split('\t').collect();
        let &[slices, mapping, start, size, id] = cells.as_slice() else {
            panic!("no row: {row}")
        };
        let number = |cell: &str| cell.parse::<u32>().unwrap();
        let seen = of(
            number(start),
            number(size),
            number(slices),
            mapping == "flipped",
        );
        assert_eq!(seen, Some(GiId(number(id))), "{row}");
        *mappings.entry((number(slices), mapping)).or_insert(0) += 1;
    }
    let counts = [
        ((4, "normal"), 7),
        ((8, "flipped"), 14),
        ((8, "normal"), 14),
        ((12, "normal"), 7),
    ];
    assert_eq!(mappings, BTreeMap::from(counts));
    assert_eq!(of(1, 2, 8, false), None);
    assert_eq!(of(0, 3, 8, false), None);
}

/// Compute instances of a 4g: ids from 0, the lowest free one next (`-lci` of an A100-SXM4-80GB).
#[test]
fn compute_instances_count_from_zero() {
    let mut bench = Bench::new("A100-SXM4-80GB");
    let gi = bench.cgi(5).unwrap();
    let at = |start, size| Placement { start, size };
    let first = bench.cci(gi, 1).unwrap();
    let second = bench.cci(gi, 1).unwrap();
    assert_eq!((first.0, first.1), (0, at(0, 2)));
    assert_eq!((second.0, second.1), (1, at(2, 2)));
    assert_eq!(
        bench.cci(gi, 1).map(|_| ()),
        Err(Code::InsufficientResources)
    );
    assert_eq!(
        bench.cci(gi, 0).map(|_| ()),
        Err(Code::InsufficientResources)
    );
    bench.dci(gi, 0).unwrap();
    let again = bench.cci(gi, 1).unwrap();
    assert_eq!((again.0, again.1), (0, at(0, 2)));
    assert_eq!(again.2, first.2, "the same place has the same UUID");
    let names: Vec<String> = bench
        .machine
        .mig_devices(bench.gpu())
        .map(|device| device.name())
        .collect();
    assert_eq!(names, ["NVIDIA A100-SXM4-80GB MIG 2c.4g.40gb"; 2]);
}

/// MIG devices are listed by ascending ids, whatever the order of creation (created 9, 7, 8, 11: listed 7, 8, 9, 11).
#[test]
fn mig_devices_are_listed_by_id() {
    let mut bench = Bench::flipped("H100-SXM5-80GB");
    for _ in 0..4 {
        let gi = bench.cgi(19).unwrap();
        bench.cci(gi, 0).unwrap();
    }
    let listed: Vec<(u32, u32)> = bench
        .machine
        .mig_devices(bench.gpu())
        .map(|device| (device.index, device.gi.id.0))
        .collect();
    assert_eq!(listed, [(0, 7), (1, 8), (2, 9), (3, 11)]);
}

/// Memory and BAR1 of MIG devices as nvidia-smi shows them.
#[test]
fn mig_devices_have_the_captured_memory_and_bar1() {
    // (model, profile, full-size compute profile, MiB, BAR1 MiB)
    let table = [
        ("H100-SXM5-80GB", 19, 0, 9984, 16383),
        ("H100-SXM5-80GB", 14, 1, 20096, 32767),
        ("H100-SXM5-80GB", 9, 2, 40448, 65535),
        ("A100-SXM4-80GB", 15, 0, 19968, 32767),
        ("A100-SXM4-40GB", 9, 2, 20096, 32767),
    ];
    for (model, profile, compute, memory, bar1) in table {
        let mut bench = Bench::new(model);
        let gi = bench.cgi(profile).unwrap();
        bench.cci(gi, compute).unwrap();
        let device = bench.machine.mig_devices(bench.gpu()).next().unwrap();
        assert_eq!(
            (device.memory(), device.bar1()),
            (MiB(memory), Some(MiB(bar1))),
            "{model} {profile}"
        );
    }
}

/// Capability minors that appear in public samples (nvcaps.go of the DRA driver).
#[test]
fn capability_minors_match_the_samples() {
    assert_eq!(caps::gi(Minor(0), GiId(0)), Minor(3));
    assert_eq!(caps::ci(Minor(3), GiId(3), CiId(3)), Minor(439));
    assert_eq!(caps::ci(Minor(6), GiId(11), CiId(5)), Minor(918));
}

/// The driver's rule for UUIDs, computed once by hand (Python: hashlib.sha1) for chip 0x170 and PDI 0x0123456789abcdef.
#[test]
fn uuids_follow_the_drivers_rule() {
    let pdi = 0x0123_4567_89ab_cdef;
    assert_eq!(
        crate::uuid::gpu(0x170, pdi).to_string(),
        "GPU-1f009f4d-c4d4-5e43-8251-b910b42c5631"
    );
    assert_eq!(
        crate::uuid::mig(0x170, pdi, GiId(7), 0).to_string(),
        "MIG-2ebd5211-5500-5d8d-8754-4c5dcb1e7516"
    );
}
