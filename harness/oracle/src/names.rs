//! Names of things, as values of their own: cheap to copy, ordered byte by byte as Kubernetes orders them.

use std::fmt;
use std::sync::Arc;

/// A name: of a driver, pool, device, class, request, attribute.
pub type Name = Arc<str>;

/// A device's identity in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId {
    /// The DRA driver.
    pub driver: Name,
    /// The pool within the driver.
    pub pool: Name,
    /// The device within the pool.
    pub device: Name,
}

impl DeviceId {
    /// From plain texts.
    pub fn new(driver: &str, pool: &str, device: &str) -> Self {
        Self {
            driver: driver.into(),
            pool: pool.into(),
            device: device.into(),
        }
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.driver, self.pool, self.device)
    }
}
