//! `-i`: which GPUs a command is about.

use nvml_client::{Code, Device, Error, Nvml};

use crate::failure::{Failure, code};

/// GPUs as named on the command line: index, serial number, UUID or PCI address, several with commas; nothing is all.
pub(crate) fn gpus<'n>(
    nvml: &'n Nvml,
    selection: Option<&str>,
) -> Result<Vec<Device<'n>>, Failure> {
    let Some(selection) = selection else {
        return all(nvml);
    };
    let found: Option<Vec<_>> = selection
        .split(',')
        .map(|name| one(nvml, name.trim()))
        .collect();
    found
        .filter(|f| !f.is_empty())
        .ok_or_else(Failure::no_devices)
}

fn all(nvml: &Nvml) -> Result<Vec<Device<'_>>, Failure> {
    let mut found = Vec::new();
    for index in 0..nvml.count()? {
        match nvml.by_index(index) {
            Ok(gpu) => found.push(gpu),
            // Somebody else's, in a container.
            Err(e) if e.code() == Some(Code::NO_PERMISSION) => {}
            Err(e) => return Err(unreachable(index, &e)),
        }
    }
    if found.is_empty() {
        Err(Failure::no_devices())
    } else {
        Ok(found)
    }
}

/// A GPU that cannot be asked ends the command, as it does with the real tool.
pub(crate) fn unreachable(index: u32, error: &Error) -> Failure {
    let advice = if error.code() == Some(Code::GPU_IS_LOST) {
        ".  Reboot the system to recover this GPU"
    } else {
        ""
    };
    Failure::new(
        code(error),
        format!(
            "Unable to determine the device handle for GPU{index}: {}{advice}",
            error.text()
        ),
    )
}

fn one<'n>(nvml: &'n Nvml, name: &str) -> Option<Device<'n>> {
    if let Ok(index) = name.parse() {
        return nvml.by_index(index).ok();
    }
    if name.contains(':') {
        nvml.by_pci(name).ok()
    } else if name.starts_with("MIG-") {
        // NVML finds a MIG device by its UUID; the real tool does not (reports of several public projects).
        None
    } else {
        nvml.by_uuid(name).or_else(|_| nvml.by_serial(name)).ok()
    }
}
