//! Two quirks of constraints before 1.37: what they remember of devices is not put right when a device is given back.
//! Without the quirks a constraint is asked with all devices picked so far, and there is nothing to remember.

use std::collections::BTreeMap;

use crate::constraints::{self, Breach};
use crate::names::Name;
use crate::objects::{Attribute, Must, Scalar};

/// What a constraint remembers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// Of each request only the last device's attribute; giving one back forgets the request.
    of_request: BTreeMap<Name, (usize, Attribute)>,
    /// What all lists had in common, of devices given back too.
    common: Vec<Scalar>,
    devices: i64,
}

impl Memory {
    /// Adds a device, or says why not. With `places` only the same device is not distinct.
    pub(crate) fn add(
        &mut self,
        must: &Must,
        request: &Name,
        (device, attribute): (usize, Option<&Attribute>),
        places: bool,
    ) -> Result<(), Breach> {
        let Some(attribute) = attribute else {
            return Err(Breach::Missing);
        };
        match must {
            Must::Differ(_) => {
                let counts = |other: &&(usize, Attribute)| !places || other.0 == device;
                let before: Vec<&Attribute> = self
                    .of_request
                    .values()
                    .filter(counts)
                    .map(|(_, other)| other)
                    .collect();
                if self.devices != 0 {
                    constraints::joins(must, Some(attribute), &before, true)?;
                }
                self.of_request
                    .insert(request.clone(), (device, attribute.clone()));
            }
            Must::Match(_) if self.devices == 0 => self.common = attribute.values().to_vec(),
            Must::Match(_) => {
                let common = Attribute::list(self.common.clone());
                constraints::joins(must, Some(attribute), &[&common], true)?;
                self.common
                    .retain(|value| attribute.values().contains(value));
            }
        }
        self.devices = if self.devices == 0 {
            1
        } else {
            self.devices + 1
        };
        Ok(())
    }

    /// Gives a device back.
    pub(crate) fn give_back(&mut self, request: &Name) {
        self.of_request.remove(request);
        self.devices -= 1;
    }
}
