//! Selectors of nodes.

use k8s_openapi::api::core::v1 as core;

use super::{Findings, names};

/// A selector, with exactly one term where the API wants that.
pub(super) fn selector(
    findings: &mut Findings,
    field: &str,
    selector: &core::NodeSelector,
    one: bool,
) {
    let field = format!("{field}.nodeSelectorTerms");
    let terms = &selector.node_selector_terms;
    if terms.is_empty() || (one && terms.len() != 1) {
        findings.add(
            &field,
            if one {
                "it must have exactly one term"
            } else {
                "it must have a term"
            },
        );
    }
    for (at, term) in terms.iter().enumerate() {
        let expressions = term.match_expressions.iter().flatten().enumerate();
        for (i, requirement) in expressions {
            label(
                findings,
                &format!("{field}[{at}].matchExpressions[{i}]"),
                requirement,
            );
        }
        let fields = term.match_fields.iter().flatten().enumerate();
        for (i, requirement) in fields {
            let field = format!("{field}[{at}].matchFields[{i}]");
            let one = requirement.values.iter().flatten().count() == 1;
            findings.unless(
                one,
                &format!("{field}.values"),
                "a field is compared with exactly one value",
            );
            let known = requirement.key == "metadata.name";
            findings.unless(
                known,
                &format!("{field}.key"),
                "metadata.name is the only field there is",
            );
        }
    }
}

fn label(findings: &mut Findings, field: &str, requirement: &core::NodeSelectorRequirement) {
    let values: Vec<&String> = requirement.values.iter().flatten().collect();
    let wrong = match requirement.operator.as_str() {
        "In" | "NotIn" if values.is_empty() => Some(("values", "In and NotIn need values")),
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            Some(("values", "Exists and DoesNotExist have no values"))
        }
        "Gt" | "Lt" if values.len() != 1 => Some(("values", "Gt and Lt need exactly one value")),
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => None,
        _ => Some((
            "operator",
            "it is none of In, NotIn, Exists, DoesNotExist, Gt and Lt",
        )),
    };
    if let Some((part, why)) = wrong {
        findings.add(format!("{field}.{part}"), why);
    }
    names::key(findings, &format!("{field}.key"), &requirement.key);
    for (i, value) in values.into_iter().enumerate() {
        names::value(findings, &format!("{field}.values[{i}]"), value);
    }
}
