//! Which functions have behaviour and which say NOT_SUPPORTED.
//! Not a list: put together from what the function tables of `api` hold.
//! Read by tests, and written out to `COVERAGE.md` for people (a test keeps it in step).

use crate::{api, status};

/// The functions with behaviour, file by file.
const REAL: &[(&str, &[&str])] = &[
    ("init", api::init::INIT),
    ("error texts", status::STATUS),
    ("system", api::system::SYSTEM),
    ("devices", api::device::DEVICE),
    ("memory", api::memory::MEMORY),
    ("MIG", api::mig::MIG),
    ("GPU instances", api::gpu_instance::GPU_INSTANCE),
    ("compute instances", api::compute_instance::COMPUTE_INSTANCE),
    ("events", api::events::EVENTS),
    ("health", api::health::HEALTH),
    ("monitors", api::monitors::MONITORS),
    ("policy", api::policy::POLICY),
    ("processes", api::processes::PROCESSES),
];

/// The page for people.
fn page() -> String {
    let total: usize = REAL.iter().map(|(_, names)| names.len()).sum();
    let unsupported = api::unsupported::UNSUPPORTED;
    let mut page = format!(
        "# What libnvidia-ml.so.1 answers\n\nWritten by a test of nvml-abi from the function tables; do not edit.\n\n\
         {total} functions have behaviour, {} answer NOT_SUPPORTED.\n",
        unsupported.len()
    );
    for (topic, names) in REAL {
        page += &format!("\n## {topic}\n\n");
        names
            .iter()
            .for_each(|name| page += &format!("- `{name}`\n"));
    }
    page += "\n## NOT_SUPPORTED\n\n";
    unsupported
        .iter()
        .for_each(|name| page += &format!("- `{name}`\n"));
    page
}

#[test]
fn every_function_of_the_header_is_in_one_table() {
    let mut have: Vec<&str> = REAL
        .iter()
        .flat_map(|(_, names)| names.iter().copied())
        .collect();
    have.extend(api::unsupported::UNSUPPORTED);
    have.sort_unstable();
    let header = include_str!("../data/go-nvml.txt");
    let mut known: Vec<&str> = header
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    known.sort_unstable();
    assert_eq!(have, known);
}

#[test]
fn coverage_page_is_in_step() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("COVERAGE.md");
    if std::env::var_os("UPDATE_COVERAGE").is_some() {
        std::fs::write(&path, page()).expect("the page is written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == page(),
        "COVERAGE.md is out of step: run the test once with UPDATE_COVERAGE=1"
    );
}
