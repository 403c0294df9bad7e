//! The forms of names, and the name that was meant.

use oracle::limits::{DRIVER_BYTES, ID_BYTES};

use crate::problem::Report;
use crate::tree::Node;

/// Bytes of a DNS label.
const LABEL_BYTES: usize = 63;

/// `a-b`: a DNS label.
pub(crate) fn is_label(text: &str) -> bool {
    let ok = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LABEL_BYTES).contains(&text.len())
        && text.bytes().all(ok)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Says so where the name of `what` is no label.
pub(crate) fn label(file: usize, node: &Node, what: &str, report: &mut Report<'_>) {
    if let Some(name) = node.as_text().filter(|name| !is_label(name)) {
        report
            .say(
                file,
                "name",
                node.place,
                format!("{name:?} cannot be the name of {what}"),
            )
            .help(format!(
                "lower-case letters, digits and `-`, at most {LABEL_BYTES}, no `-` at the ends"
            ));
    }
}

/// Labels joined by dots.
pub(crate) fn is_subdomain(text: &str, longest: usize) -> bool {
    text.len() <= longest && text.split('.').all(is_label)
}

/// An identifier as C has them, as attributes and capacities are named.
pub(crate) fn is_identifier(text: &str) -> bool {
    (1..=ID_BYTES).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// What is wrong with the name of an attribute or capacity: `id` or `domain/id`.
pub(crate) fn attribute_problem(name: &str, qualified: bool) -> Option<String> {
    let (domain, id) = match name.split_once('/') {
        Some((domain, id)) => (Some(domain), id),
        None => (None, name),
    };
    if domain.is_some_and(|domain| !is_subdomain(domain, DRIVER_BYTES)) {
        return Some(format!(
            "the domain of {name:?} is not lower-case words joined by dots"
        ));
    }
    if qualified && domain.is_none() {
        return Some(format!("{name:?} has no domain"));
    }
    (!is_identifier(id)).then(|| {
        format!("{id:?} is not an identifier: letters, digits and `_`, at most {ID_BYTES}, no digit first, no `-` and no `.`")
    })
}

/// The name most like this one, if any is.
pub(crate) fn nearest<'a>(
    given: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let given = given.to_lowercase();
    names
        .into_iter()
        .map(|name| {
            let lower = name.to_lowercase();
            let distance = strsim::damerau_levenshtein(&given, &lower);
            let likeness = strsim::jaro_winkler(&given, &lower);
            (name, distance, likeness)
        })
        .filter(|(name, distance, likeness)| {
            *distance <= 1 + name.len() / 5 || (*likeness > 0.92 && name.len() > 3)
        })
        .min_by(|a, b| a.1.cmp(&b.1).then(b.2.total_cmp(&a.2)))
        .map(|(name, _, _)| name)
}

/// `a, b and c`
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match names.split_last() {
        None => "none".to_owned(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_drivers_and_attributes() {
        assert!(is_subdomain("gpu.nvidia.com", 63));
        assert!(
            !is_subdomain("example.com/gpu", 63)
                && !is_subdomain("Gpu.x", 63)
                && !is_subdomain("a..b", 63)
        );
        assert_eq!(attribute_problem("gpu.nvidia.com/uuid", true), None);
        assert!(
            attribute_problem("uuid", true).is_some() && attribute_problem("uuid", false).is_none()
        );
        assert!(attribute_problem("memory-slice", false).is_some());
        assert_eq!(
            nearest("deviceClassname", ["deviceClassName", "count"]),
            Some("deviceClassName")
        );
        assert_eq!(nearest("kind", ["spec", "metadata"]), None);
    }
}
