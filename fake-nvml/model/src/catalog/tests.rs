use super::*;
use crate::{GiProfileIndex, MiB, MigToggle, ProfileId, StandIn};
use std::collections::BTreeSet;

#[test]
fn the_builtin_catalogue_reads() {
    for file in &BUILTIN {
        let model = Model::read(file.name, file.yaml).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(model.name(), file.model);
        assert_eq!(file.name, format!("{}.yaml", file.model.to_lowercase()));
    }
    let catalog = Catalog::builtin();
    let names: Vec<&str> = catalog.models().into_iter().map(Model::name).collect();
    assert_eq!(names.len(), 25);
    assert!(catalog.names().eq(names.iter().copied()));
    assert!(names.contains(&"A100-SXM4-40GB") && names.contains(&"V100-SXM2-16GB"));
}

/// The project's first page says how many models there are, and how many of them make no claim on layouts.
#[test]
fn readme_counts_the_models() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let Ok(page) = std::fs::read_to_string(page) else {
        return; // packed without the rest of the repository
    };
    let (_, row) = page.split_once("| GPU models | ").expect("its row");
    let row = row.lines().next().expect("a line");
    let numbers: Vec<usize> = row
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let catalog = Catalog::builtin();
    let without_claim = catalog
        .models()
        .into_iter()
        .filter(|model| !model.spec().certifiable());
    assert_eq!(
        numbers,
        [catalog.models().len(), without_claim.count()],
        "{row}"
    );
}

fn yaml_of(model: &str) -> &'static str {
    BUILTIN
        .iter()
        .find(|file| file.model == model)
        .expect("a built-in model")
        .yaml
}

