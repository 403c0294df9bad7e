//! What a scenario is expected to come to, by its tags.
//! `@expected-fail:NUMBER`: a program of somebody else is wrong, and the number says where that is reported.
//! `@nondeterministic`: it holds at some times and not at others.

/// Marks a scenario that must fail: `@expected-fail:kubernetes-140802`.
pub(crate) const EXPECTED_FAIL: &str = "@expected-fail";
/// Marks a scenario that is tried several times.
pub(crate) const NONDETERMINISTIC: &str = "@nondeterministic";

/// What a scenario is expected to come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Expectation {
    /// It holds.
    #[default]
    Holds,
    /// An assertion of it fails, for what is reported under this number.
    Fails(String),
    /// It holds at some times.
    Varies,
}

/// What these tags say. The lint has let through only forms that there are.
pub(crate) fn of(tags: &[String]) -> Expectation {
    let mark = tags
        .iter()
        .find_map(|tag| tag.strip_prefix(EXPECTED_FAIL)?.strip_prefix(':'));
    match mark {
        Some(number) => Expectation::Fails(number.to_owned()),
        None if tags.iter().any(|tag| tag == NONDETERMINISTIC) => Expectation::Varies,
        None => Expectation::Holds,
    }
}

/// What is wrong with a tag that means to say something of this.
pub(crate) fn wrong(tag: &str) -> Option<String> {
    let plain: String = tag
        .chars()
        .filter(|c| c.is_alphanumeric())
        .collect::<String>()
        .to_lowercase();
    if let Some(rest) = tag.strip_prefix(EXPECTED_FAIL) {
        let number = rest.strip_prefix(':').unwrap_or("");
        let fits = number
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.');
        return (number.is_empty() || !fits).then(|| {
            "say where it is reported, in lower case: @expected-fail:kubernetes-140802".to_owned()
        });
    }
    if plain.starts_with("expectedfail") || plain.starts_with("expectfail") {
        return Some("write it like @expected-fail:kubernetes-140802".to_owned());
    }
    let meant = ["nondeterministic", "flaky", "racy"];
    let near = |word: &&str| strsim::damerau_levenshtein(&plain, word) <= 2;
    (tag != NONDETERMINISTIC && meant.iter().any(near))
        .then(|| "the tag is @nondeterministic".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_say_what_is_expected() {
        let of = |tag: &str| of(&["@a".to_owned(), tag.to_owned()]);
        assert_eq!(of("@b"), Expectation::Holds);
        assert_eq!(
            of("@expected-fail:kubernetes-1"),
            Expectation::Fails("kubernetes-1".to_owned())
        );
        assert_eq!(of("@nondeterministic"), Expectation::Varies);
    }

    #[test]
    fn tags_that_nearly_say_it_are_wrong() {
        for tag in [
            "@expected-fail",
            "@expected-fail:",
            "@expected-fail:Kubernetes 1",
            "@expected-failure:kubernetes-1",
            "@expectedfail:kubernetes-1",
            "@expect-fail",
            "@non-deterministic",
            "@nondeterminstic",
            "@flaky",
        ] {
            assert!(wrong(tag).is_some(), "{tag}");
        }
        for tag in [
            "@expected-fail:kubernetes-140802",
            "@nondeterministic",
            "@smoke",
            "@a",
            "@taints",
        ] {
            assert_eq!(wrong(tag), None, "{tag}");
        }
    }
}
