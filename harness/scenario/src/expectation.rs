//! What a scenario is expected to come to, by its tags.
//! `@expected-fail:PROGRAM-NUMBER`: a program of somebody else is wrong, and the number says where that is reported;
//! `@expected-fail:PROGRAM-unreported` where no public report of it is known.
//! `@nondeterministic`: it holds at some times and not at others.

use crate::registry::Kind;

/// Marks a scenario that must fail: `@expected-fail:kubernetes-140802`.
pub(crate) const EXPECTED_FAIL: &str = "@expected-fail";
/// In the place of a number: no public report of it is known.
const UNREPORTED: &str = "unreported";
/// Marks a scenario that is tried several times.
pub(crate) const NONDETERMINISTIC: &str = "@nondeterministic";

/// What a scenario is expected to come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Expectation {
    /// It holds.
    #[default]
    Holds,
    /// An assertion of it fails ([`may_fail`]), for what is reported under this number, or is not reported.
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

/// Whether the step at `at`, of steps of these kinds, is what a scenario that must fail may fail at: an assertion, and where
/// there is more than one row of them none of the first. That one says that what is reported could be brought about.
pub(crate) fn may_fail(kinds: &[Option<Kind>], at: usize) -> bool {
    let asserts = |kind: &Option<Kind>| *kind == Some(Kind::Then);
    let (before, after) = kinds.split_at(at.min(kinds.len()));
    let later = after.iter().skip_while(|kind| asserts(kind)).any(asserts);
    let mut earlier = before.iter().skip_while(|kind| !asserts(kind));
    let first = earlier.all(asserts);
    after.first().is_some_and(asserts) && !(first && later)
}

/// What is wrong with a tag that means to say something of this.
pub(crate) fn wrong(tag: &str) -> Option<String> {
    let plain: String = tag
        .chars()
        .filter(|c| c.is_alphanumeric())
        .collect::<String>()
        .to_lowercase();
    if let Some(rest) = tag.strip_prefix(EXPECTED_FAIL) {
        let report = rest
            .strip_prefix(':')
            .and_then(|mark| mark.rsplit_once('-'));
        let fits = report.is_some_and(|(program, number)| {
            let name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            !program.is_empty() && program.chars().all(name) && (digits || number == UNREPORTED)
        });
        return (!fits).then(|| {
            format!(
                "say where it is reported, in lower case: {EXPECTED_FAIL}:kubernetes-140802; or, where you know of no report, \
                 whose it is: {EXPECTED_FAIL}:kubernetes-{UNREPORTED}"
            )
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
    fn the_first_assertions_must_hold_where_others_follow() {
        let of = |steps: &str| -> String {
            let kinds: Vec<Option<Kind>> = steps
                .chars()
                .map(|step| match step {
                    'G' => Some(Kind::Given),
                    'W' => Some(Kind::When),
                    _ => Some(Kind::Then),
                })
                .collect();
            let shown = |at| if may_fail(&kinds, at) { 'x' } else { '.' };
            (0..kinds.len()).map(shown).collect()
        };
        assert_eq!(of("GWTT"), "..xx");
        assert_eq!(of("GTGWT"), "....x");
        assert_eq!(of("GWTTWTTWT"), ".....xx.x");
    }

    #[test]
    fn tags_that_nearly_say_it_are_wrong() {
        for tag in [
            "@expected-fail",
            "@expected-fail:",
            "@expected-fail:Kubernetes 1",
            "@expected-fail:kubernetes",
            "@expected-fail:unreported",
            "@expected-fail:-1",
            "@expected-fail:kubernetes-",
            "@expected-fail:kubernetes-unknown",
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
            "@expected-fail:dra-driver-nvidia-gpu-35",
            "@expected-fail:kubernetes-unreported",
            "@nondeterministic",
            "@smoke",
            "@a",
            "@taints",
        ] {
            assert_eq!(wrong(tag), None, "{tag}");
        }
    }
}
