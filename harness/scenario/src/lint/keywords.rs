//! The keywords of Gherkin in English, and what looks like one but is none.

/// Keywords that open a block and end in a colon.
pub(crate) const BLOCKS: [&str; 9] = [
    "Feature",
    "Background",
    "Rule",
    "Scenario Outline",
    "Scenario Template",
    "Scenario",
    "Examples",
    "Scenarios",
    "Example",
];

/// Keywords that open a step.
pub(crate) const STEPS: [&str; 5] = ["Given", "When", "Then", "And", "But"];

/// Words of ordinary prose that are one or two letters away from a keyword.
const PROSE: [&str; 32] = [
    "the", "an", "any", "a", "they", "them", "these", "there", "thus", "where", "who", "whom",
    "why", "what", "while", "even", "open", "hand", "band", "add", "all", "are", "at", "by", "bit",
    "both", "given", "gives", "give", "rules", "ruled", "featured",
];

/// The block keyword that `line` opens, and the rest after the colon.
pub(crate) fn block(line: &str) -> Option<(&'static str, &str)> {
    BLOCKS
        .iter()
        .find_map(|keyword| Some((*keyword, line.strip_prefix(keyword)?.strip_prefix(':')?)))
}

/// The step keyword that `line` opens, and the rest.
pub(crate) fn step(line: &str) -> Option<(&'static str, &str)> {
    if let Some(rest) = line.strip_prefix("* ") {
        return Some(("*", rest));
    }
    STEPS.iter().find_map(|keyword| {
        let rest = line.strip_prefix(keyword)?;
        rest.starts_with([' ', '\t'])
            .then(|| (*keyword, rest.trim()))
    })
}

/// The step keyword with which `line` begins without a space after it: the parser would take it as one.
pub(crate) fn glued(line: &str) -> Option<&'static str> {
    STEPS.iter().copied().find(|keyword| {
        line.strip_prefix(keyword)
            .is_some_and(|rest| !rest.starts_with([' ', '\t']))
    })
}

/// The step keyword that the first word of `line` was meant to be. `prose` says that ordinary sentences stand here too.
pub(crate) fn meant_step(line: &str, prose: bool) -> Option<&'static str> {
    let word = first_word(line);
    let lower = word.to_lowercase();
    if prose && PROSE.contains(&lower.as_str()) && !word.ends_with(':') {
        return None;
    }
    near(&lower, &STEPS)
}

/// The block keyword that the text before the colon of `line`, or its first word, was meant to be.
pub(crate) fn meant_block(line: &str) -> Option<&'static str> {
    if let Some((head, _)) = line.split_once(':')
        && head.split_whitespace().count() <= 2
        && let Some(keyword) = near(&head.to_lowercase(), &BLOCKS)
    {
        return Some(keyword);
    }
    // `Scenario seven small jobs`: the colon is missing. `Rule` and `Example` begin ordinary sentences too.
    ["Scenario Outline", "Scenario", "Background", "Feature"]
        .into_iter()
        .find(|keyword| {
            line.strip_prefix(keyword)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })
}

fn first_word(line: &str) -> &str {
    line.split_whitespace().next().unwrap_or_default()
}

fn near(word: &str, keywords: &[&'static str]) -> Option<&'static str> {
    let word = word.trim_end_matches([':', ',', '.']);
    if word.is_empty() {
        return None;
    }
    keywords
        .iter()
        .map(|keyword| {
            (
                strsim::damerau_levenshtein(word, &keyword.to_lowercase()),
                *keyword,
            )
        })
        .filter(|(distance, keyword)| *distance <= if keyword.len() <= 5 { 1 } else { 2 })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, keyword)| keyword)
}
