//! `-i`: which GPUs a command is about.

use nvml_client::{Device, Nvml};

use crate::failure::Failure;

/// GPUs as named on the command line: index, UUID or PCI address, several with commas; nothing is all.
pub(crate) fn gpus<'n>(nvml: &'n Nvml, selection: Option<&str>) -> Result<Vec<Device<'n>>, Failure> {
    let Some(selection) = selection else {
        let all = nvml.devices()?;
        return if all.is_empty() { Err(Failure::no_devices()) } else { Ok(all) };
    };
    let found: Option<Vec<_>> = selection.split(',').map(|name| one(nvml, name.trim())).collect();
    found.filter(|f| !f.is_empty()).ok_or_else(Failure::no_devices)
}

fn one<'n>(nvml: &'n Nvml, name: &str) -> Option<Device<'n>> {
    if let Ok(index) = name.parse() {
        return nvml.by_index(index).ok();
    }
    if name.contains(':') { nvml.by_pci(name).ok() } else { nvml.by_uuid(name).ok() }
}
