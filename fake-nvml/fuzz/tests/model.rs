//! Model files: a good one with random edits is read or refused with its place, and never panics.
use fake_nvml_fuzz::{breaks, edit};
use gpu_model::Model;
use std::time::Duration;

const BASES: [&str; 2] = [
    include_str!("../../catalog/a100-sxm4-40gb.yaml"),
    include_str!("../../catalog/l4.yaml"),
];
/// What is put in place of something else.
const WORDS: [&str; 24] = [
    "null",
    "0",
    "-1",
    "1",
    "7",
    "8",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "1e400",
    "[]",
    "{}",
    "\"\"",
    "true",
    "&a",
    "*a",
    "unknown",
    "[0, 0]",
    "[7]",
    "S99",
    "é\u{0}",
    "!!binary x",
    ": :",
    "- - -",
];

#[test]
fn model_files() {
    for base in BASES {
        Model::read("base.yaml", base).expect("the base is good");
    }
    bolero::check!(name = "model")
        .with_test_time(Duration::from_millis(400))
        .with_max_len(68)
        .for_each(|bytes: &[u8]| {
            let (which, edits) = bytes.split_first().unwrap_or((&0, &[]));
            let text = match which % 4 {
                // As it comes, for what no edit makes.
                3 => String::from_utf8_lossy(edits).into_owned(),
                which => edit(BASES[usize::from(which) % BASES.len()], edits, &WORDS),
            };
            match Model::read("fuzz.yaml", &text) {
                Ok(model) => assert!(!model.name().is_empty()),
                Err(error) => {
                    let said = error.to_string();
                    assert!(said.contains("fuzz.yaml"), "no place: {said}");
                    assert!(error.line <= breaks(&text) as u64 + 2, "{said}");
                }
            }
        });
}
