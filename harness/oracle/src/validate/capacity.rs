//! Capacities and their request policies.

use k8s_openapi::api::resource::v1 as api;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;

use super::Findings;
use crate::limits::POLICY_VALUES;
use crate::quantity::Quantity;

pub(super) fn check(
    findings: &mut Findings,
    field: &str,
    capacity: &api::DeviceCapacity,
    shared: bool,
    fractions: bool,
) {
    let Some(policy) = &capacity.request_policy else {
        return;
    };
    let field = format!("{field}.requestPolicy");
    if !shared {
        findings.add(
            field,
            "a policy needs allowMultipleAllocations of the device",
        );
        return;
    }
    // What is no quantity is found where the object is read.
    let Some(all) = quantity(&capacity.value) else {
        return;
    };
    let values = policy.valid_values.as_deref().unwrap_or_default();
    if !values.is_empty() && policy.valid_range.is_some() {
        findings.add(field, "validValues and validRange exclude each other");
        return;
    }
    if values.is_empty() && policy.valid_range.is_none() {
        return;
    }
    let Some(default) = policy.default.as_ref().and_then(quantity) else {
        findings.add(
            format!("{field}.default"),
            "validValues and validRange need a default",
        );
        return;
    };
    match &policy.valid_range {
        Some(given) => range(
            findings,
            &format!("{field}.validRange"),
            given,
            (default, all),
            fractions,
        ),
        None => listed(
            findings,
            &format!("{field}.validValues"),
            values,
            (default, all),
            fractions,
        ),
    }
}

fn quantity(value: &ApiQuantity) -> Option<Quantity> {
    value.try_into().ok()
}

fn listed(
    findings: &mut Findings,
    field: &str,
    values: &[ApiQuantity],
    (default, all): (Quantity, Quantity),
    fractions: bool,
) {
    let known: Vec<Quantity> = values.iter().filter_map(quantity).collect();
    for (at, pair) in known.windows(2).enumerate() {
        findings.unless(
            pair[0] <= pair[1],
            &format!("{field}[{}]", at + 1),
            "values ascend",
        );
    }
    if !findings.fits(field, known.len(), POLICY_VALUES) {
        return;
    }
    for (at, value) in known.iter().enumerate() {
        findings.unless(
            *value <= all,
            &format!("{field}[{at}]"),
            format!("{value} is above the capacity of {all}"),
        );
    }
    // Without fractions two values are one when they are rounded up to it.
    let key = |value: &Quantity| {
        if fractions {
            value.nanos()
        } else {
            value.rounded_up()
        }
    };
    findings.once(field, &known.iter().map(key).collect::<Vec<_>>());
    findings.unless(
        known.contains(&default),
        field,
        format!("the default {default} is none of them"),
    );
}

fn range(
    findings: &mut Findings,
    field: &str,
    range: &api::CapacityRequestPolicyRange,
    (default, all): (Quantity, Quantity),
    fractions: bool,
) {
    let Some(min) = quantity(&range.min) else {
        return;
    };
    let max = range.max.as_ref().and_then(quantity);
    let name = |part: &str| format!("{field}.{part}");
    findings.unless(
        min <= all,
        &name("min"),
        format!("{min} is above the capacity of {all}"),
    );
    findings.unless(
        default >= min,
        &name("default"),
        format!("the default {default} is below the least, {min}"),
    );
    if let Some(max) = max {
        findings.unless(
            min <= max,
            &name("max"),
            format!("{max} is below the least, {min}"),
        );
        findings.unless(
            max <= all,
            &name("max"),
            format!("{max} is above the capacity of {all}"),
        );
        findings.unless(
            default <= max,
            &name("default"),
            format!("the default {default} is above the most, {max}"),
        );
    }
    let step = range.step.as_ref().and_then(quantity);
    let named = [
        ("default", Some(default)),
        ("min", Some(min)),
        ("max", max),
        ("step", step),
    ];
    let given = || {
        named
            .iter()
            .filter_map(|(part, value)| Some((*part, (*value)?)))
    };
    let fractional = fractions && given().any(|(_, value)| !value.is_whole());
    if fractional {
        let mut exact = true;
        for (part, _) in given().filter(|(_, value)| value.nanos() % MILLI != 0) {
            findings.add(name(part), "it is finer than a thousandth");
            exact = false;
        }
        if !exact {
            return;
        }
    }
    let Some(step) = step else {
        return;
    };
    if step.sign() <= 0 {
        findings.add(name("step"), format!("{step} is not above 0"));
        return;
    }
    findings.unless(
        min.plus(step) <= all,
        &name("step"),
        format!("one step above {min} is more than the capacity of {all}"),
    );
    if !fractional {
        let mut whole = true;
        for (part, _) in given().filter(|(_, value)| value.sign() < 0) {
            findings.add(name(part), "it is below 0");
            whole = false;
        }
        if !whole {
            return;
        }
    }
    // Without fractions all is rounded up to whole numbers first.
    let number = |value: Quantity| {
        if fractional {
            value.nanos()
        } else {
            value.rounded_up()
        }
    };
    for value in [Some(default), max].into_iter().flatten() {
        findings.unless(
            (number(value) - number(min)) % number(step) == 0,
            &name("step"),
            format!("{value} is not {min} and a number of steps of {step}"),
        );
    }
}

const MILLI: i128 = 1_000_000;
