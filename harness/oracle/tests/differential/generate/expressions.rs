//! Selectors of requests, in CEL.

use oracle::Gate;

use super::{DRIVERS, Maker};

impl Maker<'_> {
    pub(super) fn expression(&mut self) -> String {
        let driver = *self.dice.pick(&DRIVERS);
        let number = self.dice.below(3);
        match self.dice.below(15) {
            0 if self.dice.percent(self.either(10, 40)) => {
                format!("device.attributes[\"{driver}\"].a == {number}")
            }
            1 | 2 => format!(
                "has(device.attributes[\"{driver}\"].a) && device.attributes[\"{driver}\"].a >= {number}"
            ),
            3 => "\"b\" in device.attributes[\"dom.x\"]".to_owned(),
            4 => "device.attributes[\"dom.x\"].?b.orValue(\"none\") != \"x\"".to_owned(),
            5 => format!(
                "has(device.capacity[\"{driver}\"].memory) && device.capacity[\"{driver}\"].memory.compareTo(quantity(\"{number}\")) > 0"
            ),
            6 => format!(
                "cel.bind(d, device.attributes[\"{driver}\"], !has(d.a) || d.a != {number})"
            ),
            7 if self.on(Gate::ConsumableCapacity) => {
                "device.allowMultipleAllocations == true".to_owned()
            }
            8 if self.on(Gate::ListTypeAttributes) => {
                format!(
                    "has(device.attributes[\"{driver}\"].a) && device.attributes[\"{driver}\"].a.includes({number})"
                )
            }
            9 => "device.driver.startsWith(\"gpu\") || device.driver.matches(\"^nic\")".to_owned(),
            10 => "isSemver(\"1.0.0\") && semver(\"1.2.0\").isGreaterThan(semver(\"1.0.0\"))"
                .to_owned(),
            11 => format!(
                "sets.intersects([device.attributes[\"{driver}\"].?a.orValue(0)], [1, {number}])"
            ),
            12 => "device.driver.find(\"^[a-z]+\") == \"gpu\" || device.driver.findAll(\"[a-z]\").size() > 3"
                .to_owned(),
            13 => format!("[2, {number}].sort().indexOf(2) == 0"),
            _ => "true".to_owned(),
        }
    }
}
