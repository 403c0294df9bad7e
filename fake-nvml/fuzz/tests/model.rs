//! Model files: a good one with random edits is read or refused with its place, and never panics.
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

/// One edit is four bytes: where (two), how, with what.
fn edit(text: &str, edits: &[u8]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for edit in edits.chunks_exact(4).take(16) {
        let at = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % lines.len().max(1);
        let word = WORDS[usize::from(edit[3]) % WORDS.len()];
        let Some(line) = lines.get_mut(at) else { break };
        match edit[2] % 6 {
            0 => drop(lines.remove(at)),
            1 => {
                let again = line.clone();
                lines.insert(at, again);
            }
            // A value: after the colon that the byte chooses.
            2..4 => {
                let colons: Vec<usize> = line.match_indices(": ").map(|(i, _)| i + 2).collect();
                if let Some(from) = colons.get(usize::from(edit[2] / 6) % colons.len().max(1)) {
                    let rest = &line[*from..];
                    let end = rest.find([',', '}']).map_or(line.len(), |end| from + end);
                    line.replace_range(*from..end, word);
                }
            }
            4 => line.insert_str(0, word),
            _ => line.push_str(word),
        }
    }
    lines.join("\n")
}

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
                which => edit(BASES[usize::from(which) % BASES.len()], edits),
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

/// Line breaks as YAML counts them at the most.
fn breaks(text: &str) -> usize {
    text.matches(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
        .count()
}
