//! `--version`.

use std::io::Write as _;

use nvml_client::Nvml;

use crate::failure::{Failure, Output};

pub(crate) fn print(nvml: &Nvml, out: &mut Output) -> Result<(), Failure> {
    let driver = nvml.driver_version()?;
    let nvml_version = nvml.nvml_version()?;
    // NVML's own version is the CUDA major in front of the driver version, of which the tool prints two parts.
    let nvml_version = nvml_version
        .split_once('.')
        .map_or(nvml_version.as_str(), |(_, rest)| rest);
    let short: Vec<&str> = nvml_version.split('.').take(2).collect();
    let (major, minor) = nvml.cuda_version()?;
    let _ = writeln!(
        out,
        "NVIDIA-SMI version  : {driver}\nNVML version        : {}\nDRIVER version      : {driver}\nCUDA Version        : {major}.{minor}",
        short.join(".")
    );
    Ok(())
}
