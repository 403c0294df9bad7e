//! Kinds of names: DNS labels and subdomains, C identifiers, labels of Kubernetes, and what is put together of them.

use super::Findings;
use crate::limits::{DRIVER_BYTES, ID_BYTES, POOL_BYTES};

const LABEL_BYTES: usize = 63;
const SUBDOMAIN_BYTES: usize = 253;

fn dns_part(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN_BYTES && text.split('.').all(dns_part)
}

fn is_identifier(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty() && text.chars().all(inner) && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// What stands in a label of Kubernetes: letters, digits, and dashes, dots and underscores within.
fn is_word(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let edge = |c: char| c.is_ascii_alphanumeric();
    text.len() <= LABEL_BYTES
        && text.chars().all(inner)
        && text.starts_with(edge)
        && text.ends_with(edge)
}

fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        None => is_word(text),
        Some((domain, name)) => is_subdomain(domain) && is_word(name),
    }
}

fn is_driver(text: &str) -> bool {
    text.len() <= DRIVER_BYTES && is_subdomain(&text.to_ascii_lowercase())
}

/// A DNS label: a device, a request, a counter.
pub(super) fn label(findings: &mut Findings, field: &str, text: &str) {
    findings.unless(
        text.len() <= LABEL_BYTES && dns_part(text),
        field,
        format!("{text:?} is no DNS label: at most {LABEL_BYTES} lower-case letters, digits and dashes, no dash first or last"),
    );
}

/// A DNS subdomain: a class.
pub(super) fn subdomain(findings: &mut Findings, field: &str, text: &str) {
    findings.unless(
        is_subdomain(text),
        field,
        format!("{text:?} is no DNS subdomain: at most {SUBDOMAIN_BYTES} lower-case letters, digits, dashes and dots"),
    );
}

/// A driver.
pub(super) fn driver(findings: &mut Findings, field: &str, text: &str) {
    findings.unless(
        is_driver(text),
        field,
        format!("{text:?} is no driver: a DNS subdomain of at most {DRIVER_BYTES} bytes, as gpu.example.com"),
    );
}

/// A pool: subdomains, divided by slashes.
pub(super) fn pool(findings: &mut Findings, field: &str, text: &str) {
    findings.unless(
        text.len() <= POOL_BYTES && text.split('/').all(is_subdomain),
        field,
        format!(
            "{text:?} is no pool: DNS subdomains divided by slashes, at most {POOL_BYTES} bytes"
        ),
    );
}

/// The name of an attribute or capacity, with or without a domain.
pub(super) fn qualified(findings: &mut Findings, field: &str, text: &str) {
    let (domain, name) = match text.split_once('/') {
        Some((domain, name)) => (Some(domain), name),
        None => (None, text),
    };
    // Names with two slashes are let through by the API server; that is a known gap of it.
    let right = name.contains('/')
        || (is_identifier(name) && name.len() <= ID_BYTES && domain.is_none_or(is_driver));
    findings.unless(
        right,
        field,
        format!("{text:?} is no name of an attribute or capacity: a C identifier of at most {ID_BYTES} bytes, after a domain and a slash if it is not the driver's"),
    );
}

/// The name of an attribute, with its domain.
pub(super) fn fully_qualified(findings: &mut Findings, field: &str, text: &str) {
    if text.contains('/') {
        qualified(findings, field, text);
    } else {
        findings.add(
            field,
            format!("{text:?} lacks its domain: write gpu.example.com/{text}"),
        );
    }
}

/// The key of a label or taint, or a condition.
pub(super) fn key(findings: &mut Findings, field: &str, text: &str) {
    findings.unless(
        is_label_key(text),
        field,
        format!("{text:?} is no key of a label: at most {LABEL_BYTES} letters, digits, dashes, dots and underscores, after a domain and a slash if need be"),
    );
}

/// The value of a label or taint.
pub(super) fn value(findings: &mut Findings, field: &str, text: &str) {
    findings.unless(
        text.is_empty() || is_word(text),
        field,
        format!("{text:?} is no value of a label: at most {LABEL_BYTES} letters, digits, dashes, dots and underscores"),
    );
}

/// The name of an extended resource.
pub(super) fn extended_resource(findings: &mut Findings, field: &str, text: &str) {
    let right = text.contains('/')
        && !text.contains("kubernetes.io/")
        && !text.starts_with("requests.")
        && is_label_key(&format!("requests.{text}"));
    findings.unless(
        right,
        field,
        format!("{text:?} is no extended resource: a domain that is not of kubernetes.io, a slash and a name"),
    );
}
