//! Which DeviceClass stands for which extended resource.

use std::collections::{BTreeMap, BTreeSet};

use crate::objects::Class;

/// The DeviceClasses as a quota sees them.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    names: BTreeSet<String>,
    resource_of: BTreeMap<String, String>,
    resources: BTreeSet<String>,
}

impl Classes {
    /// From the classes of a cluster.
    pub fn of<'a>(classes: impl IntoIterator<Item = &'a Class>) -> Self {
        let named = classes
            .into_iter()
            .map(|class| (&*class.name, class.extended_resource.as_deref()));
        Self::named(named)
    }

    /// From names, each with the extended resource that the class names.
    pub fn named<'a>(classes: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Self {
        let mut read = Self::default();
        for (class, resource) in classes {
            read.names.insert(class.to_owned());
            if let Some(resource) = resource {
                read.resources.insert(resource.to_owned());
                let class = class.to_owned();
                read.resource_of.insert(class, resource.to_owned());
            }
        }
        read
    }

    /// Whether there is such a class.
    pub fn has(&self, class: &str) -> bool {
        self.names.contains(class)
    }

    /// The extended resource that the class names. Several classes may name one: claims of each are charged to it, though
    /// pods get devices of the newest only.
    pub fn resource_of(&self, class: &str) -> Option<&str> {
        self.resource_of.get(class).map(String::as_str)
    }

    /// Whether a class names the extended resource.
    pub fn serve(&self, resource: &str) -> bool {
        self.resources.contains(resource)
    }
}
