//! Fault plans: any text is read or refused with its place; what is read decides about calls and never panics.
use fake_nvml_fuzz::{breaks, edit};
use gpu_model::PlanFile;
use std::time::Duration;

const BASE: &str = include_str!("__fuzz__/plan/corpus/all.yaml");
const WORDS: [&str; 20] = [
    "null",
    "0",
    "-1",
    "1.5",
    "1",
    "4294967296",
    "18446744073709551615",
    "nan",
    "[]",
    "{}",
    "\"\"",
    "10 s",
    "-3 ms",
    "hang",
    "kill",
    "nvml*",
    "[*",
    "gpu 0",
    "é",
    ": :",
];

#[test]
fn fault_plans() {
    PlanFile::read(BASE, None).expect("the base is good");
    bolero::check!(name = "plan")
        .with_test_time(Duration::from_millis(400))
        .with_max_len(512)
        .for_each(|bytes: &[u8]| {
            let text = match bytes.split_first() {
                Some((0..192, edits)) => edit(BASE, edits, &WORDS),
                _ => String::from_utf8_lossy(bytes).into_owned(),
            };
            if let Err(problems) = PlanFile::read(&text, None) {
                assert!(!problems.is_empty(), "refused without a word");
                for problem in problems {
                    let place = text.get(problem.offset..problem.offset + problem.length);
                    assert!(place.is_some(), "no such place: {problem:?}");
                    assert!(problem.line <= breaks(&text) + 2, "{problem:?}");
                    assert!(!problem.message.is_empty(), "{problem:?}");
                }
            }
        });
}
