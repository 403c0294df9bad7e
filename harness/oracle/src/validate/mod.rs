//! What an API server refuses in objects of `resource.k8s.io/v1`, and where in them. Held against a real one by the tests.
//! Not what the scheduler says to objects that are taken (`search`), nor cost limits of CEL and what only updates forbid.
//! Objects in, findings out; nothing is read or written.

mod capacity;
mod claim;
mod class;
mod device;
mod names;
mod nodes;
mod slice;

use k8s_openapi::api::resource::v1 as api;

use crate::gates::Gates;
use crate::objects::{Claim, Class, Mistake, Rule, Slice};
use crate::world::World;

/// Something that an API server refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct Finding {
    /// The place, as the API server names it: `spec.devices[3].consumesCounters[0].counterSet`.
    pub field: String,
    /// What is wrong and what is right.
    pub why: String,
}

impl Finding {
    /// A finding at that place.
    pub fn new(field: impl Into<String>, why: impl Into<String>) -> Self {
        Finding {
            field: field.into(),
            why: why.into(),
        }
    }
}

/// Findings so far.
#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, field: impl Into<String>, why: impl Into<String>) {
        self.0.push(Finding::new(field, why));
    }

    fn unless(&mut self, right: bool, field: &str, why: impl Into<String>) {
        if !right {
            self.add(field, why);
        }
    }

    /// Whether a list is short enough to be looked at.
    fn fits(&mut self, field: &str, count: usize, limit: usize) -> bool {
        let fits = count <= limit;
        self.unless(
            fits,
            field,
            format!("it has {count} entries; the limit is {limit}"),
        );
        fits
    }

    /// The same thing twice in a list.
    fn once<T: PartialEq>(&mut self, field: &str, things: &[T]) {
        for (at, thing) in things.iter().enumerate() {
            if things[..at].contains(thing) {
                self.add(format!("{field}[{at}]"), "it stands in the list already");
            }
        }
    }

    /// What cannot even be read is wrong, if nothing else was found.
    fn read<T>(mut self, read: Result<T, Mistake>) -> Vec<Finding> {
        if let (true, Err(mistake)) = (self.0.is_empty(), read) {
            self.add(mistake.field, mistake.why);
        }
        self.0
    }
}

/// What is wrong with a slice.
pub fn slice(object: &api::ResourceSlice, gates: &Gates) -> Vec<Finding> {
    let mut findings = Findings::default();
    slice::check(&mut findings, &object.spec, gates);
    findings.read(Slice::read(object))
}

/// What is wrong with a class.
pub fn class(object: &api::DeviceClass, gates: &Gates) -> Vec<Finding> {
    let dialect = World::dialect_of_new(gates);
    let mut findings = Findings::default();
    if let Some(spec) = &object.spec {
        class::check(&mut findings, spec, dialect);
    }
    findings.read(Class::read(object, dialect))
}

/// What is wrong with a claim's specification.
pub fn claim(object: &api::ResourceClaim, gates: &Gates) -> Vec<Finding> {
    let mut findings = Findings::default();
    if let Some(devices) = object.spec.as_ref().and_then(|spec| spec.devices.as_ref()) {
        claim::check(&mut findings, devices, gates);
    }
    findings.read(Claim::read(object, World::dialect_of_new(gates)))
}

/// What is wrong with the claims that a template makes.
pub fn template(object: &api::ResourceClaimTemplate, gates: &Gates) -> Vec<Finding> {
    let made = api::ResourceClaim {
        spec: object.spec.as_ref().and_then(|spec| spec.spec.clone()),
        ..Default::default()
    };
    let within = |finding: Finding| Finding::new(format!("spec.{}", finding.field), finding.why);
    claim(&made, gates).into_iter().map(within).collect()
}

/// What is wrong with a rule.
pub fn rule(object: &api::DeviceTaintRule) -> Vec<Finding> {
    let mut findings = Findings::default();
    if let Some(selector) = &object.spec.device_selector {
        let field = |part: &str| format!("spec.deviceSelector.{part}");
        if let Some(driver) = &selector.driver {
            names::driver(&mut findings, &field("driver"), driver);
        }
        if let Some(pool) = &selector.pool {
            names::pool(&mut findings, &field("pool"), pool);
        }
        if let Some(device) = &selector.device {
            names::label(&mut findings, &field("device"), device);
        }
    }
    device::taint(&mut findings, "spec.taint", &object.spec.taint);
    findings.read(Rule::read(object))
}