#[test]
fn every_file_of_the_folder_is_built_in() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../catalog");
    let there: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("the catalogue's folder")
        .map(|entry| {
            entry
                .expect("entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| name.ends_with(".yaml") && name != SOURCES.0)
        .collect();
    let listed: BTreeSet<String> = BUILTIN.iter().map(|file| file.name.to_owned()).collect();
    assert_eq!(there, listed);
}

#[test]
fn an_unknown_model_names_the_nearest() {
    let catalog = Catalog::builtin();
    let error = catalog.model("A100-SXM-40GB").expect_err("no such model");
    assert_eq!(error.nearest.as_deref(), Some("A100-SXM4-40GB"));
    assert_eq!(
        error.to_string(),
        format!(
            "there is no GPU model `A100-SXM-40GB`, did you mean `A100-SXM4-40GB`?; known are {}",
            error.known.join(", ")
        )
    );
    assert_eq!(error.known.len(), BUILTIN.len());
    assert_eq!(
        catalog.model("Radeon").expect_err("no such model").nearest,
        None
    );
    assert_eq!(
        catalog.model("h100-sxm5-80gb").expect("any case").name(),
        "H100-SXM5-80GB"
    );
}

#[test]
fn the_tables_are_those_of_the_captures() {
    let catalog = Catalog::builtin();
    // (profile, id, slices, instances, SM, CE, DEC, JPEG, OFA, MiB, placements as -lgipp prints them)
    type Row = (
        &'static str,
        u32,
        u32,
        u32,
        u32,
        [u32; 4],
        u64,
        &'static str,
    );
    let tables: [(&str, &[Row]); 2] = [
        (
            "A100-SXM4-40GB",
            &[
                (
                    "1g.5gb",
                    19,
                    1,
                    7,
                    14,
                    [1, 0, 0, 0],
                    4864,
                    "{0,1,2,3,4,5,6}:1",
                ),
                (
                    "1g.5gb+me",
                    20,
                    1,
                    1,
                    14,
                    [1, 1, 1, 1],
                    4864,
                    "{0,1,2,3,4,5,6}:1",
                ),
                ("1g.10gb", 15, 1, 4, 14, [1, 1, 0, 0], 9984, "{0,2,4,6}:2"),
                ("2g.10gb", 14, 2, 3, 28, [2, 1, 0, 0], 9984, "{0,2,4}:2"),
                ("3g.20gb", 9, 3, 2, 42, [3, 2, 0, 0], 20096, "{0,4}:4"),
                ("4g.20gb", 5, 4, 1, 56, [4, 2, 0, 0], 20096, "{0}:4"),
                ("7g.40gb", 0, 7, 1, 98, [7, 5, 1, 1], 40320, "{0}:8"),
            ],
        ),
        (
            "H100-SXM5-80GB",
            &[
                (
                    "1g.10gb",
                    19,
                    1,
                    7,
                    16,
                    [1, 1, 1, 0],
                    9984,
                    "{0,1,2,3,4,5,6}:1",
                ),
                (
                    "1g.10gb+me",
                    20,
                    1,
                    1,
                    16,
                    [1, 1, 1, 1],
                    9984,
                    "{0,1,2,3,4,5,6}:1",
                ),
                ("1g.20gb", 15, 1, 4, 26, [1, 1, 1, 0], 20096, "{0,2,4,6}:2"),
                ("2g.20gb", 14, 2, 3, 32, [2, 2, 2, 0], 20096, "{0,2,4}:2"),
                ("3g.40gb", 9, 3, 2, 60, [3, 3, 3, 0], 40448, "{0,4}:4"),
                ("4g.40gb", 5, 4, 1, 64, [4, 4, 4, 0], 40448, "{0}:4"),
                ("7g.80gb", 0, 7, 1, 132, [8, 7, 7, 1], 81152, "{0}:8"),
            ],
        ),
    ];
    for (model, rows) in tables {
        let spec = catalog.model(model).expect("model").spec();
        let mig = spec.mig.as_ref().expect("MIG");
        assert_eq!(mig.profiles.len(), rows.len());
        for (profile, row) in mig.profiles.iter().zip(rows) {
            let starts: Vec<String> = profile.starts.iter().map(u32::to_string).collect();
            let places = format!("{{{}}}:{}", starts.join(","), profile.size);
            let e = profile.engines;
            let seen = (
                profile.name.as_str(),
                profile.id.0,
                profile.slices.0,
                profile.instances,
                profile.multiprocessors,
                [e.copy, e.decoder, e.jpeg, e.ofa],
                profile.memory.0,
                places.as_str(),
            );
            assert_eq!(seen, *row, "{model}");
        }
    }
}

#[test]
fn identity_is_that_of_the_captures() {
    let catalog = Catalog::builtin();
    let spec = |name| catalog.model(name).expect("model").spec();
    let a100 = spec("A100-SXM4-40GB");
    assert_eq!(a100.name, "NVIDIA A100-SXM4-40GB");
    assert_eq!(
        (a100.pci_device_id, a100.memory_total),
        (0x20B0_10DE, MiB(40960))
    );
    assert_eq!(spec("A100-SXM4-80GB").pci_device_id, 0x20B2_10DE);
    let h100 = spec("H100-SXM5-80GB");
    assert_eq!(
        (h100.name.as_str(), h100.pci_device_id),
        ("NVIDIA H100 80GB HBM3", 0x2330_10DE)
    );
    assert_eq!(h100.memory_total, MiB(81559));
    let l4 = spec("L4");
    assert_eq!((l4.pci_device_id, l4.mig.is_none()), (0x27B8_10DE, true));
    let toggle = |spec: &crate::Spec| spec.mig.as_ref().map(|mig| mig.toggle);
    assert_eq!(toggle(a100), Some(MigToggle::NeedsReset));
    assert_eq!(toggle(h100), Some(MigToggle::Immediate));
}

#[test]
fn compute_instance_profiles_follow_the_gpu_instance() {
    let catalog = Catalog::builtin();
    let mig = catalog
        .model("A100-SXM4-40GB")
        .expect("model")
        .spec()
        .mig
        .as_ref()
        .expect("MIG");
    let three = mig.by_id(ProfileId(9)).expect("3g");
    let names: Vec<(&str, u32, u32)> = three
        .compute
        .iter()
        .map(|c| (c.name.as_str(), c.id.0, c.instances))
        .collect();
    assert_eq!(
        names,
        [
            ("1c.3g.20gb", 0, 3),
            ("2c.3g.20gb", 1, 1),
            ("3g.20gb", 2, 1)
        ]
    );
    let me = mig.by_index(GiProfileIndex::S1Rev1).expect("+me");
    assert_eq!(
        me.compute
            .iter()
            .map(|c| c.name.as_str())
            .collect::<Vec<_>>(),
        ["1g.5gb"]
    );
}

#[test]
fn facts_keep_their_provenance() {
    let catalog = Catalog::builtin();
    let model = catalog.model("H100-SXM5-80GB").expect("model");
    let row = |path: &str| {
        model
            .facts()
            .iter()
            .find(|row| row.path == path)
            .unwrap_or_else(|| panic!("{path}"))
    };
    let memory = row("mig.gpu_instance_profiles.3g.40gb.memory_mib");
    assert_eq!(
        (memory.value.as_str(), memory.confidence),
        ("40448", Confidence::Observed)
    );
    assert!(
        model
            .source(&memory.sources[0])
            .is_some_and(|text| text.contains("AWS"))
    );
    let order = row("mig.gpu_instance_profiles.1g.20gb.default_order");
    assert_eq!(order.confidence, Confidence::Unknown);
    assert!(model.facts().len() > 60);
    for (path, value) in [
        ("identity.pci_device_id", "0x233010DE"),
        ("identity.pci_subsystem_id", "0x16C110DE"),
        ("identity.chip_id", "0x180"),
    ] {
        assert_eq!(row(path).value, value);
    }
}

/// A model whose memory or multiprocessors nobody has shown says so, and no layout is claimed of it.
#[test]
fn stand_ins_are_marked() {
    let catalog = Catalog::builtin();
    let mut left_out = Vec::new();
    for model in catalog.models() {
        let spec = model.spec();
        assert!(!model.facts().is_empty(), "{}", model.name());
        // The list for people and the compact form tell the same.
        let weighty = |row: &&FactRow| {
            let path = row.path.as_str();
            let of_gi = path.starts_with("mig.") && !path.contains(".compute_instance_profiles.");
            matches!(
                path,
                "identity.name" | "identity.memory_total_mib" | "identity.multiprocessors"
            ) || of_gi && !path.ends_with(".default_order")
        };
        let by_rows = model.stand_ins().find(weighty).is_none();
        assert_eq!(spec.certifiable(), by_rows, "{}", model.name());
        let said = spec.stand_ins.iter().filter(|it| it.weighs()).count();
        assert_eq!(
            said,
            model.stand_ins().filter(weighty).count(),
            "{}",
            model.name()
        );
        for row in model.stand_ins() {
            assert!(
                row.note.is_some(),
                "{} {}: say what stands there",
                model.name(),
                row.path
            );
        }
        if !spec.certifiable() {
            left_out.push(model.name());
        }
    }
    assert_eq!(
        left_out,
        [
            "H100-96GB",
            "GH200-144GB",
            "GH200-96GB",
            "H20-96GB",
            "GB200-186GB",
            "B300-SXM-269GB",
            "GB300-278GB",
            "RTX-4000-SFF-ADA"
        ]
    );
    let gb200 = catalog.model("GB200-186GB").expect("model").spec();
    let id = ProfileId(9);
    assert!(gb200.stand_ins.contains(&StandIn::Memory(id)));
    assert_eq!(gb200.describe(StandIn::Memory(id)), "memory of 3g.93gb");
}

/// One node of everything, and nodes of 64: addresses, numbers and UUIDs are apart, and the state stays small.
#[test]
fn nodes_of_any_models_and_sizes_build() {
    let catalog = Catalog::builtin();
    let all: Vec<(&Model, usize)> = catalog.models().into_iter().map(|m| (m, 2)).collect();
    let mut nodes = vec![all];
    nodes.extend(catalog.models().into_iter().map(|m| vec![(m, 64)]));
    for cards in nodes {
        let options = crate::Options {
            mig: true,
            ..crate::Options::default()
        };
        let machine = crate::Machine::build(&cards, &options);
        let count: usize = cards.iter().map(|(_, n)| n).sum();
        assert_eq!(machine.gpus.len(), count);
        let apart = |of: &dyn Fn(&crate::Gpu) -> String| {
            machine.gpus.iter().map(of).collect::<BTreeSet<_>>().len()
        };
        assert_eq!(apart(&|gpu| gpu.uuid.to_string()), count);
        assert_eq!(apart(&|gpu| gpu.pci.to_string()), count);
        assert_eq!(apart(&|gpu| gpu.serial.clone()), count);
        assert_eq!(apart(&|gpu| gpu.minor.to_string()), count);
        assert!(
            machine.gpus.is_sorted_by_key(|gpu| gpu.pci),
            "NVML's order is that of PCI"
        );
        assert!(machine.gpus.is_sorted_by_key(|gpu| gpu.numa_node));
        // The last compute instance of the last card still has a minor number of the driver's table.
        let last = crate::caps::ci(crate::Minor(63), crate::GiId(14), crate::CiId(7));
        assert_eq!(last, crate::Minor(2 + 64 * 15 * 9));
    }
}

/// What a wrong file gets: the place and what to mend.
#[test]
fn wrong_files_get_one_clear_error() {
    let good = yaml_of("A100-SXM4-40GB");
    let cases: &[(&str, &str, &str)] = &[
        (
            "format: 1",
            "format: 2",
            "mine.yaml:4:9: format 2 is not known: write `format: 1`",
        ),
        (
            "model: A100-SXM4-40GB",
            "model: my card",
            "mine.yaml:5:8: `my card` is no model name: use letters",
        ),
        (
            "pci_device_id:          {value: 0x20B010DE",
            "pci_device_id:          {value: 0x20B0",
            "is not an NVIDIA device id",
        ),
        (
            "name: 2g.10gb\n",
            "name: 2g.20gb\n",
            "by the naming rule of go-nvlib this profile is `2g.10gb`, not `2g.20gb`",
        ),
        (
            "constant:      {value: 2_SLICE,",
            "constant:      {value: 5_SLICE,",
            "nvml.h has no GPU instance profile 5_SLICE",
        ),
        (
            "starts: [0, 2, 4]}",
            "starts: [0, 2, 5]}",
            "default_order is not an order of the starts",
        ),
        (
            "{value: [4, 0, 2], confidence: observed, source: [S10, S16, S18, S30]}",
            "{value: [4, 0, 2], confidence: observed, source: []}",
            "a value that is `observed` names no source",
        ),
        (
            "source: [S14]}",
            "source: [S99]}",
            "there is no source S99: describe it under `sources:`",
        ),
        (
            "  memory_total_mib:       {value: 40960",
            "  memory_total_mib:       {value: null",
            "memory_total_mib is null",
        ),
        (
            "  memory_total_mib:       {value: 40960",
            "  memory_total_mib:       {value: lots",
            "mine.yaml:19:35: invalid u64",
        ),
        ("brand: ", "brnad: ", "unknown field"),
        (
            "mig_supported:          {value: true",
            "mig_supported:          {value: false",
            "there is a section `mig`",
        ),
        (
            "instances: 3, multiprocessors: 28",
            "instances: 9, multiprocessors: 28",
            "2g.10gb allows 9 instances, its placements 3",
        ),
        (
            "{size: 4, starts: [0, 4]}",
            "{size: 3, starts: [0, 4]}",
            "no half, quarter or eighth",
        ),
        ("identity:\n", "identity: [\n", "mine.yaml:"),
    ];
    for (from, to, expected) in cases {
        assert!(good.contains(from), "the test is out of date: {from}");
        let error = Model::read("mine.yaml", &good.replacen(from, to, 1))
            .expect_err(to)
            .to_string();
        assert!(error.contains(expected), "{to}: {error}");
        assert!(!error.contains("mine.yaml:0"), "no place: {error}");
    }
}

#[test]
fn a_users_file_can_bring_sources_and_replace_a_model() {
    let mine = format!("{}\nsources:\n  X1: my own card\n", yaml_of("L4")).replacen(
        "source: [S11, S2]",
        "source: [X1]",
        1,
    );
    let mut catalog = Catalog::builtin();
    let model = Model::read("mine.yaml", &mine).expect("a good file");
    assert_eq!(model.source("X1"), Some("my own card"));
    catalog.add(model);
    assert_eq!(catalog.models().len(), BUILTIN.len());
}
