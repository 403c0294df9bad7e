//! The variable `device`: what an expression sees of a device, read where it lies.
//! A domain that a device does not have is an empty map; an attribute that it does not have is an error.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use cel::ExecutionError;
use cel::common::traits::{Container, Indexer, Sizer};
use cel::common::types::{CelBool, CelInt, CelList, CelString, MAP_TYPE, Type};
use cel::common::value::{CowVal, StaticVal, Val};

use super::quantities::QuantityValue;
use super::semvers::SemverValue;
use crate::names::Name;
use crate::objects::{Attribute, Capacity, Scalar};

/// What selectors may ask of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The driver: the domain of names without one.
    pub driver: Name,
    /// `allowMultipleAllocations`.
    pub multiple: bool,
    /// Attributes as published, with or without domain.
    pub attributes: BTreeMap<Name, Attribute>,
    /// Capacities as published, with or without domain.
    pub capacity: BTreeMap<Name, Capacity>,
}

impl Facts {
    /// The attribute of a fully qualified name: a published name without domain has the driver's.
    pub fn attribute(&self, qualified: &str) -> Option<&Attribute> {
        if let Some(attribute) = self.attributes.get(qualified) {
            return Some(attribute);
        }
        let (domain, id) = qualified.split_once('/')?;
        if domain == &*self.driver {
            self.attributes.get(id)
        } else {
            None
        }
    }

    /// The attribute that `device.attributes["domain"].id` is.
    pub(super) fn attribute_in(&self, domain: &str, id: &str) -> Option<&Attribute> {
        find(&self.attributes, &self.driver, domain, id)
    }

    /// The capacity that `device.capacity["domain"].id` is.
    pub(super) fn capacity_in(&self, domain: &str, id: &str) -> Option<&Capacity> {
        find(&self.capacity, &self.driver, domain, id)
    }
}

fn find<'m, T>(map: &'m BTreeMap<Name, T>, driver: &str, domain: &str, id: &str) -> Option<&'m T> {
    if domain == driver
        && let Some(found) = map.get(id)
    {
        return Some(found);
    }
    map.iter()
        .find(|(name, _)| name.split_once('/') == Some((domain, id)))
        .map(|(_, found)| found)
}

fn domain_of<'n>(name: &'n str, driver: &'n str) -> &'n str {
    name.split_once('/').map_or(driver, |(domain, _)| domain)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Attributes,
    Capacity,
}

static DEVICE: Type = Type::new_unspecified_type("kubernetes.DRADevice");

/// `device`
#[derive(Clone, Debug)]
pub(super) struct DeviceValue {
    facts: Arc<Facts>,
    multiple_allocations: bool,
}

impl DeviceValue {
    pub(super) fn new(facts: Arc<Facts>, multiple_allocations: bool) -> Self {
        Self {
            facts,
            multiple_allocations,
        }
    }
}

/// `device.attributes`, `device.capacity`
#[derive(Clone, Debug)]
struct DomainsValue {
    facts: Arc<Facts>,
    part: Part,
}

/// `device.attributes["gpu.example.com"]`
#[derive(Clone, Debug)]
struct DomainValue {
    facts: Arc<Facts>,
    part: Part,
    domain: String,
}

fn text_of(index: &dyn Val) -> Result<&str, ExecutionError> {
    index
        .downcast_ref::<CelString>()
        .map(|text| text.inner())
        .ok_or_else(|| ExecutionError::UnexpectedType {
            got: index.get_type().name().to_owned(),
            want: "string".to_owned(),
        })
}

macro_rules! indexed {
    ($value:ident, $cel_type:expr) => {
        impl Val for $value {
            fn get_type(&self) -> &Type {
                <Self as Val>::cel_type()
            }
            fn cel_type() -> &'static Type {
                &$cel_type
            }
            fn as_indexer<'b, 'v>(&'b self) -> Option<&'b (dyn Indexer + 'v)>
            where
                Self: 'v,
            {
                Some(self)
            }
            fn as_container(&self) -> Option<&dyn Container> {
                Some(self)
            }
            fn as_sizer(&self) -> Option<&dyn Sizer> {
                Some(self)
            }
            fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
                Box::new(self.clone())
            }
            fn as_any(&self) -> Option<&dyn Any> {
                Some(self)
            }
        }
        impl StaticVal for $value {}
    };
}

indexed!(DeviceValue, DEVICE);
indexed!(DomainsValue, MAP_TYPE);
indexed!(DomainValue, MAP_TYPE);

macro_rules! by_name {
    ($value:ident) => {
        impl Indexer for $value {
            fn get<'b, 'v>(&'b self, index: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
            where
                Self: 'v,
            {
                self.look_up(text_of(index)?).map(CowVal::Owned)
            }
            fn steal<'v>(
                self: Box<Self>,
                index: &dyn Val,
            ) -> Result<Box<dyn Val + 'v>, ExecutionError>
            where
                Self: 'v,
            {
                self.look_up(text_of(index)?)
            }
        }
    };
}

by_name!(DeviceValue);
by_name!(DomainsValue);
by_name!(DomainValue);

impl DeviceValue {
    fn look_up<'v>(&self, field: &str) -> Result<Box<dyn Val + 'v>, ExecutionError> {
        let domains = |part| {
            Box::new(DomainsValue {
                facts: Arc::clone(&self.facts),
                part,
            })
        };
        Ok(match field {
            "driver" => Box::new(CelString::from(self.facts.driver.to_string())),
            "attributes" => domains(Part::Attributes),
            "capacity" => domains(Part::Capacity),
            "allowMultipleAllocations" if self.multiple_allocations => {
                Box::new(CelBool::from(self.facts.multiple))
            }
            other => return Err(ExecutionError::no_such_key(other)),
        })
    }
}

