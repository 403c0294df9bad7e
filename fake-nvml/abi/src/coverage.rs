//! Which functions there are, and what each does.
//! Not a list: put together from what the function tables of `api` hold.
//! Read by tests, and written out to `COVERAGE.md` for people (a test keeps it in step).

use gpu_model::driver::{Since, since};

use crate::{api, status};

/// The functions that answer from the state, the catalogue or the system, file by file.
const REAL: &[(&str, &[&str])] = &[
    ("init", api::init::INIT),
    ("error texts", status::STATUS),
    ("system", api::system::SYSTEM),
    ("system events", api::system_events::SYSTEM_EVENTS),
    ("units", api::units::UNITS),
    ("devices", api::device::DEVICE),
    ("boards", api::board::BOARD),
    ("topology", api::topology::TOPOLOGY),
    ("NVLink and fabric", api::nvlink::NVLINK),
    ("memory", api::memory::MEMORY),
    ("MIG", api::mig::MIG),
    ("GPU instances", api::gpu_instance::GPU_INSTANCE),
    ("compute instances", api::compute_instance::COMPUTE_INSTANCE),
    ("events", api::events::EVENTS),
    ("health", api::health::HEALTH),
    ("retirement", api::retirement::RETIREMENT),
    ("fields", api::fields::FIELDS),
    ("monitors", api::monitors::MONITORS),
    ("samples", api::samples::SAMPLES),
    ("thermal", api::thermal::THERMAL),
    ("clocks", api::clocks::CLOCKS),
    ("policy", api::policy::POLICY),
    ("draining", api::drain::DRAIN),
    ("processes", api::processes::PROCESSES),
    ("accounting", api::accounting::ACCOUNTING),
    ("encoders and capture", api::sessions::SESSIONS),
    ("performance metrics", api::gpm::GPM),
    ("confidential computing", api::confidential::CONFIDENTIAL),
    ("licences", api::vgpu::LICENCES),
];

/// The functions that have one answer on every card: arguments are checked, and what they ask about is not there.
const ABSENT: &[(&str, &[&str])] = &[
    ("boards", api::board::BOARD_ABSENT),
    ("clocks", api::clocks::CLOCKS_ABSENT),
    (
        "confidential computing",
        api::confidential::CONFIDENTIAL_ABSENT,
    ),
    ("detaching", api::drain::DRAIN_ABSENT),
    ("events with context", api::system_events::CONTEXT_EVENTS),
    ("fans and coolers", api::thermal::THERMAL_ABSENT),
    ("NVLink", api::nvlink::NVLINK_ABSENT),
    ("power", api::power::POWER_ABSENT),
    ("retirement", api::retirement::RETIREMENT_ABSENT),
    ("firmware records", api::units::UNITS_ABSENT),
    ("virtual GPUs", api::vgpu::VGPU),
];

fn count(tables: &[(&str, &[&str])]) -> usize {
    tables.iter().map(|(_, names)| names.len()).sum()
}

/// The page for people.
fn page() -> String {
    let (real, absent) = (count(REAL), count(ABSENT));
    let mut page = format!(
        "# What libnvidia-ml.so.1 answers\n\nWritten by a test of nvml-abi from the function tables; do not edit.\n\n\
         All {} functions of nvml.h check their arguments as it says. {real} answer from the state, the catalogue or the system. \
         {absent} have one answer on every card, since what they ask about is not there, or nobody has shown what it is: \
         NOT_SUPPORTED, or the error for a thing that does not exist.\n",
        real + absent
    );
    for (title, tables) in [("Answers", REAL), ("One answer", ABSENT)] {
        page += &format!("\n## {title}\n");
        for (topic, names) in tables {
            page += &format!("\n### {topic}\n\n");
            for name in *names {
                page += &format!("- `{name}`\n");
            }
        }
    }
    page
}

