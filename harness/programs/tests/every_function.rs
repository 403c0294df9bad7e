//! Every function of nvidia-ml-py, called once on every model of the catalogue, whole and in MIG mode: each C function behind it
//! answers what the library's own table of functions says.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;

use gpu_model::Catalog;
use gpu_model::driver::Driver;
use programs::node::Node;
use programs::run::{have, run};

type Outcome = Result<(), Box<dyn Error>>;
/// Function of the binding, GPU, C function, what it said.
type Results = BTreeMap<String, BTreeMap<String, BTreeMap<String, String>>>;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/every_function.py");

/// The library's own table, which a test of nvml-abi keeps in step with its code.
const TABLE: &str = include_str!("../../../fake-nvml/abi/COVERAGE.md");

/// Answers besides success and NOT_SUPPORTED that are right for the arguments that the script gives.
const ALSO_RIGHT: &[(&str, &str, &str)] = &[
    (
        "nvmlDeviceGetMigDeviceHandleByIndex",
        "NOT_FOUND",
        "no MIG device at this index",
    ),
    (
        "nvmlDeviceGetProcessUtilization",
        "NOT_FOUND",
        "no sample: nothing runs",
    ),
    (
        "nvmlDeviceGetProcessesUtilizationInfo",
        "NOT_FOUND",
        "no sample: nothing runs",
    ),
    (
        "nvmlDeviceGetAccountingStats",
        "NOT_FOUND",
        "the process used no GPU",
    ),
    (
        "nvmlDeviceGetAccountingStats_v2",
        "NOT_FOUND",
        "the process used no GPU",
    ),
    (
        "nvmlEventSetWait",
        "TIMEOUT",
        "nothing happens within a millisecond",
    ),
    (
        "nvmlEventSetWait_v2",
        "TIMEOUT",
        "nothing happens within a millisecond",
    ),
    (
        "nvmlEventSetWait_v3",
        "TIMEOUT",
        "nothing happens within a millisecond",
    ),
    (
        "nvmlSystemEventSetWait",
        "TIMEOUT",
        "nothing happens within a millisecond",
    ),
];

/// What no machine here has, by the functions that ask about one: what they are given does not exist, and they say so.
const NOT_THERE: &[(&str, &str)] = &[
    ("nvmlUnit", "units of S-class systems"),
    ("nvmlVgpuInstance", "vGPU instances"),
    ("nvmlVgpuType", "vGPU types"),
    ("nvmlGetExcludedDeviceInfoByIndex", "excluded devices"),
];

/// Functions with behaviour that succeed on no model here, and why.
const NEVER_OK: &[(&str, &str)] = &[
    ("nvmlDeviceGetAddressingMode", "no model's facts say a mode"),
    ("nvmlDeviceClearFieldValues", "no field here can be cleared"),
    (
        "nvmlDeviceGetAccountingPids",
        "accounting is off after a boot",
    ),
    ("nvmlEventSetWait", "no event comes"),
    ("nvmlEventSetWait_v2", "no event comes"),
    ("nvmlEventSetWait_v3", "no event comes"),
    ("nvmlSystemEventSetWait", "no event comes"),
    ("nvmlDeviceGetProcessUtilization", "nothing runs"),
    ("nvmlDeviceGetProcessesUtilizationInfo", "nothing runs"),
    ("nvmlDeviceGetAccountingStats", "nothing runs"),
    ("nvmlDeviceGetAccountingStats_v2", "nothing runs"),
];

/// Names of a part of the table: all between backticks.
fn names(part: &str) -> BTreeSet<&str> {
    part.split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| name.starts_with("nvml"))
        .collect()
}

/// All results over the whole catalogue.
fn results(mig: bool, driver: &str) -> Result<Results, Box<dyn Error>> {
    let python = have("nvidia-ml-py")?;
    let catalog = Catalog::builtin();
    let cards: Vec<String> = catalog
        .models()
        .iter()
        .map(|model| format!("1x{}", model.name()))
        .collect();
    assert!(
        cards.len() <= 64,
        "a node has no room for all models: give each half a node of its own"
    );
    let node = Node::boot("every-model", &cards.join(","), mig, driver)?;
    let said = run(
        Path::new(env!("CARGO_BIN_EXE_on-node")),
        &node,
        &python,
        &[SCRIPT],
    )?;
    Ok(serde_json::from_str(&said.good(&python, &node)?)?)
}

#[test]
fn every_function_answers_what_the_table_says() -> Outcome {
    let (real, unsupported) = TABLE
        .split_once("## One answer")
        .ok_or("the table has no part `One answer`")?;
    let (real, unsupported) = (names(real), names(unsupported));
    assert!(
        real.len() > 100 && unsupported.len() > 50,
        "the table is not read well"
    );
    let also = |function: &str, answer: &str| {
        ALSO_RIGHT
            .iter()
            .any(|(name, code, _)| (*name, *code) == (function, answer))
    };

    let (mut wrong, mut ok) = (BTreeMap::new(), BTreeSet::new());
    let (mut called, mut functions, mut symbols) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    // The newest driver has every function; the usual one lacks those that came later.
    for (mig, version) in [(false, "615.71.05"), (true, "580.95.05")] {
        let driver = Driver::of(version);
        for (function, gpus) in results(mig, version)? {
            functions.insert(function.clone());
            for (gpu, answers) in gpus {
                called.insert(function.clone());
                for (symbol, answer) in answers {
                    symbols.insert(symbol.clone());
                    let right = match answer.as_str() {
                        _ if symbol == "python" => false,
                        "SUCCESS" if real.contains(symbol.as_str()) => {
                            ok.insert(symbol.clone());
                            true
                        }
                        "NOT_SUPPORTED" => {
                            real.contains(symbol.as_str()) || unsupported.contains(symbol.as_str())
                        }
                        "FUNCTION_NOT_FOUND" => !driver.has(&symbol),
                        _ if !driver.has(&symbol) => false,
                        "INVALID_ARGUMENT" if is_not_there(&symbol) => true,
                        answer => real.contains(symbol.as_str()) && also(&symbol, answer),
                    };
                    if !right {
                        let key = format!("{version}: {function}: {symbol} says {answer}");
                        wrong.entry(key).or_insert_with(Vec::new).push(gpu.clone());
                    }
                }
            }
        }
    }
    let never: Vec<&&str> = real
        .iter()
        .filter(|name| symbols.contains(**name) && !ok.contains(**name))
        .filter(|name| !is_not_there(name))
        .filter(|name| !NEVER_OK.iter().any(|(known, _)| *known == **name))
        .collect();
    let uncalled: Vec<&String> = functions.difference(&called).collect();
    assert!(
        wrong.is_empty() && never.is_empty() && uncalled.is_empty(),
        "against the table: {wrong:#?}\nwith behaviour, but nowhere a success: {never:#?}\nnever called: {uncalled:#?}"
    );
    Ok(())
}

/// Whether a function asks about something that no machine here has.
fn is_not_there(symbol: &str) -> bool {
    NOT_THERE
        .iter()
        .any(|(prefix, _)| symbol.starts_with(prefix))
}
