//! What is asked of the system as a whole.
//! Not devices.
//! From the machine in the state file; process names from /proc.

use gpu_model::Machine;

use crate::macros::api;
use crate::out::{Out, OutText, field};
use crate::status::{Result, Status};
use crate::types::DriverBranch;

/// NVML's own version: the API's number before the driver's.
fn nvml_version(machine: &Machine) -> String {
    format!("{}.{}", machine.cuda_version / 1000, machine.driver_version)
}

fn branch(driver_version: &str) -> String {
    let mut parts = driver_version.split('.');
    let major = parts.next().unwrap_or_default();
    let minor = parts
        .next()
        .and_then(|minor| minor.parse::<u32>().ok())
        .unwrap_or_default();
    format!("r{major}_{minor:02}")
}

/// The name of a process: that of its load, else the first word of its command line, as the real library reports it.
fn process_name(machine: &Machine, pid: u32) -> Result<String> {
    let mut loads = machine.gpus.iter().flat_map(|gpu| &gpu.loads);
    let named = loads.find_map(|load| load.process.as_ref().filter(|process| process.pid.0 == pid));
    if let Some(process) = named {
        return Ok(process.name.clone());
    }
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).map_err(|_| Status::NotFound)?;
    let name = line.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

api! {
    table SYSTEM;

    /// The driver's version, `580.95.05`.
    view fn nvmlSystemGetDriverVersion(version: OutText, length: u32) |view| {
        version.put(&view.machine().driver_version, length)
    }

    /// NVML's version, `13.580.95.05`.
    view fn nvmlSystemGetNVMLVersion(version: OutText, length: u32) |view| {
        version.put(&nvml_version(view.machine()), length)
    }

    /// The highest CUDA version of the driver: 1000 * major + 10 * minor.
    view fn nvmlSystemGetCudaDriverVersion(version: Out<u32>) |view| { version.put(view.machine().cuda_version) }

    /// As `nvmlSystemGetCudaDriverVersion` (the real one asks libcuda).
    view fn nvmlSystemGetCudaDriverVersion_v2(version: Out<u32>) |view| { version.put(view.machine().cuda_version) }

    /// The driver's branch, `r580_95`.
    view fn nvmlSystemGetDriverBranch(info: Out<DriverBranch>, length: u32) |view| {
        info.check_version()?;
        let branch = branch(&view.machine().driver_version);
        if branch.len() >= length as usize {
            return Err(Status::InsufficientSize);
        }
        info.put(DriverBranch { branch: field(&branch), ..info.get()? })
    }

    /// The name of a process, cut to `length`; NOT_FOUND if there is no such process.
    view fn nvmlSystemGetProcessName(pid: u32, name: OutText, length: u32) |view| {
        if length == 0 {
            return Err(Status::InvalidArgument);
        }
        let mut text = process_name(view.machine(), pid)?;
        let mut end = text.len().min(length as usize - 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        name.put(&text, length)
    }

    /// No S-class units.
    view fn nvmlUnitGetCount(count: Out<u32>) |_view| { count.put(0) }

    /// No GPU is excluded by the driver.
    view fn nvmlGetExcludedDeviceCount(count: Out<u32>) |_view| { count.put(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_named_as_the_driver_names_them() {
        assert_eq!(branch("580.95.05"), "r580_95");
        assert_eq!(branch("565.7"), "r565_07");
    }
}
