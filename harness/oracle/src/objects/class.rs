//! DeviceClasses.

use super::Selector;
use crate::names::Name;

/// A DeviceClass.
#[derive(Clone, Debug)]
pub struct Class {
    /// Its name.
    pub name: Name,
    /// All must hold.
    pub selectors: Vec<Selector>,
    /// Configuration for drivers.
    pub config: Vec<Opaque>,
    /// The extended resource that it stands for.
    pub extended_resource: Option<Name>,
    /// When it was created, in seconds; the newest of two classes with one extended resource wins.
    pub created: i64,
}

/// Configuration that only its driver understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// The driver.
    pub driver: Name,
    /// The parameters, as JSON text.
    pub parameters: String,
}
