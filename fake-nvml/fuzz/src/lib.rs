//! Fuzz targets of the fake GPU, one a file under `tests`: they are tests, so that stable Rust and `cargo test` run them, each for a
//! moment. Here is what the targets that read YAML share.
//! `BOLERO_RANDOM_TEST_TIME_MS=60000 BOLERO_RANDOM_ITERATIONS=100000000 cargo test -p fake-nvml-fuzz` runs each for a minute. The
//! corpus lies in `tests/__fuzz__/<target>/corpus`, what once failed in `crashes` beside it; both are run each time.
//! `cargo bolero test` (nightly) runs the same targets under libFuzzer.
#![forbid(unsafe_code)]

/// A good text with edits, of four bytes each: in which line (two), how, with which of the words.
pub fn edit(text: &str, edits: &[u8], words: &[&str]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for edit in edits.chunks_exact(4).take(16) {
        let at = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % lines.len().max(1);
        let word = words[usize::from(edit[3]) % words.len()];
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

/// Line breaks as YAML counts them at the most.
pub fn breaks(text: &str) -> usize {
    text.matches(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
        .count()
}