#[test]
fn every_function_of_the_header_is_in_one_table() {
    let tables = REAL.iter().chain(ABSENT);
    let mut have: Vec<&str> = tables
        .flat_map(|(_, names)| names.iter().copied())
        .collect();
    have.sort_unstable();
    let header = include_str!("../data/signatures.tsv");
    let mut known: Vec<&str> = header
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split('\t').next())
        .collect();
    known.sort_unstable();
    assert_eq!(have, known);
}

/// A file of this room is what the tables of now make of it; with UPDATE_COVERAGE it becomes so.
fn is_in_step(file: &str, made: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("UPDATE_COVERAGE").is_some() {
        std::fs::write(&path, made).expect("the file is written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "{file} is out of step: run the test once with UPDATE_COVERAGE=1"
    );
}

#[test]
fn coverage_page_is_in_step() {
    is_in_step("COVERAGE.md", &page());
}

/// The same for programs (`fakegpu coverage`): name, tier, what it does, its topic, since which CUDA release.
fn table() -> String {
    let tiers = include_str!("../data/tiers.tsv");
    let tier = |name: &str| {
        let row = tiers
            .lines()
            .find(|row| row.split('\t').next() == Some(name));
        row.and_then(|row| row.split('\t').nth(1)).unwrap_or("-")
    };
    let mut rows = Vec::new();
    for (what, tables) in [("answers", REAL), ("one answer", ABSENT)] {
        for (topic, names) in tables {
            for name in *names {
                let since = match since(name) {
                    Since::Release(release) => release.to_string(),
                    Since::Unknown => "unknown".to_owned(),
                };
                rows.push(format!(
                    "{name}\t{}\t{what}\t{topic}\t{since}\n",
                    tier(name)
                ));
            }
        }
    }
    rows.sort_unstable();
    format!(
        "# Written by a test of nvml-abi; do not edit. Function, tier, behaviour, topic, first CUDA release whose nvml.h has it (11.8: or an older one).\n{}",
        rows.concat()
    )
}

#[test]
fn coverage_table_is_in_step() {
    is_in_step("data/coverage.tsv", &table());
}

/// Each tier's functions exist, and each says when it came.
#[test]
fn tiers_and_releases_are_of_functions_that_are_there() {
    let table = table();
    let has = |name: &str| {
        table
            .lines()
            .any(|row| row.split('\t').next() == Some(name))
    };
    let tiers = include_str!("../data/tiers.tsv").lines();
    for row in tiers.filter(|row| !row.starts_with('#')) {
        assert!(has(row.split('\t').next().unwrap_or_default()), "{row}");
    }
    assert!(!table.contains("unknown"), "a function of no public header");
    let early = table.lines().filter(|row| {
        ["T0", "T1", "T2", "T3"]
            .iter()
            .any(|tier| row.split('\t').nth(1) == Some(tier))
    });
    let absent: Vec<_> = early.filter(|row| row.contains("one answer")).collect();
    // The cards of the catalogue are cooled by their machine; of the one with a fan no more is known than that.
    let fans = absent
        .iter()
        .all(|row| row.starts_with("nvmlDeviceGetFanSpeed"));
    assert!(
        fans,
        "of the first tiers, and nothing behind them: {absent:?}"
    );
}

/// The project's first page says how many functions there are and how many have behaviour.
#[test]
fn readme_counts_what_is_there() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let Ok(readme) = std::fs::read_to_string(&path) else {
        return; // packed without the rest of the repository
    };
    let number_before = |words: &str| {
        let (before, _) = readme
            .split_once(words)
            .unwrap_or_else(|| panic!("README.md says nothing `{words}`"));
        before
            .split_whitespace()
            .last()
            .and_then(|number| number.parse::<usize>().ok())
    };
    assert_eq!(
        number_before(" functions are exported"),
        Some(count(REAL) + count(ABSENT))
    );
    assert_eq!(number_before(" have behaviour"), Some(count(REAL)));
}
