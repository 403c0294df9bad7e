//! DeviceClasses, and what they have in common with claims: selectors and configuration for drivers.

use k8s_openapi::api::resource::v1 as api;

use super::{Findings, names};
use crate::cel::{Dialect, Expression};
use crate::limits::{OPAQUE_BYTES, REQUESTS_PER_CLAIM, SELECTORS};

pub(super) fn check(findings: &mut Findings, spec: &api::DeviceClassSpec, dialect: Dialect) {
    selectors(
        findings,
        "spec.selectors",
        spec.selectors.as_deref(),
        dialect,
    );
    let config = spec.config.as_deref().unwrap_or_default();
    if findings.fits("spec.config", config.len(), REQUESTS_PER_CLAIM) {
        for (at, config) in config.iter().enumerate() {
            opaque(
                findings,
                &format!("spec.config[{at}].opaque"),
                config.opaque.as_ref(),
            );
        }
    }
    if let Some(name) = &spec.extended_resource_name {
        names::extended_resource(findings, "spec.extendedResourceName", name);
    }
}

/// Selectors of a class or request.
pub(super) fn selectors(
    findings: &mut Findings,
    field: &str,
    selectors: Option<&[api::DeviceSelector]>,
    dialect: Dialect,
) {
    let selectors = selectors.unwrap_or_default();
    if !findings.fits(field, selectors.len(), SELECTORS) {
        return;
    }
    for (at, selector) in selectors.iter().enumerate() {
        let field = format!("{field}[{at}].cel");
        match &selector.cel {
            None => findings.add(field, "a selector needs an expression"),
            Some(cel) => {
                if let Err(bad) = Expression::selector(&cel.expression, dialect) {
                    findings.add(format!("{field}.expression"), bad.to_string());
                }
            }
        }
    }
}

/// Configuration that only its driver understands.
pub(super) fn opaque(
    findings: &mut Findings,
    field: &str,
    opaque: Option<&api::OpaqueDeviceConfiguration>,
) {
    let Some(opaque) = opaque else {
        findings.add(field, "a configuration needs `opaque`");
        return;
    };
    names::driver(findings, &format!("{field}.driver"), &opaque.driver);
    let field = format!("{field}.parameters");
    let parameters = &opaque.parameters.0;
    findings.unless(
        parameters.is_object(),
        &field,
        "parameters are a JSON object",
    );
    let length = parameters.to_string().len();
    findings.unless(
        length <= OPAQUE_BYTES,
        &field,
        format!("parameters have {length} bytes; the limit is {OPAQUE_BYTES}"),
    );
}
