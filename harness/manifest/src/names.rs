//! The forms of names, and the name that was meant.

/// `a-b`, at most 63 characters.
pub(crate) fn is_label(text: &str) -> bool {
    let ok = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(ok)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Labels joined by dots.
pub(crate) fn is_subdomain(text: &str, longest: usize) -> bool {
    text.len() <= longest && text.split('.').all(is_label)
}

/// An identifier as C has them, at most 32 characters.
pub(crate) fn is_identifier(text: &str) -> bool {
    (1..=32).contains(&text.len())
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
    if domain.is_some_and(|domain| !is_subdomain(domain, 63)) {
        return Some(format!(
            "the domain of {name:?} is not lower-case words joined by dots"
        ));
    }
    if qualified && domain.is_none() {
        return Some(format!("{name:?} has no domain"));
    }
    (!is_identifier(id)).then(|| {
        format!("{id:?} is not an identifier: letters, digits and `_`, at most 32, no digit first, no `-` and no `.`")
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

/// `1 device`, `2 devices`
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
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