impl Container for DeviceValue {
    fn contains(&self, _value: &dyn Val) -> Result<bool, ExecutionError> {
        Ok(false)
    }
}

impl Sizer for DeviceValue {
    fn size(&self) -> CelInt {
        CelInt::from(0)
    }
}

impl DomainsValue {
    fn look_up<'v>(&self, domain: &str) -> Result<Box<dyn Val + 'v>, ExecutionError> {
        Ok(Box::new(DomainValue {
            facts: Arc::clone(&self.facts),
            part: self.part,
            domain: domain.to_owned(),
        }))
    }

    fn names(&self) -> Vec<&str> {
        match self.part {
            Part::Attributes => self.facts.attributes.keys().map(|name| &**name).collect(),
            Part::Capacity => self.facts.capacity.keys().map(|name| &**name).collect(),
        }
    }

    fn domains(&self) -> std::collections::BTreeSet<&str> {
        self.names()
            .into_iter()
            .map(|name| domain_of(name, &self.facts.driver))
            .collect()
    }
}

impl Container for DomainsValue {
    fn contains(&self, value: &dyn Val) -> Result<bool, ExecutionError> {
        Ok(text_of(value).is_ok_and(|domain| self.domains().contains(domain)))
    }
}

impl Sizer for DomainsValue {
    fn size(&self) -> CelInt {
        CelInt::from(i64::try_from(self.domains().len()).unwrap_or(i64::MAX))
    }
}

impl DomainValue {
    fn look_up<'v>(&self, id: &str) -> Result<Box<dyn Val + 'v>, ExecutionError> {
        let found: Option<Box<dyn Val + 'v>> = match self.part {
            Part::Attributes => find(&self.facts.attributes, &self.facts.driver, &self.domain, id)
                .map(value_of)
                .transpose()?,
            Part::Capacity => find(&self.facts.capacity, &self.facts.driver, &self.domain, id)
                .map(|capacity| Box::new(QuantityValue(capacity.value)) as Box<dyn Val + 'v>),
        };
        found.ok_or_else(|| ExecutionError::no_such_key(id))
    }
}

impl Container for DomainValue {
    fn contains(&self, value: &dyn Val) -> Result<bool, ExecutionError> {
        Ok(text_of(value).is_ok_and(|id| match self.part {
            Part::Attributes => {
                find(&self.facts.attributes, &self.facts.driver, &self.domain, id).is_some()
            }
            Part::Capacity => {
                find(&self.facts.capacity, &self.facts.driver, &self.domain, id).is_some()
            }
        }))
    }
}

impl Sizer for DomainValue {
    fn size(&self) -> CelInt {
        let driver = &self.facts.driver;
        let count = match self.part {
            Part::Attributes => self
                .facts
                .attributes
                .keys()
                .filter(|name| domain_of(name, driver) == self.domain)
                .count(),
            Part::Capacity => self
                .facts
                .capacity
                .keys()
                .filter(|name| domain_of(name, driver) == self.domain)
                .count(),
        };
        CelInt::from(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

fn scalar_value<'v>(scalar: &Scalar) -> Result<Box<dyn Val + 'v>, ExecutionError> {
    Ok(match scalar {
        Scalar::Bool(value) => Box::new(CelBool::from(*value)),
        Scalar::Int(value) => Box::new(CelInt::from(*value)),
        Scalar::Text(value) => Box::new(CelString::from(value.to_string())),
        Scalar::Version(value) => Box::new(
            SemverValue::parse(value).map_err(|e| ExecutionError::function_error("semver", e))?,
        ),
    })
}

fn value_of<'v>(attribute: &Attribute) -> Result<Box<dyn Val + 'v>, ExecutionError> {
    if !attribute.is_list() {
        return attribute
            .values()
            .first()
            .map_or_else(|| Err(ExecutionError::no_such_key("value")), scalar_value);
    }
    let values: Result<Vec<_>, _> = attribute.values().iter().map(scalar_value).collect();
    Ok(Box::new(CelList::from(values?)))
}

fn scalar_of(value: &(dyn Val + '_)) -> Option<Scalar> {
    if let Some(value) = value.downcast_ref::<CelBool>() {
        return Some(Scalar::Bool(*value.inner()));
    }
    if let Some(value) = value.downcast_ref::<CelInt>() {
        return Some(Scalar::Int(*value.inner()));
    }
    if let Some(value) = value.downcast_ref::<CelString<'_>>() {
        return Some(Scalar::Text(value.inner().into()));
    }
    value
        .downcast_ref::<SemverValue>()
        .map(|value| Scalar::Version(value.0.to_string().into()))
}

/// The attribute that a value stands for: a scalar, or a list of scalars of one type.
pub(super) fn attribute_of(value: &(dyn Val + '_)) -> Option<Attribute> {
    if let Some(list) = value.downcast_ref::<CelList<'_>>() {
        let values: Option<Vec<Scalar>> = list
            .inner()
            .iter()
            .map(|item| scalar_of(item.as_ref()))
            .collect();
        let values = values?;
        let same = values
            .windows(2)
            .all(|pair| std::mem::discriminant(&pair[0]) == std::mem::discriminant(&pair[1]));
        return same.then(|| Attribute::list(values));
    }
    scalar_of(value).map(Attribute::scalar)
}
